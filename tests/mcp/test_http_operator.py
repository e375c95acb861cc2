"""The operator's API: who may use it, what it says, and that it is what the command line says."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from http_bench import JSON, HttpBench, bearer, token_file
from mcp_client import binary_path

ALICE = {"token": "berth_alice", "principal": "alice"}
BOB = {"token": "berth_bob", "principal": "bob"}
OLGA = {"token": "berth_olga", "principal": "olga"}


class OperatorBench(HttpBench):
    def serve_operators(self, *arguments, operators=None, **how):
        tokens = token_file(self.state.path / "tokens.toml", a=ALICE, b=BOB)
        self.operators = self.state.path / "operators.toml"
        token_file(self.operators, **(operators or {"o": OLGA}))
        self.serve("--operator-token-file", str(self.operators), *arguments,
                   auth=("--token-file", tokens), **how)

    def ask(self, method, path, token="berth_olga", headers=(), body=b""):
        return self.send(body, {**(bearer(token) if token else {}), **dict(headers)}, path=path,
                         method=method)

    def json(self, method, path, status=200, **how):
        answer = self.ask(method, path, **how)
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], JSON)
        return json.loads(answer.body)

    def as_alice(self, session="default"):
        return {"_headers": {**bearer("berth_alice"), "Berth-Session": session}}

    def command(self, *words):
        done = subprocess.run([binary_path("berth-direct"), *words, "--json", "--state-dir",
                               str(self.state.path)], capture_output=True, text=True, timeout=20)
        return json.loads(done.stdout)


class DoorTest(OperatorBench):
    def test_it_is_not_there_unless_an_operator_is_configured(self):
        self.serve()
        for path in ("/sessions", "/sessions/x", "/status"):
            self.assertEqual(self.ask("GET", path).status, 404)

    def test_a_caller_s_token_opens_none_of_it_and_an_operator_s_calls_no_tool(self):
        self.serve_operators(operators={"o": OLGA, "both": ALICE})
        answer = self.ask("GET", "/sessions", token=None)
        self.assertEqual((answer.status, answer.headers["www-authenticate"]),
                         (401, 'Bearer realm="berth operator"'))
        self.assertEqual(self.ask("GET", "/status", token="wrong").status, 401)
        self.assertEqual(self.ask("GET", "/status", token="berth_alice").status, 403)
        self.assertEqual(self.modern("tools/list", **bearer("berth_olga")).status, 401)
        # It is in both files, and opens neither.
        self.assertEqual(self.modern("tools/list", **bearer("berth_alice")).status, 401)
        self.assertEqual(self.ask("GET", "/status").status, 200)
        self.assertNotIn("berth_olga", self.log())

    def test_nor_does_it_where_anybody_is_let_in(self):
        token_file(self.state.path / "operators.toml", o=OLGA)
        self.serve("--operator-token-file", str(self.state.path / "operators.toml"))
        self.assertEqual(self.modern("tools/list").status, 200)
        self.assertEqual(self.modern("tools/list", **bearer("berth_olga")).status, 401)
        self.assertEqual(self.ask("GET", "/status", token=None).status, 401)

    def test_a_page_of_the_web_is_kept_out_before_its_token_is_looked_at(self):
        self.serve_operators()
        answer = self.ask("GET", "/status", headers={"Origin": "https://evil.example.com"})
        self.assertEqual(answer.status, 403)

    def test_what_is_asked_wrongly_is_told_by_its_status(self):
        self.serve_operators()
        self.assertEqual(self.ask("PUT", "/sessions").status, 405)
        self.assertEqual(self.ask("POST", "/sessions/x").headers["allow"], "GET, DELETE")
        missing = self.json("GET", "/sessions/x", 404)
        self.assertEqual((missing["code"], missing["remedy"]),
                         ("not_found", "GET /sessions shows those there are; ?principal=NAME says "
                                       "whose a name is."))
        self.assertEqual(self.json("GET", "/sessions/x/y", 404)["code"], "not_found")
        self.assertEqual(self.json("DELETE", "/sessions/x?purg=true", 400)["code"],
                         "invalid_argument")
        self.assertEqual(self.json("GET", "/sessions?backend=moon", 400)["code"],
                         "invalid_argument")
        self.assertEqual(self.ask("POST", "/sessions/x/pause", body=b"x" * 100_000).status, 413)
        for path, named in (("/sessions/x?principal=alice&principal=bob", "principal"),
                            ("/sessions/x?save=false&purge=false&save=true", "save"),
                            ("/sessions/x?backend=e2b&b%61ckend=direct", "backend"),
                            ("/sessions/x?nobody=1", "nobody")):
            refused = self.json("DELETE", path, 400)
            self.assertEqual(refused["code"], "invalid_argument")
            self.assertIn(named, refused["reason"])

    def test_the_file_of_operators_is_no_file_of_callers(self):
        tokens = token_file(self.state.path / "tokens.toml", a=ALICE)
        def complaint(operators):
            done = subprocess.run([binary_path("berth-direct"), "serve", "--http", "127.0.0.1:0",
                                   "--token-file", tokens, "--operator-token-file", operators,
                                   "--state-dir", str(self.state.path)], capture_output=True,
                                  text=True, timeout=20)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr
        self.assertIn("two files", complaint(tokens))
        own = token_file(self.state.path / "operators.toml", o={**OLGA, "profile": "default"})
        self.assertIn("an operator has no sessions", complaint(own))

    def test_operators_change_while_the_server_runs(self):
        self.serve_operators()
        token_file(self.operators, p={"token": "berth_piet", "principal": "piet"})
        self.wait_for(lambda: self.ask("GET", "/status", token="berth_piet").status == 200)
        self.assertEqual(self.ask("GET", "/status").status, 401)


class SessionsTest(OperatorBench):
    def setUp(self):
        super().setUp()
        self.serve_operators()

    def test_it_says_what_the_command_line_says(self):
        self.call("bash_exec", command="sleep 40", background=True, **self.as_alice("work"))
        listed = self.json("GET", "/sessions")
        self.assertEqual([(each["session"], each["principal"], each["state"]) for each in listed],
                         [("work", "alice", "running")])
        self.assertEqual(listed, self.command("sessions", "list"))
        shown = self.json("GET", f"/sessions/{listed[0]['key']}")
        by_name = self.json("GET", "/sessions/work?principal=alice")
        told = self.command("sessions", "show", listed[0]["key"])
        for each in (shown, by_name):
            self.assertEqual(set(each), set(told))
            self.assertEqual(each["key"], told["key"])
            self.assertEqual(each["limits"], told["limits"])
        status, told = self.json("GET", "/status"), self.command("status")
        self.assertEqual(set(status), set(told))
        self.assertEqual((status["enabled"], status["available"], status["backend"]),
                         (True, True, "direct"))
        self.assertEqual([job["command"] for job in status["jobs"]], ["sleep 40"])
        self.assertEqual(self.json("GET", "/sessions/work", 404)["code"], "not_found")

    def test_a_session_is_paused_woken_and_ended(self):
        self.call("bash_exec", command="echo kept >~/n", **self.as_alice("work"))
        path = f"/sessions/{self.json('GET', '/sessions')[0]['key']}"
        paused = self.json("POST", path + "/pause")
        self.assertEqual((paused["paused"], paused["was_paused"]), (True, False))
        self.assertEqual(self.json("GET", "/sessions")[0]["state"], "paused")
        self.assertEqual(self.json("POST", path + "/resume")["was_paused"], True)
        self.assertIn("kept", self.call("read_file", path="~/n", **self.as_alice("work")).text)
        ended = self.json("DELETE", path)
        self.assertEqual((ended["killed"], ended["session"], ended["principal"], ended["key"]),
                         (True, "work", "alice", path.rpartition("/")[2]))
        refused = self.json("POST", path + "/pause", 409)
        self.assertEqual(refused["code"], "conflict")
        self.assertIn("GET /sessions shows its state", refused["remedy"])
        refused = self.json("DELETE", path, 409)
        self.assertEqual(refused["code"], "conflict")
        self.assertIn("DELETE with ?purge=true removes it", refused["remedy"])
        self.assertIn("kept", self.call("read_file", path="~/n", **self.as_alice("work")).text)
        self.assertEqual(self.json("DELETE", path + "?purge=true")["purged"], True)
        self.assertEqual(self.json("GET", "/sessions"), [])
        self.assertIn("operator principal=olga did=kill", self.log())

    def test_a_name_beside_its_principal_is_never_the_key_of_another_s_session(self):
        """Callers choose names: one that is another's key must not lead an operator to that."""
        self.call("bash_exec", command="echo kept >~/n", _headers=bearer("berth_bob"))
        (bob,) = self.json("GET", "/sessions")
        self.call("bash_exec", command="true", **self.as_alice(bob["key"]))
        for name in (bob["key"], bob["sandbox_id"]):
            for method, path in (("GET", ""), ("POST", "/pause"), ("POST", "/resume")):
                if name == bob["key"] and method == "GET":
                    self.assertEqual(self.json("GET", f"/sessions/{name}?principal=alice")["principal"],
                                     "alice")
                self.json(method, f"/sessions/{name}{path}?principal=nobody", 404)
            self.json("DELETE", f"/sessions/{name}?principal=nobody&purge=true", 404)
        path = f"/sessions/{bob['key']}?principal=alice&purge=true"
        self.assertTrue(self.json("DELETE", path)["purged"])
        self.assertEqual(self.json("DELETE", path, 404)["killed"], False)  # hers is gone
        self.assertIn("kept", self.call("read_file", path="~/n", _headers=bearer("berth_bob")).text)

    def test_a_session_in_the_middle_of_a_call_is_not_paused_and_says_so(self):
        busy = self.connect()
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "bash_exec", "arguments": {"command": "touch ~/begun; sleep 30"},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {}}}}
        busy.post(message, self.modern_headers("tools/call", "bash_exec", **bearer("berth_alice")))
        self.wait_for(lambda: self.json("GET", "/status")["commands_in_flight"] == 1)
        path = f"/sessions/{self.json('GET', '/sessions')[0]['key']}"
        answer = self.ask("POST", path + "/pause")
        self.assertEqual(answer.status, 409, answer)
        told = json.loads(answer.body)
        self.assertEqual(told["code"], "busy")
        self.assertEqual(answer.headers["retry-after"], str(told["retry_after"]))
        self.assertEqual(self.json("DELETE", path)["killed"], True)
        self.assertTrue(busy.answer().tool.is_error)  # whoever waits for the call hears of it


if __name__ == "__main__":
    unittest.main()
