"""What a machine outlives: the rows of docs/sessions.md that need nothing but signals. The others are in
tests/systemd, tests/container, tests/packaging and tests/crash."""

import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import sys

from state_directory import CGROUP_ROOT, SLOT
from suite import BACKENDS, CheckedBerth, ParityTest, backend, binary_path, own_environment

TICKS = "while :; do echo >>ticks; sleep 0.1; done"
# As what a terminal starts: the first of a session of its own that has it.
TAKE_TERMINAL = ("import fcntl, os, sys, termios; fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0);"
                 "os.execv(sys.argv[2], sys.argv[2:])")


def session_of(pid):
    """Its POSIX session (setsid), and nothing once it has ended."""
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[3])
    return None


def tells_thread_address():
    """Without which a launcher becomes no guest, so that there is nothing to make ahead: a kernel that
    has no CONFIG_CHECKPOINT_RESTORE."""
    get_tid_address = 40
    return ctypes.CDLL(None).prctl(get_tid_address, ctypes.byref(ctypes.c_void_p()), 0, 0, 0) == 0


def helpers_of(pid):
    """{pid: name} of the processes that a server has for the machines to come. A guest, which outlives it,
    is below it until the launcher that has made it has ended, which may be after its first answer."""
    parents, names = {}, {}
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            if not fields["State"].startswith("Z"):
                parents[int(fields["Pid"])], names[int(fields["Pid"])] = int(fields["PPid"]), fields["Name"]
    below = {child for child, parent in parents.items() if parent == pid}
    below |= {child for child, parent in parents.items() if parent in below}
    return {child: names[child] for child in below if names[child].startswith("berth-") and names[child] != "berth-guest"}


def is_there(pid, name):
    """Not when it has ended and only waits to be reaped, or is another by now."""
    with contextlib.suppress(OSError):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return status.startswith(f"Name:\t{name}\n") and "\nState:\tZ" not in status
    return False


def slots_of(pids):
    """What the cgroups are called that those processes have been given ahead."""
    names = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            names.update(SLOT.findall(pathlib.Path(f"/proc/{pid}/cgroup").read_text()))
    return names


def are_there(slots):
    return any(f"/berth/{name}" in slots for folder, below, _ in os.walk(CGROUP_ROOT) if folder.endswith("/berth")
               for name in below)


