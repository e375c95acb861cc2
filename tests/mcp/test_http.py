"""MCP over HTTP as it should be used: both eras at one address, JSON and events, sessions, cancels,
disconnects, and the end of the server."""

import base64
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import META, SLEEP, request
from http_bench import EVENTS, JSON, Connection, HttpBench
from mcp_client import LEGACY, MODERN, binary_path

LONG = "while [ ! -e ~/go ]; do sleep 0.05; done; echo went >>~/done"


class ModernTest(HttpBench):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_discover_list_and_call(self):
        found = self.modern("server/discover")
        self.assertEqual(found.status, 200)
        self.assertEqual(found.headers["content-type"], JSON)
        self.assertEqual(found.result["supportedVersions"], [MODERN])
        self.assertNotIn("mcp-session-id", found.headers)
        listed = self.modern("tools/list").result
        self.assertEqual(listed["resultType"], "complete")
        self.assertIn("bash_exec", [tool["name"] for tool in listed["tools"]])
        self.assertEqual(self.call("bash_exec", command="echo hi").text, "hi\n")

    def test_no_machine_is_made_before_a_call_needs_one(self):
        self.modern("server/discover")
        self.modern("tools/list")
        self.call("session_info")
        self.assertEqual(self.state.guests(), [])

    def test_many_requests_on_one_connection(self):
        with self.connect() as connection:
            for number in range(5):
                answer = self.modern("tools/call", {"name": "bash_exec", "arguments": {
                    "command": f"echo {number}"}}, number, connection)
                self.assertEqual((answer.message["id"], answer.tool.text), (number, f"{number}\n"))

    def test_requests_that_are_sent_ahead_are_answered_in_their_order(self):
        with self.connect() as connection:
            for number in range(3):
                connection.post(request(number, "tools/list", modern=True),
                                self.modern_headers("tools/list"))
            self.assertEqual([connection.answer().message["id"] for _ in range(3)], [0, 1, 2])

    def test_a_session_is_named_by_a_header_and_else_the_default_one(self):
        one = {"_headers": {"Berth-Session": "one"}}
        self.call("write_file", path="~/n", content="1", **one)
        self.assertTrue(self.call("read_file", path="~/n").is_error)
        self.assertIn("1", self.call("read_file", path="~/n", **one).text)
        self.assertEqual(self.call("session_info", **one).data["session"], "one")
        self.assertEqual(self.call("session_info").data["session"], "default")
        wrong = self.modern("tools/list", Berth_Session="")
        self.assertEqual((wrong.status, wrong.error["code"]), (400, -32602))
        self.assertIn("Berth-Session", wrong.error["message"])

    def test_a_long_call_becomes_a_stream_with_its_progress(self):
        answer = self.modern("tools/call", {"name": "bash_exec", "arguments": {
            "command": "echo a; sleep 1.2; echo b; sleep 1.2"}}, "x", meta={"progressToken": 7})
        self.assertEqual(answer.headers["content-type"], EVENTS)
        self.assertEqual(answer.headers["x-accel-buffering"], "no")
        said = [message for message in answer.messages if "method" in message]
        self.assertGreaterEqual(len(said), 1)
        self.assertTrue(all(message["params"]["progressToken"] == 7 for message in said))
        self.assertEqual(answer.message["id"], "x")
        self.assertEqual(answer.tool.text, "a\nb\n")

    def test_who_takes_json_alone_gets_json_however_long_it_takes(self):
        answer = self.modern("tools/call", {"name": "bash_exec", "arguments": {
            "command": "sleep 1.5; echo b"}}, meta={"progressToken": 7}, Accept=JSON)
        self.assertEqual(answer.headers["content-type"], JSON)
        self.assertEqual(answer.tool.text, "b\n")

    def test_who_takes_events_alone_gets_events(self):
        answer = self.modern("tools/list", Accept=EVENTS)
        self.assertEqual(answer.headers["content-type"], EVENTS)
        self.assertIn("tools", answer.result)

    def start_call(self, command, accept=None, session="default"):
        """A connection whose call has begun."""
        connection = Connection(self.address)
        message = request(1, "tools/call", {"name": "bash_exec", "arguments": {
            "command": f"touch ~/begun; {command}"}}, modern=True)
        headers = self.modern_headers("tools/call", "bash_exec", Berth_Session=session)
        connection.post(message, {**headers, **({"Accept": accept} if accept else {})})
        self.wait_for(lambda: not self.call("read_file", path="~/begun",
                                            _headers={"Berth-Session": session}).is_error)
        return connection

    def test_a_closed_stream_cancels_its_call(self):
        for accept in (f"{JSON}, {EVENTS}", JSON):
            with self.subTest(accept):
                connection = self.start_call("sleep 100; echo no >>~/done", accept)
                if EVENTS in accept:
                    self.assertEqual(connection.head()[0], 200)  # the stream has begun
                connection.close()
                self.wait_for(lambda: "sleep 100" not in self.call(
                    "bash_exec", command="ps -eo args; rm -f ~/begun").text.replace("ps -eo", ""))

    def test_what_older_clients_send_beside_means_nothing(self):
        answer = self.modern("tools/list", Mcp_Session_Id="0" * 32, Last_Event_ID="7")
        self.assertEqual((answer.status, answer.result["resultType"]), (200, "complete"))
        self.assertNotIn("mcp-session-id", answer.headers)

    def test_two_callers_may_use_the_same_id_at_once(self):
        first = self.start_call("sleep 1; echo first")
        self.assertEqual(self.call("bash_exec", command="echo second").text, "second\n")
        answer = first.answer()
        self.assertEqual((answer.message["id"], answer.tool.text), (1, "first\n"))
        first.close()

    def test_headers_must_say_what_the_body_says(self):
        call = {"name": "bash_exec", "arguments": {"command": "touch ~/ran"}}
        good = self.modern_headers("tools/call", "bash_exec")
        message = request(3, "tools/call", call, modern=True)
        coded = base64.b64encode(b"bash_exec").decode()
        for change, status in (({}, 200), ({"Mcp-Name": f"=?base64?{coded}?="}, 200),
                               ({"Mcp-Name": "read_file"}, 400), ({"Mcp-Name": None}, 400),
                               ({"Mcp-Name": "=?base64?*?="}, 400),
                               ({"Mcp-Name": " bash_exec\t"}, 200), ({"Mcp-Name": "BASH_EXEC"}, 400),
                               ({"Mcp-Name": None, "mCP-nAME": "bash_exec"}, 200),
                               ({"Mcp-Method": "tools/list"}, 400), ({"Mcp-Method": None}, 400),
                               ({"MCP-Protocol-Version": LEGACY}, 400),
                               ({"MCP-Protocol-Version": None}, 400)):
            with self.subTest(str(change)):
                self.call("bash_exec", command="rm -f ~/ran")
                headers = {key: value for key, value in {**good, **change}.items() if value}
                answer = self.send(message, headers)
                self.assertEqual(answer.status, status, answer)
                self.assertEqual(answer.message["id"], 3)
                if status == 400:
                    self.assertEqual(answer.error["code"], -32020)
                    self.assertIn("Header mismatch: ", answer.error["message"])
                self.assertEqual(self.call("read_file", path="~/ran").is_error, status == 400)

    def test_what_is_wrong_with_an_envelope_is_a_400(self):
        def code(meta, **headers):
            message = {"jsonrpc": "2.0", "id": 4, "method": "tools/list",
                       "params": {"_meta": meta} if meta is not None else {}}
            answer = self.send(message, self.modern_headers("tools/list", **headers))
            self.assertEqual((answer.status, answer.message["id"]), (400, 4), answer)
            return answer.error["code"], answer.error.get("data")
        version, capabilities = META
        self.assertEqual(code(None)[0], -32602)
        self.assertEqual(code({capabilities: {}})[0], -32602)
        self.assertEqual(code({version: MODERN})[0], -32602)
        self.assertEqual(code({version: 5, capabilities: {}})[0], -32602)
        unknown = code({version: "2099-01-01", capabilities: {}}, MCP_Protocol_Version="2099-01-01")
        self.assertEqual(unknown, (-32022, {"supported": [MODERN], "requested": "2099-01-01"}))

    def test_methods_that_there_are_not_are_a_404(self):
        for method in ("unknown/method", "initialize", "ping", "logging/setLevel",
                       "resources/subscribe"):
            answer = self.modern(method)
            self.assertEqual((answer.status, answer.error["code"]), (404, -32601), method)
            self.assertEqual(answer.message["id"], 1)

    def test_what_tells_how_the_server_is_takes_get_and_head_alone(self):
        for path in ("/healthz", "/readyz"):
            got = self.send(b"", path=path, method="GET")
            with self.connect() as connection:
                connection.post(b"", path=path, method="HEAD")
                status, headers = connection.head()
            self.assertEqual((got.status, status), (200, 200), path)
            self.assertEqual(headers["content-length"], got.headers["content-length"])
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
                answer = self.send(b"", path=path, method=method)
                self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET, HEAD"))

    def test_whoever_listens_for_changes_is_told_at_once_that_there_will_be_none(self):
        answer = self.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}},
                             "listen:0")
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, EVENTS))
        told, last = answer.messages
        self.assertEqual(told, {"jsonrpc": "2.0", "method":
                                "notifications/subscriptions/acknowledged", "params": {
                                    "_meta": {"io.modelcontextprotocol/subscriptionId": "listen:0"},
                                    "notifications": {}}})
        self.assertEqual((last["id"], last["result"]["resultType"]), ("listen:0", "complete"))
        self.assertEqual(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
                         "listen:0")
        for wrong in ({}, {"notifications": 5}, {"notifications": {"toolsListChanged": "yes"}},
                      {"notifications": {"resourceSubscriptions": [5]}}):
            self.assertEqual(self.modern("subscriptions/listen", wrong).error["code"], -32602, wrong)

    def test_errors_of_a_call_are_in_band(self):
        unknown = self.modern("tools/call", {"name": "no_such_tool", "arguments": {}})
        self.assertEqual((unknown.status, unknown.error["code"]), (200, -32602))
        wrong = self.modern("tools/call", {"name": "read_file", "arguments": {"pth": "x"}})
        self.assertEqual(wrong.status, 200)
        self.assertTrue(wrong.tool.is_error)

    def test_a_notification_is_accepted_and_not_answered(self):
        answer = self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": 1, "_meta": META}},
                           self.modern_headers("notifications/cancelled"))
        self.assertEqual((answer.status, answer.body), (202, b""))

    def test_an_answer_is_no_message_of_this_revision(self):
        answer = self.send({"jsonrpc": "2.0", "id": 1, "result": {}}, self.modern_headers("x"))
        self.assertEqual((answer.status, answer.error["code"], answer.message["id"]), (400, -32600, None))


