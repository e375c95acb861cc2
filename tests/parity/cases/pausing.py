"""Pause and wake: what runs stands still and goes on with nothing lost, whoever asks for it."""

import json
import os
import pathlib
import signal
import subprocess
import time

from host import best_freezer
from suite import BACKENDS, ParityTest, backend, binary_path, local_only

COUNT = "echo $$ >{0}.pid; i=0; while :; do i=$((i+1)); echo $i >>{0}; sleep 0.02; done"


class Pausing(ParityTest):
    """How these tests look at a session from the host, and pause it."""

    # ---- what the host sees, which wakes nothing

    def shown(self, session="work"):
        return json.loads(self.command_line("sessions", "show", session, "--json"))

    def state_of(self, session="work"):
        return {found["session"]: found["state"] for found in self.sessions()}[session]

    def lines(self, name):
        path = pathlib.Path(self.counted_in, name)
        return path.read_text(encoding="ascii").splitlines() if path.exists() else []

    def grows(self, name):
        before = len(self.lines(name))
        self.wait_until(lambda: len(self.lines(name)) > before + 2, 10, f"{name} does not grow")

    def stands(self, name):
        before = self.lines(name)
        time.sleep(0.15)
        self.assertEqual(self.lines(name), before)

    # ---- what it does

    def pause(self, session="work"):
        told = json.loads(self.command_line("sessions", "pause", session, "--json"))
        self.assertTrue(told["paused"], told)
        return told

    def start_counting(self, *names, timeout=100):
        """One job for each file; their ids."""
        jobs = [self.run_command(COUNT.format(name), background=True, timeout=timeout).data["job_id"]
                for name in names]
        self.counted_in = self.home()
        for name in names:
            self.grows(name)
        return jobs


class PausingTest(Pausing):
    environment = {"BERTH_SESSION_IDLE_PAUSE": "0", "BERTH_SESSION_ON_DISCONNECT": "keep"}

    def test_an_end_at_that_very_moment_is_told_as_one(self):
        def ask(verb):
            return subprocess.Popen([binary_path(BACKENDS[backend()]), "sessions", verb, "work"],
                                    env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)},
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(12):
            self.run_command("true")
            asking = [ask(verb) for verb in ("pause", "resume", "kill", "pause", "resume")]
            for said in (each.communicate(timeout=30)[0] for each in asking):
                self.assertNotIn("connect", said)  # of a socket, which says nothing to an operator

    def test_one_that_is_not_there_is_told_as_that(self):
        for command in ("show", "pause", "resume"):
            told = json.loads(self.command_line("sessions", command, "none", "--json", status=1))
            self.assertIn('no session "none"', told["reason"])
            self.assertEqual(told["code"], "not_found")
            self.assertIn("berth sessions list", told["remedy"])

    def test_a_job_sleeps_and_goes_on_with_nothing_lost(self):
        (job,) = self.start_counting("count")
        for _ in range(2):
            self.assertEqual(self.pause()["jobs"], 1)
            self.assertEqual(self.state_of(), "paused")
            self.stands("count")
            self.run_command("true")
            self.assertEqual(self.state_of(), "running")
            self.grows("count")
        self.assertEqual(self.call("bash_kill", job_id=job).data["status"], "ended")
        lines = self.lines("count")
        self.assertEqual(lines, [str(i + 1) for i in range(len(lines))])

    def test_it_is_frozen_by_the_best_that_is_there(self):
        self.start_counting("count")
        self.assertEqual(self.pause()["mechanism"], best_freezer(backend()))
        self.stands("count")

    @local_only
    def test_a_guest_that_is_killed_while_it_sleeps_leaves_nothing_frozen(self):
        self.start_counting("count")
        self.pause()
        for guest in self.living_guests():
            os.kill(guest, signal.SIGKILL)
        said = self.run_command("cat count | wc -l")
        self.assertIn("was lost", said.text)
        self.stands("count")

    def test_the_time_limit_of_a_job_stands_still(self):
        self.start_counting("count", timeout=3)
        self.pause()
        left = self.shown()["jobs"][0]["remaining_ms"]
        time.sleep(left / 1000 + 0.1)
        (job,) = self.shown()["jobs"]
        self.assertEqual(job["remaining_ms"], left)
        self.assertGreater(left, 0)
        told = self.call("bash_output", job_id=job["job_id"]).data
        self.assertEqual(told["status"], "running", told)  # it did not fire in arrears
        self.wait_until(lambda: not self.shown()["jobs"], 10, "its time limit")

    def test_what_was_stopped_stays_stopped(self):
        self.start_counting("a", "b")
        self.run_command("kill -STOP $(cat a.pid)")
        self.stands("a")
        self.pause()
        self.run_command("true")
        self.grows("b")
        self.stands("a")

    def test_a_pause_during_a_call_is_refused(self):
        self.run_command("true")  # to be shown it must be there
        pending = self.berth.call_async("bash_exec", {"command": "echo on >f; sleep 1; echo done"})
        self.wait_until(lambda: self.shown()["pause"]["awake_by"], 10, "the call")
        done = subprocess.run([binary_path(BACKENDS[backend()]), "sessions", "pause", "work"],
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)},
                              capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("the command `echo on >f; sleep 1; echo done` is in flight", done.stderr)
        self.assertIn("pause again", done.stderr)
        self.assertEqual(pending.result().data["stdout"], "done\n")
        self.pause()

    def test_files_and_directory_are_kept(self):
        self.run_command("mkdir d; cd d; echo kept >f")
        self.pause()
        self.assertTrue(self.pause()["was_paused"])
        told = json.loads(self.command_line("sessions", "resume", "work", "--json"))
        self.assertTrue(told["was_paused"])
        self.assertEqual(self.state_of(), "running")
        self.assertIn("awake already", self.command_line("sessions", "resume", "work"))
        self.pause()
        self.assertIn("kept", self.call("read_file", path="f").text)
        self.assertEqual(self.output("pwd; cat f").splitlines()[1:], ["kept"])

    def test_to_look_wakes_nothing(self):
        self.start_counting("count")
        awake = self.call("session_info").data
        self.assertEqual(awake["state"], "running")
        self.assertIn(awake["jobs"][0]["job_id"], awake["pause"]["awake_by"][0])
        self.pause()
        told = self.call("session_info")
        self.assertEqual((told.data["state"], told.data["pause"]["why"]), ("paused", "asked"))
        self.assertIn("the next call wakes it", told.text)
        self.assertIn("0 running, 1 paused, 1 known", self.command_line("status"))
        self.assertIn("paused", self.command_line("sessions", "show", "work"))
        self.stands("count")
        self.assertEqual(self.state_of(), "paused")

    def test_the_call_of_another_server_wakes_it(self):
        other = self.start("--session", "work")
        other.call_tool("bash_exec", {"command": "true"})
        self.start_counting("count")
        self.pause()
        self.stands("count")
        other.call_tool("glob_files", {"pattern": "*"})
        self.grows("count")

    def test_the_end_of_a_paused_session(self):
        self.start_counting("count")
        self.pause()
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.state_of(), "ended")

    def test_a_session_that_there_is_not(self):
        for command in ("show", "pause", "resume"):
            self.command_line("sessions", command, "nobody", status=1)


