#!/usr/bin/env python3
"""Attacks from inside of a sandbox: run.py [--user UID] MODULE... With --user, started as root, all
runs as that ordinary user."""

import os
import sys
import unittest

import sandbox  # noqa: F401: it knows where the modules of other suites are
from ordinary_user import run_as

if __name__ == "__main__":
    names = sys.argv[1:]
    if names[:1] == ["--user"]:
        if os.geteuid() == 0:
            sys.exit(run_as(names[1], os.path.realpath(__file__), names[2:]))
        names = names[2:]
    unittest.main(module=None, argv=[sys.argv[0], "-v", *names])
