"""HTTP/1.1 as both halves speak it: the front with clients, and envd with the front. Blocking sockets,
a thread for each connection: what stalls, stalls as it does in the original."""

import email.utils
import json
import select
import socket
import time
import urllib.parse

import clock

HEAD_LIMIT = 1 << 20
REASONS = {200: "OK", 201: "Created", 204: "No Content", 206: "Partial Content", 400: "Bad Request",
           401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
           406: "Not Acceptable", 409: "Conflict", 415: "Unsupported Media Type",
           416: "Range Not Satisfiable", 429: "Too Many Requests", 500: "Internal Server Error",
           501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
           504: "Gateway Timeout", 507: "Insufficient Storage"}


class Broken(Exception):
    """The peer is gone, or does not speak HTTP."""


class Source:
    """What comes from a socket, in lines or pieces."""

    def __init__(self, connection, wake=None):
        """`wake`: a descriptor; when it can be read, nothing more is waited for."""
        self.connection = connection
        self._wake = wake
        self._held = bytearray()

    def _fill(self):
        try:
            if self._wake is not None:
                self._wait()
            piece = self.connection.recv(1 << 16)
        except OSError as error:
            raise Broken(str(error)) from error
        if not piece:
            raise Broken("the connection has ended")
        self._held += piece

    def _wait(self):
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        if any(which == self._wake for which, _ in poll.poll()):
            raise Broken("woken")

    def holds(self):
        return bool(self._held)

    def line(self):
        while (end := self._held.find(b"\n")) < 0:
            if len(self._held) > HEAD_LIMIT:
                raise Broken("a line that does not end")
            self._fill()
        line = bytes(self._held[:end])
        del self._held[:end + 1]
        return line.rstrip(b"\r").decode("latin-1")

    def some(self, most):
        """At least one byte of at most `most`."""
        if not self._held:
            self._fill()
        piece = bytes(self._held[:most])
        del self._held[:most]
        return piece


class Body:
    """The body of a message, whichever way it is framed."""

    def __init__(self, source, headers, reply=False):
        self._source = source
        self.chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        self._left = 0 if self.chunked else int(headers.get("content-length", -1 if reply else 0))
        self.ended = not self.chunked and self._left == 0
        self._held = b""

    def pieces(self):
        while not self.ended:
            piece = self._piece()
            if piece:
                yield piece

    def _piece(self):
        if self._left < 0:  # a reply that ends with its connection
            try:
                return self._source.some(1 << 16)
            except Broken:
                self.ended = True
                return b""
        if self._left == 0:
            self._left = int(self._source.line().split(";")[0], 16)
            if self._left == 0:
                while self._source.line():
                    pass
                self.ended = True
                return b""
        piece = self._source.some(min(self._left, 1 << 16))
        self._left -= len(piece)
        if self._left == 0:
            if self.chunked:
                self._source.line()
            else:
                self.ended = True
        return piece

    def exactly(self, count):
        """That many bytes; fewer where the body ends before."""
        while len(self._held) < count and not self.ended:
            self._held += self._piece()
        piece, self._held = self._held[:count], self._held[count:]
        return piece

    def all(self):
        return b"".join(self.pieces())


class Request:
    def __init__(self, source, first_line, headers):
        try:
            self.method, self.target, _ = first_line.split(" ")
        except ValueError as error:
            raise Broken(f"no request: {first_line!r}") from error
        self.path, _, self.query_text = self.target.partition("?")
        self.headers = headers
        self.body = Body(source, headers)
        self.connection = source.connection

    @property
    def query(self):
        return dict(urllib.parse.parse_qsl(self.query_text, keep_blank_values=True))

    def keeps(self):
        return self.headers.get("connection", "").lower() != "close"

    def json(self, optional=False):
        text = self.body.all()
        if not text and optional:
            return {}
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError("the body is no object")
        return found


def _headers(source):
    headers, size = {}, 0
    while line := source.line():
        size += len(line)
        if size > HEAD_LIMIT:
            raise Broken("a head that does not end")
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return headers


def read_request(source):
    """None where the client has ended its connection between two requests."""
    try:
        first_line = source.line()
    except Broken:
        return None
    request = Request(source, first_line, _headers(source))
    if request.headers.get("expect", "").lower() == "100-continue":
        source.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    return request


def read_reply(source):
    """(status, headers, body)"""
    status = int(source.line().split(" ")[1])
    headers = _headers(source)
    return status, headers, Body(source, headers, reply=status not in (204, 304))


class Reply:
    """The answer to one request. A body whose length is not said is sent in chunks."""

    def __init__(self, connection, request):
        self._connection = connection
        self.keeps = request.keeps()
        self.begun = False
        self._chunked = False

    def _send(self, data):
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise Broken(str(error)) from error

    def head(self, status, headers=(), length=None):
        self.begun = True
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}"]
        lines.append(f"Date: {email.utils.formatdate(clock.shown(time.time()), usegmt=True)}")
        lines += [f"{name}: {value}" for name, value in dict(headers).items()]
        self._chunked = length is None and status != 204
        if self._chunked:
            lines.append("Transfer-Encoding: chunked")
        elif status != 204:
            lines.append(f"Content-Length: {length}")
        lines.append("Connection: keep-alive" if self.keeps else "Connection: close")
        self._send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def write(self, piece):
        if piece:
            self._send(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)

    def end(self):
        if self._chunked:
            self._send(b"0\r\n\r\n")

    def whole(self, status, body=b"", content_type="application/json; charset=utf-8", headers=()):
        fields = dict(headers)
        if status != 204:
            fields["Content-Type"] = content_type
        self.head(status, fields, len(body))
        self.write(body)
        self.end()

    def json(self, status, value, headers=()):
        self.whole(status, json.dumps(value, separators=(",", ":")).encode(), headers=headers)

    def error(self, status, message, headers=(), **more):
        self.json(status, {"code": status, "message": message, **more}, headers)


def quietly_closed(connection):
    """Wakes whoever reads or writes it, too."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
