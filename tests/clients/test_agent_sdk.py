#!/usr/bin/env python3
"""The real Claude Agent SDK drives the real berth: every tool, parallel reads, an interrupt, a
server that is killed. BERTH_BINARY and BERTH_CLIENTS say where both are."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from installed import CLIENTS, NODE
from scripted_model import ScriptedModel

HERE = pathlib.Path(__file__).resolve().parent
BERTH = os.path.abspath(os.environ["BERTH_BINARY"])
LIST = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'


def call(name, **arguments):
    return {"name": f"mcp__berth__{name}", "input": arguments}


class AgentSdk(unittest.TestCase):
    session = ("--session", "agent")  # as `berth call` names it

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="berth-agent-")
        # Below it: what the SDK leaves in the temporary folder goes with it.
        os.mkdir(os.path.join(self.folder, "tmp"))
        self.state = os.path.join(self.folder, "state")

    def tearDown(self):
        subprocess.run([BERTH, "sessions", "kill", "agent", "--purge"], env=self.environment(),
                       capture_output=True, timeout=30, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more):
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        temporary = os.path.join(self.folder, "tmp")
        return {**keep, "HOME": self.folder, "BERTH_STATE_DIR": self.state,
                "TMPDIR": temporary, "CLAUDE_CODE_TMPDIR": temporary,
                "BERTH_CLIENTS": CLIENTS, **more}

    def run_agent(self, steps, during=None, gate=(), arguments=("--session", "agent"), **more):
        command = [*gate, BERTH, "serve", *arguments]
        servers = {"berth": {"command": command[0], "args": command[1:]}}
        return self.run_client(steps, servers, during, **more)

    def run_client(self, steps, servers, during=None, **more):
        """The messages of one run of the SDK with these servers."""
        with ScriptedModel(steps) as model:
            agent = subprocess.Popen(
                [NODE, HERE / "agent.mjs"], cwd=self.folder, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, start_new_session=True,
                env=self.environment(ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-ant-none",
                                     AGENT_SERVERS=json.dumps(servers), **more))
            if during:
                threading.Thread(target=during, daemon=True).start()
            try:
                out, err = agent.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                os.killpg(agent.pid, signal.SIGKILL)  # the SDK's program and its server too
                self.fail(f"the agent hangs: {agent.communicate()}")
            self.assertEqual(agent.returncode, 0, err)
            messages = [json.loads(line) for line in out.splitlines()]
            self.model_requests = model.requests
        return messages

    @staticmethod
    def results(messages):
        """Every call with its result, in the order of the calls: (is_error, text or blocks). The
        results of calls made side by side come in any order."""
        calls, results = [], {}
        for message in messages:
            blocks = message.get("message", {}).get("content", [])
            for block in blocks if isinstance(blocks, list) else []:
                if block.get("type") == "tool_use" and block["id"] not in calls:
                    calls.append(block["id"])
                if block.get("type") == "tool_result":
                    content = block["content"]
                    if isinstance(content, list) and all(c["type"] == "text" for c in content):
                        content = "\n".join(c["text"] for c in content)
                    results[block["tool_use_id"]] = (bool(block.get("is_error")), content)
        return [results[call] for call in calls]

    def test_resources_are_read_by_the_tools_of_the_client(self):
        """And the guide is one of its commands."""
        uri = "workspace:///notes/a.md"
        steps = [call("bash_exec", command="mkdir -p notes; echo '# kept' >notes/a.md"),
                 call("save_to_workspace", sandbox_path="~/notes/a.md", workspace_path="/notes/a.md"),
                 {"name": "ListMcpResourcesTool", "input": {"server": "berth"}},
                 {"name": "ReadMcpResourceTool", "input": {"server": "berth", "uri": uri}},
                 {"name": "ReadMcpResourceTool", "input": {"server": "berth",
                                                          "uri": "berth://session"}}]
        options = {"allowedTools": ["mcp__berth", "ListMcpResourcesTool", "ReadMcpResourceTool"],
                   "tools": ["ListMcpResourcesTool", "ReadMcpResourceTool"]}
        messages = self.run_agent([{"tools": [step]} for step in steps] + [{"text": "done"}],
                                  AGENT_OPTIONS=json.dumps(options))
        results = self.results(messages)
        self.assertEqual([is_error for is_error, _ in results], [False] * len(steps), results)
        self.assertIn("berth://session", results[2][1])  # as the client connected: it asks once
        self.assertIn("# kept", results[3][1])
        self.assertIn("agent", results[4][1])
        begun = next(each for each in messages if each.get("subtype") == "init")
        self.assertIn("mcp__berth__sandbox-guide", begun["slash_commands"])

    def test_every_tool_in_one_run(self):
        steps = [
            (call("session_info"), "local"),
            (call("bash_exec", command="mkdir -p src && cd src && echo hello | tee a.txt"), "hello"),
            (call("write_file", path="b.py", content="def f():\n\treturn 41\n"), "b.py"),
            [(call("read_file", path="b.py"), "2\t\treturn 41"),
             (call("glob_files", pattern="*.txt"), "/home/user/src/a.txt"),
             (call("grep_files", pattern="return", path="~/src"), "b.py:2:")],
            (call("edit_file", path="b.py", old_text="\treturn 41", new_text="\treturn 42"),
             "+\treturn 42"),
            (call("save_to_workspace", sandbox_path="~/src/b.py"), "/b.py"),
            (call("list_workspace_files"), "/b.py"),
            (call("load_from_workspace", workspace_path="/b.py", sandbox_path="~/c.py"), "c.py"),
            (call("bash_exec", command="cd && python3 -c 'import c; print(c.f())'"), "42"),
            (call("delete_workspace_file", workspace_path="/b.py"), "/b.py"),
            (call("bash_exec", command="read -r l; echo got $l; sleep 60", background=True,
                  stdin_open=True), "running in the background"),
            (call("bash_input", job_id="{job}", input="typed\n"), "Sent 6 bytes"),
            (call("bash_output", job_id="{job}", wait=20), "got typed"),
            (call("bash_kill", job_id="{job}"), "ended"),
            (call("read_file", path="/nowhere"), "/nowhere"),
        ]
        steps = [step if isinstance(step, list) else [step] for step in steps]
        messages = self.run_agent([{"tools": [tool for tool, _ in step]} for step in steps] +
                                  [{"text": "done"}])
        results = self.results(messages)
        expected = [pair for step in steps for pair in step]
        self.assertEqual(len(results), len(expected), results)
        for (tool, words), (is_error, text) in zip(expected, results):
            with self.subTest(tool["name"]):
                self.assertIn(words, text)
                self.assertEqual(is_error, words == "/nowhere")
        status = next(m for m in messages if m["type"] == "status")
        self.assertEqual(status["servers"][0]["status"], "connected")
        self.assertEqual({tool["name"] for tool, _ in expected}, set(self.check_offered()))

    def check_offered(self):
        """The model has every tool from its first request on, with the whole of its text: the client
        defers none and cuts none."""
        done = subprocess.run([BERTH, "serve"], env=self.environment(), capture_output=True, text=True,
                              timeout=30, input=LIST, check=True)
        listed = json.loads(done.stdout.replace("…", "..."))["result"]["tools"]  # as the client writes it
        served = {f"mcp__berth__{tool['name']}": (tool["description"], tool["inputSchema"]["properties"])
                  for tool in listed}
        offers = [request["tools"] for request in self.model_requests if request.get("tools")]
        for tools in offers:
            self.assertEqual({tool["name"]: (tool["description"], tool["input_schema"]["properties"])
                              for tool in tools}, served)
        self.assertTrue(offers)
        return served

    def test_read_only_calls_run_side_by_side(self):
        """gate.py lets no call through before the client has sent all four, the slow one first; the
        server then answers it last."""
        log = os.path.join(self.folder, "answered")
        step = {"tools": [call("grep_files", pattern="no such [w]ord in it [0-9]+", path="/usr"),
                          call("glob_files", pattern="*.none", path="~"),
                          call("read_file", path="/etc/passwd"), call("session_info")]}
        messages = self.run_agent([step], gate=[sys.executable, str(HERE / "gate.py"), "4", log])
        results = self.results(messages)
        self.assertEqual([is_error for is_error, _ in results], [False] * 4, results)
        for (_, text), words in zip(results, ("No matches", "No files", "user:x:1000", "local")):
            self.assertIn(words, text)
        answered = json.loads(pathlib.Path(log).read_text(encoding="utf-8"))
        self.assertEqual((len(answered), answered[-1]), (4, "grep_files"), answered)

    def test_an_interrupt_stops_the_command(self):
        steps = [{"tools": [call("bash_exec", command="trap '' TERM; echo $$ > pid; sleep 300")]}]
        messages = self.run_agent(steps, AGENT_INTERRUPT_MS="1200")
        self.assertTrue(any(m["type"] == "interrupted" for m in messages))
        left = subprocess.run(
            [BERTH, "call", "bash_exec", '{"command":"test -s pid && ! kill -0 $(cat pid)"}',
             *self.session, "--json"], env=self.environment(), capture_output=True, text=True,
            timeout=30, check=False)
        facts = json.loads(left.stdout)["_meta"]["berth/result"]
        self.assertEqual(facts["exit_code"], 0, left.stdout)
        # Nor is anything that it started: it would be a job.
        info = subprocess.run([BERTH, "call", "session_info", "{}", *self.session, "--json"],
                              env=self.environment(), capture_output=True, text=True, timeout=30,
                              check=False)
        self.assertEqual(json.loads(info.stdout)["_meta"]["berth/result"]["jobs"], [], info.stdout)

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
                if self.second_has_begun():
                    open(os.path.join(self.folder, "ready"), "w").close()
                time.sleep(0.05)

        steps = [{"tools": [call("bash_exec", command="echo kept > kept.txt")]},
                 {"tools": [call("bash_exec", command="touch begun; sleep 3; echo over")]},
                 {"tools": [call("read_file", path="kept.txt")]},
                 {"text": "done"}]
        results = self.results(self.run_agent(steps, during=kill_server))
        self.assertEqual(len(results), 3, results)
        self.assertTrue(results[1][0], results[1])
        self.assertFalse(results[2][0], results[2])
        self.assertIn("kept", results[2][1])
        # The command goes on, and its agent is told; of the first one it has read the result.
        self.assertRegex(results[2][1], r"\[berth\] the result of job-\S+ "
                         r"\(`touch begun; sleep 3; echo over`\) reached nobody")
        self.assertEqual(results[2][1].count("reached nobody"), 1, results[2][1])

    def second_has_begun(self):
        """Else the kill would strike between two calls, and interrupt none."""
        return any(pathlib.Path(self.state).glob("sessions/*/home/begun"))

    def test_what_the_client_passes_on(self):
        """As the README has it: its own environment, and its session's id, which names the session."""
        messages = self.run_agent([{"tools": [call("session_info")]}, {"text": "done"}], arguments=(),
                                  BERTH_TOOLS="session_info,bash_exec")
        session = next(m["session_id"] for m in messages if m["type"] == "system")
        ((is_error, text),) = self.results(messages)
        self.assertFalse(is_error, text)
        self.assertIn(session, text)
        offered = {tool["name"] for request in self.model_requests for tool in request.get("tools") or []}
        self.assertEqual(offered, {"mcp__berth__session_info", "mcp__berth__bash_exec"})

    def test_the_claude_dialect_says_what_the_built_in_tools_say(self):
        """The same calls, emitted under the built-in names: once to those tools, once through
        toolAliases to berth's. The two must read alike but for where they work."""
        steps = [{"tools": [{"name": name, "input": arguments}]} for name, arguments in CALLS]
        place = os.path.join(self.folder, "place")
        os.mkdir(place)
        here = self.results(self.run_agent(steps, AGENT_OPTIONS=json.dumps(
            {"tools": BUILT_IN, "allowedTools": BUILT_IN, "disallowedTools": [], "cwd": place,
             "maxTurns": 2 * len(steps)})))
        aliases = {name: f"mcp__berth__{name}" for name in BUILT_IN}
        there = self.results(self.run_agent(
            steps, arguments=("--session", "agent", "--tool-dialect", "claude"), AGENT_OPTIONS=json.dumps(
                {"toolAliases": aliases, "disallowedTools": [], "maxTurns": 2 * len(steps)})))
        self.assertEqual((len(here), len(there)), (len(CALLS), len(CALLS)))
        for (name, arguments), (failed, text), (is_error, own) in zip(CALLS, here, there):
            with self.subTest(f"{name} {arguments}"):
                self.assertEqual(is_error, failed, own)
                text = text.replace(place, "/home/user")
                text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
                if failed and name != "Bash":  # a hint follows
                    self.assertEqual(own[:len(text)], text)
                else:
                    self.assertEqual(own, text)