class LegacyTest(HttpBench):
    def setUp(self):
        super().setUp()
        self.serve()

    def call_in(self, session, name, request_id=1, **arguments):
        answer = self.send(request(request_id, "tools/call", {"name": name, "arguments": arguments}),
                           session)
        self.assertEqual(answer.status, 200, answer)
        return answer.tool

    def test_every_revision_shakes_hands_and_calls(self):
        for version in (LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"):
            with self.subTest(version):
                session = self.initialize(version)
                self.assertRegex(session["Mcp-Session-Id"], r"^[\x21-\x7e]{20,}$")
                self.assertEqual(self.send(request(1, "ping"), session).result, {})
                self.assertEqual(self.call_in(session, "bash_exec", command="echo hi").text, "hi\n")

    def test_who_shakes_hands_is_an_older_client_whatever_its_meta_claims_wrongly(self):
        version, capabilities = META
        own = {"Content-Type": JSON, "Accept": f"{JSON}, {EVENTS}"}

        def shake(meta, **headers):
            params = {"protocolVersion": LEGACY, "capabilities": {}, "_meta": meta,
                      "clientInfo": {"name": "t", "version": "1"}}
            return self.send(request(0, "initialize", params), {**own, **headers})
        for meta in ({version: 5, capabilities: {}}, {version: LEGACY}, {version: MODERN},
                     {version: "2099-01-01", capabilities: {}},
                     {version: MODERN, capabilities: {}, "io.modelcontextprotocol/clientInfo": 5}):
            answer = shake(meta)
            self.assertEqual((answer.status, answer.result["protocolVersion"]), (200, LEGACY), meta)
            session = {**own, "Mcp-Session-Id": answer.headers["mcp-session-id"]}
            self.assertEqual(self.send(request(1, "ping"), session).result, {})
            wrong = shake(meta, **{"MCP-Protocol-Version": MODERN})
            self.assertEqual((wrong.status, wrong.error["code"]), (400, -32020))
        right = shake({version: MODERN, capabilities: {}})
        self.assertEqual((right.status, right.error["code"]), (404, -32601))

    def test_a_session_has_a_machine_of_its_own_unless_it_names_one(self):
        one, other = self.initialize(), self.initialize()
        self.call_in(one, "write_file", path="~/n", content="1")
        self.assertTrue(self.call_in(other, "read_file", path="~/n").is_error)
        named, again = (self.initialize(headers={"Berth-Session": "work"}) for _ in range(2))
        self.call_in(named, "write_file", path="~/n", content="1")
        self.assertFalse(self.call_in(again, "read_file", path="~/n").is_error)

    def test_requests_without_a_session_or_of_one_that_has_ended(self):
        session = self.initialize()
        without = {key: value for key, value in session.items() if key != "Mcp-Session-Id"}
        answer = self.send(request(1, "tools/list"), without)
        self.assertEqual((answer.status, answer.error["code"]), (400, -32000))
        answer = self.send(request(1, "tools/list"), {**without, "Mcp-Session-Id": "0" * 32})
        self.assertEqual((answer.status, answer.error["code"]), (404, -32001))
        self.assertEqual(self.send(b"", session, method="DELETE").status, 204)
        self.assertEqual(self.send(request(1, "tools/list"), session).status, 404)
        self.assertEqual(self.send(b"", session, method="DELETE").status, 404)
        self.assertEqual(self.send(b"", without, method="DELETE").status, 400)
        wrong = self.send(request(1, "initialize", {"capabilities": {}}), without)
        self.assertEqual((wrong.status, wrong.error["code"]), (400, -32602))
        self.assertNotIn("mcp-session-id", wrong.headers)

    def test_there_is_no_stream_to_get(self):
        answer = self.send(b"", {"Accept": EVENTS}, method="GET")
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST, DELETE"))

    def test_versions_in_the_header(self):
        session = self.initialize()
        for version, status in (("2025-06-18", 200), ("1999-01-01", 400), (MODERN, 400)):
            answer = self.send(request(1, "tools/list"),
                               {**session, "MCP-Protocol-Version": version})
            self.assertEqual(answer.status, status, version)
        del session["MCP-Protocol-Version"]
        self.assertEqual(self.send(request(1, "tools/list"), session).status, 200)
        answer = self.send(request(1, "initialize", {"protocolVersion": LEGACY}),
                           {"Content-Type": JSON, "MCP-Protocol-Version": MODERN})
        self.assertEqual((answer.status, answer.error["code"]), (400, -32020))

    def test_batches_where_the_revision_has_them(self):
        batch = [request(1, "ping"), {"jsonrpc": "2.0", "method": "notifications/x"},
                 request(2, "tools/list")]
        old = self.initialize("2025-03-26")
        answers = self.send(batch, old).message
        self.assertEqual(sorted(answer["id"] for answer in answers), [1, 2])
        self.assertEqual(self.send(batch[1:2], old).status, 202)
        self.assertEqual(self.send([], old).status, 400)
        answer = self.send(batch, self.initialize())
        self.assertEqual((answer.status, answer.error["code"]), (400, -32600))
        mixed = [request(1, "tools/list", modern=True)]
        answer = self.send(mixed, old)
        self.assertEqual((answer.status, answer.error["code"]), (400, -32600))

    def start_call(self, session, command):
        connection = Connection(self.address)
        connection.post(request("long", "tools/call", {"name": "bash_exec", "arguments": {
            "command": f"touch ~/begun; {command}"}}), session)
        self.wait_for(lambda: not self.call_in(session, "read_file", path="~/begun").is_error)
        return connection

    def test_another_request_cancels_a_call_which_is_not_answered(self):
        session = self.initialize()
        connection = self.start_call(session, "sleep 100")
        self.assertEqual(connection.head()[1]["content-type"], EVENTS)
        done = self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                          "params": {"requestId": "long"}}, session)
        self.assertEqual(done.status, 202)
        self.assertNotIn(b"jsonrpc", b"".join(iter(connection.chunk, b"")))
        connection.close()

    def test_of_one_session_none_cancels_for_another(self):
        session, other = self.initialize(), self.initialize()
        connection = self.start_call(session, LONG)
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                   "params": {"requestId": "long"}}, other)
        self.call_in(session, "bash_exec", command="touch ~/go")
        self.assertEqual(connection.answer().tool.data["fate"], "exited")
        connection.close()

    def test_a_closed_connection_cancels_nothing_and_what_came_of_the_call_is_told(self):
        session = self.initialize()
        connection = self.start_call(session, LONG)
        connection.close()
        texts = [self.call_in(session, "bash_exec", command="touch ~/go").text]
        def is_told():
            texts.append(self.call_in(session, "bash_exec", command="cat ~/done || true").text)
            return any("reached nobody" in text for text in texts)
        self.wait_for(is_told)
        self.assertEqual(self.call_in(session, "bash_exec", command="cat ~/done").text,
                         "went\n")  # it ran once, and is told once

    def test_an_id_in_flight_is_refused(self):
        session = self.initialize()
        connection = self.start_call(session, LONG)
        answer = self.send(request("long", "ping"), session)
        self.assertEqual(answer.error["code"], -32600)
        self.call_in(session, "bash_exec", command="touch ~/go")
        self.assertEqual(connection.answer().status, 200)
        connection.close()


