"""Resources, prompts, completion and messages on the real server: both eras, stdio and HTTP."""

import base64
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import Bench, request
from http_bench import HttpBench, bearer, token_file
from mcp_client import LEGACY, Result, RpcError, binary_path

PAGE = 100
LIMIT = 5 << 20


class Cases:
    """What a client sees of them; `ask` sends a request and returns its result, or raises RpcError."""

    def save(self, path, command):
        """Writes a file of the workspace with what a command prints."""
        made = self.tool("bash_exec", command=f"{{ {command} ; }} >~/made")
        self.assertFalse(made.is_error, made)
        saved = self.tool("save_to_workspace", sandbox_path="~/made", workspace_path=path)
        self.assertFalse(saved.is_error, saved)

    def refused(self, method, params):
        with self.assertRaises(RpcError) as refused:
            self.ask(method, params)
        return refused.exception

    def contents(self, uri):
        read = self.ask("resources/read", {"uri": uri})
        self.assertEqual([each["uri"] for each in read["contents"]], [uri])
        return read["contents"][0]

    def test_capabilities_are_those_that_there_are(self):
        self.assertEqual(self.capabilities(), {
            "tools": {}, "logging": {}, "resources": {}, "prompts": {}, "completions": {}})

    def test_files_of_the_workspace_are_read_as_text_or_bytes(self):
        self.save("/notes/ä b.md", "echo '# ä'")
        self.save("/raw", "printf '\\377\\000'")
        listed = {each["uri"]: each for each in self.ask("resources/list")["resources"]}
        uri = "workspace:///notes/%C3%A4%20b.md"
        self.assertEqual(set(listed), {"berth://session", uri, "workspace:///raw"})
        self.assertEqual((listed[uri]["name"], listed[uri]["mimeType"], listed[uri]["size"]),
                         ("notes/ä b.md", "text/markdown", 5))
        self.assertIn("lastModified", listed[uri]["annotations"])
        self.assertEqual(self.contents(uri),
                         {"uri": uri, "mimeType": "text/markdown", "text": "# ä\n"})
        raw = self.contents("workspace:///raw")
        self.assertEqual((base64.b64decode(raw["blob"]), raw["mimeType"]),
                         (b"\xff\0", "application/octet-stream"))

    def test_what_is_not_there_or_not_for_it_is_refused(self):
        self.save("/big", f"head -c {LIMIT + 1} /dev/zero")
        missing = self.refused("resources/read", {"uri": "workspace:///none"})
        self.assertEqual(missing.code, self.not_found)
        self.assertEqual((missing.data["uri"], missing.data["code"]),
                         ("workspace:///none", "not_found"))
        for uri, code in (("workspace:///big", "too_large"), ("workspace:///../x", "invalid_path"),
                          ("workspace:///%2e%2e/x", "invalid_path"),
                          ("workspace:///a%00", "invalid_argument"),
                          ("workspace:///a?b", "invalid_argument")):
            with self.subTest(uri):
                refused = self.refused("resources/read", {"uri": uri})
                self.assertEqual((refused.code, refused.data["code"]), (-32602, code))
        self.assertIn("load_from_workspace", self.refused(
            "resources/read", {"uri": "workspace:///big"}).data["hint"])
        self.assertEqual(self.refused("resources/read", {"uri": "file:///etc/passwd"}).code,
                         self.not_found)
        self.assertEqual(self.refused("resources/read", {}).code, -32602)

    def test_the_list_comes_in_pages(self):
        made = self.tool("bash_exec", command="mkdir ~/many; cd ~/many; "
                         f"for i in $(seq -w {PAGE + 20}); do echo $i >f$i; done")
        self.assertFalse(made.is_error, made)
        self.assertFalse(self.tool("save_to_workspace", sandbox_path="~/many").is_error)
        first = self.ask("resources/list")
        self.assertEqual(len(first["resources"]), PAGE + 1)
        second = self.ask("resources/list", {"cursor": first["nextCursor"]})
        self.assertNotIn("nextCursor", second)
        names = [each["name"] for each in first["resources"][1:] + second["resources"]]
        self.assertEqual(names, [f"many/f{i:03}" for i in range(1, PAGE + 21)])
        self.assertEqual(self.refused("resources/list", {"cursor": "more"}).code, -32602)

    def test_paths_are_completed_by_the_template(self):
        for path in ("/rep/a.txt", "/rep/b.txt", "/zz"):
            self.save(path, "echo x")
        templates = self.ask("resources/templates/list")["resourceTemplates"]
        self.assertEqual([each["uriTemplate"] for each in templates], ["workspace:///{+path}"])
        ref = {"type": "ref/resource", "uri": templates[0]["uriTemplate"]}
        found = self.ask("completion/complete",
                         {"ref": ref, "argument": {"name": "path", "value": "re"}})
        self.assertEqual(found["completion"],
                         {"values": ["rep/a.txt", "rep/b.txt"], "total": 2, "hasMore": False})
        self.assertEqual(self.refused("completion/complete", {
            "ref": ref, "argument": {"name": "other", "value": ""}}).code, -32602)

    def test_the_session_is_told_and_no_machine_is_made(self):
        session = self.contents("berth://session")
        self.assertEqual(session["mimeType"], "application/json")
        facts = json.loads(session["text"])
        self.assertEqual((facts["session"], facts["backend"]), (self.session_name, "direct"))
        self.ask("resources/list")
        self.ask("prompts/get", {"name": "sandbox-guide"})
        self.assertEqual(self.state.guests(), [])

    def test_the_guide_says_what_the_instructions_say(self):
        listed = self.ask("prompts/list")["prompts"]
        self.assertEqual([each["name"] for each in listed], ["sandbox-guide"])
        guide = self.ask("prompts/get", {"name": "sandbox-guide"})["messages"]
        self.assertEqual([each["role"] for each in guide], ["user"])
        text = guide[0]["content"]["text"]
        self.assertTrue(text.startswith(self.instructions()))
        self.assertIn("save_to_workspace", text)
        self.assertEqual(self.refused("prompts/get", {"name": "other"}).code, -32602)

    def test_calls_send_messages_to_who_wants_them(self):
        self.assertEqual(self.logged("bash_exec", None, command="true"), [])
        self.assertEqual(self.logged("bash_exec", "info", command="true"), [])
        self.assertEqual(self.logged("bash_exec", "debug", command="true"),
                         [("debug", "berth", "bash_exec: ok")])
        level, logger, data = self.logged("read_file", "notice", path="/nowhere")[0]
        self.assertEqual((level, logger), ("warning", "berth"))
        self.assertIn("read_file: not_found", data)
        self.assertEqual(self.logged("read_file", "error", path="/nowhere"), [])

    @staticmethod
    def messages_of(notifications):
        return [(each["params"]["level"], each["params"]["logger"], each["params"]["data"])
                for each in notifications if each["method"] == "notifications/message"]


