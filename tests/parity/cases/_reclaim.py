"""What a session that sleeps gives back to the host, where the kernel takes orders for that: cgroup v2
with the memory controller, as root or in cgroups of one's own. tests/uml.sh has that, and swap, and runs
this; elsewhere it fails."""

import pathlib
import time
import typing

from cases.pausing import Pausing

MEBIBYTE = 1024 * 1024
HELD, FILE = 64 * MEBIBYTE, 32 * MEBIBYTE
GRACE = 60  # seconds, of a session that is back soon

# Random, so that nothing keeps it in less room.
HOLD = f"""
import hashlib, os, time
with open("of_the_job", "wb") as file:
    file.write(os.urandom({FILE}))
held = os.urandom({HELD})
print(hashlib.sha256(held).hexdigest(), flush=True)
while not os.path.exists("woken"):
    time.sleep(0.1)
print(hashlib.sha256(held).hexdigest(), flush=True)
"""


class Memory(typing.NamedTuple):
    """What all commands of a session have, in bytes. `current` has the kernel's own notes too, and not
    what is in swap."""
    current: int
    files: int
    processes: int
    swap: int


class ReclaimTest(Pausing):
    environment = {"BERTH_SESSION_IDLE_PAUSE": "0", "BERTH_SESSION_ON_DISCONNECT": "keep"}

    def setUp(self):
        super().setUp()
        self.output("true")
        found = [path for path in map(pathlib.Path, self.state.cgroups())
                 if (path / "run/memory.reclaim").exists()]
        self.assertEqual(len(found), 1, "this kernel takes no orders, or not from this user")
        (self.cgroup,) = found
        # Without, nothing shows that what must not go there does not.
        self.assertGreater(len(self.read("/proc/swaps")), 1, "there is no swap")

    def read(self, path):
        return (self.cgroup / path).read_text(encoding="ascii").splitlines()

    def memory(self):
        of = dict(line.split() for line in self.read("memory.stat"))
        return Memory(*(int(number) for number in (*self.read("memory.current"), of["file"], of["anon"],
                                                   *self.read("memory.swap.current"))))

    def job_said(self):
        return self.call("bash_output", job_id=self.job, since="0-0").data

    def fill(self):
        """A job that holds memory and has written a file, and a file of a command that has ended: its
        cgroup is gone, as that of most of what a session has read. Nobody syncs them."""
        self.output(f"head -c {FILE} /dev/urandom >of_a_command")
        self.job = self.run_command("exec python3 -", stdin=HOLD, background=True,
                                    timeout=900).data["job_id"]
        self.wait_until(lambda: self.job_said()["stdout"], 60, "the job holds nothing")
        self.held = self.job_said()["stdout"]
        self.sums = self.output("sha256sum of_a_command of_the_job")

    def sleep_until(self, gone):
        """Until that is true of the memory, which it must not be soon."""
        self.assertEqual(self.pause()["mechanism"], "cgroup")
        before = self.memory()
        self.assertGreater(before.files, 2 * FILE - MEBIBYTE)
        self.assertGreater(before.processes, HELD)
        time.sleep(GRACE / 2)
        self.assertGreater(self.memory().current, before.current - MEBIBYTE)
        self.wait_until(lambda: gone(self.memory()), GRACE, f"it keeps what it had: {before}")
        time.sleep(2)  # in which more would go
        self.assertEqual(self.state_of(), "paused")
        return self.memory()

    def is_unharmed(self):
        """The call that wakes it reads from the disk what went, the job from swap."""
        self.assertEqual(self.output("sha256sum of_a_command of_the_job"), self.sums)
        self.assertEqual(self.state_of(), "running")
        self.output("touch woken")
        self.wait_until(lambda: self.job_said()["status"] == "ended", 60, "the job goes on")
        said = self.job_said()
        self.assertEqual((said["fate"], said["exit_code"]), ("exited", 0), said)
        self.assertEqual(said["stdout"], 2 * self.held)

    def test_files_go_and_what_processes_hold_stays(self):
        """Commands have no swap: `local.memory` is all that they may have."""
        self.fill()
        now = self.sleep_until(lambda memory: memory.files < MEBIBYTE)
        self.assertGreater(now.processes, HELD)
        self.assertEqual(now.swap, 0)
        self.assertLess(now.current, now.processes + 8 * MEBIBYTE)
        self.is_unharmed()

    def test_what_may_go_to_swap_goes_too(self):
        """Where the host has allowed it: from outside, as berth does not."""
        self.fill()
        (self.cgroup / "memory.swap.max").write_text("max", encoding="ascii")
        now = self.sleep_until(lambda memory: memory.current < 8 * MEBIBYTE)
        self.assertGreater(now.swap, HELD)
        self.is_unharmed()
