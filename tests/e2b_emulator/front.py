"""The one port: which plane a request is for, what is counted, and what goes wrong with it."""

import collections
import dataclasses
import json
import re
import select
import socket
import threading
import traceback

import clock
import control
import faults
import relay
import web
from boxes import Refusal

ADMIN = "/_emulator/"
MOST_IN_ORDER = 1000


class Front:
    def __init__(self, boxes, keys, port=0):
        self._boxes = boxes
        self._control = control.Control(boxes, keys)
        self._rules = faults.Rules()
        self._counts = collections.Counter()
        self._order = collections.deque(maxlen=MOST_IN_ORDER)
        self._bytes = 0  # of bodies, to envd and from there
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connection, args=(connection,), daemon=True).start()

    def close(self):
        web.quietly_closed(self._listener)

    def _count(self, name):
        with self._lock:
            self._counts[name] += 1
            if name.startswith(("api ", "envd ")):
                self._order.append(name)

    def _move(self, count):
        with self._lock:
            self._bytes += count

    def _connection(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        source, is_new = web.Source(connection), True
        try:
            while self._comes(connection, source) and (request := web.read_request(source)):
                if is_new and not request.path.startswith(ADMIN):
                    self._count("connections")
                    is_new = False
                if not self._request(request):
                    break
            web.quietly_closed(connection)
        except faults.Cut as cut:
            faults.abort(connection, cut.reset)
        except (web.Broken, ValueError):
            web.quietly_closed(connection)
        except Exception:
            traceback.print_exc()
            web.quietly_closed(connection)

    def _comes(self, connection, source):
        """Whether there is another request before the connection has been idle for too long."""
        idle = self._boxes.settings.idle_seconds
        if not idle or source.holds():
            return True
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(idle * 1000))

    def _request(self, request):
        """Whether the connection may be used again."""
        if request.path.startswith(ADMIN):
            return self._finish(request, web.Reply(request.connection, request), self._admin)
        name, port = self._target(request)
        plane = "api" if name is None else "envd"
        path, box_name = control.template_of(request.path) if name is None else (request.path, name)
        self._count(f"{plane} {request.method} {path}")
        if "idempotency-key" in request.headers or "x-idempotency-key" in request.headers:
            self._count("idempotency-key")  # with which proxies would repeat a request
        fault = self._rules.pick(plane=plane, method=request.method, path=path, box=box_name)
        reply = web.Reply(request.connection, request)
        if fault is not None:
            reply = faults.FaultyReply(request.connection, request, fault)
            if fault["late"]:
                self._control.create_late(request, fault["late"])
            fault.before(lambda what: self._act_by_rule(what, box_name))
            if fault.answers(reply):
                return self._drained(request, reply)
        if plane == "api":
            return self._finish(request, reply, self._control.answer)
        return self._finish(request, reply, lambda *both: self._to_box(name, port, *both, fault))

    def _finish(self, request, reply, handler):
        try:
            handler(request, reply)
        except Refusal as error:
            reply.error(error.status, str(error))
        return self._drained(request, reply)

    @staticmethod
    def _drained(request, reply):
        """Whether the connection may be used again. A body that nobody wanted is read: closed before
        that, it would take the answer along."""
        if request.keeps() and not reply.keeps:
            return False  # the relay has done so for as long as is good
        for _ in request.body.pieces():
            pass
        return reply.keeps

    @staticmethod
    def _target(request):
        """(name of a box, port) of what is for its proxy, (None, None) of the rest."""
        name = request.headers.get("e2b-sandbox-id")
        port = request.headers.get("e2b-sandbox-port")
        if name is None and port is None:
            match = re.match(r"(\d+)-([a-z0-9]+)\.", request.headers.get("host", ""))
            return (match[2], int(match[1])) if match else (None, None)
        return name or "", port or ""

    def _to_box(self, name, port, request, reply, fault):
        for header, value in (("E2b-Sandbox-Id", name), ("E2b-Sandbox-Port", port)):
            if value == "":
                return reply.whole(400, f"Missing header: {header}".encode(), "text/plain; charset=utf-8")
        if not re.fullmatch("[a-z0-9]+", name) or not re.fullmatch("[0-9]+", str(port)):
            return reply.whole(400, b"Invalid sandbox ID or port", "text/plain; charset=utf-8")
        try:
            box = self._boxes.get(name)
        except Refusal:
            box = None
        return relay.answer(self._boxes, box, name, int(port), request, reply, fault, self._move)

    def _act(self, what, name, body=None):
        """What a test does to a box behind everybody's back."""
        box = self._boxes.get(name)
        actions = {"vanish": lambda: self._boxes.end(box, "vanished"),
                   "pause": lambda: self._boxes.pause(box), "expire": lambda: self._boxes.expire(box),
                   "age": lambda: self._boxes.age(box, (body or {})["seconds"]),
                   "stall": lambda: box.stall((body or {})["pid"]), "end_stall": box.end_stall}
        if what not in actions:
            raise Refusal(404, f"no such action: {what}")
        actions[what]()

    def _act_by_rule(self, what, name):
        """Nobody hears that it could not be done, but the request that meets what is."""
        try:
            self._act(what, name or "")
        except Refusal:
            pass

    def _admin(self, request, reply):
        what = (request.method, request.path[len(ADMIN):])
        try:
            body = request.json(optional=True)
            if what == ("GET", "books"):
                reply.json(200, self._boxes.books())
            elif what[1] == "counts" and what[0] in ("GET", "DELETE"):
                reply.json(200, self._take_counts(what[0] == "DELETE"))
            elif what == ("DELETE", "order"):
                reply.json(200, self._take_order())
            elif what == ("DELETE", "bytes"):
                reply.json(200, {"envd": self._take_bytes()})
            elif what == ("POST", "faults"):
                reply.json(201, {"number": self._rules.add(body)})
            elif what == ("GET", "faults"):
                reply.json(200, self._rules.left())
            elif what == ("DELETE", "faults"):
                self._rules.clear()
                reply.whole(204)
            elif what == ("POST", "settings"):
                reply.json(200, self._change_settings(body))
            else:
                self._admin_of_box(what, body, reply)
        except (ValueError, KeyError, TypeError) as error:
            reply.error(400, str(error))

    def _admin_of_box(self, what, body, reply):
        match = re.fullmatch(r"boxes/([a-z0-9]+)/(\w+)", what[1])
        if not match:
            raise Refusal(404, f"no such thing: {what[1]}")
        if (what[0], match[2]) == ("GET", "log"):
            reply.json(200, list(self._boxes.get(match[1]).log))
        else:
            self._act(match[2], match[1], body)
            reply.whole(204)

    def _take_order(self):
        with self._lock:
            order = list(self._order)
            self._order.clear()
        return order

    def _take_bytes(self):
        with self._lock:
            count, self._bytes = self._bytes, 0
        return count

    def _take_counts(self, clear):
        with self._lock:
            counts = dict(self._counts)
            if clear:
                self._counts.clear()
        return counts

    def _change_settings(self, wanted):
        known = {field.name for field in dataclasses.fields(self._boxes.settings)}
        if not set(wanted) <= known:
            raise ValueError(f"no such setting: {json.dumps(sorted(set(wanted) - known))}")
        for name, value in wanted.items():
            setattr(self._boxes.settings, name, value)
        clock.ahead = self._boxes.settings.clock_ahead
        return dataclasses.asdict(self._boxes.settings)
