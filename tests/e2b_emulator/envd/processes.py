"""One process that Start began: its pipes or terminal, those who listen, and its end."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading

from envd import users
from envd.fanout import FanOut
from envd.rpc import RpcError

STD_PIECE, PTY_PIECE = 32 << 10, 16 << 10
OOM_SCORE = 100
# Go's names; what is not here is "signal N".
SIGNALS = {1: "hangup", 2: "interrupt", 3: "quit", 4: "illegal instruction", 5: "trace/breakpoint trap",
           6: "aborted", 7: "bus error", 8: "floating point exception", 9: "killed",
           10: "user defined signal 1", 11: "segmentation fault", 12: "user defined signal 2",
           13: "broken pipe", 14: "alarm clock", 15: "terminated"}
WRAPPER = f'echo {OOM_SCORE} > /proc/$$/oom_score_adj && exec nice -n 0 "$@"'
WRAPPER_PTY = 'exec <"$0" >"$0" 2>&1; ' + WRAPPER


def end_event(status):
    """Of a status of subprocess: negative for a signal."""
    if status >= 0:
        event = {"exitCode": status, "exited": True, "status": f"exit status {status}"}
        if status:
            event["error"] = event["status"]
        else:
            del event["exitCode"]
        return event
    text = f"signal: {SIGNALS.get(-status, f'signal {-status}')}"
    return {"exitCode": -1, "status": text, "error": text}


class Process:
    def __init__(self, request, user, environment, lifetime, on_end):
        """Raises RpcError."""
        self.config = request.get("process", {})
        self.tag = request.get("tag")
        self.output = FanOut()
        self.ended = None  # its end event
        self._on_end = on_end
        self._stdin_lock = threading.Lock()
        self._stdin = self._terminal = None
        self._over = threading.Event()  # nobody waits for more output
        self._stop = os.pipe()  # and nobody reads it
        self._begin(request, self._folder(user), user, environment)
        self.pid = self._child.pid
        # Deadline or not: the leader alone is killed, and what it began lives on.
        self._timer = threading.Timer(lifetime, self._kill) if lifetime else None

    def run(self):
        """After the first subscriber is there, so that it misses nothing."""
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        pumps = [threading.Thread(target=self._pump, args=arguments, daemon=True)
                 for arguments in self._sources]
        for pump in pumps:
            pump.start()
        threading.Thread(target=self._wait_for_output, args=(pumps,), daemon=True).start()
        threading.Thread(target=self._wait, args=(pumps,), daemon=True).start()

    def _folder(self, user):
        try:
            folder = users.resolved(self.config.get("cwd", ""), user)
        except ValueError as error:
            raise RpcError("invalid_argument", str(error)) from error
        if not os.path.exists(folder):
            raise RpcError("invalid_argument", f"cwd '{folder}' does not exist")
        return folder

    def _begin(self, request, folder, user, environment):
        command = [self.config.get("cmd", ""), *self.config.get("args", [])]
        as_user = {}
        if os.stat("/proc/self").st_uid != user.pw_uid:
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": users.groups_of(user)}
        how = {"cwd": folder, "env": environment, **as_user}
        try:
            if "pty" in request:
                self._begin_in_terminal(request["pty"], command, how, user)
            else:
                self._begin_with_pipes(request.get("stdin", True), command, how)
        except OSError as error:
            raise RpcError("invalid_argument", f"error starting process '{' '.join(command)}': fork/exec "
                           f"/bin/sh: {error.strerror.lower()}") from error

    def _begin_with_pipes(self, stdin, command, how):
        self._child = subprocess.Popen(
            ["/bin/sh", "-c", WRAPPER, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, **how)
        self._stdin = self._child.stdin.fileno() if stdin else None
        self._sources = [(self._child.stdout.fileno(), "stdout", STD_PIECE),
                         (self._child.stderr.fileno(), "stderr", STD_PIECE)]

    def _begin_in_terminal(self, wanted, command, how, user):
        terminal, inner = pty.openpty()
        name = os.ttyname(inner)
        os.chown(name, user.pw_uid, -1)
        self._terminal = terminal
        self.resize(wanted.get("size", {}))
        try:
            self._child = subprocess.Popen(["/bin/sh", "-c", WRAPPER_PTY, name, *command],
                                           start_new_session=True, stdin=inner, stdout=inner,
                                           stderr=inner, **how)
        finally:
            os.close(inner)
        self._sources = [(terminal, "pty", PTY_PIECE)]

    def _pump(self, descriptor, kind, most):
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(self._stop[0], select.POLLIN)
        while True:
            if any(which == self._stop[0] for which, _ in poll.poll()):
                return
            try:
                piece = os.read(descriptor, most)
            except OSError:  # a terminal that everybody has left
                return
            if not piece:
                return
            self.output.put({kind: piece})

    def _wait_for_output(self, pumps):
        for pump in pumps:
            pump.join()
        self.output.end()
        self._over.set()

    def _wait(self, pumps):
        """The stream ends when all output has: a child that holds it open holds the stream. After a
        signal or the deadline nobody waits for that, and what comes late is lost."""
        self._over.wait()
        event = end_event(self._child.wait())
        os.write(self._stop[1], b".")
        if self._timer:
            self._timer.cancel()
        self._on_end(self, event)
        self.ended = event
        self._tidy(pumps)

    def _tidy(self, pumps):
        """May take as long as a subscriber stalls."""
        for pump in pumps:
            pump.join()
        with self._stdin_lock:
            self._stdin = None
            terminal, self._terminal = self._terminal, None
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        for descriptor in (*self._stop, *([] if terminal is None else [terminal])):
            os.close(descriptor)

    def _kill(self):
        self._over.set()
        self._child.kill()

    def signal(self, number):
        if number in (signal.SIGKILL, signal.SIGTERM):
            self._over.set()
        self._child.send_signal(number)

    def write(self, data, kind):
        """Blocks for as long as nobody reads, and all that come later with it."""
        if kind == "pty" and self._terminal is None:
            raise RpcError("internal", "error writing to tty: tty not assigned to process — input should "
                           "be written to the stdin, not the tty")
        if kind == "stdin" and self._terminal is not None:
            raise RpcError("internal", "error writing to stdin: tty assigned to process — input should "
                           "be written to the pty, not the stdin")
        with self._stdin_lock:
            descriptor = self._terminal if kind == "pty" else self._stdin
            if descriptor is None:
                raise RpcError("internal", "error writing to stdin: stdin not enabled or closed")
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view):]
            except OSError as error:
                where = "tty" if kind == "pty" else "stdin"
                raise RpcError("internal", f"error writing to {where}: error writing to {where} of process "
                               f"'{self.pid}': write |1: {error.strerror.lower()}") from error

    def close_stdin(self):
        if self._terminal is not None:
            raise RpcError("unknown", "error closing stdin: cannot close stdin for PTY process — send "
                           "Ctrl+D (0x04) instead")
        with self._stdin_lock:
            if self._stdin is not None:
                self._stdin = None
                self._child.stdin.close()

    def resize(self, size):
        if self._terminal is None:
            raise RpcError("internal", "error resizing tty: tty not assigned to process")
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ,
                    struct.pack("HHHH", size.get("rows", 0), size.get("cols", 0), 0, 0))
