#!/usr/bin/env python3
"""The MCP Inspector's command line against the real berth, in both eras.
BERTH_BINARY and BERTH_CLIENTS say where both are."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from installed import MODULES, NODE

BERTH = os.path.abspath(os.environ["BERTH_BINARY"])
INSPECTOR = os.path.join(MODULES, "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
TOOLS = ["bash_exec", "bash_input", "bash_kill", "bash_output", "delete_workspace_file", "edit_file",
         "glob_files", "grep_files", "list_workspace_files", "load_from_workspace", "read_file",
         "save_to_workspace", "session_info", "write_file"]


def listed(done):
    """The names of the tools that one run of it has listed."""
    return [tool["name"] for tool in json.loads(done.stdout.splitlines()[0])["result"]["tools"]]


class Inspector(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="berth-inspector-")
        self.state = os.path.join(self.folder, "state")

    def tearDown(self):
        subprocess.run([BERTH, "sessions", "kill", "inspected", "--purge"],
                       env={**os.environ, "BERTH_STATE_DIR": self.state}, capture_output=True,
                       timeout=30, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def inspect(self, *arguments, era="legacy", own=(), **variables):
        """The Inspector's child gets few variables, so the state folder is an argument. `own` are
        the Inspector's options that stand before the server's command."""
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, **variables}
        command = [NODE, INSPECTOR, "--cli", *own, BERTH, "serve", "--session", "inspected",
                   "--state-dir", self.state, "--protocol-era", era, "--format", "json", "-q",
                   *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=60, check=False)

    def call(self, tool, era="legacy", **arguments):
        done = self.inspect("--method", "tools/call", "--tool-name", tool, "--tool-args-json",
                            json.dumps(arguments), era=era)
        self.assertIn(done.returncode, (0, 5), done.stderr)
        return done.returncode, json.loads(done.stdout.splitlines()[0])["result"]

    def test_the_list_is_strictly_portable(self):
        for era in ("legacy", "auto", "modern"):
            done = self.inspect("--method", "tools/list", "--strict", era=era)
            self.assertEqual(done.returncode, 0, (era, done.stdout, done.stderr))
            self.assertEqual(listed(done), TOOLS)

    def test_only_variables_that_are_named_reach_the_server(self):
        """What the README says of it: a setting in the environment of the Inspector is none."""
        def tools(**how):
            done = self.inspect("--method", "tools/list", **how)
            self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
            return listed(done)
        self.assertEqual(tools(BERTH_TOOLS="read_file"), TOOLS)
        self.assertEqual(tools(own=("-e", "BERTH_TOOLS=read_file")), ["read_file"])

    def test_every_tool(self):
        for era in ("legacy", "modern"):
            _, started = self.call("bash_exec", era, command="cat", background=True, stdin_open=True)
            job = re.search(r"running in the background as (job-\d+-[0-9a-f]{4}) ",
                            started["content"][0]["text"])[1]
            steps = [
                ("bash_input", {"job_id": job, "input": "typed\n"}, "Sent 6 bytes"),
                ("bash_output", {"job_id": job, "wait": 10}, "typed"),
                ("bash_kill", {"job_id": job}, "on request"),
                ("bash_exec", {"command": "cd /tmp && echo hi; echo err >&2; exit 3"}, "[exit 3"),
                ("write_file", {"path": "~/n.txt", "content": "one\r\ntwo\r\n"}, "n.txt"),
                ("edit_file", {"path": "~/n.txt", "old_text": "two", "new_text": "2"}, "+2"),
                ("read_file", {"path": "~/n.txt"}, "2\t2"),
                ("glob_files", {"pattern": "*.txt", "path": "~"}, "/home/user/n.txt"),
                ("grep_files", {"pattern": "^one", "path": "~"}, "n.txt:1:one"),
                ("save_to_workspace", {"sandbox_path": "~/n.txt"}, "/n.txt"),
                ("list_workspace_files", {}, "/n.txt"),
                ("load_from_workspace", {"workspace_path": "/n.txt", "sandbox_path": "~/m.txt"}, "m.txt"),
                ("delete_workspace_file", {"workspace_path": "/n.txt"}, "/n.txt"),
                ("session_info", {}, "local"),
            ]
            for tool, arguments, expected in steps:
                with self.subTest(era=era, tool=tool):
                    status, result = self.call(tool, era=era, **arguments)
                    self.assertEqual(status, 0, result)
                    self.assertIn(expected, result["content"][0]["text"])
                    self.assertTrue(result["_meta"]["berth/result"]["ok"])

    def test_resources_and_the_guide(self):
        def result(era, *arguments):
            done = self.inspect("--method", *arguments, era=era)
            self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
            return json.loads(done.stdout.splitlines()[0])["result"]
        self.call("write_file", path="~/n.txt", content="kept\n")
        self.call("save_to_workspace", sandbox_path="~/n.txt")
        for era in ("legacy", "modern"):
            with self.subTest(era):
                self.assertEqual([each["uri"] for each in result(era, "resources/list")["resources"]],
                                 ["berth://session", "workspace:///n.txt"])
                read = result(era, "resources/read", "--uri", "workspace:///n.txt")
                self.assertEqual(read["contents"][0]["text"], "kept\n")
                guide = result(era, "prompts/get", "--prompt-name", "sandbox-guide")
                self.assertIn("save_to_workspace", guide["messages"][0]["content"]["text"])

    def test_a_failed_tool_is_told_as_one(self):
        status, result = self.call("read_file", path="/nowhere")
        self.assertEqual(status, 5)
        self.assertTrue(result["isError"])
        self.assertEqual(result["_meta"]["berth/error"]["code"], "not_found")


if __name__ == "__main__":
    unittest.main(verbosity=2)
