"""Output: bounded memory whatever a command prints, right totals, and the whole of it in a file."""

import base64
import json

from suite import ParityTest, peak_kilobytes

MEBIBYTE = 1024 * 1024


class OutputTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.output("true")
        guests = self.state.guests()
        self.assertEqual(len(guests), 1)
        self.guest = guests[0]

    def check_memory(self, before):
        """At any time, not only after. Measured: the server grows by 0.8 MB, to 10.6; the guest
        never has more than 2.9 MB, of which 0.4 are not its program."""
        self.assertLess(peak_kilobytes(self.berth.pid) - before, 4_000)
        self.assertLess(peak_kilobytes(self.guest), 4_096)

    def memory(self):
        return peak_kilobytes(self.berth.pid)

    def test_endless_output_costs_no_memory(self):
        before = self.memory()
        for command in ("yes", "cat /dev/zero", "cat /dev/urandom", "yes >&2"):
            with self.subTest(command):
                result = self.run_command(command, timeout=1)
                self.assertEqual(result.data["fate"], "timed_out")
                streams = (result.data["stdout_stream"], result.data["stderr_stream"])
                total = sum(stream["total_bytes"] for stream in streams)
                self.assertGreater(total, MEBIBYTE)
                for stream in streams:
                    self.assertEqual(stream["spill_bytes"],
                                     min(stream["total_bytes"], 64 * MEBIBYTE))
                # What is binary is escaped in JSON: count what the model is shown.
                self.assertLess(len(result.text), 31_000)
                self.check_memory(before)

    def test_totals_are_right_and_the_spill_can_be_paged(self):
        before = self.memory()
        stream = self.run_command("seq 3000000").data["stdout_stream"]
        self.assertEqual((stream["total_lines"], stream["total_bytes"], stream["spill_bytes"]),
                         (3_000_000, 22_888_896, 22_888_896))
        page = self.call("read_file", path=stream["spill_path"], offset=2_000_000, limit=2).data
        self.assertEqual(page["content"], "2000001\n2000002\n")
        self.assertEqual(page["total_lines"], 3_000_000)
        self.check_memory(before)

    def test_head_and_tail_are_shown(self):
        data = self.run_command("echo first; yes middle | head -c 5000000; echo; echo last").data
        self.assertTrue(data["stdout"].startswith("first\nmiddle\n"))
        self.assertTrue(data["stdout"].endswith("\nlast\n"))
        self.assertTrue(data["stdout_truncated"])
        self.assertEqual(data["stdout_stream"]["total_bytes"], 5_000_012)

    def test_one_endless_line(self):
        before = self.memory()
        data = self.run_command("head -c 40000000 /dev/zero | tr '\\0' x").data
        stream = data["stdout_stream"]
        self.assertEqual((stream["total_bytes"], stream["spill_bytes"]), (40_000_000, 40_000_000))
        self.assertLess(len(data["stdout"]), 31_000)
        page = self.call("read_file", path=stream["spill_path"]).data
        self.assertEqual(page["truncated_by"], "line")
        self.assertEqual(page["size_bytes"], 40_000_000)
        self.check_memory(before)

    def test_binary_output(self):
        data = self.run_command("head -c 200000 /dev/urandom | tee f").data
        self.assertEqual(data["stdout_stream"]["total_bytes"], 200_000)
        json.dumps(data["stdout"]).encode()  # has no lone surrogates
        spill = data["stdout_stream"]["spill_path"]
        self.output(f"cmp f '{spill}'")

    def test_small_binary_output_is_in_a_file_too_when_it_is_changed(self):
        raw = b"\xff\xfea\x00\x80"
        data = self.run_command(f"echo {base64.b64encode(raw).decode()} | base64 -d").data
        self.assertEqual(data["stdout_stream"]["total_bytes"], len(raw))
        self.assertIn("a\0", data["stdout"])

    def test_a_byte_a_second(self):
        data = self.run_command("for i in 1 2 3; do printf $i; sleep 1; done", timeout=20).data
        self.assertEqual((data["stdout"], data["fate"]), ("123", "exited"))
        data = self.run_command("while :; do printf x; sleep 1; done", timeout=2).data
        self.assertIn(data["stdout"], ("x", "xx", "xxx"))
        self.assertEqual(data["fate"], "timed_out")

    def test_both_streams_share_the_budget(self):
        data = self.run_command("yes out | head -c 1000000; yes err | head -c 1000000 >&2").data
        self.assertGreater(len(data["stderr"]), 30_000 // 4 - 100)
        self.assertLess(len(data["stdout"]) + len(data["stderr"]), 31_000)
