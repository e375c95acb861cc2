"""Drives the real berth binary over stdio, as an MCP client of either era would.

    with StateDirectory() as state, Berth(state=state) as berth:
        result = berth.call_tool("bash_exec", {"command": "echo hi"})
        assert result.text == "hi\\n"

BERTH_BINARY names the binary (default: build/server/berth of this tree). Nothing but Python's
standard library is used. Every wait has a timeout; a test that fails leaves no process behind.
"""

import contextlib
import json
import os
import pathlib
import queue
import select
import subprocess
import threading
import time

from stalls import Stalls

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
CLIENT_INFO = {"name": "berth-tests", "version": "1"}
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def binary_path(name="berth"):
    """The program under test: $BERTH_BINARY, or its neighbour `name` in the same folder."""
    given = os.environ.get("BERTH_BINARY")
    if not given:
        return str(ROOT / "build" / "server" / name)
    return given if name == "berth" else str(pathlib.Path(given).parent / name)


class RpcError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")
        self.message = error.get("message")
        self.data = error.get("data")


class Result:
    """What tools/call gave back."""

    def __init__(self, raw):
        self.raw = raw
        self.content = raw.get("content", [])
        self.meta = raw.get("_meta", {})
        self.is_error = bool(raw.get("isError"))
        self.structured = raw.get("structuredContent")

    @property
    def text(self):
        return "".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def images(self):
        return [block for block in self.content if block["type"] == "image"]

    @property
    def data(self):
        """The typed result that programs see."""
        return self.meta.get("berth/result", {})

    @property
    def error(self):
        """{code, message, hint, retryable} of a failed tool, else an empty dict."""
        return self.meta.get("berth/error", {})

    @property
    def notices(self):
        notice = self.meta.get("berth/notice", [])
        return [notice] if isinstance(notice, str) else notice

    def __repr__(self):
        kind = "error " if self.is_error else ""
        return f"<{kind}{self.text[:2000]!r} {self.error or ''}>"


class Pending:
    """A request in flight."""

    def __init__(self, request_id):
        self.id = request_id
        self._answers = queue.Queue()

    def deliver(self, message):
        self._answers.put(message)

    def answered(self):
        return not self._answers.empty()

    def response(self, timeout=30):
        """The whole response message. TimeoutError when none came."""
        try:
            message = self._answers.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no answer to request {self.id} within {timeout} s") from None
        if message is None:
            raise EOFError(f"the server ended before it answered request {self.id}")
        return message

    def wait(self, timeout=30):
        """The `result` member. RpcError when the server answered with an error."""
        message = self.response(timeout)
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]

    def result(self, timeout=30):
        """As wait(), for tools/call."""
        return Result(self.wait(timeout))



def model_bytes(tools):
    """How much a model is told of them: their icons (test_icons.py) are for its user."""
    told = [{key: value for key, value in tool.items() if key != "icons"} for tool in tools]
    return len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode())


