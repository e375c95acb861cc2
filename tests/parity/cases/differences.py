"""What differs between `local` and `e2b`, looked at by the same commands on both: the table in
docs/backends.md. Where one of them is not as it says there, a case fails."""

import os
import pathlib
import shutil
import sys
import tempfile
import time

import e2b
from suite import ParityTest, backend, sandboxes_only

sys.path.append(os.path.dirname(e2b.__file__) + "/../e2b_emulator")
from client import Box, api  # noqa: E402

# Seizes the process that its argument names, and says whether it could.
TRACE = r"""
import ctypes, os, sys
seize, detach = 0x4206, 17
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
child = 0
if sys.argv[1] == "child":
    child = os.fork()
    if child == 0:
        os.execvp("sleep", ["sleep", "60"])
pid = child or int(sys.argv[1])
print("traced" if libc.ptrace(seize, pid, 0, 0) == 0 else "refused")
if child:
    os.kill(child, 9)
"""
ADD_KEY = r"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
of_the_process = -2
failed = libc.syscall({"x86_64": 248, "aarch64": 217}[__import__("os").uname().machine], b"user",
                      b"berth", b"key", 3, of_the_process) < 0
print(errno.errorcode[ctypes.get_errno()] if failed else "done")
"""


def status_of(text):
    """Of a file /proc/PID/status."""
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


class Differing(ParityTest):
    def differs(self, found, local, e2b):
        self.assertEqual(found, {"local": local, "e2b": e2b}[backend()])

    @staticmethod
    def run_as_root(command):
        """In the one box, as its template's maker may."""
        (box,) = e2b.boxes()
        said = api(e2b.emulator(), "POST", f"/v2/sandboxes/{box}/connect", {"timeout": 300})
        return Box(e2b.emulator(), said.json).run(command, user="root")

    def offer_root(self):
        """A program that has its caller's command run as root, as sudo does: of the template there,
        here of the host, mounted."""
        if backend() == "e2b":
            self.output("true")
            self.run_as_root("install -m 4755 /usr/bin/env /usr/local/bin/as-root")
            return "/usr/local/bin/as-root"
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="berth-root-")))
        folder.chmod(0o755)
        shutil.copy("/usr/bin/env", folder / "as-root")
        (folder / "as-root").chmod(0o4755)
        self.berth.close()
        self.berth = self.start("--session", "rooted", "--mount", f"{folder}:/mnt/root")
        return "/mnt/root/as-root"


