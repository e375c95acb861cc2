"""A crowd of sessions comes and goes, a few at a time: made, paused, woken, expired, some of them
killed, their homes removed. Afterwards the host is as it was before, everything counted (footprint.py)."""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import time

from footprint import changes_that_stay, taken, taken_at_rest
from mcp_client import Berth, binary_path
from settings import sessions, told
from suite import BACKENDS, ParityTest, backend, local_only

AT_ONCE = 4  # servers
TTL = 60  # seconds, the least that the setting takes
LOOKED_AT = TTL // 8  # by a guest, for whether its time is over
COUNTS = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done"
# What becomes of a session when its server has left. Of a large crowd on a busy host the first would
# expire before the last has come: that is for the servers that wake it.
SLEEPS, STAYS, EXPIRES = (
    {"BERTH_SESSION_ON_DISCONNECT": "now"}, {"BERTH_SESSION_ON_DISCONNECT": "keep"},
    {"BERTH_SESSION_ON_DISCONNECT": "now", "BERTH_SESSION_TTL": f"{TTL}s"})


@dataclasses.dataclass
class Member:
    """A session of the crowd, and what its first server was told of its job."""
    name: str
    settings: dict
    job: str = ""
    cursor: str = ""
    read: str = ""
    left: float = 0.0  # when its server had gone


