"""What only a sandbox of E2B's can show: who wakes it, what it costs in requests, and what is left there."""

import contextlib
import json
import shutil
import time

import e2b
from suite import CheckedBerth, ParityTest, e2b_only, own_peak_kilobytes

START = "envd POST /process.Process/Start"
SEND = "envd POST /process.Process/SendInput"
TWO_MEBIBYTES = 2 << 20
DAY = 24 * 3600


@e2b_only
class OnE2bTest(ParityTest):
    def counts(self):
        """Requests since the last look, without what is of connections."""
        found = e2b.emulator().counts(clear=True)
        found.pop("connections", None)
        return found

    def box(self):
        (box,) = e2b.boxes()
        return box

    def state_of(self, box):
        books = e2b.emulator().books()
        return next((state for state in ("running", "paused") if box in books[state]),
                    books["ended"].get(box))

    def test_no_box_before_a_call_needs_one(self):
        self.counts()
        self.berth.list_tools()
        self.assertEqual(self.berth.call_tool("session_info").data["state"], "absent")
        self.assertEqual((e2b.boxes(), self.counts()), ([], {}))

    def test_a_call_is_one_request(self):
        self.call("write_file", path="a.txt", content="one\ntwo\n")
        self.call("write_file", path="large.txt", content="first\n" + "x\n" * (TWO_MEBIBYTES // 2))
        self.counts()
        for tool, arguments in (
                ("bash_exec", {"command": "true"}), ("read_file", {"path": "a.txt"}),
                ("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "three"}),
                ("write_file", {"path": "b.txt", "content": "y" * 90_000}),
                ("edit_file", {"path": "large.txt", "old_text": "first", "new_text": "1st"}),
                ("grep_files", {"pattern": "two"}), ("glob_files", {"pattern": "*.txt"})):
            with self.subTest(tool):
                self.call(tool, **arguments)
                self.assertEqual(self.counts(), {START: 1})

    def test_a_guest_s_program_that_is_there_is_not_sent_again(self):
        """By the template, or by an earlier machine: the next one is sent its configuration alone."""
        files = "envd POST /files"
        self.counts()
        e2b.emulator().take_bytes()
        self.output("true")
        self.assertEqual(self.counts(), {"api POST /v2/sandboxes": 1, files: 2, START: 2 + 1})
        program = e2b.emulator().take_bytes()
        self.berth.close()
        self.command_line("sessions", "kill", "work")
        self.berth = self.start("--session", "work")
        self.berth.list_tools()
        self.counts()
        e2b.emulator().take_bytes()
        self.output("true")
        counts = self.counts()
        self.assertEqual((counts[files], counts[START]), (1, 1 + 1))
        self.assertLess(e2b.emulator().take_bytes(), program / 100)

    def test_requests_of_the_other_tools(self):
        self.call("write_file", path="small.txt", content="one\n")
        job = self.run_command("cat; sleep 100", background=True, stdin_open=True).data["job_id"]
        self.counts()
        for tool, arguments, expected in (
                ("save_to_workspace", {"sandbox_path": "small.txt"}, {START: 1}),
                ("load_from_workspace", {"workspace_path": "small.txt", "sandbox_path": "again.txt"},
                 {START: 1, SEND: 3}),
                ("list_workspace_files", {}, {}), ("delete_workspace_file", {"workspace_path": "small.txt"}, {}),
                ("bash_output", {"job_id": job}, {START: 1}),
                ("bash_input", {"job_id": job, "input": "one\n"}, {START: 1}),
                ("bash_kill", {"job_id": job}, {START: 1}),
                ("session_info", {}, {"api GET /sandboxes/{id}": 1, START: 1})):
            with self.subTest(tool):
                self.call(tool, **arguments)
                self.assertEqual(self.counts(), expected)

    def test_a_large_file_stays_there(self):
        """However large: what goes over the way is the call and its answer."""
        self.output("yes 'a line of a large file' | head -c 50M >large.txt; echo 'the last' >>large.txt")
        e2b.emulator().take_bytes()
        for tool, arguments in (
                ("edit_file", {"path": "large.txt", "old_text": "the last", "new_text": "the end"}),
                ("read_file", {"path": "large.txt", "offset": -1}),
                ("grep_files", {"pattern": "the end", "path": "large.txt"})):
            with self.subTest(tool):
                self.call(tool, **arguments)
                moved = e2b.emulator().take_bytes()
                self.assertLess(moved, 64 << 10)
                self.assertGreater(moved, 0)
        self.assertEqual(self.output("stat -c %s large.txt"), f"{(50 << 20) + len('the end') + 1}\n")

    def test_a_large_file_goes_both_ways_in_little_memory(self):
        """Of the server and of the guest, measured: 3 MB for one of 157."""
        size = 40 << 20
        made = self.output(f"head -c {size} /dev/urandom >large; sha256sum <large")
        (guest,) = e2b.guests()
        before = [own_peak_kilobytes(pid) for pid in (self.berth.process.pid, guest)]
        self.call("save_to_workspace", sandbox_path="large", workspace_path="/large")
        self.call("load_from_workspace", workspace_path="/large", sandbox_path="again")
        for pid, peak in zip((self.berth.process.pid, guest), before, strict=True):
            self.assertLess(own_peak_kilobytes(pid) - peak, (size >> 10) / 4)
        self.assertEqual(self.output("sha256sum <again"), made)

    def test_at_the_end_of_a_turn_it_sleeps_and_another_server_wakes_it(self):
        other = self.start("--session", "turns", env={"BERTH_SESSION_ON_DISCONNECT": "now"})
        other.call_tool("bash_exec", {"command": "n=0; while :; do echo $((n += 1)) >tick; sleep 0.05; "
                                                 "done", "background": True})
        ticks = [0]
        for turn in range(50):
            with self.subTest(turn):
                found = other.call_tool("bash_exec", {"command": f"touch file-{turn}; ls file-* | wc -l; cat tick"})
                self.assertFalse(found.is_error, found)
                self.assertFalse(any("lost" in line for line in found.notices), found)
                files, tick = map(int, found.data["stdout"].split())
                self.assertEqual(files, turn + 1)  # of all rounds
                passed = other.call_tool("bash_exec", {
                    "command": f"for n in $(seq 100); do [ $(cat tick) -gt {tick} ] && break; sleep 0.05; done; "
                               "cat tick"})
                self.assertGreater(int(passed.data["stdout"]), tick)  # the job goes on in each
                self.assertGreater(tick, ticks[-1])
                ticks.append(int(passed.data["stdout"]))
                other.close()
                self.assertEqual(self.state_of(self.box()), "paused")
                other = self.start("--session", "turns", env={"BERTH_SESSION_ON_DISCONNECT": "now"})
        self.assertEqual(len(ticks), 51)
        self.assertEqual(other.call_tool("session_info").data["state"], "paused")  # to look wakes nothing
        other.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(len(other.call_tool("session_info").data["jobs"]), 1)

    def test_what_was_written_goes_to_the_disk_before_it_sleeps(self):
        """By the guest, with a request of its own, for 2 s at most; then it is asked whether somebody came, and paused."""
        pause = "api POST /sandboxes/{id}/pause"
        for slow in (False, True):
            with self.subTest(slow=slow):
                other = self.start("--session", "written", env={"BERTH_SESSION_ON_DISCONNECT": "now"})
                other.call_tool("bash_exec", {"command": "echo x >file"})
                if slow:
                    e2b.emulator().fault(plane="envd", path="/process.Process/Start", skip=1, silent=0)
                e2b.emulator().take_order()
                began = time.monotonic()
                other.close()
                self.assertEqual(e2b.emulator().take_order(), [START, START, START, pause])
                self.assertGreater(time.monotonic() - began, 1.9 if slow else 0)
                self.assertEqual(self.state_of(self.box()), "paused")
        self.command_line("sessions", "resume", "written")
        e2b.emulator().take_order()
        self.command_line("sessions", "pause", "written")
        self.assertEqual(e2b.emulator().take_order()[-2:], [START, pause])

    def test_what_was_written_goes_to_the_disk_before_a_machine_that_is_ended_sleeps(self):
        self.output("echo x >file")
        self.berth.close()
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.state_of(self.box()), "paused")
        said = [line["text"] for line in e2b.emulator().log(self.box()) if "evict" in line["text"]]
        self.assertIn("timeout 5 sync", said[-1])

    def test_a_server_has_it_sleep_that_nobody_uses(self):
        """At the idle pause and no earlier, however long its limit is; not beside a job."""
        other = self.start("--session", "idle", env={"BERTH_SESSION_IDLE_PAUSE": "2s"})
        job = other.call_tool("bash_exec", {"command": "sleep 4", "background": True}).data["job_id"]
        box = self.box()
        time.sleep(3)
        self.assertEqual(self.state_of(box), "running")
        other.call_tool("bash_output", {"job_id": job, "wait": 5})
        e2b.emulator().take_order()
        began = time.monotonic()
        told = other.call_tool("session_info").data["pause"]["pauses_in_ms"]
        self.assertTrue(0 < told <= 2000, told)
        self.wait_until(lambda: self.state_of(box) == "paused", 10, "the pause")
        self.assertGreater(time.monotonic() - began, 1)
        requests = [name for name in e2b.emulator().take_order() if "GET" not in name]
        self.assertEqual(requests[-3:], [START, START, "api POST /sandboxes/{id}/pause"])
        self.assertEqual(other.call_tool("bash_exec", {"command": "echo woken"}).data["stdout"], "woken\n")
        self.wait_until(lambda: self.state_of(box) == "paused", 10, "the next pause")

    def test_it_sleeps_when_the_last_server_leaves_where_nobody_says_otherwise(self):
        other = self.start("--session", "left", env={"BERTH_SESSION_ON_DISCONNECT": None})
        other.call_tool("bash_exec", {"command": "true"})
        other.close()
        self.assertEqual(self.state_of(self.box()), "paused")

    def test_an_operator_has_it_sleep_and_looks_without_waking_it(self):
        self.output("echo kept >file")
        box = self.box()
        self.command_line("sessions", "pause", "work")
        self.assertEqual(self.state_of(box), "paused")
        (listed,) = self.sessions()
        self.assertEqual(listed["state"], "paused")
        self.counts()
        self.command_line("sessions", "show", "work")
        # What clears up first asks once, and what shows it once.
        self.assertEqual(self.counts(), {"api GET /sandboxes/{id}": 2})
        self.command_line("status")
        self.assertEqual(self.state_of(box), "paused")
        self.command_line("sessions", "resume", "work")
        self.assertEqual(self.state_of(box), "running")
        self.counts()
        self.command_line("status")  # nor is it longer awake for that
        self.assertFalse([name for name in self.counts() if "connect" in name])
        self.assertEqual(self.output("cat file"), "kept\n")

    def test_a_box_that_is_gone_is_told_and_a_fresh_one_is_used(self):
        self.output("echo lost >file")
        e2b.emulator().do(self.box(), "vanish")
        found = self.run_command("ls")
        self.assertEqual(found.data["stdout"], "")
        self.assertTrue(any("files" in line and "fresh" in line for line in found.notices), found)

    def test_two_servers_race_for_one_key(self):
        servers = [self.start("--session", "raced") for _ in range(4)]
        calls = [server.call_async("bash_exec", {"command": "echo x >>log"}) for server in servers]
        for call in calls:
            self.assertFalse(call.result().is_error)
        self.assertEqual(len(e2b.boxes()), 1)
        self.assertEqual(servers[0].call_tool("bash_exec", {"command": "wc -l <log"}).data["stdout"], "4\n")

    def test_what_is_cancelled_while_its_box_wakes_is_not_done(self):
        self.output("true")
        e2b.emulator().do(self.box(), "pause")
        e2b.emulator().fault(plane="api", path="/v2/sandboxes/{id}/connect", delay=2)
        pending = self.berth.call_async("write_file", {"path": "late.txt", "content": "x"})
        time.sleep(0.5)
        self.berth.cancel(pending)
        time.sleep(3)  # until it would have been done
        self.assertEqual(self.output("ls"), "")

    def test_an_unnamed_session_takes_its_box_along(self):
        unnamed = self.start()
        unnamed.call_tool("bash_exec", {"command": "true"})
        box = self.box()
        unnamed.close()
        self.assertEqual(self.state_of(box), "killed")

    def test_an_unnamed_session_whose_client_thinks_for_long_has_its_files(self):
        unnamed = self.start()
        unnamed.call_tool("bash_exec", {"command": "echo kept >file"})
        box = self.box()
        e2b.emulator().do(box, "expire")
        self.assertEqual(self.state_of(box), "paused")
        found = unnamed.call_tool("bash_exec", {"command": "cat file"})
        self.assertEqual((found.data["stdout"], found.notices), ("kept\n", []))
        unnamed.close()
        self.assertEqual(self.state_of(box), "killed")

    def test_one_whose_server_was_killed_is_ended_by_the_next_berth(self):
        unnamed = self.start()
        unnamed.call_tool("bash_exec", {"command": "true"})
        box = self.box()
        unnamed.signal(9)
        unnamed.wait()
        self.command_line("sessions", "gc")
        self.assertEqual(self.state_of(box), "killed")

    def test_one_whose_server_was_killed_as_it_made_it_is_found_by_its_number(self):
        """Nobody can tell whether it was used since, so its files stay but for a purge."""
        for way, then in ((("kill", "made", "--purge"), "killed"), (("gc",), "paused"), (("kill", "made"), "paused")):
            with self.subTest(way=way):
                e2b.emulator().fault(plane="envd", path="/files", delay=5)
                server = self.start("--session", "made")
                server.call_async("bash_exec", {"command": "true"})
                self.wait_until(e2b.boxes, 20, "a box")
                box = self.box()
                server.signal(9)
                server.wait()
                self.command_line("sessions", *way)
                self.assertEqual(self.state_of(box), then)
                server = self.start("--session", "made")
                self.assertFalse(server.call_tool("bash_exec", {"command": "true"}).is_error)
                self.assertEqual(then == "paused", self.box() == box)
                server.close()
                self.command_line("sessions", "kill", "made", "--purge")

    def test_what_it_does_not_have_is_refused_at_the_start(self):
        for name, value in (("BERTH_MOUNT", "/usr/share:/mnt/x"),
                            ("BERTH_DEFAULT_WORKSPACE", "/usr/share/{principal}")):
            with self.subTest(name):
                env = {"BERTH_ALLOWED_MOUNT_ROOTS": "/usr/share", name: value}
                said = json.loads(self.command_line("config", "--json", status=2, env=env))
                self.assertIn("a mount", said["reason"])
                self.assertIn(name, said["reason"])

    def test_a_changed_profile_keeps_the_box_and_says_so(self):
        self.output("echo kept >file")
        box = self.box()
        self.berth.close()
        other = self.start("--session", "work", "--template", "other", kind=CheckedBerth)
        found = other.call_tool("bash_exec", {"command": "cat file"})
        self.assertEqual(found.data["stdout"], "kept\n", found)
        self.assertEqual(self.box(), box)
        self.assertTrue(any("template" in line for line in found.notices), found)

    def test_the_outcome_of_a_killed_server_is_told_when_its_lease_is_over(self):
        server = self.start("--session", "work", env={"BERTH_E2B_LEASE": "2s"})
        server.call_async("bash_exec", {"command": "sleep 2; exit 5"})
        self.wait_until(lambda: server.call_tool("session_info").data["commands_in_flight"], 20,
                        "the command began")
        server.signal(9)
        server.wait()
        time.sleep(5)  # that of the command, and from its end on the lease
        other = self.start("--session", "work")
        found = other.call_tool("bash_exec", {"command": "true"})
        self.assertTrue(any("`sleep 2; exit 5`" in line for line in found.notices), found)

    def told_to_another(self):
        other = self.start("--session", "work")
        notices = other.call_tool("bash_exec", {"command": "true"}).notices
        other.close()
        return notices

    def test_what_was_read_is_said_within_half_a_lease_and_told_to_nobody(self):
        """Of a server that makes no further call, and of one that is killed then."""
        server = self.start("--session", "work", env={"BERTH_E2B_LEASE": "4s"})
        server.call_tool("bash_exec", {"command": "exit 3"})
        self.counts()
        time.sleep(2.5)
        self.assertEqual(self.counts(), {START: 1})
        time.sleep(2.5)  # its lease is over
        self.assertEqual(self.counts(), {})  # there is nothing more to say
        self.assertEqual(self.told_to_another(), [])
        server.signal(9)
        server.wait()
        self.assertEqual(self.told_to_another(), [])

    def test_what_was_read_of_a_call_longer_than_the_lease_is_told_to_nobody(self):
        server = self.start("--session", "work", env={"BERTH_E2B_LEASE": "2s"})
        server.call_tool("bash_exec", {"command": "sleep 3; exit 3"})
        self.assertEqual(self.told_to_another(), [])
        time.sleep(3)
        self.assertEqual(self.told_to_another(), [])

    def test_a_server_that_leaves_says_what_was_read(self):
        server = self.start("--session", "work", env={"BERTH_E2B_LEASE": "2s"})
        server.call_tool("bash_exec", {"command": "exit 3"})
        self.counts()
        server.close()
        self.assertEqual(self.counts(), {START: 1})
        time.sleep(2.5)
        self.assertEqual(self.told_to_another(), [])

    def test_a_box_that_sleeps_is_not_woken_to_be_told_what_was_read(self):
        # Longer than it sleeps: the emulator's boxes have the host's clock, which goes on meanwhile.
        server = self.start("--session", "work", env={"BERTH_E2B_LEASE": "8s"})
        server.call_tool("bash_exec", {"command": "exit 3"})
        box = self.box()
        e2b.emulator().do(box, "pause")  # behind the server's back
        time.sleep(5)
        self.assertEqual(self.state_of(box), "paused")
        server.call_tool("bash_exec", {"command": "exit 4"})  # wakes it, and says it
        server.close()
        self.assertEqual(self.told_to_another(), [])
        server = self.start("--session", "work", env={"BERTH_E2B_LEASE": "2s"})
        server.call_tool("bash_exec", {"command": "exit 3"})
        e2b.emulator().do(box, "pause")
        server.close()
        self.assertEqual(self.state_of(box), "paused")

    def lose_the_books(self):
        """A box that sleeps since eight days, and of which no record tells any more."""
        self.output("true")
        box = self.box()
        self.berth.kill()
        e2b.emulator().do(box, "pause")
        self.collect(strays=0)
        e2b.emulator().do(box, "age", seconds=8 * DAY)
        self.collect(strays=0)  # the books have it
        self.assertEqual(self.state_of(box), "paused")
        shutil.rmtree(self.state.path / "sessions")
        return box

    def collect(self, strays):
        self.assertEqual(json.loads(self.command_line("sessions", "gc", "--json"))["strays"], strays)

    def test_a_box_that_no_book_knows_is_ended(self):
        box = self.lose_the_books()
        e2b.emulator().do(box, "age", seconds=-DAY)
        self.collect(strays=0)  # it has not slept for long enough
        self.assertEqual(self.state_of(box), "paused")
        e2b.emulator().do(box, "age", seconds=DAY)
        self.collect(strays=1)
        self.assertEqual(self.state_of(box), "killed")
        self.assertEqual(list((self.state.path / "sessions").glob("*")), [])
        self.collect(strays=0)

    def test_nothing_is_ended_by_the_clock_of_a_host_that_is_weeks_ahead(self):
        box = self.lose_the_books()
        e2b.emulator().do(box, "age", seconds=-7 * DAY)
        self.addCleanup(e2b.emulator().settings, clock_ahead=0)
        e2b.emulator().settings(clock_ahead=-30 * DAY)
        self.collect(strays=0)
        self.assertEqual(self.state_of(box), "paused")
        e2b.emulator().do(box, "age", seconds=7 * DAY)
        self.collect(strays=1)

    def test_a_server_that_starts_ends_it_and_none_of_another_installation(self):
        box = self.lose_the_books()
        (self.state.path / "installation").rename(self.state.path / "elsewhere")
        self.collect(strays=0)
        self.counts()
        with contextlib.closing(self.start("--session", "another")) as server:
            server.list_tools()
            time.sleep(1)
            self.assertEqual(self.counts(), {})  # there is nothing to ask for
        (self.state.path / "elsewhere").rename(self.state.path / "installation")
        server = self.start("--session", "another")
        server.list_tools()
        self.wait_until(lambda: self.state_of(box) == "killed", 20, "its end")
        self.assertEqual(self.counts()["api GET /v2/sandboxes"], 1)
