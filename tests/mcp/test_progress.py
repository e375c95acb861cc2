#!/usr/bin/env python3
"""What a client is told while a call lasts: the last lines of its command's output, for a token, and
never more than it reads. The same on every backend: tests/parity/cases/progress.py."""

import pathlib
import re
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import Bench


def tick(last):
    """Prints "tick 1" to "tick <last>", and waits."""
    return f"for n in $(seq {last}); do echo tick $n; sleep 0.05; done; sleep 60"


def beats(berth, token=None):
    """What was told, of one call or of all."""
    return [message["params"] for message in list(berth.notifications)
            if message["method"] == "notifications/progress" and
            token in (None, message["params"]["progressToken"])]


def messages(berth, token=None):
    return [beat["message"] for beat in beats(berth, token)]


class ProgressTest(Bench):
    def told(self, berth, pattern, token=None, timeout=15):
        """The first message that has a match, once there is one."""
        found = []
        self.wait_for(lambda: found.extend(text for text in messages(berth, token)
                                           if re.search(pattern, text)) or found, timeout)
        return found[0]

    def test_the_last_lines_of_a_command(self):
        for era, token in (("modern", 7), ("legacy", "seven")):
            with self.subTest(era):
                berth = self.start(era=era)
                call = berth.call_async("bash_exec", {"command": tick(40)}, progress_token=token)
                self.assertEqual(self.told(berth, "tick 40$"), "tick 38\ntick 39\ntick 40")
                told = messages(berth)
                self.assertGreater(len(told), 1)  # it took two seconds
                self.assertLess(len(told), 20)    # and most were passed over
                numbers = [int(text.split()[-1]) for text in told]
                self.assertEqual(numbers, sorted(set(numbers)))
                for text in told:
                    self.assertLessEqual(len(text.splitlines()), 3)
                rising = [beat["progress"] for beat in beats(berth)]
                self.assertEqual(rising, sorted(set(rising)))
                self.assertEqual({beat["progressToken"] for beat in beats(berth)}, {token})
                berth.cancel(call)

    def test_without_new_output_the_last_lines_stay_and_the_time_is_told(self):
        berth = self.start(era="modern")
        call = berth.call_async("bash_exec", {"command": "echo begun; sleep 60"}, progress_token=1)
        self.assertRegex(self.told(berth, "has run for", timeout=20),
                         r"^begun\n\[bash_exec has run for \d+\.\d s\]$")
        self.assertEqual(messages(berth)[0], "begun")
        berth.cancel(call)

    def test_a_bar_as_it_stands_and_nothing_that_a_terminal_obeys(self):
        berth = self.start(era="modern")
        command = (r"printf 'loading\n' >&2; for n in 1 2 3; do printf '\r %d%%' $n >&2; done; "
                   r"printf '\r\033[31m99%%\033[0m \377' >&2; sleep 60")
        call = berth.call_async("bash_exec", {"command": command}, progress_token=1)
        self.assertEqual(self.told(berth, "99"), "loading\n99% \\xff")
        berth.cancel(call)
        long = berth.call_async("bash_exec", {"command": "printf 'ä%.0s' {1..3000}; sleep 60"},
                                progress_token=2)
        self.assertEqual(self.told(berth, "ä"), "…" + "ä" * 298 + "…")
        berth.cancel(long)

    def test_without_a_token_nothing_is_told(self):
        berth = self.start(era="modern")
        quiet = berth.call_async("bash_exec", {"command": tick(20)})
        endless = berth.call_async("bash_exec", {"command": tick(20)}, progress_token="x" * 2000)
        heard = berth.call_async("bash_exec", {"command": tick(40)}, progress_token="heard")
        self.told(berth, "tick 40")
        self.assertEqual({beat["progressToken"] for beat in beats(berth)}, {"heard"})
        for call in (quiet, endless, heard):
            berth.cancel(call)

    def test_nothing_after_the_answer_or_the_cancel(self):
        berth = self.start(era="modern")
        brief = berth.call_async("bash_exec", {"command": "echo brief"}, progress_token="brief")
        self.assertEqual(brief.result().text, "brief\n")
        ended = berth.call_async("bash_exec", {"command": "for n in $(seq 30); do echo tick $n; "
                                                          "sleep 0.05; done"},
                                 progress_token="ended")
        cancelled = berth.call_async("bash_exec", {"command": tick(400)}, progress_token="cancelled")
        self.told(berth, "tick", "cancelled")
        ended.result()
        answered = len(beats(berth, "ended"))
        berth.cancel(cancelled)
        berth.request("tools/list")  # what was on its way when the cancel came has come
        before = len(beats(berth, "cancelled"))
        witness = berth.call_async("bash_exec", {"command": tick(60)}, progress_token="witness")
        self.told(berth, "tick 60", "witness")
        self.assertEqual(len(beats(berth, "brief")), 0)
        self.assertEqual(len(beats(berth, "ended")), answered)
        self.assertEqual(len(beats(berth, "cancelled")), before)
        berth.cancel(witness)

    def test_who_waits_for_a_job_sees_what_it_prints(self):
        berth = self.start(era="modern")
        job = berth.call_tool("bash_exec", {"command": tick(40), "background": True}).data["job_id"]
        wait = berth.call_async("bash_output", {"job_id": job, "filter": "no such line", "wait": 60},
                                progress_token="job")
        self.assertEqual(self.told(berth, "tick 40$"), "tick 38\ntick 39\ntick 40")
        berth.cancel(wait)
        berth.call_tool("bash_kill", {"job_id": job})

    def test_the_dialect_tells_the_same(self):
        berth = self.start("--tool-dialect", "claude", era="modern")
        call = berth.call_async("Bash", {"command": tick(20)}, progress_token=1)
        self.assertEqual(self.told(berth, "tick 20$"), "tick 18\ntick 19\ntick 20")
        berth.cancel(call)

    def test_a_client_that_does_not_read_is_told_the_newest_once_it_does(self):
        done = self.state.path / "all-was-printed"
        berth = self.start(era="modern")
        with berth.reading_paused():
            for _ in range(10):  # together more than a pipe takes
                berth.request_async("tools/list")
            call = berth.call_async("bash_exec", {
                "command": f"for n in $(seq 60); do echo tick $n; sleep 0.05; done; touch {done}; "
                           "sleep 60"}, progress_token=1)
            self.wait_for(done.exists, 20)
            time.sleep(2.5)  # the last line has come to the server
        self.told(berth, "tick")
        self.assertEqual(messages(berth)[0], "tick 58\ntick 59\ntick 60")
        berth.cancel(call)

    def test_a_flood(self):
        berth = self.start(era="modern")
        call = berth.call_async("bash_exec", {"command": "yes flood | head -c 2000000000"},
                                progress_token=1)
        result = call.result(timeout=60)
        self.assertEqual(result.data["exit_code"], 0)
        for text in messages(berth):
            self.assertRegex(text, "^flood\nflood\nf?l?o?o?d?$")  # what was read may end anywhere


if __name__ == "__main__":
    unittest.main()
