"""What is stopped is gone, all of it, and nothing else of the session is touched."""

import contextlib
import itertools
import os
import time

from host import proof_of_a_stop
from suite import ParityTest, backend

# Each holds on in another way.
STUBBORN = {
    "ignores TERM": "trap '' TERM INT HUP QUIT; while :; do sleep 1; done",
    "double fork": "( ( sleep 300 & ) & ); sleep 300",
    "setsid": "setsid sleep 300 & setsid sh -c \"trap '' TERM; sleep 300\" & sleep 300",
    "stops itself": "sleep 300 & kill -STOP $$",
    "kills its shim": "setsid sleep 300 & (sleep 300 &); kill -9 $PPID; sleep 300",
    "holds the pipe": "sleep 300 & (exec sleep 300) & sleep 300",
    "starts itself anew": "again() { sleep 0.1; again & }; again & sleep 300",
}
# Alone: that the shims of two are killed leaves it open whose what went to a session of its own is.
FORKS_ON = """python3 - <<'END' &
import os, signal, time
for number in set(range(1, signal.SIGSYS + 1)) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
open("storming", "w").close()
end = time.monotonic() + 40
if all(os.fork() for _ in range(8)):
    os._exit(0)
while time.monotonic() < end:
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
    except OSError:
        time.sleep(0.001)  # no process is left
END
until [ -e storming ]; do sleep 0.05; done; kill -9 $PPID; : >alone; sleep 300"""
GONE_WITHIN = 2
SERIAL = itertools.count()


class StoppingTest(ParityTest):
    environment = {"BERTH_SESSION_CALLS": "16", "BERTH_LOCAL_PIDS": "400"}

    def setUp(self):
        super().setUp()
        self.mark = f"{os.getpid()}-{next(SERIAL)}"
        # What must not notice anything: a job, and two commands.
        self.job = self.output("sleep 400 >/dev/null 2>&1 & echo $!").strip()
        # They need no process: of a busy host's storm, whose ended ones its guest has not reaped yet,
        # none may be left, and a bash that gets none ends.
        self.others = [self.berth.call_async("bash_exec", {
            "command": "exec 3<> <(:); i=0; until [ -e ~/stopped ]; do echo $((++i)); "
                       "read -rt 0.2 -u 3; done; echo end"})
                       for _ in range(2)]

    def waited(self):
        """Seconds for which a busy host has let the guest wait for a processor."""
        waited = 0
        for guest in self.living_guests():
            with contextlib.suppress(OSError), open(f"/proc/{guest}/schedstat", encoding="ascii") as file:
                waited += int(file.read().split()[1]) / 1e9
        return waited

    def start_stubborn(self, timeout, commands=None):
        self.waited_before = self.waited()
        return {name: self.berth.call_async("bash_exec", {
            "command": f"echo before; {command}", "timeout": timeout,
            "env": {"BERTH_TEST_MARK": f"{self.mark} {name}"}})
            for name, command in (commands or STUBBORN).items()}

    def marked(self):
        """The names of those of which a process is left. Looked for from the host: a call would take
        its turn in the very server that is watched."""
        begin = f"BERTH_TEST_MARK={self.mark} ".encode()
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    found.update(entry[len(begin):].decode() for entry in file.read().split(b"\0")
                                 if entry.startswith(begin))
            except OSError:
                pass  # ended meanwhile, or of another user
        return found

    def check_gone(self, since):
        """Only what is seen by a look that began after the two seconds has outlived them: a host that
        is too busy to look in time proves nothing."""
        while True:
            late = time.monotonic() - since > GONE_WITHIN
            left = self.marked()
            if not left:
                return
            self.assertFalse(late, f"after {GONE_WITHIN} s there is still something of {left}")

    def check_untouched(self):
        self.check_others()
        jobs = self.call("session_info").data["jobs"]
        self.assertEqual([job["processes"] for job in jobs], [1], jobs)
        self.assertEqual(self.output(f"kill -0 {self.job} && kill {self.job} && echo ok"), "ok\n")

    def check_others(self):
        """They run until now, and have printed each of their lines."""
        self.assertEqual([other.answered() for other in self.others], [False, False])
        self.output("touch ~/stopped")
        for other in self.others:
            data = other.result().data
            lines = data["stdout"].split()
            self.assertEqual((lines, data["fate"]),
                             ([*map(str, range(1, len(lines))), "end"], "exited"))

    def test_at_the_timeout(self):
        for name, call in self.start_stubborn(timeout=2).items():
            with self.subTest(name):
                self.check_timed_out(name, call.result().data, 2)
        self.check_untouched()

    def check_timed_out(self, name, data, timeout):
        self.assertEqual((data["fate"], data["timed_out"], data["exit_code"]),
                         ("timed_out", True, -1))
        self.assertTrue(data["stdout"].startswith("before\n"), data)
        # The sandbox's own clock: how long the call then waits for its client is not it.
        late = self.waited() - self.waited_before
        self.assertLessEqual(data["duration_ms"], (timeout + GONE_WITHIN + late) * 1000)
        self.assertEqual(data["survivors"], 0)
        self.assertNotIn(name, self.marked())  # as it is answered, not soon after
        self.assertEqual(data["stop_verified_by"], proof_of_a_stop(backend()))
        self.assertEqual(data["job_id"], "")

    def start_storm(self, timeout):
        storm = self.start_stubborn(timeout, {"forks on": FORKS_ON})["forks on"]
        self.wait_until(lambda: storm.answered() or not self.berth.call_tool(
            "read_file", {"path": "alone"}).is_error, 30, "it storms")
        return storm

    def test_kills_its_shim_and_forks_on(self):
        came = False
        for timeout in (3, 15):  # a host that is too busy for the short one proves nothing
            self.output("rm -f alone storming")
            storm = self.start_storm(timeout)
            for _ in range(5):  # nobody waits for it
                self.output("true")
                self.output("echo on")
                self.call("session_info")
                came = came or not storm.answered()
            self.check_timed_out("forks on", storm.result().data, timeout)
            if came:
                break
        self.assertTrue(came, "the other calls came while it stormed")
        self.check_untouched()

    def test_kills_its_shim_and_forks_on_when_cancelled(self):
        storm = self.start_storm(timeout=300)
        time.sleep(0.5)
        begin = time.monotonic()
        self.berth.cancel(storm)
        self.check_gone(begin)
        self.check_untouched()

    def test_when_cancelled(self):
        calls = self.start_stubborn(timeout=300)
        self.wait_until(lambda: self.marked() == set(STUBBORN), 15, "all have started")
        time.sleep(0.5)  # for them to get into their position
        begin = time.monotonic()
        for call in calls.values():
            self.berth.cancel(call)
        self.check_gone(begin)
        self.check_untouched()
        self.assertEqual([name for name, call in calls.items() if call.answered()], [])

    def test_leftovers_of_a_command_that_ended_are_kept(self):
        begin = time.monotonic()
        data = self.run_command("sleep 300 & echo started").data
        self.assertLess(time.monotonic() - begin, 2)
        self.assertEqual((data["stdout"], data["fate"]), ("started\n", "exited"))
        self.assertTrue(data["job_id"])
        self.assertEqual([process["name"] for process in data["left_running"]], ["sleep 300"])
        self.output(f"kill -0 {data['left_running'][0]['pid']}")
        self.check_untouched_but(data["job_id"])

    def check_untouched_but(self, job_id):
        self.assertIn(job_id, [job["job_id"] for job in self.call("session_info").data["jobs"]])
        self.check_others()


