#!/usr/bin/env python3
"""The page of the MCP Inspector in a headless Chromium, with the real berth behind it: over HTTP in both
eras, and on stdio through the Inspector's own proxy. BERTH_BINARY and BERTH_CLIENTS say where they are;
BERTH_PICTURES names a folder for pictures of what was seen."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from installed import CLIENTS, NODE
from test_inspector import BERTH, INSPECTOR, TOOLS

DRIVER = pathlib.Path(__file__).resolve().parent / "inspector_web.mjs"
CHROMIUM = shutil.which("chromium") or ""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


class InspectorWeb(unittest.TestCase):
    def setUp(self):
        self.assertTrue(CHROMIUM, "Chromium is needed: apt-get install chromium")
        self.folder = tempfile.mkdtemp(prefix="berth-inspector-web-")
        self.state = os.path.join(self.folder, "state")
        self.pictures = os.environ.get("BERTH_PICTURES", self.folder)
        self.processes = []

    def tearDown(self):
        for process in reversed(self.processes):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)
        for owner in ((), ("--principal", "alice")):
            subprocess.run([BERTH, "sessions", "kill", "web", *owner, "--purge", "--state-dir", self.state],
                           env=self.environment(), capture_output=True, timeout=30, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": self.folder, **more}

    def start(self, command, pattern, **environment):
        """What it says that has a match of the pattern, once it does."""
        log = pathlib.Path(self.folder) / f"log-{len(self.processes)}"
        with open(log, "w") as out:
            self.processes.append(subprocess.Popen(
                command, env=self.environment(**environment), stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, start_new_session=True))
        end = time.monotonic() + 60
        while not (found := re.search(pattern, log.read_text())):
            self.assertLess(time.monotonic(), end, log.read_text())
            self.assertIsNone(self.processes[-1].poll(), log.read_text())
            time.sleep(0.1)
        return found[0]

    def look(self, name, *server):
        """Starts the Inspector's page for a server, and has somebody use it."""
        page = self.start([NODE, INSPECTOR, "--web", *server], r"http://127\.0\.0\.1:\d+\S*TOKEN=\S+",
                          CLIENT_PORT=free_port(), MCP_SANDBOX_PORT=free_port(), MCP_APP_ORIGIN_PORT=free_port(),
                          MCP_AUTO_OPEN_ENABLED="false", MCP_INSPECTOR_SECRET_STORE="memory")
        picture = os.path.join(self.pictures, f"inspector-web-{name}.png")
        done = subprocess.run([NODE, DRIVER], capture_output=True, text=True, timeout=180, check=False,
                              env=self.environment(BERTH_CLIENTS=CLIENTS, INSPECTOR_URL=page, CHROMIUM=CHROMIUM,
                                                   INSPECTOR_PICTURE=picture))
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["errors"], [], told)
        self.assertEqual([word for word in told["tools"].split() if word in TOOLS][:len(TOOLS)], TOOLS)
        self.assertIn(f"Tools ({len(TOOLS)})", told["tools"])
        self.assertIn("said by 42", told["result"])
        self.assertGreater(os.path.getsize(picture), 20_000)
        return told

    def test_over_http_in_both_eras(self):
        made = subprocess.run([BERTH, "token", "alice"], env=self.environment(), capture_output=True,
                              text=True, check=True, timeout=30)
        token = made.stderr.split("the token is ")[1].split()[0]
        tokens = os.path.join(self.folder, "tokens.toml")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(made.stdout)
        url = self.start([BERTH, "serve", "--http", "127.0.0.1:0", "--token-file", tokens,
                          "--state-dir", self.state], r"(?<=listening on )http://\S+")
        for era, revision in (("legacy", "2025-11-25"), ("modern", "2026-07-28")):
            with self.subTest(era):
                told = self.look(f"http-{era}", "--transport", "http", "--server-url", url, "--header",
                                 f"Authorization: Bearer {token}", "Berth-Session: web",
                                 "--protocol-era", era)
                self.assertIn(f"MCP {revision}", told["connected"])

    def test_on_stdio_through_its_proxy(self):
        told = self.look("stdio", "--protocol-era", "modern", BERTH, "serve", "--session", "web",
                         "--state-dir", self.state)
        self.assertIn("MCP 2026-07-28", told["connected"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
