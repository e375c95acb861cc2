"""What the kernel charges for a crowd of sessions, their server's share included, beside as many idle
sandboxes of bwrap. A memory cgroup counts it, so whatever else the host does at the same time is not in
it; nor is the page cache of files on a disk, which the host takes back when it wants it."""
import contextlib
import os
import pathlib
import subprocess
import time


class MemoryCgroup:
    """Of this bench, below the one it runs in. Throws OSError where none can be made."""

    def __init__(self, name):
        base, self.v1 = own_memory_cgroup()
        self.path = base / f"berth-bench-{name}-{os.getpid()}"
        self.path.mkdir()
        if not self.v1:
            # berth takes a cgroup that was delegated, and puts its sessions below it.
            os.setxattr(self.path, "user.delegate", b"1")

    @property
    def entrance(self):
        return str(self.path / "cgroup.procs")

    def processes(self):
        return sum(len(file.read_text().split()) for file in self.path.rglob("cgroup.procs"))

    def kilobytes(self):
        usage = int((self.path / ("memory.usage_in_bytes" if self.v1 else "memory.current")).read_text())
        stat = dict(line.split() for line in (self.path / "memory.stat").read_text().splitlines())
        prefix, cache = ("total_", "cache") if self.v1 else ("", "file")
        # What is in a tmpfs is in no other place.
        return (usage - int(stat[prefix + cache]) + int(stat[prefix + "shmem"])) / 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end = time.monotonic() + 10
        while self.path.exists() and time.monotonic() < end:  # what has just ended is in it for a moment
            for folder, _, _ in os.walk(self.path, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
            time.sleep(0.05)


def own_memory_cgroup():
    """(folder, whether it is of v1)"""
    own = dict(line.split(":")[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, source = line.split(), line.split(" - ")[1].split()
        options = source[2].split(",")
        root, place = fields[3], pathlib.Path(fields[4])
        v1 = source[0] == "cgroup" and "memory" in options
        v2 = source[0] == "cgroup2" and "memory" in (place / "cgroup.subtree_control").read_text().split()
        if v1 or v2:
            path = next(path for names, path in own.items() if ("memory" in names.split(",")) if v1
                        ) if v1 else own[""]
            return place / os.path.relpath(path, root), v1
    raise OSError("no memory cgroup is to be had here")


class Bwraps:
    """So many sandboxes of bwrap in which nothing happens."""

    def __init__(self, count, cgroup):
        one = "bwrap --unshare-all --die-with-parent --ro-bind / / sleep infinity &"
        script = f'echo 0 >"$0"; i=0; while [ $i -lt {count} ]; do {one} i=$((i + 1)); done; wait'
        self.process = subprocess.Popen(["sh", "-c", script, cgroup.entrance], start_new_session=True,
                                        stdin=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while cgroup.processes() < 1 + 3 * count:  # bwrap, its pid 1, sleep; and the shell
            if time.monotonic() > end or self.process.poll() is not None:
                self.__exit__()
                raise RuntimeError("bwrap does not start")
            time.sleep(0.1)
        time.sleep(0.5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()  # and each with its parent
        self.process.wait()


def bwrap_kilobytes(count):
    with MemoryCgroup("bwrap") as cgroup:
        before = cgroup.kilobytes()
        with Bwraps(count, cgroup):
            return (cgroup.kilobytes() - before) / count