class SurvivalTest(ParityTest):
    lease = 4

    def setUp(self):
        super().setUp()
        self.berth.close()

    def begin(self, server):
        """A job, and a command in the foreground."""
        server.call_tool("bash_exec", {"command": TICKS, "background": True})
        call = server.call_async("bash_exec", {"command": "echo begun >f; sleep 2; echo ended; exit 3"})
        self.wait_until(lambda: "f" in server.call_tool("bash_exec", {"command": "ls"}).data["stdout"],
                        20, "the command began")
        self.guests = sorted(self.living_guests())
        return call

    def check_goes_on(self, is_killed=False):
        """The job runs, and the command's outcome is told, once, and can be read. Of a server that was
        killed a machine may hear nothing before its lease is over."""
        late = is_killed and backend() == "e2b"
        if is_killed:
            self.wait_for_its_lease(running=2)
        self.berth = self.start("--session", "work")
        notices = self.run_command("true").notices
        first = int(self.output("stat -c %s ticks"))
        self.wait_until(lambda: int(self.output("stat -c %s ticks")) > first, 20, "the job goes on")
        self.assertEqual(sorted(self.living_guests()), self.guests)
        jobs = self.call("session_info").data["ended_jobs" if late else "jobs"]
        (job,) = [job["job_id"] for job in jobs if "echo ended" in job["command"]]
        self.wait_until(lambda: self.call("bash_output", job_id=job).data["status"] == "ended", 20,
                        "the command ends")
        self.assertEqual(self.call("bash_output", job_id=job, since="0-0").data["stdout"], "ended\n")
        self.assertIn(job, "\n".join([*notices, *self.run_command("true").notices]))

    def test_the_client_s_process_group_is_killed(self):
        server = self.start("--session", "work")
        self.begin(server)
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        self.check_goes_on(is_killed=True)

    def test_all_of_the_login_s_session_is_killed(self):
        server = self.start("--session", "work")
        self.begin(server)
        mine = [pid for pid in self.state.processes() if session_of(pid) == server.pid]
        self.assertIn(server.pid, mine)
        for pid in mine:
            os.kill(pid, signal.SIGKILL)
        server.wait()
        self.check_goes_on(is_killed=True)

    def folders_ahead(self):
        """Of the sessions to come."""
        return list(self.state.path.glob("ahead/*"))

    def test_what_it_has_for_machines_to_come_ends_with_it(self):
        wanted = {"berth-zygote", "berth-launcher"} if backend() == "local" else set()
        if wanted and os.geteuid() == 0:
            wanted |= {"berth-root", "berth-ahead"} if tells_thread_address() else {"berth-root"}
        for how in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how=how.name):
                server = self.start("--session", how.name)  # one that has no machine yet
                server.call_tool("bash_exec", {"command": "true"})
                self.wait_until(lambda: set(helpers_of(server.pid).values()) >= wanted, 20, "they are there")
                self.wait_until(lambda: self.folders_ahead() or not wanted, 20, "so is the folder")
                if "berth-ahead" in wanted and self.state.cgroups():
                    self.wait_until(lambda: slots_of(helpers_of(server.pid)), 20, "so are the cgroups")
                helpers = helpers_of(server.pid)
                slots = slots_of(helpers)
                self.assertEqual(are_there(slots), bool(slots))
                server.signal(how)
                server.wait()
                # Of one that was killed the next one that clears up removes it.
                self.assertTrue(how == signal.SIGKILL or not self.folders_ahead())
                self.wait_until(lambda: not any(is_there(*each) for each in helpers.items()), 20,
                                f"{helpers} have ended")
                self.wait_until(lambda: not are_there(slots), 20, f"{slots} are removed")

    def test_the_terminal_is_closed(self):
        master, terminal = os.openpty()
        server = CheckedBerth("-c", TAKE_TERMINAL, str(terminal), binary_path(BACKENDS[backend()]),
                              "--session", "work", "--structured-content", state=self.state,
                              binary=sys.executable, pass_fds=(terminal,), env=own_environment())
        self.addCleanup(server.__exit__, None, None, None)
        os.close(terminal)
        self.assertEqual(session_of(server.pid), server.pid)
        call = self.begin(server)
        self.assertEqual(os.tcgetpgrp(master), server.pid)  # in front, on that terminal
        os.close(master)
        self.assertEqual(server.wait(), 0)
        self.assertIn("goes on as a job", call.result(1).text)
        self.check_goes_on()

    def test_a_hang_up_of_a_server_without_a_terminal(self):
        server = self.start("--session", "work")
        call = self.begin(server)
        server.signal(signal.SIGHUP)
        self.assertEqual(server.wait(), 0)
        self.assertIn("goes on as a job", call.result(1).text)
        self.check_goes_on()

    def test_a_connection_ends_with_its_server_whoever_else_has_it(self):
        """As systemd has that of a unit that it stops."""
        mine, given = socket.socketpair()
        with mine, given:
            mine.settimeout(20)
            server = subprocess.Popen([binary_path(BACKENDS[backend()]), "--session", "work"], stdin=given,
                                      stdout=given, stderr=subprocess.DEVNULL,
                                      env={**os.environ, **own_environment(),
                                           "BERTH_STATE_DIR": str(self.state.path)})
            self.addCleanup(lambda: (server.kill(), server.wait()))
            mine.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            self.assertIn(b'"id":1', mine.recv(1 << 16))
            server.send_signal(signal.SIGHUP)
            self.assertEqual(server.wait(20), 0)
            self.assertEqual(mine.recv(1), b"")
