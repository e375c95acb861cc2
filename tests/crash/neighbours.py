"""Two servers of one session: one that leaves in the middle of the other's call takes nothing with it.
And an unnamed session, which ends with the only server that it has."""

import json
import random
import signal
import time

from base import CrashTest
from settings import SEED, told
from suite import ParityTest

WAYS = {"end of file": lambda server: server.close(),
        "SIGTERM": lambda server: (server.signal(signal.SIGTERM), server.wait()),
        "SIGKILL": lambda server: server.kill()}


class NeighboursTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.berth.close()

    def state_of(self, session):
        return {found["session"]: found["state"] for found in self.sessions()}[session]

    def pair(self, session, policy):
        env = {"BERTH_SESSION_ON_DISCONNECT": policy, "BERTH_SESSION_IDLE_PAUSE": "60s"}
        servers = [self.start("--session", session, env=env) for _ in range(2)]
        for server in servers:
            server.call_tool("bash_exec", {"command": "true"})
        return servers

    def leave_in_the_middle(self, session, policy, way):
        """The other one's call and job go on, and come to what they come to without anybody leaving."""
        leaving, staying = self.pair(session, policy)
        (guest,) = self.state.guests()
        staying.call_tool("bash_exec", {"command": "mkfifo gate"})
        job = staying.call_tool("bash_exec", {
            "command": "until [ -e stop ]; do echo on; sleep 0.1; done; exit 5",
            "background": True}).data["job_id"]
        call = staying.call_async("bash_exec", {"command": "echo begun >f; read line <gate; echo ended; exit 3"})
        leaving.call_async("bash_exec", {"command": "echo once >>log; sleep 0.4; exit 4"})
        self.wait_until(lambda: leaving.call_tool("bash_exec", {"command": "cat f log || true"})
                        .data["stdout"] == "begun\nonce\n", 10, "the commands began")
        WAYS[way](leaving)
        time.sleep(1.2)  # longer than a server is waited for that has left
        self.assertEqual(self.state_of(session), "running")
        self.assertFalse(call.answered())
        told = staying.call_tool("bash_exec", {"command": "touch stop; echo >gate; cat log"})
        self.assertEqual(told.data["stdout"], "once\n")
        result = call.result(10)
        self.assertEqual((result.data["stdout"], result.data["exit_code"], result.data["fate"]),
                         ("ended\n", 3, "exited"))
        output = staying.call_tool("bash_output", {"job_id": job, "wait": 10, "filter": "none"})
        # Once, of what the other one had asked for; one that ends by itself may have had its answer.
        # That of a look may be told too: it was read, and the server killed before it knew.
        notices = [notice for notice in told.notices + result.notices + output.notices
                   if "`cat f log" not in notice]
        self.assertLessEqual(len(notices), 1, notices)
        self.assertTrue(all("`echo once >>log" in notice for notice in notices), notices)
        if way == "SIGKILL":
            self.assertEqual(len(notices), 1)
        data = output.data
        self.assertEqual((data["status"], data["exit_code"], data["ended_by"]), ("ended", 5, ""), data)
        self.assertEqual(self.state.guests(), [guest])
        return staying

    def check(self, policy, state, ways):
        for number, (way, last) in enumerate(zip(ways, reversed(ways))):
            with self.subTest(way):
                session = f"{policy}-{number}"
                staying = self.leave_in_the_middle(session, policy, way)
                WAYS[last](staying)
                if state == "running":
                    time.sleep(1.5)
                self.wait_until(lambda session=session: self.state_of(session) == state, 10,
                                f"{state} when the last one has left by {last}")
                self.command_line("sessions", "kill", session, "--purge")
                self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_kill(self):
        self.check("kill", "ended", list(WAYS))

    def test_now(self):
        self.check("now", "paused", ["SIGKILL"])

    def test_idle(self):
        self.check("idle", "paused", ["end of file"])

    def test_keep(self):
        self.check("keep", "running", ["SIGTERM"])


class UnnamedTest(CrashTest):
    """However far it had come, and wherever its books are."""

    def is_collected(self):
        """What a collection calls complete leaves nothing."""
        told = json.loads(self.command_line("sessions", "gc", "--json"))
        left = self.sessions()
        self.assertFalse(told["complete"] and left, (told, left))
        return not left

    def test_one_whose_server_is_killed(self):
        self.berth.close()
        pick = random.Random(f"{SEED} unnamed")
        slowest = 0.0
        moments = [0.0] + [pick.uniform(0, 0.06) for _ in range(5)] + [0.5] * 4
        for moment in moments:
            with self.subTest(moment):
                unnamed = self.start()
                unnamed.call_async("bash_exec", {"command": "setsid sleep 300 >/dev/null 2>&1 & "
                                                            "trap '' TERM HUP INT; sleep 300"})
                unnamed.call_async("bash_exec", {"command": "sleep 300", "background": True})
                unnamed.call_async("write_file", {"path": "f", "content": "x" * 100_000})
                time.sleep(moment)
                unnamed.kill()
                began = time.monotonic()
                self.wait_until(lambda: not self.state.processes(), 5, "its processes")
                # Books and empty cgroups are left to whoever looks next. A process that is ending has
                # no command line any more before it lets go of its locks.
                self.wait_until(self.is_collected, 5, "its record")
                self.assertEqual(self.state.wait_for_no_leaks(), [])
                took = time.monotonic() - began
                self.assertLess(took, 5)
                slowest = max(slowest, took)
                # Of one that had come to no record the claim lapses by itself.
                self.assertNotIn("record", self.left_in_books())
        told(f"{len(moments)} unnamed sessions, slowest end {slowest:.2f} s")
