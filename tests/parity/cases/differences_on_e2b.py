"""The other half of what `e2b.NOT_HERE` leaves out on E2B: what is so there instead. And what berth's
guest, which is root there, does and does not do to commands. The table in docs/backends.md names both."""

import json
import os
import pathlib
import shutil
import threading
import time

import e2b
from suite import e2b_only

from cases.differences import Differing, status_of

SYS_RESOURCE = 1 << 24


def lowest_score():
    """What this host's root may have: in a container it is mostly without CAP_SYS_RESOURCE."""
    own = status_of(pathlib.Path("/proc/self/status").read_text(encoding="ascii"))
    return "-1000\n" if int(own["CapEff"], 16) & SYS_RESOURCE else "0\n"


@e2b_only
class GuestOnE2bTest(Differing):
    environment = {"BERTH_LOCAL_PIDS": "300", "BERTH_LOCAL_NOFILE": "400"}

    def score_of_the_guest(self):
        (guest,) = e2b.guests()
        return pathlib.Path(f"/proc/{guest}/oom_score_adj").read_text(encoding="ascii")

    def test_the_guest_is_the_last_that_the_kernel_kills(self):
        """And its commands are as envd's other processes are, and may not be lower."""
        self.output("true")
        given = self.run_as_root("cat /proc/self/oom_score_adj")[0]
        self.assertEqual(self.score_of_the_guest(), lowest_score())
        self.assertLess(int(lowest_score()), int(given))
        score = "/proc/self/oom_score_adj"
        found = self.output(f"cat {score}; (setsid cat {score}); cat /proc/$PPID/oom_score_adj; "
                            f"(echo -1000 >{score}) 2>/dev/null && echo lowered; true")
        self.assertEqual(found, given * 3)
        job = self.run_command(f"cat {score}", background=True).data["job_id"]
        self.assertEqual(self.call("bash_output", job_id=job, wait=10).data["stdout"], given)
        self.assertEqual(self.score_of_the_guest(), lowest_score())

    def test_what_became_root_ends_with_its_command(self):
        as_root = self.offer_root()
        found = self.run_command(f"{as_root} setsid {as_root} sleep 4242", timeout=1).data
        self.assertEqual((found["fate"], found["survivors"]), ("timed_out", 0))
        self.assertEqual(found["stop_verified_by"], "subreaper")
        self.assertEqual(self.output("pgrep -xc sleep; true"), "0\n")

    def test_limits_that_the_guest_keeps(self):
        self.assertEqual(self.output("ulimit -Hu; ulimit -Su; ulimit -Hn; ulimit -Sn"), "300\n300\n400\n400\n")
        swarm = "for i in $(seq 350); do sleep {} & done 2>/dev/null; jobs -r | wc -l"
        # Where no more can be had, bash waits for some to end.
        self.assertNotIn("350", self.run_command(swarm.format(2)).data["stdout"].split())
        many = swarm.format(60) + "; kill $(jobs -p)"
        self.assertEqual(self.output(f"{self.offer_root()} bash -pc '{many}'"), "350\n")

    def test_nothing_of_the_server_s_key_is_there(self):
        key = e2b.emulator().api_key
        self.output("sleep 300 >/dev/null 2>&1 &", env={"SEEN": "berth-test-seen-1d7e"})

        def found(text):
            """Not in the command line that looks for it."""
            return int(self.run_as_root("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | "
                                        f"tr '\\0' '\\n' | grep -ac '{text[:-1]}[{text[-1]}]'; true")[0])
        self.assertGreater(found("berth-test-seen-1d7e"), 0)
        self.assertEqual(found(key), 0)
        names = self.output("env -0 | cut -z -d= -f1 | tr '\\0' '\\n'").split()
        self.assertFalse([name for name in names if name.startswith(("BERTH", "E2B", "LD_"))])


