#!/usr/bin/env python3
"""Many calls at once, none held by another, none answered after its cancel, and nothing but the
protocol on stdout: in sandboxes, as root and as an ordinary user. The same on berth-direct is in
test_protocol.py."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import Berth, binary_path
from state_directory import StateDirectory

SLEEP = {"command": "sleep 30"}
NOBODY = 65534
# Sets p to the guest's process id as a command sees it: the one above the command's shim.
GUEST = ("p=$PPID; while [ $(cat /proc/$p/comm) != berth-guest ]; do "
         "p=$(awk '/^PPid/ { print $2 }' /proc/$p/status); done")


class Cases:
    program = "berth"
    prefix = ()  # of the command line

    def setUp(self):
        self.state = StateDirectory()
        self.addCleanup(self.end)
        self.own(self.state.path)
        self.environment = {}
        status = subprocess.run(
            [*self.prefix, binary_path(self.program), "status", "--json"], timeout=30, text=True,
            env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)}, capture_output=True,
            check=False)
        self.assertEqual(status.returncode, 0, status)
        if not json.loads(status.stdout)["available"]:
            self.skipTest(f"no sandbox works here: {status.stdout}")

    def own(self, path):
        """Gives the folder to whom the server runs as."""

    def end(self):
        try:
            self.assertEqual(self.state.wait_for_no_leaks(), [])
        finally:
            self.state.__exit__(None, None, None)

    def start(self, *arguments, **options):
        command = [*self.prefix, binary_path(self.program), *arguments]
        self.own(self.state.temporary)
        berth = Berth(*command[1:], state=self.state, binary=command[0], env=self.environment,
                      **options)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def config(self, text):
        path = self.state.path / "berth.toml"
        path.write_text(text)
        return str(path)

    def guest(self, berth):
        """The process id of the guest as the host has it."""
        inside = berth.call_tool("bash_exec", {"command": f"{GUEST}; echo $p"}).text
        return self.state.guests()[0] if inside == "1\n" else int(inside)

    def test_stdout_carries_the_protocol_alone(self):
        berth = self.start("--log-level", "debug", era="modern")
        # Not that of process 1: on berth-direct that is the host's, and its output somebody's file.
        berth.call_tool("bash_exec", {"command": f"echo out; echo err >&2; {GUEST}; "
                                                 "echo hi >/proc/$p/fd/1"})
        berth.close()
        self.assertEqual(berth.strays, [])
        self.assertIn("serving", berth.stderr)
        self.assertNotIn("echo out", berth.stderr)

    def test_many_calls_in_flight_and_none_held_by_a_slow_one(self):
        berth = self.start("--config", self.config("[session]\ncalls = 64\n"), era="modern")
        slow = berth.call_async("bash_exec", SLEEP)
        calls = [berth.call_async("session_info") for _ in range(100)]
        calls += [berth.call_async("bash_exec", {"command": f"echo {n}"}) for n in range(20)]
        for call in calls:
            self.assertFalse(call.result(30).is_error)
        self.assertFalse(slow.answered())
        berth.cancel(slow)

    def test_a_slow_search_holds_no_call_and_ends_when_it_is_cancelled(self):
        def used():
            """Processor time of the guest, in ticks: nothing else of it works meanwhile."""
            fields = pathlib.Path(f"/proc/{guest}/stat").read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])

        berth = self.start("--config", self.config('[search]\ntime = "600s"\n'), era="modern")
        # RE2's automaton gets a new state with each letter.
        berth.call_tool("bash_exec", {"command":
            "head -c 8000000 /dev/urandom | LC_ALL=C tr '\\000-\\377' '[a*128][b*128]' >slow; "
            "mkdir many; split -b 100000 slow many/"})
        guest = self.guest(berth)
        for arguments in ({"path": "slow"}, {"path": "many", "multiline": True}):
            with self.subTest(**arguments):
                before = used()
                slow = berth.call_async("grep_files", {"pattern": "[ab]*a[ab]{900}c", **arguments})
                time.sleep(1)
                self.assertEqual(berth.call_tool("bash_exec", {"command": "echo on"}, 5).text, "on\n")
                self.assertFalse(berth.call_tool("glob_files", {"pattern": "*"}, 5).is_error)
                self.assertGreater(used() - before, 10)
                self.assertFalse(slow.answered())
                berth.cancel(slow)
                # RE2 itself cannot be stopped: what is begun may take two seconds, more if others
                # have the processors. All of it would take minutes.
                end = time.monotonic() + 6
                while True:
                    stopped = used()
                    time.sleep(0.5)
                    if used() - stopped < 3:
                        break
                    self.assertLess(time.monotonic(), end, "it goes on")
                self.assertFalse(slow.answered())
                self.assertEqual(berth.strays, [])

    def test_calls_beyond_the_guests_connections_wait_for_their_turn(self):
        berth = self.start("--config", self.config("[session]\ncalls = 256\n"), era="modern")
        berth.call_tool("bash_exec", {"command": "true"})
        calls = [berth.call_async("bash_exec", {"command": f"sleep 0.5; echo {n}"}, n)
                 for n in range(200)]
        last = berth.call_async("bash_exec", {"command": "echo never >f"})
        berth.cancel(last)  # it waits, so it has not begun
        self.assertFalse(berth.call_tool("session_info", timeout=5).is_error)
        self.assertEqual([call.result(60).text for call in calls],
                         [f"{n}\n" for n in range(200)])
        self.assertEqual(berth.call_tool("bash_exec", {"command": "ls f"}).data["exit_code"], 2)

    def test_nothing_follows_a_cancellation(self):
        for era in ("legacy", "modern"):
            with self.subTest(era):
                berth = self.start(era=era)
                slow = berth.call_async("bash_exec", SLEEP, progress_token="t")
                time.sleep(0.3)
                berth.cancel(slow)
                berth.cancel(slow)
                berth.cancel("never seen")
                self.assertEqual(berth.call_tool("bash_exec", {"command": "echo on"}).text, "on\n")
                time.sleep(1)
                self.assertFalse(slow.answered())
                self.assertEqual(berth.strays, [])


class SandboxTest(Cases, unittest.TestCase):
    """As whoever runs the tests."""


@unittest.skipIf(os.geteuid() != 0, "SandboxTest is that of an ordinary user already")
class OrdinaryUserTest(Cases, unittest.TestCase):
    prefix = (shutil.which("setpriv") or "setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
              "--clear-groups")

    def setUp(self):
        readable = subprocess.run([*self.prefix, "test", "-r", binary_path()], check=False)
        if readable.returncode != 0:
            self.skipTest(f"uid {NOBODY} may not read {binary_path()}")
        super().setUp()
        runtime = tempfile.TemporaryDirectory(prefix="berth-test-runtime-")
        self.addCleanup(runtime.cleanup)
        self.own(runtime.name)
        self.environment = {"XDG_RUNTIME_DIR": runtime.name, "HOME": runtime.name}

    def own(self, path):
        os.chown(path, NOBODY, NOBODY)


if __name__ == "__main__":
    unittest.main(verbosity=2)
