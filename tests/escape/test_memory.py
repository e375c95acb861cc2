"""What the guest keeps of a command's environment: nothing, once the command runs. Looked for as root,
who may read everybody's memory."""

import os
import pathlib
import re
import time

from sandbox import EscapeTest

# Short ones lie in other places than long ones: in the object itself, on stacks too.
SECRETS = {"LONG": "correct horse battery staple 4711", "SHORT": "x9Kq27Zw", "HUGE": "0123abcdXYZ" * 9000}
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ")


def memory(pid):
    """(where, bytes) of all that it can read."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="ascii")
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for line in maps.splitlines():
            begin, end, rights = MAPPING.match(line).groups()
            if "r" in rights and "[vvar" not in line and "[vsyscall" not in line:
                file.seek(int(begin, 16))
                yield line, file.read(int(end, 16) - int(begin, 16))


def found(pid):
    """[the secret's name and the mapping] of all that are there."""
    return [(name, line) for line, data in memory(pid) for name, value in SECRETS.items()
            if value[:64].encode() in data]


class MemoryTest(EscapeTest):
    def processes(self, berth):
        """{name: pids} of the session: its guest, the shims, and what commands run."""
        (guest,) = self.state.guests()
        names = {}
        waiting = [guest]
        while waiting:
            pid = waiting.pop()
            names.setdefault(pathlib.Path(f"/proc/{pid}/comm").read_text().strip(), []).append(pid)
            for task in os.listdir(f"/proc/{pid}/task"):
                waiting += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        return names

    def test_no_secret_stays_in_the_guest(self):
        if os.geteuid() != 0:
            return # nobody else may look
        berth = self.start("--secret", "GIVEN=env:WORD", env={"WORD": SECRETS["LONG"]})
        for _ in range(3):
            self.output(berth, "true", env=SECRETS)
        berth.call_tool("bash_exec", {"command": "exec sleep 300", "env": SECRETS, "background": True})
        until = time.monotonic() + 20
        while "sleep" not in (names := self.processes(berth)):
            self.assertLess(time.monotonic(), until, names)
        (sleeper,) = names.pop("sleep")
        self.assertEqual({name for name, _ in found(sleeper)}, set(SECRETS))  # where it is meant to be
        self.assertEqual(len(names), 2, names)
        for name, pids in names.items():
            for pid in pids:
                with self.subTest(name):
                    self.assertEqual(found(pid), [])
