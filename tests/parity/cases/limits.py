"""The limits of a session: in force wherever this host can bring them, and else said not to be."""

import os
import re
import time

from host import limiting_controllers
from suite import ParityTest, local_only

MEBIBYTE = 1024 * 1024
MEMORY, PIDS, CPUS, NOFILE = 64 * MEBIBYTE, 100, 0.5, 300
# Each file of a cgroup that limits: (the controller, what it must hold) by its name.
LIMITS = {
    "cmds": {"memory.limit_in_bytes": ("memory", str(MEMORY)), "memory.max": ("memory", str(MEMORY)),
             "memory.kmem.tcp.limit_in_bytes": ("memory", str(MEMORY)), "pids.max": ("pids", str(PIDS)),
             "cpu.cfs_quota_us": ("cpu", "50000"), "cpu.max": ("cpu", "50000 100000")},
    # Small, so that what fools the guest takes no memory of the host; all calls wait for it, so it
    # has a whole processor.
    "guest": {"memory.limit_in_bytes": ("memory", str(256 * MEBIBYTE)),
              "memory.max": ("memory", str(256 * MEBIBYTE)),
              "cpu.cfs_quota_us": ("cpu", "100000"), "cpu.max": ("cpu", "100000 100000")},
}
COUNT_PROCESSES = r"""
import os, signal
children = []
try:
    while len(children) < 1000:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except BlockingIOError:
    print(len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
"""
HOLD_PROCESSES = r"""
import os, signal, time
children = []
try:
    while True:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except BlockingIOError:
    for _ in range(%d):
        os.kill(children[-1], signal.SIGKILL)
        os.waitpid(children.pop(), 0)
print("held", flush=True)
time.sleep(600)
"""
COUNT_FILES = r"""
import errno, os
opened = 0
try:
    while opened < 10_000:
        os.open("/dev/null", os.O_RDONLY)
        opened += 1
except OSError as error:
    print(errno.errorcode[error.errno], opened + 3)
"""
BURN = r"""
import os, time
for _ in range(2):
    if os.fork() == 0:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            pass
        os._exit(0)
for _ in range(2):
    os.wait()
times = os.times()
print(times.children_user + times.children_system)
"""


@local_only
class LimitsTest(ParityTest):
    environment = {"BERTH_LOCAL_MEMORY": str(MEMORY), "BERTH_LOCAL_PIDS": str(PIDS),
                   "BERTH_LOCAL_CPUS": str(CPUS), "BERTH_LOCAL_NOFILE": str(NOFILE)}

    def python(self, program):
        return self.output("python3 -", stdin=program, timeout=60)

    def test_what_is_in_force_is_told(self):
        self.output("true")
        info = self.call("session_info")
        layers = {layer["name"]: layer["in_force"] for layer in info.data["layers"]}
        brought = limiting_controllers()
        for controller in ("memory", "pids", "cpu"):
            self.assertEqual(layers[f"cgroup-{controller}"], controller in brought, info.text)
        limits = info.data["limits"]
        self.assertEqual((limits["memory_bytes"], limits["pids"], limits["cpus"],
                          limits["open_files"]), (MEMORY, PIDS, CPUS, NOFILE))
        self.assertEqual(set(limits["not_enforced"]),
                         {name for name, controller in (("memory_bytes", "memory"), ("cpus", "cpu"))
                          if controller not in brought})

    def test_the_cgroups_have_them(self):
        self.output("true")
        found = {name: set() for name in LIMITS}
        for path in self.state.cgroups():
            for file, (controller, wanted) in LIMITS.get(os.path.basename(path), {}).items():
                if os.path.exists(os.path.join(path, file)):
                    with open(os.path.join(path, file), encoding="ascii") as limit:
                        self.assertEqual(limit.read().strip(), wanted, f"{path}/{file}")
                    found[os.path.basename(path)].add(controller)
        self.assertLessEqual(limiting_controllers(), found["cmds"])
        self.assertLessEqual(limiting_controllers() - {"pids"}, found["guest"])

    def test_out_of_memory(self):
        self.output("true")
        uptime = self.call("session_info").data["uptime_ms"]
        data = self.run_command(f"exec python3 -c 'x = bytearray({4 * MEMORY})'").data
        limited = "memory" in limiting_controllers()
        self.assertEqual((data["fate"], data["exit_code"]),
                         ("oom_killed", 137) if limited else ("exited", 0), data)
        # The guest is the same, and works.
        self.assertGreater(self.call("session_info").data["uptime_ms"], uptime)
        self.assertEqual(self.output("echo alive"), "alive\n")

    def test_processes(self):
        """With cgroups and without: then the kernel counts those of the user in the sandbox."""
        told = self.run_command("python3 -", stdin=COUNT_PROCESSES, timeout=60)
        started = int(told.data["stdout"])
        self.assertLess(started, PIDS)
        self.assertGreater(started, PIDS - 20)
        if "pids" in limiting_controllers():
            self.assertGreater(told.data["pids_hit"]["count"], 0)
            self.assertIn(f"the limit of {PIDS} processes (local.pids) was reached", told.text)
        else:
            self.assertNotIn("pids_hit", told.data)
        self.assertNotIn("pids_hit", self.run_command("true").data)

    def test_a_job_with_all_the_processes_is_stopped_for_the_next_command(self):
        """With cgroups and without. A shell and the process that starts it find room in the cgroup,
        but no command of theirs: bash would try for 15 s, and give up."""
        free = 2 if "pids" in limiting_controllers() else 0
        job = self.run_command("python3 -", stdin=HOLD_PROCESSES % free, background=True).data
        self.wait_until(lambda: "held" in self.call("bash_output", job_id=job["job_id"]).text, 20,
                        "the job has all processes")
        began = time.monotonic()
        told = self.run_command("echo ok; ps -e | wc -l", timeout=30)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(told.data["exit_code"], 0, told.text)
        self.assertRegex(told.data["stdout"], r"^ok\n\d+\n$")
        self.assertRegex(told.text, re.escape(job["job_id"]) + r" \(python3 -\) had \d+ processes, "
                                    "and none was left for this command: it was stopped")
        self.assertEqual(self.call("session_info").data["jobs"], [])

    def test_open_files(self):
        self.assertEqual(self.output("ulimit -Sn; ulimit -Hn"), f"{NOFILE}\n{NOFILE}\n")
        self.assertEqual(self.python(COUNT_FILES), f"EMFILE {NOFILE}\n")

    def burn(self):
        told = self.run_command("python3 -", stdin=BURN, timeout=60)
        used = float(told.data["stdout"])  # in 1.5 s
        self.assertGreater(used, 0)
        return told, used

    def test_processor_time(self):
        told, used = self.burn()
        if "cpu" not in limiting_controllers():
            self.assertNotIn("cpu_throttled", told.data)
            return
        for _ in range(4):  # who has to share a busy machine does not come to the limit often enough
            if told.data.get("cpu_throttled", {}).get("throttled_periods", 0) >= 10:
                break
            told, used = self.burn()
        self.assertLess(used, 1.5 * CPUS + 0.25)
        throttled = told.data["cpu_throttled"]
        self.assertGreater(throttled["throttled_periods"], 4)
        self.assertGreaterEqual(throttled["periods"], throttled["throttled_periods"])
        self.assertGreater(throttled["throttled_ms"], 0)
        self.assertRegex(told.text, r"slowed by the session's limit of processor time \(local.cpus\)")
        # The next command may begin in the period that this one has used up.
        self.wait_until(lambda: "cpu_throttled" not in self.run_command("true").data, 10,
                        "a command that takes nothing is not slowed")
