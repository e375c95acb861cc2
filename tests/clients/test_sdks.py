#!/usr/bin/env python3
"""The SDKs of MCP for TypeScript, of which most clients are made, against the real berth: 1.x, and 2.x in
both eras, on stdio and over HTTP (sdk.mjs). BERTH_BINARY and BERTH_CLIENTS say where they are."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from installed import CLIENTS, NODE
from test_inspector import BERTH, TOOLS

DRIVER = pathlib.Path(__file__).resolve().parent / "sdk.mjs"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
# SDK, how it finds out what is spoken, and the revision that it finds.
CLIENTS_OF = (("1", "legacy", LEGACY), ("2", "legacy", LEGACY), ("2", "auto", MODERN), ("2", MODERN, MODERN))


class Cases:
    """On both transports; `server(name)` is what a client of one session is told of where it is."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="berth-sdks-")
        self.state = os.path.join(self.folder, "state")
        self.begin()

    def tearDown(self):
        self.end()
        for name in [f"sdk-{sdk}-{mode}" for sdk, mode, _ in CLIENTS_OF]:
            self.berth("sessions", "kill", name, *self.owner, "--purge")
        left = json.loads(self.berth("sessions", "list", "--json").stdout)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.assertEqual([each for each in left if each.get("state") == "running"], [])

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": self.folder}

    def berth(self, *arguments):
        return subprocess.run([BERTH, *arguments, "--state-dir", self.state], env=self.environment(),
                              capture_output=True, text=True, timeout=60, check=False)

    def run_client(self, sdk, mode, steps="all"):
        done = subprocess.run(
            [NODE, DRIVER], capture_output=True, text=True, timeout=180, check=False,
            env={**self.environment(), "BERTH_CLIENTS": CLIENTS, "SDK": sdk, "SDK_MODE": mode,
                 "SDK_STEPS": steps, "SDK_SERVER": json.dumps(self.server(f"sdk-{sdk}-{mode}"))})
        self.assertEqual(done.returncode, 0, (sdk, mode, done.stderr))
        return json.loads(done.stdout)

    def test_each_client(self):
        for sdk, mode, revision in CLIENTS_OF:
            with self.subTest(sdk=sdk, mode=mode):
                told = self.run_client(sdk, mode)
                self.check_greeting(told, sdk, revision)
                self.check_calls(told)
                self.check_lists(told, sdk, revision)
                self.check_long_calls(told)
                self.check_messages(told)
                self.check_session(told, revision)
                self.check_another_server(sdk, mode)

    def check_greeting(self, told, sdk, revision):
        if sdk == "2":  # the first keeps it to itself on stdio
            self.assertEqual(told["version"], revision)
        self.assertEqual(told["server"]["name"], "berth")
        self.assertEqual(set(told["capabilities"]), {"tools", "logging", "resources", "prompts", "completions"})
        self.assertIn("machine of your own", told["instructions"])

    def check_calls(self, told):
        self.assertEqual(told["hello"].strip(), "hello")
        self.assertTrue(told["missing"]["isError"])
        self.assertIn("/nowhere does not exist", told["missing"]["text"])
        self.assertEqual(told["unknown"]["code"], -32602)
        self.assertEqual(told["parallel"], [f"number {number}" for number in range(20)])

    def check_lists(self, told, sdk, revision):
        self.assertEqual(told["tools"], TOOLS)
        self.assertEqual(told["prompts"], ["sandbox-guide"])
        self.assertTrue(told["prompt"].startswith(told["instructions"]))
        self.assertEqual(told["templates"], ["workspace:///{+path}"])
        files = [f"workspace:///many/f{number:03}" for number in range(1, 251)]
        self.assertEqual(told["resources"]["uris"], ["berth://session", *files])
        # The second one takes all pages by itself.
        self.assertEqual(told["resources"]["pages"], 3 if sdk == "1" else 1)
        self.assertEqual(told["read"], "kept\n")
        # The second one has one code for both eras, whatever was sent.
        self.assertEqual(told["unread"]["code"], -32002 if sdk == "1" else -32602)
        self.assertEqual(told["completion"], [f"many/f{number:03}" for number in range(1, 10)])

    def check_long_calls(self, told):
        """Three seconds, for a client that waits for 1.5, unless it hears something."""
        self.assertEqual(told["patient"].split(), [word for n in range(1, 7) for word in ("tick", str(n))])
        self.assertGreaterEqual(len(told["beats"]), 2)
        self.assertIn("tick", told["beats"][0]["message"])
        self.assertIn("timed out", told["impatient"]["message"])
        self.assertIn("enough", told["aborted"]["message"])
        self.assertLess(told["abortedAfter"], 5000)
        self.assertTrue(told["gone"], "what was cancelled goes on")

    def check_messages(self, told):
        self.assertEqual(told["messages"][0], ["debug", "berth", "bash_exec: ok"])
        level, logger, data = told["messages"][1]
        self.assertEqual((level, logger), ("warning", "berth"))
        self.assertIn("read_file: not_found", data)

    def check_session(self, told, revision):
        self.assertEqual(told["mark"].strip(), "mark")
        self.assertIsNone(told["sessionId"])

    def check_another_server(self, sdk, mode):
        self.assertEqual(self.run_client(sdk, mode, "again")["mark"].strip(), "mark")


class OnStdio(Cases, unittest.TestCase):
    owner = ()

    def begin(self):
        pass

    def end(self):
        pass

    def server(self, name):
        return {"command": BERTH, "args": ["serve", "--session", name, "--state-dir", self.state]}


class OverHttp(Cases, unittest.TestCase):
    owner = ("--principal", "alice")

    def begin(self):
        made = self.berth("token", "alice")
        self.token = made.stderr.split("the token is ")[1].split()[0]
        self.tokens = os.path.join(self.folder, "tokens.toml")
        with open(os.open(self.tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(made.stdout)
        self.listen()

    def listen(self):
        log = os.path.join(self.folder, "log")
        with open(log, "w") as out:
            self.process = subprocess.Popen(
                [BERTH, "serve", "--http", "127.0.0.1:0", "--token-file", self.tokens,
                 "--state-dir", self.state], env=self.environment(), stdin=subprocess.DEVNULL,
                stdout=out, stderr=out)
        end = time.monotonic() + 20
        while "listening on http" not in pathlib.Path(log).read_text():
            self.assertLess(time.monotonic(), end, "it does not listen")
            time.sleep(0.05)
        self.url = pathlib.Path(log).read_text().split("listening on ")[1].split()[0]

    def end(self):
        self.process.terminate()
        self.process.wait(20)

    def server(self, name):
        return {"url": self.url, "headers": {"Authorization": f"Bearer {self.token}", "Berth-Session": name}}

    def check_session(self, told, revision):
        self.assertEqual(told["mark"].strip(), "mark")
        if revision == MODERN:
            self.assertIsNone(told["sessionId"])
            return
        self.assertNotEqual(told["sessionId"], told["otherSessionId"])
        self.assertIsNone(told["afterEnd"])
        self.assertEqual(told["ended"], 404)

    def check_another_server(self, sdk, mode):
        self.end()
        self.listen()
        super().check_another_server(sdk, mode)


if __name__ == "__main__":
    unittest.main(verbosity=2)
