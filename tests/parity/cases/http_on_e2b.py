"""One server over HTTP for many callers whose machines are E2B's: whose is which, and what becomes of them
when the server goes."""

import json
import time

import e2b
from bench import request
from http_bench import HttpBench, bearer, token_file
from suite import ParityTest, e2b_only

TOKENS = {"a": {"token": "berth_alice", "principal": "alice"},
          "b": {"token": "berth_bob", "principal": "bob"},
          "l": {"token": "berth_lea", "principal": "lea", "profile": "here"}}
MANY = 12


@e2b_only
class HttpOnE2bTest(ParityTest, HttpBench):
    def setUp(self):
        super().setUp()
        self.made = len(e2b.emulator().books()["created"])

    def serve_callers(self, *arguments, **environment):
        """With a profile whose machines are this host's."""
        settings = self.state.path / "berth.toml"
        settings.write_text('backend = "e2b"\n[profiles.here]\nbackend = "local"\n')
        # Not what the tests say of their other servers: it is as E2B's users have it.
        return self.serve("--config", str(settings), "--structured-content", *arguments, binary="berth",
                          env={**e2b.emulator().environment(), **environment},
                          auth=("--token-file", token_file(self.state.path / "tokens.toml", **TOKENS)))

    def ask(self, who, tool, session="work", **arguments):
        return HttpBench.call(self, tool, _headers={**bearer("berth_" + who), "Berth-Session": session}, **arguments)

    def asked(self, who, command, session="work"):
        found = self.ask(who, "bash_exec", session, command=command)
        self.assertFalse(found.is_error, found)
        return found.data["stdout"]

    def test_callers_have_boxes_of_their_own_and_some_have_none(self):
        self.serve_callers()
        for who in ("alice", "bob", "lea"):
            self.asked(who, f"echo {who} >file")
        found = [self.asked(who, "cat file") for who in ("bob", "alice", "lea")]
        self.assertEqual(found, ["bob\n", "alice\n", "lea\n"])
        self.assertEqual(len(e2b.boxes()), 2)
        said = {who: self.ask(who, "session_info").data["backend"] for who in ("alice", "lea")}
        self.assertEqual(said, {"alice": "e2b", "lea": "local"})
        self.stop()
        self.command_line("sessions", "kill", "work", "--purge", "--principal", "lea", env={"BERTH_BACKEND": "local"})

    def test_all_sleep_when_the_server_is_told_to_stop_and_the_next_one_wakes_them(self):
        """Within the time that an operator was promised; what ran there goes on."""
        self.serve_callers()
        for number in range(MANY):
            self.asked("alice", f"echo {number} >file", session=f"s{number}")
        job = self.ask("alice", "bash_exec", "s0", command="sleep 2; echo done", background=True).data["job_id"]
        # As far away as E2B mostly is: one after the other they would take three times as long.
        for plane in ("api", "envd"):
            e2b.emulator().fault(plane=plane, delay=0.15, times=10000)
        self.addCleanup(e2b.emulator().clear_faults)
        began = time.monotonic()
        self.assertEqual(self.stop(), 0)
        self.assertLess(time.monotonic() - began, 3.5 + 2)
        e2b.emulator().clear_faults()
        self.assertEqual(len(e2b.emulator().books()["paused"]), MANY)
        self.serve_callers()
        self.assertEqual([self.asked("alice", "cat file", f"s{number}") for number in range(MANY)],
                         [f"{number}\n" for number in range(MANY)])
        found = self.ask("alice", "bash_output", "s0", job_id=job, wait=10, filter="done")
        self.assertEqual(found.data["stdout"], "done\n", found)
        self.assertEqual(len(e2b.emulator().books()["created"]) - self.made, MANY)

    def test_a_client_that_closes_its_stream_has_cancelled(self):
        self.serve_callers()
        self.asked("alice", "true")
        gone = self.connect()
        gone.post(request(1, "tools/call", {"name": "bash_exec", "arguments": {
            "command": "echo $$ >pid; exec sleep 60"}}, modern=True),
            self.modern_headers("tools/call", "bash_exec", **bearer("berth_alice"), Berth_Session="work"))
        self.assertEqual(gone.head()[0], 200)  # its stream has begun
        def runs():
            return self.asked("alice", "test -s pid && kill -0 $(cat pid) && echo runs; true")
        self.wait_until(runs, 10, "its command")
        gone.close()
        self.wait_until(lambda: not runs(), 10, "the end of the command")

    def test_an_operator_has_them_sleep_and_ends_them(self):
        operators = token_file(self.state.path / "operators.toml", o={"token": "berth_o", "principal": "o"})
        self.serve_callers("--operator-token-file", operators)
        for who in ("alice", "lea"):
            self.asked(who, "echo kept >file")
        def operate(method, path):
            return self.send(b"", bearer("berth_o"), method=method, path=path)
        (listed,) = [each for each in json.loads(operate("GET", "/sessions").body) if each["principal"] == "alice"]
        (box,) = e2b.boxes()
        self.assertEqual((listed["backend"], listed["sandbox_id"]), ("e2b", box))
        key = listed["key"]
        self.assertEqual(operate("POST", f"/sessions/{key}/pause").status, 200)
        self.assertEqual(e2b.emulator().books()["paused"], [box])
        self.assertEqual(self.asked("alice", "cat file"), "kept\n")
        self.assertEqual(operate("DELETE", f"/sessions/{key}?purge=true").status, 200)
        self.assertEqual(e2b.boxes(), [])
        self.assertEqual(operate("DELETE", "/sessions/work?principal=lea&backend=local&purge=true").status, 200)

    def test_a_server_that_was_killed_and_the_next(self):
        """What ran goes on, and is told when its lease is over."""
        self.serve_callers(BERTH_E2B_LEASE="3s")
        self.asked("alice", "true")
        with self.connect() as gone:
            gone.post(request(1, "tools/call", {"name": "bash_exec", "arguments": {
                "command": "touch began; sleep 3; echo told >>count"}}, modern=True),
                self.modern_headers("tools/call", "bash_exec", **bearer("berth_alice"), Berth_Session="work"))
            self.wait_until(lambda: self.asked("alice", "ls") == "began\n", 10, "its command")
            self.server.kill()
            self.server.wait()
        self.serve_callers(BERTH_E2B_LEASE="3s")
        self.assertEqual(self.asked("alice", "ls"), "began\n")
        time.sleep(3 + 3 + 1)
        found = self.ask("alice", "bash_exec", command="cat count")
        self.assertEqual(found.data["stdout"], "told\n")
        self.assertTrue(any("touch began" in line for line in found.notices), found)

    def leave_a_call(self):
        """Of a client from before 2026, who has cancelled nothing by that; it ends once nobody is there."""
        session = self.initialize(headers={**bearer("berth_alice"), "Berth-Session": "work"})
        with self.connect() as gone:
            gone.post(request("long", "tools/call", {"name": "bash_exec", "arguments": {
                "command": "touch began; while [ ! -e go ]; do sleep 0.05; done; exit 7"}}), session)
            self.wait_until(lambda: "began" in self.asked("alice", "ls"), 10, "its command")
        self.asked("alice", "touch go")

    def test_a_result_whose_client_went_away_is_told_with_the_next(self):
        """Its own server is there, and stays: nothing of it waits for the end of a lease."""
        self.serve_callers()
        self.leave_a_call()
        found = []
        def is_told():
            found.extend(self.ask("alice", "bash_exec", command="true").notices)
            return found
        self.wait_until(is_told, 10, "the notice")
        self.assertIn("reached nobody", found[0])
        self.assertIn("it ended with exit 7", found[0])
        self.assertEqual(self.ask("alice", "bash_exec", command="true").notices, [])  # once

    def test_and_goes_into_the_books_with_a_machine_that_is_ended(self):
        """Where no call follows its server says it all the same, before the machine takes it for gone."""
        self.serve_callers(BERTH_E2B_LEASE="12s")
        self.leave_a_call()
        def is_known():
            return "job-" in self.command_line("sessions", "show", "work", "--principal", "alice", "--json",
                                               env=e2b.environment())
        self.wait_until(is_known, 10, "its server's word")
        self.command_line("sessions", "kill", "work", "--principal", "alice", env=e2b.environment())
        found = self.ask("alice", "bash_exec", command="true")
        self.assertTrue(any("touch began" in line and "exit 7" in line for line in found.notices), found)
