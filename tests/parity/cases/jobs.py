"""Commands in the background: their output, their input, their end, and who knows of them."""

import os
import time

from host import proof_of_a_stop
from suite import ParityTest, backend


class JobsTest(ParityTest):
    lease = 4
    environment = {"BERTH_SESSION_JOBS": "4", "BERTH_JOB_MAX_TIMEOUT": "600s",
                   "BERTH_JOB_TIMEOUT": "300s"}

    def job(self, command, **arguments):
        """The id of a new job that runs `command`."""
        data = self.run_command(command, background=True, **arguments).data
        self.assertEqual((data["fate"], data["exit_code"], data["background"]),
                         ("running", -1, True))
        return data["job_id"]

    def job_output(self, job, **arguments):
        return self.call("bash_output", job_id=job, **arguments).data

    def ended(self, job, **arguments):
        """What it came to, once it has ended."""
        end = time.monotonic() + 20
        while True:
            data = self.job_output(job, wait=5, **arguments)
            if data["status"] == "ended":
                return data
            self.assertLess(time.monotonic(), end, data)

    # ---- output

    def test_a_command_in_the_background(self):
        result = self.run_command("echo out; echo err >&2; exit 3", background=True)
        job = result.data["job_id"]
        self.assertRegex(job, "^job-1-[0-9a-f]{4}$")
        self.assertIn(f'bash_output {{"job_id": "{job}"', result.text)
        data = self.ended(job)
        self.assertEqual((data["stdout"], data["stderr"]), ("out\n", "err\n"))
        self.assertEqual((data["fate"], data["exit_code"], data["ended_by"]), ("exited", 3, ""))
        text = self.call("bash_output", job_id=job).text
        self.assertTrue(text.startswith(f"[{job} ended: exit 3 · "), text)
        self.assertTrue(text.endswith("]\nout\n[stderr]\nerr\n"), text)

    def test_a_cursor_gives_the_same_bytes_whenever_it_is_asked_for(self):
        job = self.job("for n in 1 2 3 4 5; do echo line $n; sleep 0.2; done")
        cursor, read, parts = "", "", []
        while True:
            data = self.job_output(job, since=cursor, wait=5)
            parts.append((cursor, data["stdout"]))
            read += data["stdout"]
            cursor = data["cursor"]
            if data["status"] == "ended":
                break
        whole = "".join(f"line {n}\n" for n in range(1, 6))
        self.assertEqual(read, whole)
        self.assertGreater(len(parts), 1)
        for cursor, part in parts:
            later = self.job_output(job, since=cursor)["stdout"]
            self.assertTrue(later.startswith(part), (cursor, part, later))
            self.assertTrue(whole.endswith(later))
        self.assertEqual(self.job_output(job, cursor=parts[1][0])["stdout"],
                         self.job_output(job, since=parts[1][0])["stdout"])

    def test_waiting_ends_with_output(self):
        job = self.job("sleep 0.5; echo now; sleep 60")
        began = time.monotonic()
        data = self.job_output(job, wait=30)
        self.assertEqual((data["stdout"], data["status"]), ("now\n", "running"))
        self.assertLess(time.monotonic() - began, 15)

    def test_waiting_ends_with_the_job(self):
        job = self.job("sleep 0.5; exit 9")
        began = time.monotonic()
        data = self.job_output(job, wait=30)
        self.assertEqual((data["exit_code"], data["status"]), (9, "ended"))
        self.assertLess(time.monotonic() - began, 15)

    def test_waiting_ends_with_its_time(self):
        job = self.job("sleep 60")
        began = time.monotonic()
        result = self.call("bash_output", job_id=job, wait=1)
        self.assertGreaterEqual(time.monotonic() - began, 1)
        self.assertIn("(no output yet)", result.text)

    def test_those_who_wait_hold_nobody_up(self):
        job = self.job("sleep 60")
        waiting = [self.berth.call_async("bash_output", {"job_id": job, "wait": 20})
                   for _ in range(20)]
        began = time.monotonic()
        self.assertEqual(self.output("echo on"), "on\n")
        self.call("bash_kill", job_id=job)
        for call in waiting:
            self.assertEqual(call.result().data["status"], "ended")
        self.assertLess(time.monotonic() - began, 15)

    def test_a_filter_shows_lines_with_a_match(self):
        job = self.job("seq 1000; echo 'error: x'; echo 'ERROR: y' >&2")
        self.ended(job)
        result = self.call("bash_output", job_id=job, filter="(?i)^error")
        self.assertEqual((result.data["stdout"], result.data["stderr"]),
                         ("error: x\n", "ERROR: y\n"))
        self.assertEqual(result.data["stdout_stream"]["filtered_lines"], 1000)
        self.assertIn("1,000 lines without a match left out", result.text)
        self.refused("invalid_argument", "bash_output", job_id=job, filter="(")

    def test_a_filter_judges_what_is_shown(self):
        job = self.job("printf '\\033[31merror\\033[0m: x\\r\\n10%%\\r20%%\\n'")
        self.ended(job)
        for pattern, shown in (("^error: x$", "error: x\r\n"), ("^20%$", "20%\n"), ("31m|10%", "")):
            with self.subTest(pattern):
                self.assertEqual(self.job_output(job, filter=pattern)["stdout"], shown)

    def test_a_filter_judges_a_long_line_as_one(self):
        job = self.job("for size in 200000 2000000; do head -c $size /dev/zero | tr '\\0' x; "
                       "echo needle; echo straw; done")
        self.ended(job)
        data = self.job_output(job, filter="^x.*|xneedle$")
        stream = data["stdout_stream"]
        self.assertEqual((stream["filtered_lines"], stream["filtered_bytes"]), (2, 12))
        self.assertTrue(data["stdout"].endswith("xneedle\n"), data["stdout"][-100:])
        data = self.job_output(job, filter="^straw|^needle|x$")
        self.assertEqual(data["stdout"], "straw\nstraw\n")

    def test_a_bar_does_not_end_a_wait(self):
        job = self.job("for n in $(seq 30); do printf '\\r%d%%' $n; sleep 0.1; done; echo; sleep 60")
        data = self.job_output(job, wait=50)
        self.assertEqual((data["stdout"], data["status"]), ("30%\n", "running"))

    def test_a_filter_is_waited_for(self):
        job = self.job("for n in 1 2 3; do echo noise; sleep 0.2; done; echo listening; sleep 60")
        data = self.job_output(job, wait=30, filter="^listening")
        self.assertEqual((data["stdout"], data["status"]), ("listening\n", "running"))

    def test_a_filter_waits_for_the_rest_of_a_line(self):
        job = self.job("printf 'Starting server'; sleep 1; echo ' done'; sleep 60")
        data = self.job_output(job, wait=30, filter="server.*done")
        self.assertEqual((data["stdout"], data["status"]), ("Starting server done\n", "running"))

    def test_a_slow_filter_holds_nobody_up(self):
        job = self.job("tr -dc 01 </dev/urandom | fold -w 900 | head -c 2000000")
        self.ended(job)
        waiting = [self.berth.call_async("bash_output", {"job_id": job,
                                                         "filter": "0[01]{40}1[01]{400}x"})
                   for _ in range(4)]
        began = time.monotonic()
        self.assertEqual(self.output("echo on"), "on\n")
        self.assertLess(time.monotonic() - began, 10)
        del waiting
        self.refused("invalid_argument", "bash_output", job_id=job, filter="0.{40}1.{900}x")

    def test_lines_are_whole_and_a_prompt_is_shown(self):
        job = self.job("printf 'one\\ntw'; sleep 0.1; printf 'o\\n? '; sleep 60")
        time.sleep(1)
        self.assertEqual(self.job_output(job, wait=10)["stdout"], "one\ntwo\n? ")

    def test_huge_output_is_bounded_and_counted(self):
        job = self.job("seq 1000000")
        data = self.ended(job)
        total = 6888896
        stream = data["stdout_stream"]
        self.assertEqual(stream["written_bytes"], total)
        self.assertEqual(stream["dropped_bytes"], 0)
        self.assertLess(len(data["stdout"]), 32_000)
        self.assertTrue(data["stdout"].startswith("1\n2\n"))
        self.assertTrue(data["stdout"].endswith("\n1000000\n"))
        head, note, tail = data["stdout"].partition("[... ")
        tail = tail[tail.index("\n") + 1:]
        self.assertTrue(note)
        self.assertEqual(len(head) + len(tail) + stream["omitted_bytes"], total)
        self.assertEqual(head.count("\n") + tail.count("\n") + stream["omitted_lines"], 1_000_000)
        page = self.call("read_file", path=stream["spill_path"], offset=499_999, limit=1).text
        self.assertIn("500000\t500000", page)

    def test_binary_output(self):
        job = self.job("printf '\\0\\377\\001\\n'; head -c 100000 /dev/zero")
        data = self.ended(job)
        self.assertEqual(data["stdout_stream"]["written_bytes"], 100_004)
        self.assertIn("\\x00\\xff\\x01\n", data["stdout"])

    def test_output_above_the_limit_keeps_the_newest_and_counts_the_rest(self):
        # Of a session of its own: the limit belongs to the machine.
        other = self.start("--session", "small", env={"BERTH_OUTPUT_SPILL_STREAM": "65536"})
        job = other.call_tool("bash_exec", {"command": "seq 100000", "background": True}).data["job_id"]
        self.wait_until(lambda: other.call_tool("bash_output", {"job_id": job}).data["status"] ==
                        "ended", 20, "it ends")
        result = other.call_tool("bash_output", {"job_id": job})
        stream = result.data["stdout_stream"]
        self.assertGreater(stream["dropped_bytes"], 400_000)
        self.assertLess(stream["dropped_bytes"], stream["written_bytes"])
        self.assertTrue(result.data["stdout"].endswith("\n100000\n"))
        self.assertIn("are kept no more", result.text)

    # ---- input

    def test_input_and_its_end(self):
        job = self.job("cat; echo ended", stdin_open=True, stdin="first\n")
        self.assertEqual(self.job_output(job, wait=10)["stdout"], "first\n")
        self.assertEqual(self.call("bash_input", job_id=job, input="höher\n").data["bytes"], 7)
        self.assertEqual(self.job_output(job, since="6-0", wait=10)["stdout"], "höher\n")
        self.call("bash_input", job_id=job, input="last\n", close=True)
        data = self.ended(job)
        self.assertEqual(data["stdout"], "first\nhöher\nlast\nended\n")
        self.refused("conflict", "bash_input", job_id=job, input="x")

    def test_input_that_nobody_can_read(self):
        job = self.job("cat; sleep 60")
        self.refused("unsupported", "bash_input", job_id=job, input="x")
        self.refused("invalid_argument", "bash_exec", command="cat", stdin_open=True)
        idle = self.job("sleep 60", stdin_open=True)
        self.assertEqual(self.call("bash_input", job_id=idle, input="x" * 60_000).data["bytes"],
                         60_000)
        self.call("bash_input", job_id=idle, input="x" * 60_000)
        self.refused("busy", "bash_input", job_id=idle, input="x" * 60_000)

    # ---- the end

    def test_a_kill_with_term_and_then_kill(self):
        soft = self.job("trap 'echo bye; exit 7' TERM; echo ready; sleep 60 & wait")
        hard = self.job("trap '' TERM; echo ready; while :; do sleep 1; done")
        for job in (soft, hard):
            self.job_output(job, wait=10)
        data = self.call("bash_kill", job_id=soft).data
        self.assertEqual((data["status"], data["exit_code"], data["ended_by"]),
                         ("ended", 7, "kill"))
        data = self.call("bash_kill", job_id=hard, grace=1).data
        self.assertEqual((data["status"], data["fate"], data["survivors"]),
                         ("ended", "signaled", 0))
        self.assertEqual(data["stop_verified_by"], proof_of_a_stop(backend()))
        self.assertEqual(self.job_output(soft)["stdout"], "ready\nbye\n")
        again = self.call("bash_kill", job_id=hard)
        self.assertEqual(again.data["signalled"], 0)

    def test_a_tree_that_hides_is_gone_within_two_seconds(self):
        mark = f"BERTH_JOB_MARK={os.getpid()}-{id(self)}"
        job = self.job("setsid sleep 300 & ( ( sleep 300 & ) & ); "
                       "setsid sh -c \"trap '' TERM; sleep 300\" & echo ready; sleep 300",
                       env=dict([mark.split("=")]))
        self.job_output(job, wait=10)
        self.assertTrue(self.marked(mark))
        began = time.monotonic()
        data = self.call("bash_kill", job_id=job, grace=0).data
        self.assertEqual((data["status"], data["survivors"]), ("ended", 0))
        self.assertEqual(self.marked(mark), [])
        self.assertLess(time.monotonic() - began, 10)
        self.assertLess(self.job_output(job)["age_ms"], 12_000)

    def marked(self, mark):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark.encode() in file.read().split(b"\0"):
                        found.append(pid)
            except OSError:
                pass
        return found

    def test_a_signal_is_only_sent(self):
        job = self.job("trap 'echo hup' HUP; echo ready; while :; do sleep 0.1; done")
        cursor = self.job_output(job, wait=10)["cursor"]
        data = self.call("bash_kill", job_id=job, signal="SIGHUP").data
        self.assertEqual(data["status"], "running")
        self.assertEqual(self.job_output(job, since=cursor, wait=10, filter="hup")["stdout"],
                         "hup\n")

    def test_an_exit_code_is_remembered(self):
        jobs = [self.job(f"exit {code}") for code in (0, 1, 42)]
        for job in jobs:
            self.ended(job)
        self.assertEqual([self.job_output(job)["exit_code"] for job in jobs], [0, 1, 42])
        info = self.call("session_info")
        self.assertEqual([(job["job_id"], job["exit_code"]) for job in info.data["ended_jobs"]],
                         list(zip(jobs, (0, 1, 42))))
        self.assertEqual(info.data["jobs"], [])
        self.assertIn("ended jobs", info.text)

    def test_a_deadline_is_told_and_kept(self):
        data = self.run_command("sleep 300 & sleep 300", background=True, timeout=2).data
        job = data["job_id"]
        self.assertLessEqual(data["job_remaining_ms"], 2000)
        (told,) = self.call("session_info").data["jobs"]
        self.assertGreater(told["remaining_ms"], 0)
        data = self.ended(job)
        self.assertEqual((data["fate"], data["ended_by"], data["survivors"]),
                         ("timed_out", "deadline", 0))
        self.assertIn("stopped at its deadline", self.call("bash_output", job_id=job).text)
        info = self.call("session_info")
        self.assertIn(job + "  timed out, stopped at its deadline, ", info.text)
        (told,) = info.data["ended_jobs"]
        self.assertEqual((told["fate"], told["ended_by"], told["not_run"], told.get("exit_code")),
                         ("timed_out", "deadline", False, None))
        self.assertLessEqual(self.run_command("sleep 60", background=True)
                             .data["job_remaining_ms"], 300_000)
        self.refused("invalid_argument", "bash_exec", command="true", background=True, timeout=601)

    # ---- how a command becomes a job

    def test_at_its_timeout_a_command_goes_on(self):
        result = self.run_command("echo before; sleep 2; echo after; exit 5", timeout=1,
                                  on_timeout="background")
        data = result.data
        self.assertEqual((data["stdout"], data["fate"], data["timed_out"]),
                         ("before\n", "running", False))
        job = data["job_id"]
        self.assertIn(f"it goes on in the background as {job}", result.text)
        later = self.ended(job, since=data["job_cursor"])
        self.assertEqual((later["stdout"], later["exit_code"]), ("after\n", 5))
        self.assertEqual(self.job_output(job)["stdout"], "before\nafter\n")

    def test_without_that_it_is_stopped(self):
        data = self.run_command("sleep 60", timeout=1).data
        self.assertEqual((data["fate"], data["job_id"]), ("timed_out", ""))

    def test_what_a_command_leaves_is_a_job(self):
        result = self.run_command("(sleep 1; echo late; sleep 300) & echo early")
        data = result.data
        job = data["job_id"]
        self.assertIn(f'bash_output {{"job_id": "{job}", "since": "6-0"', result.text)
        self.assertLessEqual(data["job_remaining_ms"], 600_000)
        later = self.job_output(job, since=data["job_cursor"], wait=10)
        self.assertEqual((later["stdout"], later["status"], later["exit_code"]),
                         ("late\n", "running", 0))
        self.assertEqual([job["job_id"] for job in self.call("session_info").data["jobs"]], [job])
        self.assertEqual(self.call("bash_kill", job_id=job).data["status"], "ended")
        self.assertEqual(self.call("session_info").data["jobs"], [])

    def test_no_more_jobs_than_are_allowed(self):
        jobs = [self.job("sleep 300", timeout=600 - 100 * number) for number in range(4)]
        error = self.refused("busy", "bash_exec", command="sleep 300", background=True).error
        self.assertIn("session.jobs", error["message"])
        self.assertIn(error["details"]["retry_after"], range(200, 301))
        self.assertTrue(error["retryable"])
        self.assertEqual(self.output("echo on"), "on\n")
        self.call("bash_kill", job_id=jobs[0])
        self.job("sleep 300")

    def test_the_working_directory_stays(self):
        self.ended(self.job("cd /; pwd"))
        self.assertEqual(self.output("cd ~; pwd"), self.output("pwd"))
        self.refused("not_found", "bash_exec", command="true", workdir="/nowhere", background=True)
        self.assertEqual(self.call("session_info").data["jobs"], [])

    # ---- who knows

    def test_an_unknown_job_is_told_with_those_there_are(self):
        error = self.refused("not_found", "bash_output", job_id="job-1").error
        self.assertIn("bash_exec", error["hint"])
        job = self.job("sleep 300")
        other = self.job("true")
        self.ended(other)
        for tool in ("bash_output", "bash_kill"):
            error = self.refused("not_found", tool, job_id="job-9").error
            self.assertIn(f"{job} (running), {other} (ended)", error["hint"])
        self.refused("not_found", "bash_input", job_id="job-9", input="x")
        self.refused("invalid_argument", "bash_output", job_id=job, since="5000-0")
        self.refused("invalid_argument", "bash_output", job_id=job, since="nonsense")

    def test_two_servers_of_a_session_see_the_same_jobs(self):
        other = self.start("--session", "work", era="modern")
        job = self.job("echo mine; read -r line; echo $line; exit 4", stdin_open=True)
        told = other.call_tool("bash_output", {"job_id": job, "wait": 10}).data
        self.assertEqual(told["stdout"], "mine\n")
        other.call_tool("bash_input", {"job_id": job, "input": "yours\n"})
        data = self.ended(job, since=told["cursor"])
        self.assertEqual((data["stdout"], data["exit_code"]), ("yours\n", 4))

    def test_an_id_of_an_earlier_machine_names_no_job(self):
        stale = self.job("sleep 300")
        self.berth.kill()
        for session in self.sessions():
            self.command_line("sessions", "kill", session["session"],
                              "--principal", session["principal"])
        self.berth = self.start("--session", "work")
        self.job("sleep 300")
        self.refused("not_found", "bash_kill", job_id=stale)
        self.assertEqual(len(self.call("session_info").data["jobs"]), 1)

    def test_jobs_and_their_ends_outlive_their_server(self):
        before = self.job("echo before; exit 5")
        self.ended(before)
        job = self.job("sleep 0.5; echo done; exit 6")
        lasting = self.job("sleep 300")
        self.berth.kill()
        time.sleep(1)
        self.berth = self.start("--session", "work")
        data = self.job_output(job)
        self.assertEqual((data["stdout"], data["exit_code"], data["status"]),
                         ("done\n", 6, "ended"))
        data = self.job_output(before)
        self.assertEqual((data["stdout"], data["exit_code"]), ("before\n", 5))
        self.assertEqual(self.job_output(lasting)["status"], "running")

    def test_the_outcome_of_a_command_whose_server_was_killed_is_known(self):
        self.output("true")
        self.berth.call_async("bash_exec", {"command": "echo begun; sleep 1; echo done; exit 8"})
        time.sleep(0.4)
        self.berth.kill()
        self.wait_for_its_lease(running=1)
        self.berth = self.start("--session", "work")
        info = self.call("session_info").data
        ((job),) = [job["job_id"] for job in info["jobs"] + info["ended_jobs"]]
        data = self.ended(job)
        self.assertEqual((data["stdout"], data["exit_code"]), ("begun\ndone\n", 8))
