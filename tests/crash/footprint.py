"""What berth has of a host at one moment, everything counted, and what is more or less of it at another.
Names alone would not do: what is left under a strange name, or held open by a server, is left too."""

import collections
import contextlib
import dataclasses
import fcntl
import os
import pathlib
import re
import time

from mcp_client import is_sanitized

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
# What a server's heap may differ by from one call to another, in KiB: pages that malloc keeps, stacks
# of threads. A session that left 20 KiB in each of its 60 ways through a server would be above it.
ALLOWED_KB = 1024


def _read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _links(folder):
    """Where the links of a folder lead; of a process that is ending: nothing."""
    with contextlib.suppress(OSError):
        return list(filter(None, [_link(os.path.join(folder, name)) for name in os.listdir(folder)]))
    return []


def _numbered(names):
    """{"name 1", "name 2", …}: of things that are the same but for their numbers."""
    return {f"{name} {number}" for name, count in collections.Counter(names).items()
            for number in range(1, count + 1)}


def _field(text, name):
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.M)
    return int(found[1]) if found else 0


def _memory_kb(pid):
    """What is the process's own; pages of programs are shared with who knows whom."""
    with contextlib.suppress(OSError):  # it has ended
        if not is_sanitized(pid):
            return _field(_read(f"/proc/{pid}/smaps_rollup"), "Anonymous")
    return 0


def _waits(folder):
    """Whether a server that lives has made it ahead."""
    with contextlib.suppress(OSError):
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(file)
    return False


def _files(folder):
    """Without what servers that live have made ahead, which is another one each time."""
    found = set()
    for where, folders, names in os.walk(folder):
        if where == os.path.join(folder, "ahead"):
            folders[:] = [name for name in folders if not _waits(os.path.join(where, name))]
        found.update(os.path.join(where, name) for name in [*folders, *names])
    return found


@dataclasses.dataclass
class Footprint:
    """`things`: {kind: the set of their names}; `memory_kb`: of all processes together."""
    things: dict
    memory_kb: int

    def changes(self, before):
        """What is more or less than before, as lines; empty: nothing."""
        lines = []
        for kind, now in self.things.items():
            lines += [f"{kind} is left: {name}" for name in sorted(now - before.things[kind])]
            lines += [f"{kind} is missing: {name}" for name in sorted(before.things[kind] - now)]
        if self.memory_kb > before.memory_kb + ALLOWED_KB:
            lines.append(f"memory is left: {self.memory_kb} kB where there were {before.memory_kb} kB")
        return lines

    def more(self, before):
        """{kind: how many more there are}"""
        return {kind: len(now) - len(before.things[kind]) for kind, now in self.things.items()}


def taken(state, servers):
    """`servers`: the process ids of those whose descriptors count. Everything else is what belongs to
    the state directory, but for mounts and links, which are all of this host's."""
    pids = list(state.processes())
    spaces = {(kind, link) for pid in pids for kind in NAMESPACES
              for link in [_link(f"/proc/{pid}/ns/{kind}")] if link}
    descriptors = [re.sub(r"(?<=/ahead/)[0-9a-f]{16}|\[\d+\]|\d+", "", link)
                   for pid in servers for link in _links(f"/proc/{pid}/fd")]
    return Footprint({
        "process": _numbered(_read(f"/proc/{pid}/comm").strip() for pid in pids),
        "namespace": _numbered(kind for kind, _ in spaces),
        "cgroup": set(state.cgroups()),
        "mount": {" ".join(line.split()[3:5]) for line in _read("/proc/self/mountinfo").splitlines()},
        "network link": {line.split(":")[0].strip() for line in _read("/proc/net/dev").splitlines()[2:]},
        "descriptor": _numbered(descriptors),
        "file": _files(state.path) | set(state.strangers()) | state.sockets(),
    }, sum(map(_memory_kb, pids)))


def taken_at_rest(state, servers, timeout=20):
    """Once a quarter of a second has changed nothing: what was begun (a launcher that is prepared) is done."""
    end = time.monotonic() + timeout
    now = taken(state, servers)
    while True:
        time.sleep(0.25)
        before, now = now, taken(state, servers)
        if before.things == now.things:
            return now
        if time.monotonic() > end:
            raise TimeoutError(f"it does not come to rest: {now.changes(before)}")


def changes_that_stay(before, state, servers, timeout=20):
    """As soon as nothing has changed nothing, else what has at the end: the kernel takes apart what
    ended in its own time, and so do servers whose machine somebody else has ended."""
    end = time.monotonic() + timeout
    while True:
        changes = taken(state, servers).changes(before)
        if not changes or time.monotonic() > end:
            return changes
        time.sleep(0.1)