@e2b_only
class KilledServersOnE2bTest(Differing):
    """Nobody tells a machine there that a server has gone: what it does then is by its time."""

    lease = 3
    slow = "echo b >begun; read line <gate; echo once >>log; echo printed; exit 4"

    def begun(self, **env):
        """A server with a command that runs until something is written to `gate`."""
        server = self.start("--session", "work", env=env)
        server.call_tool("bash_exec", {"command": "mkfifo gate"})
        server.call_async("bash_exec", {"command": self.slow})
        self.wait_until(lambda: server.call_tool("bash_exec", {"command": "cat begun"}).data["stdout"], 10,
                        "it begins")
        return server

    def told(self):
        self.berth = self.start("--session", "work")
        return self.run_command("true").notices

    def test_what_a_later_server_says_of_leaving_is_not_for_when_it_thinks(self):
        """Its guest takes a server that has made no call for a lease for gone; it is connected."""
        ticking = "while :; do date +%s%N >next; mv next tick; sleep 0.05; done"
        for policy in ("kill", "now"):
            with self.subTest(policy):
                self.output("true")  # made by a server that says nothing of it
                later = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": policy})
                later.call_tool("bash_exec", {"command": ticking, "background": True})
                time.sleep(2 * self.lease + 3)
                if policy == "now":  # else to look would have it go on
                    (guest,) = self.living_guests()
                    tick = pathlib.Path(f"/proc/{guest}/root/home/user/tick")
                    self.assertLess(time.time() - int(tick.read_text()) / 1e9, 1.5)
                found = later.call_tool("bash_exec", {"command": "cat tick; sleep 0.3; cat tick"})
                self.assertEqual(found.notices, [])
                self.assertEqual(len(set(found.data["stdout"].split())), 2, found)
                self.assertEqual(later.call_tool("session_info").data["on_disconnect"], policy)
                later.kill()
                self.berth.kill()
                self.command_line("sessions", "kill", "work", "--purge")
                self.berth = self.start("--session", "work")

    def test_a_time_of_rest_that_is_changed_is_in_force(self):
        config = self.state.path / "berth.toml"
        config.write_text('[session]\nidle_pause = "10min"\n')
        self.berth.close()
        self.berth = self.start("--session", "work", "--config", str(config))
        self.output("true")
        (box,) = e2b.boxes()
        config.write_text('[session]\nidle_pause = "3s"\n')

        def is_taken():
            self.output("true")
            return self.call("session_info").data["pause"]["pauses_in_ms"] <= 3000
        self.wait_until(is_taken, 10, "it is taken")
        self.wait_until(lambda: box in e2b.emulator().books()["paused"], 15, "it sleeps")
        config.write_text('[session]\nidle_pause = "10min"\n')
        self.wait_until(lambda: not is_taken(), 10, "it is taken")
        time.sleep(6)
        self.assertIn(box, e2b.emulator().books()["running"])

    def test_a_job_that_begins_while_another_server_has_it_sleep_goes_on(self):
        ticking = "while :; do date +%s%N >next; mv next tick; sleep 0.05; done"
        self.berth.close()
        other = self.start("--session", "work", env={"BERTH_SESSION_IDLE_PAUSE": "10min"})
        other.call_tool("bash_exec", {"command": "true"})
        idle = self.start("--session", "work", env={"BERTH_SESSION_IDLE_PAUSE": "6s"})
        idle.call_tool("bash_exec", {"command": "true"})
        start = "/process.Process/Start"
        e2b.emulator().counts(clear=True)
        e2b.emulator().fault(plane="envd", path=start, skip=1, delay=4)  # what it has written goes to the disk
        self.addCleanup(e2b.emulator().clear_faults)
        self.wait_until(lambda: e2b.emulator().counts().get("envd POST " + start, 0) >= 2, 20, "it looks")
        job = other.call_tool("bash_exec", {"command": ticking, "background": True})
        self.assertFalse(job.is_error, job)
        (guest,) = self.living_guests()
        tick = pathlib.Path(f"/proc/{guest}/root/home/user/tick")
        time.sleep(6)
        self.assertLess(time.time() - int(tick.read_text()) / 1e9, 1.5)

    def test_the_job_of_a_server_that_is_silent_outlives_the_leaving_of_another(self):
        """Its client waits for the job, and makes no call for longer than a lease."""
        self.run_command("while :; do date +%s%N >next; mv next tick; sleep 0.05; done", background=True)
        for policy in ("kill", "now"):
            with self.subTest(policy):
                other = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": policy})
                other.call_tool("bash_exec", {"command": "true"})
                time.sleep(2 * self.lease)
                other.close()
                (guest,) = self.living_guests()
                tick = pathlib.Path(f"/proc/{guest}/root/home/user/tick")
                time.sleep(2)
                self.assertLess(time.time() - int(tick.read_text()) / 1e9, 1.5)
        self.assertEqual(self.run_command("true").notices, [])

    def test_a_command_that_goes_on_is_told_when_it_has_ended(self):
        self.begun().kill()
        self.wait_for_its_lease()
        self.assertEqual(self.told(), [])
        self.output("echo >gate")
        time.sleep(self.lease + 1)
        notices = "\n".join(self.told())
        self.assertIn("`echo b >begun", notices)
        self.assertIn("exit 4", notices)
        self.assertEqual(self.output("cat log"), "once\n")

    def test_what_had_ended_is_lost_with_a_machine_that_is_ended_within_the_lease(self):
        server = self.begun()
        server.kill()
        self.output("echo >gate; until test -e log; do sleep 0.1; done")
        self.command_line("sessions", "kill", "work")
        (notice,) = self.told()
        self.assertIn("it was ended on request", notice)
        self.assertEqual(self.output("cat log"), "once\n")

    def test_what_a_machine_that_is_ended_has_to_tell_is_waited_for(self):
        self.run_command("sleep 4242", background=True)
        self.berth.kill()
        e2b.emulator().fault(plane="envd", path="/process.Process/Start", delay=4)
        self.addCleanup(e2b.emulator().clear_faults)
        self.command_line("sessions", "kill", "work")
        notices = "\n".join(self.told())
        self.assertIn("`sleep 4242`", notices)
        self.assertIn("ended with the sandbox", notices)

    def killing(self):
        """The only server of a machine that is to end with it."""
        self.berth.close()
        return self.begun(BERTH_SESSION_ON_DISCONNECT="kill")

    def test_a_machine_that_is_to_end_with_its_last_server_does_when_that_leaves(self):
        self.killing().close()
        self.assertEqual(e2b.guests(), [])
        notices = "\n".join(self.told())
        self.assertIn("`echo b >begun", notices)
        self.assertIn("it ran, and was ended with the sandbox", notices)
        self.assertEqual(self.output("test -e log || echo cut off"), "cut off\n")

    def test_a_call_that_begins_while_the_last_server_leaves_is_not_cut_off(self):
        """By a server that was silent for a lease, as the machine is to end: what it begins is seen."""
        start = "/process.Process/Start"
        self.addCleanup(e2b.emulator().clear_faults)
        for asked in (1, 2):  # before: that it leaves
            with self.subTest(asked):
                self.output("true")
                self.wait_for_its_lease()
                leaving = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": "kill"})
                leaving.call_tool("bash_exec", {"command": "true"})
                e2b.emulator().counts(clear=True)
                e2b.emulator().fault(plane="envd", path=start, skip=asked, delay=1.5)
                closing = threading.Thread(target=leaving.close)
                closing.start()
                self.wait_until(lambda: e2b.emulator().counts().get("envd POST " + start, 0) > asked, 10, "it asks")
                found = self.run_command("sleep 4; echo whole")
                closing.join()
                self.assertEqual((found.data["stdout"], found.notices), ("whole\n", []))
                self.assertEqual(self.run_command("true").notices, [])

    def test_one_that_sleeps_when_its_last_server_leaves_sleeps_on(self):
        self.berth.close()
        self.berth = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": "kill",
                                                          "BERTH_SESSION_IDLE_PAUSE": "2s"})
        self.output("echo kept >/tmp/file")
        self.wait_until(lambda: e2b.emulator().books()["paused"], 20, "it sleeps")
        e2b.emulator().counts(clear=True)
        self.berth.close()
        self.assertEqual(e2b.emulator().counts().get("api POST /v2/sandboxes/{id}/connect"), None)
        self.assertEqual(len(e2b.emulator().books()["paused"]), 1)
        self.assertEqual(self.told(), [])
        self.assertEqual(self.output("cat /tmp/file"), "kept\n")

    def test_and_goes_on_when_that_is_killed(self):
        server = self.killing()
        (guest,) = e2b.guests()
        server.kill()
        self.wait_for_its_lease()
        self.assertEqual(e2b.guests(), [guest])
        self.assertEqual(self.told(), [])
        self.output("echo >gate")
        time.sleep(self.lease + 1)
        self.assertEqual(self.output("cat log"), "once\n")

    def test_what_nobody_was_told_of_goes_with_the_home_when_its_lease_is_over(self):
        self.begun().kill()
        self.output("echo >gate; until test -e log; do sleep 0.1; done")
        self.berth.close()
        self.wait_for_its_lease()
        self.command_line("sessions", "adopt", "work", "--session", "kept", "--json")
        self.berth = self.start("--session", "kept")
        notices = "\n".join(self.run_command("true").notices)
        for part in ("`echo b >begun", "exit 4", "taken over from session"):
            self.assertIn(part, notices)
        self.assertEqual(self.output("cat log"), "once\n")

    def test_a_command_that_waits_for_its_turn_is_run(self):
        self.berth.close()
        self.environment = {"BERTH_SESSION_CALLS": "1"}
        self.berth = self.start("--session", "work")
        self.output("mkfifo gate")
        other = self.start("--session", "work")
        other.call_tool("bash_exec", {"command": "true"})
        held = self.berth.call_async("bash_exec", {"command": "echo b >begun; read line <gate"})
        self.wait_until((self.home() / "begun").exists, 20, "the other's beginning")
        waiting = other.call_async("bash_exec", {"command": "echo x >ran"})
        time.sleep(1)  # of the 3 s in which it waits: enough for it to arrive
        other.kill()
        del waiting
        self.berth.cancel(held)
        self.wait_until(lambda: self.berth.call_tool("bash_exec", {"command": "cat ran"}).data["stdout"], 20,
                        "it is run")


