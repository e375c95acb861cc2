#!/usr/bin/env python3
"""Clients that no one here wrote against the real berth over HTTP: the Inspector in both eras, the
Claude Agent SDK, and `claude mcp list`. BERTH_BINARY and BERTH_CLIENTS say where they are."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import test_agent_sdk
from installed import CLIENTS, MODULES, NODE
from test_agent_sdk import call
from test_inspector import INSPECTOR, TOOLS, listed

BERTH = os.path.abspath(os.environ["BERTH_BINARY"])


class OverHttp(test_agent_sdk.AgentSdk):
    """The agent's tests of stdio, and some more, with a server that listens."""

    session = ("--session", "agent", "--principal", "alice")

    # Of the process that a client starts, its pipes, flags and environment.
    test_read_only_calls_run_side_by_side = None
    test_a_killed_server_comes_back_to_the_same_sandbox = None
    test_what_the_client_passes_on = None
    test_the_claude_dialect_says_what_the_built_in_tools_say = None

    def setUp(self):
        super().setUp()
        made = subprocess.run([BERTH, "token", "alice"], capture_output=True, text=True, check=True,
                              timeout=30)
        self.token = made.stderr.split("the token is ")[1].split()[0]
        tokens = os.path.join(self.folder, "tokens.toml")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(made.stdout)
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "w") as log:
            self.server = subprocess.Popen(
                [BERTH, "serve", "--http", "127.0.0.1:0", "--token-file", tokens],
                env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 20
        while "listening on http" not in self.logged():
            self.assertLess(time.monotonic(), end, "it does not listen")
            time.sleep(0.05)
        self.url = self.logged().split("listening on ")[1].split()[0]

    def logged(self):
        with open(self.log) as log:
            return log.read()

    def tearDown(self):
        self.server.terminate()
        self.server.wait(20)
        subprocess.run([BERTH, "sessions", "kill", "agent", "--principal", "alice", "--purge"],
                       env=self.environment(), capture_output=True, timeout=30, check=False)
        super().tearDown()

    def run_agent(self, steps, during=None, gate=(), arguments=(), **more):
        servers = {"berth": {"type": "http", "url": self.url, "headers": {
            "Authorization": f"Bearer {self.token}", "Berth-Session": "agent"}}}
        return self.run_client(steps, servers, during, **more)

    def inspect(self, *arguments, era="legacy"):
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder}
        return subprocess.run(
            [NODE, INSPECTOR, "--cli", self.url, "--transport", "http", "--header",
             f"Authorization: Bearer {self.token}", "--header", "Berth-Session: agent",
             "--protocol-era", era, "--format", "json", "-q", *arguments],
            env=environment, capture_output=True, text=True, timeout=60, check=False)

    def test_the_inspector_in_both_eras(self):
        for era in ("legacy", "auto", "modern"):
            done = self.inspect("--method", "tools/list", "--strict", era=era)
            self.assertEqual(done.returncode, 0, (era, done.stdout, done.stderr))
            self.assertEqual(listed(done), TOOLS)
            done = self.inspect("--method", "tools/call", "--tool-name", "bash_exec",
                                "--tool-args-json", json.dumps({"command": f"echo {era} >>~/eras; cat ~/eras"}),
                                era=era)
            self.assertEqual(done.returncode, 0, (era, done.stdout, done.stderr))
        self.assertIn("legacy\\nauto\\nmodern", done.stdout)

    def test_many_calls_of_the_inspector(self):
        done = self.inspect("--method", "tools/call", "--tool-name", "session_info",
                            "--load", "--load-requests", "300",
                            "--load-concurrency", "16", era="modern")
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        self.assertIn("p99", done.stdout)

    def test_a_result_of_60_kb_comes_whole(self):
        results = self.results(self.run_agent([{"tools": [call(
            "bash_exec", command="head -c 45000 /dev/zero | tr '\\0' x | fold -w 100 | tee ~/big | wc -c")]},
            {"tools": [call("read_file", path="~/big", line_numbers=False)]}]))
        self.assertEqual([is_error for is_error, _ in results], [False, False], results)
        self.assertGreaterEqual(results[1][1].count("x"), 45_000)

    def test_claude_mcp_list_says_connected(self):
        program = os.path.join(MODULES, "@anthropic-ai/claude-agent-sdk-linux-x64/claude")
        if not os.path.exists(program):
            found = subprocess.run(["find", CLIENTS, "-name", "claude", "-type", "f"],
                                   capture_output=True, text=True, timeout=60, check=True)
            program = found.stdout.split()[0]
        environment = self.environment(CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for arguments in (("add", "--transport", "http", "berth", self.url, "-H",
                               f"Authorization: Bearer {self.token}"), ("list",)):
                done = subprocess.run([program, "mcp", *arguments], env=environment, cwd=folder,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, (done.stdout, done.stderr))
        self.assertIn("Connected", done.stdout)


if __name__ == "__main__":
    unittest.main()
