"""`meson install` into an empty folder: what lies there works by itself."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))

from mcp_client import Berth, binary_path  # noqa: E402
from state_directory import StateDirectory  # noqa: E402

BUILD, MESON = os.environ["BERTH_BUILD"], os.environ["BERTH_MESON"]
PREFIX = os.environ["BERTH_PREFIX"]


def berth(program, *arguments, **variables):
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "BERTH_CONFIG": "", **variables}
    return subprocess.run([program, *arguments], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)


class Install(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="berth-install-")))
        folder.chmod(0o755)
        subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--skip-subprojects",
                        "--destdir", folder],
                       check=True, capture_output=True, timeout=60)
        self.installed = folder / PREFIX.lstrip("/")

    def test_it_is_four_programs(self):
        files = {path.relative_to(self.installed).as_posix(): path.stat().st_mode & 0o777
                 for path in self.installed.rglob("*") if path.is_file()}
        self.assertEqual(files, {"bin/berth": 0o755, "libexec/berth/berth-guest": 0o755,
                                 "libexec/berth/berth-launcher": 0o755,
                                 "libexec/berth/berth-proxy": 0o755,
                                 **{f"{folder}/{unit}": 0o644
                                    for folder in ("lib/systemd/system", "share/systemd/user")
                                    for unit in ("berth-gc.service", "berth-gc.timer",
                                                 "berth.socket", "berth@.service")}})

    def test_what_the_timer_starts_works(self):
        for folder in ("lib/systemd/system", "share/systemd/user"):
            with self.subTest(folder), StateDirectory() as state:
                unit = (self.installed / folder / "berth-gc.service").read_text()
                command = re.search(r"^ExecStart=(.+)$", unit, re.M)[1].split()
                program = self.installed / pathlib.Path(command[0]).relative_to(PREFIX)
                done = berth(str(program), *command[1:], BERTH_STATE_DIR=str(state.path))
                self.assertEqual((done.returncode, done.stdout),
                                 (0, "cleared up after 0 sessions, removed 0 homes\n"), done.stderr)

    def unit(self, name):
        """{"[Section] key": value} of an installed unit; both managers have the same."""
        texts = {(self.installed / folder / name).read_text()
                 for folder in ("lib/systemd/system", "share/systemd/user")}
        (text,) = texts
        found, section = {}, ""
        for line in text.splitlines():
            if line.startswith("["):
                section = line
            elif "=" in line and not line.startswith("#"):
                key, _, value = line.partition("=")
                found[f"{section} {key}"] = value
        return found

    def test_a_service_s_units_let_machines_live_on(self):
        service, socket = self.unit("berth@.service"), self.unit("berth.socket")
        wanted = {"KillMode": "process", "KillSignal": "SIGHUP", "Delegate": "yes",
                  "OOMPolicy": "continue", "StandardInput": "socket", "StandardOutput": "socket",
                  "StandardError": "journal", "ExecStart": f"{PREFIX}/bin/berth serve"}
        self.assertEqual({key: service.get(f"[Service] {key}") for key in wanted}, wanted)
        self.assertEqual({key: socket.get(f"[Socket] {key}")
                          for key in ("Accept", "MaxConnections", "SocketMode", "ListenStream")},
                         {"Accept": "yes", "MaxConnections": "1024", "SocketMode": "0600",
                          "ListenStream": "%t/berth-mcp.sock"})
        # What would keep the server from making sandboxes.
        for key in service:
            self.assertNotRegex(key, "NoNewPriv|Private|Protect|Restrict|SystemCall|Lock|MemoryDeny")

    def test_systemd_takes_the_units(self):
        """Where it is installed; else the keys above are all that can be looked at here."""
        analyse = shutil.which("systemd-analyze")
        units = sorted((self.installed / "lib/systemd/system").iterdir())
        self.assertEqual(len(units), 4)
        for unit in units if analyse else []:
            unit.write_text(unit.read_text().replace(f"{PREFIX}/bin/berth",
                                                     str(self.installed / "bin/berth")))
        done = analyse and subprocess.run([analyse, "verify", "--man=no", *units], timeout=60,
                                          capture_output=True, text=True)
        self.assertTrue(done is None or (done.returncode, done.stderr) == (0, ""), done)

    def test_a_machine_outlives_an_update(self):
        """Programs that are replaced while it lives, as a package manager does: the next server is
        the new one, and the guest stays what it is."""
        with StateDirectory() as state:
            program = str(self.installed / "bin/berth")
            ticks = "while :; do echo >>ticks; sleep 0.1; done"
            with Berth("--session", "work", binary=program, state=state) as server:
                server.call_tool("bash_exec", {"command": ticks, "background": True})
                for path in (self.installed / name for name in
                             ("bin/berth", "libexec/berth/berth-guest", "libexec/berth/berth-launcher")):
                    fresh = path.with_suffix(".new")
                    shutil.copy(path, fresh)
                    with open(fresh, "ab") as file:
                        file.write(b"another build")
                    os.replace(fresh, path)
                # The old one goes on meanwhile, also with what it starts from now on.
                self.assertFalse(server.call_tool("bash_exec", {"command": "true"}).is_error)
                first = int(server.call_tool("bash_exec", {"command": "stat -c %s ticks"}).text)
                self.assertEqual(server.close(), 0)
            with Berth("--session", "work", binary=program, state=state) as server:
                told = server.call_tool("bash_exec", {"command": "sleep 0.5; stat -c %s ticks"})
                self.assertGreater(int(told.text), first)
                self.assertEqual(told.notices, [])
                (job,) = server.call_tool("session_info").data["jobs"]
                self.assertIn("ticks", job["command"])
                self.assertEqual(server.close(), 0)
            done = berth(program, "sessions", "kill", "work", "--purge",
                         BERTH_STATE_DIR=str(state.path))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(state.wait_for_no_leaks(), [])

    def test_nothing_of_the_build_tree_is_needed(self):
        program = str(self.installed / "bin" / "berth")
        dynamic = subprocess.run(["readelf", "-Wd", program], check=True, capture_output=True,
                                 text=True).stdout
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)")
        version = berth(program, "version", "--json")
        self.assertEqual(version.returncode, 0, version.stderr)
        self.assertEqual(json.loads(version.stdout),
                         json.loads(berth(binary_path(), "version", "--json").stdout))

    def test_a_call_works(self):
        with StateDirectory() as state:
            done = berth(str(self.installed / "bin" / "berth"), "call", "bash_exec",
                         '{"command":"echo hello from $(whoami)@$(hostname)"}',
                         BERTH_STATE_DIR=str(state.path))
            self.assertEqual((done.returncode, done.stdout), (0, "hello from user@berth\n"),
                             done.stderr)
            self.assertEqual(state.wait_for_no_leaks(), [])


if __name__ == "__main__":
    unittest.main()
