"""What the tests of the protocol and of the command line have in common: berth-direct on a state
directory that must be left clean."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import MODERN, Berth, binary_path
from state_directory import StateDirectory

META = {"io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {}}
SLEEP = {"command": "sleep 30"}


def request(request_id, method, params=None, modern=False):
    params = dict(params or {})
    if modern:
        params["_meta"] = META
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


class Bench(unittest.TestCase):
    def setUp(self):
        self.state = StateDirectory()
        self.state.__enter__()
        self.addCleanup(self.state.__exit__, None, None, None)

    def start(self, *arguments, **options):
        berth = Berth(*arguments, state=self.state, binary=binary_path("berth-direct"), **options)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def exchange(self, *messages, arguments=()):
        """Sends lines (bytes as they stand), closes, and returns what came back."""
        lines = [line if isinstance(line, bytes) else json.dumps(line).encode()
                 for line in messages]
        done = subprocess.run([binary_path("berth-direct"), *arguments],
                              input=b"\n".join(lines) + b"\n", capture_output=True, timeout=20,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def code(self, *messages):
        answers = self.exchange(*messages)
        self.assertEqual(len(answers), 1, answers)
        return answers[0]["error"]["code"]

    def wait_for(self, condition, timeout=30):
        end = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), end, "it did not come")
            time.sleep(0.01)

    def config(self, text):
        path = self.state.path / "berth.toml"
        path.write_text(text)
        return str(path)
