"""Dialects of the tools as a client meets them: what is listed, what --tools and --read-only mean, and
how `berth call` takes the names. What the tools say in a dialect: tests/parity/cases/dialect.py."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import Bench
from mcp_client import ROOT, Berth, RpcError, binary_path, model_bytes
from schema import input_schema, output_schema

CLAUDE = ("--tool-dialect", "claude")
LARGEST = {"BERTH_EXEC_TIMEOUT": "86399s", "BERTH_EXEC_MAX_TIMEOUT": "86400s",
           "BERTH_JOB_TIMEOUT": "86399s", "BERTH_JOB_MAX_TIMEOUT": "86400s",
           "BERTH_OUTPUT_BUDGET": "400000", "BERTH_READ_LIMIT": "100000", "BERTH_READ_BUDGET": "400000",
           "BERTH_GLOB_LIMIT": "100000", "BERTH_GREP_LIMIT": "100000", "BERTH_GREP_LINE": "10000"}
OWN_NAMES = {"Bash": "bash_exec", "Edit": "edit_file", "Glob": "glob_files", "Grep": "grep_files",
             "Read": "read_file", "TaskStop": "bash_kill", "Write": "write_file"}


class ListTest(Bench):
    def listed(self, *arguments):
        return {tool["name"]: tool for tool in self.start(*arguments, era="modern").list_tools()}

    def test_berth_s_own_dialect_is_the_default_and_what_its_schemas_say(self):
        default = self.listed()
        self.assertEqual(default, self.listed("--tool-dialect", "berth"))
        self.assertEqual(sorted(default), sorted(
            path.stem for path in (ROOT / "schemas" / "tools").glob("*.json") if "." not in path.stem))
        for name, tool in default.items():
            self.assertEqual(tool["inputSchema"], input_schema(name))

    def test_the_dialect_lists_the_same_tools_under_its_names(self):
        default = self.listed("--structured-content")
        claude = self.listed("--structured-content", *CLAUDE)
        self.assertEqual(sorted(OWN_NAMES.get(name, name) for name in claude), sorted(default))
        for name, tool in claude.items():
            own = default[OWN_NAMES.get(name, name)]
            for same in ("annotations", "outputSchema", "_meta"):
                self.assertEqual(tool[same], own[same])
            if name in OWN_NAMES:
                file = ROOT / "schemas" / "dialects" / f"claude_{name.lower()}.json"
                self.assertEqual(tool["inputSchema"], json.loads(file.read_text()))
            else:
                self.assertEqual(tool["inputSchema"], own["inputSchema"])

    def test_the_lists_are_small(self):
        """Also as a sandbox's, of which there is more to tell, with the largest settings, and where
        none can be made."""
        with tempfile.TemporaryDirectory(prefix="berth-dialect-") as refused:
            os.chmod(refused, 0o777)
            for program, more in (("berth-direct", ()), ("berth", ()), ("berth", ("--network", "host")),
                                  ("berth", ("--state-dir", refused))):
                for arguments in (more, (*more, *CLAUDE)):
                    with self.subTest(f"{program} {arguments}"):
                        self.check_small(program, arguments, refused in more)

    def check_small(self, program, arguments, disabled):
        with Berth(*arguments, state=self.state, binary=binary_path(program), era="modern",
                   env=LARGEST) as berth:
            tools = berth.request("tools/list")["tools"]
        self.assertLess(model_bytes(tools), 24 * 1024)
        for tool in tools:
            text = tool["description"]
            self.assertLess(len(text.encode()), 2000, tool["name"])
            told = text.startswith("DISABLED: the state directory")
            self.assertEqual(text.count("Example: {"), 0 if told else 1, text)
            if tool["name"] in ("bash_exec", "Bash"):
                self.assertEqual(told, disabled)

    def test_no_text_names_a_tool_that_is_not_there(self):
        berth = self.start(*CLAUDE)
        told = json.dumps(berth.list_tools()) + berth.initialize_result["instructions"]
        for name in OWN_NAMES.values():
            self.assertNotIn(name, told)


class FilterTest(Bench):
    def names(self, *arguments):
        return [tool["name"] for tool in self.start(*CLAUDE, *arguments).list_tools()]

    def test_tools_takes_the_names_of_both_dialects(self):
        self.assertEqual(self.names("--tools", "Read,bash_exec,session_info"),
                         ["Bash", "Read", "session_info"])
        self.assertEqual(self.names("--tools", "Read,read_file"), ["Read"])
        self.assertEqual(self.names("--read-only"),
                         ["Glob", "Grep", "Read", "bash_output", "list_workspace_files", "session_info"])

    def test_names_of_the_dialect_mean_nothing_in_berth_s_own(self):
        done = subprocess.run([binary_path("berth-direct"), "--tools", "Read"], timeout=20,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.assertEqual(done.returncode, 2)
        self.assertIn('no tool is named "Read"', done.stderr)

    def test_what_is_not_served_is_named_as_it_would_be(self):
        berth = self.start(*CLAUDE, "--tools", "Read")
        with self.assertRaises(RpcError) as refused:
            berth.call_tool("Bash", {"command": "true"})
        self.assertIn("Tool Bash is not served: the operator", refused.exception.message)
        self.assertIn("Not served here: Bash,", berth.initialize_result["instructions"])
        with self.assertRaises(RpcError) as unknown:
            berth.call_tool("read_file", {"path": "a"})
        self.assertEqual(unknown.exception.message, "Unknown tool: read_file; here it is Read")
        berth = self.start(*CLAUDE)
        for name, here in (("LS", "Bash"), ("KillShell", "TaskStop"), ("mcp__berth__Read", "Read")):
            with self.assertRaises(RpcError) as unknown:
                berth.call_tool(name, {})
            self.assertEqual(unknown.exception.message, f"Unknown tool: {name}; here it is {here}")


class CommandLineTest(Bench):
    def run_berth(self, *arguments, **variables):
        return subprocess.run([binary_path("berth-direct"), *arguments], timeout=30, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path), **variables})

    def test_call_takes_the_dialect_s_names_and_ends_as_the_tool_does(self):
        done = self.run_berth("call", *CLAUDE, "Bash", '{"command":"echo hi","timeout":5000}')
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "hi"))
        done = self.run_berth("call", "Bash", '{"command":"exit 3"}', BERTH_TOOL_DIALECT="claude")
        self.assertEqual((done.returncode, done.stdout.strip()), (1, "Exit code 3"))
        done = self.run_berth("call", *CLAUDE, "bash_exec", '{"command":"true"}')
        self.assertEqual(done.returncode, 1)
        self.assertIn("here it is Bash", done.stderr)
        self.assertIn("  berth call Bash '{", self.run_berth("call", *CLAUDE, "Bash", "{").stderr)

    def test_the_setting_is_one_of_two_words(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="berth-dialect-"))
        file = pathlib.Path(folder) / "config.toml"
        file.write_text('tool_dialect = "claude"\n')
        shown = json.loads(self.run_berth("config", "--json", "--config", str(file)).stdout)
        self.assertEqual(shown["tool_dialect"]["value"], "claude")
        done = self.run_berth("config", "--tool-dialect", "codex")
        self.assertEqual(done.returncode, 2)
        self.assertIn('Allowed: "berth", "claude".', done.stderr)


class ResultTest(Bench):
    def test_a_failure_is_one_in_both_eras_and_its_data_are_whole(self):
        for era in ("legacy", "modern"):
            berth = self.start(*CLAUDE, "--structured-content", era=era)
            result = berth.call_tool("Bash", {"command": "echo out; exit 3"})
            self.assertTrue(result.is_error)
            self.assertEqual(result.text, "Exit code 3\nout")
            self.assertEqual(set(result.structured), set(output_schema("bash_exec")["required"]))

    def test_a_message_that_is_too_long_is_told_in_the_dialect_s_words(self):
        berth = self.start(*CLAUDE, env={"BERTH_REQUEST_MAX": "64KiB"})
        result = berth.call_tool("Write", {"file_path": "a", "content": "x" * 70_000})
        self.assertEqual(result.error["code"], "too_large")
        self.assertIn("the first with Write and the others appended with Bash", result.text)

    def test_what_the_text_does_not_carry_is_in_the_data(self):
        berth = self.start(*CLAUDE)
        berth.call_tool("Write", {"file_path": "a", "content": "x\n"})
        result = berth.call_tool("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"})
        self.assertIn("-x\n+y\n", result.data["diff"])
        self.assertNotIn("stdout", berth.call_tool("Bash", {"command": "echo hi"}).data)


if __name__ == "__main__":
    unittest.main()
