"""Every system call of x86-64 inside of a sandbox, against the verdicts of syscalls.tsv: with the
system call filter, and without it, where the same calls reach the kernel."""

import collections
import os
import pathlib
import re
import shutil

from sandbox import ROOT, EscapeTest

HERE = pathlib.Path(__file__).resolve().parent
Line = collections.namedtuple("Line", "number name verdict arguments")
KILLED = "signal 31"  # SIGSYS
REFUSED = ("EPERM", "ENOSYS", KILLED)


def table():
    lines = []
    for text in (HERE / "syscalls.tsv").read_text().splitlines():
        if not text.startswith("#"):
            fields = text.split("\t")
            lines.append(Line(*fields[:3], fields[3] if len(fields) > 3 else ""))
    return lines


def expected(line):
    return KILLED if line.verdict == "killed" else line.verdict


class SyscallsTest(EscapeTest):
    def sweep(self, lines, without=None):
        """What came of each, in a sandbox of its own."""
        folder = self.folder()
        shutil.copy(os.environ["BERTH_SWEEP"], folder / "sweep")
        berth = self.start("--mount", f"{folder}:/home/user/escape", without=without)
        outcomes = self.output(berth, "/home/user/escape/sweep", stdin="".join(
            f"{line.number} {line.arguments}\n" for line in lines)).splitlines()
        self.assertEqual(len(outcomes), len(lines), outcomes[-3:])
        return outcomes

    def test_every_number_has_its_verdict(self):
        lines = table()
        here = self.sweep(lines)
        without = self.sweep(lines, without="seccomp")
        wrong, seen, stopped = [], collections.Counter(), []
        for line, got, free in zip(lines, here, without):
            # What the kernel itself answers is not the filter's: it has no such call, say.
            fine = got not in REFUSED or got == free if line.verdict == "allow" else got == expected(line) or (
                line.verdict == "killed" and got == free == "signal 11")  # a kernel without such programs
            if not fine:
                wrong.append(f"{line}: {got}, without the filter {free}")
            elif line.verdict != "allow" and line.name != "-":
                seen["only the filter" if free != got else "the kernel too"] += 1
                stopped.append(f"{line.name} {line.arguments}".ljust(40) + got.ljust(12) + f"without the filter: {free}")
        print("attempt".ljust(40) + "verdict", *stopped, sep="\n")
        self.assertEqual(wrong, [])
        # Else this looks at a filter that is in force in both.
        self.assertGreater(seen["only the filter"], 60, seen)

    def test_the_published_list_is_the_one_in_force(self):
        text = (ROOT / "docs/security.md").read_text()
        section = text.split("## The system call filter")[1].split("\n## ")[0]
        rows = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", section, re.M)
        published = collections.defaultdict(set)
        for calls, _, answer, why in rows[1:]:
            self.assertGreater(len(why), 20, calls)
            for name in re.findall(r"`(\w+)`", calls):
                published[name].update(re.findall(r"\b(EPERM|ENOSYS|no effect)\b", answer))
        verdicts = collections.defaultdict(set)
        for line in table():
            if line.verdict in ("EPERM", "ENOSYS", "done") and line.name != "-":
                verdicts[line.name].add("no effect" if line.verdict == "done" else line.verdict)
        published.pop("clone3", None)  # only where nested namespaces cannot be closed: filter_test.cpp
        self.assertEqual(dict(published), dict(verdicts))
