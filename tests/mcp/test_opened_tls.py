"""TLS that the proxy of a filtered network opens (filter.intercept), for real: clients of a sandbox
against servers on this host's loopback whose authority only the server of berth is told of."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import Berth
from state_directory import StateDirectory
from test_withheld_secrets import SECRET, THROUGH_PROXY, Echo, memory_of

SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"
JAVA = """cat >G.java <<'.'
public class G { public static void main(String[] a) throws Exception {
    var c = new java.net.URL(a[0]).openConnection();
    c.setRequestProperty("X-Api-Key", System.getenv("TOKEN"));
    System.out.print(new String(c.getInputStream().readAllBytes())); } }
.
java -Dhttp.nonProxyHosts= G.java %s 2>/dev/null"""
# Through the tunnel by hand: the node of Debian 12 does not know the variables of a proxy.
NODE = """node -e '
const http = require("http"), https = require("https"), url = new URL(process.argv[1]);
http.request({port: 3128, method: "CONNECT", path: url.host, agent: false}).on("connect", (_, socket) =>
  https.get(url, {createConnection: () => require("tls").connect({socket, servername: url.hostname}),
                  headers: {"X-Api-Key": process.env.TOKEN}}, r => r.pipe(process.stdout))).end()' %s"""

# Tells an end that is said from one that is not.
RAW = """python3 - <<'.'
import socket, ssl
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT {0} HTTP/1.1\\r\\n\\r\\n")
s.recv(99)
context = ssl.create_default_context()
context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
t = context.wrap_socket(s, server_hostname="localhost", suppress_ragged_eofs=False)
t.sendall(b"GET /{1} HTTP/1.1\\r\\nHost: {0}\\r\\n\\r\\n")
answer = b""
try:
    while got := t.recv(99):
        answer += got
    end = "whole"
except ssl.SSLError:
    end = "cut"
print(answer.decode().split("\\r\\n\\r\\n")[1] + end)
."""


def certify(folder, name, authority=None, subject="localhost"):
    """A key and a certificate of a server, by an authority or, without one, of such a one itself."""
    to = folder / name
    extension = ["-addext", f"subjectAltName=DNS:{subject},IP:127.0.0.1"] if authority else []
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-subj", f"/CN={name}", *extension,
                    *(["-CA", f"{authority}.crt", "-CAkey", f"{authority}.key"] if authority else []),
                    "-keyout", f"{to}.key", "-out", f"{to}.crt"], check=True, capture_output=True)
    return to


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # clients that do not trust it are what is tried


