"""The same attempts under bubblewrap, as AutoGPT starts it and with all that it can unshare, under Anthropic's
sandbox-runtime ($BERTH_SRT, its program), and in a sandbox of berth's: what works, per system. Prints the table
that docs/security.md has, and compares. Run by run.py, as an ordinary user: they are made for such."""

import collections
import json
import os
import re
import shlex
import shutil
import subprocess

import attempts
from bait import Bait
from sandbox import HERE, ROOT, EscapeTest

# Of the guest, which the others have not, and of descriptors, which is a matter of who starts them.
LEFT_OUT = [name for name in attempts.ATTEMPTS if name.startswith("guest_") or name == "leaked_descriptor"]
BASE = ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
        "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--dev", "/dev", "--proc", "/proc",
        "--tmpfs", "/tmp", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--die-with-parent", "--new-session"]
BUBBLEWRAP = {
    "bubblewrap, AutoGPT's flags": ["--unshare-user", "--unshare-net", "--ro-bind", "/etc", "/etc"],
    "bubblewrap, all unshared": ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL",
                                 "--hostname", "sandbox"],
}
RUNTIME, OURS = "sandbox-runtime", "berth"
SYSTEMS = [*BUBBLEWRAP, RUNTIME, OURS]
REFUSED = {"EPERM", "ENOSYS", "signal 31"}


def refused_calls():
    """The lines of syscalls.tsv that berth refuses, for the sweep."""
    lines = [line.split("\t") for line in (HERE / "syscalls.tsv").read_text().splitlines() if line[0] != "#"]
    return [f"{fields[0]} {fields[3] if len(fields) > 3 else ''}" for fields in lines
            if fields[2] in ("EPERM", "ENOSYS", "killed") and fields[1] != "-"]


class ComparisonTest(EscapeTest):
    def setUp(self):
        self.names = [name for name in attempts.ATTEMPTS if name not in LEFT_OUT]
        self.program = self.folder()
        shutil.copy(HERE / "attempts.py", self.program)
        shutil.copy(os.environ["BERTH_SWEEP"], self.program / "sweep")
        self.calls = refused_calls()

    def commands(self, bait, program="/mnt/attempts", shown="/mnt/bait"):
        """What is run in each: (command, standard input)."""
        facts = json.dumps({**bait.facts, "shown": shown})
        return [(["python3", f"{program}/attempts.py", facts, *self.names], ""),
                ([f"{program}/sweep"], "".join(line + "\n" for line in self.calls))]

    def run_here(self, command, given, bait, work):
        path = f"{os.path.dirname(os.environ['BERTH_SRT'])}:{os.environ['PATH']}"
        for _ in range(10):
            done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False,
                                  cwd=work, env={**self.variables(bait), "HOME": str(work), "PATH": path})
            # What sandbox-runtime looks for it gives a short time to be found, too short on a busy machine.
            if "dependencies not available" not in done.stderr:
                break
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def variables(self, bait):
        return {"ESCAPE_BAIT": bait.facts["word"]}

    def in_bubblewrap(self, bait, flags):
        work = self.folder()
        own = ["--bind", str(work), "/home/user", "--ro-bind", str(self.program), "/mnt/attempts",
               "--ro-bind", str(bait.folder), "/mnt/bait", "--chdir", "/home/user"]
        return [self.run_here([*BASE, *flags, *own, *command], given, bait, work)
                for command, given in self.commands(bait)]

    def in_runtime(self, bait):
        """It shows the host's files, but for what it is told to hide."""
        work, settings = self.folder(), self.folder() / "settings.json"
        settings.write_text(json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": [str(work)], "denyWrite": []}}))
        return [self.run_here([os.environ["BERTH_SRT"], "--settings", str(settings), "-c", shlex.join(command)],
                              given, bait, work)
                for command, given in self.commands(bait, self.program, bait.facts["shown"])]

    def in_berth(self, bait):
        berth = self.start("--mount", f"{self.program}:/mnt/attempts", "--mount", f"{bait.folder}:/mnt/bait",
                           env=self.variables(bait))
        return [self.output(berth, shlex.join(command), **({"stdin": given} if given else {}))
                for command, given in self.commands(bait)]

    def result(self, system):
        """(the attempts that worked, how many calls reached the kernel)"""
        with Bait() as bait:
            if system in BUBBLEWRAP:
                told, swept = self.in_bubblewrap(bait, BUBBLEWRAP[system])
            else:
                told, swept = {RUNTIME: self.in_runtime, OURS: self.in_berth}[system](bait)
        came = dict(line.split(" ", 1) for line in told.splitlines())
        self.assertEqual(list(came), self.names)
        outcomes = swept.splitlines()
        self.assertEqual(len(outcomes), len(self.calls))
        return ({name for name in self.names if came[name] == "worked"},
                sum(outcome not in REFUSED for outcome in outcomes))

    def test_what_works_per_system(self):
        results = {system: self.result(system) for system in SYSTEMS}
        worked = collections.Counter(name for found, _ in results.values() for name in found)
        lines = [f"| attempt | {' | '.join(SYSTEMS)} |", "|---" * (len(SYSTEMS) + 1) + "|"]
        lines += [f"| {attempts.ATTEMPTS[name].what} | " + " | ".join(
            "works" if name in results[system][0] else "–" for system in SYSTEMS) + " |"
            for name in self.names if worked[name]]
        lines.append(f"| the other {len(self.names) - len(worked)} | " + " | ".join("–" for _ in SYSTEMS) + " |")
        calls = " | ".join(str(results[system][1]) for system in SYSTEMS)
        print(*lines, f"| of {len(self.calls)} system calls that no session needs, answered by the kernel "
                      f"otherwise than with a refusal | {calls} |", sep="\n")
        self.assertEqual(results[OURS], (set(), 0))
        # Not the last line: how many there are is the kernel's.
        page = (ROOT / "docs/security.md").read_text()
        published = re.search(r"^\| attempt \|.*?(?=^\| of |^$)", page, re.M | re.S)
        self.assertEqual(published[0].splitlines() if published else [], lines)
