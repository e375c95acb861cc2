"""On E2B the box is the home: what ends a machine leaves the files in it, and the next one has them."""

import concurrent.futures
import contextlib
import json
import os
import signal
import sys
import time

import e2b
from suite import ParityTest, e2b_only

sys.path.append(os.path.dirname(e2b.__file__) + "/../e2b_emulator")
from client import Box, api  # noqa: E402

DAY = 24 * 3600
TICKING = "while :; do date +%s%N >next; mv next tick; sleep 0.05; done"  # whole, whenever it is killed


@e2b_only
class HomesOnE2bTest(ParityTest):
    def box(self):
        (box,) = e2b.boxes()
        return box

    def state_of(self, box):
        books = e2b.emulator().books()
        return next((state for state in ("running", "paused") if box in books[state]),
                    books["ended"].get(box))

    def kill_guest(self):
        (guest,) = e2b.guests()
        os.kill(guest, signal.SIGKILL)
        self.wait_until(lambda: not e2b.guests(), 10, "the guest's end")

    def tick(self):
        """In the background, and as yet it has."""
        self.call("bash_exec", command="rm -f tick")
        self.call("bash_exec", command=TICKING, background=True)
        self.call("bash_exec", command="until [ -e tick ]; do sleep 0.02; done")

    def assert_it_stands(self):
        """What an earlier machine has started does not run any more."""
        first, second = self.output("cat tick; sleep 0.3; cat tick").split()
        self.assertEqual(first, second)

    def test_a_guest_that_died_is_replaced_and_nothing_but_processes_is_lost(self):
        self.output("echo kept >file")
        self.tick()
        box = self.box()
        for other in (False, True):
            with self.subTest(other_server=other):
                if other:
                    self.berth.close()
                self.kill_guest()
                if other:
                    self.berth = self.start("--session", "work")
                found = self.run_command("cat file; echo more >>log")
                self.assertEqual(found.data["stdout"], "kept\n", found)
                self.assertTrue(any("lost" in line and "kept" in line for line in found.notices), found)
                self.assert_it_stands()
        self.assertEqual(self.output("cat log"), "more\nmore\n")
        self.assertEqual(self.box(), box)

    def test_a_call_whose_guest_dies_is_told_so_and_runs_once(self):
        call = self.berth.call_async("bash_exec", {"command": "echo ran >>log; sleep 30"})
        self.wait_until(lambda: self.berth.call_tool("session_info").data["commands_in_flight"], 20, "it")
        self.kill_guest()
        found = call.result()
        self.assertTrue(found.is_error, found)
        self.assertEqual(found.error.get("code"), "session_lost")
        self.assertEqual(self.output("cat log"), "ran\n")

    def test_kill_of_one_that_is_slow_to_wake_leaves_it_asleep(self):
        """What nobody was told of is asked of its guest, which wakes it."""
        self.tick()
        box = self.box()
        self.berth.close()
        self.command_line("sessions", "pause", "work")
        e2b.emulator().fault(plane="api", path="/v2/sandboxes/{id}/connect", delay=4)
        self.command_line("sessions", "kill", "work")
        time.sleep(3)
        self.assertEqual(self.state_of(box), "paused")
        self.berth = self.start("--session", "work")
        self.assert_it_stands()

    def test_kill_keeps_the_files_and_ends_what_runs(self):
        self.output("echo kept >file")
        self.tick()
        box = self.box()
        for asleep in (False, True):
            with self.subTest(asleep=asleep):
                if asleep:
                    self.command_line("sessions", "pause", "work")
                self.assertTrue(json.loads(self.command_line("sessions", "kill", "work", "--json"))["killed"])
                self.assertEqual(self.state_of(box), "paused")
                (listed,) = self.sessions()
                self.assertEqual(listed["state"], "ended")
                found = self.run_command("cat file")
                self.assertEqual(found.data["stdout"], "kept\n", found)
                self.assertTrue(any("ended" in line for line in found.notices), found)
                self.assertEqual(self.berth.call_tool("session_info").data["jobs"], [])
                self.assert_it_stands()
                self.tick()
        self.assertEqual(self.box(), box)
        self.command_line("sessions", "kill", "work", "--purge")
        self.assertEqual(self.state_of(box), "killed")

    def test_a_home_in_which_no_machine_can_be_made_sleeps_again(self):
        self.output("echo kept >file")
        self.command_line("sessions", "kill", "work")
        box = self.box()
        self.addCleanup(e2b.emulator().clear_faults)
        for fault in ({"plane": "envd", "path": "/files", "status": 507},
                      {"plane": "envd", "path": "/process.Process/Start", "drop": True, "times": 0},
                      {"plane": "api", "method": "PUT", "status": 500, "times": 0}):
            with self.subTest(str(fault)):
                e2b.emulator().fault(**fault)
                found = self.berth.call_tool("bash_exec", {"command": "true"})
                e2b.emulator().clear_faults()
                self.assertIn(found.error.get("code"), ("backend_error", "sandbox_unavailable"), found)
                self.assertEqual(self.state_of(box), "paused")
        self.assertEqual(self.output("cat file"), "kept\n")
        self.assertEqual(self.box(), box)

    def test_a_box_that_vanished_while_no_machine_was_in_it_is_told(self):
        self.output("echo kept >file")
        self.command_line("sessions", "kill", "work")
        e2b.emulator().do(self.box(), "vanish")
        found = self.run_command("ls")
        self.assertEqual(found.data["stdout"], "")
        self.assertTrue(any("not there any more" in line for line in found.notices), found)

    def test_what_was_to_be_saved_of_a_box_that_vanished_makes_no_other(self):
        self.berth = self.start("--session", "work", env={"BERTH_SESSION_SAVE_ON_END": "*.txt"})
        self.output("echo kept >a.txt")
        self.berth.close()
        e2b.emulator().do(self.box(), "vanish")
        made = len(e2b.emulator().books()["created"])
        for command in (("kill", "work"), ("gc",)):
            self.command_line("sessions", *command)
        self.assertEqual(len(e2b.emulator().books()["created"]), made)

    def test_a_box_that_vanished_is_told_to_each_server_and_not_as_deleted_by_somebody(self):
        other = self.start("--session", "work")
        for server in (self.berth, other):
            server.call_tool("bash_exec", {"command": "true"})
        e2b.emulator().do(self.box(), "vanish")
        for server in (self.berth, other):
            found = server.call_tool("bash_exec", {"command": "true"})
            self.assertEqual([line for line in found.notices if "not there any more" in line], found.notices)
            self.assertEqual(len(found.notices), 1)

    def test_a_command_that_calls_itself_a_shim_is_ended_like_any_other(self):
        self.call("bash_exec", background=True, command=(
            f"exec bash -c 'printf berth-shim >/proc/$$/comm; {TICKING}' reside /run/berth"))
        self.wait_until(lambda: self.berth.call_tool("bash_exec", {"command": "cat tick"}).data["stdout"], 10, "it")
        self.command_line("sessions", "kill", "work")
        self.assert_it_stands()

    def test_a_home_goes_when_its_time_is_over(self):
        self.output("true")
        box = self.box()
        self.berth.close()
        self.command_line("sessions", "kill", "work")
        self.command_line("sessions", "gc")
        self.assertEqual(self.state_of(box), "paused")
        removed = json.loads(self.command_line("sessions", "gc", "--json", "--homes-older-than", "0s"))
        self.assertEqual(removed["removed"], ["work"])
        self.assertEqual(self.state_of(box), "killed")

    def adopt(self, what, name="kept", status=0):
        said = self.command_line("sessions", "adopt", what, "--session", name, "--json", status=status)
        return json.loads(said)

    def test_a_session_s_box_goes_to_another_session_and_is_no_stray(self):
        self.output("echo mine >file")
        box = self.box()
        self.berth.close()
        self.adopt("work")
        self.berth = self.start("--session", "kept")
        self.assertEqual(self.output("cat file"), "mine\n")
        self.berth.kill()
        e2b.emulator().do(box, "pause")
        e2b.emulator().do(box, "age", seconds=30 * DAY)
        self.assertEqual(json.loads(self.command_line("sessions", "gc", "--json"))["strays"], 0)
        self.assertEqual(self.state_of(box), "paused")

    @contextlib.contextmanager
    def made_elsewhere(self, metadata=None, sleeps=True):
        emulator = e2b.emulator()
        box = Box(emulator, api(emulator, "POST", "/v2/sandboxes",
                                {"templateID": "base", "timeout": 300, "metadata": metadata or {},
                                 "autoPause": sleeps}).json)
        try:
            yield box
        finally:
            api(emulator, "DELETE", f"/sandboxes/{box.id}")

    def test_a_box_made_elsewhere_becomes_a_session_with_all_that_is_in_it(self):
        with self.made_elsewhere() as box:
            box.run("echo theirs >~/file; nohup sleep 4242 >/dev/null 2>&1 &")
            self.assertEqual(self.adopt(box.id)["from"], box.id)
            self.berth = self.start("--session", "kept")
            found = self.run_command("cat file; pgrep -xc sleep")
            self.assertEqual(found.data["stdout"], "theirs\n1\n", found)  # it is none of berth's
            self.assertEqual(self.berth.call_tool("session_info").data["sandbox_id"], box.id)
            self.kill_guest()
            self.assertEqual(self.output("cat file"), "theirs\n")
            self.adopt(box.id, "again", status=1)  # it is a session's, which is in use
            other_name = self.adopt(box.id + "-6532622b", "again", status=1)
            self.assertEqual(other_name["code"], "conflict")
            self.command_line("sessions", "kill", "kept", "--purge")
            self.assertEqual(self.state_of(box.id), "killed")

    def test_two_that_take_a_box_at_once_do_not_both_have_it(self):
        with self.made_elsewhere() as box:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                done = list(pool.map(lambda name: self.done("sessions", "adopt", box.id, "--session", name, "--json"),
                                     ("first", "second", "third")))
            self.assertEqual(sorted(each.returncode for each in done), [0, 1, 1], done)
            codes = {json.loads(each.stdout).get("code") for each in done if each.returncode}
            self.assertLessEqual(codes, {"conflict", "busy"})
            self.assertEqual(len(self.sessions()), 1)
            self.command_line("sessions", "kill", self.sessions()[0]["session"], "--purge")

    def test_a_box_that_ends_at_its_limit_is_not_taken(self):
        with self.made_elsewhere(sleeps=False) as box:
            self.assertEqual(self.adopt(box.id, status=1)["code"], "conflict")
            self.assertEqual(self.state_of(box.id), "running")

    def test_a_box_is_one_session_s(self):
        self.output("echo mine >file")
        box = self.box()
        self.berth.close()
        self.adopt("work")
        self.command_line("sessions", "gc")
        self.assertEqual(self.adopt(box, "again", status=1)["code"], "conflict")
        self.berth = self.start("--session", "kept")
        self.assertEqual(self.output("cat file"), "mine\n")

    def test_a_record_of_before_homes_leads_to_its_box(self):
        self.output("echo mine >file")
        box = self.box()
        self.berth.close()
        (record,) = (self.state.path / "sessions").glob("*/record.json")
        written = json.loads(record.read_text(encoding="utf-8"))
        del written["machine"]["home"]
        record.write_text(json.dumps(written), encoding="utf-8")
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.state_of(box), "paused")
        self.berth = self.start("--session", "work")
        self.assertEqual(self.output("cat file"), "mine\n")
        self.assertEqual(self.box(), box)

    def test_books_that_came_back_from_while_a_box_was_made_cost_no_file(self):
        for way in (("list",), ("gc",), ("kill", "made"), None):
            with self.subTest(way=way):
                e2b.emulator().fault(plane="envd", path="/files", delay=2)
                server = self.start("--session", "made")
                call = server.call_async("bash_exec", {"command": "echo kept >file"})
                self.wait_until(e2b.boxes, 20, "a box")
                box = self.box()
                (record,) = (self.state.path / "sessions").glob("*/record.json")
                saved = record.read_text(encoding="utf-8")
                self.assertEqual(json.loads(saved)["state"], "creating")
                self.assertFalse(call.result().is_error)
                server.close()
                record.write_text(saved, encoding="utf-8")
                if way:
                    self.command_line("sessions", *way)
                    self.assertEqual(self.state_of(box), "paused")
                server = self.start("--session", "made")
                found = server.call_tool("bash_exec", {"command": "cat file"})
                self.assertEqual(found.data["stdout"], "kept\n", found)
                self.assertTrue(any("files in the home are kept" in line for line in found.notices), found)
                self.assertEqual(self.box(), box)
                server.close()
                self.command_line("sessions", "kill", "made", "--purge")

    def test_a_box_without_its_proof_is_neither_used_nor_ended(self):
        with self.made_elsewhere() as box:
            self.adopt(box.id)
            self.berth = self.start("--session", "kept")
            self.output("true")
            box.run("rm /usr/local/lib/berth/taken-over", user="root")
            self.berth.close()
            refused = json.loads(self.command_line("sessions", "kill", "kept", "--purge", "--json", status=1))
            self.assertEqual(refused["code"], "conflict")
            self.assertIn(self.state_of(box.id), ("running", "paused"))

    def test_a_box_that_is_not_there_or_may_be_another_berth_s_is_refused(self):
        self.assertEqual(self.adopt("nosuchbox", status=1)["code"], "not_found")
        with self.made_elsewhere({"berth_generation": "1" * 32}) as box:
            self.assertEqual(self.adopt(box.id, status=1)["code"], "busy")
            e2b.emulator().do(box.id, "pause")
            self.adopt(box.id)
            self.berth = self.start("--session", "kept")
            self.assertEqual(self.output("echo here"), "here\n")
