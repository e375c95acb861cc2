#!/usr/bin/env python3
"""Runs tests of this folder: run.py [--user UID] NAME..., as an ordinary user where one is given."""

import os
import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--user"]:
        sys.path.append(str(FOLDER.parent / "parity"))
        from ordinary_user import run_as
        os.environ["BERTH_BINARY"] = __file__  # it asks whether that one can be read; here is none
        sys.exit(run_as(arguments[1], __file__, arguments[2:]))
    unittest.main(module=None, argv=[__file__, *(f"test_{name}" for name in arguments)], verbosity=2)


if __name__ == "__main__":
    main()