@sandboxes_only
class DifferencesTest(Differing):
    def test_what_it_is(self):
        self.output("true")
        info = self.call("session_info").data
        layers = {layer["name"] for layer in info["layers"] if layer["in_force"]}
        self.assertEqual(info["backend"], backend())
        self.differs("microvm" in layers, local=False, e2b=True)
        self.differs({"userns", "pidns", "seccomp"} <= layers, local=True, e2b=False)

    def test_who_becomes_root(self):
        as_root = self.offer_root()
        self.differs(self.output(f"stat -c %a {as_root}; {as_root} id -u"),
                     local="4755\n1000\n", e2b="4755\n0\n")
        written = self.run_command(f"{as_root} touch /usr/local/bin/installed")
        self.differs(written.data["exit_code"] == 0, local=False, e2b=True)

    def test_no_wall_of_berth_s_own_is_around_a_command(self):
        """There: what this host's own processes have, the emulator's too."""
        own = status_of(pathlib.Path("/proc/self/status").read_text(encoding="ascii"))
        found = status_of(self.output("cat /proc/self/status"))
        for name, here in (("NoNewPrivs", "1"), ("Seccomp", "2")):
            with self.subTest(name):
                self.differs(found[name], local=here, e2b=own[name])
        self.differs(int(found["CapBnd"], 16) == 0, local=True, e2b=False)
        self.assertEqual(int(found["CapEff"], 16), 0)  # on both

    def test_system_calls(self):
        self.differs(self.run_command("unshare --user true").data["exit_code"] == 0, local=False, e2b=True)
        self.differs(self.output("python3 -", stdin=ADD_KEY), local="EPERM\n", e2b="done\n")

    def test_ptrace(self):
        as_root = self.offer_root()
        self.call("write_file", path="trace.py", content=TRACE)
        self.assertEqual(self.output("python3 trace.py child"), "traced\n")
        guest = "1" if backend() == "local" else self.output("pgrep -xo berth-resident").strip()
        self.assertEqual(self.output(f"python3 trace.py {guest}"), "refused\n")
        self.differs(self.output(f"{as_root} python3 trace.py {guest}"), local="refused\n", e2b="traced\n")

    def test_processes_that_can_be_seen(self):
        owners = self.output("cat /proc/[0-9]*/status 2>/dev/null | awk '/^Uid:/ {print $2}' | sort -nu")
        self.differs(owners.split(), local=["1000"], e2b=["0", "1000"])
        self.differs(self.output("cat /proc/1/comm") == "berth-guest\n", local=True, e2b=False)

    def test_signals_to_the_first_process(self):
        self.output("true")
        guests = self.living_guests()
        self.differs(self.output("kill -9 1 2>/dev/null && echo sent || echo refused"),
                     local="sent\n", e2b="refused\n")
        self.output("true")
        self.assertEqual(self.living_guests(), guests)

    def test_sudo_and_apt(self):
        """Which say what to do instead here, and are the template's there."""
        self.offer_root()
        if backend() == "e2b":
            self.run_as_root("install -m 4755 /usr/bin/env /usr/local/bin/sudo;"
                             "printf '#!/bin/sh\\necho of the template\\n' >/usr/local/bin/apt-get;"
                             "chmod 755 /usr/local/bin/apt-get")
        sudo, apt = (self.run_command(command).data for command in ("sudo id -u", "apt-get install x"))
        self.differs((sudo["exit_code"] == 0, sudo["stdout"]), local=(False, ""), e2b=(True, "0\n"))
        self.differs(apt["stdout"], local="", e2b="of the template\n")
        self.differs("pip, npm or cargo" in apt["stderr"], local=True, e2b=False)

    def test_names(self):
        self.assertEqual(self.output("id -un; id -u; pwd"), "user\n1000\n/home/user\n")
        self.differs(self.output("hostname") == "berth\n", local=True, e2b=False)
        users = self.output("cut -d: -f1 /etc/passwd").split()
        self.differs(users == ["root", "user", "nobody"], local=True, e2b=False)

    def test_what_a_fresh_home_has(self):
        skeleton = self.output("ls -A /etc/skel 2>/dev/null; true")
        self.differs(self.output("ls -A"), local="", e2b=skeleton)
        self.assertEqual(self.output("ls"), "")

    def test_what_the_kernel_tells(self):
        self.differs(self.output("test -d /sys/kernel && echo there; true"), local="", e2b="there\n")
        self.differs(self.output("head -c 1 /proc/kallsyms | wc -c"), local="0\n", e2b="1\n")

    def test_what_is_outside_of_the_home_when_a_machine_ends(self):
        self.output("echo kept | tee ~/file /tmp/file /var/tmp/file")
        if backend() == "e2b":
            self.run_as_root("echo kept >/usr/local/lib/installed")
        self.command_line("sessions", "kill", "work")
        found = self.output("cat ~/file; cat /tmp/file /var/tmp/file /usr/local/lib/installed 2>/dev/null; true")
        self.differs(found, local="kept\n", e2b="kept\n" * 4)

    def test_where_a_home_is(self):
        self.output("echo kept >file")
        self.command_line("sessions", "kill", "work")
        (listed,) = self.sessions()
        here = pathlib.Path(listed.get("home") or "/nowhere") / "file"
        self.differs(here.exists(), local=True, e2b=False)

    def test_a_guest_that_died_is_noticed(self):
        """There by the next call alone: to look wakes and asks nothing."""
        self.output("true")
        for guest in self.living_guests():
            os.kill(guest, 9)
        self.wait_until(lambda: not self.living_guests(), 10, "its end")
        if backend() == "local":
            self.wait_until(lambda: self.sessions()[0]["state"] != "running", 10, "it is noticed")
        self.differs(self.sessions()[0]["state"], local="lost", e2b="running")
        told = self.berth.call_tool("bash_exec", {"command": "true"})
        self.assertTrue(told.is_error or told.notices, told)

    def test_what_it_takes(self):
        none = {"E2B_API_KEY": ""}
        there = self.start("--session", "other", env=none).call_tool("bash_exec", {"command": "true"})
        self.differs((there.error or {}).get("code"), local=None, e2b="authentication_required")

    def test_the_time_of_a_server_that_asks_for_less(self):
        self.berth.close()
        self.berth = self.start("--session", "work", env={"BERTH_SESSION_IDLE_PAUSE": "600s"})
        self.output("true")
        self.berth.close()
        self.berth = self.start("--session", "work", env={"BERTH_SESSION_IDLE_PAUSE": "50s"})
        self.output("true")
        left = self.call("session_info").data["pause"]["pauses_in_ms"]
        self.assertLessEqual(left, 50_000)
        self.berth.close()
        time.sleep(3)
        (left_alone,) = self.sessions()
        self.differs(left_alone["state"], local="paused", e2b="running")