class LeftRunningTest(ParityTest):
    def test_what_a_cancelled_call_began_is_ended_however_late_the_cancellation(self):
        self.output("true")
        for step in range(36):
            background = step % 3 == 0
            call = self.berth.call_async("bash_exec", {
                "command": f"sleep 333{'' if background else ' & echo x'}", "background": background})
            time.sleep(step * 0.0025)
            self.berth.cancel(call)
            self.call("session_info")
            if call.answered():  # before the cancellation: it is known
                self.call("bash_kill", job_id=call.result().data["job_id"], signal="KILL")
        self.wait_until(lambda: self.run_command("pgrep -fx 'sleep 333'").data["exit_code"] == 1, 5,
                        "nothing runs that nobody knows of")
        running = [job for job in self.call("session_info").data["jobs"] if job["status"] == "running"]
        self.assertEqual(running, [])

    def test_a_server_left_behind_answers_the_next_call(self):
        begin = time.monotonic()
        data = self.run_command(
            "python3 -m http.server 8765 --bind 127.0.0.1 >log 2>&1 & sleep 0.2; "
            "until curl -sf http://127.0.0.1:8765/; do sleep 0.02; done | head -c 9").data
        # As soon as the shell ends, though the server does not.
        self.assertLess(time.monotonic() - begin, 3)
        self.assertEqual([process["name"].split()[0] for process in data["left_running"]],
                         ["python3"], data)
        self.assertIn("<!DOCTYPE", data["stdout"])
        self.assertTrue(data["job_id"])
        again = self.run_command("curl -sf http://127.0.0.1:8765/ | head -c 9").data
        self.assertIn("<!DOCTYPE", again["stdout"])
        self.assertEqual(again["job_id"], "")
        pid = data["left_running"][0]["pid"]
        self.output(f"kill {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.05; done")
        self.wait_until(lambda: self.call("session_info").data["jobs"] == [], 2, "no job is left")
