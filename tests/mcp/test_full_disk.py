"""A state directory whose disk is full: what the caller is told, and that nothing is left of it."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import binary_path
from state_directory import StateDirectory

# A file system of 16 pages, filled up to another one each time: whatever is written first, second
# and so on is the one that finds no room. One document per line of output.
SCRIPT = r"""
set -eu
mount -t tmpfs -o size=64k,mode=700 none "$1"
for filled in $(seq 0 4 64); do
    head -c ${filled}k /dev/zero >"$1/filled" 2>/dev/null || true
    printf '{"filled": %d, "answer": ' "$filled"
    "$0" call --json --session full --state-dir "$1" bash_exec '{"command": "echo works"}' || true
    rm "$1/filled"
    "$0" sessions kill full --purge --state-dir "$1" >&2 || true
    printf ', "left": "%s"}\n' "$(ls "$1/sessions" 2>/dev/null) $(ls "$1/uids" 2>/dev/null)"
done
"""

# A disk with room, without, and one that the kernel has made read-only, as it does after an error.
STATUS_SCRIPT = r"""
mount -t tmpfs -o size=64k,mode=700 none "$1" || exit
status() { "$0" status --json --state-dir "$1"; printf '{"status": %d}\n' $?; }
status "$1"
head -c 64k /dev/zero >"$1/filled" 2>/dev/null
status "$1"
rm "$1/filled"
mount -o remount,ro "$1"
status "$1"
"""


def documents(text):
    decoder = json.JSONDecoder(strict=False)
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:]


class FullDiskTest(unittest.TestCase):
    def test_a_session_starts_or_is_told_of_the_disk_and_leaves_nothing(self):
        with StateDirectory() as state:
            as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
            done = subprocess.run(
                ["unshare", "--mount", *as_root, "sh", "-c", SCRIPT, binary_path(),
                 str(state.path), "/dev/null"], text=True, capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            outcomes = list(documents(done.stdout))
            self.assertEqual(len(outcomes), 17)
            for outcome in outcomes:
                with self.subTest(filled=outcome["filled"]):
                    self.check(outcome["answer"], str(state.path))
                    # No home, and no host uid that belongs to nobody.
                    self.assertIn(outcome["left"].split(), ([], ["lock"]))
            refused = [outcome["answer"]["isError"] for outcome in outcomes]
            self.assertFalse(refused[0])
            self.assertTrue(refused[-1])
            self.assertEqual(state.leaks(), [])

    def test_the_status_says_that_nothing_can_be_written(self):
        with StateDirectory() as state:
            roomy, full, read_only = self.statuses(state)
        self.assertEqual((roomy["available"], roomy["status"], roomy["reason"]), (True, 0, ""))
        self.assertEqual((full["available"], full["status"]), (False, 1))
        self.assertIn("the disk that holds berth's state directory is full", full["reason"])
        self.assertIn("sessions kill KEY --purge", full["remedy"])
        self.assertEqual((read_only["available"], read_only["status"]), (False, 1))
        self.assertIn(f"{state.path} cannot be written to: Read-only file system", read_only["reason"])
        self.assertIn("--state-dir", read_only["remedy"])
        self.assertTrue(full["sessions_known"])

    def statuses(self, state):
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        done = subprocess.run(
            ["unshare", "--mount", *as_root, "sh", "-c", STATUS_SCRIPT, binary_path(), str(state.path)],
            text=True, capture_output=True, timeout=120)
        told = list(documents(done.stdout))
        self.assertEqual(len(told), 6, done.stderr)
        return [{**status, **code} for status, code in zip(told[::2], told[1::2])]

    def check(self, answer, path):
        text = answer["content"][0]["text"]
        if not answer["isError"]:
            self.assertEqual(text, "works\n")
            return
        self.assertIn("the disk that holds berth's state directory is full", text)
        self.assertIn("sessions kill KEY --purge", text)
        self.assertNotIn(path, text)


if __name__ == "__main__":
    unittest.main()