BUILT_IN = ["Bash", "Edit", "Glob", "Grep", "Read", "Write"]
# What can be compared: lists of files in another order would not be alike.
CALLS = [
    ("Bash", {"command": "mkdir -p src/sub; printf 'one\\nneedle 1\\ntwo\\n' >src/a.py; "
                         "printf 'needle 2\\nneedle 3\\n' >src/sub/b.txt; : >empty; "
                         "printf 'l1\\nl2\\nl3\\n' >a; printf 'a\\r\\nb\\r\\n' >crlf"}),
    *[("Bash", {"command": command}) for command in (
        "echo out", "echo out; sleep 0.1; echo err >&2", "exit 3",
        "echo out; sleep 0.1; echo err >&2; exit 3", "printf '\\n\\n  a  \\n\\n'",
        "printf 'a\\n\\nb\\n\\n'; sleep 0.1; echo err >&2", "printf '\\n\\n'",
        "printf '\\n \\n'; sleep 0.1; echo err >&2; exit 2", "cd src && pwd", "pwd", "cd ..")],
    ("Bash", {"command": "sleep 0.3; echo done", "timeout": 5000, "description": "wait"}),
    *[("Read", {"file_path": "a", **more}) for more in (
        {}, {"offset": 2}, {"offset": 2, "limit": 1}, {"limit": 3}, {"offset": 4}, {"offset": 5})],
    *[("Read", {"file_path": name}) for name in ("empty", "src", "none", "crlf", "src/a.py")],
    ("Write", {"file_path": "new/x", "content": "1 1 1\n"}),
    ("Write", {"file_path": "new/x", "content": "1 1 1 1\n"}),
    *[("Edit", {"file_path": "new/x", **edit}) for edit in (
        {"old_string": "1", "new_string": "2"}, {"old_string": "zzz", "new_string": "2"},
        {"old_string": "1 1 1 1", "new_string": "1 1 1 2"},
        {"old_string": "1", "new_string": "3", "replace_all": True},
        {"old_string": "3", "new_string": "3"}, {"old_string": "", "new_string": "3"})],
    ("Edit", {"file_path": "new/y", "old_string": "", "new_string": "3"}),
    ("Edit", {"file_path": "none", "old_string": "a", "new_string": "b"}),
    ("Bash", {"command": "cat new/x new/y"}),
    *[("Glob", arguments) for arguments in (
        {"pattern": "**/*.py"}, {"pattern": "*.txt", "path": "src"}, {"pattern": "b.txt"},
        {"pattern": "*.nothing"}, {"pattern": "*", "path": "none"})],
    *[("Grep", {"pattern": "needle", **more}) for more in (
        {"glob": "*.py"}, {"type": "py"}, {"path": "src/a.py"}, {"offset": 9}, {"path": "none"})],
    *[("Grep", {"pattern": "needle", "output_mode": "content", **more}) for more in (
        {}, {"-n": False}, {"-C": 1}, {"-A": 1, "-n": False}, {"path": "src/a.py"},
        {"path": "src/a.py", "-B": 1}, {"head_limit": 1}, {"head_limit": 1, "offset": 1},
        {"offset": 9}, {"-o": True}, {"pattern": "NEEDLE 1", "-i": True},
        {"pattern": "one.needle", "multiline": True}, {"pattern": "nothing at all"})],
    *[("Grep", {"pattern": "needle", "output_mode": "count", **more}) for more in (
        {}, {"path": "src/a.py"}, {"head_limit": 1}, {"offset": 1}, {"offset": 9},
        {"pattern": "nothing at all"})],
    ("Grep", {"pattern": "nothing at all"}),
]


if __name__ == "__main__":
    unittest.main(verbosity=2)