def serve(certificate, handler=Echo):
    server = Server(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{certificate}.crt", f"{certificate}.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Cutting(Echo):
    """Says nothing of how long its answer is; /cut ends without TLS's own word of an end."""

    def answer(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\npart\n")
        self.wfile.flush()
        if self.path != "/cut":
            self.connection.unwrap()
        self.close_connection = True

    do_GET = answer


class OpenedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        authority = certify(cls.folder, "authority")
        cls.here, cls.other, cls.wrong, cls.unknown = (serve(certificate) for certificate in (
            certify(cls.folder, "here", authority), certify(cls.folder, "other", authority),
            certify(cls.folder, "wrong", authority, subject="else.example"),
            certify(cls.folder, "unknown", certify(cls.folder, "stranger"))))
        cls.cutting = serve(certify(cls.folder, "cutting", authority), Cutting)
        for server in (cls.here, cls.other, cls.wrong, cls.unknown, cls.cutting):
            cls.stack.callback(server.server_close)
            cls.stack.callback(server.shutdown)
        cls.url, cls.elsewhere, cls.misnamed, cls.untrusted, cls.short = (
            f"https://localhost:{server.server_address[1]}"
            for server in (cls.here, cls.other, cls.wrong, cls.unknown, cls.cutting))
        cls.by_address = cls.url.replace("localhost", "127.0.0.1")
        (cls.folder / "secret").write_text(SECRET)
        cls.state = cls.stack.enter_context(StateDirectory())
        places = (cls.url, cls.elsewhere, cls.misnamed, cls.untrusted, cls.by_address, cls.short)
        secrets = (cls.url, cls.misnamed, cls.untrusted, cls.by_address, cls.short)
        cls.berth = cls.stack.enter_context(Berth(
            "--network", "filtered", "--secret", f"TOKEN=file:{cls.folder}/secret", "--session", "s",
            state=cls.state, env={
                "BERTH_FILTER_ALLOW": ",".join(url.removeprefix("https://") for url in places),
                "BERTH_FILTER_PRIVATE": "127.0.0.0/8", "BERTH_FILTER_INTERCEPT": "true",
                "BERTH_FILTER_SECRET": ",".join(f"TOKEN={url}" for url in secrets),
                "SSL_CERT_FILE": f"{authority}.crt"}))

    def setUp(self):
        for server in (self.here, self.other, self.wrong, self.unknown):
            server.seen.clear()

    def run_in(self, command, **arguments):
        return self.berth.call_tool("bash_exec", {"command": command, "env": THROUGH_PROXY, **arguments})

    def expect(self, command, header="X-Api-Key", value=SECRET):
        result = self.run_in(command)
        self.assertEqual((result.text[:8], result.data["denials"]), ("took it\n", []), result.text)
        (request,) = self.here.seen
        self.assertEqual(request["headers"][header], value)
        self.here.seen.clear()

    def expect_denied(self, command, kind, word):
        result = self.run_in(command)
        (denial,) = result.data["denials"]
        self.assertEqual(denial["kind"], kind)
        self.assertIn(word, denial["reason"])
        return result

    def test_clients_trust_the_proxy_and_their_server_has_the_value(self):
        self.expect(f"curl -sf -H \"X-Api-Key: $TOKEN\" {self.url}/a")
        self.expect(f"curl -sf -H \"X-Api-Key: $TOKEN\" {self.by_address}/a")
        self.expect(f"curl -sf --http2 -H \"X-Api-Key: $TOKEN\" {self.url}/a")
        self.expect(f"curl -sfx socks5h://127.0.0.1:3128 -H \"X-Api-Key: $TOKEN\" {self.url}/a")
        self.expect("python3 - <<'.'\nimport os, urllib.request as u\n"
                    f"print(u.urlopen(u.Request('{self.url}/a', headers={{'X-Api-Key': "
                    "os.environ['TOKEN']})).read().decode(), end='')\n.")
        if shutil.which("wget", path=SANDBOX_PATH):  # which looks where Debian has it
            self.expect(f"wget -qO- --header \"X-Api-Key: $TOKEN\" {self.url}/a")
        if shutil.which("node", path=SANDBOX_PATH):
            self.expect(NODE % f"{self.url}/a")
        if shutil.which("javac", path=SANDBOX_PATH):
            # By its address: java names a server to TLS only with a dot in the name.
            self.expect(JAVA % f"{self.by_address}/a")

    def test_git_has_it_too(self):
        self.run_in(f"git -c http.extraHeader=\"X-Api-Key: $TOKEN\" ls-remote {self.url}/r")
        self.assertEqual(self.here.seen[0]["headers"]["X-Api-Key"], SECRET)

    def test_what_is_no_place_of_a_secret_is_not_opened(self):
        seen = self.run_in(f"curl -svk {self.elsewhere}/a 2>&1 | grep issuer:").text
        self.assertIn("CN=authority", seen)
        ours = self.run_in(f"curl -sv {self.url}/a 2>&1 | grep issuer:").text
        self.assertRegex(ours, "O=berth; CN=proxy of session")
        result = self.run_in(f"curl -sk -H \"X: $TOKEN\" {self.elsewhere}/a")
        self.assertEqual(result.text, "took it\n")
        self.assertRegex(self.other.seen[-1]["headers"]["X"], "^berthplaceholder")

    def test_a_server_must_be_certified_for_its_name(self):
        self.expect_denied(f"curl -s -H \"X: $TOKEN\" {self.misnamed}/a", "tls", "not trusted")
        self.expect_denied(f"curl -sk -H \"X: $TOKEN\" {self.untrusted}/a", "tls", "not trusted")
        self.assertEqual(self.wrong.seen + self.unknown.seen, [])
        # Nor does a head without end end the proxy there.
        self.run_in("curl -skx socks5h://127.0.0.1:3128 -H \"X: $(head -c 60000 /dev/zero | tr '\\0' x)\" "
                    f"{self.untrusted}/a")
        self.expect(f"curl -sf -H \"X-Api-Key: $TOKEN\" {self.url}/a")

    def test_a_client_that_trusts_others_is_told(self):
        other = (self.folder / "stranger.crt").read_text()
        self.berth.call_tool("write_file", {"path": "pinned.pem", "content": other})
        # It is the client that breaks off: its command may be over before the proxy hears of it.
        result = self.expect_denied("for i in 1 2 3; do "
                                    f"curl -s --cacert pinned.pem {self.url}/a; sleep 0.2; done",
                                    "tls", "does not take TLS")
        self.assertIn("pins certificates", result.text)
        self.assertEqual(self.here.seen, [])

    def test_a_request_goes_to_whom_the_tunnel_goes_to(self):
        answer = self.run_in(f"curl -s -H 'Host: else.example' -H \"X: $TOKEN\" {self.url}/a")
        self.assertIn("Host is not what was connected to", answer.text)
        self.assertEqual([denial["kind"] for denial in answer.data["denials"]], ["request"])
        self.assertEqual(self.here.seen, [])
        two = ("import socket, ssl, os\ns = socket.create_connection((\"127.0.0.1\", 3128))\n"
               f"s.sendall(b\"CONNECT {self.url[8:]} HTTP/1.1\\r\\n\\r\\n\")\ns.recv(99)\n"
               "c = ssl.create_default_context()\nt = c.wrap_socket(s, server_hostname=\"localhost\")\n"
               f"r = \"GET /one HTTP/1.1\\r\\nHost: {self.url[8:]}\\r\\nX: %s\\r\\n\\r\\n\"\n"
               "r = r % os.environ[\"TOKEN\"]\n"
               "t.sendall((r + r.replace(\"one\", \"two\")).encode())\nwhile t.recv(999): pass\n")
        self.run_in(f"python3 - <<'.'\n{two}.")
        self.assertEqual([request["path"] for request in self.here.seen], ["/one"])

    def test_bodies_go_through_whole(self):
        command = (f"head -c 3000000 /dev/zero | tr '\\0' x | curl -sf --data-binary @- {self.url}/a")
        self.assertEqual(self.run_in(command).text, "took it\n")
        self.assertEqual(len(self.here.seen[0]["body"]), 3000000)

    def test_an_answer_that_is_cut_is_not_taken_for_whole(self):
        for path in ("whole", "cut"):
            self.assertEqual(self.run_in(RAW.format(self.short[8:], path)).text, f"part\n{path}\n")

    def test_its_key_is_nowhere_in_the_sandbox_and_certifies_nobody_else(self):
        text = self.run_in("cat /etc/berth/certificates/authority.pem").text
        shown = subprocess.run(["openssl", "x509", "-noout", "-text"], input=text, text=True, check=True,
                               capture_output=True).stdout
        self.assertIn("X509v3 Name Constraints: critical", shown)
        self.assertEqual(re.findall(r"DNS:(\S+)", shown), ["nobody.invalid", "localhost"])
        found = self.run_in("grep -rlasE 'PRIVATE[ ]KEY' /etc/berth ~ /run /tmp; "
                            "touch /etc/berth/certificates/x 2>/dev/null; echo $?").text
        self.assertEqual(found, "1\n")
        count = self.run_in("grep -c BEGIN /etc/berth/certificates/authorities.pem").text
        self.assertEqual(count, "2\n")  # SSL_CERT_FILE's one, and that

    def test_the_value_is_in_the_proxy_alone(self):
        self.expect(f"curl -sf -H \"X-Api-Key: $TOKEN\" {self.url}/a")
        if os.geteuid() != 0:
            return  # nobody else may look
        (guest,) = self.state.guests()
        for piece in memory_of(guest):
            self.assertNotIn(SECRET.encode(), piece)

    def test_session_info_tells_of_it(self):
        info = self.berth.call_tool("session_info")
        self.assertTrue(info.data["filter"]["intercept"])
        self.assertIn(f"TOKEN={self.url}", json.dumps(info.data["filter"]["secret"]))


if __name__ == "__main__":
    unittest.main()
