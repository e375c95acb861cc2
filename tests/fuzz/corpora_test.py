#!/usr/bin/env python3
"""Each fuzz target on its corpus, and on small changes of it: tests/fuzz/replay.cpp."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
CORPUS = FOLDER / "corpus"
LARGEST = 8192  # of a seed: what is large is slow in every build
REPLAY = sys.argv.pop()


def replay(*arguments):
    return subprocess.run([REPLAY, *arguments], text=True, errors="replace", check=False,
                          capture_output=True)


TARGETS = replay().stdout.split()


class Corpora(unittest.TestCase):
    def test_every_target_has_a_corpus_and_a_line_in_the_table(self):
        self.assertTrue(TARGETS)
        self.assertEqual(sorted(path.stem for path in (FOLDER / "targets").glob("*.cpp")),
                         sorted(TARGETS))
        self.assertEqual(sorted(os.listdir(CORPUS)), sorted(TARGETS))
        table = (FOLDER / "README.md").read_text(encoding="utf-8")
        for name in TARGETS:
            self.assertIn(f"\n| `{name}` |", table)

    def test_seeds_are_small(self):
        for path in CORPUS.glob("*/*"):
            self.assertLessEqual(path.stat().st_size, LARGEST, path)


def case(name):
    def run(self):
        with tempfile.NamedTemporaryFile() as last:
            done = replay(name, CORPUS / name, last.name)
            if done.returncode != 0:
                self.fail(f"{done.stderr[:4000]}\nstatus {done.returncode}, "
                          f"input {pathlib.Path(last.name).read_bytes()!r}")
    return run


for target in TARGETS:
    setattr(Corpora, f"test_{target}", case(target))

if __name__ == "__main__":
    unittest.main(verbosity=2)
