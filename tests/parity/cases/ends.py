"""The end of a server: within a second, whoever ends it and whatever is in flight."""

import signal
import time

from suite import ParityTest

STUBBORN = {"command": "trap '' TERM INT; setsid sleep 300 & sleep 300"}


class EndsTest(ParityTest):
    ends = {"end of file": lambda server: server.process.stdin.close(),
            "SIGINT": lambda server: server.signal(signal.SIGINT),
            "SIGTERM": lambda server: server.signal(signal.SIGTERM)}

    def setUp(self):
        super().setUp()
        self.berth.close()

    def end_server(self, server, end):
        server.call_async("bash_exec", STUBBORN)
        self.wait_until(lambda: server.call_tool("session_info").data["commands_in_flight"], 5,
                        "the command began")
        started = time.monotonic()
        end(server)
        self.assertEqual(server.wait(5), 0)
        self.assertLess(time.monotonic() - started, 1.3)
        self.assertEqual(server.strays, [])

    def test_an_unnamed_session_ends_with_its_server(self):
        for name, end in self.ends.items():
            for era in ("legacy", "modern"):
                with self.subTest(f"{name}, {era}"):
                    server = self.start(era=era)
                    self.end_server(server, end)
                    self.wait_until(lambda: not self.state.processes(), 2, self.state.processes())
                    self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_a_named_session_goes_on_and_says_what_became_of_the_call(self):
        for number, end in enumerate(self.ends.values()):
            session = f"named-{number}"
            server = self.start("--session", session)
            self.end_server(server, end)
            self.wait_until(lambda: len(self.state.guests()) == 1, 2, self.state.processes())
            successor = self.start("--session", session)
            self.assertEqual(successor.call_tool("bash_exec", {"command": "echo on"}).data["stdout"],
                             "on\n")
            successor.close()
            self.command_line("sessions", "kill", session, "--purge")
            self.wait_until(lambda: not self.state.guests(), 2, self.state.processes())

    def test_a_server_without_a_sandbox_ends_as_soon(self):
        for name, end in self.ends.items():
            with self.subTest(name):
                server = self.start()
                server.list_tools()
                started = time.monotonic()
                end(server)
                self.assertEqual(server.wait(5), 0)
                self.assertLess(time.monotonic() - started, 1.0)
                self.wait_until(lambda: not self.state.processes(), 2, self.state.processes())
