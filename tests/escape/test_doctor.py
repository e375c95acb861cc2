"""The doctor, where a layer is missing that the sandbox is said to have."""

import json
import os
import subprocess

from mcp_client import binary_path
from sandbox import EscapeTest
from state_directory import StateDirectory

# What its attempts get past, by what the launcher leaves out.
PAST = {"masks": {"proc-masks"}, "seccomp nested": {"seccomp", "nested-userns"},
        "seccomp landlock privileges": {"seccomp", "userns"}}


class DoctorTest(EscapeTest):
    def examine(self, *arguments, without=None):
        state = StateDirectory()
        self.addCleanup(state.__exit__, None, None, None)
        done = subprocess.run(
            [binary_path(), "doctor", "--json", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=100, check=False, env={
                "PATH": os.environ["PATH"], "HOME": str(state.path), "BERTH_STATE_DIR": str(state.path),
                **self.lacking(without)})
        return done, {check["name"]: check for check in json.loads(done.stdout)["checks"]}

    def test_it_sees_what_does_not_hold_and_its_status_says_so(self):
        for without, past in PAST.items():
            with self.subTest(without):
                done, checks = self.examine(without=without)
                failed = {name for name, check in checks.items() if "it worked" in check["detail"]}
                self.assertEqual((done.returncode, failed), (1, past), done.stdout)
                self.assertFalse(any(checks[name]["ok"] for name in (*past, "attempts")))
                for name in past:
                    self.assertIn(name, checks["attempts"]["detail"])
                self.assertIn("SECURITY.md", checks["attempts"]["remedy"])

    def test_what_is_not_there_fails_who_insists_on_it_alone(self):
        done, checks = self.examine(without="landlock")
        self.assertEqual((done.returncode, checks["landlock"]["ok"], checks["attempts"]["ok"]), (0, False, True),
                         done.stdout)
        done, _ = self.examine("--require", "landlock", without="landlock")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("landlock", done.stderr)
