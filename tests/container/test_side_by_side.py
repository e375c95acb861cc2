"""Two containers that have one state directory, with the books in its files: a machine that lives in
the one cannot be seen in the other, which neither makes a second one on its home nor ends it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parent.parent / "mcp")]

import container
from mcp_client import Berth, binary_path
from state_directory import StateDirectory

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
FULL = {"own_run": True}
DOCKER = {"masked": False}  # whose sockets are in the state directory, and are seen by both


class SideBySideTest(unittest.TestCase):
    def setUp(self):
        self.state = StateDirectory()
        self.state.__enter__()
        self.addCleanup(self.state.__exit__, None, None, None)
        self.environment = {"PATH": PATH, "HOME": str(self.state.path),
                            "BERTH_STATE_DIR": str(self.state.path)}

    def server(self, how):
        command = container.command([binary_path("berth"), "serve", "--session", "c",
                                     "--structured-content"], **how)
        return Berth(*command[1:], binary=shutil.which(command[0]), env=self.environment)

    def command_line(self, *arguments, how, status=0):
        done = subprocess.run(
            container.command([binary_path("berth"), *arguments], **how), env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done)
        return done.stdout + done.stderr

    def stop(self, server):
        server.kill()  # the first process of the container, which goes with it
        deadline = time.monotonic() + 20
        while self.state.processes():
            self.assertLess(time.monotonic(), deadline, self.state.processes())
            time.sleep(0.05)

    def check_refused(self, text):
        self.assertIn("in another container", text)
        self.assertIn(str(self.state.path), text)

    def see(self, how):
        """What the second container can do about a machine of the first."""
        with self.server(how) as second:
            told = second.call_tool("bash_exec", {"command": "echo second >file"})
            self.assertEqual(told.error.get("code"), "sandbox_unavailable", told)
            self.check_refused(told.text)
            second.call_tool("session_info")
        for arguments in (("kill", "c"), ("kill", "c", "--purge"),
                          ("adopt", "c", "--session", "d", "--end-machine")):
            with self.subTest(arguments):
                self.check_refused(self.command_line("sessions", *arguments, how=how, status=1))
        self.command_line("sessions", "gc", "--homes-older-than", "0s", how=how)
        (listed,) = json.loads(self.command_line("sessions", "list", "--json", how=how))
        self.assertEqual(listed["state"], "running")

    def check(self, how):
        with self.server(how) as first:
            first.call_tool("bash_exec", {"command": "while :; do echo >>ticks; sleep 0.1; done",
                                          "background": True})
            first.call_tool("bash_exec", {"command": "echo first | tee file >/tmp/file"})
            guests = self.state.guests()
            self.assertEqual(len(guests), 1)
            self.see(how)
            self.assertEqual(self.state.guests(), guests)
            told = first.call_tool("bash_exec", {"command": "cat file /tmp/file"})
            self.assertEqual(told.data["stdout"], "first\nfirst\n", told)
            self.assertEqual(told.notices, [])
            jobs = first.call_tool("session_info").data["jobs"]
            self.assertEqual([job["status"] for job in jobs], ["running"])
            self.stop(first)
        with self.server(how) as second:
            told = second.call_tool("bash_exec", {"command": "cat file"})
            self.assertEqual(told.data["stdout"], "first\n", told)
            self.assertEqual(told.notices, ["the sandbox was lost; a fresh one is in use; files in "
                                            "the home are kept"])
            self.stop(second)
        self.command_line("sessions", "kill", "c", "--purge", how=how)
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_with_a_run_of_their_own(self):
        self.check(FULL)

    def test_with_dockers_capabilities(self):
        self.check(DOCKER)


if __name__ == "__main__":
    if not container.is_possible():
        print("skipped: only root can play a container runtime")
        sys.exit(77)
    unittest.main(verbosity=2)
