"""What a test wants to go wrong. A rule is a JSON object: which requests it is for, how many of them,
and what is done to them. README.md has the list."""

import fnmatch
import itertools
import json
import socket
import struct
import threading
import time

import web

WHICH = {"plane", "method", "path", "box"}
HOW_MANY = {"skip", "times"}
WHAT = {"delay", "status", "headers", "body", "type", "drop", "lose_reply", "cut", "end", "silent",
        "cut_request", "then", "after", "id", "reset", "late", "done"}


class Cut(web.Broken):
    """A connection that is to be ended here, by a reset or as by one who has said all."""

    def __init__(self, reset=True):
        super().__init__("cut")
        self.reset = reset


def abort(connection, reset=True):
    if not reset:
        web.quietly_closed(connection)
        return
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    connection.close()


class Fault:
    """What one request meets."""

    def __init__(self, rule):
        self._rule = rule
        self.request_bytes = rule.get("cut_request")

    def __getitem__(self, name):
        return self._rule.get(name)

    def cut(self):
        return Cut(self["reset"] is not False)

    def before(self, act):
        """Raises Cut. `act` does a thing to the box of the request."""
        if self["then"]:
            if self["after"]:
                timer = threading.Timer(self["after"], act, args=(self["then"],))
                timer.daemon = True
                timer.start()
            else:
                act(self["then"])
        time.sleep(self["delay"] or 0)
        if self["drop"]:
            raise self.cut()

    def answers(self, reply):
        """Whether it was the answer."""
        if self["status"] is None or self["done"] is not None:
            return False
        self.answer(reply)
        return True

    def answer(self, reply):
        body, headers = self["body"], self["headers"] or {}
        if body is None:
            reply.error(self["status"], f"injected {self['status']}", headers)
        else:
            text = body if isinstance(body, str) else json.dumps(body)
            reply.whole(self["status"], text.encode(), self["type"] or "text/html", headers)


class FaultyReply(web.Reply):
    """Raises Cut where the client is to see no more."""

    def __init__(self, connection, request, fault):
        super().__init__(connection, request)
        self._request = request
        self._fault = fault
        self._left = next((fault[name] for name in ("cut", "end", "silent") if fault[name] is not None),
                          None)
        self._held = b""  # of a body that is cut so far before its end, which nobody knows yet

    def head(self, status, headers=(), length=None):
        if self._fault["done"] is not None:
            return
        if self._fault["lose_reply"]:
            self.begun = True
            return
        if self._fault["end"] is not None and length is not None:
            length = min(length, self._left)
        super().head(status, headers, length)

    def write(self, piece):
        if self._fault["done"] is not None:
            self._give_up()
        if self._fault["lose_reply"]:
            return
        if self._left is None:
            super().write(piece)
            return
        if self._left < 0:
            held = self._held + piece
            self._held = held[self._left:]
            super().write(held[:self._left])
            return
        super().write(piece[:self._left])
        whole = len(piece) <= self._left
        self._left -= min(len(piece), self._left)
        if self._left == 0 and (not whole or self._fault["end"] is None):
            self._stop()

    def _give_up(self):
        """As a proxy that waits no longer for what is being done."""
        time.sleep(self._fault["done"])
        answer = web.Reply(self._connection, self._request)
        answer.keeps = False
        self._fault.answer(answer)
        raise Cut(reset=False)

    def _stop(self):
        if self._fault["end"] is not None:
            super().end()
            raise Cut(reset=False)
        if self._fault["silent"] is not None:
            self._wait_for_the_client()
        raise self._fault.cut()

    def _wait_for_the_client(self):
        try:
            while self._connection.recv(1 << 16):
                pass
        except OSError:
            pass

    def end(self):
        if self._fault["lose_reply"] or self._held:
            raise self._fault.cut()
        super().end()

    def json(self, status, value, headers=()):
        if self._fault["id"] and isinstance(value, dict) and "sandboxID" in value:
            value = {**value, "sandboxID": self._fault["id"]}
        super().json(status, value, headers)


class Rules:
    def __init__(self):
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._rules = {}

    def add(self, rule):
        """Its number. Raises ValueError."""
        wrong = set(rule) - WHICH - HOW_MANY - WHAT
        if wrong or not set(rule) & WHAT:
            raise ValueError(f"no such fault: {sorted(wrong) or 'nothing is done'}")
        with self._lock:
            number = next(self._numbers)
            self._rules[number] = {"skip": 0, "times": 1, **rule}
        return number

    def left(self):
        with self._lock:
            return {str(number): dict(rule) for number, rule in self._rules.items()}

    def clear(self):
        with self._lock:
            self._rules.clear()

    def pick(self, **request):
        """The fault of the first rule that is for it, or None."""
        with self._lock:
            for number, rule in self._rules.items():
                if all(fnmatch.fnmatchcase(str(request[name]), str(rule[name]))
                       for name in WHICH if name in rule):
                    if rule["skip"] > 0:
                        rule["skip"] -= 1
                        continue
                    rule["times"] -= 1
                    if rule["times"] == 0:
                        del self._rules[number]
                    return Fault(rule)
        return None
