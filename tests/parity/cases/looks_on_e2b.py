"""session_info on E2B: it starts and wakes nothing, is soon there, and says what it could not see."""

import time

import e2b
from suite import ParityTest, e2b_only
from tables.e2b_faults import HTML

START = "envd POST /process.Process/Start"
LOOK = "api GET /sandboxes/{id}"


@e2b_only
class LooksOnE2bTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(e2b.emulator().clear_faults)
        self.output("echo kept >file")
        (self.box,) = e2b.boxes()

    def is_paused(self):
        return self.box in e2b.emulator().books()["paused"]

    def look(self, server, longest=30):
        """What it says, and the requests that were made for it."""
        e2b.emulator().counts(clear=True)
        began = time.monotonic()
        found = server.call_async("session_info", {}).result(60)
        self.assertLess(time.monotonic() - began, longest)
        counts = e2b.emulator().counts(clear=True)
        return found, {name: count for name, count in counts.items() if name.startswith(("api", "envd"))}

    def test_a_box_that_somebody_else_had_put_to_sleep_goes_on_sleeping(self):
        """Of a server that works there, and of one that comes to it."""
        other = self.start("--session", "work")
        e2b.emulator().do(self.box, "pause")
        for server in (self.berth, other):
            found, requests = self.look(server)
            self.assertEqual(found.data["state"], "paused", found)
            self.assertTrue(found.data["pause"]["paused"])
            self.assertEqual((found.data["sandbox_id"], found.notices), (self.box, []))
            self.assertEqual(requests, {LOOK: 1})
            self.assertTrue(self.is_paused())
        self.assertEqual(self.output("cat file"), "kept\n")

    def test_a_box_that_falls_asleep_between_the_two_questions_is_not_woken(self):
        e2b.emulator().fault(plane="envd", path="/process.Process/Start", then="pause")
        found, requests = self.look(self.berth)
        self.assertEqual(found.data["sandbox_id"], self.box, found)
        self.assertTrue(any("could not be looked into" in line for line in found.notices), found)
        self.assertEqual(requests, {LOOK: 1, START: 1})
        self.assertTrue(self.is_paused())

    def test_what_cannot_be_seen_is_said(self):
        """And soon: nobody waits for E2B to come back who only wants to know how things are."""
        for rule, longest in (({"plane": "envd", "status": 503, "times": 0}, 8),
                              ({"plane": "envd", "drop": True, "times": 0}, 8),
                              ({"plane": "api", "status": 503, "times": 0}, 20),
                              ({"plane": "api", "status": 401, "times": 0}, 8),
                              ({"plane": "api", "status": 404, "times": 0, **HTML}, 8),
                              ({"plane": "api", "delay": 40}, 20)):
            with self.subTest(str(rule)):
                e2b.emulator().fault(**rule)
                found, _ = self.look(self.berth, longest)
                e2b.emulator().clear_faults()
                self.assertFalse(found.is_error, found)
                self.assertEqual((found.data["sandbox_id"], found.data["state"]), (self.box, "running"))
                (notice,) = found.notices
                self.assertIn("could not be looked into", notice)
        self.assertEqual(e2b.emulator().books()["created"][-1], self.box)

    def test_a_list_does_not_wait_for_each_session_where_e2b_is_silent(self):
        other = self.start("--session", "other")
        other.call_tool("bash_exec", {"command": "true"})
        e2b.emulator().fault(plane="api", delay=40, times=0)
        # 5 s to clear up, 10 s to look at each of what they tell of.
        for command, longest in ((("sessions", "list", "--json"), 18), (("status", "--json"), 28)):
            with self.subTest(command):
                began = time.monotonic()
                self.command_line(*command)
                self.assertLess(time.monotonic() - began, longest)

    def test_a_fault_that_passes_hides_nothing(self):
        for rule in ({"status": 503, "done": 0}, {"status": 502, **HTML}, {"drop": True}, {"cut": 40}):
            with self.subTest(str(rule)):
                e2b.emulator().fault(plane="envd", path="/process.Process/Start", **rule)
                found, _ = self.look(self.berth, 8)
                self.assertEqual((found.data["cwd"], found.notices), ("/home/user", []), found)

    def test_a_box_that_is_gone_is_not_replaced_by_a_look(self):
        made = len(e2b.emulator().books()["created"])
        e2b.emulator().do(self.box, "vanish")
        found, _ = self.look(self.berth)
        self.assertEqual(found.data["state"], "lost", found)
        self.assertEqual(len(e2b.emulator().books()["created"]), made)
