"""Outcomes that nobody saw: the next server's first result names them, and nothing runs twice."""

import contextlib
import itertools
import json
import os
import re
import select
import signal
import time

from suite import Berth, ParityTest, backend, local_only


class Deaf(Berth):
    """A client that reads nothing, not even out of its pipe."""

    def _read_stdout(self):
        pass

    def wait_for_an_answer(self, timeout=20):
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            raise TimeoutError("the server wrote nothing")


class OutcomesTest(ParityTest):
    printing = "echo once >>log; seq 3000; exit 3"
    lease = 4

    def kill(self, server, running=0):
        """By then what it left unseen is for others to tell."""
        server.kill()
        self.wait_for_its_lease(running)

    def next_server(self):
        self.berth = self.start("--session", "work")

    def told(self):
        """The notices of a new server's first result, which is a command's."""
        self.next_server()
        return self.run_command("true").notices

    def job_in(self, notice):
        found = re.findall(r"job-\d+-\w+", notice)
        self.assertTrue(found, notice)
        return found[0]

    def check_told(self, command, how, printed, exit_code):
        """Once, with the command, how it ended and where its output is; it has run once."""
        (notice,) = self.told()
        self.assertIn("`" + command, notice)
        self.assertIn(how, notice)
        job = self.job_in(notice)
        output = self.call("bash_output", job_id=job).data
        self.assertEqual((output["stdout"], output["exit_code"]), (printed, exit_code))
        self.assertEqual(self.output("cat log"), "once\n")
        self.assertEqual(self.told(), [])
        (ended,) = self.call("session_info").data["ended_jobs"]
        self.assertEqual(ended["job_id"], job)

    def jobs_shown(self):
        """By who is told nothing."""
        shown = json.loads(self.command_line("sessions", "show", "work", "--json"))
        return [job["command"] for job in shown["jobs"]]

    def unread(self, command, tool="bash_exec", arguments=None):
        """A server with an answer that its client does not read."""
        deaf = self.start("--session", "work", kind=Deaf, era="modern")
        deaf.call_async(tool, arguments or {"command": command})
        deaf.wait_for_an_answer()
        time.sleep(0.2)  # enough for a server that would take what it has written for read
        return deaf

    def begun(self, command):
        """A server with a command that runs until something is written to `gate`."""
        self.run_command("mkfifo gate")
        server = self.start("--session", "work")
        pending = server.call_async("bash_exec", {"command": command})
        self.wait_until(lambda: self.output("cat begun || true"), 10, "the command's beginning")
        return server, pending

    def test_an_answer_that_was_not_read_before_the_server_was_killed(self):
        self.kill(self.unread(self.printing))
        self.check_told(self.printing, "exit 3", "".join(f"{n}\n" for n in range(1, 3001)), 3)

    def test_an_answer_that_its_client_left_unread(self):
        deaf = self.unread("echo once >>log; echo printed")
        deaf.process.stdout.close()
        deaf.process.stdin.close()
        deaf.process.wait(5)
        self.check_told("echo once >>log; echo printed", "exit 0", "printed\n", 0)

    def test_an_answer_that_was_not_read_before_the_server_was_told_to_end(self):
        deaf = self.unread(self.printing)
        deaf.signal(signal.SIGTERM)
        deaf.process.wait(5)
        self.check_told(self.printing, "exit 3", "".join(f"{n}\n" for n in range(1, 3001)), 3)

    def test_a_notice_that_was_not_read_before_its_server_was_killed_is_told_again(self):
        self.kill(self.unread(self.printing))
        for _ in range(2):
            deaf = self.unread(None, "glob_files", {"pattern": "*"})  # whose result tells it
            self.assertEqual(self.told(), [])  # nobody else does meanwhile
            self.kill(deaf)
        self.check_told(self.printing, "exit 3", "".join(f"{n}\n" for n in range(1, 3001)), 3)

    def test_the_beginning_of_a_job_that_was_not_read(self):
        deaf = self.start("--session", "work", kind=Deaf, era="modern")
        deaf.call_async("bash_exec", {"command": "echo on; sleep 300", "background": True})
        deaf.wait_for_an_answer()
        time.sleep(0.2)
        self.kill(deaf)
        (notice,) = self.told()
        self.assertIn("goes on", notice)
        output = self.call("bash_output", job_id=self.job_in(notice), wait=5).data
        self.assertEqual((output["stdout"], output["status"]), ("on\n", "running"))
        self.assertEqual(self.told(), [])

    def test_a_command_whose_server_was_killed_goes_on(self):
        command = "echo b >begun; read line <gate; echo once >>log; echo printed; exit 4"
        server, _ = self.begun(command)
        server.kill()
        (notice,) = self.told()
        self.assertIn("`" + command[:60], notice)
        self.assertIn("goes on", notice)
        job = self.job_in(notice)
        self.run_command("echo >gate")
        self.wait_until(lambda: self.call("bash_output", job_id=job).data["status"] == "ended", 10,
                        "its end")
        output = self.call("bash_output", job_id=job).data
        self.assertEqual((output["stdout"], output["exit_code"]), ("printed\n", 4))
        self.assertEqual(self.output("cat log"), "once\n")
        self.assertEqual(self.told(), [])

    @local_only
    def test_a_command_that_leaves_something_running_when_its_server_is_gone(self):
        """Who was told that it goes on has left by then: no answer has told how its shell ended."""
        command = "echo b >begun; sleep 8; (sleep 2 >/dev/null 2>&1 &); exit 3"
        server = self.start("--session", "work")
        server.call_async("bash_exec", {"command": command})
        self.wait_until(lambda: self.output("cat begun || true"), 10, "the command's beginning")
        self.berth.close()
        self.kill(server)
        (notice,) = self.told()
        self.assertIn("goes on", notice)
        self.berth.close()
        self.wait_until(lambda: not self.jobs_shown(), 30, "its end")
        (notice,) = self.told()
        self.assertIn("exit 3", notice)
        self.assertEqual(self.told(), [])

    def test_a_server_that_was_there_before_is_told_by_its_next_result(self):
        command = "echo b >begun; read line <gate; echo once >>log; echo printed; exit 4"
        server, _ = self.begun(command)
        server.kill()
        told = self.run_command("echo >gate").notices
        self.wait_until(lambda: told or told.extend(self.run_command("true").notices) or told, 20,
                        "it is told")
        (notice,) = told
        self.assertIn("`" + command[:60], notice)
        output = self.call("bash_output", job_id=self.job_in(notice), wait=10).data
        self.assertEqual((output["stdout"], output["exit_code"]), ("printed\n", 4))
        self.assertEqual(self.output("cat log"), "once\n")
        self.assertEqual(self.run_command("true").notices, [])
        self.assertEqual(self.told(), [])

    def test_what_a_killed_machine_has_not_told(self):
        """Neither what had ended nor what ran; told with the next machine's first result."""
        command = "echo b >begun; read line <gate; echo once >>log; echo printed; exit 4"
        server, _ = self.begun(command)
        running = self.start("--session", "work")
        running.call_async("bash_exec", {"command": "echo b >also; sleep 300"})
        self.wait_until(lambda: self.output("cat also || true"), 10, "the other's beginning")
        home = self.home()
        self.berth.close()  # who is there would be told
        server.kill()
        running.kill()
        (home / "gate").write_text("\n")
        self.wait_until(lambda: self.jobs_shown() == ["echo b >also; sleep 300"], 10, "its end")
        self.command_line("sessions", "kill", "work")
        notices = self.told()
        self.assertEqual(len(notices), 4, notices)
        self.assertIn("`" + command, notices[0])
        self.assertIn("exit 4; it printed at last:", notices[0])
        self.assertEqual(notices[1], "| printed")
        self.assertIn("sleep 300`", notices[2])
        self.assertIn("was ended with the sandbox", notices[2])
        self.assertIn("it was ended on request", notices[3])
        self.assertEqual(self.output("cat log"), "once\n")
        self.assertEqual(self.told(), [])

    def test_what_a_machine_has_not_told_that_ends_when_its_server_leaves(self):
        """on_disconnect = kill in the middle of calls: the guest's note names what was cut off, for
        whoever notices the machine's end, with the next one's first result."""
        ends = {"killed": lambda server: server.kill(), "left": lambda server: server.close()}
        for how, collected in itertools.product(ends, (False, True)):
            with self.subTest(how, collected=collected):
                self.berth.close()
                server = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": "kill"})
                server.call_tool("bash_exec", {"command": "rm -f begun"})
                server.call_async("bash_exec", {"command": "echo b >begun; sleep 301"})
                self.wait_until(lambda: server.call_tool(
                    "bash_exec", {"command": "cat begun || true"}).data["stdout"], 10, "it begins")
                server.call_async("bash_exec", {"command": "echo once >>log; sleep 0.7; exit 7"})
                self.wait_until(lambda: server.call_tool(
                    "bash_exec", {"command": "cat log || true"}).data["stdout"], 10, "it begins")
                (guest,) = self.living_guests()
                ends[how](server)
                self.wait_until(lambda: guest not in self.living_guests(), 10, "its end")
                if collected:
                    self.command_line("sessions", "gc")
                told = "\n".join(self.told())
                for part in ("`echo b >begun; sleep 301`) reached nobody", "it ran, and was ended",
                             "`echo once >>log; sleep 0.7; exit 7`) reached nobody",
                             "it ended with exit 7; what it printed is gone with the sandbox",
                             "its last client left"):
                    self.assertIn(part, told)
                self.assertEqual(self.output("cat log; rm log"), "once\n")
                self.berth.close()  # before the policy of the next one, which is to be the last
                self.assertEqual(self.told(), [])

    def test_what_was_read_is_never_told(self):
        ends = [lambda server: server.kill(), lambda server: server.close(),
                lambda server: (server.signal(signal.SIGTERM), server.wait())]
        for number, end in enumerate(ends):
            with self.subTest(number):
                self.assertEqual(self.told(), [])
                self.run_command("exit 3")
                self.run_command("sleep 300", timeout=1)
                job = self.run_command("sleep 0.2", background=True).data["job_id"]
                self.assertEqual(self.call("bash_output", job_id=job, wait=10).data["status"],
                                 "ended")
                self.run_command("sleep 0.2 >/dev/null 2>&1 &")
                calls = [self.berth.call_async("bash_exec", {"command": f"seq {n}000"})
                         for n in range(6)]
                for call in calls:
                    self.assertEqual(call.result().notices, [])
                if number == 0:
                    self.wait_for_its_word()  # what has been read is noticed after a while
                else:
                    self.call("session_info")  # or with the next request
                end(self.berth)
                self.wait_for_its_lease()
        self.assertEqual(self.told(), [])

    def left(self, command, until):
        """A server that has begun a job in the background, of which `until` is in its output."""
        server = self.start("--session", "work")
        job = server.call_tool("bash_exec", {"command": command, "background": True}).data["job_id"]
        self.wait_until(lambda: until in self.output("cat log || true"), 10, "its beginning")
        self.wait_for_its_word()  # that its client has the id
        return server, job

    def check_end(self, notice, job, command, how):
        self.assertIn(f"of {job} (`{command}`), which was left to run, nobody has been told", notice)
        self.assertIn(how, notice)

    def test_a_job_that_nobody_asked_for_before_its_server_was_gone(self):
        """Whichever way that ended, and whether the job had ended by then; told once."""
        ends = {"killed": lambda server: server.kill(), "left": lambda server: server.close()}
        for how, over in itertools.product(ends, (True, False)):
            with self.subTest(how, over=over):
                self.output("rm -f log gate; mkfifo gate")
                command = "echo begun >>log; " + ("" if over else "read l <gate; ") + "echo on; exit 6"
                server, job = self.left(command, "begun")
                if over:
                    self.wait_until(lambda: not self.jobs_shown(), 10, "its end")
                    self.assertEqual(self.run_command("true").notices, [])  # its server is there
                ends[how](server)
                self.wait_for_its_lease()
                if not over:
                    self.assertEqual(self.told(), [])  # it runs, and has its id
                told = [] if over else self.run_command("echo >gate").notices
                self.wait_until(lambda: told or told.extend(self.run_command("true").notices)
                                or told, 20, "it is told")
                (notice,) = told
                self.check_end(notice, job, command, f"exit 6, and bash_output of {job} has what")
                self.assertEqual(self.call("bash_output", job_id=job).data["stdout"], "on\n")
                self.assertEqual(self.told(), [])

    def test_a_job_that_the_next_server_asked_for_is_left_to_it(self):
        server, job = self.left("mkfifo gate; echo begun >>log; read line <gate; exit 6", "begun")
        self.kill(server)
        self.assertEqual(self.call("bash_output", job_id=job).data["status"], "running")
        self.output("echo >gate")
        self.wait_until(lambda: not self.jobs_shown(), 10, "its end")
        self.assertEqual(self.run_command("true").notices, [])
        self.wait_for_its_word()
        self.kill(self.berth)
        (notice,) = self.told()
        self.check_end(notice, job, "mkfifo gate; echo begun >>log; read line <gate; exit 6", "exit 6")

    def test_jobs_of_a_killed_machine(self):
        """What ran, what had ended and was not asked for, and nothing of what was; their ids are
        those of another machine."""
        jobs = [self.run_command(command, background=True).data["job_id"]
                for command in ("sleep 301", "echo on; exit 6", "exit 7")]
        self.call("bash_output", job_id=jobs[2], wait=10)
        self.wait_until(lambda: self.jobs_shown() == ["sleep 301"], 10, "their ends")
        self.output("sleep 302 >/dev/null 2>&1 &")
        self.berth.close()
        self.command_line("sessions", "kill", "work")
        told = "\n".join(self.told())
        for part in (f"of {jobs[1]} (`echo on; exit 6`), which was left to run, nobody has been told "
                     "the end: it ended with exit 6; it printed at last:\n| on\n",
                     f"of {jobs[0]} (`sleep 301`), which was left to run, nobody has been told the "
                     "end: it ran, and was ended with the sandbox",
                     "(`sleep 302 >/dev/null 2>&1 &`), which was left to run",
                     "it was ended on request"):
            self.assertIn(part, told)
        self.assertNotIn(jobs[2], told)
        for job in jobs:
            error = self.berth.call_tool("bash_output", {"job_id": job})
            self.assertIn("not of the sandbox that this session has now", error.text)
            self.assertIn("has ended with it at the latest", error.text)
        self.assertEqual(self.told(), [])

    def test_jobs_of_a_machine_that_ends_when_its_server_leaves(self):
        server = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": "kill"})
        self.berth.close()
        jobs = [server.call_tool("bash_exec", {"command": command, "background": True}).data["job_id"]
                for command in ("sleep 301", "exit 7")]
        self.wait_until(lambda: self.jobs_shown() == ["sleep 301"], 10, "the other's end")
        (guest,) = self.living_guests()
        server.close()
        self.wait_until(lambda: guest not in self.living_guests(), 10, "its end")
        told = "\n".join(self.told())
        self.check_end(told, jobs[0], "sleep 301", "it ran, and was ended with the sandbox")
        self.check_end(told, jobs[1], "exit 7", "it ended with exit 7")

    def test_an_end_that_session_info_has_shown_is_not_told_again(self):
        server, job = self.left("echo begun >>log; exit 6", "begun")
        self.wait_until(lambda: not self.jobs_shown(), 10, "its end")
        (ended,) = server.call_tool("session_info").data["ended_jobs"]
        self.assertEqual((ended["job_id"], ended["exit_code"]), (job, 6))
        self.wait_for_its_word()
        self.kill(server)
        self.assertEqual(self.told(), [])
        self.assertEqual(self.call("bash_output", job_id=job).data["exit_code"], 6)

    def test_an_end_that_session_info_would_have_shown_is_told(self):
        """Its client has not read that; nor does it count that the operator was shown it."""
        server, job = self.left("echo begun >>log; exit 6", "begun")
        self.wait_until(lambda: not self.jobs_shown(), 10, "its end")
        deaf = self.unread(None, "session_info", {})
        self.kill(deaf)
        self.kill(server)
        (notice,) = self.told()
        self.check_end(notice, job, "echo begun >>log; exit 6", f"exit 6, and bash_output of {job} has what")

    def test_of_more_jobs_than_are_remembered_the_others_are_counted(self):
        many = 131
        ids = []
        for number in range(many):
            ids.append(self.run_command(f"exit {number % 100}", background=True).data["job_id"])
            if number in (2, many - 1) or number % 10 == 0:  # the first three end first; few run at once
                self.wait_until(lambda: not self.jobs_shown(), 20, "their ends")
        self.assertEqual(self.call("bash_output", job_id=ids[3]).data["exit_code"], 3)
        self.assertIn("is remembered no longer", self.refused("not_found", "bash_output", job_id=ids[2]).text)
        self.berth.close()
        self.command_line("sessions", "kill", "work")
        told = "\n".join(self.told())
        # But for the one that was asked for and the three that are named.
        self.assertIn(f"the results of {many - 4} earlier commands", told)

    def test_two_servers_do_not_both_tell_what_the_books_have(self):
        self.run_command("true")
        job = self.run_command("exit 7", background=True).data["job_id"]
        self.wait_until(lambda: not self.jobs_shown(), 10, "its end")
        self.berth.close()
        self.command_line("sessions", "kill", "work")
        deaf = self.unread(None, "glob_files", {"pattern": "*"})  # whose result tells it
        self.assertEqual(self.told(), [])
        self.kill(deaf)
        self.assertIn(job, "\n".join(self.told()))
        self.wait_for_its_word()
        self.kill(self.berth)  # with no call after that
        self.assertEqual(self.told(), [])

    def test_what_its_client_has_cancelled_is_not_told(self):
        self.run_command("true")
        pending = self.berth.call_async("bash_exec", {"command": "echo >begun; sleep 300"})
        self.wait_until(lambda: self.output("cat begun || true"), 10, "the command's beginning")
        self.berth.cancel(pending)
        self.wait_until(lambda: self.call("session_info").data["commands_in_flight"] == 0, 10,
                        "its end")
        self.call("session_info")
        self.kill(self.berth)
        self.assertEqual(self.told(), [])

    def test_what_its_own_server_gave_up(self):
        """Its guest was stopped from outside for longer than anybody waits, and went on."""
        self.output("true")
        (guest,) = self.living_guests()
        pending = self.berth.call_async("bash_exec", {"command": "echo once >>log; sleep 3; exit 4"})
        time.sleep(1)  # enough for it to begin; else it would be refused, which is another case
        os.kill(guest, signal.SIGSTOP)
        try:
            given_up = pending.result(60)
        finally:
            os.kill(guest, signal.SIGCONT)
        self.assertIn("does not answer any more", given_up.text)
        self.assertIn("named in a later result", given_up.text)
        # Each tells the guest that nobody asks for the answer any more: it does not wait for that.
        told = [notice for _ in range(3) for notice in self.run_command("true").notices]
        (notice,) = told
        self.assertIn("gave it up: it ended with exit 4", notice)
        self.assertEqual(self.output("cat log"), "once\n")
        self.assertEqual(self.run_command("true").notices, [])

    @local_only
    def test_what_one_server_gave_up_another_that_stays_is_told(self):
        other = self.start("--session", "work")
        other.call_tool("bash_exec", {"command": "true"})
        (guest,) = self.living_guests()
        pending = self.berth.call_async("bash_exec", {"command": "sleep 3; exit 4"})
        time.sleep(1)  # as above
        os.kill(guest, signal.SIGSTOP)
        try:
            self.assertIn("does not answer any more", pending.result(60).text)
        finally:
            os.kill(guest, signal.SIGCONT)
        told = []

        def is_told():
            told.extend(other.call_tool("bash_exec", {"command": "true"}).notices)
            return told
        self.wait_until(is_told, 20, "it is told")
        self.assertIn("`sleep 3; exit 4`) reached nobody", told[0])

    def test_what_another_server_s_client_waits_for_is_left_to_it(self):
        server, pending = self.begun("echo b >begun; read line <gate; echo printed; exit 5")
        self.assertEqual(self.told(), [])
        self.run_command("echo >gate")
        result = pending.result()
        self.assertEqual((result.data["stdout"], result.data["exit_code"]), ("printed\n", 5))
        self.assertEqual(self.told(), [])
        info = self.call("session_info").data
        self.assertEqual((info["jobs"], info["ended_jobs"]), ([], []))
        server.call_tool("session_info")
        self.kill(server)
        self.assertEqual(self.told(), [])

    def test_servers_killed_at_any_moment(self):
        """What has begun has an outcome that somebody was told of, and has begun once."""
        told, ran = {}, {}
        self.run_command("true")
        for n in range(6 if backend() == "e2b" else 20):
            server = self.start("--session", "work")
            self.assertEqual(server.call_tool("bash_exec", {"command": "true"}).notices, [])
            pending = server.call_async("bash_exec", {"command": f"echo {n} >>log; exit {n}"})
            time.sleep(n * 0.0004)
            self.kill(server)
            with contextlib.suppress(EOFError):
                told[n] = pending.result(5).data["exit_code"]
            self.wait_until(lambda: not self.jobs_shown(), 5, "its end")
            successor = self.start("--session", "work")
            notices = successor.call_tool("bash_exec", {"command": "true"}).notices
            for notice in notices:
                if "`true`" in notice:
                    continue  # it was read, and the server killed before it knew
                self.assertIn(f"`echo {n} >>log", notice)
                job = successor.call_tool("bash_output", {"job_id": self.job_in(notice)})
                ran[n] = job.data["exit_code"]
            successor.close()
        log = self.output("cat log || true").split()
        self.assertEqual(len(log), len(set(log)), log)
        for n in map(int, log):
            self.assertEqual(told.get(n, ran.get(n)), n, (told, ran, log))
        self.assertTrue(set(told) | set(ran) <= set(map(int, log)), (told, ran, log))

    def test_the_newest_of_many_are_named(self):
        """Of commands in flight one after the other, whichever way the kernel ends a server."""
        self.run_command("true")
        deaf = self.start("--session", "work", kind=Deaf, era="modern")
        for n in range(5):
            deaf.call_async("bash_exec", {"command": f"echo {n} >>log; exit {n}"})
            self.wait_until(lambda: self.output("cat log || true").split()[-1:] == [str(n)], 20,
                            "its run")
        deaf.wait_for_an_answer()
        time.sleep(0.5)  # enough for the last one's answer to be on its way
        self.kill(deaf)
        notices = self.told()
        self.assertEqual([re.findall(r"`echo (\d)", notice) for notice in notices],
                         [["2"], ["3"], ["4"], []], notices)
        self.assertIn("the results of 2 earlier commands", notices[3])

    def test_in_the_dialect_of_claude(self):
        self.kill(self.unread("echo once >>log; exit 3"))
        self.berth = self.start("--session", "work", "--tool-dialect", "claude",
                                structured=False)
        result = self.berth.call_tool("Bash", {"command": "cat log"})
        (notice,) = result.notices
        self.assertIn("exit 3, and bash_output of job-", notice)
        self.assertIn("[berth] " + notice, result.text)
        job = self.berth.call_tool("bash_output", {"job_id": self.job_in(notice)})
        self.assertEqual(job.data["exit_code"], 3)
