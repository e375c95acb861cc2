"""A host that was restarted, as far as berth can see it: another boot id, no process of before, an empty
/run, and the state directory. Its cgroups are left, which no real restart does: who clears those away
clears away less."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))

from mcp_client import Berth, binary_path
from state_directory import StateDirectory

# A second, whole /proc: the kernel gives a sandbox one of its own where such a one can be seen.
BOOT = """
mount --bind "$1/run" /run
mount -t proc proc /run/proc
mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id
shift
exec "$@"
"""
LOST = ("the sandbox was lost (the host was restarted); a fresh one is in use; files in the home are "
        "kept")


def started_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


class RebootTest(unittest.TestCase):
    def setUp(self):
        self.state = StateDirectory()
        self.addCleanup(self.state.__exit__, None, None, None)
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="berth-boot-"))
        self.boots = [pathlib.Path(folder, name) for name in ("first", "second")]
        for number, path in enumerate(self.boots):
            (path / "run/proc").mkdir(parents=True)
            (path / "boot_id").write_text(f"0000000{number}-1234-4321-abcd-123456789abc\n")
        self.boot = self.boots[0]

    def command(self, *arguments):
        return ["unshare", "--mount", "sh", "-ec", BOOT, "sh", str(self.boot), binary_path(), *arguments]

    def start(self, *arguments):
        program, *rest = self.command("serve", *arguments)
        berth = Berth(*rest, binary=shutil.which(program), state=self.state)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def run_berth(self, *arguments):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=60,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def sessions(self):
        return {found["session"]: found["state"]
                for found in json.loads(self.run_berth("sessions", "list", "--json"))}

    def restart(self):
        """Of the host. Nobody is asked, nothing is cleared up."""
        deadline = time.monotonic() + 20
        while found := self.state.processes():
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.assertLess(time.monotonic(), deadline, found)
            time.sleep(0.02)
        self.boot = self.boots[1]

    def give_pids_to(self, stranger):
        """What the books say of each machine is true of another process now, but for the boot."""
        for record in (self.state.path / "sessions").glob("*/record.json"):
            text = json.loads(record.read_text())
            data = text["machine"]["data"]
            if "pid" in data:
                data.update(pid=str(stranger.pid), start_time=started_of(stranger.pid))
            used = record.stat().st_mtime
            record.write_text(json.dumps(text))
            os.utime(record, (used, used))

    def test_homes_and_books_survive_and_processes_do_not(self):
        for name in ("work", "other"):
            berth = self.start("--session", name)
            berth.call_tool("write_file", {"path": "file", "content": name})
            berth.call_tool("bash_exec", {"command": "sleep 300", "background": True})
        self.start().call_tool("bash_exec", {"command": "echo unnamed >file"})
        self.restart()
        stranger = subprocess.Popen(["sleep", "300"])
        self.addCleanup(lambda: (stranger.kill(), stranger.wait()))
        self.give_pids_to(stranger)

        berth = self.start("--session", "work")
        told = berth.call_tool("bash_exec", {"command": "cat file"})
        self.assertEqual((told.notices, told.text.splitlines()[-1]), ([LOST], "work"))
        self.assertEqual(berth.call_tool("bash_exec", {"command": "true"}).notices, [])
        self.assertEqual(berth.call_tool("session_info").data["jobs"], [])
        # That server has cleared up after the others, or does now: the unnamed one is gone whole.
        self.run_berth("sessions", "gc")
        self.assertEqual(self.sessions(), {"work": "running", "other": "lost"})
        self.assertEqual(len(list((self.state.path / "sessions").glob("*/home"))), 2)
        self.assertIn("the host was restarted", self.run_berth("sessions", "show", "other"))
        self.assertEqual(len(self.state.guests()), 1)
        self.assertEqual(len({pathlib.Path(path).name for path in self.state.cgroups()
                              if pathlib.Path(path).parent.name == "berth"}), 1)
        self.assertIsNone(stranger.poll())

        other = self.start("--session", "other")
        told = other.call_tool("bash_exec", {"command": "cat file"})
        self.assertEqual((told.notices, told.text.splitlines()[-1]), ([LOST], "other"))
        for name in ("work", "other"):
            self.run_berth("sessions", "kill", name, "--purge")
        self.assertIsNone(stranger.poll())
        for server in (berth, other):
            server.close()
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_a_machine_that_was_being_made(self):
        """Its server and its launcher had come to any point."""
        for delay in (0, 0.005, 0.02):
            with self.subTest(delay):
                self.boot = self.boots[0]
                berth = self.start("--session", "made")
                berth.call_async("bash_exec", {"command": "sleep 300"})
                time.sleep(delay)
                self.restart()
                told = self.start("--session", "made").call_tool("bash_exec", {"command": "echo on"})
                self.assertFalse(told.is_error, told)
                self.run_berth("sessions", "kill", "made", "--purge")
        for pid in self.state.processes():
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.state.wait_for_no_leaks(), [])


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root can show another boot id")
        sys.exit(77)
    unittest.main(verbosity=2)