class OnStdio(Cases):
    session_name = "one"

    def setUp(self):
        super().setUp()
        self.berth = self.start("serve", "--session", "one", era=self.era)

    def ask(self, method, params=None):
        return self.berth.request(method, params)

    def tool(self, name, **arguments):
        return self.berth.call_tool(name, arguments)


class ModernStdioTest(OnStdio, Bench):
    era, not_found = "modern", -32602

    def capabilities(self):
        return self.berth.request("server/discover")["capabilities"]

    def instructions(self):
        return self.berth.request("server/discover")["instructions"]

    def logged(self, tool, level, **arguments):
        self.berth.notifications.clear()
        meta = {"io.modelcontextprotocol/logLevel": level} if level else {}
        self.berth.request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})
        return self.messages_of(self.berth.notifications)

    def test_what_a_client_may_keep_is_told(self):
        for method, params in (("resources/list", {}), ("resources/templates/list", {}),
                               ("resources/read", {"uri": "berth://session"}), ("prompts/list", {})):
            with self.subTest(method):
                result = self.ask(method, params)
                self.assertEqual(result["cacheScope"], "private")
                self.assertGreaterEqual(result["ttlMs"], 0)
                self.assertEqual(result["resultType"], "complete")

    def test_a_level_that_there_is_not_is_refused(self):
        self.assertEqual(self.refused("tools/call", {"name": "session_info", "_meta": {
            "io.modelcontextprotocol/logLevel": "loud"}}).code, -32602)
        self.assertEqual(self.refused("logging/setLevel", {"level": "info"}).code, -32601)


