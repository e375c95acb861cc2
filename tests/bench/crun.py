#!/usr/bin/env python3
"""A container of crun, what it costs to pause and to wake it: the peer of a session's pause.

usage: crun.py FOLDER PROCESSES      (what Container starts, in a mount namespace of its own)
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

CRUN = "/usr/bin/crun"
NAME = f"berth-bench-{os.getpid()}"
CGROUPS = "/sys/fs/cgroup"
PROCESSES = 'i=1; while [ $i -lt {} ]; do sleep infinity & i=$((i + 1)); done; exec sleep infinity'


class Container:
    """One with so many processes. Throws RuntimeError with the reason where there can be none."""

    def __init__(self, folder, processes):
        self.process = None
        if os.geteuid() != 0:
            raise RuntimeError("only root has containers of crun with a cgroup")
        if not os.path.exists(CRUN):
            raise RuntimeError("there is no crun: apt-get install crun")
        folder.mkdir()
        self.process = subprocess.Popen(
            ["unshare", "--mount", sys.executable, __file__, folder, str(processes)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        if self.process.stdout.readline() != "ready\n":
            self.process.stdin.close()
            raise RuntimeError("crun: " + (self.process.stderr.read().strip() or "no word of why"))

    def pair(self):
        """Seconds of `crun pause` and `crun resume` together."""
        self.process.stdin.write("pair\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def only_cgroup_v2():
    """What crun finds here in its place for cgroups: it refuses v1 and v2 side by side."""
    if not os.path.exists(f"{CGROUPS}/cgroup.controllers"):
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", CGROUPS], check=True)


def write_bundle(folder, processes):
    (folder / "rootfs").mkdir()
    subprocess.run([CRUN, "spec"], cwd=folder, check=True)
    path = folder / "config.json"
    spec = json.loads(path.read_text())
    spec["process"].update(terminal=False, args=["sh", "-c", PROCESSES.format(processes)])
    spec["linux"].pop("resources", None)  # rules of devices would want CAP_SYS_RESOURCE
    spec["mounts"] = [mount for mount in spec["mounts"] if not mount["destination"].startswith("/sys")]
    spec["mounts"] += [{"destination": place, "source": place, "type": "bind", "options": ["rbind", "ro"]}
                       for place in ("/usr", "/bin", "/lib", "/lib64") if os.path.exists(place)]
    path.write_text(json.dumps(spec))


def crun(folder, *arguments):
    """As little around it as can be."""
    pid = os.posix_spawn(CRUN, ["crun", "--root", f"{folder}/root", *arguments], os.environ)
    if os.waitpid(pid, 0)[1] != 0:
        raise RuntimeError(f"crun {' '.join(arguments)} failed")


def wait_for_processes(folder, processes):
    for _ in range(200):
        found = subprocess.run([CRUN, "--root", f"{folder}/root", "ps", NAME], text=True,
                               stdout=subprocess.PIPE, check=True).stdout.count("\n") - 1
        if found == processes:
            return
        time.sleep(0.05)
    raise RuntimeError(f"{found} of {processes} processes came")


def serve(folder, processes):
    only_cgroup_v2()
    write_bundle(folder, processes)
    with open(os.devnull, "r+b") as nothing:  # what the container has for its standard streams
        subprocess.run([CRUN, "--root", f"{folder}/root", "run", "--detach", "--bundle", folder, NAME],
                       stdin=nothing, stdout=nothing, check=True)
    try:
        wait_for_processes(folder, processes)
        print("ready", flush=True)
        for _ in sys.stdin:  # which ends when whoever started this does, however it ends
            began = time.perf_counter()
            crun(folder, "pause", NAME)
            crun(folder, "resume", NAME)
            print(time.perf_counter() - began, flush=True)
    finally:
        crun(folder, "delete", "--force", NAME)
        shutil.rmtree(folder / "root", ignore_errors=True)


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
