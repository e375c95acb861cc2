"""Many calls of one session at once: slow ones hold no fast one, and large ones cost nobody anything."""

import hashlib
import time

from suite import ParityTest

MEBIBYTE = 1024 * 1024
SEARCHES = 16
# Takes minutes in what the command makes: every search runs as long as it may.
HARD = {"path": "hard", "pattern": "[ab]*a[ab]{500}c"}
MAKE_HARD = ("python3 -c \"import random; random.seed(1); print('\\n'.join("
             "''.join(random.choices('ab', k=1000)) for _ in range(30_000)))\" >hard")


class CrowdsTest(ParityTest):
    environment = {"BERTH_SEARCH_TIME": "30s"}

    def setUp(self):
        super().setUp()
        self.output(MAKE_HARD)
        self.searches = []

    def search(self, number):
        self.searches += [self.berth.call_async("grep_files", HARD) for _ in range(number)]
        time.sleep(0.5)

    def cancel_searches(self):
        for search in self.searches:
            if not search.answered():
                self.berth.cancel(search)

    def test_slow_searches_hold_no_other_call(self):
        self.call("write_file", path="small", content="abc")
        self.search(SEARCHES)
        began = time.monotonic()
        self.assertEqual(self.call("read_file", path="small").data["content"].strip(), "abc")
        self.call("write_file", path="other", content="1\n")
        self.call("edit_file", path="other", old_text="1", new_text="2")
        took = time.monotonic() - began
        running = sum(not search.answered() for search in self.searches)
        self.cancel_searches()
        self.assertGreater(running, SEARCHES // 2, "the searches are too fast for this test")
        self.assertLess(took, 15)  # half of what each search takes

    def test_a_command_with_much_input_holds_no_large_write(self):
        content = "0123456789abcdef" * (20 * MEBIBYTE // 16)
        commands = [self.berth.call_async("bash_exec", {
            "command": f"touch begun{number}; sleep 100", "stdin": content, "timeout": 100})
            for number in range(2)]
        self.wait_until(lambda: self.call("glob_files", pattern="begun*").data["total"] == 2, 30,
                        "both run")
        write = self.berth.call_async("write_file", {"path": "large", "content": content})
        self.assertEqual(write.result(30).data["size_bytes"], len(content))
        for command in commands:
            self.assertFalse(command.answered())
            self.berth.cancel(command)

    def test_the_process_that_waits_for_a_command_keeps_nothing_of_its_input(self):
        """It is a copy of the guest; what it kept would be charged to the guest for its life. It gives
        that back once the command has begun, which on a busy host may be over before it has."""
        told = self.output("cat >/dev/null; for i in $(seq 100); do "
                           "set -- $(grep RssAnon /proc/$PPID/status); [ $2 -ge 2048 ] || break; "
                           "sleep 0.1; done; echo $2",
                           stdin="0123456789abcdef" * (20 * MEBIBYTE // 16))
        self.assertLess(int(told), 2048, told)  # kB

    def test_large_writes_beside_searches_lose_nothing(self):
        content = "0123456789abcdef" * (31 * MEBIBYTE // 16)
        digest = hashlib.sha256(content.encode()).hexdigest()
        self.search(SEARCHES)
        writes = [self.berth.call_async("write_file", {"path": f"large{number}", "content": content})
                  for number in range(8)]
        lost = []
        for write in writes:
            result = write.result(120)
            if result.is_error or result.data["sha256"] != digest:
                lost.append(result.error)
        failed = [search.result().error for search in self.searches if search.answered()]
        lost += [error for error in failed if error]
        self.cancel_searches()
        self.assertEqual(lost, [])
        self.assertEqual(self.output("cat large* | wc -c").strip(), str(8 * len(content)))
