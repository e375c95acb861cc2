"""Between a client and the envd of a box: what E2B's proxies do on the way."""

import os
import select
import socket
import threading

import between
import web
from boxes import GONE, KILLING, PAUSED, RUNNING
from faults import Cut, abort

ENVD_PORT = 49983
RESERVED = ("/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade")
HOP = ("connection", "transfer-encoding", "content-length", "keep-alive", "expect")
LOGGED = ("/process.Process/Start", "/process.Process/SendInput")
LONGEST_LOG = 192 << 10  # longer lines are not sent on
MOST_LOGS = 1000
PATIENCE = 1  # seconds, with a body that nobody reads any more


def not_found(reply, name):
    reply.json(502, {"sandboxId": name, "message": "The sandbox was not found", "code": 502})


class Relay:
    """Of one request."""

    def __init__(self, box, request, reply, fault, moved):
        self._box, self._request, self._reply, self._fault = box, request, reply, fault
        self._moved = moved
        self._client = request.connection
        self._back = None
        self._cut = False
        self._lock = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)  # that it is over, whatever it waits for
        self._body_sent = threading.Event()

    def cut(self, keep):
        """From another thread. Returns the socket to the box where that is to stay, for the caller."""
        with self._lock:
            if self._back is None or self._cut:
                return None
            self._cut = True
            os.eventfd_write(self._wake, 1)
            try:
                self._client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            if not keep:
                web.quietly_closed(self._back)
            return self._back if keep else None

    def run(self):
        try:
            self._back = between.connect(self._box.socket)
        except OSError:
            os.close(self._wake)
            return port_closed(self._reply, self._box.id, ENVD_PORT)
        self._box.relays.add(self)
        up = threading.Thread(target=self._up, daemon=True)
        try:
            if self._box.state != RUNNING:  # paused since it was looked up
                return not_found(self._reply, self._box.id)
            self._send_head()
            up.start()
            self._down()
        except OSError as error:
            raise Cut from error
        finally:
            self._box.relays.discard(self)
            if up.ident and not self._request.body.ended:
                self._reply.keeps = False
                self._refuse_the_rest()
            self._end(up)
        return None

    def _end(self, up):
        with self._lock:
            os.eventfd_write(self._wake, 1)
            if not self._cut:
                web.quietly_closed(self._back)
            self._back = None
        if up.ident:
            up.join()
        os.close(self._wake)

    def _refuse_the_rest(self):
        """A client that still writes shall read the answer first."""
        self._shut(socket.SHUT_WR)
        if not self._body_sent.wait(PATIENCE):
            self._shut(socket.SHUT_RD)  # wakes the one that reads
            abort(self._client)  # a plain close can leave a writer waiting for room for ever

    def _shut(self, how):
        try:
            self._client.shutdown(how)
        except OSError:
            pass

    def _send_head(self):
        request = self._request
        lines = [f"{request.method} {request.target} HTTP/1.1", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in request.headers.items() if name not in HOP]
        if request.body.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif "content-length" in request.headers:
            lines.append(f"Content-Length: {request.headers['content-length']}")
        self._back.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def _up(self):
        """The body of the request; then, whether the client leaves."""
        try:
            self._send_body()
        except Cut:
            abort(self._client)
            return self._leave()
        except (web.Broken, OSError):
            self._body_sent.set()
            return self._leave()
        self._body_sent.set()
        poll = select.poll()
        poll.register(self._client, select.POLLIN | select.POLLRDHUP)
        poll.register(self._wake, select.POLLIN)
        ended = select.POLLRDHUP | select.POLLHUP | select.POLLERR
        if any(which != self._wake and events & ended for which, events in poll.poll()):
            self._leave()
        return None

    def _send_body(self):
        body, log, allowed = self._request.body, b"", self._fault and self._fault.request_bytes
        for piece in body.pieces():
            if allowed is not None:
                piece, cut = piece[:allowed], len(piece) >= allowed
                allowed -= len(piece)
            else:
                cut = False
            log += piece if self._request.path in LOGGED and len(log) <= LONGEST_LOG else b""
            if piece:
                self._moved(len(piece))
                self._to_box(b"%x\r\n%b\r\n" % (len(piece), piece) if body.chunked else piece)
            if cut:
                raise Cut
        if body.chunked:
            self._to_box(b"0\r\n\r\n")
        if log and len(log) <= LONGEST_LOG:
            self._box.log.append({"path": self._request.path, "text": log.decode("latin-1")})
            del self._box.log[:-MOST_LOGS]

    def _to_box(self, data):
        """One that has answered already may read no more: that is not the end of its answer."""
        with self._lock:
            back = self._back
        try:
            if back is not None:
                back.sendall(data)
        except BrokenPipeError:
            for _ in self._request.body.pieces():
                pass

    def _leave(self):
        with self._lock:
            if self._back is not None and not self._cut:
                try:
                    self._back.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def _down(self):
        try:
            status, headers, body = web.read_reply(web.Source(self._back, self._wake))
        except (web.Broken, ValueError, IndexError) as error:
            if self._cut or self._box.state != RUNNING:
                raise Cut from error
            return port_closed(self._reply, self._box.id, ENVD_PORT)
        length = headers.get("content-length")
        passed = {name.title(): value for name, value in headers.items() if name not in HOP}
        try:
            self._reply.head(status, passed, None if length is None else int(length))
            for piece in body.pieces():
                self._moved(len(piece))
                self._reply.write(piece)
            self._reply.end()
        except Cut:
            self._leave()
            raise
        except web.Broken as error:
            self._leave()
            raise Cut from error
        return None


def port_closed(reply, name, port):
    reply.json(502, {"sandboxId": name, "message": "The sandbox is running but port is not open",
                     "port": port, "code": 502})


def answer(boxes, box, name, port, request, reply, fault, moved):
    """`box`: None where there is none of that name. `moved` is told of the bytes of bodies."""
    if request.path in RESERVED:
        return reply.whole(404, b"404 page not found\n", "text/plain; charset=utf-8")
    if box is not None and box.state not in (RUNNING, KILLING, GONE):
        with box.lock:  # the end of a transition
            pass
        if box.state == PAUSED and box.auto_resume and box.has_memory:
            if box.token and request.headers.get("x-access-token") != box.token:
                return reply.json(403, {"sandboxId": name, "code": 403, "message":
                                        "This sandbox can't be resumed with the credentials provided"})
            boxes.auto_resume(box)
    if box is None or box.state != RUNNING:
        return not_found(reply, name)
    if port != ENVD_PORT:
        return port_closed(reply, name, port)
    return Relay(box, request, reply, fault, moved).run()
