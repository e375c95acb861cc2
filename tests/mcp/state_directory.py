"""A state directory for one test, and the proof that nothing of it is left anywhere."""

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import tempfile
import time

from mcp_client import binary_path

CGROUP_ROOT = pathlib.Path("/sys/fs/cgroup")
# Cgroups that are made before it is known of which machine.
AHEAD = "ahead[0-9a-f]{16}"  # what a launcher makes before it knows of which session
SLOT = re.compile(rf"/berth/{AHEAD}(?=/|$)")
WAITING = re.compile(rf"/berth/({AHEAD}\.sock)$")  # the socket of the machine that a launcher waits with


def _read(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _sockets():
    """What is in the runtime folders: one socket per machine."""
    found = set()
    for folder in ("/run/berth", os.environ.get("XDG_RUNTIME_DIR", "/nowhere") + "/berth"):
        with contextlib.suppress(OSError):
            found.update(os.path.join(folder, name) for name in os.listdir(folder))
    return found


def _nobody_listens(path):
    with socket.socket(socket.AF_UNIX) as attempt:
        try:
            attempt.settimeout(1)
            attempt.connect(path)
        except ConnectionRefusedError:
            return True
        except OSError:
            pass
    return False


def _has_ended(pid):
    """It is gone but for an entry that init has yet to take: no leak, whenever init gets to it."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return fields[:2] == [b"Z", b"1"]


def _berth_programs():
    """Guests, launchers and shims of this user that come from the build under test. What cannot be
    told (such a process shows nothing of itself to an ordinary user) counts as from there."""
    program = pathlib.Path(os.path.realpath(binary_path()))
    # <build>/server/berth, or what is installed: <prefix>/bin/berth, with the others in its libexec.
    build = f"{program.parent.parent}/"
    for name in os.listdir("/proc"):
        if (name.isdigit() and _read(f"/proc/{name}/comm").startswith(b"berth-")
                and not _has_ended(name)):
            exe = _link(f"/proc/{name}/exe")
            owner = re.search(rb"^Uid:\s+(\d+)", _read(f"/proc/{name}/status"), re.M)
            # Nothing is hidden from root: what shows no program there is ending, and may be of others.
            if (exe.startswith(build) if exe
                    else owner and int(owner[1]) == os.geteuid() and os.geteuid() != 0):
                yield int(name)


class StateDirectory:
    """Made in a temporary folder. At the end of the `with` block what is left of it is ended, so
    that a failed test harms no other."""

    def __init__(self, exclusive=False):
        """`exclusive`: nothing else runs programs of the build under test meanwhile, so that each
        that starts is ours, even one that shows nothing of itself."""
        self._exclusive = exclusive
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="berth-test-state-"))
        self._keys = set()
        self._slots = set()
        self._temporary = set(os.listdir(tempfile.gettempdir()))
        self._sockets = _sockets()
        self._programs = set(_berth_programs())

    def keys(self):
        """The hashed keys of all sessions that were seen here: they name cgroups and sockets."""
        with contextlib.suppress(OSError):
            self._keys.update(os.listdir(self.path / "sessions"))
        return self._keys

    def slots(self):
        """What the cgroups are called of the sessions that were seen here and whose machine was made
        ahead: those have names of their own, which the session's folder says."""
        notes = (_read(path) for path in self.path.glob("sessions/*/cgroup"))
        self._slots.update(note.partition(b"\n")[0] for note in notes if note)
        return self._slots

    def sandbox_id(self, key):
        """What cgroups and the socket of that session are named. Not by the key alone: every test
        that calls its session `work` has the same, and those run side by side."""
        return hashlib.sha256(f"{self.path}\n{key}".encode()).hexdigest()[:16]

    def _needles(self):
        return [os.fsencode(self.path), *(self.sandbox_id(key).encode() for key in self.keys()),
                *self.slots()]

    def processes(self):
        """{pid: command line} of every process that belongs to this state directory: named in its
        arguments, its environment, its cgroup, its mounts, or where it stands."""
        needles = self._needles()
        programs = set(_berth_programs()) - self._programs if self._exclusive else ()
        found = {}
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid() or _has_ended(name):
                continue
            places = b"\n".join([_read(f"/proc/{name}/{file}") for file in
                                 ("cmdline", "environ", "cgroup", "mountinfo")] +
                                [os.fsencode(_link(f"/proc/{name}/{link}"))
                                 for link in ("cwd", "root", "exe")])
            if int(name) in programs or any(needle in places for needle in needles):
                command = _read(f"/proc/{name}/cmdline").replace(b"\0", b" ").decode(
                    errors="replace")
                found[int(name)] = command or _read(f"/proc/{name}/comm").decode().strip()
        return found

    def cgroups(self):
        """The cgroups of this directory's sessions, in every hierarchy, the deepest first."""
        hashes = [needle.decode() for needle in self._needles()[1:]]
        found = []
        for folder, names, _ in os.walk(CGROUP_ROOT):
            found += [path for path in (os.path.join(folder, name) for name in names)
                      if any(needle in path for needle in hashes)]
        return sorted(found, key=len, reverse=True)

    def mounts(self):
        text = _read("/proc/self/mountinfo").decode(errors="replace")
        needles = [needle.decode() for needle in self._needles()]
        return [line for line in text.splitlines() if any(needle in line for needle in needles)]

    @property
    def temporary(self):
        """The temporary folder of what is started with this state directory, for it alone: whatever
        is left there was forgotten, under whatever name."""
        folder = self.path / "tmp-of-the-server"
        folder.mkdir(exist_ok=True)
        return folder

    def strangers(self):
        """What is left outside of the state directory: in the temporary folders, or a socket in the
        runtime folder that bears our name or (`exclusive`) that nobody listens at."""
        found = [os.path.join(tempfile.gettempdir(), name)
                 for name in set(os.listdir(tempfile.gettempdir())) - self._temporary]
        sockets = _sockets()
        named = [path for path in [*found, *sockets]
                 if any(needle.decode() in path for needle in self._needles()[1:])]
        stale = []
        if self._exclusive and os.environ.get("BERTH_PARITY_BACKEND", "local") == "local":
            stale = [path for path in sockets - self._sockets if _nobody_listens(path)]
        return named + stale + [str(path) for path in self.temporary.iterdir()]

    def sockets(self):
        """All that is new in the runtime folders since this was made, whoever listens at it; but what
        a launcher that lives waits with, which is another one each time."""
        bound = _read("/proc/net/unix").decode(errors="replace")
        found = {path: WAITING.search(path) for path in _sockets() - self._sockets}
        return {path for path, waiting in found.items() if not waiting or waiting[1] not in bound}

    def guests(self):
        """The process ids of the guests, one per running machine."""
        return [pid for pid in self.processes()
                if _read(f"/proc/{pid}/comm").strip() == b"berth-guest"
                and _read(f"/proc/{pid}/cmdline")]  # else it has ended, and waits to be reaped

    def leaks(self):
        """Everything that is left, as lines; empty is good. Running sessions are left too."""
        return ([f"process {pid}: {line}" for pid, line in self.processes().items()] +
                self.leftovers())

    def processes_but(self, server):
        """Those of sessions, while a server runs."""
        return {pid: line for pid, line in self.processes().items()
                if pid != server and not any(name in line for name in ("berth-launcher", "berth-ahead"))}

    def leaks_but(self, server):
        """What sessions have left, while a server runs."""
        return ([f"process {pid}: {line}" for pid, line in self.processes_but(server).items()] +
                self.leftovers())

    def leftovers(self):
        """As leaks(), but for processes."""
        return ([f"cgroup {path}" for path in self.cgroups()] +
                [f"mount {line}" for line in self.mounts()] +
                [f"file {name}" for name in self.strangers()])

    def wait_for_no_leaks(self, timeout=20):
        """Empty as soon as nothing is left, else what is left at the end."""
        end = time.monotonic() + timeout
        while True:
            leaks = self.leaks()
            if not leaks or time.monotonic() > end:
                return leaks
            time.sleep(0.05)

    def end_everything(self):
        """Ends the sessions that outlive their servers on purpose."""
        end = time.monotonic() + 5
        while time.monotonic() < end:
            processes = self.processes()
            if not processes:
                break
            for pid in processes:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for path in self.cgroups():
            with contextlib.suppress(OSError):
                os.rmdir(path)

    def remove(self):
        def retry(function, path, _):
            # A test may have left folders without permissions.
            with contextlib.suppress(OSError):
                if os.fspath(path) != os.fspath(self.path):  # else it is /tmp
                    os.chmod(os.path.dirname(path), stat.S_IRWXU)
                if not os.path.islink(path):
                    os.chmod(path, stat.S_IRWXU)
                if function in (os.unlink, os.rmdir):
                    function(path)
                else:  # could not be opened
                    shutil.rmtree(path, onerror=retry)
        shutil.rmtree(self.path, onerror=retry)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.end_everything()
        self.remove()