@e2b_only
class BooksOnE2bTest(Differing):
    def test_a_home_whose_books_are_lost_is_found_by_its_box(self):
        self.output("echo kept >file")
        (listed,) = self.sessions()
        (box,) = e2b.boxes()
        self.berth.kill()
        e2b.emulator().do(box, "pause")
        shutil.rmtree(self.state.path / "sessions")
        adopt = ("sessions", "adopt", "--session", "kept", "--json")
        self.command_line(*adopt, listed["key"], "--principal", listed["principal"], status=1)
        self.assertEqual(json.loads(self.command_line(*adopt, box))["from"], box)
        self.berth = self.start("--session", "kept")
        self.assertEqual(self.output("cat file"), "kept\n")

    def test_an_unused_one_sleeps_and_says_so(self):
        self.output("true")
        info = self.call("session_info")
        self.assertIn("it sleeps, with all that is in it", info.data["lifetime"])
        self.assertIn(f"lifetime: {info.data['lifetime']}\n", info.text)

    def test_and_ends_with_its_files_when_nobody_has_used_it_for_long(self):
        self.output("true")
        (box,) = e2b.boxes()
        self.berth.close()
        self.command_line("sessions", "pause", "work")
        longest = (12 + 7 * 24) * 3600  # what the defaults have it
        for seconds, state in ((longest - 600, "paused"), (longest + 600, "killed")):
            with self.subTest(state):
                self.age_use(seconds)
                e2b.emulator().do(box, "age", seconds=seconds)
                self.command_line("sessions", "gc")
                books = e2b.emulator().books()
                self.assertEqual(books["ended"].get(box, "paused"), state)
        self.assertEqual(self.sessions(), [])

    def test_what_they_name_as_the_guest_is_not_run_unless_it_can_be_one(self):
        self.output("echo kept >file")
        self.berth.close()
        (record,) = self.state.path.glob("sessions/*/record.json")
        books = json.loads(record.read_text())
        for wrong in (";id>/tmp/made;", "../../../bin/sh", ""):
            with self.subTest(wrong):
                books["machine"]["data"]["guest"] = wrong
                record.write_text(json.dumps(books))
                self.berth = self.start("--session", "work")
                found = self.refused("backend_error", "bash_exec", command="true")
                self.assertIn("nothing was run there", found.error["message"])
                self.berth.close()
        self.command_line("sessions", "kill", "work")
        self.berth = self.start("--session", "work")
        self.assertEqual(self.output("cat file; ls /tmp/made 2>&1; true").splitlines()[0], "kept")
        self.assertNotEqual(self.berth.call_tool("bash_exec", {"command": "ls /tmp/made"}).data["exit_code"], 0)

    def age_use(self, seconds):
        """The books have their last use by the time of a file."""
        (folder,) = (self.state.path / "sessions").iterdir()
        for file in folder.iterdir():
            os.utime(file, (time.time() - seconds,) * 2)