class IdleTest(Pausing):
    environment = {"BERTH_SESSION_IDLE_PAUSE": "300ms"}

    def test_idle_it_pauses_and_a_job_keeps_it_awake(self):
        self.run_command("echo kept >f")
        self.wait_until(lambda: self.state_of() == "paused", 10, "no pause")
        self.assertEqual(self.shown()["pause"]["why"], "idle")
        self.assertEqual(self.output("cat f"), "kept\n")
        self.run_command("sleep 0.8", background=True)
        time.sleep(0.5)
        self.assertEqual(self.state_of(), "running")
        self.wait_until(lambda: self.state_of() == "paused", 10, "no pause after the job")

    def test_a_server_that_is_killed(self):
        self.start_counting("count", timeout=3)
        self.berth.kill()
        self.grows("count")  # its job keeps it awake
        self.wait_until(lambda: self.state_of() == "paused", 10, "no pause without a server")
        self.assertEqual(self.shown()["pause"]["why"], "left")
        self.berth = self.start("--session", "work")
        self.assertEqual(self.call("session_info").data["state"], "paused")
        self.assertEqual(self.output("echo on"), "on\n")


class LeavingTest(Pausing):
    environment = {"BERTH_SESSION_ON_DISCONNECT": "now"}

    def come_back(self, policy):
        self.berth = self.start("--session", "work",
                                env={"BERTH_SESSION_ON_DISCONNECT": policy,
                                     "BERTH_SESSION_IDLE_PAUSE": "300ms"})

    def made_anew(self, policy):
        """The session with a machine of that policy."""
        self.command_line("sessions", "kill", "work", "--purge")
        self.berth.close()
        self.come_back(policy)
        self.start_counting("count")

    def test_now_jobs_sleep_when_the_last_one_leaves(self):
        other = self.start("--session", "work")
        other.call_tool("bash_exec", {"command": "true"})
        self.start_counting("count")
        self.assertEqual(self.berth.close(), 0)
        self.grows("count")  # somebody is still there
        other.kill()
        self.wait_until(lambda: self.state_of() == "paused", 10, "no pause")
        self.stands("count")
        self.assertEqual(self.shown()["pause"]["why"], "left")
        self.come_back("now")
        self.assertEqual(len(self.call("session_info").data["jobs"]), 1)
        self.stands("count")
        self.run_command("true")
        self.grows("count")

    def test_what_comes_of_the_leaving_is_told_before_and_in_the_second_after(self):
        for policy, words in (("now", "paused, jobs or not, as soon as its last server leaves"),
                              ("idle", "paused as soon as its last server has left and nothing runs"),
                              ("kill", "it ends, jobs or not, as soon as its last server leaves")):
            with self.subTest(policy):
                server = self.start("--session", policy, env={"BERTH_SESSION_ON_DISCONNECT": policy})
                server.call_tool("bash_exec", {"command": "true"})
                self.assertIn(words, server.call_tool("session_info").text)
                server.close()
                told = self.shown(policy)
                when = told["pause"].get("ends_in_ms" if policy == "kill" else "pauses_in_ms", 0)
                self.assertLessEqual(when, 1000, told)  # 0: it has come

    def test_keep_and_kill(self):
        self.run_command("true")
        self.made_anew("keep")
        self.berth.close()
        self.grows("count")
        self.come_back("keep")
        (job,) = self.call("session_info").data["jobs"]
        self.call("bash_kill", job_id=job["job_id"])
        self.berth.close()
        time.sleep(0.5)
        self.assertEqual(self.state_of(), "running")  # however idle
        self.made_anew("kill")
        self.berth.close()
        self.wait_until(lambda: self.state_of() == "ended", 10, "no end")
        self.come_back("kill")
        told = self.run_command("cat count >/dev/null && echo kept")
        self.assertEqual(told.data["stdout"], "kept\n")
        self.assertIn("its last client left", told.text)
