"""What berth's protocol can and berth's own tools do not use, on the server that the official
conformance suite looks at: requests to the client, results that need input, tools that need a client
of some kind, arguments that headers repeat. The suite itself needs npm; this needs nothing."""

import base64
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import request
from http_bench import EVENTS, HttpBench

CAN = "io.modelcontextprotocol/clientCapabilities"


class OffersTest(HttpBench):
    def setUp(self):
        super().setUp()
        self.serve(auth=(), binary="berth-conformance", command=())

    # ---- the older revisions: the client is asked while its call waits

    def hello(self, capabilities):
        """Headers of the session of a client that can so much."""
        own = {"Content-Type": "application/json", "Accept": f"application/json, {EVENTS}"}
        answer = self.send(request(0, "initialize", {"protocolVersion": "2025-11-25",
                                                     "capabilities": capabilities}), own)
        return {**own, "Mcp-Session-Id": answer.headers["mcp-session-id"]}

    def ask_older(self, tool, arguments, capabilities, answer):
        """The request that came in the stream of the call, and what the call gave."""
        own = self.hello(capabilities)
        with self.connect() as connection:
            connection.post(request(1, "tools/call", {"name": tool, "arguments": arguments}), own)
            status, headers = connection.head()
            if headers["content-type"] != EVENTS:
                return None, json.loads(connection.file.read(int(headers["content-length"])))
            asked = self.event(connection)
            told = self.send({"jsonrpc": "2.0", "id": asked["id"], **answer}, own)
            self.assertEqual((told.status, told.body), (202, b""))
            return asked, self.event(connection)

    @staticmethod
    def event(connection):
        return json.loads(connection.chunk().decode().partition("data: ")[2])

    def test_a_tool_asks_the_client_and_gets_its_answer(self):
        asked, answer = self.ask_older(
            "test_sampling", {"prompt": "how?"}, {"sampling": {}},
            {"result": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "so"}}})
        self.assertEqual(asked["method"], "sampling/createMessage")
        self.assertEqual(asked["params"]["messages"][0]["content"]["text"], "how?")
        self.assertEqual((answer["id"], answer["result"]["content"][0]["text"]),
                         (1, "LLM response: so"))

    def test_a_client_may_refuse_to_answer(self):
        _, answer = self.ask_older("test_elicitation", {"message": "who?"}, {"elicitation": {}},
                                   {"error": {"code": -1, "message": "nobody is there"}})
        self.assertIn("nobody is there", answer["error"]["message"])

    def test_a_client_that_cannot_is_not_asked(self):
        asked, answer = self.ask_older("test_sampling", {"prompt": "how?"}, {}, {})
        self.assertIsNone(asked)
        self.assertTrue(answer["result"]["isError"])

    def test_another_session_answers_nothing(self):
        first, second = self.hello({"sampling": {}}), self.hello({"sampling": {}})
        with self.connect() as connection:
            connection.post(request(1, "tools/call", {"name": "test_sampling"}), first)
            connection.head()
            asked = self.event(connection)
            for session, text in ((second, "another's"), (first, "its own")):
                self.send({"jsonrpc": "2.0", "id": asked["id"], "result": {
                    "content": {"type": "text", "text": text}}}, session)
            self.assertIn("its own", json.dumps(self.event(connection)))

    # ---- 2026-07-28: a result says what is needed

    def call_modern(self, tool, can=("elicitation", "sampling", "roots"), **params):
        return self.modern("tools/call", {"name": tool, **params},
                           meta={CAN: {name: {} for name in can}})

    def test_rounds_of_input_with_a_state_that_is_sealed(self):
        tool = "test_input_required_result_multi_round"
        state, answers = None, {}
        for key, content in (("step1", {"name": "A"}), ("step2", {"color": "b"})):
            result = self.call_modern(tool, inputResponses=answers,
                                      **({"requestState": state} if state else {})).result
            self.assertEqual(result["resultType"], "input_required")
            self.assertEqual(list(result["inputRequests"]), [key])
            self.assertNotEqual(result["requestState"], state)
            state = result["requestState"]
            answers = {key: {"action": "accept", "content": content}}
        tampered = self.call_modern(tool, inputResponses=answers, requestState=state + "x")
        self.assertEqual((tampered.status, tampered.error["code"]), (200, -32602))
        done = self.call_modern(tool, inputResponses=answers, requestState=state).result
        self.assertEqual((done["resultType"], len(done["content"])), ("complete", 1))

    def test_a_tool_that_the_client_cannot_use_is_refused_with_400(self):
        answer = self.call_modern("test_missing_capability", can=())
        self.assertEqual((answer.status, answer.error["code"], answer.error["data"]),
                         (400, -32021, {"requiredCapabilities": {"sampling": {}}}))
        self.assertEqual(self.call_modern("test_missing_capability", can=("sampling",)).status, 200)

    def test_a_header_repeats_its_argument(self):
        coded = f"=?base64?{base64.b64encode('é'.encode()).decode()}?="
        for value, header, status in (("eu", "eu", 200), ("é", coded, 200), ("eu", "us", 400),
                                      ("é", "é", 400), (5, "5.0", 200), ("5", "5.0", 400),
                                      ("eu", None, 400), ("eu", "=?base64?*?=", 400)):
            with self.subTest(value=value, header=header):
                own = {"Mcp_Param_Region": header} if header else {}
                answer = self.modern("tools/call", {"name": "test_header_argument",
                                                    "arguments": {"region": value}}, **own)
                self.assertEqual(answer.status, status, answer)
                if status == 400:
                    self.assertEqual(answer.error["code"], -32020)

    def test_it_listens_to_nobody_but_this_host(self):
        answer = self.send(request(1, "tools/list", modern=True), self.modern_headers("tools/list"),
                           host="evil.example.com")
        self.assertEqual(answer.status, 403)


if __name__ == "__main__":
    unittest.main()
