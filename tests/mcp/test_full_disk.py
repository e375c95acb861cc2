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
"$0" call --state-dir "$1" bash_exec '{"command": "true"}' >&2
status "$1"
rm "$1/filled"
mount -o remount,ro "$1"
status "$1"
"""


# A session with a job that has ended, of which nobody was told, and one that runs; then the disk is
# full, and $2 is done to it. What its next call is told, once there is room again.
OUTCOMES_SCRIPT = r"""
mount -t tmpfs -o size=8m,mode=700 none "$1" || exit
call() { "$0" call --json --session full --state-dir "$1" bash_exec "$2"; }
call "$1" '{"command": "sleep 1; echo said; exit 3", "background": true}' >&2
call "$1" '{"command": "sleep 600", "background": true}' >&2
sleep 2
cat /dev/zero >"$1/filled" 2>/dev/null
"$0" sessions --state-dir "$1" $2 >&2
printf '{"status": %d}\n' $?
rm "$1/filled"
call "$1" '{"command": "pgrep -cx sleep"}'
"$0" sessions --state-dir "$1" kill full --purge >&2
"""


# A home whose time is over, of a session that has ended before the host's last restart; then the disk
# is full.
RETENTION_SCRIPT = r"""
mount -t tmpfs -o size=8m,mode=700 none "$1" || exit
"$0" call --session full --state-dir "$1" write_file '{"path": "~/f", "content": "x"}' >&2
"$0" sessions --state-dir "$1" kill full >&2
sed -i 's/"boot": *"[^"]*"/"boot": "another"/; s/"counted": *[0-9]*/"counted": 9000000/' "$1"/sessions/*/record.json
cat /dev/zero >"$1/filled" 2>/dev/null
"$0" sessions --state-dir "$1" gc --json
printf '{"status": %d, "left": "%s"}\n' $? "$(ls "$1/sessions")"
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
        # What the call failed of found no room either.
        self.assertEqual((roomy["unkept_errors"], full["recent_errors"]), ("", []))
        self.assertRegex(full["unkept_errors"], "^20")

    def after(self, on_full_disk, **environment):
        """Status of that command of `berth sessions`, and what the next call prints and is told."""
        with StateDirectory() as state:
            as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
            done = subprocess.run(
                ["unshare", "--mount", *as_root, "sh", "-c", OUTCOMES_SCRIPT, binary_path(),
                 str(state.path), on_full_disk], text=True, capture_output=True, timeout=120,
                env={**os.environ, **environment})
            status, answer = documents(done.stdout)
            self.assertEqual(state.leaks(), [])
            texts = [part["text"] for part in answer["content"]]
            return status["status"], "\n".join(texts), done.stderr

    def test_who_is_ended_on_it_is_told_of_all_that_nobody_saw(self):
        status, told, errors = self.after("kill full")
        self.assertEqual(status, 0, errors)
        self.assertIn("exit 3", told)
        self.assertIn("| said", told)
        self.assertIn("`sleep 600`", told)
        self.assertIn("was ended with the sandbox", told)

    def test_an_adoption_that_is_refused_for_it_ends_nothing(self):
        status, told, errors = self.after("adopt full --session other --end-machine")
        self.assertEqual(status, 1, errors)
        self.assertIn("\n1\n", told)  # the job goes on
        self.assertIn("exit 3", told)
        self.assertNotIn("lost", told)

    def test_who_clears_up_on_it_leaves_the_guest_s_last_words(self):
        status, told, errors = self.after("gc", BERTH_SESSION_ON_DISCONNECT="kill")
        self.assertEqual(status, 1, errors)
        self.assertIn("`sleep 600`", told)
        self.assertIn("its last client left", told)

    def test_a_home_whose_time_is_over_makes_room_on_it(self):
        with StateDirectory() as state:
            as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
            done = subprocess.run(
                ["unshare", "--mount", *as_root, "sh", "-c", RETENTION_SCRIPT, binary_path(), str(state.path)],
                text=True, capture_output=True, timeout=60)
            collected, after = documents(done.stdout)
            self.assertEqual((after["status"], after["left"]), (0, ""), (collected, done.stderr))
            self.assertEqual(collected["removed"], ["full"], collected)
            self.assertEqual(state.leaks(), [])

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
