"""The process that makes boxes and ends them. It is forked from the emulator before that has threads,
and outlives it by a moment: when the emulator is gone, however it went, no box is left, and no cgroup."""

import contextlib
import json
import os
import signal
import socket
import threading
import traceback

import box_process
import freezer


PATIENCE = 60  # seconds; what takes longer is broken


class KeptBox:
    """In the keeper."""

    def __init__(self, spec, others):
        self._freezer = freezer.make(spec["by_signals"])
        listener, self.name = box_process.listening()
        self.control, inner = socket.socketpair()
        self.control.settimeout(PATIENCE)
        self.init = None
        self._holder = os.fork()
        if self._holder == 0:
            try:
                for other in (*others, self.control):
                    other.close()
                box_process.hold(inner, listener, self._freezer.procs, spec)
            except BaseException:
                inner.sendall(traceback.format_exc().encode()[-4000:])
            finally:
                os._exit(1)
        listener.close()
        inner.close()
        try:
            self._said(1)
            self.boot()
        except BaseException:
            self.end()
            raise

    def _said(self, count):
        said = self.control.recv(4096)
        if len(said) != count:
            raise OSError("the box could not be made:\n" + said.decode(errors="replace"))
        return said

    def boot(self):
        self.control.sendall(b"b")
        self.init = int.from_bytes(self._said(4), "big")

    def shut_down(self):
        """Its files stay."""
        self.thaw()
        self.control.sendall(b"k")
        self._said(1)

    def reach(self, places):
        text = " ".join(places).encode()
        self.control.sendall(b"w" + bytes([len(text)]) + text)
        self._said(1)

    def freeze(self):
        self._freezer.freeze(self.init)

    def thaw(self):
        self._freezer.thaw(self.init)

    def end(self):
        with contextlib.suppress(OSError):
            os.kill(self._holder, signal.SIGKILL)  # which takes init with it
        os.waitpid(self._holder, 0)
        self.control.close()
        self._freezer.remove()


def _answer(boxes, order, outer):
    what, name = order["what"], order["box"]
    if what == "make":
        boxes[name] = KeptBox(order["spec"], [outer, *(box.control for box in boxes.values())])
        return {"socket": boxes[name].name}
    if what == "end":
        boxes.pop(name).end()
    elif what == "reach":
        boxes[name].reach(order["places"])
    else:
        {"freeze": KeptBox.freeze, "thaw": KeptBox.thaw, "boot": KeptBox.boot,
         "shut_down": KeptBox.shut_down}[what](boxes[name])
    return {}


def _run(outer):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the emulator says when
    boxes = {}
    try:
        while order := outer.recv(1 << 20):
            try:
                answer = _answer(boxes, json.loads(order), outer)
            except Exception as error:
                answer = {"error": str(error) or repr(error)}
            outer.send(json.dumps(answer).encode())
    except OSError:
        pass
    for box in boxes.values():
        with contextlib.suppress(OSError):
            box.end()
    os._exit(0)


class Keeper:
    """In the emulator."""

    def __init__(self, by_signals=False):
        self._by_signals = by_signals
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = os.fork()
        if self._process == 0:
            self._socket.close()
            os.setsid()
            _run(other)
        other.close()

    def _ask(self, what, box, **more):
        with self._lock:
            self._socket.send(json.dumps({"what": what, "box": box, **more}).encode())
            said = self._socket.recv(1 << 16)
        if not said:
            raise OSError("the keeper is gone")
        answer = json.loads(said)
        if "error" in answer:
            raise OSError(answer["error"])
        return answer

    def make(self, box, spec):
        """The name of the abstract socket at which its envd is."""
        return self._ask("make", box, spec={**spec, "by_signals": self._by_signals})["socket"]

    def do(self, what, box):
        self._ask(what, box)

    def reach(self, box, places):
        self._ask("reach", box, places=places)

    def close(self):
        """Returns when nothing of the boxes is left."""
        self._socket.shutdown(socket.SHUT_RDWR)  # without the lock: somebody may be waiting
        os.waitpid(self._process, 0)
