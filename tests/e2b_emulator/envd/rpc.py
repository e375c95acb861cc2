"""Connect's protocol with the JSON codec: errors, envelopes, and the streams of both directions."""

import base64
import json
import select
import struct
import threading

import web

STATUS = {"canceled": 499, "unknown": 500, "invalid_argument": 400, "deadline_exceeded": 504,
          "not_found": 404, "already_exists": 409, "permission_denied": 403, "resource_exhausted": 429,
          "failed_precondition": 400, "aborted": 409, "out_of_range": 400, "unimplemented": 501,
          "internal": 500, "unavailable": 503, "unauthenticated": 401}
COMPRESSED, LAST = 1, 2
DEFAULT_KEEPALIVE = 90


class RpcError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code

    def value(self):
        return {"code": self.code, "message": str(self)}


class Gone(Exception):
    """The client of a stream has left."""


def decoded(text):
    """A message of bytes; its bytes fields are decoded by `binary`."""
    if not text:
        raise RpcError("invalid_argument",
                       "unmarshal message: zero-length payload is not a valid JSON object")
    try:
        found = json.loads(text)
    except ValueError as error:
        raise RpcError("invalid_argument", f"unmarshal message: {error}") from error
    if not isinstance(found, dict):
        raise RpcError("invalid_argument", "unmarshal message: not an object")
    return found


def encoded(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogateescape")


def binary(text):
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise RpcError("invalid_argument", f"unmarshal message: invalid value for bytes: {error}") from error


def timeout_of(request):
    """In seconds, or None."""
    text = request.headers.get("connect-timeout-ms", "")
    if not text:
        return None
    if not text.isdigit() or len(text) > 10:
        raise RpcError("invalid_argument", f"protocol error: timeout has more than 10 digits: {text!r}")
    return int(text) / 1000


def keepalive_of(request):
    try:
        return int(request.headers.get("keepalive-ping-interval", ""))
    except ValueError:
        return DEFAULT_KEEPALIVE


def envelope(flags, payload):
    return struct.pack(">BI", flags, len(payload)) + payload


def read_envelopes(body):
    """Those of a client's stream. Half of one is an error, and nothing of it is used."""
    while head := body.exactly(5):
        if len(head) < 5:
            raise RpcError("invalid_argument", "protocol error: incomplete envelope: unexpected EOF")
        flags, length = struct.unpack(">BI", head)
        if flags & COMPRESSED:
            raise RpcError("internal", "protocol error: sent compressed message without compression support")
        payload = body.exactly(length)
        if len(payload) < length:
            raise RpcError("invalid_argument", f"protocol error: promised {length} bytes in enveloped "
                           f"message, got {len(payload)} bytes")
        yield decoded(payload)


class EventStream:
    """What a server's stream sends; knows when its client has left."""

    def __init__(self, reply, request):
        self._reply = reply
        self._connection = request.connection
        self.left = threading.Event()
        self.on_leaving = lambda: None
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        """Until the client ends its half, or the socket is closed after the stream."""
        poll = select.poll()
        try:
            poll.register(self._connection, select.POLLRDHUP)
            poll.poll()
        except (OSError, ValueError):
            pass
        self.left.set()
        self.on_leaving()

    def send(self, value, flags=0):
        if self.left.is_set():
            raise Gone
        try:
            if not self._reply.begun:  # as connect-go does: a client hears nothing before
                self._reply.head(200, {"Content-Type": "application/connect+json",
                                       "Connect-Accept-Encoding": "gzip"})
            self._reply.write(envelope(flags, encoded(value)))
        except web.Broken as error:
            self.left.set()
            raise Gone from error

    def end(self, error=None):
        try:
            self.send({"error": error.value()} if error else {}, LAST)
            self._reply.end()
        except (Gone, web.Broken):
            pass


def serve_stream(handler, context, reply, request):
    stream = EventStream(reply, request)
    try:
        if context.refused:
            raise context.refused
        messages = list(read_envelopes(request.body))
        if len(messages) != 1:
            raise RpcError("unimplemented", f"unary request has {len(messages)} messages")
        handler(context, messages[0], stream)
        stream.end()
    except RpcError as error:
        stream.end(error)
    except Gone:
        pass
    reply.keeps = False


def serve_client_stream(handler, context, reply, request):
    """An error is said while the client may still be sending."""
    try:
        answer, error = handler(context, read_envelopes(request.body)), None
    except RpcError as failed:
        error = failed
    reply.head(200, {"Content-Type": "application/connect+json"})
    if error:
        reply.write(envelope(LAST, encoded({"error": error.value()})))
    else:
        reply.write(envelope(0, encoded(answer)) + envelope(LAST, b"{}"))
    reply.end()


def serve_unary(handler, context, reply, request):
    try:
        if context.refused:
            raise context.refused
        answer = handler(context, decoded(request.body.all()))
        reply.whole(200, encoded(answer), "application/json")
    except RpcError as error:
        reply.whole(STATUS[error.code], encoded(error.value()), "application/json")
