"""A sandbox that is attacked, and the same without one of its layers."""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent / "parity"), str(HERE.parent / "mcp")]

from mcp_client import Berth
from state_directory import StateDirectory


class EscapeTest(unittest.TestCase):
    def folder(self):
        """One that everybody may look into, for the sandbox to be shown."""
        path = tempfile.mkdtemp(prefix="berth-escape-")
        self.addCleanup(shutil.rmtree, path)
        os.chmod(path, 0o755)
        return pathlib.Path(path)

    def lacking(self, without):
        """The environment of a server whose sandboxes lack the layers `without`, by a launcher that was built
        so."""
        if not without:
            return {}
        programs = self.folder()
        launcher = os.environ["BERTH_LAUNCHER_WITHOUT_" + without.upper().replace(" ", "_")]
        os.symlink(launcher, programs / "berth-launcher")
        os.symlink(os.environ["BERTH_GUEST"], programs / "berth-guest")
        return {"BERTH_LIBEXEC_DIR": str(programs)}

    def start(self, *arguments, without=None, env=(), pass_fds=()):
        environment = {**dict(env), **self.lacking(without)}
        state = StateDirectory()
        state.__enter__()
        self.addCleanup(state.__exit__, None, None, None)
        self.state = state  # of the latest
        berth = Berth(*arguments, state=state, env=environment, pass_fds=pass_fds)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def output(self, berth, command, **arguments):
        done = berth.call_tool("bash_exec", {"command": command, **arguments})
        self.assertEqual((done.is_error, done.data.get("exit_code")), (False, 0), done)
        return done.text

    def layer(self, berth, name):
        """Whether that layer is in force; a machine must have been made."""
        layers = {layer["name"]: layer for layer in berth.call_tool("session_info", {}).data["layers"]}
        return layers[name]["in_force"]
