"""The units of packaging/systemd on a real systemd, the system's and that of an ordinary user: whatever
becomes of a server's unit, the session's machine lives on, with its cgroups, and the next server finds
it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "mcp")]

import systemd_host  # noqa: E402
from mcp_client import CLIENT_INFO, MODERN, Berth  # noqa: E402
from state_directory import StateDirectory  # noqa: E402
from systemd_host import Systemd, wait_until  # noqa: E402

BUILD, MESON, PREFIX = (os.environ[name] for name in ("BERTH_BUILD", "BERTH_MESON", "BERTH_PREFIX"))
USER = 65534
RUNTIME = f"/run/user/{USER}"
# What logind and pam_systemd do for a login.
MANAGER = f"""[Service]
Type=notify
User={USER}
Environment=XDG_RUNTIME_DIR={RUNTIME} HOME={RUNTIME}
ExecStartPre=+/usr/bin/install -d -m 700 -o {USER} -g {USER} {RUNTIME}
ExecStart={systemd_host.PROGRAM} --user --unit=basic.target --log-target=null
KillMode=mixed
Delegate=yes
"""
# One that goes on from client to client, with what it is told in a FIFO.
OWN = """[Service]
Environment=BERTH_CONFIG= BERTH_STATE_DIR={state}
ExecStart=/bin/sh -c 'exec {prefix}/bin/berth serve --session default <{state}/requests'
KillMode={kill}
KillSignal=SIGHUP
Delegate={delegate}
"""
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "bash_exec", "arguments": {"command": "echo >>calls"},
    "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN,
              "io.modelcontextprotocol/clientCapabilities": {},
              "io.modelcontextprotocol/clientInfo": CLIENT_INFO}}}
SLOW = 60  # seconds: tests/uml.sh runs this too
TICKS = "while :; do echo >>ticks; sleep 0.1; done"


class UnitTest(unittest.TestCase):
    """Of the system's manager."""

    uid, manager, runtime = 0, (), "/run"

    def setUp(self):
        self.state = StateDirectory()
        self.addCleanup(self.state.__exit__, None, None, None)
        os.chown(self.state.path, self.uid, self.uid)
        installed = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="berth-units-")))
        installed.chmod(0o755)
        subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--skip-subprojects",
                        "--destdir", installed], check=True, capture_output=True, timeout=60)
        self.installed = installed / PREFIX.lstrip("/")
        self.systemd = self.enterContext(Systemd(
            {"berth@.service.d/test.conf": "[Service]\nEnvironment=BERTH_CONFIG= "
                                           f"BERTH_STATE_DIR={self.state.path}\n",
             "manager.service": MANAGER,
             **{f"own-{delegate}.service": OWN.format(state=self.state.path, prefix=PREFIX,
                                                      delegate=delegate, kill=kill)
                for delegate, kill in (("yes", "process"), ("no", "control-group"))}},
            self.installed, PREFIX))
        self.begin()
        self.control("start", "berth.socket")

    def begin(self):
        pass

    def control(self, *arguments, check=True):
        return self.systemd.run(*self.manager, "systemctl", *self.user_flag(), *arguments, check=check)

    def user_flag(self):
        return ["--user"] if self.manager else []

    def connect(self):
        path = self.systemd.root(f"{self.runtime}/berth-mcp.sock")
        berth = Berth(str(HERE / "connect.py"), path, binary=sys.executable, handshake=False)
        self.addCleanup(berth.__exit__, None, None, None)
        self.addCleanup(berth.kill)
        berth.initialize(timeout=SLOW)
        return berth

    def servers(self):
        """{unit: state} of what systemd knows of servers, past ones too."""
        lines = self.control("list-units", "--all", "--plain", "--no-legend", "berth@*").splitlines()
        return {line.split()[0]: line.split()[2] for line in lines}

    def begin_session(self, berth):
        """A job and a file; gives the guest."""
        told = berth.call_tool("bash_exec", {"command": TICKS, "background": True})
        self.assertFalse(told.is_error, told)
        (guest,) = self.state.guests()
        return guest

    def ticks(self, berth):
        return int(berth.call_tool("bash_exec", {"command": "stat -c %s ticks"}).text)

    def check_goes_on(self, guest):
        """A new client finds the machine as it was, with its job, and commands have their cgroups."""
        berth = self.connect()
        first = self.ticks(berth)
        wait_until(lambda: self.ticks(berth) > first, "the job goes on")
        self.assertEqual(self.state.guests(), [guest])
        told = berth.call_tool("bash_exec", {"command": "sleep 300 & sleep 300", "timeout": 1}).data
        self.assertEqual((told["fate"], told["survivors"], told["stop_verified_by"]),
                         ("timed_out", 0, "cgroup"))
        return berth

    def cgroup_of(self, pid):
        (line,) = [line for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
                   if line.startswith("0::")]
        return line[3:]

    def test_a_machine_is_below_its_unit_and_outlives_it(self):
        berth = self.connect()
        guest = self.begin_session(berth)
        (unit,) = self.servers()
        self.assertRegex(self.cgroup_of(guest), f"/{unit}/berth/[^/]+/guest$")
        info = berth.call_tool("session_info")
        layers = {layer["name"]: layer["in_force"] for layer in info.data["layers"]}
        for name in ("cgroup-memory", "cgroup-pids", "cgroup-cpu"):
            self.assertEqual(layers[name], self.systemd.has_controllers, info.text)
        self.assertEqual(berth.close(SLOW), 0)
        wait_until(lambda: self.servers().get(unit) != "active", "its server has ended")
        self.check_goes_on(guest).close(SLOW)

    def test_a_server_that_is_killed(self):
        berth = self.connect()
        guest = self.begin_session(berth)
        berth.call_async("bash_exec", {"command": "sleep 1; echo ended; exit 3"})
        berth.call_tool("bash_exec", {"command": "true"})
        self.control("kill", "--signal=KILL", "--kill-who=main", *self.servers())
        self.assertEqual(berth.wait(SLOW), 0)
        told = self.connect().call_tool("bash_exec", {"command": "true"}).notices
        self.assertRegex("\n".join(told), "job")
        self.check_goes_on(guest)

    def test_units_that_are_stopped_and_restarted(self):
        berth = self.connect()
        guest = self.begin_session(berth)
        for verb, unit in (("stop", "berth@*"), ("restart", "berth.socket"), ("stop", "berth.socket")):
            with self.subTest(verb, unit=unit):
                self.control(verb, unit)
                self.control("start", "berth.socket")
                berth.close(SLOW)
                berth = self.check_goes_on(guest)
        self.assertNotIn("failed", self.servers().values())

    def check_own(self, delegate):
        """Whether such a unit of one's own can be restarted while a machine lives that it has made."""
        unit = f"own-{delegate}.service"
        fifo = self.state.path / "requests"
        os.mkfifo(fifo)
        os.chown(fifo, self.uid, self.uid)
        with open(fifo, "r+b", buffering=0) as requests:
            self.control("start", unit)
            requests.write(json.dumps(CALL).encode() + b"\n")
            wait_until(self.state.guests, "a machine")
            berth = self.connect()
            guest = self.begin_session(berth)
            below = f"/{unit}/" in self.cgroup_of(guest)
            self.assertEqual(below, delegate == "yes")
            self.control("restart", unit, check=False)
            state = self.control("show", "-P", "ActiveState", "-P", "ExecMainStatus", unit).split()
            self.assertEqual(sorted(state), ["219", "failed"] if below and self.systemd.has_controllers
                             else ["0", "active"])
            berth.close(SLOW)
            self.check_goes_on(guest)

    def test_a_unit_of_one_s_own_that_is_restarted(self):
        """With limits, what has processes below it gets none itself: a stated limit."""
        self.check_own("yes")

    def test_a_unit_of_one_s_own_without_a_delegated_cgroup(self):
        self.check_own("no")

    def test_systemd_itself_is_reloaded_and_started_anew(self):
        berth = self.connect()
        guest = self.begin_session(berth)
        self.control("daemon-reload")
        self.control("daemon-reexec")
        self.assertEqual(self.ticks(berth) > 0, True)
        berth.close(SLOW)
        self.check_goes_on(guest)

    def test_programs_that_are_replaced_while_a_machine_lives(self):
        berth = self.connect()
        guest = self.begin_session(berth)
        for path in (self.installed / "bin/berth", self.installed / "libexec/berth/berth-guest",
                     self.installed / "libexec/berth/berth-launcher"):
            fresh = path.with_suffix(".dpkg-new")  # as a package manager does
            shutil.copy(path, fresh)
            os.replace(fresh, path)
        berth.close(SLOW)
        self.check_goes_on(guest)

    def test_nothing_is_left_of_a_session_that_is_purged(self):
        for _ in range(2):
            self.begin_session(self.connect())
            self.control("stop", "berth@*")
            guest = self.state.guests()[0]
            self.check_goes_on(guest).close(SLOW)  # whose unit is another one
            self.systemd.run(*self.manager, "env", f"BERTH_STATE_DIR={self.state.path}",
                             f"{PREFIX}/bin/berth", "sessions", "kill", "default", "--purge")
            wait_until(lambda: not self.servers(), "systemd has forgotten the servers")
            self.assertEqual(self.state.wait_for_no_leaks(), [])
            wait_until(lambda: not self.cgroups_of_servers(), self.cgroups_of_servers())

    def cgroups_of_servers(self):
        """Also of those that systemd does not know any more."""
        return [path for slice_ in self.systemd.cgroup.rglob("*-berth.slice")
                for path in slice_.rglob("berth*")]


