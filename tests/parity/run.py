#!/usr/bin/env python3
"""Runs every case on one backend: run.py [--backend local|direct] [--user NAME] [unittest names].
With --user, started as root, everything runs as that ordinary user."""

import argparse
import os
import pathlib
import shutil
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("local", "direct"), default="local")
    parser.add_argument("--user")
    parser.add_argument("names", nargs="*", help="e.g. cases.files.FilesTest.test_search")
    options = parser.parse_args()
    if options.user and os.geteuid() == 0:
        command = [shutil.which("setpriv") or "setpriv", "--reuid", options.user, "--regid",
                   options.user, "--init-groups", "env", "HOME=/tmp", f"USER={options.user}",
                   sys.executable, __file__, "--backend", options.backend, *options.names]
        os.execv(command[0], command)
    os.environ["BERTH_PARITY_BACKEND"] = options.backend
    sys.path.insert(0, str(HERE))
    loader = unittest.defaultTestLoader
    if options.names:
        tests = loader.loadTestsFromNames(options.names)
    else:
        tests = loader.loadTestsFromNames(
            ["cases." + path.stem for path in sorted((HERE / "cases").glob("[a-z]*.py"))])
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
