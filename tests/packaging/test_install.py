"""`meson install` into an empty folder: what lies there works by itself."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))

from mcp_client import binary_path  # noqa: E402
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

    def test_it_is_three_programs(self):
        files = {path.relative_to(self.installed).as_posix(): path.stat().st_mode & 0o777
                 for path in self.installed.rglob("*") if path.is_file()}
        self.assertEqual(files, {"bin/berth": 0o755, "libexec/berth/berth-guest": 0o755,
                                 "libexec/berth/berth-launcher": 0o755,
                                 **{f"{folder}/berth-gc.{kind}": 0o644
                                    for folder in ("lib/systemd/system", "share/systemd/user")
                                    for kind in ("service", "timer")}})

    def test_what_the_timer_starts_works(self):
        for folder in ("lib/systemd/system", "share/systemd/user"):
            with self.subTest(folder), StateDirectory() as state:
                unit = (self.installed / folder / "berth-gc.service").read_text()
                command = re.search(r"^ExecStart=(.+)$", unit, re.M)[1].split()
                program = self.installed / pathlib.Path(command[0]).relative_to(PREFIX)
                done = berth(str(program), *command[1:], BERTH_STATE_DIR=str(state.path))
                self.assertEqual((done.returncode, done.stdout),
                                 (0, "cleared up after 0 sessions, removed 0 homes\n"), done.stderr)

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
