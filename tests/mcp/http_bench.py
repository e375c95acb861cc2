"""What the tests of MCP over HTTP have in common: berth-direct that listens, and clients of both eras
that are nothing but sockets, so that they can also be wrong."""

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import META, Bench, request
from mcp_client import LEGACY, MODERN, Result, binary_path

JSON = "application/json"
EVENTS = "text/event-stream"


class Answer:
    """Status, headers (names in small letters) and body of one answer."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def messages(self):
        """Those of a stream of events, or the one of a JSON body."""
        if self.headers.get("content-type") == EVENTS:
            return [json.loads(line[6:]) for line in self.body.decode().splitlines()
                    if line.startswith("data: ")]
        return [json.loads(self.body)] if self.body else []

    @property
    def message(self):
        return self.messages[-1]

    @property
    def error(self):
        return self.message["error"]

    @property
    def result(self):
        return self.message["result"]

    @property
    def tool(self):
        return Result(self.result)

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:2000]!r}>"


class Connection:
    """One connection, byte for byte."""

    def __init__(self, address, timeout=20):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data.encode() if isinstance(data, str) else data)

    def post(self, body, headers=(), path="/mcp", method="POST", host="127.0.0.1"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in dict(headers).items())]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def head(self):
        """Status and headers; None where the server closed without a word."""
        line = self.file.readline()
        if not line:
            return None
        headers = {}
        for field in iter(self.file.readline, b"\r\n"):
            name, _, value = field.decode().partition(":")
            headers[name.lower()] = value.strip()
        return int(line.split()[1]), headers

    def chunk(self):
        """The next piece of a chunked body; empty: the last."""
        size = int(self.file.readline() or b"0", 16)
        piece = self.file.read(size)
        self.file.readline()
        return piece

    def answer(self):
        head = self.head()
        if head is None:
            return None
        status, headers = head
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join(iter(self.chunk, b""))
        else:
            body = self.file.read(int(headers.get("content-length", 0)))
        return Answer(status, headers, body)

    def is_closed(self):
        """By the server; reads what is left."""
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(65536):
                pass
        return True

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class HttpBench(Bench):
    """`self.serve()` before the first request; its address is `self.address`."""

    def serve(self, *arguments, auth=("--insecure-no-auth",), listen="127.0.0.1:0", env=None,
              binary="berth-direct", command=("serve",)):
        where = ("--unix", listen) if "/" in listen else ("--http", listen)
        # No pipe: what it leaves running on purpose would keep it open.
        self.log_path = self.state.path / "server.log"
        with open(self.log_path, "w") as log:
            self.server = subprocess.Popen(
                [binary_path(binary), *command, *where, *auth, *arguments],
                env={**{name: os.environ[name] for name in ("PATH", "HOME", "ASAN_OPTIONS",
                                                            "UBSAN_OPTIONS", "TSAN_OPTIONS")
                        if name in os.environ},
                     "BERTH_STATE_DIR": str(self.state.path), "TMPDIR": str(self.state.temporary),
                     **(env or {})},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                start_new_session=True)
        self.addCleanup(self.stop)
        self.wait_for(lambda: "\n" in self.log() or self.server.poll() is not None)
        first = self.log().partition("\n")[0]
        self.assertIn("listening on ", first)
        url = first.split()[-1]
        self.address = (url.removeprefix("unix:") if url.startswith("unix:")
                        else ("127.0.0.1", int(url.split(":")[2].split("/")[0])))
        return self.address

    def log(self):
        return self.log_path.read_text()

    def stop(self, number=signal.SIGTERM):
        if self.server.poll() is None:
            self.server.send_signal(number)
            self.server.wait(10)
        # It ends without asking the sanitizer, who has said it by then.
        found = self.log().find("WARNING: ThreadSanitizer")
        self.assertEqual(found, -1, self.log()[found:found + 6000])
        return self.server.returncode

    def connect(self, timeout=20):
        connection = Connection(self.address, timeout)
        self.addCleanup(connection.close)
        return connection

    def send(self, body, headers=(), **how):
        """One request on a connection of its own."""
        with Connection(self.address) as connection:
            connection.post(body, headers, **how)
            return connection.answer()

    # ---- the eras

    @staticmethod
    def modern_headers(method, name=None, **more):
        headers = {"Content-Type": JSON, "Accept": f"{JSON}, {EVENTS}",
                   "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if name is not None:
            headers["Mcp-Name"] = name
        return {**headers, **{key.replace("_", "-"): value for key, value in more.items()}}

    def modern(self, method, params=None, request_id=1, connection=None, meta=None, **headers):
        """A request of 2026-07-28; its answer."""
        params = {**(params or {}), "_meta": {**META, **(meta or {})}}
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        headers = self.modern_headers(method, params.get("name", params.get("uri")), **headers)
        if connection is None:
            return self.send(message, headers)
        connection.post(message, headers)
        return connection.answer()

    def call(self, name, _headers=None, **arguments):
        """The result of a tool."""
        answer = self.modern("tools/call", {"name": name, "arguments": arguments},
                             **(_headers or {}))
        self.assertEqual(answer.status, 200, answer)
        return answer.tool

    def initialize(self, version=LEGACY, headers=()):
        """Headers of the session of an older client, ready to be sent."""
        own = {"Content-Type": JSON, "Accept": f"{JSON}, {EVENTS}", **dict(headers)}
        answer = self.send(request(0, "initialize", {"protocolVersion": version, "capabilities": {},
                                                     "clientInfo": {"name": "t", "version": "1"}}),
                           own)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.result["protocolVersion"], version)
        own["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        own["MCP-Protocol-Version"] = version
        done = self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, own)
        self.assertEqual((done.status, done.body), (202, b""))
        return own

    def threads(self):
        return len(os.listdir(f"/proc/{self.server.pid}/task"))

    def resident(self, kind="VmHWM"):
        """In MB; VmHWM: the highest so far."""
        for line in pathlib.Path(f"/proc/{self.server.pid}/status").read_text().splitlines():
            if line.startswith(kind + ":"):
                return int(line.split()[1]) / 1024
        return 0


def token_file(path, **entries):
    """Entries by name: {"token": …, "principal": …, …}."""
    text = ""
    for name, entry in entries.items():
        entry = dict(entry)
        text += f"[tokens.{name}]\nsha256 = \"{hashlib.sha256(entry.pop('token').encode()).hexdigest()}\"\n"
        text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}
