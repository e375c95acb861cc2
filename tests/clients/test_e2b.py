#!/usr/bin/env python3
"""The official client of E2B, unmodified, against the emulator of tests/e2b_emulator: what it takes for the
original may be tested against. BERTH_CLIENTS says where it is."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2b_emulator"))

from emulator import Emulator  # noqa: E402

from installed import CLIENTS, NODE  # noqa: E402


class E2bTest(unittest.TestCase):
    def setUp(self):
        self.e2b = Emulator()
        self.e2b.start()
        self.addCleanup(self.e2b.stop)
        self.saw = self.case(self._testMethodName.removeprefix("test_"))
        books = self.e2b.books()
        self.assertEqual((books["running"], books["paused"]), ([], []))
        self.assertEqual(sorted(books["created"]), sorted(books["ended"]))

    def case(self, name):
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **self.e2b.environment()}
        done = subprocess.run([NODE, str(HERE / "e2b.mjs"), CLIENTS, name], env=environment, text=True,
                              capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_run(self):
        self.assertEqual(self.saw, {
            "stdout": "hi\nbar baz\n/tmp\nuser\n", "stderr": "err\n", "code": 0,
            "told": "hi\nbar baz\n/tmp\nuser\n", "root": "0\n", "exit": {"code": 3, "stdout": "out\n"},
            "late": "TimeoutError", "where": "InvalidArgumentError", "created": True})

    def test_background(self):
        self.assertEqual(self.saw, {"text": "ping\ndone\n", "listed": True, "ended": 0, "killed": True,
                                    "again": "CommandExitError", "twice": False, "left": 0})

    def test_files(self):
        self.assertEqual(self.saw, {
            "path": "/home/user/a/b.txt", "text": "hello\n", "packed": 100_000, "same": True,
            "names": ["/home/user/a", "/home/user/a/b.txt", "/home/user/c.bin", "/home/user/packed"],
            "info": {"size": 6, "owner": "user", "permissions": "-rw-r--r--", "type": "file"},
            "moved": "/home/user/moved.txt", "made": [True, False], "there": [True, False],
            "missing": "FileNotFoundError"})

    def test_watch(self):
        self.assertLessEqual({"create one", "write one", "create deep", "write deep/two", "remove one"},
                             set(self.saw["events"]))

    def test_lifecycle(self):
        self.assertEqual(self.saw, {
            "running": True, "paused": True, "twice": False, "state": "paused",
            "asleep": "SandboxNotFoundError", "same": True, "kept": "of before", "stream": "TimeoutError",
            "goesOn": True, "limit": True, "killed": [True, False],
            "after": [False, "SandboxNotFoundError", "SandboxNotFoundError"]})

    def test_metadata(self):
        self.assertEqual(self.saw, {"info": [0], "all": 3, "paused": 1, "kept": {"key": "b c&d=e%f+g"},
                                    "after": 1})

    def test_limit(self):
        self.assertEqual(self.saw, {"cut": "TimeoutError", "gone": "SandboxNotFoundError",
                                    "state": "paused"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
