"""Runs docs/guide.md: every command of its console blocks, in one shell, and compares what comes out.

As root the job is done twice: as root, and as an ordinary user. A block marked "console root" or
"console user" is for that one alone. In what is expected `…` stands for anything within its line;
times, sizes and hashes are compared by their form.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))

from mcp_client import ROOT, binary_path  # noqa: E402
from state_directory import StateDirectory  # noqa: E402

NOBODY = 65534
BLOCK = re.compile(r"^```console ?(root|user)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FORMS = [(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"), (r"\b[0-9a-f]{7,64}\b", "HASH"),
         (r"\b\d+(\.\d+)? (ms|s)\b", "DURATION"), (r"\b\d+(\.\d+)? (bytes|KB)", "SIZE"),
         (r"host uid \d+", "host uid N"),
         # A reader has been slower than the second in which a client may come back.
         (r"local +(paused|running)\b", "local STATE"), (r"  +", "  ")]


def commands(text, user):
    """[(command, expected output)] of the blocks that are for this user."""
    found = []
    for only, block in BLOCK.findall(text):
        if only not in ("", user):
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append([line[2:], []])
            elif line.startswith("> "):
                found[-1][0] += "\n" + line[2:]
            else:
                found[-1][1].append(line)
    return [(command, "\n".join(expected)) for command, expected in found]


def form(text):
    for pattern, name in FORMS:
        text = re.sub(pattern, name, text)
    return text.rstrip()


def matches(expected, output):
    pattern = re.escape(form(expected)).replace("…", ".*")
    return re.fullmatch(pattern, form(output)) is not None


def run(all_commands, folder, environment, prefix):
    """The outputs, both streams of each command together."""
    mark = "---- the next command ----"
    script = "".join(f"{command}\necho '{mark}'\n" for command, _ in all_commands)
    (folder / "script").write_text(script)
    done = subprocess.run([*prefix, "bash", "--norc", str(folder / "script")], cwd=folder / "clone",
                          env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=240)
    return done.stdout.decode().split(mark + "\n")


def install(folder):
    """berth and its two helpers where any user may run them; a build tree may be closed."""
    programs = pathlib.Path(binary_path()).resolve().parent
    for name, places in (("berth", ["."]),
                         ("berth-guest", ["../sandbox/guest", "../libexec/berth"]),
                         ("berth-launcher", ["../sandbox/local/launcher", "../libexec/berth"])):
        source = next(programs / place / name for place in places
                      if (programs / place / name).exists())
        target = folder / ("bin" if name == "berth" else "libexec/berth")
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target / name)
    scripts = folder / "clone" / "tests" / "guide"
    scripts.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "guide" / "make_project.sh", scripts)


class Guide(unittest.TestCase):
    def do_the_job(self, user, uid, prefix):
        text = (ROOT / "docs" / "guide.md").read_text()
        wanted = commands(text, user)
        self.assertGreater(len(wanted), 15)
        with tempfile.TemporaryDirectory(prefix="berth-guide-") as name, StateDirectory() as state:
            folder, home = pathlib.Path(name), pathlib.Path(name) / "home"
            install(folder)
            folder.chmod(0o755)
            home.mkdir()
            for path in (home, state.path):
                os.chown(path, uid, uid)
            environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(home),
                           "LANG": "C.UTF-8", "BERTH_STATE_DIR": str(state.path)}
            outputs = run(wanted, folder, environment, prefix)
            self.assertEqual(len(outputs), len(wanted) + 1, "\n".join(outputs))
            for (command, expected), output in zip(wanted, outputs):
                if not matches(expected, output):
                    self.fail(f"$ {command}\n--- the guide says\n{expected}\n--- berth says\n{output}")
            self.assertEqual(state.wait_for_no_leaks(), [])

    def test_as_whoever_runs_the_tests(self):
        self.do_the_job("root" if os.geteuid() == 0 else "user", os.geteuid(), [])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become an ordinary user")
    def test_as_an_ordinary_user(self):
        self.do_the_job("user", NOBODY, ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                                         "--clear-groups"])


if __name__ == "__main__":
    unittest.main()
