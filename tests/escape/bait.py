"""Things of the host that no sandbox may reach, each of which can be seen to be as it was."""

import contextlib
import ctypes
import os
import pathlib
import socket
import subprocess
import tempfile
import threading

NOBODY = 65534
IPC_RMID, IPC_CREAT = 0, 0o1000


def as_ordinary_user(command):
    """Root could do everything: without a sandbox the attempts are made as somebody who has no rights."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command]


class Bait(contextlib.ExitStack):
    """Everything may be read and written by everybody: only a layer keeps it. `facts` tell where it is."""

    def __init__(self):
        super().__init__()
        folder = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory(prefix="berth-bait-")))
        os.chmod(folder, 0o777)
        word = folder.name
        self.folder, self.file = folder, folder / "file"
        memory = pathlib.Path("/dev/shm", word)
        for path in (self.file, memory):
            path.write_text("of the host\n")
            os.chmod(path, 0o666)
        self.callback(memory.unlink)
        self.process = subprocess.Popen(as_ordinary_user(["sh", "-c", "sleep 300; :", word]),
                                        env={**os.environ, "BAIT": word}, start_new_session=True)
        self.callback(self.process.wait)
        self.callback(os.killpg, self.process.pid, 9)
        master, self.terminal = os.openpty()
        for fd in (master, self.terminal):
            self.callback(os.close, fd)
        os.chmod(self.terminal, 0o666)
        libc = ctypes.CDLL(None)
        self.shm = libc.shmget(self.process.pid, 4096, IPC_CREAT | 0o666)
        self.callback(libc.shmctl, self.shm, IPC_RMID, None)
        self.facts = {"word": word, "process": self.process.pid, "file": str(self.file), "guest": 1,
                      "shm": self.process.pid, "host": socket.gethostname(), "shown": str(folder),
                      "terminal": os.ttyname(self.terminal),
                      "socket": str(folder / "socket"), **self._listen()}

    def _listen(self):
        sockets = {"tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
                   "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
                   "path": (socket.AF_UNIX, socket.SOCK_STREAM, str(self.folder / "socket")),
                   "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.folder.name)}
        made = {}
        for name, (family, kind, address) in sockets.items():
            made[name] = self.enter_context(socket.socket(family, kind))
            made[name].bind(address)
            if kind == socket.SOCK_STREAM:
                made[name].listen()
        os.chmod(self.folder / "socket", 0o666)
        threading.Thread(target=self._answer, args=(made["udp"],), daemon=True).start()
        return {name: made[name].getsockname()[1] for name in ("tcp", "udp")}

    @staticmethod
    def _answer(datagrams):
        with contextlib.suppress(OSError):  # closed: the test is over
            while True:
                datagrams.sendto(b"!", datagrams.recvfrom(16)[1])

    def harm(self):
        """What has become of it; empty: nothing."""
        done = []
        if self.process.poll() is not None:
            done.append("the process has ended")
        if self.file.read_text() != "of the host\n":
            done.append("the file has changed")
        return done
