"""Debian's systemd as the first process of namespaces, which is what a booted host is to the units
that run there. Needs root and the package systemd; the host may run whatever it wants as its init.

    with Systemd(units, prefix) as systemd:
        systemd.run("systemctl", "start", "berth.socket")
"""

import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = "/lib/systemd/systemd"
# Of the host's units those that order the others, and what ends a user's manager.
TARGETS = ("basic", "exit", "final", "paths", "shutdown", "slices", "sockets", "sysinit", "timers", "umount")
SERVICES = ("systemd-exit",)
# $1: the cgroup, $2: a folder with the units, $3: what is shown at the prefix $4.
ENTER = 'echo 0 >"$1/cgroup.procs"; exec unshare --mount --cgroup --ipc --uts sh -ec "$BOOT" sh "$@"'
BOOT = """
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd /run/user
cp -r "$2/system" "$2/user" /run/systemd
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind "$3" "$4"
for folder in /etc/systemd /usr/lib/systemd/system /usr/lib/systemd/user; do
    mount -t tmpfs -o mode=755 tmpfs $folder
done
exec env -i container=berth-test PATH=/usr/sbin:/usr/bin:/sbin:/bin %s --unit=basic.target \
    --log-target=null --show-status=0
""" % PROGRAM


def is_possible():
    return os.geteuid() == 0 and os.access(PROGRAM, os.X_OK) and cgroup2_mount() is not None


def cgroup2_mount():
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            _, point, kind = line.split()[:3]
            if kind == "cgroup2":
                return pathlib.Path(point)
    return None


def wait_until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Systemd:
    def __init__(self, units, installed, prefix):
        """`units`: {name: text} of more units; `installed`: a folder to be seen at `prefix`."""
        self._units, self._installed, self._prefix = units, str(installed), prefix
        self.cgroup = cgroup2_mount() / f"berth-systemd-{secrets.token_hex(4)}"

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="berth-systemd-")
        os.chmod(self._folder, 0o755)
        for kind in ("system", "user"):
            for name in [*(f"{target}.target" for target in TARGETS),
                         *(f"{service}.service" for service in SERVICES)]:
                if os.path.exists(f"/lib/systemd/{kind}/{name}"):
                    self._add(kind, name, pathlib.Path(f"/lib/systemd/{kind}/{name}").read_text())
            for name, text in self._units.items():
                self._add(kind, name, text)
        self.has_controllers = self._give_controllers()
        self.cgroup.mkdir()
        self._outer = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, "sh",
             str(self.cgroup), self._folder, self._installed, self._prefix],
            env={**os.environ, "BOOT": BOOT}, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            wait_until(self._is_up, "systemd is up")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _add(self, kind, name, text):
        path = pathlib.Path(self._folder, kind, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _give_controllers(self):
        """Where cgroup v2 has any, as on most hosts."""
        try:
            (self.cgroup.parent / "cgroup.subtree_control").write_text("+memory +pids +cpu")
        except OSError:  # they are v1's; or other processes are there
            return False
        return True

    def _is_up(self):
        if self._outer.poll() is not None:
            raise AssertionError(f"systemd ended with {self._outer.returncode}")
        with contextlib.suppress(OSError, ValueError):
            self.pid = int(pathlib.Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children")
                           .read_text())
            return (os.readlink(f"/proc/{self.pid}/exe").endswith("/systemd") and
                    self.run("systemctl", "is-active", "basic.target", check=False) == "active\n")
        return False

    def root(self, path):
        """That path of the inside, from outside."""
        return f"/proc/{self.pid}/root{path}"

    def entering(self, *command):
        return ["nsenter", "-t", str(self.pid), "-m", "-p", "-i", "-u", "-C", "--", *command]

    def run(self, *command, check=True):
        done = subprocess.run(self.entering(*command), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=60)
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done}")
        return done.stdout

    def __exit__(self, kind, value, trace):
        # The end of a pid namespace's first process is the end of all.
        with contextlib.suppress(ProcessLookupError, AttributeError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._outer.pid, signal.SIGKILL)
        self._outer.wait()
        wait_until(self._remove_cgroups, "the cgroups are empty")
        shutil.rmtree(self._folder)

    def _remove_cgroups(self):
        for path, _, _ in os.walk(self.cgroup, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(path)
        return not self.cgroup.exists()
