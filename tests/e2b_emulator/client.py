"""A plain client for the tests: as little as is needed to speak to both planes, and to be rude."""

import base64
import contextlib
import http.client
import json
import socket
import struct
import time


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.text = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.text)


def envelope(value, flags=0):
    payload = json.dumps(value).encode()
    return struct.pack(">BI", flags, len(payload)) + payload


class Box:
    """One that was created, and its addresses."""

    def __init__(self, emulator, said):
        self._emulator = emulator
        self.said = said
        self.id, self.token = said["sandboxID"], said.get("envdAccessToken", "")

    def headers(self, user=None, **more):
        found = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49983", "X-Access-Token": self.token}
        if user:
            found["Authorization"] = "Basic " + base64.b64encode(f"{user}:".encode()).decode()
        return {**found, **{name.replace("_", "-"): value for name, value in more.items()}}

    def http(self, method, path, body=None, user=None, **headers):
        return ask(self._emulator, method, path, body, self.headers(user, **headers))

    def call(self, method, message, user=None, service="process.Process"):
        return self.http("POST", f"/{service}/{method}", json.dumps(message), user,
                         Content_Type="application/json", Connect_Protocol_Version="1")

    def files(self, method, message, user=None):
        return self.call(method, message, user, "filesystem.Filesystem")

    def stream(self, path, message, user=None, **headers):
        return Stream(self._emulator, path, envelope(message),
                      self.headers(user, Content_Type="application/connect+json", **headers))

    def start(self, command, user=None, stdin=False, headers=(), **more):
        """A shell's command line."""
        return self.stream("/process.Process/Start", {
            "process": {"cmd": "/bin/bash", "args": ["-c", command], **more.pop("process", {})},
            "stdin": stdin, **more}, user, **dict(headers))

    def run(self, command, user=None, **more):
        """(stdout, stderr, end event or error)"""
        with self.start(command, user, **more) as stream:
            return stream.outcome()

    def connect(self, pid):
        return self.stream("/process.Process/Connect", {"process": {"pid": pid}})


class Stream:
    """The answer of a server's stream, as it comes."""

    def __init__(self, emulator, path, body, headers):
        self._connection = http.client.HTTPConnection(emulator.url[7:], timeout=30)
        self._connection.connect()
        self._socket = self._connection.sock
        self._connection.request("POST", path, body, headers)
        self.response = self._connection.getresponse()
        self.status = self.response.status
        self.pid = None

    def frame(self):
        """(flags, message); None at the end. A stream that ends in between raises EOFError."""
        head = self.response.read(5)
        if not head:
            return None
        if len(head) < 5:
            raise EOFError(head)
        flags, length = struct.unpack(">BI", head)
        payload = self.response.read(length)
        if len(payload) < length:
            raise EOFError(payload)
        return flags, json.loads(payload)

    def event(self):
        """The next event, or the error of the last frame."""
        found = self.frame()
        if found is None:
            return {"ended": True}
        flags, message = found
        if flags & 2:
            return {"last": message}
        event = message.get("event", message)
        self.pid = event.get("start", {}).get("pid", self.pid)
        return event

    def begun(self):
        while self.pid is None:
            self.event()
        return self

    def output(self, count):
        """That much of stdout."""
        text = b""
        while len(text) < count:
            event = self.event()
            if "last" in event or "ended" in event:
                raise EOFError(text)
            text += base64.b64decode(event.get("data", {}).get("stdout", ""))
        return text

    def outcome(self):
        out, end = {"stdout": b"", "stderr": b"", "pty": b""}, None
        while True:
            event = self.event()
            if "ended" in event or "last" in event:
                error = event.get("last", {}).get("error")
                return (out["stdout"] or out["pty"]).decode(), out["stderr"].decode(), error or end
            for kind, data in event.get("data", {}).items():
                out[kind] += base64.b64decode(data)
            end = event.get("end", end)

    def give_up_after(self, seconds):
        """Of silence: TimeoutError. Nothing can be read after that."""
        self._socket.settimeout(seconds)

    def close(self):
        # The connection's own close leaves it open for as long as the response is there.
        self.response.close()
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()


def ask(emulator, method, path, body=None, headers=()):
    connection = http.client.HTTPConnection(emulator.url[7:], timeout=30)
    with contextlib.closing(connection):
        try:
            connection.request(method, path, body, dict(headers))
        except (BrokenPipeError, ConnectionResetError):
            pass  # whoever answers early may close before all is sent: the answer is there to be read
        return Answer(connection.getresponse())


def api(emulator, method, path, body=None):
    return ask(emulator, method, path, None if body is None else json.dumps(body),
               {"X-API-Key": emulator.api_key, "Content-Type": "application/json"})


def create(emulator, **wanted):
    answer = api(emulator, "POST", "/v2/sandboxes", {"templateID": "base", "timeout": 120, **wanted})
    if answer.status != 201:
        raise AssertionError(answer.text)
    return Box(emulator, answer.json)


def raw(emulator, data):
    """A socket that has sent that, and nothing more."""
    connection = socket.create_connection(("127.0.0.1", int(emulator.url.rpartition(":")[2])), timeout=30)
    connection.sendall(data)
    return connection


def becomes(test, seconds=20):
    """What `test` says once that is true."""
    end = time.monotonic() + seconds
    while not (said := test()):
        if time.monotonic() > end:
            raise AssertionError("it did not become true")
        time.sleep(0.01)
    return said
