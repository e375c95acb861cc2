"""Clocks that jump, and a host that was asleep: nothing ends, nothing is lost, and nothing is told.

What can be shown from outside without a host of one's own: the clocks of servers and of the command
line (clocks.cpp, which is loaded into them), the times in the state directory, and all processes of a
session stopped for a while. The guest is a static program; it reads no wall clock, and its clocks are
in tests/unit/guest."""

import contextlib
import json
import os
import random
import signal
import struct
import subprocess
import time

from base import CrashTest
from kept import Kept
from mcp_client import binary_path
from saves import saving, temporary_files
from settings import SEED
from suite import BACKENDS, backend

DAY = 24 * 3600


class Clocks(CrashTest):
    def setUp(self):
        super().setUp()
        self.berth.close()

    def sessions_of(self, **environment):
        done = subprocess.run([binary_path(BACKENDS[backend()]), "sessions", "list", "--json"],
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path), **environment},
                              capture_output=True, text=True, check=True, timeout=30)
        return {found["session"]: found["state"] for found in json.loads(done.stdout)}

    def begin(self, server):
        """A call and a job in the middle of which something happens."""
        job = server.call_tool("bash_exec", {
            "command": "for i in 1 2 3 4 5 6; do echo $i; sleep 0.25; done; exit 5", "background": True})
        call = server.call_async("bash_exec", {"command": "echo begun >f; sleep 0.8; echo ended; exit 3",
                                               "timeout": 20})
        self.wait_until(lambda: server.call_tool("bash_exec", {"command": "cat f || true"})
                        .data["stdout"] == "begun\n", 5, "the command began")
        return job.data["job_id"], call

    def check_ends(self, server, job, call):
        result = call.result(15)
        self.assertEqual((result.data["stdout"], result.data["exit_code"], result.data["fate"]),
                         ("ended\n", 3, "exited"), result)
        self.assertEqual(result.notices, [])
        while True:
            data = server.call_tool("bash_output", {"job_id": job, "wait": 5}).data
            if data["status"] == "ended":
                break
        self.assertEqual((data["stdout"], data["exit_code"], data["ended_by"]),
                         ("1\n2\n3\n4\n5\n6\n", 5, ""))


class WallTimeTest(Clocks):
    """As the state directory has it: the clock was wrong when it was written."""

    registry_only = "files"

    def test_the_time_of_the_last_use_is_a_day_away(self):
        named, unnamed = self.start("--session", "work"), self.start()
        for server in (named, unnamed):
            server.call_tool("bash_exec", {"command": "true"})
        guests = sorted(self.state.guests())
        for ahead in (DAY, -DAY, 400 * DAY, -400 * DAY):
            with self.subTest(ahead):
                job, call = self.begin(named)
                for record in (self.state.path / "sessions").glob("*/record.json"):
                    os.utime(record, (time.time() + ahead, time.time() + ahead))
                self.assertEqual(self.sessions_of()["work"], "running")
                other = self.start("--session", "work")
                told = other.call_tool("bash_exec", {"command": "cat f"})
                self.assertEqual((told.data["stdout"], told.notices), ("begun\n", []))
                self.check_ends(named, job, call)
                self.assertFalse(unnamed.call_tool("bash_exec", {"command": "true"}).notices)
                self.assertEqual(sorted(self.state.guests()), guests)
                other.close()
                named.call_tool("bash_exec", {"command": "rm f"})


