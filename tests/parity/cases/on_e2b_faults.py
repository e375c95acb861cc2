"""Each tool, and each way in which E2B or the line to it can fail a request of it."""

import os
import pathlib
import signal
import time

import e2b
from faulted import FIRST, SEND, START, STREAM, FaultedTest
from suite import e2b_only
from tables.e2b_calls import CALLS, LOAD, SLOW_CALLS
from tables.e2b_faults import (BROKEN, BROKEN_BODIES, CANCELS, FRAMES, GIVEN_UP, HTML, LEAVING, LOST, MAKING, MEANWHILE, REFUSED,
                               TURNED_AWAY, UNASKABLE)

SENDING_MORE = tuple(call for call in CALLS if call.sends_more)


def one_by_one(calls):
    return [(call,) for call in calls]


@e2b_only
class FaultsTest(FaultedTest):
    @staticmethod
    def of(path, plane="envd"):
        """Each of the calls meets it once."""
        return lambda fault, calls: e2b.emulator().fault(plane=plane, path=path,
                                                         **{"times": calls, **fault.rule})

    def test_answers_that_break_anywhere(self):
        self.make_ready(CALLS, BROKEN + LOST)
        self.check(one_by_one(SENDING_MORE), BROKEN, self.of(START))
        self.check(one_by_one(call for call in CALLS if not call.sends_more), BROKEN + LOST, self.of(START))
        self.check_books()

    def test_bodies_that_do_not_arrive(self):
        self.make_ready(SENDING_MORE, BROKEN_BODIES)
        self.check(one_by_one(SENDING_MORE), BROKEN_BODIES, self.of(STREAM))
        self.check_books()

    def test_refusals_of_all_calls_at_once(self):
        self.make_ready(CALLS, REFUSED)
        self.check([CALLS], REFUSED, self.of(START))
        self.check_books()

    def test_what_a_proxy_has_passed_on_and_given_up(self):
        self.make_ready(CALLS, GIVEN_UP)
        self.check([CALLS], GIVEN_UP, self.of(START))
        self.check_books()

    def test_a_proxy_that_gives_up_everything_for_a_while(self):
        """Nobody says that nothing was done, nor that it may be done again; what was is told later."""
        self.output("true")
        for status in (500, 502, 503, 504):
            with self.subTest(status):
                e2b.emulator().fault(plane="envd", path=START, status=status, done=0.1, times=0, **HTML)
                found = self.berth.call_async(
                    "bash_exec", {"command": "echo x >>count; sleep 0.1; echo done"}).result(60)
                e2b.emulator().clear_faults()
                self.assertEqual(found.error.get("code"), "backend_error", found)
                self.assertFalse(found.error["retryable"])
                self.assertIn("cannot be asked what became of it", found.text)
                after = self.berth.call_tool("bash_exec", {"command": "cat count; rm count"})
                self.assertEqual(after.data.get("stdout"), "x\n", after)
                self.assertIn("echo done", " ".join(after.notices))
        self.made = len(e2b.emulator().books()["created"])
        self.check_books()

    def test_frames_of_a_load_that_do_not_arrive(self):
        """What was certainly refused goes again; of the rest no one says that somebody cancelled it."""
        self.make_ready((LOAD,), FRAMES)
        for skip in (0, 1):
            with self.subTest(skip=skip):
                results = self.check([(LOAD,)], FRAMES, lambda fault, _: e2b.emulator().fault(
                    plane="envd", path=SEND, skip=skip, **fault.rule))
                said = [result.text for result in results.values() if result.is_error]
                self.assertGreater(len(said), 2 * (1 - skip))
                self.assertNotIn("cancelled", " ".join(said))
                self.output("rm ~/load/*/file")
        self.check_books()

    def start_a_command(self):
        pending = self.berth.call_async("bash_exec", {"command": "echo $$ >pid; exec sleep 47"})
        self.wait_until(lambda: self.run_command("cat pid 2>/dev/null").data["stdout"], 10, "the command")
        return pending, self.output("cat pid; rm pid").strip()

    def test_a_cancel_comes_through_an_outage(self):
        """Of one request, or of all of them for as long as a cancel may take."""
        self.output("true")
        for rule, seconds in [*((fault.rule, 0) for fault in CANCELS),
                              ({"status": 503}, 3), ({"drop": True}, 1)]:
            with self.subTest(rule=rule, seconds=seconds):
                pending, pid = self.start_a_command()
                e2b.emulator().fault(plane="envd", **({"times": 0} if seconds else {"path": SEND}), **rule)
                self.berth.cancel(pending)
                time.sleep(seconds)
                e2b.emulator().clear_faults()
                self.wait_until(lambda: not self.exists(pid), 4, "the end of the command")
        self.check_books_of_one()

    def test_a_cancel_that_is_held_up_holds_up_no_other_message(self):
        """Whoever reads what the client says does not wait for E2B."""
        self.output("true")
        e2b.emulator().fault(plane="envd", path=SEND, times=0, delay=8)
        pending, pid = self.start_a_command()
        began = time.monotonic()
        self.berth.cancel(pending)
        self.assertTrue(self.berth.list_tools())
        self.assertEqual(self.output("echo other"), "other\n")
        self.assertLess(time.monotonic() - began, 4)  # the way of one of them takes 8
        e2b.emulator().clear_faults()
        self.output("true")  # tells what was not
        self.wait_until(lambda: not self.exists(pid), 12, "the end of the command")

    def test_a_cancel_that_cannot_be_told_goes_with_the_next_call(self):
        self.output("true")
        pending, pid = self.start_a_command()
        e2b.emulator().fault(plane="envd", times=0, status=503)
        self.berth.cancel(pending)
        time.sleep(7)
        e2b.emulator().clear_faults()
        self.assertTrue(self.exists(pid))
        self.output("true")
        self.wait_until(lambda: not self.exists(pid), 4, "the end of the command")

    def exists(self, pid):
        """Asked of the host: a call would bring along what is still to be said."""
        (guest,) = self.living_guests()
        return pathlib.Path(f"/proc/{guest}/root/proc/{pid}").exists()

    def check_books_of_one(self):
        self.made = len(e2b.emulator().books()["created"])
        self.check_books()

    def test_a_404_of_a_proxy_loses_no_box(self):
        self.output("echo kept >file")
        box = self.box()
        e2b.emulator().do(box, "pause")
        for rule in ({"path": "*connect"}, {"method": "GET", "path": "/sandboxes/{id}"}):
            with self.subTest(str(rule)):
                server = self.start("--session", "work")
                e2b.emulator().fault(plane="api", status=404, times=0, **rule, **HTML)
                found = server.call_tool("bash_exec", {"command": "cat file"})
                self.assertIn(found.error.get("code"), ("sandbox_unavailable", "backend_error"), found)
                e2b.emulator().clear_faults()
                found = server.call_tool("bash_exec", {"command": "cat file"})
                self.assertEqual((found.data.get("stdout"), found.notices), ("kept\n", []), found)
                self.assertEqual(self.box(), box)
                e2b.emulator().do(box, "pause")
                server.close()
        self.check_books_of_one()

    def test_a_box_that_is_told_as_gone_and_lives_is_ended(self):
        self.output("true")
        box = self.box()
        self.berth.close()
        self.berth = self.start("--session", "work")
        gone = {"code": 404, "message": f'Sandbox "{box}" doesn\'t exist or you don\'t have access to it'}
        e2b.emulator().fault(plane="api", method="GET", path="/sandboxes/{id}", status=404, times=0, body=gone,
                             type="application/json")
        self.output("true")
        e2b.emulator().clear_faults()
        self.assertEqual(e2b.emulator().books()["ended"].get(box), "killed")
        self.check_books_of_one()

    def test_refusals_of_envd_are_no_words_of_a_tool(self):
        self.output("true")
        for status in (400, 404, 409, 413, 429):
            with self.subTest(status):
                e2b.emulator().fault(plane="envd", path=START, status=status, times=0, **HTML)
                found = self.berth.call_tool("glob_files", {"pattern": "*"})
                e2b.emulator().clear_faults()
                self.assertEqual(found.error.get("code"), "busy" if status == 429 else "backend_error", found)
                self.assertIn("Nothing of this call was done", found.text)

    def test_a_call_waits_for_a_wake_as_long_as_it_has_itself_and_a_little_more(self):
        """Of a server that is there, and of one that comes: ten seconds do not become a minute."""
        self.output("echo kept >file")
        for rule in ({"status": 503, "times": 0}, {"delay": 40}):
            for server, longest in ((self.berth, 17 + 4), (self.start("--session", "work"), 2 * 17 + 8)):
                with self.subTest(rule=str(rule), longest=longest):
                    e2b.emulator().do(self.box(), "pause")
                    e2b.emulator().fault(plane="api", path="/v2/sandboxes/{id}/connect", **rule)
                    began = time.monotonic()
                    found = server.call_async("bash_exec", {"command": "echo x >>count", "timeout": 2}).result(100)
                    e2b.emulator().clear_faults()
                    self.assertLess(time.monotonic() - began, longest)
                    self.assertEqual(found.error.get("code"), "sandbox_unavailable", found)
                    self.assertTrue(found.error["retryable"])
                    self.assertIn("could not be woken", found.text)
                    found = server.call_tool("bash_exec", {"command": "cat file; cat count"})
                    self.assertEqual(found.data["stdout"], "kept\n", found)
        self.check_books_of_one()

    def test_a_call_waits_no_longer_for_a_wake_that_another_has_asked_for(self):
        """And no less than it has itself, be it the first one of its server."""
        self.output("echo kept >file")
        e2b.emulator().do(self.box(), "pause")
        other = self.start("--session", "work")
        e2b.emulator().fault(plane="api", path="/v2/sandboxes/{id}/connect", delay=30, times=2)
        first = self.berth.call_async("read_file", {"path": "file"})
        first_of_another = other.call_async("bash_exec", {"command": "cat file", "timeout": 60})
        time.sleep(1)
        began = time.monotonic()
        found = self.berth.call_async("bash_exec", {"command": "echo x >>count", "timeout": 2}).result(60)
        self.assertLess(time.monotonic() - began, 17 + 4)
        self.assertEqual(found.error.get("code"), "sandbox_unavailable", found)
        self.assertTrue(found.error["retryable"])
        self.assertIn("kept", first.result(60).text)
        self.assertIn("kept", first_of_another.result(60).text)
        self.assertEqual(self.output("ls"), "file\n")

    def test_a_key_that_is_taken_back(self):
        """What is awake goes on; what has to be asked for is refused, and nothing is lost."""
        self.output("echo kept >file")
        e2b.emulator().fault(plane="api", status=401, times=0, body={"code": 401, "message": "Invalid API key"},
                             type="application/json")
        self.assertEqual(self.output("cat file"), "kept\n")
        e2b.emulator().do(self.box(), "pause")
        for server in (self.berth, self.start("--session", "work")):
            found = server.call_tool("bash_exec", {"command": "echo x >>count"})
            self.assertEqual(found.error.get("code"), "authentication_required", found)
        e2b.emulator().clear_faults()
        self.assertEqual(self.output("cat file; ls"), "kept\nfile\n")
        self.check_books_of_one()

    def test_a_box_that_sleeps_and_a_control_plane_that_fails(self):
        def asleep(fault, _):
            e2b.emulator().do(self.box(), "pause")
            e2b.emulator().fault(plane="api", **fault.rule)
        self.make_ready(CALLS, UNASKABLE)
        self.check([CALLS], UNASKABLE, asleep)
        self.check_books()

    def test_a_box_that_is_made_to_sleep_meanwhile(self):
        self.make_ready(SLOW_CALLS, MEANWHILE)
        self.check(one_by_one(SLOW_CALLS), MEANWHILE, self.of(START))
        self.check_books()

    def test_a_box_that_is_gone(self):
        """Met by all tools at once: one fresh box, and their client is told once."""
        self.make_ready(CALLS, ())
        e2b.emulator().do(self.box(), "vanish")
        notices = []
        for call, pending in [(call, self.begin(call, FIRST)) for call in CALLS]:
            with self.subTest(call.name):
                result = pending.result()
                notices += result.notices
                if result.is_error:
                    self.assertIn(result.error.get("code"), ("not_found", "session_lost"), result)
        self.assertEqual(len(notices), 1, notices)
        self.assertIn("a fresh one is in use", notices[0])
        self.check_books(made=1)

    def test_a_box_that_goes_in_the_middle_of_a_command(self):
        self.make_ready(SLOW_CALLS, ())
        e2b.emulator().fault(plane="envd", path=START, then="vanish", after=0.4)
        result = self.begin(SLOW_CALLS[0], FIRST).result()
        self.assertEqual(result.error.get("code"), "session_lost", result)
        found = self.run_command("ls ~")
        self.assertEqual(found.data["stdout"], "")  # it has not run there as well
        self.check_books(made=1)

    def test_each_step_of_making_a_box(self):
        self.output("true")
        for fault in MAKING:
            with self.subTest(str(fault)):
                e2b.emulator().do(self.box(), "vanish")
                e2b.emulator().fault(**fault.rule)
                result = self.berth.call_tool("bash_exec", {"command": "echo x >>count"})
                e2b.emulator().clear_faults()
                self.judge_making(result, fault)
                found = self.run_command("cat count 2>/dev/null | wc -l").data["stdout"]
                self.assertEqual(found, "0\n" if result.is_error else "1\n")
                self.made = len(e2b.emulator().books()["created"])
                self.check_books()

    def judge_making(self, result, fault):
        """Where there is none it says so, and whether to try again."""
        if not result.is_error:
            return
        self.assertIn(result.error.get("code"), fault.errors, result)
        self.assertNotIn("on this host", result.error["hint"])
        if result.error["code"] == "sandbox_unavailable":
            self.assertTrue(result.error["retryable"], result)

    def test_a_box_of_which_no_answer_came_is_ended_by_the_next_call(self):
        """Though it could not be looked for then, or not be ended; the books keep its number."""
        self.output("true")
        looks = {"plane": "api", "method": "GET", "path": "/v2/sandboxes", "status": 500, "times": 0}
        ends = {"plane": "api", "method": "DELETE", "path": "/sandboxes/{id}", "status": 500, "times": 0}
        for faults in (({"plane": "api", "method": "POST", "path": "/v2/sandboxes", "end": 10}, looks),
                       ({"plane": "envd", "path": "/files", "status": 500, "times": 0}, ends)):
            with self.subTest(str(faults[0])):
                e2b.emulator().do(self.box(), "vanish")
                for fault in faults:
                    e2b.emulator().fault(**fault)
                result = self.berth.call_tool("bash_exec", {"command": "echo x >>count"})
                self.assertTrue(result.is_error, result)
                (left,) = e2b.boxes()
                e2b.emulator().clear_faults()
                self.assertEqual(self.output("cat count 2>/dev/null | wc -l"), "0\n")
                self.assertNotEqual(self.box(), left)
                self.made = len(e2b.emulator().books()["created"])
                self.check_books()

    def test_each_step_of_coming_to_a_box(self):
        self.output("echo kept >file")
        self.made = len(e2b.emulator().books()["created"])
        for fault in TURNED_AWAY:
            with self.subTest(str(fault)):
                server = self.start("--session", "work")
                e2b.emulator().fault(**fault.rule)
                result = server.call_tool("bash_exec", {"command": "cat file; echo x >>count"})
                e2b.emulator().clear_faults()
                self.judge(result, fault.errors)
                if result.error.get("code") == "sandbox_unavailable":
                    self.assertTrue(result.error["retryable"], result)
                found = server.call_tool("bash_exec", {"command": "cat file; cat count | wc -l; rm -f count"})
                self.assertEqual(found.data.get("stdout"), f"kept\n{0 if result.is_error else 1}\n", found)
                server.close()
        self.check_books()

    def test_a_pause_at_the_end_of_a_turn_that_fails(self):
        self.output("echo kept >file")
        self.berth.close()
        self.made = len(e2b.emulator().books()["created"])
        for fault in LEAVING:
            with self.subTest(str(fault)):
                server = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": "now"})
                found = server.call_tool("bash_exec", {"command": "cat file"})
                self.assertEqual((found.data.get("stdout"), found.notices), ("kept\n", []), found)
                e2b.emulator().fault(plane="api", path="/sandboxes/{id}/pause", **fault.rule)
                self.assertEqual(server.close(), 0)
                e2b.emulator().clear_faults()
        self.check_books()

    def test_a_guest_that_stands_still(self):
        """Envd answers for it, so nobody asks it: a call has its own time and that of the way there."""
        self.output("true")
        (guest,) = e2b.guests()
        os.kill(guest, signal.SIGSTOP)
        began = time.monotonic()
        try:
            found = self.berth.call_async("bash_exec", {"command": "echo x >>count", "timeout": 2}).result(200)
        finally:
            os.kill(guest, signal.SIGCONT)
        self.assertGreater(time.monotonic() - began, 60)
        self.assertEqual(found.error.get("code"), "backend_error", found)
        self.assertIn("cannot be asked what became of it", found.text)
        self.assertLessEqual(self.run_command("cat count").data["stdout"].count("x"), 1)
        self.assertEqual(self.living_guests(), [guest])
