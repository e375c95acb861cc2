"""JWT access tokens of an issuer, and where clients learn of him. `issued_tokens.json` has the keys
of one that was made for these tests (the private ones are gone), and tokens of his until the year
3000: they are signed by another implementation than the one that checks them."""

import base64
import hashlib
import hmac
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from http_bench import JSON, HttpBench, bearer, token_file
from mcp_client import binary_path

ISSUED = json.loads((pathlib.Path(__file__).parent / "issued_tokens.json").read_text())
TOKENS = ISSUED["tokens"]
WELL_KNOWN = "/.well-known/oauth-protected-resource"


def coded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class IssuerBench(HttpBench):
    def settings(self, **changed):
        keys = self.state.path / "keys.json"
        keys.write_text(json.dumps(ISSUED["keys"]))
        keys.chmod(0o600)
        values = {"jwt_issuer": "https://login.example.com", "jwt_keys": str(keys),
                  "jwt_audience": "https://berth.example.com/mcp", **changed}
        return self.config("".join(f"{name} = {json.dumps(value)}\n"
                                   for name, value in values.items()))

    def status(self, token):
        return self.modern("tools/list", **bearer(token)).status


class IssuerTest(IssuerBench):
    def test_who_has_a_token_of_the_issuer_s_is_whom_it_names(self):
        self.serve("--config", self.settings(), auth=())
        for algorithm, name in (("RS256", "alice"), ("ES256", "bob"), ("EdDSA", "carol")):
            headers = {"_headers": bearer(TOKENS[algorithm])}
            self.call("write_file", path=f"~/{name}", content=name, **headers)
            listed = self.call("bash_exec", command="ls ~", **headers).text
            self.assertEqual(listed, f"{name}\n")
        shown = subprocess.run([binary_path("berth-direct"), "sessions", "list", "--json",
                                "--state-dir", str(self.state.path)], capture_output=True,
                               text=True, timeout=20)
        self.assertEqual({each["principal"] for each in json.loads(shown.stdout)},
                         {"alice", "bob", "carol"})
        for token in TOKENS.values():
            self.assertNotIn(token.rpartition(".")[2], self.log())

    def test_no_other_token_is_taken(self):
        self.serve("--config", self.settings(), auth=())
        head, claims, signature = TOKENS["RS256"].split(".")
        (rsa,) = [key for key in ISSUED["keys"]["keys"] if key["kty"] == "RSA"]
        text = f"{coded({'alg': 'HS256', 'kid': 'r'})}.{claims}"
        mac = hmac.new(json.dumps(rsa).encode(), text.encode(), hashlib.sha256).digest()
        for token in (TOKENS["expired"], TOKENS["other audience"], TOKENS["other issuer"],
                      f"{coded({'alg': 'none'})}.{claims}.", f"{coded({'alg': 'none'})}.{claims}.AA",
                      f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}",
                      f"{head}.{coded({'sub': 'root'})}.{signature}", "a.b.c", "", "x" * 15_000):
            self.assertEqual(self.status(token), 401, token[:60])
        self.assertEqual(self.status(TOKENS["RS256"]), 200)

    def test_whoever_takes_the_last_key_away_locks_all_out(self):
        self.serve("--config", self.settings(), auth=())
        keys = self.state.path / "keys.json"
        for left in ('{"keys":[]}', '{"keys":[{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}]}'):
            with self.subTest(left):
                keys.write_text(json.dumps(ISSUED["keys"]))
                self.wait_for(lambda: self.status(TOKENS["RS256"]) == 200)
                keys.write_text(left)
                self.wait_for(lambda: self.status(TOKENS["RS256"]) == 401)

    def test_whoever_has_none_learns_where_to_get_one(self):
        self.serve("--config", self.settings(), auth=())
        where = f'resource_metadata="https://berth.example.com{WELL_KNOWN}/mcp"'
        self.assertEqual(self.modern("tools/list").headers["www-authenticate"],
                         f'Bearer realm="berth", {where}')
        self.assertEqual(self.modern("tools/list", **bearer("no")).headers["www-authenticate"],
                         f'Bearer realm="berth", error="invalid_token", {where}')
        for path in (WELL_KNOWN, f"{WELL_KNOWN}/mcp"):
            answer = self.send(b"", path=path, method="GET")
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, JSON))
            self.assertEqual(json.loads(answer.body), {
                "resource": "https://berth.example.com/mcp", "resource_name": "berth",
                "authorization_servers": ["https://login.example.com"],
                "bearer_methods_supported": ["header"]})
        wrong = self.send(b"", path=WELL_KNOWN, method="POST")
        self.assertEqual((wrong.status, wrong.headers["allow"]), (405, "GET, HEAD"))

    def test_without_an_issuer_there_is_nothing_of_it(self):
        tokens = token_file(self.state.path / "tokens.toml",
                            a={"token": "berth_alice", "principal": "alice"})
        self.serve(auth=("--token-file", tokens))
        self.assertEqual(self.send(b"", path=WELL_KNOWN, method="GET").status, 404)
        self.assertEqual(self.status(TOKENS["RS256"]), 401)

    def test_another_claim_may_name_the_principal(self):
        self.serve("--config", self.settings(jwt_principal="iss"), auth=())
        info = self.call("session_info", _headers=bearer(TOKENS["EdDSA"]))
        self.assertFalse(info.is_error)
        self.call("bash_exec", command="true", _headers=bearer(TOKENS["EdDSA"]))
        self.call("bash_exec", command="true", _headers=bearer(TOKENS["RS256"]))
        shown = subprocess.run([binary_path("berth-direct"), "sessions", "list", "--json",
                                "--state-dir", str(self.state.path)], capture_output=True,
                               text=True, timeout=20)
        self.assertEqual([each["principal"] for each in json.loads(shown.stdout)],
                         ["https://login.example.com"])

    def test_an_issuer_is_believed_wholly_or_not_at_all(self):
        def complaint(**changed):
            done = subprocess.run([binary_path("berth-direct"), "serve", "--http", "127.0.0.1:0",
                                   "--config", self.settings(**changed), "--state-dir",
                                   str(self.state.path)], capture_output=True, text=True,
                                  timeout=20)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr
        self.assertIn("jwt_audience", complaint(jwt_audience=""))
        self.assertIn("cannot be read", complaint(jwt_keys="/nowhere.json"))
        self.assertIn("insecure_no_auth", complaint(insecure_no_auth=True))


if __name__ == "__main__":
    unittest.main()
