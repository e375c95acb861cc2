"""The end of a server: within a second, whoever ends it and whatever is in flight."""

import signal

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
        """The call that was in flight."""
        pending = server.call_async("bash_exec", STUBBORN)
        self.wait_until(lambda: server.call_tool("session_info").data["commands_in_flight"], 20,
                        "the command began")
        self.assertLess(server.seconds_to_end(end), 1.0)
        self.assertEqual(server.strays, [])
        return pending

    def test_an_unnamed_session_ends_with_its_server(self):
        for name, end in self.ends.items():
            for era in ("legacy", "modern"):
                with self.subTest(f"{name}, {era}"):
                    server = self.start(era=era)
                    self.end_server(server, end)
                    # Its guest ends with it: without v2 it stops process after process, on a host that
                    # may be busy.
                    self.wait_until(lambda: not self.state.processes(), 20, self.state.processes())
                    self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_a_named_session_goes_on_and_says_what_became_of_the_call(self):
        for number, (name, end) in enumerate(self.ends.items()):
            with self.subTest(name):
                session = f"named-{number}"
                server = self.start("--session", session)
                told = self.end_server(server, end).result(1)
                self.wait_until(lambda: len(self.living_guests()) == 1, 2, self.state.processes())
                successor = self.start("--session", session)
                result = successor.call_tool("bash_exec", {"command": "echo on"})
                self.assertEqual(result.data["stdout"], "on\n")
                jobs = successor.call_tool("session_info").data["jobs"]
                if name == "end of file":
                    self.check_goes_on(told, jobs)
                else:
                    self.check_stopped(told, jobs)
                successor.close()
                self.command_line("sessions", "kill", session, "--purge")
                self.wait_until(lambda: not self.living_guests(), 2, self.state.processes())

    def check_goes_on(self, told, jobs):
        """A client that only left may come back for it."""
        self.assertEqual(told.error.get("code"), "cancelled", told)
        self.assertIn("the client left; the command goes on as a job", told.text)
        self.assertEqual(len(jobs), 1, jobs)
        self.assertIn("setsid sleep 300", jobs[0]["command"])
        self.assertGreater(jobs[0]["processes"], 0)

    def check_stopped(self, told, jobs):
        self.assertRegex(told.text,
                         r"\[cancelled · [0-9.]+ m?s · all its processes are stopped "
                         r"\(verified by (cgroup|subreaper)\)\]$")
        self.assertEqual((told.data["fate"], told.data["survivors"]), ("cancelled", 0))
        self.assertEqual(jobs, [])

    def test_a_server_without_a_sandbox_ends_as_soon(self):
        for name, end in self.ends.items():
            with self.subTest(name):
                server = self.start()
                server.list_tools()
                self.assertLess(server.seconds_to_end(end), 1.0)
                self.wait_until(lambda: not self.state.processes(), 2, self.state.processes())
