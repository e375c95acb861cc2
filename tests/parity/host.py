"""What this host lets a sandbox have, looked up here and not taken from what berth says of itself: or
the loss of it would go unseen."""

import os


def _words(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().split()
    except OSError:
        return []


def _cgroup_mounts():
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


def proof_of_a_stop(backend):
    """What verifies that all of a command is gone: cgroups wherever they can be made."""
    if backend == "direct":
        return "subreaper"
    if os.geteuid() == 0:
        usable = [point for point, _, _ in _cgroup_mounts()]
    else:  # an ordinary user may make them where its own was delegated
        path = _own_cgroups().get("", "")
        usable = [point + path for point, kind, _ in _cgroup_mounts() if kind == "cgroup2"]
    return "cgroup" if any(os.access(path, os.W_OK) for path in usable) else "subreaper"


def limiting_controllers():
    """Those of memory, pids and cpu of which this user may make cgroups."""
    wanted = {"memory", "pids", "cpu"}
    own = _own_cgroups()
    found = set()
    for point, kind, options in _cgroup_mounts():
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