class LegacyStdioTest(OnStdio, Bench):
    era, not_found = "legacy", -32002

    def capabilities(self):
        return self.berth.initialize_result["capabilities"]

    def instructions(self):
        return self.berth.initialize_result["instructions"]

    def logged(self, tool, level, **arguments):
        self.berth.notifications.clear()
        if level:
            self.assertEqual(self.ask("logging/setLevel", {"level": level}), {})
        self.tool(tool, **arguments)
        return self.messages_of(self.berth.notifications)

    def test_a_level_that_there_is_not_is_refused(self):
        self.assertEqual(self.refused("logging/setLevel", {"level": "loud"}).code, -32602)
        self.assertEqual(self.refused("resources/subscribe", {"uri": "berth://session"}).code, -32601)

    def test_tools_that_are_left_out_take_their_resources_along(self):
        few = self.start("serve", "--tools", "bash_exec", era="legacy")
        self.assertEqual(few.initialize_result["capabilities"],
                         {"tools": {}, "logging": {}, "prompts": {}})
        with self.assertRaises(RpcError) as refused:
            few.request("resources/read", {"uri": "workspace:///x"})
        self.assertEqual(refused.exception.code, -32601)
        text = few.request("prompts/get", {"name": "sandbox-guide"})["messages"][0]["content"]["text"]
        self.assertTrue(text.endswith(few.initialize_result["instructions"]))
        some = self.start("serve", "--tools", "session_info", era="legacy")
        self.assertEqual([each["uri"] for each in some.request("resources/list")["resources"]],
                         ["berth://session"])
        self.assertEqual(some.request("resources/templates/list")["resourceTemplates"], [])
        self.assertNotIn("completions", some.initialize_result["capabilities"])

    def test_a_notice_is_a_message_too(self):
        self.ask("logging/setLevel", {"level": "notice"})
        self.tool("bash_exec", command="true")
        subprocess.run([binary_path("berth-direct"), "sessions", "kill", "one"], check=True, timeout=20,
                       capture_output=True, env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.contents("berth://session")  # is perhaps not for the agent, who must still be told
        self.berth.notifications.clear()
        result = self.tool("bash_exec", command="echo again")
        self.assertEqual([data for _, _, data in self.messages_of(self.berth.notifications)],
                         result.notices)
        self.assertNotEqual(result.notices, [])


class ModernHttpTest(Cases, HttpBench):
    not_found, session_name = -32602, "default"

    def setUp(self):
        super().setUp()
        self.serve()

    def ask(self, method, params=None):
        answer = self.modern(method, params)
        if "error" in answer.message:
            raise RpcError(answer.error)
        return answer.result

    def tool(self, name, **arguments):
        return self.call(name, **arguments)

    def capabilities(self):
        return self.ask("server/discover")["capabilities"]

    def instructions(self):
        return self.ask("server/discover")["instructions"]

    def logged(self, tool, level, **arguments):
        answer = self.modern("tools/call", {"name": tool, "arguments": arguments},
                             meta={"io.modelcontextprotocol/logLevel": level} if level else {})
        return self.messages_of(each for each in answer.messages if "method" in each)

    def test_what_is_not_offered_is_404(self):
        self.stop()
        self.serve("--tools", "bash_exec")
        answer = self.modern("resources/list")
        self.assertEqual((answer.status, answer.error["code"]), (404, -32601))
        self.assertEqual(self.modern("prompts/list").status, 200)

    def test_the_name_of_a_resource_is_repeated_by_a_header(self):
        headers = self.modern_headers("resources/read", "berth://session")
        message = request(1, "resources/read", {"uri": "berth://session"}, modern=True)
        self.assertEqual(self.send(message, headers).status, 200)
        wrong = self.send(message, {**headers, "Mcp-Name": "workspace:///x"})
        self.assertEqual((wrong.status, wrong.error["code"]), (400, -32020))


class CallersTest(HttpBench):
    def test_nobody_sees_files_or_session_of_another(self):
        tokens = token_file(self.state.path / "tokens", a={"token": "aa", "principal": "ann"},
                            b={"token": "bb", "principal": "bob"})
        self.serve(auth=("--token-file", tokens))
        ann, bob = bearer("aa"), bearer("bb")
        self.assertFalse(self.call("bash_exec", ann, command="echo hers >~/f").is_error)
        self.assertFalse(self.call("save_to_workspace", ann, sandbox_path="~/f").is_error)
        read = {"uri": "workspace:///f"}
        self.assertEqual(self.modern("resources/read", read, **ann).result["contents"][0]["text"],
                         "hers\n")
        self.assertEqual(self.modern("resources/read", read, **bob).error["code"], -32602)
        self.assertEqual([each["uri"] for each in self.modern("resources/list", **bob).result["resources"]],
                         ["berth://session"])
        self.assertEqual(self.modern("completion/complete", {
            "ref": {"type": "ref/resource", "uri": "workspace:///{+path}"},
            "argument": {"name": "path", "value": ""}}, **bob).result["completion"]["values"], [])
        session = self.modern("resources/read", {"uri": "berth://session"}, **bob).result
        self.assertEqual(json.loads(session["contents"][0]["text"])["principal"], "bob")


class LegacyHttpTest(Cases, HttpBench):
    not_found = -32002

    def setUp(self):
        super().setUp()
        self.serve()
        self.session = self.initialize()
        self.session_name = self.session["Mcp-Session-Id"]

    def post(self, method, params=None):
        return self.send(request(1, method, params), self.session)

    def ask(self, method, params=None):
        answer = self.post(method, params)
        if "error" in answer.message:
            raise RpcError(answer.error)
        return answer.result

    def tool(self, name, **arguments):
        return Result(self.ask("tools/call", {"name": name, "arguments": arguments}))

    def hello(self):
        return self.ask("initialize", {"protocolVersion": LEGACY, "capabilities": {}})

    def capabilities(self):
        return self.hello()["capabilities"]

    def instructions(self):
        return self.hello()["instructions"]

    def logged(self, tool, level, **arguments):
        if level:
            self.assertEqual(self.ask("logging/setLevel", {"level": level}), {})
        answer = self.post("tools/call", {"name": tool, "arguments": arguments})
        return self.messages_of(each for each in answer.messages if "method" in each)

    def test_each_session_has_a_level_of_its_own(self):
        self.ask("logging/setLevel", {"level": "debug"})
        first, self.session = self.session, self.initialize()
        self.assertEqual(self.logged("session_info", None), [])
        self.session = first
        self.assertEqual(self.logged("session_info", None), [("debug", "berth", "session_info: ok")])


if __name__ == "__main__":
    unittest.main()
