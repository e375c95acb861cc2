#!/usr/bin/env python3
"""Runs every case on one backend: run.py [--backend local|direct|e2b] [--user NAME] [unittest names].
`e2b` is berth itself before the emulator of tests/e2b_emulator.
With --without-v2, as root, cgroup v2 is not mounted: what is left is v1, or nothing.
With --user, a name or a uid, started as root, everything runs as that ordinary user; with --delegated
too, in cgroups that are given to that user, as `systemd-run --user -p Delegate=yes` does."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import unittest

import e2b
from apart import be_apart
from failed_cases import failed_before, note_failed
from ordinary_user import run_as
from suite import marked

HERE = pathlib.Path(__file__).resolve().parent


def applying(suite, backend):
    """The tests of a suite that mean something on this backend."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from applying(test, backend)
        else:
            away = backend == "e2b" and any(test.id().startswith("cases." + name) for name in e2b.NOT_HERE)
            away = away or (backend != "local" and marked(test, "local_only"))
            away = away or (backend != "e2b" and marked(test, "e2b_only"))
            away = away or (backend == "direct" and marked(test, "sandboxes_only"))
            if not away:
                yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("local", "direct", "e2b"), default="local")
    parser.add_argument("--user")
    parser.add_argument("--delegated", action="store_true")
    parser.add_argument("--without-v2", action="store_true")
    parser.add_argument("--without", metavar="FILE", help="leave out the cases of that file")
    parser.add_argument("--part", metavar="N/OF", type=lambda text: [int(number) for number in text.split("/")],
                        default=(1, 1), help="of the files of cases, one of so many parts")
    parser.add_argument("names", nargs="*", help="e.g. cases.files.FilesTest.test_search")
    options = parser.parse_args()
    turn = be_apart()  # kept to the end
    if options.without_v2:
        if turn is not None:
            sys.exit("--without-v2 needs mounts of its own, which only root can have")
        subprocess.run(["umount", "-a", "-t", "cgroup2"], check=True)
    if options.user and os.geteuid() == 0:
        sys.exit(run_as(options.user, __file__, ["--backend", options.backend, *options.names],
                        options.delegated))
    os.environ["BERTH_PARITY_BACKEND"] = options.backend
    loader = unittest.defaultTestLoader
    if names := failed_before() or options.names:
        tests = loader.loadTestsFromNames(names)
    else:
        part, parts = options.part
        files = [path.stem for path in sorted((HERE / "cases").glob("[a-z]*.py")) if path.stem != options.without]
        tests = loader.loadTestsFromNames(["cases." + file for file in files[part - 1::parts]])
    tests = unittest.TestSuite(applying(tests, options.backend))
    with contextlib.ExitStack() as until_the_end:
        if options.backend == "e2b":
            until_the_end.enter_context(e2b.running())
        result = unittest.TextTestRunner(verbosity=2).run(tests)
    note_failed(result)
    for test, reason in result.skipped:
        # CI counts it as a failure, so it is one here: what means nothing on a backend is `local_only`.
        print(f"skipped, which hides a gap: {test.id()}: {reason}")
    sys.exit(0 if result.wasSuccessful() and not result.skipped else 1)


if __name__ == "__main__":
    main()
