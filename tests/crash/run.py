#!/usr/bin/env python3
"""Kills servers, lets them race, and sees a crowd of sessions come and go: run.py
[--backend local|direct] [--registry files|redis] [--user NAME] [--kills N] [--races N] [--sessions N]
[--seed TEXT] [--clocks LIBRARY] [unittest names, e.g. kills.UnderLoadTest]. With --user, a name or a
uid, started as root, everything runs as that ordinary user. --registry redis: the books are in a
redis-server, which each test has for itself. --clocks: what clocks.cpp was built as; without it the
tests that shift a server's clocks are left out."""

import argparse
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("mcp", "parity"):
    sys.path.insert(0, str(HERE.parent / folder))
sys.path.insert(0, str(HERE))

from apart import be_apart
from ordinary_user import run_as

MODULES = {"files": ("kills", "replacements", "saves", "races", "neighbours", "crowd", "clocks"),
           "redis": ("kills", "replacements", "races", "neighbours.UnnamedTest", "outages", "clocks")}


def applying(suite, options):
    """The tests that mean something on this backend, with these books."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from applying(test, options)
        elif ((options.backend == "local" or not getattr(test, "local_only", False)) and
              getattr(test, "registry_only", options.registry) == options.registry and
              (options.clocks or type(test).__name__ != "ShiftedTest")):
            yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("local", "direct"), default="local")
    parser.add_argument("--registry", choices=("files", "redis"), default="files")
    parser.add_argument("--user")
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--races", type=int, default=30)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--clocks", default="", type=lambda path: path and os.path.abspath(path))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    _turn = be_apart()  # kept to the end
    if options.user and os.geteuid() == 0:
        arguments = [f"--{name}={value}" for name, value in vars(options).items()
                     if name not in ("user", "names")]
        sys.exit(run_as(options.user, __file__, [*arguments, *options.names]))
    os.environ.update(BERTH_PARITY_BACKEND=options.backend, BERTH_CRASH_SEED=options.seed,
                      BERTH_CRASH_REGISTRY=options.registry, BERTH_CRASH_KILLS=str(options.kills),
                      BERTH_CRASH_RACES=str(options.races), BERTH_CRASH_SESSIONS=str(options.sessions),
                      BERTH_CRASH_CLOCKS=options.clocks)
    print(f"seed {options.seed}", file=sys.stderr, flush=True)
    tests = unittest.defaultTestLoader.loadTestsFromNames(options.names or MODULES[options.registry])
    tests = unittest.TestSuite(applying(tests, options))
    if options.backend == "local" and not options.clocks:
        print("without --clocks: what shifts a server's clocks is left out", file=sys.stderr, flush=True)
    if tests.countTestCases() == 0:
        sys.exit("none of these tests is for this backend, for these books, or without --clocks")
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
