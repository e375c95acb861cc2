"""bash_exec: what it runs, how it stops, what it leaves."""

import time

from suite import ParityTest

# Each holds on in another way: deaf to TERM, orphaned, in a session of its own, stopped, or from
# the background with the output pipe open.
STUBBORN = {
    "ignores TERM": "trap '' TERM INT HUP; while :; do sleep 1; done",
    "double fork": "( ( sleep 300 & ) & ); sleep 300",
    "setsid": "setsid sleep 300 & setsid sh -c \"trap '' TERM; sleep 300\" & sleep 300",
    "stops itself": "kill -STOP $$",
    "background child holds the pipe": "sleep 300 & sleep 300",
}


class CommandsTest(ParityTest):
    def test_outcomes(self):
        for command, out, err, code in (
                ("echo hi", "hi\n", "", 0), ("echo e >&2; exit 3", "", "e\n", 3),
                ("true", "", "", 0), ("kill -9 $$", "", "", 137),
                ("no-such-command-here", "", None, 127), ("cat", "", "", 0)):
            with self.subTest(command):
                data = self.run_command(command).data
                self.assertEqual((data["stdout"], data["exit_code"]), (out, code))
                if err is not None:
                    self.assertEqual(data["stderr"], err)

    def test_arguments(self):
        data = self.run_command("echo $A; pwd; cat", env={"A": "b c"}, workdir="/tmp",
                                stdin="in\n").data
        self.assertEqual(data["stdout"], "b c\n/tmp\nin\n")
        self.assertNotEqual(self.run_command("pwd").data["stdout"], "/tmp\n")

    def test_the_working_directory_stays(self):
        self.run_command("mkdir -p sub/dir && cd sub")
        self.assertEqual(self.run_command("cd dir; basename $PWD").data["stdout"], "dir\n")
        self.assertTrue(self.run_command("pwd").data["stdout"].endswith("/sub/dir\n"))

    def test_errors(self):
        self.refused("empty_command", "bash_exec", command="  ")
        self.refused("invalid_argument", "bash_exec", command="true", timeout=0)
        self.refused("invalid_argument", "bash_exec", command="true", no_such_key=1)
        result = self.refused("invalid_argument", "bash_exec", command="true", timeout=120000)
        self.assertIn("120 s", str(result.error))

    def test_a_stopped_command_is_gone_and_nothing_else_is_touched(self):
        for name, command in STUBBORN.items():
            with self.subTest(name):
                self.run_command("sleep 400 >/dev/null 2>&1 & echo $! >job")
                others = [self.berth.call_async("bash_exec", {
                    "command": f"sleep 5; echo other {n}"}) for n in range(2)]
                begin = time.monotonic()
                data = self.run_command(f"echo before; {command}", timeout=1).data
                self.assertLess(time.monotonic() - begin, 3.5)
                self.assertEqual((data["fate"], data["timed_out"], data["exit_code"]),
                                 ("timed_out", True, -1))
                self.assertTrue(data["stdout"].startswith("before\n"))
                self.assertEqual(data["survivors"], 0)
                # The brackets keep the pattern from matching the command that looks.
                self.assertEqual(self.run_command("pgrep -fc 'sleep [3]00'").data["stdout"], "0\n")
                for n, other in enumerate(others):
                    self.assertEqual(other.result().data["stdout"], f"other {n}\n")
                self.run_command("kill -0 $(cat job) && kill $(cat job)")

    def test_a_server_left_behind_answers_the_next_call(self):
        begin = time.monotonic()
        data = self.run_command("python3 -m http.server 8765 --bind 127.0.0.1 >log 2>&1 & "
                                "sleep 0.5; curl -sf http://127.0.0.1:8765/ | head -c 9").data
        self.assertLess(time.monotonic() - begin, 10)
        self.assertIn("<!DOCTYPE", data["stdout"])
        self.assertTrue(data["job_id"])
        again = self.run_command("curl -sf http://127.0.0.1:8765/ | head -c 9; pkill -f 8765")
        self.assertIn("<!DOCTYPE", again.data["stdout"])

    def test_endless_output_costs_no_memory(self):
        self.run_command("true")
        before = self.berth.resident_kilobytes()
        for command in ("yes", "cat /dev/zero", "cat /dev/urandom",
                        "while :; do printf x; sleep 1; done"):
            with self.subTest(command):
                result = self.run_command(command, timeout=2)
                self.assertEqual(result.data["fate"], "timed_out")
                self.assertLess(len(result.text), 40_000)
        self.assertLess(self.berth.resident_kilobytes() - before, 32_000)

    def test_totals_and_the_spill_are_right(self):
        data = self.run_command("seq 200000").data
        stream = data["stdout_stream"]
        self.assertEqual((stream["total_lines"], stream["total_bytes"]), (200000, 1288895))
        page = self.call("read_file", path=stream["spill_path"], offset=99999, limit=1)
        self.assertIn("100000", page.text)

    def test_a_cancelled_call_is_not_answered(self):
        pending = self.berth.call_async("bash_exec", {"command": "echo $$ >pid; sleep 300"})
        time.sleep(1)
        self.berth.cancel(pending)
        time.sleep(2)
        self.assertFalse(pending.answered())
        self.assertEqual(self.run_command("kill -0 $(cat pid) 2>&1 | wc -l").data["stdout"], "1\n")
