"""Secrets that the proxy of a filtered network puts in, for real: programs of a sandbox have a
placeholder, and servers on this host's loopback say what they were sent."""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import Berth
from state_directory import StateDirectory

# Of loopback the programs would go past the proxy, to the sandbox's own.
THROUGH_PROXY = {"NO_PROXY": "", "no_proxy": ""}
SECRET = "Fp9-first/value of the operator's"
LATER = "Zq4-later+value"


class Echo(http.server.BaseHTTPRequestHandler):
    """Keeps what it was sent, and says nothing of it."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append({"path": self.path, "headers": dict(self.headers.items()),
                                 "body": body.decode()})
        word = b"took it\n"
        if self.path == "/echo":
            word = json.dumps(dict(self.headers.items())).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(word)))
        self.end_headers()
        self.wfile.write(word)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def memory_of(pid):
    """What it has in memory that can be read, in pieces."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            place, rights = line.split()[:2]
            if rights.startswith("r") and "[v" not in line:
                begin, end = (int(number, 16) for number in place.split("-"))
                memory.seek(begin)
                yield memory.read(end - begin)


class WithheldTest(unittest.TestCase):
    def setUp(self):
        self.here, self.other = serve(), serve()
        for server in (self.here, self.other):
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        self.url, self.elsewhere = (f"http://localhost:{server.server_address[1]}"
                                    for server in (self.here, self.other))
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = folder / "secret"
        self.file.write_text(SECRET + "\n")
        self.state = self.enterContext(StateDirectory())
        self.berth = self.start("--session", "s")

    def start(self, *arguments, **environment):
        places = ",".join(url.removeprefix("http://") for url in (self.url, self.elsewhere))
        return self.enterContext(Berth(
            "--network", "filtered", "--secret", f"TOKEN=file:{self.file}", *arguments,
            state=self.state, env={"BERTH_FILTER_ALLOW": places, "BERTH_FILTER_PRIVATE": "127.0.0.0/8",
                                   "BERTH_FILTER_SECRET": f"TOKEN={self.url}", **environment}))

    def run_in(self, command, berth=None, **arguments):
        return (berth or self.berth).call_tool(
            "bash_exec", {"command": command, "env": THROUGH_PROXY, **arguments})

    def sent(self, command, server=None):
        """The one request that the command makes of a server."""
        server = server or self.here
        server.seen.clear()
        result = self.run_in(command)
        self.assertEqual(result.data["denials"], [], result.text)
        (request,) = server.seen
        return request

    def placeholder(self):
        return self.run_in("printf %s \"$TOKEN\"").text

    def test_its_own_place_has_the_value_and_the_sandbox_the_placeholder(self):
        self.assertRegex(self.placeholder(), r"^berthplaceholder[0-9a-f]{32}$")
        bearer = self.sent(f"curl -sf -H \"Authorization: Bearer $TOKEN\" {self.url}/a")
        self.assertEqual(bearer["headers"]["Authorization"], f"Bearer {SECRET}")
        basic = self.sent(f"curl -sf -u \"me:$TOKEN\" {self.url}/a")["headers"]["Authorization"]
        self.assertEqual(basic, "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode())
        body = self.sent(f"curl -sf -d \"key=$TOKEN\" {self.url}/a")["body"]
        self.assertEqual(body, f"key={self.placeholder()}")  # what is stored there may be shown

    def test_the_address_has_it_where_the_place_says_so(self):
        address = f"{self.url}/a?key=$TOKEN"
        (denial,) = self.run_in(f"curl -s {address}").data["denials"]
        self.assertIn("in the address of the request", denial["reason"])
        self.assertEqual(self.here.seen, [])
        self.run_in(f"curl -sf {address}",
                    self.start("--session", "v", BERTH_FILTER_SECRET=f"TOKEN={self.url}?"))
        (request,) = self.here.seen
        self.assertEqual(request["path"], "/a?key=Fp9-first%2Fvalue%20of%20the%20operator%27s")

    def test_clients_of_python_and_git_need_nothing_else(self):
        python = self.sent("python3 - <<'.'\nimport os, urllib.request as u\n"
                           f"u.urlopen(u.Request('{self.url}/a', "
                           "headers={'X-Api-Key': os.environ['TOKEN']})).read()\n.")
        self.assertEqual(python["headers"]["X-Api-Key"], SECRET)
        self.here.seen.clear()
        self.run_in(f"git -c http.extraHeader=\"Authorization: token $TOKEN\" ls-remote {self.url}/r")
        self.assertEqual(self.here.seen[0]["headers"]["Authorization"], f"token {SECRET}")

    def test_elsewhere_nothing_of_it_goes_and_the_result_says_why(self):
        result = self.run_in(f"curl -s -H \"Authorization: Bearer $TOKEN\" {self.elsewhere}/a")
        (denial,) = result.data["denials"]
        self.assertEqual(denial["kind"], "secret")
        self.assertIn("the placeholder of the secret TOKEN", denial["reason"])
        self.assertIn(self.url, denial["reason"])
        self.assertIn("filter.secret", result.text)
        self.assertEqual(self.other.seen, [])
        # What names one host in its address and another in its head goes to the address.
        moved = self.sent(f"curl -sf -H 'Host: {self.url.removeprefix('http://')}' {self.elsewhere}/a",
                          self.other)
        self.assertEqual(moved["headers"]["Host"], self.elsewhere.removeprefix("http://"))

    def test_no_second_request_has_it(self):
        host, port = self.url.removeprefix("http://").split(":")
        smuggled = (f"GET {self.url}/one HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
                    f"GET {self.elsewhere}/two HTTP/1.1\\r\\nAuthorization: '$TOKEN'\\r\\n\\r\\n")
        self.run_in("exec 3<>/dev/tcp/127.0.0.1/3128; "
                    f"printf '%b' '{smuggled}' >&3; timeout 5 cat <&3")
        self.assertEqual([request["path"] for request in self.here.seen], ["/one"])
        self.assertEqual(self.other.seen, [])

    def test_an_echo_is_masked_in_the_result(self):
        result = self.run_in(f"curl -sf -H \"Authorization: Bearer $TOKEN\" {self.url}/echo")
        self.assertNotIn(SECRET, result.text)
        self.assertIn("[secret TOKEN]", result.text)

    def test_a_value_that_was_changed_holds_at_once_and_for_jobs_too(self):
        job = self.run_in("until curl -sf -H \"A: $TOKEN\" "
                          f"{self.url}/job && test -e go; do sleep 0.05; done", background=True)
        before = self.placeholder()
        self.file.write_text(LATER)
        self.assertEqual(self.value_now(), LATER)
        self.assertEqual(self.placeholder(), before)
        self.run_in("touch go")
        self.berth.call_tool("bash_output", {"job_id": job.data["job_id"], "wait": 10})
        jobs = [request for request in self.here.seen if request["path"] == "/job"]
        self.assertEqual(jobs[-1]["headers"]["A"], LATER)

    def value_now(self):
        self.run_in(f"curl -sf -H \"X: $TOKEN\" {self.url}/now")
        return [request for request in self.here.seen if request["path"] == "/now"][-1]["headers"]["X"]

    def test_another_server_of_the_session_has_the_same_placeholder(self):
        first = self.placeholder()
        self.berth.close()
        self.berth = self.start("--session", "s")
        # Behind a notice where the first one had no time to say that its result was read.
        self.assertTrue(self.placeholder().endswith(first))
        self.assertEqual(self.value_now(), SECRET)
        other = self.run_in("printf %s \"$TOKEN\"", self.start("--session", "t")).text
        self.assertNotEqual(other, first)

    def test_one_that_cannot_be_had_or_put_in_runs_nothing(self):
        self.file.write_text("two\nlines\n")
        result = self.run_in("touch ran")
        self.assertEqual(result.error["code"], "sandbox_unavailable")
        self.assertIn("a line end", result.text)
        self.file.write_text(SECRET)
        self.assertEqual(self.run_in("ls; echo ran").text, "ran\n")

    def test_setup_has_the_placeholder(self):
        berth = self.start("--session", "u", BERTH_SESSION_SETUP=(
            f"NO_PROXY= no_proxy= curl -sf -H \"X: $TOKEN\" {self.url}/setup"))
        self.run_in("true", berth)
        self.assertEqual(self.here.seen[0]["headers"]["X"], SECRET)

    def test_the_value_is_nowhere_in_the_sandbox(self):
        self.sent(f"curl -sf -H \"X: $TOKEN\" {self.url}/a")
        job = self.run_in("exec sleep 300", background=True)
        self.assertEqual(self.run_in("grep -rlas 'Fp9[-]first' /proc/[0-9]*/environ /proc/[0-9]*/cmdline "
                                     "~ /tmp /run /var/tmp /etc; echo looked").text, "looked\n")
        if os.geteuid() == 0:  # nobody else may look
            pids = self.machine()
            self.assertGreaterEqual(len(pids), 2)
            for pid in pids:
                for piece in memory_of(pid):
                    self.assertNotIn(SECRET.encode(), piece, pid)
        self.berth.call_tool("bash_kill", {"job_id": job.data["job_id"]})
        for path in pathlib.Path(self.state.path).rglob("*"):  # nor in what berth keeps
            if path.is_file():
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)

    def machine(self):
        """The guest, and what runs in its sandbox."""
        (guest,) = self.state.guests()
        space = os.stat(f"/proc/{guest}/ns/pid").st_ino
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.stat(entry / "ns/pid").st_ino == space:
                    found.append(int(entry.name))
        return found


if __name__ == "__main__":
    unittest.main()
