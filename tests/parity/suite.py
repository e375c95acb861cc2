"""What every case has: a server on one backend, in a state directory of its own."""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))

import e2b
from host import entering
from mcp_client import Berth, binary_path, own_kilobytes, own_peak_kilobytes
from schema import input_schema, mistakes, output_schema
from state_directory import StateDirectory

SERVERS = itertools.count(1)
BACKENDS = {"local": "berth", "direct": "berth-direct", "e2b": "berth"}


def backend():
    return os.environ.get("BERTH_PARITY_BACKEND", "local")


def said(environment):
    """Without what is None."""
    return {name: value for name, value in environment.items() if value is not None}


def own_environment():
    """What makes a program use the backend."""
    # What a server leaves behind goes on in most cases, as it does locally.
    return {**e2b.environment(), "BERTH_SESSION_ON_DISCONNECT": "idle"} if backend() == "e2b" else {}


def local_only(test):
    """For a test or a class of what isolates: `direct` has nothing of that, so run.py leaves it out
    there. Not skipped: a skipped test is a gap, this is none. Run on `direct` by other means it
    fails before it begins: what such a test does to a sandbox (chmod 0 /tmp) it would do to the
    host."""
    test.local_only = True
    return test


def sandboxes_only(test):
    """For a test or a class of what `local` and `e2b` have and `direct` has not: each its own, or modes
    that mean something for who is not root."""
    test.sandboxes_only = True
    return test


def e2b_only(test):
    """For what only machines elsewhere can show."""
    test.e2b_only = True
    return test


def marked(test, mark):
    """Whether that test, or its class, was given one of these marks."""
    method = getattr(test, getattr(test, "_testMethodName", ""), None)
    return getattr(method, mark, False) or getattr(test, mark, False)


class CheckedBerth(Berth):
    """Every result that a test looks at must be what its tool's schema says, whatever else it is
    looked at for."""

    def call_async(self, name, arguments=None, progress_token=None):
        pending = super().call_async(name, arguments, progress_token)
        result = pending.result

        def checked(timeout=30):
            found = result(timeout)
            check_result(name, found)
            return found
        pending.result = checked
        return pending


def check_result(tool, result):
    if result.is_error:
        wrong = [key for key in ("code", "message") if not result.error.get(key)]
    else:
        wrong = mistakes(result.structured, output_schema(tool))
        if result.data != result.structured:
            wrong.append("_meta and structuredContent differ")
    if wrong:
        raise AssertionError(f"{tool} returned what its schema does not have: {wrong}")


class ParityTest(unittest.TestCase):
    """A session named `work` on one server: self.berth. At the end every session is ended the way a
    user would, and nothing may be left: no process, cgroup, mount, socket or file."""

    environment = {}  # of the server
    # On e2b: seconds for which a server that was killed counts as there, where a case kills one.
    lease = None

    def setUp(self):
        if (backend() != "local" and marked(self, "local_only")) or (
                backend() == "direct" and marked(self, "sandboxes_only")):
            self.fail("this test is for sandboxes that isolate: run it by tests/parity/run.py")
        self.state = StateDirectory(exclusive=True)
        self.addCleanup(self.end)
        self.berth = self.start("--session", "work")

    def start(self, *arguments, env=None, structured=True, kind=None, state=None, **options):
        """Structured, so that `data` has the bodies too. `kind`: of client. `state`: another state
        directory than the test's."""
        if structured:
            arguments += ("--structured-content",)
        kind = kind or (CheckedBerth if structured else Berth)
        # With cgroups of an ordinary user: each server in one of its own, as in a scope of systemd.
        folders = list(filter(None, os.environ.get("BERTH_PARITY_CGROUPS", "").split(":")))
        program, *arguments = entering(f"server-{next(SERVERS)}", folders,
                                       [binary_path(BACKENDS[backend()]), *arguments])
        berth = kind(*arguments, state=state or self.state, binary=shutil.which(program),
                     env=said({**own_environment(), **self.leased(), **self.environment, **(env or {})}),
                     **options)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def end(self):
        try:
            for session in self.sessions():
                self.command_line("sessions", "kill", session["session"], "--purge",
                                  "--principal", session["principal"])
            leaks = self.state.wait_for_no_leaks()
            if backend() == "e2b":
                leaks += [f"the sandbox {box}" for box in e2b.boxes()]
        finally:
            self.state.__exit__(None, None, None)
        self.assertEqual(leaks, [])

    def command_line(self, *arguments, status=0, env=None):
        """What `berth ARGUMENTS` prints."""
        done = self.done(*arguments, env=env)
        self.assertEqual(done.returncode, status, done)
        return done.stdout

    def done(self, *arguments, env=None):
        return subprocess.run([binary_path(BACKENDS[backend()]), *arguments], timeout=30,
                              env={**os.environ, **own_environment(),
                                   "BERTH_STATE_DIR": str(self.state.path), **(env or {})},
                              capture_output=True, text=True, check=False)

    def leased(self):
        return {"BERTH_E2B_LEASE": f"{self.lease}s"} if self.lease and backend() == "e2b" else {}

    def wait_for_its_lease(self, running=0):
        """Until a server that was killed just now counts as gone, of whose commands one runs for so
        long on. Where connections tell, that is at once."""
        if backend() == "e2b":
            time.sleep(running + self.lease + 1)

    def wait_for_its_word(self):
        """Until a machine knows of what its server's client has just read, and no call follows."""
        time.sleep(self.lease / 2 + 1 if backend() == "e2b" else 1)

    def home(self):
        """Of the session `work`, as root of this host sees it."""
        if backend() == "e2b":
            (guest,) = self.living_guests()
            return pathlib.Path(f"/proc/{guest}/root/home/user")
        # Not below `ahead`, where the next session's waits.
        (home,) = self.state.path.glob("[!a]*/*/home")
        return home

    def living_guests(self):
        """The process ids of the guests, one per running machine."""
        return e2b.guests() if backend() == "e2b" else self.state.guests()

    def sessions(self):
        """Once it is known which there are: a Redis may just have lost its data."""
        end = time.monotonic() + 20
        while True:
            done = self.done("sessions", "list", "--json")
            if done.returncode == 0:
                return json.loads(done.stdout)
            self.assertIn('"retry_after"', done.stdout, done)
            self.assertLess(time.monotonic(), end, done)
            time.sleep(0.5)

    def call(self, tool, **arguments):
        """The result of a call that must work."""
        result = self.berth.call_tool(tool, arguments)
        self.assertFalse(result.is_error, result)
        return result

    def run_command(self, command, **arguments):
        return self.call("bash_exec", command=command, **arguments)

    def output(self, command, **arguments):
        """The standard output of a command that must end with 0."""
        data = self.run_command(command, **arguments).data
        self.assertEqual(data["exit_code"], 0, data)
        return data["stdout"]

    def refused(self, code, tool, **arguments):
        """The call must fail with this error word; every error says what is wrong and what to do."""
        result = self.berth.call_tool(tool, arguments)
        self.assertTrue(result.is_error, result)
        self.assertEqual(result.error.get("code"), code, result)
        message, hint = result.error.get("message"), result.error.get("hint")
        self.assertTrue(message and hint, result)
        # Of a call that fails again and again one line more says so.
        text = result.text.rpartition("\n")[0] if "repeated" in result.error else result.text
        self.assertTrue(text.endswith(f"{message}\n{hint}"), result)
        return result

    def wait_until(self, condition, timeout, what):
        end = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)
