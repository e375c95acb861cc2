"""As AutoGPT has it: at the end of each turn the sandbox sleeps, and the next turn is another server's, on
another host, which finds it through Redis."""

import e2b
from suite import e2b_only
from two_hosts import TwoHostsTest

COUNTS = "n=0; while :; do echo $((n += 1)); sleep 0.02; done"
ANSWERS = 'while read -r line; do echo "<$line>"; done'
TURNS = 6


@e2b_only
class TurnsTest(TwoHostsTest):
    def said(self, server, tool, **arguments):
        """The result of a call that must work, and with which nothing is said to be lost."""
        result = server.call_tool(tool, arguments)
        self.assertFalse(result.is_error, result)
        self.assertEqual(result.notices, [])
        return result.data

    def ran(self, server, command, **arguments):
        data = self.said(server, "bash_exec", command=command, **arguments)
        self.assertEqual(data["exit_code"], 0, data)
        return data["stdout"]

    def check_asleep(self, host):
        self.assertTrue(self.sleeps())
        self.assertEqual(self.listed(host), [(self.box(), "paused")])
        self.assertTrue(self.sleeps(), "the list woke it")

    def test_files_jobs_and_their_cursors_go_from_host_to_host(self):
        server = self.on(0)
        jobs = [self.said(server, "bash_exec", command=command, background=True, stdin_open=True)["job_id"]
                for command in (COUNTS, ANSWERS)]
        self.said(server, "write_file", path="state", content="turn -1\n")
        cursors, counted = [None, None], ""
        for turn in range(TURNS):
            with self.subTest(turn):
                self.check_files(server, turn)
                cursors[0], piece = self.next_of(server, jobs[0], cursors[0])
                counted += piece
                self.said(server, "bash_input", job_id=jobs[1], input=f"{turn}\n")
                cursors[1], piece = self.next_of(server, jobs[1], cursors[1])
                self.assertEqual(piece, f"<{turn}>\n")
                listed = self.said(server, "session_info")["jobs"]
                self.assertEqual({job["job_id"] for job in listed}, set(jobs))
                server.close()
                self.check_asleep(host=(turn + 1) % 2)
                server = self.on((turn + 1) % 2)
        self.check_the_end(server, jobs, counted)

    def check_files(self, server, turn):
        self.assertEqual(self.ran(server, f"pwd; mkdir ~/{turn}; cd ~/{turn}"),
                         f"/home/user/{turn - 1}\n" if turn else "/home/user\n")
        self.said(server, "edit_file", path="~/state", old_text=f"turn {turn - 1}", new_text=f"turn {turn}")
        self.assertEqual(self.said(server, "read_file", path="~/state")["content"], f"turn {turn}\n")
        folders = self.said(server, "glob_files", pattern="~/state")
        self.assertEqual(folders["paths"], ["/home/user/state"])

    def next_of(self, server, job, cursor):
        """(cursor, what it printed since), and the same for the same cursor again."""
        since = {"since": cursor} if cursor else {}
        first = self.said(server, "bash_output", job_id=job, wait=10, **since)
        self.assertNotEqual(first["stdout"], "")
        again = self.said(server, "bash_output", job_id=job, **since)
        self.assertTrue(again["stdout"].startswith(first["stdout"]), (first, again))
        return first["cursor"], first["stdout"]

    def check_the_end(self, server, jobs, counted):
        lines = counted.split()
        self.assertEqual(lines, [str(n) for n in range(1, len(lines) + 1)])
        self.assertGreater(len(lines), TURNS)
        for job in jobs:
            self.assertEqual(self.said(server, "bash_kill", job_id=job, signal="KILL")["survivors"], 0)
        self.assertEqual(self.ran(server, "ls ~"), "".join(f"{turn}\n" for turn in range(TURNS)) + "state\n")
        self.assertEqual(self.boxes_made(), 1)

    def test_two_turns_at_once_are_both_right_and_have_one_box(self):
        servers = [self.on(0), self.on(1)]
        calls = {f"{n % 2}-{n}": servers[n % 2].call_async("bash_exec", {
            "command": f"echo {n % 2}-{n} | tee -a log; sleep 0.2"}) for n in range(8)}
        for name, call in calls.items():
            result = call.result()
            self.assertFalse(result.is_error, result)
            self.assertEqual((result.data["stdout"], result.notices), (f"{name}\n", []))
        self.assertEqual(self.ran(servers[0], "sort log"), "".join(f"{name}\n" for name in sorted(calls)))
        self.assertEqual(self.boxes_made(), 1)
        self.assertEqual(self.listed(0), self.listed(1))

    def test_the_end_of_one_turn_does_not_cut_off_the_other(self):
        first, second = self.on(0), self.on(1)
        self.ran(first, "true")
        long = second.call_async("bash_exec", {"command": "echo >begun; sleep 2; echo whole"})
        self.wait_until(lambda: self.ran(first, "cat begun 2>&1 || :") == "\n", 20, "its beginning")
        first.close()
        self.assertFalse(self.sleeps())
        result = long.result()
        self.assertEqual((result.data.get("stdout"), result.notices), ("whole\n", []), result)
        self.assertFalse(self.sleeps())
        second.close()
        self.check_asleep(host=0)

    def test_redis_is_away_at_the_end_of_a_turn(self):
        server = self.on(0)
        self.ran(server, "echo kept >file")
        self.redis.kill()
        self.assertEqual(self.ran(server, "cat file"), "kept\n")  # it needs no books
        server.close()
        self.assertTrue(self.sleeps())
        self.redis.start()
        self.redis.settle()
        self.assertEqual(self.ran(self.on(1), "cat file"), "kept\n")
        self.assertEqual(self.boxes_made(), 1)

    def test_redis_comes_back_empty_in_the_middle_of_a_turn(self):
        server = self.on(0)
        self.ran(server, "echo kept >file")
        self.redis.say("FLUSHALL")
        self.redis.kill()
        self.redis.start()
        self.wait_until(lambda: self.redis.say("KEYS", "berth:record:*") == "1", 20, "it is written again")
        self.redis.settle()
        server.close()
        self.assertTrue(self.sleeps())
        self.assertEqual(self.ran(self.on(1), "cat file"), "kept\n")
        self.assertEqual(self.boxes_made(), 1)

    def test_a_box_that_is_gone_at_the_next_turn_is_told_there_and_replaced_once(self):
        server = self.on(0)
        self.ran(server, "echo lost >file")
        server.close()
        e2b.emulator().do(self.box(), "vanish")
        servers = [self.on(0), self.on(1)]
        calls = [server.call_async("bash_exec", {"command": "ls; echo x >>~/log"}) for server in servers]
        told = 0
        for call in calls:
            result = call.result()
            self.assertFalse(result.is_error, result)
            self.assertNotIn("file", result.data["stdout"])
            told += "a fresh one is in use" in "".join(result.notices)
        self.assertGreater(told, 0)  # by one of them, or by both: two hosts share no lock
        for server in servers:
            self.said(server, "session_info")  # so that it knows that the one before was read
            server.close()
        self.assertEqual(self.ran(self.on(1), "cat log"), "x\nx\n")  # and nothing is told again
        self.assertEqual(self.boxes_made(), 2)
