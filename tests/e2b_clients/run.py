#!/usr/bin/env python3
"""Runs the clients' tests against an emulator of their own: run.py [--user UID] PROGRAM ARGUMENT..., as
an ordinary user where one is given. Fails too where a box is left over."""

import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "e2b_emulator"), str(FOLDER.parent / "parity")]

from emulator import Emulator  # noqa: E402
from ordinary_user import run_as  # noqa: E402


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--user"]:
        program = os.path.abspath(arguments[2])
        os.environ["BERTH_BINARY"] = program  # it asks whether that one can be read
        return run_as(arguments[1], __file__, [program, *arguments[3:]])
    environment = {name: value for name, value in os.environ.items()
                   if not name.lower().endswith("_proxy") and not name.startswith("E2B_")}
    with Emulator() as e2b:
        status = subprocess.run(arguments, env={**environment, **e2b.environment()}, check=False).returncode
        books = e2b.books()
    if books["running"] or books["paused"] or sorted(books["created"]) != sorted(books["ended"]):
        print(f"boxes are left over: {books}")
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
