"""A filtered network for real: programs of a sandbox against servers on this host's loopback, which
filter.private opens for them. What is denied is said in the result of the command."""

import contextlib
import functools
import http.server
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import Berth
from state_directory import StateDirectory

# Of loopback the programs would go past the proxy, to the sandbox's own.
THROUGH_PROXY = {"NO_PROXY": "", "no_proxy": ""}
SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path != "/whoever-asks":
            return super().do_GET()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"%d" % proxy_with(self.client_address[1]))


def serve(folder, context=None):
    """The port of a server of this folder."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Quiet, directory=str(folder)))
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def make_pages(folder):
    """A page, a repository and a package index."""
    (folder / "page").write_text("served\n")
    git = functools.partial(subprocess.run, check=True, capture_output=True)
    git(["git", "init", "-q", "-b", "main", folder / "work"])
    (folder / "work/f").write_text("in git\n")
    author = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    git(["git", "-C", folder / "work", "add", "f"])
    git(["git", "-C", folder / "work", *author, "commit", "-qm", "first"])
    git(["git", "clone", "-q", "--bare", folder / "work", folder / "repository.git"])
    git(["git", "-C", folder / "repository.git", "update-server-info"])
    (folder / "simple/tiny").mkdir(parents=True)
    with zipfile.ZipFile(folder / "simple/tiny/tiny-1-py3-none-any.whl", "w") as wheel:
        info = "tiny-1.dist-info/"
        wheel.writestr("tiny.py", "print(42)")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        wheel.writestr(info + "WHEEL",
                       "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")


def node_version():
    node = shutil.which("node", path=SANDBOX_PATH)
    if not node:
        return [0, 0]
    told = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout
    return [int(part) for part in told.strip()[1:].split(".")[:2]]


def proxies():
    """Of all sandboxes."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text() == "berth-proxy\n":
                found.append(int(entry.name))
    return set(found)


def proxy_with(port):
    """Whose end of a connection on loopback has this port: other tests have proxies, too."""
    lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    numbers = {f"socket:[{line[9]}]" for line in lines if int(line[1].split(":")[1], 16) == port}
    for proxy in proxies():
        with contextlib.suppress(OSError):
            if numbers & {os.readlink(fd) for fd in pathlib.Path(f"/proc/{proxy}/fd").iterdir()}:
                return proxy
    return -1


def cgroups_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines)


class FilteredTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        pages = folder / "pages"
        pages.mkdir()
        make_pages(pages)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                        folder / "key", "-out", folder / "certificate"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate", folder / "key")
        cls.plain, cls.secure, cls.other = serve(pages), serve(pages, context), serve(pages)
        for server in (cls.plain, cls.secure, cls.other):
            cls.stack.callback(server.shutdown)
        cls.port, cls.secure_port, cls.other_port = (
            server.server_address[1] for server in (cls.plain, cls.secure, cls.other))

    def setUp(self):
        self.before = proxies()
        self.state = self.enterContext(StateDirectory())
        self.berth = self.start()

    def start(self, *arguments, **environment):
        allow = f"localhost:{self.port},localhost:{self.secure_port},169.254.169.254,*.invalid"
        return self.enterContext(Berth("--network", "filtered", *arguments, state=self.state, env={
            "BERTH_FILTER_ALLOW": allow, "BERTH_FILTER_DENY": "denied.invalid",
            "BERTH_FILTER_PRIVATE": "127.0.0.0/8", **environment}))

    def run_in(self, command, berth=None, **arguments):
        return (berth or self.berth).call_tool(
            "bash_exec", {"command": command, "env": THROUGH_PROXY, **arguments})

    def own_proxy(self, berth=None):
        page = f"http://localhost:{self.port}/whoever-asks"
        found = int(self.run_in(f"curl -s {page}", berth).text)
        if found < 0 and os.geteuid() != 0:  # who may not read whose descriptors they are
            (found,) = proxies() - self.before
        self.assertGreater(found, 0)
        return found

    def expect(self, command, output):
        result = self.run_in(command)
        self.assertEqual((result.text, result.data["denials"]), (output, []))

    def expect_denied(self, command, kind, target, word):
        result = self.run_in(command)
        self.assertNotEqual(result.data["exit_code"], 0)
        told = [denial for denial in result.data["denials"] if denial["kind"] == kind]
        self.assertEqual([denial["target"] for denial in told], [target], result.text)
        self.assertIn(word, told[0]["reason"])
        self.assertIn(f"[the network denied {target}", result.text)
        self.assertIn(told[0]["remedy"], result.text)
        return result

    def test_what_is_allowed_is_reached(self):
        secure, plain = f"https://localhost:{self.secure_port}", f"http://localhost:{self.port}"
        self.expect(f"curl -sk {secure}/page", "served\n")
        self.expect(f"curl -s {plain}/page", "served\n")
        self.expect(f"curl -s {plain}/page {plain}/page", "served\nserved\n")
        self.expect(f"curl -skx socks5h://127.0.0.1:3128 {secure}/page", "served\n")
        self.expect(f"curl -sp {plain}/page", "served\n")  # HTTP through CONNECT
        self.expect("python3 -c 'import urllib.request as u; "
                    f"print(u.urlopen(\"{plain}/page\").read().decode(), end=\"\")'", "served\n")

    def test_programs_that_fetch_use_it(self):
        secure = f"https://localhost:{self.secure_port}"
        self.expect(f"git -c http.sslVerify=false clone -q {secure}/repository.git r && cat r/f",
                    "in git\n")
        if shutil.which("pip3", path=SANDBOX_PATH):
            self.expect(f"/usr/bin/pip3 install -q --trusted-host localhost --index-url {secure}/simple "
                        "tiny && python3 -m tiny", "42\n")
        if shutil.which("npm", path=SANDBOX_PATH):
            # What it is told is of a package, which a registry would have.
            self.expect(f"npm view --strict-ssl=false --fetch-retries=0 --registry {secure} tiny 2>&1 | "
                        "grep -o 'E404$' | head -n 1", "E404\n")
        if node_version() >= [22, 21]:  # that can be told to by NODE_USE_ENV_PROXY
            self.expect(f"NODE_TLS_REJECT_UNAUTHORIZED=0 node --no-warnings -e 'fetch(\"{secure}/page\")"
                        ".then(page => page.text()).then(text => process.stdout.write(text))'", "served\n")
        if shutil.which("javac", path=SANDBOX_PATH):
            self.expect("cat >G.java <<'.'\npublic class G { public static void main(String[] a) "
                        "throws Exception { System.out.print(new String(new java.net.URL(a[0])"
                        ".openStream().readAllBytes())); } }\n.\n"
                        "java -Dhttp.nonProxyHosts= G.java "
                        f"http://localhost:{self.port}/page 2>/dev/null", "served\n")

    def test_git_over_ssh_uses_it(self):
        """As far as the greeting of a stub: there is not everywhere a server of ssh."""
        heard = []
        with socket.create_server(("127.0.0.1", 0)) as stub:
            port = stub.getsockname()[1]

            def greet():
                with stub.accept()[0] as client:
                    client.sendall(b"SSH-2.0-stub\r\n")
                    heard.append(client.recv(8))

            thread = threading.Thread(target=greet, daemon=True)
            thread.start()
            berth = self.start("--session", "ssh", BERTH_FILTER_ALLOW=f"localhost:{port}")
            self.run_in(f"git ls-remote ssh://user@localhost:{port}/r", berth)
            thread.join(20)
        self.assertEqual(heard, [b"SSH-2.0-"])
        denied = self.run_in("git ls-remote git@denied.invalid:r", berth)
        self.assertEqual(denied.data["denials"][0]["target"], "denied.invalid:22")
        self.assertIn("berth: denied.invalid:22 is denied", denied.text)
        # To the sandbox's own loopback it goes by itself.
        own = berth.call_tool("bash_exec", {"command": "berth-connect 127.0.0.1 3129 </dev/null"})
        self.assertEqual((own.data["exit_code"], own.data["denials"]), (1, []))

    def test_what_is_not_allowed_is_denied_and_told(self):
        self.expect_denied("curl -s https://example.com/", "domain", "example.com:443",
                           "not among those")
        self.expect_denied("curl -sf http://example.com/", "domain", "example.com:80",
                           "not among those")
        self.expect_denied("curl -sx socks5h://127.0.0.1:3128 http://example.com/", "domain",
                           "example.com:80", "not among those")
        self.expect_denied("curl -sf http://denied.invalid/", "domain", "denied.invalid:80", "denies")
        self.expect_denied(f"curl -sf http://localhost:{self.other_port}/", "port",
                           f"localhost:{self.other_port}", "not its port")
        self.expect_denied("curl -sf http://169.254.169.254/", "address", "169.254.169.254:80",
                           "link-local")
        result = self.expect_denied("for i in 1 2 3; do curl -s https://example.com/ && break; done",
                                    "domain", "example.com:443", "not among those")
        self.assertEqual(result.data["denials"][0]["count"], 3)
        self.assertEqual(self.run_in("true").data["denials"], [])

    def test_a_tunnel_leads_to_the_name_it_was_asked_for(self):
        port = self.secure_port
        self.expect_denied(f"curl -sk --connect-to other.example:443:localhost:{port} "
                           "https://other.example/page", "tls", f"localhost:{port}", "another name")

    def test_a_name_that_is_looked_up_past_the_proxy_is_refused_at_once(self):
        began = time.monotonic()
        result = self.expect_denied("getent ahosts pypi.org", "dns", "pypi.org", "the proxy alone")
        self.assertLess(time.monotonic() - began, 5)
        self.assertIn("HTTP_PROXY", result.text)

    def test_nothing_goes_past_the_proxy(self):
        for address in ("127.0.0.1", "10.0.0.1", "93.184.216.34"):
            result = self.run_in(f"timeout 5 bash -c '</dev/tcp/{address}/{self.port}'")
            self.assertEqual(result.data["exit_code"], 1, address)

    def test_of_loopback_nothing_is_reached_that_is_not_opened(self):
        berth = self.start("--session", "closed", BERTH_FILTER_PRIVATE="10.0.0.0/8")
        denial = self.run_in(f"curl -sf http://localhost:{self.port}/page", berth).data["denials"][0]
        self.assertEqual(denial["kind"], "address")
        self.assertIn("a loopback address", denial["reason"])
        self.assertIn("filter.private", denial["remedy"])

    def test_a_job_is_told_too(self):
        job = self.run_in("curl -s https://example.com/; sleep 0.1", background=True).data["job_id"]
        until = time.monotonic() + 20
        while True:
            result = self.berth.call_tool("bash_output", {"job_id": job, "wait": 5})
            if result.data["status"] == "ended" or time.monotonic() > until:
                break
        self.assertEqual(result.data["denials"][0]["target"], "example.com:443")
        self.assertIn("[the network denied example.com:443", result.text)

    def test_the_proxy_outlives_the_server_and_ends_with_the_machine(self):
        first = self.start("--session", "kept")
        page = f"curl -s http://localhost:{self.port}/page"
        self.assertEqual(self.run_in(page, first).text, "served\n")
        proxy = self.own_proxy(first)
        first.signal(signal.SIGKILL)
        first.wait()
        second = self.start("--session", "kept")
        # Behind a notice where the first one had no time to say that its result was read.
        self.assertTrue(self.run_in(page, second).text.endswith("served\n"))
        self.assertEqual(self.own_proxy(second), proxy)

    def test_a_proxy_that_was_killed_is_told(self):
        os.kill(self.own_proxy(), signal.SIGKILL)
        until = time.monotonic() + 10
        kinds = []
        while "proxy" not in kinds and time.monotonic() < until:
            result = self.run_in(f"curl -s http://localhost:{self.port}/page")
            kinds = [denial["kind"] for denial in result.data["denials"]]
        self.assertEqual(kinds, ["proxy"])

    def test_what_the_proxy_is(self):
        proxy = pathlib.Path(f"/proc/{self.own_proxy()}")
        status = dict(line.split(":\t", 1) for line in (proxy / "status").read_text().splitlines()
                      if ":\t" in line)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        if os.geteuid() == 0:
            self.assertNotIn("0", status["Uid"].split() + status["Gid"].split())
            self.assertEqual(status["Groups"].strip(), "")
            self.assertEqual(int(status["CapPrm"], 16), 0)
            self.assertEqual(os.readlink(proxy / "cwd"), "/")  # it keeps no disk busy

    def test_the_proxy_is_in_cgroups_of_its_session(self):
        proxy, (guest,) = cgroups_of(self.own_proxy()), self.state.guests()
        for hierarchy, place in cgroups_of(guest).items():
            if place.endswith("/guest"):  # else this session has none there
                self.assertEqual(proxy[hierarchy], place.removesuffix("guest") + "proxy")

    def test_session_info_tells_of_it(self):
        self.run_in("true")
        info = self.berth.call_tool("session_info")
        self.assertEqual(info.data["network"], "filtered")
        self.assertEqual(info.data["filter"]["deny"], ["denied.invalid"])
        self.assertIn(f"localhost:{self.port}", info.text)

    def test_requests_that_are_none(self):
        script = ("exec 3<>/dev/tcp/127.0.0.1/3128; printf '%b' '{}' >&3; "
                  "timeout 5 head -c 12 <&3; true")
        for request, answer in (("GET / HTTP/1.1\\r\\n\\r\\n", "HTTP/1.1 400"),
                                ("CONNECT 127.1:443 HTTP/1.1\\r\\n\\r\\n", "HTTP/1.1 400"),
                                ("CONNECT a@localhost:443 HTTP/1.1\\r\\n\\r\\n", "HTTP/1.1 400")):
            result = self.run_in(script.format(request))
            self.assertTrue(result.text.startswith(answer), result.text)
            self.assertEqual([denial["kind"] for denial in result.data["denials"]], ["request"])


if __name__ == "__main__":
    unittest.main()