def at_once(work, members):
    """work(member) for each; the first failure of any is that of all."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, members))


class Crowd(ParityTest):
    """How these tests use sessions. `self.berth` is the server that is there all the time."""

    environment = {**STAYS, "BERTH_SESSION_MAX_PER_PRINCIPAL": "0"}  # all of it is one principal's

    def tool(self, *arguments):
        """`berth ARGUMENTS --json`, with the temporary folder of the state directory."""
        done = subprocess.run([binary_path(BACKENDS[backend()]), *arguments, "--json"], timeout=60,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path),
                                   "TMPDIR": str(self.state.temporary)},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def states(self):
        return {found["session"]: found["state"] for found in self.tool("sessions", "list")}

    @contextlib.contextmanager
    def server_of(self, member):
        server = self.start("--session", member.name, env=member.settings, kind=Berth)
        try:
            yield server
            self.assertEqual(server.close(), 0)
        finally:
            server.__exit__(None, None, None)
        member.left = time.monotonic()

    def use(self, server, tool, **arguments):
        result = server.call_tool(tool, arguments)
        self.assertFalse(result.is_error, result)
        return result.data

    def come(self, member):
        """Its server makes a file and a job, reads what that has printed, and leaves."""
        with self.server_of(member) as server:
            self.use(server, "bash_exec", command=f"mkdir d; cd d; echo {member.name} >f")
            member.job = self.use(server, "bash_exec", command=COUNTS, background=True)["job_id"]
            self.read_on(server, member)

    def read_on(self, server, member):
        """What the job has printed since, which goes on where it had stopped: 1, 2, 3 …"""
        since = {"since": member.cursor} if member.cursor else {}
        data = self.use(server, "bash_output", job_id=member.job, wait=10, **since)
        self.assertEqual(data["status"], "running", data)
        self.assertTrue(data["stdout"], data)
        member.cursor, member.read = data["cursor"], member.read + data["stdout"]
        lines = member.read.split()
        self.assertEqual(lines, [str(n) for n in range(1, len(lines) + 1)], member)

    def sleep(self, member):
        """It is paused: by what it was made with, or because somebody asks."""
        if member.settings is STAYS:
            self.assertTrue(self.tool("sessions", "pause", member.name)["paused"])

    def wake(self, member):
        """By the first call of a new server, which finds everything as it was."""
        with self.server_of(member) as server:
            data = self.use(server, "bash_exec", command="pwd; cat f")
            self.assertEqual(data["stdout"].split("\n"), ["/home/user/d", member.name, ""])
            self.read_on(server, member)

    def work(self):
        """A call of the server that stays, whose machine is then ended: its next call makes one."""
        self.run_command("echo on >f")
        self.tool("sessions", "kill", "work")

    def before(self):
        """What there is once a server has done all of this: what it keeps after that it needs once."""
        for number in range(3):
            self.work()
            member = Member(f"warm-{number}", STAYS)
            self.come(member)
            self.sleep(member)
            self.wake(member)
            self.tool("sessions", "kill", member.name, "--purge")
        self.assertEqual(self.tool("sessions", "gc", "--homes-older-than", "0s")["removed"], ["work"])
        self.wait_until(lambda: not self.state.guests(), 10, "the last machines")
        return taken_at_rest(self.state, [self.berth.pid])

    def changes(self, before):
        return changes_that_stay(before, self.state, [self.berth.pid])


@local_only
class CrowdTest(Crowd):
    def check_height(self, before, members):
        """Everything that is looked for afterwards can be seen while it is there."""
        more = taken(self.state, [self.berth.pid]).more(before)
        self.assertGreaterEqual(more["process"], 3 * len(members), more)  # guest, shell, shim
        self.assertGreaterEqual(more["namespace"], 7 * len(members), more)
        self.assertGreaterEqual(more["file"], 10 * len(members), more)
        return more

    def leave_one_by_one(self, groups):
        """Those who were woken, and some who sleep, are killed; their homes stay or go."""
        for number, member in enumerate(groups["woken"] + groups["killed"]):
            purge = ["--purge"] if number % 2 else []
            self.tool("sessions", "kill", member.name, *purge)
            if number % 5 == 0:
                self.work()

    def states_of(self, names):
        states = self.states()  # once: with many sessions it takes its time
        return {states[name] for name in names}

    def expire(self, members):
        """Not before their time, and all of them soon after."""
        names = {member.name for member in members}
        first = min(member.left for member in members) + TTL
        if time.monotonic() < first - 15:
            self.wait_until(lambda: self.states_of(names) == {"paused"}, 10, "they sleep again")
        time.sleep(max(0, first - 1 - time.monotonic()))
        last = max(member.left for member in members) + TTL
        self.wait_until(lambda: not self.state.guests(), max(0, last - time.monotonic()) + 20 + LOOKED_AT,
                        "they expire")
        self.assertEqual(self.states_of(names), {"ended"})

    def test_a_crowd_comes_and_goes(self):
        before, began = self.before(), time.monotonic()
        groups = {"expiring": [Member(f"expiring-{number}", SLEEPS) for number in range(sessions())]}
        for group in ("woken", "killed"):
            groups[group] = [Member(f"{group}-{number}", (SLEEPS, STAYS)[number % 2])
                             for number in range(max(4, sessions() // 10))]
        at_once(self.come, groups["expiring"])
        others = groups["woken"] + groups["killed"]
        at_once(self.come, others)
        made = time.monotonic()
        at_once(self.sleep, others)
        everybody = groups["expiring"] + others
        count = len(everybody)
        self.wait_until(lambda: list(self.states().values()).count("paused") == count, 30, "all are paused")
        paused = time.monotonic()
        more = self.check_height(before, everybody)
        for member in groups["expiring"]:
            member.settings = EXPIRES
        resumed = groups["expiring"] + groups["woken"]
        at_once(self.wake, resumed)
        woken = time.monotonic()
        self.leave_one_by_one(groups)
        killed = time.monotonic()
        self.expire(groups["expiring"])
        removed = self.tool("sessions", "gc", "--homes-older-than", "0s")["removed"]
        kept = [member.name for member in groups["expiring"] + others[::2]]
        self.assertEqual(sorted(removed), sorted([*kept, "work"]))
        self.assertEqual(self.changes(before), [])
        memory = taken(self.state, [self.berth.pid]).memory_kb
        told(f"{count} sessions made in {made - began:.1f} s, paused in {paused - made:.1f} s, "
             f"{len(resumed)} woken in {woken - paused:.1f} s, killed in {killed - woken:.1f} s, "
             f"{time.monotonic() - began:.1f} s in all; {memory} kB afterwards, {before.memory_kb} kB before; "
             f"while they were there: {more}")


@local_only
class FootprintTest(Crowd):
    """What would be left is told: else the crowd would show nothing."""

    def setUp(self):
        super().setUp()
        self.work()
        self.first = taken_at_rest(self.state, [self.berth.pid])

    def told(self):
        return taken(self.state, [self.berth.pid]).changes(self.first)

    def kinds(self):
        return {line.split(" is left")[0] for line in self.told()}

    def test_files_and_sockets(self):
        folder = self.state.path / "sessions" / "left"
        folder.mkdir()
        self.assertEqual(self.told(), [f"file is left: {folder}"])
        folder.rmdir()
        folder = pathlib.Path("/run/berth") if os.geteuid() == 0 else self.state.path / "sockets"
        path = folder / "left.sock"
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
            self.assertEqual(self.told(), [f"file is left: {path}"])
            path.unlink()
        self.assertEqual(self.changes(self.first), [])

    def test_processes_and_descriptors(self):
        command = ["sh", "-c", "read line", str(self.state.path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            self.wait_until(self.told, 5, "it is seen")
            self.assertEqual(self.told(), ["process is left: sh 1"])
            process.stdin.close()
        mine = taken(self.state, [os.getpid()])
        with open("/dev/full", "rb"):
            self.assertEqual(taken(self.state, [os.getpid()]).changes(mine),
                             ["descriptor is left: /dev/full 1"])
        self.assertEqual(self.changes(self.first), [])

    def test_a_session(self):
        self.run_command("true")
        # The next launcher is prepared only afterwards: until then the machine has that one's namespaces.
        # An ordinary user may not look at those of a guest, which is not dumpable.
        seen = {"process", "file"} | ({"namespace"} if os.geteuid() == 0 else set())
        self.wait_until(lambda: seen <= self.kinds(), 20, "all of it is seen")
        cgroups = self.state.cgroups()
        self.assertEqual("cgroup" in self.kinds(), bool(cgroups))
        self.tool("sessions", "kill", "work")
        self.assertEqual(self.changes(self.first), [])
        for path in cgroups[-1:]:
            os.makedirs(path)  # what was above it may have gone with the last machine
            try:
                self.assertEqual(self.told(), [f"cgroup is left: {path}"])
            finally:
                os.removedirs(path)

    def test_mounts(self):
        """Root has some of its own here (apart.py), and others can leave none."""
        if os.geteuid() == 0:
            place = self.state.temporary
            subprocess.run(["mount", "--bind", place, place], check=True)
            try:
                # A launcher that waits notices it too, and drops its root: not all lines are of the mount.
                self.assertRegex("\n".join(self.told()), rf"(?m)^mount is left: .* {place}$")
            finally:
                subprocess.run(["umount", place], check=True)
        self.assertEqual(self.changes(self.first), [])

    def test_what_no_test_leaves(self):
        for kind in ("mount", "network link"):
            self.assertTrue(self.first.things[kind])
            now = taken(self.state, [self.berth.pid])
            now.things[kind].add("left")
            self.assertEqual(now.changes(self.first), [f"{kind} is left: left"])
            self.assertEqual(self.first.changes(now), [f"{kind} is missing: left"])
        now = taken(self.state, [self.berth.pid])
        now.memory_kb += 2048
        self.assertRegex("\n".join(now.changes(self.first)), r"^memory is left: \d+ kB where there were \d+ kB$")
