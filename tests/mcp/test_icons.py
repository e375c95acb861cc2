"""Icons beside the names of the server, its tools, prompts and resources: for clients of the revisions
that know of them, on stdio and over HTTP, and for no other."""

import base64
import pathlib
import sys
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import Bench, request
from http_bench import HttpBench
from mcp_client import CLIENT_INFO

LISTS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
         "resources/templates/list": "resourceTemplates"}
SVG = "{http://www.w3.org/2000/svg}"
# What a client reads before its first call; a model is shown none of it.
MOST = 6 * 1024


class Cases:
    """`ask` sends a request of `version` and returns its result; `info` is what the server said of
    itself."""

    def every_one(self):
        """Whatever has a name, by it."""
        found = {"berth": self.info}
        for method, member in LISTS.items():
            found.update((each["name"], each) for each in self.ask(method)[member])
        self.assertLessEqual({"bash_exec", "read_file", "sandbox-guide", "session", "workspace"},
                             set(found))
        return found

    def check_all_have_one(self):
        sizes = 0
        for name, each in self.every_one().items():
            with self.subTest(name):
                icon, = each["icons"]
                kind, _, data = icon["src"].partition(",")
                self.assertEqual(kind, "data:image/svg+xml;base64")
                drawing = xml.fromstring(base64.b64decode(data, validate=True))
                self.assertEqual([one.tag for one in drawing.iter()], [f"{SVG}svg", f"{SVG}path"])
                sizes += len(str(icon))
        self.assertLess(sizes, MOST)

    def check_none_has(self):
        for name, each in self.every_one().items():
            self.assertNotIn("icons", each, name)


class StdioTest(Bench, Cases):
    def open(self, version, *arguments):
        berth = self.start("--principal", "icons", *arguments, era="legacy", handshake=False)
        self.info = berth.initialize(version)["serverInfo"]
        self.ask = berth.request

    def test_of_2025_11_25(self):
        self.open("2025-11-25")
        self.check_all_have_one()

    def test_older(self):
        for version in ("2025-06-18", "2025-03-26", "2024-11-05"):
            with self.subTest(version):
                self.open(version)
                self.check_none_has()

    def test_of_2026_07_28(self):
        berth = self.start("--principal", "icons", era="modern")
        self.ask = berth.request
        discovered = self.ask("server/discover")
        self.info = discovered["_meta"]["io.modelcontextprotocol/serverInfo"]
        self.check_all_have_one()
        again = self.ask("tools/list")["_meta"]["io.modelcontextprotocol/serverInfo"]
        self.assertEqual(set(again), {"name", "version"})  # not with each result

    def test_a_file_of_the_workspace_has_none(self):
        """There may be a hundred in a page."""
        berth = self.start("--principal", "icons", era="modern")
        berth.call_tool("write_file", {"file_path": "~/a", "content": "a"})
        berth.call_tool("save_to_workspace", {"sandbox_path": "~/a", "workspace_path": "/a"})
        listed = {each["uri"]: each for each in berth.request("resources/list")["resources"]}
        self.assertNotIn("icons", listed["workspace:///a"])

    def test_a_tool_keeps_its_drawing_in_a_dialect(self):
        self.open("2025-11-25")
        own = {each["name"]: each["icons"] for each in self.ask("tools/list")["tools"]}
        self.open("2025-11-25", "--tool-dialect", "claude")
        claude = {each["name"]: each["icons"] for each in self.ask("tools/list")["tools"]}
        self.assertEqual((claude["Bash"], claude["Read"]), (own["bash_exec"], own["read_file"]))


class HttpTest(HttpBench, Cases):
    def open(self, version):
        session = self.initialize(version)
        self.ask = lambda method: self.send(request(2, method), session).result
        self.info = self.send(request(1, "initialize", {
            "protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT_INFO}), {
                name: session[name] for name in ("Content-Type", "Accept")}).result["serverInfo"]

    def test_each_session_has_what_its_revision_knows(self):
        self.serve("--principal", "icons")
        self.open("2025-06-18")
        older, info = self.ask, self.info
        self.open("2025-11-25")
        self.check_all_have_one()
        self.ask, self.info = older, info
        self.check_none_has()

    def test_of_2026_07_28(self):
        self.serve("--principal", "icons")
        self.ask = lambda method: self.modern(method).result
        self.info = self.ask("server/discover")["_meta"]["io.modelcontextprotocol/serverInfo"]
        self.check_all_have_one()


if __name__ == "__main__":
    unittest.main()