class BothErasTest(HttpBench):
    def test_each_message_decides_for_itself(self):
        self.serve()
        session = self.initialize()
        for _ in range(2):
            self.assertIn("tools", self.send(request(1, "tools/list"), session).result)
            self.assertEqual(self.modern("tools/list").result["resultType"], "complete")

    def test_idle_sessions_of_older_clients_end(self):
        self.serve(env={"BERTH_HTTP_IDLE": "10s"})
        session = self.initialize()
        deadline = time.monotonic() + 9
        while time.monotonic() < deadline:
            time.sleep(3)
            self.assertEqual(self.send(request(1, "ping"), session).status, 200)
        time.sleep(12)
        self.assertEqual(self.send(request(1, "ping"), session).status, 404)

    def test_health_and_readiness_need_no_token(self):
        self.serve()
        self.assertEqual(self.send(b"", path="/healthz", method="GET").body, b"ok\n")
        ready = self.send(b"", path="/readyz", method="GET")
        self.assertEqual((ready.status, ready.body), (200, b"ready\n"))
        self.assertEqual(self.send(b"", path="/", method="GET").status, 404)


class EndTest(HttpBench):
    def test_what_runs_at_the_end_goes_on_as_a_job_and_the_next_server_tells(self):
        self.serve()
        connection = Connection(self.address)
        connection.post(request(1, "tools/call", {"name": "bash_exec", "arguments": {
            "command": "touch ~/begun; " + LONG}}, modern=True),
            self.modern_headers("tools/call", "bash_exec"))
        self.wait_for(lambda: not self.call("read_file", path="~/begun").is_error)
        began = time.monotonic()
        self.assertEqual(self.stop(), 0)
        self.assertLess(time.monotonic() - began, 5)
        connection.close()
        self.serve()
        info = self.call("bash_exec", command="touch ~/go; sleep 0.3; cat ~/done")
        self.assertIn("job-", info.text)
        self.assertEqual(info.text.splitlines().count("went"), 1)

    def test_what_it_has_made_for_machines_to_come_goes_with_it(self):
        self.serve(binary="berth")
        self.call("write_file", path="~/n", content="1")
        ahead = self.state.path / "ahead"
        self.wait_for(lambda: ahead.exists() and any(ahead.iterdir()))
        self.assertEqual(self.stop(), 0)
        self.assertEqual(list(ahead.iterdir()), [])
        (key,) = self.state.keys()
        subprocess.run([binary_path(), "sessions", "kill", key, "--purge"], check=True, capture_output=True,
                       env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})

    def test_what_looked_for_required_layers_takes_no_signal(self):
        self.serve("--require", "netns", binary="berth")
        self.server.send_signal(signal.SIGHUP)
        self.assertEqual(self.send(b"", path="/healthz", method="GET").status, 200)
        self.assertIsNone(self.server.poll())
        self.assertEqual(self.stop(), 0)

    def test_a_hangup_does_not_end_it(self):
        self.serve()
        self.server.send_signal(signal.SIGHUP)
        self.assertEqual(self.send(b"", path="/healthz", method="GET").status, 200)
        self.assertIsNone(self.server.poll())

    def test_two_servers_share_a_state_directory(self):
        first = self.serve()
        self.call("write_file", path="~/n", content="1")
        one = self.server
        self.serve()
        self.assertFalse(self.call("read_file", path="~/n").is_error)
        self.address = first
        self.assertFalse(self.call("read_file", path="~/n").is_error)
        one.terminate()
        one.wait(10)


if __name__ == "__main__":
    unittest.main()
