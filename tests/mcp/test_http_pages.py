"""Web pages of another origin that the operator has named: what a browser asks before it sends their
requests, and what it lets them read of the answers."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from http_bench import HttpBench, bearer, token_file
from test_http_issuer import ISSUED

PAGE = "https://app.example.com"
WELL_KNOWN = "/.well-known/oauth-protected-resource"


def words(value):
    return {word.strip().lower() for word in value.split(",")}


class PageTest(HttpBench):
    def setUp(self):
        super().setUp()
        tokens = token_file(self.state.path / "tokens.toml",
                            a={"token": "berth_alice", "principal": "alice", "calls": 1})
        config = self.config(f'http_origins = ["{PAGE}"]\njwt_issuer = "https://login.example.com"\n'
                             'jwt_audience = "https://berth.example.com/mcp"\n'
                             f'jwt_keys = "{self.keys()}"\n')
        self.serve("--config", config, auth=("--token-file", tokens))

    def keys(self):
        keys = self.state.path / "keys.json"
        keys.write_text(json.dumps(ISSUED["keys"]))
        keys.chmod(0o600)
        return keys

    def preflight(self, origin=PAGE, path="/mcp", method="POST", headers="authorization", **more):
        fields = {"Access-Control-Request-Method": method,
                  "Access-Control-Request-Headers": headers, **more}
        return self.send(b"", {**fields, **({"Origin": origin} if origin else {})}, path=path,
                         method="OPTIONS")

    def test_what_a_browser_asks_before_is_answered_without_a_token(self):
        wanted = ("authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, "
                  "mcp-session-id, berth-session, last-event-id, traceparent, mcp-param-region")
        answer = self.preflight(headers=wanted)
        self.assertEqual((answer.status, answer.body), (204, b""), answer)
        self.assertEqual(answer.headers["access-control-allow-origin"], PAGE)
        self.assertEqual(words(answer.headers["access-control-allow-methods"]),
                         {"get", "post", "delete"})
        self.assertLessEqual(words(wanted), words(answer.headers["access-control-allow-headers"]))
        self.assertNotIn("*", answer.headers["access-control-allow-headers"])
        self.assertIn("origin", words(answer.headers["vary"]))
        self.assertNotIn("access-control-allow-credentials", answer.headers)
        self.assertEqual(self.preflight(path=WELL_KNOWN, method="GET").status, 204)

    def test_a_page_of_this_host_may_too_and_others_are_told_nothing(self):
        local = "http://localhost:6274"
        self.assertEqual(self.preflight(local).headers["access-control-allow-origin"], local)
        for origin in ("https://evil.example.com", "null", "http://localhost:6274x",
                       "http://localhost.evil.example.com", PAGE + ":1", ""):
            answer = self.preflight(origin)
            self.assertEqual(answer.status, 403 if origin else 401, origin)
            self.assertNotIn("access-control-allow-origin", answer.headers)
        # Names that no client of MCP sends are not said again.
        self.assertNotIn("x-evil", self.preflight(headers="x-evil, mcp-param-x\ty").headers[
            "access-control-allow-headers"])

    def test_a_page_may_read_every_answer_and_who_asked_for_a_token(self):
        for headers, status in ((bearer("berth_alice"), 200), (bearer("wrong"), 401), ({}, 401),
                                ({**bearer("berth_alice"), "Content-Type": "text/plain"}, 415)):
            answer = self.modern("tools/list", **headers, Origin=PAGE)
            self.assertEqual(answer.status, status, answer)
            self.assertEqual(answer.headers["access-control-allow-origin"], PAGE)
            self.assertEqual(words(answer.headers["access-control-expose-headers"]),
                             {"mcp-session-id", "www-authenticate"})
            self.assertIn("origin", words(answer.headers["vary"]))
        session = self.initialize(headers={**bearer("berth_alice"), "Origin": PAGE})
        self.assertEqual(self.send(b"", session, method="DELETE").headers[
            "access-control-allow-origin"], PAGE)
        metadata = self.send(b"", {"Origin": PAGE}, path=WELL_KNOWN, method="GET")
        self.assertEqual(metadata.headers["access-control-allow-origin"], PAGE)

    def test_whoever_is_no_page_is_told_only_that_answers_differ_by_it(self):
        answer = self.modern("tools/list", **bearer("berth_alice"))
        self.assertNotIn("access-control-allow-origin", answer.headers)
        self.assertIn("origin", words(answer.headers["vary"]))
        # What is cached for one page must not be shown to another.
        metadata = self.send(b"", path=WELL_KNOWN, method="GET")
        self.assertIn("origin", words(metadata.headers["vary"]))

    def test_a_body_that_is_too_long_is_told_to_a_page_as_well(self):
        with self.connect() as connection:
            connection.send(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: {PAGE}\r\n"
                            "Authorization: Bearer berth_alice\r\nContent-Type: application/json\r\n"
                            "Content-Length: 999999999999\r\n\r\n")
            answer = connection.answer()
        self.assertEqual(answer.status, 413)
        self.assertEqual(answer.headers["access-control-allow-origin"], PAGE)


if __name__ == "__main__":
    unittest.main()
