"""What is stopped is gone, all of it, and nothing else of the session is touched."""

import time

from suite import ParityTest

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
GONE_WITHIN = 2
BUSY_HOST = 3  # what a loaded machine may add before a call is even looked at


class StoppingTest(ParityTest):
    environment = {"BERTH_SESSION_CALLS": "16"}

    def setUp(self):
        super().setUp()
        # What must not notice anything: a job, and two commands.
        self.job = self.output("sleep 400 >/dev/null 2>&1 & echo $!").strip()
        self.others = [self.berth.call_async("bash_exec", {
            "command": "for i in $(seq 25); do echo $i; sleep 0.2; done"}) for _ in range(2)]

    def start_stubborn(self, timeout):
        return {name: self.berth.call_async("bash_exec", {
            "command": f"echo before; {command}", "timeout": timeout,
            "env": {"BERTH_TEST_MARK": f"stubborn {name}"}}) for name, command in STUBBORN.items()}

    def marked(self):
        """The names of those of which a process is left."""
        # Of a process that ends meanwhile nothing can be read.
        return self.run_command("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | "
                                "sed -n 's/^BERTH_TEST_MARK=stubborn //p' | sort -u"
                                ).data["stdout"].splitlines()

    def check_gone(self, since):
        while left := self.marked():
            self.assertLess(time.monotonic() - since, GONE_WITHIN + BUSY_HOST, left)

    def check_untouched(self):
        for other in self.others:
            data = other.result().data
            self.assertEqual((data["stdout"], data["fate"]),
                             ("".join(f"{n}\n" for n in range(1, 26)), "exited"))
        jobs = self.call("session_info").data["jobs"]
        self.assertEqual([job["processes"] for job in jobs], [1], jobs)
        self.assertEqual(self.output(f"kill -0 {self.job} && kill {self.job} && echo ok"), "ok\n")

    def test_at_the_timeout(self):
        begin = time.monotonic()
        for name, call in self.start_stubborn(timeout=1).items():
            data = call.result().data
            with self.subTest(name):
                self.assertEqual((data["fate"], data["timed_out"], data["exit_code"]),
                                 ("timed_out", True, -1))
                self.assertTrue(data["stdout"].startswith("before\n"), data)
                self.assertEqual(data["survivors"], 0)
                self.assertIn(data["stop_verified_by"], ("cgroup", "subreaper"))
                self.assertEqual(data["job_id"], "")
        self.check_gone(begin + 1)
        self.check_untouched()

    def test_when_cancelled(self):
        calls = self.start_stubborn(timeout=300)
        self.wait_until(lambda: set(self.marked()) == set(STUBBORN), 15, "all have started")
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
        for other in self.others:
            self.assertEqual(other.result().data["fate"], "exited")


class LeftRunningTest(ParityTest):
    def test_a_server_left_behind_answers_the_next_call(self):
        begin = time.monotonic()
        data = self.run_command(
            "python3 -m http.server 8765 --bind 127.0.0.1 >log 2>&1 & "
            "curl -sf --retry 50 --retry-delay 0 --retry-connrefused "
            "http://127.0.0.1:8765/ | head -c 9").data
        self.assertLess(time.monotonic() - begin, 15)
        self.assertIn("<!DOCTYPE", data["stdout"])
        self.assertTrue(data["job_id"])
        again = self.run_command("curl -sf http://127.0.0.1:8765/ | head -c 9").data
        self.assertIn("<!DOCTYPE", again["stdout"])
        self.assertEqual(again["job_id"], "")
        pid = data["left_running"][0]["pid"]
        self.output(f"kill {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.05; done")
        self.assertEqual(self.call("session_info").data["jobs"], [])