class Berth:
    """One server process and the client's end of its pipes. Any thread may call any method."""

    def __init__(self, *arguments, state=None, env=None, era="legacy", binary=None, cwd=None,
                 handshake=True, pass_fds=()):
        """`era` "legacy" does initialize, "modern" puts _meta into each request. `env` is added to
        a small environment of our own: nothing of the test runner's leaks into the server."""
        self.era = era
        self.notifications = []
        self.strays = []  # responses that nobody waits for, and lines that are no JSON
        self.initialize_result = None
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "USER",
                       "XDG_RUNTIME_DIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
                       if name in os.environ}
        if state is not None:
            environment["BERTH_STATE_DIR"] = str(getattr(state, "path", state))
            if hasattr(state, "temporary"):
                environment["TMPDIR"] = str(state.temporary)
        environment.update(env or {})
        self._pending = {}
        self._next_id = 0
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._reads = threading.Event()
        self._reads.set()
        self._stderr = []
        # A session of its own: signals sent to the test runner's group do not reach the server.
        self.process = subprocess.Popen([binary or binary_path(), *arguments], env=environment,
                                        cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True,
                                        pass_fds=pass_fds)
        self._threads = [threading.Thread(target=self._read_stdout, daemon=True),
                         threading.Thread(target=self._read_stderr, daemon=True)]
        for thread in self._threads:
            thread.start()
        if era == "legacy" and handshake:
            self.initialize()

    # ---- the protocol

    def initialize(self, version=LEGACY, timeout=10):
        self.initialize_result = self.request(
            "initialize", {"protocolVersion": version, "capabilities": {},
                           "clientInfo": CLIENT_INFO}, timeout)
        self.notify("notifications/initialized")
        return self.initialize_result

    def modern_meta(self):
        return {"io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": CLIENT_INFO}

    def request_async(self, method, params=None, progress_token=None, request_id=None):
        params = dict(params or {})
        meta = dict(params.get("_meta", {}))
        if self.era == "modern":
            meta = {**self.modern_meta(), **meta}
        if progress_token is not None:
            meta["progressToken"] = progress_token
        if meta:
            params["_meta"] = meta
        with self._lock:
            if request_id is None:
                self._next_id += 1
                request_id = self._next_id
            pending = self._pending[request_id] = Pending(request_id)
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return pending

    def request(self, method, params=None, timeout=30):
        return self.request_async(method, params).wait(timeout)

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def call_async(self, name, arguments=None, progress_token=None):
        return self.request_async("tools/call", {"name": name, "arguments": arguments or {}},
                                  progress_token)

    def call_tool(self, name, arguments=None, timeout=60):
        return self.call_async(name, arguments).result(timeout)

    def cancel(self, request, reason="the test says so"):
        """`request`: a Pending or an id. No answer follows."""
        self.notify("notifications/cancelled",
                    {"requestId": getattr(request, "id", request), "reason": reason})

    def list_tools(self, timeout=10):
        """All pages."""
        tools, cursor = [], None
        while True:
            page = self.request("tools/list", {"cursor": cursor} if cursor else {}, timeout)
            tools += page["tools"]
            cursor = page.get("nextCursor")
            if not cursor:
                return tools

    def wait_for_notification(self, accept, timeout=15):
        """The first notification, past ones included, that accept() is true of."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                for message in self.notifications:
                    if accept(message):
                        return message
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise TimeoutError(f"no such notification within {timeout} s")

    # ---- the pipes

    def send(self, message):
        self.send_line(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())

    def send_line(self, line):
        """Raw bytes, a newline is added: for what no well-behaved client would send."""
        with self._lock:
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()

    @contextlib.contextmanager
    def reading_paused(self):
        """Nothing of what the server writes is read meanwhile, but for some kilobytes."""
        self._reads.clear()
        try:
            yield
        finally:
            self._reads.set()

    def _read_stdout(self):
        for line in self.process.stdout:
            self._reads.wait()
            try:
                message = json.loads(line)
            except ValueError:
                self.strays.append(line)
                continue
            self._dispatch(message)
        with self._lock:
            waiting, self._pending = self._pending, {}
        for pending in waiting.values():
            pending.deliver(None)

    def _dispatch(self, message):
        if "method" in message:
            with self._changed:
                self.notifications.append(message)
                self._changed.notify_all()
            return
        with self._lock:
            pending = self._pending.pop(message.get("id"), None)
        if pending is None:
            self.strays.append(message)
        else:
            pending.deliver(message)

    def _read_stderr(self):
        for line in self.process.stderr:
            self._stderr.append(line.decode(errors="replace"))

    @property
    def stderr(self):
        return "".join(self._stderr)

    @property
    def pid(self):
        return self.process.pid

    def resident_kilobytes(self):
        return resident_kilobytes(self.pid)

    # ---- the end

    def close(self, timeout=5):
        """Closes stdin, as a client that leaves does; returns the exit status."""
        with self._lock:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        return self.wait(timeout)

    def wait(self, timeout=5):
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TimeoutError(f"the server did not end within {timeout} s; stderr:\n"
                               f"{self.stderr[-2000:]}") from None
        self._threads[0].join(timeout)
        self._threads[1].join(0.2)  # the guest of the direct backend holds it open
        return status

    def seconds_to_end(self, end, timeout=5):
        """From end(self), which closes stdin or sends a signal, to the exit of the process. What is
        read of its pipes after that does not count, nor does a time in which the machine stood
        still. The exit status must be 0."""
        process = os.pidfd_open(self.pid)
        try:
            with Stalls() as stalls:
                started = time.monotonic()
                end(self)
                ended, _, _ = select.select([process], [], [], timeout)
                took = time.monotonic() - started
            took -= stalls.seconds
        finally:
            os.close(process)
        status = self.wait(timeout)
        if not ended or status != 0:
            raise AssertionError(f"exit status {status} after {took:.3f} s; {self.stderr[-2000:]}")
        return took

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            try:
                self.close()
            except TimeoutError:
                if kind is None:
                    raise
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        for thread, stream in zip(self._threads, (self.process.stdout, self.process.stderr)):
            thread.join(0.2)
            # While a process that outlives the server holds the other end, closing would block.
            if not thread.is_alive():
                stream.close()


def _status_kilobytes(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


def resident_kilobytes(pid):
    return _status_kilobytes(pid, "VmRSS")


def peak_kilobytes(pid):
    return _status_kilobytes(pid, "VmHWM")


def is_sanitized(pid):
    """Whose memory says nothing: ASan and TSan keep what was freed. They map a shadow of all there could be."""
    return _status_kilobytes(pid, "VmSize") > 1 << 30


def own_kilobytes(pid):
    """Without the pages of its program: how many of those are mapped is up to the page cache."""
    return _status_kilobytes(pid, "RssAnon")


def own_peak_kilobytes(pid):
    return peak_kilobytes(pid) - sum(_status_kilobytes(pid, of) for of in ("RssFile", "RssShmem"))
