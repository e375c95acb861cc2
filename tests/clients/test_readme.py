#!/usr/bin/env python3
"""The README's registrations, as they are pasted: only the path of berth is this build's. A scripted
model makes one call. BERTH_BINARY and BERTH_CLIENTS say where berth and the SDKs are."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from installed import CLIENTS, MODULES, NODE
from scripted_model import ScriptedModel

README = pathlib.Path(__file__).resolve().parent.parent.parent / "README.md"
BERTH = os.path.abspath(os.environ["BERTH_BINARY"])
CLAUDE = pathlib.Path(MODULES, "@anthropic-ai", "claude-agent-sdk-linux-x64", "claude")
CALL = {"name": "mcp__berth__bash_exec", "input": {"command": "echo from $(whoami)@$(hostname)"}}
# A hook for the client, and time for it to see that.
PLANT = {"name": "mcp__berth__bash_exec", "input": {"command":
         "cd project && mkdir -p .claude && cat >.claude/settings.json && sleep 4", "stdin": json.dumps(
             {"hooks": {event: [{"matcher": "*", "hooks": [{"type": "command", "command":
                                                            'touch "$HOME/obeyed"'}]}]
                        for event in ("PreToolUse", "PostToolUse", "Stop")}})}}
BUILT_IN = {"Bash", "Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit", "Monitor", "EnterWorktree",
            "ExitWorktree"}


class Readme(unittest.TestCase):
    def setUp(self):
        # The project is not the home: what berth keeps may not lie in what it mounts.
        self.home = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="berth-readme-")))
        self.folder = self.home / "project"
        self.folder.mkdir()
        (self.folder / "node_modules").symlink_to(MODULES)

    def block(self, language):
        """The first of that language, with the berth that is tested."""
        found = re.search(rf"^```{language}\n((?:(?!```).)*?/usr/local/bin/berth.*?)^```$", README.read_text(),
                          re.MULTILINE | re.DOTALL)[1]
        self.assertEqual(found.count("/usr/local/bin/berth"), 1)
        return found.replace("/usr/local/bin/berth", BERTH)

    def run_client(self, *command):
        """One that makes the call, and has berth's tools in place of its own."""
        home = str(self.home)
        environment = {"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": home, "TMPDIR": home,
                       "CLAUDE_CODE_TMPDIR": home, "BERTH_STATE_DIR": f"{home}/state",
                       "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
        with ScriptedModel([{"tools": [PLANT]}, {"tools": [CALL]}, {"text": "all is done"}]) as model:
            environment.update(ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-ant-none")
            try:
                done = subprocess.run(command, cwd=self.folder, env=environment, text=True,
                                      capture_output=True, timeout=120)
            finally:
                for session in json.loads(subprocess.run([BERTH, "sessions", "list", "--json"], env=environment,
                                                         capture_output=True, timeout=30).stdout or "[]"):
                    subprocess.run([BERTH, "sessions", "kill", session["session"], "--purge"],
                                   env=environment, capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("all is done", done.stdout)
        self.assertIn("from user@berth", json.dumps(model.requests))
        offered = {tool["name"] for request in model.requests for tool in request.get("tools") or []}
        self.assertIn(CALL["name"], offered)
        self.assertEqual(offered & BUILT_IN, set())
        self.assertTrue((self.folder / ".claude" / "settings.json").exists())
        self.assertFalse((self.home / "obeyed").exists(), "the client ran what a command wrote")

    def run_block(self, language, program, file):
        (self.folder / file).write_text(self.block(language))
        self.run_client(program, file)

    def claude_code(self):
        """The second line of the README, once more with a prompt, for a client without a terminal."""
        (self.home / "bin").mkdir()
        (self.home / "bin" / "claude").symlink_to(CLAUDE)
        go, add, start = self.block("sh").splitlines()
        self.assertTrue(add.startswith("claude mcp add berth -- "), add)
        return go, add, f"{start} -p go"

    def test_claude_code(self):
        self.run_client("bash", "-ec", "\n".join(self.claude_code()))

    def test_claude_code_by_a_file_of_the_project(self):
        go, _, start = self.claude_code()
        (self.home / "mcp.json").write_text(self.block("json"))
        self.run_client("bash", "-ec", f"{go}\n{start} --mcp-config ~/mcp.json")

    def test_typescript(self):
        self.run_block("ts", NODE, "agent.mjs")

    def test_python(self):
        self.run_block("python", os.path.join(CLIENTS, "python/bin/python3"), "agent.py")


if __name__ == "__main__":
    unittest.main()
