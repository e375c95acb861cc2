#!/usr/bin/env python3
"""The official conformance suite of MCP against berth-conformance, which is berth's server of HTTP
and berth's protocol with the tools, prompts and resources that the suite wants. There is no list of
failures that are expected. BERTH_BINARY (beside which it is) and BERTH_CLIENTS say where they are."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from installed import MODULES, NODE

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(os.environ["BERTH_BINARY"])),
                       "berth-conformance")
SUITE = os.path.join(MODULES, "@modelcontextprotocol/conformance/dist/index.js")
# An extension that berth does not declare; the suite runs it and does not count it.
NOT_OURS = re.compile(r"server-tasks-")
# What it looks at on streams of subscriptions/listen, which a server without changing lists has not.
SKIPPED = {"sep-2575-server-sends-subscription-ack", "sep-2575-server-tags-subscription-id",
           "sep-2575-server-honors-notification-filter",
           "sep-2575-server-sends-prompts-list-changed-on-subscription",
           "sep-2575-server-sends-tools-list-changed-on-subscription"}


class Conformance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="berth-conformance-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.log = pathlib.Path(self.folder, "log")
        with open(self.log, "w") as log:
            self.server = subprocess.Popen(
                [FIXTURE, "--http", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": self.folder,
                     "BERTH_STATE_DIR": os.path.join(self.folder, "state")})
        self.addCleanup(self.stop)
        end = time.monotonic() + 20
        while "listening on http" not in self.log.read_text():
            self.assertLess(time.monotonic(), end, self.log.read_text())
            time.sleep(0.05)
        self.url = self.log.read_text().split("listening on ")[1].split()[0]

    def stop(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(20), 0, self.log.read_text())

    def run_suite(self, *arguments):
        """Its exit status, what it says at the end, and where its results are."""
        results = os.path.join(self.folder, "results")
        done = subprocess.run([NODE, SUITE, "server", "--url", self.url, "-o", results, *arguments],
                              env={"PATH": os.environ["PATH"], "HOME": self.folder}, cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False)
        said = done.stdout.partition("=== SUMMARY ===")[2] + done.stderr
        return done.returncode, said, pathlib.Path(results)

    def require_green(self, revision, least, scenarios):
        status, said, results = self.run_suite("--requirements", revision)
        self.assertEqual(status, 0, said)
        seen = collections.Counter()
        names = set()
        for file in results.glob("*/checks.json"):
            name = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.name)
            if NOT_OURS.match(name):
                continue
            names.add(name.removeprefix("server-"))
            for check in json.loads(file.read_text()):
                seen[check["status"]] += 1
                wrong = check["status"] in ("FAILURE", "WARNING") or (
                    check["status"] == "SKIPPED" and check["id"] not in SKIPPED)
                self.assertFalse(wrong, check)
        self.assertGreaterEqual(seen["SUCCESS"], least, said)
        self.assertEqual(scenarios - names, set(), said)

    def test_2025_11_25(self):
        self.require_green("2025-11-25", 80, {
            "server-initialize", "tools-call-sampling", "tools-call-elicitation",
            "tools-call-with-logging", "tools-call-with-progress", "resources-subscribe",
            "server-session-lifecycle", "json-schema-2020-12"})

    def test_2026_07_28(self):
        """The scenarios on headers are not scored: `scenarios` is what has them looked at."""
        self.require_green("2026-07-28", 145, {
            "server-stateless", "caching", "input-required-result-multi-round",
            "input-required-result-tampered-state", "sep-2164-resource-not-found",
            "http-header-validation", "http-custom-header-server-validation"})


if __name__ == "__main__":
    unittest.main()
