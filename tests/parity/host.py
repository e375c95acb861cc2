"""What this host lets a sandbox have, looked up here and not taken from what berth says of itself: or
the loss of it would go unseen."""

import contextlib
import os
import secrets


def _words(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().split()
    except OSError:
        return []


def cgroup_mounts():
    """(mount point, "cgroup" or "cgroup2", its options) of each hierarchy."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        found = [line.split()[1:4] for line in file]
    return [(point, kind, options.split(",")) for point, kind, options in found
            if kind in ("cgroup", "cgroup2")]


def _own_cgroups():
    """{controllers as the kernel lists them, "" for v2: the path of this process's cgroup}"""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        return {line.split(":", 2)[1]: line.strip().split(":", 2)[2] for line in file}


def _own_directory(point, path):
    return point + path if os.path.isdir(point + path) else point


def _has_v2():
    """A cgroup of v2 that berth may make others in."""
    mounts = [point for point, kind, _ in cgroup_mounts() if kind == "cgroup2"]
    # An ordinary user may make them where its own was delegated.
    path = "" if os.geteuid() == 0 else _own_cgroups().get("", "")
    return any(os.access(point + path, os.W_OK) for point in mounts)


def proof_of_a_stop(backend):
    """What verifies that all of a command is gone: cgroups wherever they can be made."""
    return "cgroup" if backend == "local" and _has_v2() else "subreaper"


def best_freezer(backend):
    """What berth should pause a session by."""
    if backend != "local":
        return "signals" if backend == "direct" else "microvm"
    if _has_v2():
        return "cgroup"
    v1 = [point for point, kind, options in cgroup_mounts()
          if kind == "cgroup" and "freezer" in options and os.access(point, os.W_OK)]
    return "cgroup-v1" if v1 else "signals"


@contextlib.contextmanager
def delegated(uid):
    """A cgroup of that user in each hierarchy that berth can use; gives their folders. The user's
    programs go into cgroups below: with v2 only those may have processes and none below."""
    folders = []
    name = secrets.token_hex(4)  # process ids are not of the whole host (apart.py)
    try:
        for point, kind, options in cgroup_mounts():
            if kind == "cgroup2" or {"memory", "pids", "cpu"}.intersection(options):
                folders.append(f"{point}/berth-test-{name}")
                for folder in (folders[-1], folders[-1] + "/runner"):
                    os.mkdir(folder)
                    _give(folder, uid)
        yield folders
    finally:
        for folder in folders:
            for path, _, _ in os.walk(folder, topdown=False):
                os.rmdir(path)


def _give(folder, uid):
    above = os.path.dirname(folder)
    if "memory" in _words(above + "/cgroup.controllers"):
        with open(above + "/cgroup.subtree_control", "w", encoding="ascii") as control:
            control.write("+memory +pids +cpu")
    for name in ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "tasks"):
        with contextlib.suppress(FileNotFoundError):
            os.chown(os.path.join(folder, name), uid, uid)


def entering(name, folders, command):
    """The command line that runs `command` in the cgroup of that name below each folder."""
    if not folders:
        return command
    return ["sh", "-ec", 'name=$1 n=$2; shift 2; while [ $n -gt 0 ]; do mkdir -p "$1/$name"; '
            'echo $$ >"$1/$name/cgroup.procs"; shift; n=$((n - 1)); done; exec "$@"', "sh", name,
            str(len(folders)), *folders, *command]


def limiting_controllers():
    """Those of memory, pids and cpu of which this user may make cgroups."""
    wanted = {"memory", "pids", "cpu"}
    own = _own_cgroups()
    found = set()
    for point, kind, options in cgroup_mounts():
        if kind == "cgroup2":
            path = point if os.geteuid() == 0 else _own_directory(point, own.get("", "/"))
            there = set(_words(path + "/cgroup.controllers"))
            # With less than all three berth leaves it, and looks at v1.
            if wanted <= there and os.access(path, os.W_OK):
                return wanted
        else:
            for controllers, path in own.items():
                named = wanted.intersection(controllers.split(","), options)
                if named and os.access(_own_directory(point, path), os.W_OK):
                    found |= named
    return found
