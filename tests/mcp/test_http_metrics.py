"""/metrics: that it is Prometheus' text, counts what happened, and grows with nothing that callers
make up."""

import pathlib
import re
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import request
from http_bench import bearer, token_file
from test_http_operator import ALICE, OperatorBench

SAMPLE = re.compile(r'^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+\})? ([0-9.e+-]+|\+Inf)$')


def of_calls(found):
    """Of a tool that ended in a way."""
    return {name: value for name, value in found.items() if name.startswith("berth_calls_total{")}


class MetricsTest(OperatorBench):
    def metrics(self, **how):
        """{sample with its labels: value}; every line is looked at."""
        answer = self.ask("GET", "/metrics", **how)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        found, kinds, last = {}, {}, None
        for line in answer.body.decode().splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.assertNotIn(name, kinds)  # of one family all lines stand together
                kinds[name], last = kind, name
            elif not line.startswith("# HELP "):
                name, labels, value = SAMPLE.match(line).groups()
                base = re.sub("_(bucket|sum|count)$", "", name)
                self.assertIn(last, (name, base))
                found[name + (labels or "")] = float(value)
        return found

    def test_what_happened_is_counted(self):
        self.serve_operators()
        self.call("bash_exec", command="true", **self.as_alice("work"))
        self.call("bash_exec", command="exit 3", **self.as_alice("work"))
        self.call("read_file", path="~/none", **self.as_alice("work"))
        self.modern("tools/list")
        found, before = self.metrics(), 0
        # A call is counted behind its reply.
        while before < 100 and (sum(of_calls(found).values()) < 3 or
                                found['berth_http_answers_total{status="200"}'] < 3 + before):
            time.sleep(0.02)
            found, before = self.metrics(), before + 1
        self.assertEqual(found['berth_calls_total{tool="bash_exec",outcome="ok"}'], 2)
        self.assertEqual(found['berth_calls_total{tool="read_file",outcome="not_found"}'], 1)
        self.assertEqual(found['berth_call_duration_seconds_count{tool="bash_exec"}'], 2)
        self.assertEqual(found['berth_call_duration_seconds_bucket{tool="bash_exec",le="+Inf"}'], 2)
        self.assertEqual(found['berth_sessions{state="running"}'], 1)
        self.assertEqual(found['berth_http_answers_total{status="200"}'], 3 + before)
        self.assertEqual(found['berth_http_answers_total{status="401"}'], 1)
        self.assertEqual((found["berth_available"], found["berth_books_available"]), (1, 1))
        self.assertEqual(found["berth_served_sessions"], 1)
        self.assertGreaterEqual(found["berth_http_connections"], 1)  # that of the question
        self.assertGreater(found["berth_http_received_bytes_total"], 500)
        later = self.metrics()
        self.assertGreater(later["berth_http_sent_bytes_total"],
                           found["berth_http_sent_bytes_total"] + 10_000)  # the answer before

    def busy(self, command):
        """A connection whose call runs until it is closed."""
        connection = self.connect()
        connection.post(request(1, "tools/call", {"name": "bash_exec", "arguments": {"command": command}},
                                modern=True),
                        self.modern_headers("tools/call", "bash_exec", **bearer("berth_alice")))
        return connection

    def test_what_is_held_is_told_beside_what_may_be(self):
        self.serve_operators()
        self.initialize(headers=bearer("berth_alice"))
        idle = self.metrics()
        self.assertEqual([idle[f"berth_{name}"] for name in (
            "calls_in_flight_limit", "calls_waiting", "legacy_clients", "http_body_bytes_limit")],
            [1024, 0, 1, 256 << 20])
        size = 20_000
        calls = [self.busy("sleep 30 #" + "x" * size) for _ in range(3)]
        self.wait_for(lambda: self.metrics()["berth_calls_in_flight"] == 3)
        found = self.metrics()
        self.assertGreaterEqual(found["berth_http_requests_in_flight"], 3)
        self.assertGreater(found["berth_http_body_bytes"], 3 * size)
        for call in calls:
            call.close()
        self.wait_for(lambda: self.metrics()["berth_http_body_bytes"] < size)

    def test_a_call_is_in_flight_while_it_is(self):
        self.serve_operators()
        busy = self.busy("sleep 30")
        self.wait_for(lambda: self.metrics()["berth_calls_in_flight"] == 1)
        busy.close()
        self.wait_for(lambda: self.metrics()["berth_calls_in_flight"] == 0)

    def test_names_that_callers_make_up_are_in_none_of_it(self):
        self.serve_operators()
        self.call("session_info", **self.as_alice("first"))
        before = set(self.metrics())
        for number in range(40):
            name = f"made-up-{number}"
            self.call("session_info", **self.as_alice(name))
            self.modern(name, **bearer("berth_alice"))
            self.modern("tools/call", {"name": name, "arguments": {}}, **bearer("berth_alice"))
            self.send(b"", bearer(name), path=f"/{name}", method="GET")
            self.ask("GET", f"/sessions/{name}")
        after = set(self.metrics())
        self.assertEqual({line for line in after - before if "answers_total" not in line}, set())
        self.assertFalse([line for line in after if "made-up" in line or "alice" in line])

    def test_they_may_be_open_to_all_and_nothing_else_is_then(self):
        tokens = token_file(self.state.path / "tokens.toml", a=ALICE)
        self.serve("--config", self.config('http_metrics = "anybody"\n'),
                   auth=("--token-file", tokens))
        self.assertIn("berth_available", self.metrics(token=None))
        refused = self.ask("POST", "/metrics", token=None)
        self.assertEqual((refused.status, refused.headers["allow"]), (405, "GET, HEAD"))
        with self.connect() as connection:
            connection.post(b"", path="/metrics", method="HEAD")
            status, headers = connection.head()
        self.assertEqual((status, headers["cache-control"]), (200, "no-store"))
        self.assertGreater(int(headers["content-length"]), 1000)
        self.assertEqual(self.ask("GET", "/sessions", token=None).status, 404)
        answer = self.ask("GET", "/metrics", token=None, headers={"Origin": "https://evil.example"})
        self.assertEqual(answer.status, 403)

    def test_else_they_are_the_operators(self):
        self.serve_operators()
        self.assertEqual(self.ask("GET", "/metrics", token=None).status, 401)
        self.assertEqual(self.ask("GET", "/metrics", token="berth_alice").status, 403)
        self.stop()
        self.serve()
        self.assertEqual(self.ask("GET", "/metrics").status, 404)


if __name__ == "__main__":
    unittest.main()
