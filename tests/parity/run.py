#!/usr/bin/env python3
"""Runs every case on one backend: run.py [--backend local|direct] [--user NAME] [unittest names].
With --user, a name or a uid, started as root, everything runs as that ordinary user; with --delegated
too, in cgroups that are given to that user, as `systemd-run --user -p Delegate=yes` does."""

import argparse
import contextlib
import os
import pathlib
import pwd
import subprocess
import sys
import tempfile
import unittest

from apart import MARK, be_apart
from host import delegated, entering

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77  # what Meson takes for a skipped test


def run_as(user, options):
    """Everything again as `user`, a name or a uid that need not be in the passwd file."""
    uid, gid = (int(user), int(user)) if user.isdigit() else pwd.getpwnam(user)[2:4]
    as_user = ["setpriv", "--reuid", str(uid), "--regid", str(gid), "--clear-groups"]
    binary = os.environ.get("BERTH_BINARY", str(HERE.parent.parent / "build/server/berth"))

    def readable(path):
        return subprocess.run([*as_user, "test", "-r", path], check=False).returncode == 0

    # One that was installed below root's home is of no use to others.
    interpreter = sys.executable if readable(sys.executable) else "/usr/bin/python3"
    for path in (binary, str(HERE / "suite.py"), interpreter):
        if not readable(path):
            print(f"skipped: uid {uid} may not read {path}")
            return SKIPPED
    with tempfile.TemporaryDirectory(prefix="berth-parity-") as home:
        runtime = os.path.join(home, "run")
        os.mkdir(runtime, 0o700)
        for path in (home, runtime):
            os.chown(path, uid, gid)
        environment = {**os.environ, "HOME": home, "USER": f"uid-{uid}", "XDG_RUNTIME_DIR": runtime,
                       "PYTHONDONTWRITEBYTECODE": "1", MARK: "1"}
        with delegated(uid) if options.delegated else contextlib.nullcontext([]) as folders:
            environment["BERTH_PARITY_CGROUPS"] = ":".join(folders)
            command = [interpreter, __file__, "--backend", options.backend, *options.names]
            return subprocess.run(entering("runner", folders, [*as_user, *command]),
                                  env=environment, cwd="/", check=False).returncode


def applying(suite, backend):
    """The tests of a suite that mean something on this backend."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from applying(test, backend)
        else:
            method = getattr(test, getattr(test, "_testMethodName", ""), None)
            marked = getattr(method, "local_only", False) or getattr(test, "local_only", False)
            if backend == "local" or not marked:
                yield test


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("local", "direct"), default="local")
    parser.add_argument("--user")
    parser.add_argument("--delegated", action="store_true")
    parser.add_argument("names", nargs="*", help="e.g. cases.files.FilesTest.test_search")
    options = parser.parse_args()
    _turn = be_apart()  # kept to the end
    if options.user and os.geteuid() == 0:
        sys.exit(run_as(options.user, options))
    os.environ["BERTH_PARITY_BACKEND"] = options.backend
    sys.path.insert(0, str(HERE))
    loader = unittest.defaultTestLoader
    if options.names:
        tests = loader.loadTestsFromNames(options.names)
    else:
        tests = loader.loadTestsFromNames(
            ["cases." + path.stem for path in sorted((HERE / "cases").glob("[a-z]*.py"))])
    tests = unittest.TestSuite(applying(tests, options.backend))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