class ShiftedTest(Clocks):
    """Only with clocks.cpp: run.py leaves these out without --clocks."""

    def setUp(self):
        super().setUp()
        self.file = self.state.path / "clocks"
        self.file.write_bytes(struct.pack("=3q", 0, 0, 0))
        self.shifted = {"LD_PRELOAD": os.environ["BERTH_CRASH_CLOCKS"],
                        "BERTH_TEST_CLOCKS": str(self.file)}
        self.jump(wall=DAY)
        told = subprocess.run(["date", "+%s"], env={**os.environ, **self.shifted}, check=True,
                              capture_output=True, text=True).stdout
        self.assertGreater(int(told), time.time() + DAY / 2)  # else all of this would show nothing
        self.jump()

    def jump(self, wall=0, boot=0, monotonic=0):
        with open(self.file, "r+b") as file:
            file.write(struct.pack("=3q", wall, boot, monotonic))

    def serve(self, *arguments):
        return self.start(*arguments, env=self.shifted)

    def in_the_middle(self, **jump):
        """A jump in the middle of a call, of a job, and of a wait for output; then everything that
        a server or a collector may decide by a clock."""
        named, unnamed = self.serve("--session", "work"), self.serve()
        unnamed.call_tool("bash_exec", {"command": "echo mine >g"})
        kept = Kept(self, self.serve, self.shifted)
        kept.make(named)
        job, call = self.begin(named)
        waits = named.call_async("bash_output", {"job_id": job, "since": "1000-0", "wait": 1})
        guests = sorted(self.state.guests())
        self.jump(**jump)
        self.assertEqual(self.sessions_of(**self.shifted)["work"], "running")
        other = self.serve("--session", "work")
        told = other.call_tool("bash_exec", {"command": "cat f"})
        self.assertEqual((told.data["stdout"], told.notices), ("begun\n", []))
        waits.response(10)
        self.check_ends(named, job, call)
        told = unnamed.call_tool("bash_exec", {"command": "cat g"})
        self.assertEqual((told.data["stdout"], told.notices), ("mine\n", []))
        kept.check(other)
        self.assertEqual(sorted(self.state.guests()), guests)
        self.check_a_limit(named)
        kept.use()
        self.jump()
        self.assertEqual(self.sessions_of(**self.shifted)["work"], "running")
        told = other.call_tool("bash_exec", {"command": "cat f; rm f"})
        self.assertEqual((told.data["stdout"], told.notices), ("begun\n", []))
        if self.redis:
            self.assertEqual(self.redis.say("KEYS", "berth:record:*"), "2")
        for server in (named, unnamed, other):
            self.assertEqual(server.close(), 0)

    def check_a_limit(self, server):
        """One that begins after the jump is what it says."""
        began = time.monotonic()
        result = server.call_tool("bash_exec", {"command": "sleep 30", "timeout": 1})
        self.assertTrue(result.data["timed_out"], result)
        self.assertLess(time.monotonic() - began, 10)
        self.assertGreater(time.monotonic() - began, 0.9)

    def test_the_wall_clock_jumps(self):
        for wall in (DAY, -DAY):
            with self.subTest(wall):
                self.in_the_middle(wall=wall)

    def test_the_host_was_asleep(self):
        self.in_the_middle(wall=DAY, boot=DAY)

    def test_the_host_was_asleep_while_a_machine_was_made(self):
        for number, moment in enumerate((0, 0.003, 0.006, 0.01, 0.015, 0.02)):
            with self.subTest(moment):
                self.jump()
                servers = [self.serve("--session", f"made-{number}") for _ in range(2)]
                calls = [server.call_async("bash_exec", {"command": "echo on"}) for server in servers]
                time.sleep(moment)
                self.jump(wall=DAY, boot=DAY)
                for server, call in zip(servers, calls):
                    result = call.result(20)
                    if self.redis and result.error.get("code") == "busy":
                        # By its clock it has not renewed its lock for a day: another has it by now.
                        result = server.call_tool("bash_exec", {"command": "echo on"})
                    self.assertFalse(result.is_error, result)
                    self.assertEqual((result.data["stdout"], result.notices), ("on\n", []))
                for server in servers:
                    server.close()

    def test_a_server_that_gives_up_while_its_machine_is_made(self):
        """All its patience is over at once, whatever it waits for; then another one comes."""
        pick = random.Random(f"{SEED} late")
        for number in range(24):
            moment = pick.uniform(0, 0.03)
            self.jump()
            server = self.serve("--session", f"late-{number}")
            call = server.call_async("bash_exec", {"command": "echo on"})
            time.sleep(moment)
            self.jump(monotonic=3600)
            call.response(20)
            self.jump()
            server.close()
            other = self.serve("--session", f"late-{number}")
            self.assertEqual(other.call_tool("bash_exec", {"command": "echo on"}).data["stdout"], "on\n")
            other.close()
            self.command_line("sessions", "kill", f"late-{number}", "--purge")
            self.assertEqual(self.state.wait_for_no_leaks(), [], moment)  # it would be there to the end

    def stopped_in_the_middle(self, server, count):
        """Of a save, where it holds no lock that others wait for: still taking files."""
        for _ in range(20):
            pending = saving(server, self.state)
            os.kill(server.pid, signal.SIGSTOP)
            written = len(temporary_files(self.state))
            if 0 < written < count:
                return pending
            os.kill(server.pid, signal.SIGCONT)
            self.assertFalse(pending.result(60).is_error)
        self.fail("no save was stopped in its middle")

    def test_the_wall_clock_jumps_while_another_saves(self):
        """By the clock of who clears up, it has been at it for a day."""
        count = 2000
        saver, other = self.start("--session", "work"), self.serve("--session", "other")
        saver.call_tool("bash_exec", {
            "command": f"mkdir d; for i in $(seq {count}); do head -c 10000 /dev/zero >d/f$i; done"})
        other.call_tool("bash_exec", {"command": "echo x >x"})
        self.jump(wall=DAY + 60)
        pending = self.stopped_in_the_middle(saver, count)
        try:
            told = other.call_tool("save_to_workspace", {"sandbox_path": "x"})
            self.assertFalse(told.is_error, told)
            collected = json.loads(self.command_line("sessions", "gc", "--json", env=self.shifted))
            self.assertEqual((collected["failed"], collected["swept"]["files"]), ([], 0))
        finally:
            os.kill(saver.pid, signal.SIGCONT)
        saved = pending.result(60)
        self.assertFalse(saved.is_error, saved)
        self.assertEqual(len(saved.data["files"]), count)
        self.assertEqual(temporary_files(self.state), [])

    def test_a_machine_that_is_lost_when_the_wall_clock_was_set_back(self):
        self.check_lost_when_set(-DAY)

    def test_a_machine_that_is_lost_when_the_wall_clock_was_set_forward(self):
        self.check_lost_when_set(DAY)

    def check_lost_when_set(self, wall):
        server = self.serve("--session", "lost")
        server.call_tool("bash_exec", {"command": "true"})
        (guest,) = self.state.guests()
        self.jump(wall=wall)
        os.kill(guest, signal.SIGKILL)
        self.wait_until(lambda: not self.state.guests(), 5, "its end")
        # Its memory goes before its socket: for a moment it looks alive.
        self.wait_until(lambda: self.sessions_of(**self.shifted)["lost"] == "lost", 5, "that it is lost")
        (told,) = server.call_tool("bash_exec", {"command": "true"}).notices
        self.assertTrue(told.startswith("the sandbox was lost;"), told)


class StoppedTest(Clocks):
    """All processes of a session and its server stand still, as those of a container that is paused,
    or of a host that sleeps, for all that they can tell but from the clocks."""

    def stop(self, seconds):
        processes = list(self.state.processes())
        for number, pause in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0)):
            for pid in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(pause)

    def test_a_session_that_was_stopped_with_its_server(self):
        server = self.start("--session", "work", env={"BERTH_SESSION_IDLE_PAUSE": "300ms"})
        server.call_tool("bash_exec", {"command": "true"})
        guests = self.state.guests()
        for seconds in (0.5, 3):
            with self.subTest(seconds):
                job, call = self.begin(server)
                self.stop(seconds)
                self.check_ends(server, job, call)
                told = server.call_tool("bash_exec", {"command": "cat f; rm f"})
                self.assertEqual((told.data["stdout"], told.notices), ("begun\n", []))
                self.assertEqual(self.state.guests(), guests)
