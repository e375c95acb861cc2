"""Several servers of one session: whoever asks for much leaves the others their turn."""

import threading

from suite import ParityTest

from cases.crowds import HARD, MAKE_HARD


class FairnessTest(ParityTest):
    environment = {"BERTH_SESSION_CALLS": "2", "BERTH_SEARCH_TIME": "1s"}

    def setUp(self):
        super().setUp()
        self.run_command("echo hi >small")
        self.other = self.start("--session", "work")
        self.assertEqual(self.other.call_tool("bash_exec", {"command": "cat small"}).text, "hi\n")

    def test_commands_without_a_pause_keep_no_other_server_from_running_one(self):
        enough = threading.Event()

        def crowd():
            while not enough.is_set():
                self.berth.call_tool("bash_exec", {"command": "sleep 0.3"})

        threads = [threading.Thread(target=crowd) for _ in range(6)]
        for thread in threads:
            thread.start()
        try:
            self.wait_until(lambda: self.call("session_info").data["commands_in_flight"] == 2, 20,
                            "all places are taken")
            for n in range(8):
                result = self.other.call_tool("bash_exec", {"command": f"echo {n}"})
                self.assertEqual((result.is_error, result.text), (False, f"{n}\n"))
        finally:
            enough.set()
            for thread in threads:
                thread.join()

    def test_a_command_for_which_no_place_comes_is_told_busy(self):
        held = [self.berth.call_async("bash_exec", {"command": "sleep 300", "timeout": 200})
                for _ in range(2)]
        self.wait_until(lambda: self.call("session_info").data["commands_in_flight"] == 2, 20,
                        "all places are taken")
        result = self.other.call_tool("bash_exec", {"command": "echo >ran"})
        self.assertTrue(result.is_error)
        self.assertEqual((result.error["code"], result.error["retryable"]), ("busy", True))
        self.assertIn("it waited 3 s for a place", result.text)
        self.assertIn(result.error["details"]["retry_after"], range(1, 201))
        for call in held:
            self.berth.cancel(call)
        self.assertEqual(self.output("ls"), "small\n")  # it waits until they are gone

    def test_a_command_that_waits_when_its_server_is_killed_is_not_run(self):
        held = [self.berth.call_async("bash_exec", {"command": "sleep 300"}) for _ in range(2)]
        self.wait_until(lambda: self.call("session_info").data["commands_in_flight"] == 2, 20,
                        "all places are taken")
        waiting = []

        def waits():
            if not waiting or waiting[-1].answered():  # busy: this host is slow
                waiting.append(self.other.call_async("bash_exec", {"command": "echo x >ran"}))
            return "echo x >ran" in self.command_line("sessions", "show", "work")

        self.wait_until(waits, 30, "it waits")
        self.other.kill()
        for call in held:
            self.berth.cancel(call)
        notices = []
        self.wait_until(lambda: notices.extend(
            self.start("--session", "work").call_tool("bash_exec", {"command": "true"}).notices)
            or notices, 20, "it is told")
        self.assertIn("`echo x >ran`) reached nobody", notices[0])
        self.assertIn("it was not run", notices[0])
        self.assertEqual(self.output("ls"), "small\n")

    def test_searches_of_one_server_hold_those_of_another_for_a_turn(self):
        self.output(MAKE_HARD)
        crowd = [self.berth.call_async("grep_files", HARD) for _ in range(60)]
        self.wait_until(lambda: crowd[0].answered(), 60, "the first has had its time")
        result = self.other.call_tool("grep_files", {"path": "small", "pattern": "hi"})
        self.assertFalse(result.is_error)
        self.assertLess(sum(search.answered() for search in crowd), 40)
        for search in crowd:
            if not search.answered():
                self.berth.cancel(search)
