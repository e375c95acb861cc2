"""process.Process."""

import base64
import os
import signal
import threading
import time

from envd import rpc
from envd.fanout import FanOut
from envd.processes import Process
from envd.rpc import RpcError

RETENTION = 30  # seconds in which a late Connect still learns how a process ended
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ProcessService:
    def __init__(self, environment):
        self._environment = environment
        self._lock = threading.Lock()
        self._live = {}
        self._ended = {}  # pid: (tag, end event, until when)
        self.streams = {"Start": self.start, "Connect": self.connect}
        self.client_streams = {"StreamInput": self.stream_input}
        self.unary = {"List": self.list, "SendInput": self.send_input, "CloseStdin": self.close_stdin,
                      "SendSignal": self.send_signal, "Update": self.update}

    def _find(self, selector):
        with self._lock:
            if "pid" in selector:
                found = self._live.get(int(selector["pid"]))
                if not found:
                    raise RpcError("not_found", f"process with pid {selector['pid']} not found")
                return found
            if "tag" in selector:
                return self._find_by_tag(selector["tag"])
        raise RpcError("unimplemented", "invalid input type <nil>")

    def _find_by_tag(self, tag):
        """Stops at the first other tag, as 0.6.13 does: a selection by tag is unreliable."""
        found = None
        for process in self._live.values():
            if process.tag is None:
                continue
            if process.tag != tag:
                break
            found = process
        if not found:
            raise RpcError("not_found", f"process with tag {tag} not found")
        return found

    def _finished(self, process, event):
        with self._lock:
            self._ended[process.pid] = (process.tag, event, time.monotonic() + RETENTION)
            if self._live.get(process.pid) is process:
                del self._live[process.pid]

    def _late(self, selector):
        now = time.monotonic()
        with self._lock:
            self._ended = {pid: one for pid, one in self._ended.items() if one[2] > now}
            for pid, (tag, event, _) in self._ended.items():
                if pid == selector.get("pid") or (tag is not None and tag == selector.get("tag")):
                    return pid, event
        return None

    def _variables(self, user, config):
        return {"PATH": PATH, "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name,
                **self._environment, **config.get("envs", {})}

    def start(self, context, message, stream):
        user = context.user()
        lifetime = rpc.timeout_of(context.request)
        deadline = time.monotonic() + lifetime if lifetime else None
        process = Process(message, user, self._variables(user, message.get("process", {})), lifetime,
                          self._finished)
        with self._lock:
            self._ended.pop(process.pid, None)
            self._live[process.pid] = process
        subscriber = process.output.subscribe()
        process.run()
        self._follow(process, subscriber, context, stream, deadline)

    def connect(self, context, message, stream):
        lifetime = rpc.timeout_of(context.request)
        selector = message.get("process", {})
        try:
            process = self._find(selector)
        except RpcError:
            late = self._late(selector)
            if not late:
                raise
            stream.send({"event": {"start": {"pid": late[0]}}})
            stream.send({"event": {"end": late[1]}})
            return
        deadline = time.monotonic() + lifetime if lifetime else None
        self._follow(process, process.output.subscribe(), context, stream, deadline)

    def _follow(self, process, subscriber, context, stream, deadline):
        stream.on_leaving = subscriber.wake
        if stream.left.is_set():
            subscriber.wake()
        try:
            stream.send({"event": {"start": {"pid": process.pid}}})
            interval = rpc.keepalive_of(context.request)
            if interval <= 0:
                os._exit(2)  # the original's ticker panics
            self._follow_output(subscriber, stream, deadline, interval)
        finally:
            process.output.unsubscribe(subscriber)
        while process.ended is None:
            self._in_time(deadline, stream)
            time.sleep(0.0005)
        stream.send({"event": {"end": process.ended}})

    @staticmethod
    def _in_time(deadline, stream):
        if stream.left.is_set():
            raise rpc.Gone
        if deadline is not None and time.monotonic() >= deadline:
            raise RpcError("deadline_exceeded", "context deadline exceeded")

    def _follow_output(self, subscriber, stream, deadline, interval):
        ping = time.monotonic() + interval
        while True:
            until = ping if deadline is None else min(ping, deadline)
            piece = subscriber.take(until - time.monotonic())
            if piece is FanOut.END:
                return
            if piece is not None:
                data = {kind: base64.b64encode(data).decode() for kind, data in piece.items()}
                stream.send({"event": {"data": data}})
                ping = time.monotonic() + interval
            self._in_time(deadline, stream)
            if time.monotonic() >= ping:
                stream.send({"event": {"keepalive": {}}})
                ping = time.monotonic() + interval

    def list(self, _context, _message):
        with self._lock:
            found = [{"config": process.config, "pid": pid,
                      **({} if process.tag is None else {"tag": process.tag})}
                     for pid, process in self._live.items()]
        return {"processes": found} if found else {}

    @staticmethod
    def _give(process, given):
        for kind in ("stdin", "pty"):
            if kind in given:
                return process.write(rpc.binary(given[kind]), kind)
        raise RpcError("unimplemented", "invalid input type <nil>")

    def send_input(self, _context, message):
        self._give(self._find(message.get("process", {})), message.get("input", {}))
        return {}

    def stream_input(self, _context, messages):
        process = None
        for message in messages:
            if "start" in message:
                process = self._find(message["start"].get("process", {}))
            elif "data" in message and process:
                self._give(process, message["data"].get("input", {}))
            elif "keepalive" not in message:
                raise RpcError("unimplemented", "invalid event type <nil>")
        return {}

    def close_stdin(self, _context, message):
        self._find(message.get("process", {})).close_stdin()
        return {}

    def send_signal(self, _context, message):
        process = self._find(message.get("process", {}))
        wanted = message.get("signal")
        numbers = {"SIGNAL_SIGKILL": signal.SIGKILL, 9: signal.SIGKILL, "SIGNAL_SIGTERM": signal.SIGTERM,
                   15: signal.SIGTERM}
        if wanted not in numbers:
            raise RpcError("unimplemented", f"invalid signal: {wanted}")
        process.signal(numbers[wanted])
        return {}

    def update(self, _context, message):
        process = self._find(message.get("process", {}))
        if "pty" in message:
            process.resize(message["pty"].get("size", {}))
        return {}
