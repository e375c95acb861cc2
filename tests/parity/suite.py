"""What every case has: a server on one backend, in a state directory of its own."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))

from mcp_client import Berth, binary_path
from state_directory import StateDirectory

BACKENDS = {"local": "berth", "direct": "berth-direct"}


def backend():
    return os.environ.get("BERTH_PARITY_BACKEND", "local")


class ParityTest(unittest.TestCase):
    """A session named `work` on one server: self.berth. Nothing may be left at the end."""

    def setUp(self):
        self.state = StateDirectory()
        self.addCleanup(self.state.__exit__, None, None, None)
        self.berth = self.start("--session", "work")

    def start(self, *arguments, **options):
        berth = Berth(*arguments, state=self.state, binary=binary_path(BACKENDS[backend()]),
                      **options)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def call(self, tool, timeout=60, **arguments):
        """The result of a call that must work."""
        result = self.berth.call_tool(tool, arguments, timeout)
        self.assertFalse(result.is_error, result)
        return result

    def run_command(self, command, **arguments):
        return self.call("bash_exec", command=command, **arguments)

    def refused(self, code, tool, **arguments):
        """The call must fail with this error word; every error says what to do."""
        result = self.berth.call_tool(tool, arguments)
        self.assertTrue(result.is_error, result)
        self.assertEqual(result.error.get("code"), code, result)
        self.assertTrue(result.error.get("message"), result)
        return result
