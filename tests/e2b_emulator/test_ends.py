#!/usr/bin/env python3
"""Whichever way the emulator ends, nothing is left: no process, no mount, no cgroup, no folder."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import client
import freezer
from case import processes_below
from emulator import FOLDER, Emulator


def cgroups(pid):
    """Of the boxes of that emulator."""
    found = []
    for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, point, kind = line.split()[:3]
        if kind == "cgroup2":
            found += [str(path) for path in pathlib.Path(point).glob(f"e2b-emulator-{pid}-*")]
    return found


def mounts():
    text = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("box ")]


def alive(pids):
    def lives(pid):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        return state.rpartition(")")[2].split()[0] not in "ZX"
    return [pid for pid in pids if lives(pid)]


class EndsTest(unittest.TestCase):
    def busy(self, emulator):
        """The processes of an emulator with a running and a paused box, both with work in them."""
        for paused in (False, True):
            box = client.create(emulator)
            box.run("setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 60; done' >/dev/null 2>&1 </dev/null &")
            if paused:
                client.api(emulator, "POST", f"/sandboxes/{box.id}/pause", {})
        found = processes_below(emulator.process.pid)
        self.assertGreater(len(found), 7)  # a keeper, and three of each box
        self.assertEqual(len(cgroups(emulator.process.pid)), 2 if self.has_cgroups(emulator) else 0)
        return found

    @staticmethod
    def has_cgroups(emulator):
        by_signals = b"--freeze-by-signals" in pathlib.Path(
            f"/proc/{emulator.process.pid}/cmdline").read_bytes()
        made = freezer.make(by_signals)
        made.remove()
        return made.procs is not None

    def nothing_is_left(self, pid, below):
        client.becomes(lambda: not alive(below))
        client.becomes(lambda: not cgroups(pid))
        self.assertEqual(mounts(), [])
        self.assertEqual([name for name in os.listdir(tempfile.gettempdir()) if "e2b-emulator" in name], [])

    def test_by_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            for arguments in ((), ("--freeze-by-signals",)):
                with self.subTest(number=number, arguments=arguments):
                    emulator = Emulator(*arguments)
                    emulator.start()
                    pids = self.busy(emulator)
                    emulator.process.send_signal(number)
                    status = emulator.process.wait(30)
                    emulator.process.stdout.close()
                    self.assertEqual(status, -number if number == signal.SIGKILL else 0)
                    self.nothing_is_left(emulator.process.pid, pids)

    def test_with_whoever_started_it(self):
        script = (f"import sys; sys.path.insert(0, {str(FOLDER)!r})\n"
                  "import os, emulator, client\n"
                  "found = emulator.Emulator(); found.start(); client.create(found)\n"
                  "print(found.process.pid, flush=True); sys.stdin.read()")
        parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        pid = int(parent.stdout.readline())
        pids = [pid, *processes_below(pid)]
        parent.kill()
        parent.communicate()
        self.nothing_is_left(pid, pids)

    def test_when_a_box_is_killed(self):
        with Emulator() as emulator:
            idle = alive(processes_below(emulator.process.pid))
            pids = set(self.busy(emulator)) - set(idle)
            books = emulator.books()
            for box in books["running"] + books["paused"]:
                client.api(emulator, "DELETE", f"/sandboxes/{box}")
            client.becomes(lambda: not alive(pids))
            self.assertEqual(cgroups(emulator.process.pid), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