class UserUnitTest(UnitTest):
    """Of an ordinary user's manager."""

    uid, runtime = USER, RUNTIME
    manager = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups",
               "env", f"XDG_RUNTIME_DIR={RUNTIME}")

    def begin(self):
        self.systemd.run("systemctl", "start", "manager.service")

    # Whose cgroups are below what is delegated to it, or nowhere.
    test_a_unit_of_one_s_own_without_a_delegated_cgroup = None

    def test_a_logout_ends_the_machine_and_keeps_the_home(self):
        """Without lingering, the last logout stops the user's manager, with all that it started."""
        guest = self.begin_session(self.connect())
        self.systemd.run("systemctl", "stop", "manager.service")
        wait_until(lambda: not self.state.guests(), "the machine has ended")
        wait_until(lambda: not os.path.exists(f"/proc/{guest}"), "somebody has waited for the guest")
        self.systemd.run("systemctl", "start", "manager.service")
        self.control("start", "berth.socket")
        told = self.connect().call_tool("bash_exec", {"command": "test -s ticks && echo kept"})
        self.assertEqual((told.data["exit_code"], len(told.notices)), (0, 1), told)
        self.assertIn("the sandbox was lost", told.notices[0])


if __name__ == "__main__":
    if not systemd_host.is_possible():
        print("skipped: only root can start systemd, where it is installed and cgroup v2 is mounted")
        sys.exit(77)
    unittest.main(verbosity=2)
