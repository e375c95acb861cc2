"""`berth sessions adopt`, and what `kill` and `gc` say of session.save_on_end, on the real binary."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import Bench
from mcp_client import binary_path


class AdoptTest(Bench):
    def run_command(self, *arguments, status=0, **variables):
        done = subprocess.run([binary_path("berth-direct"), *arguments], text=True,
                              capture_output=True, timeout=60,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path), **variables})
        self.assertEqual(done.returncode, status, done)
        return done

    def setUp(self):
        super().setUp()
        for session in ("old", "new"):
            self.addCleanup(subprocess.run,
                            [binary_path("berth-direct"), "sessions", "kill", session, "--purge",
                             "--no-save"], capture_output=True, timeout=60,
                            env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})

    def make(self, session="old", command="echo mine > file", **variables):
        """The result of a command in it, whose server is gone."""
        with self.start("--session", session, env=variables) as server:
            return server.call_tool("bash_exec", {"command": command})

    def test_it_says_what_it_did(self):
        self.make()
        self.run_command("sessions", "kill", "old")
        done = self.run_command("sessions", "adopt", "old", "--session", "new")
        self.assertEqual(done.stdout, "session new has the home of old; its next call makes a "
                                      "machine with it\n")
        text = self.make("new", "cat file").text
        self.assertIn("mine\n", text)
        self.assertIn("taken over from session old, whose machine had ended", text)
        told = json.loads(self.run_command("sessions", "adopt", "new", "--session", "old",
                                           "--json").stdout)
        self.assertEqual((told["session"], told["from_session"], told["ended_machine"]),
                         ("old", "new", True))
        self.assertEqual(pathlib.Path(told["home"], "file").read_text(), "mine\n")
        self.assertIn("taken over from session new, whose machine was ended for it",
                      self.make("old", "true").text)

    def test_its_name_is_enough_where_another_principal_or_key_is_to_have_it(self):
        self.make()
        done = self.run_command("sessions", "adopt", "old", "--session", "old", "--principal", "bob")
        self.assertIn("session old has the home of old", done.stdout)
        template = {"BERTH_SESSION_KEY": "{principal}/{team}/{session}"}
        done = self.run_command("sessions", "adopt", "old", "--session", "old", "--principal", "bob",
                                "--var", "team=red", **template)
        self.assertIn("session old has the home of old", done.stdout)
        # Two of one name: the list tells which is which.
        self.make()
        refused = self.run_command("sessions", "adopt", "old", "--session", "new", "--principal", "eve",
                                   status=1).stderr
        self.assertIn("there is no session \"old\" of eve", refused)
        listed = json.loads(self.run_command("sessions", "list", "--json", BERTH_PRINCIPAL="bob").stdout)
        self.assertGreater(len({each["principal"] for each in listed}), 1)
        (key,) = [each["key"] for each in json.loads(
            self.run_command("sessions", "list", "--principal", "bob", "--json").stdout)]
        self.run_command("sessions", "kill", key, "--purge")

    def test_what_is_refused_is_told_with_the_remedy(self):
        self.make()
        self.make("new")
        self.assertIn("Name that with --session",
                      self.run_command("sessions", "adopt", "old", status=2).stderr)
        refused = self.run_command("sessions", "adopt", "old", "--session", "new", status=1).stderr
        self.assertIn("session new of ", refused)
        self.assertIn("--purge", refused)
        refused = self.run_command("sessions", "adopt", "none", "--session", "new", status=1).stderr
        self.assertIn("there is no session \"none\"", refused)
        self.assertIn("berth sessions list", refused)
        self.run_command("sessions", "kill", "new", "--purge")
        key = json.loads(self.run_command("sessions", "list", "--json").stdout)[0]["key"]
        refused = self.run_command("sessions", "adopt", key, "--session", "new", status=1,
                                   BERTH_PRINCIPAL="bob").stderr
        self.assertIn("--principal on the command line", refused)

    def test_a_home_that_no_book_knows_is_told_as_nobodys(self):
        self.make()
        self.run_command("sessions", "kill", "old")
        key = json.loads(self.run_command("sessions", "list", "--json").stdout)[0]["key"]
        (self.state.path / "sessions" / key / "record.json").unlink()
        for _ in range(2):
            refused = self.run_command("sessions", "adopt", key, "--session", "new", status=1).stderr
            self.assertIn("nobody knows whose the home " + key + " is", refused)
            self.assertIn("--principal on the command line", refused)
        # What is written of one whose record was damaged has no owner either.
        self.make()
        record = self.state.path / "sessions" / key / "record.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "principal": ""}))
        refused = self.run_command("sessions", "adopt", key, "--session", "new", status=1).stderr
        self.assertIn("nobody knows whose the home " + key + " is", refused)

    def test_kill_and_gc_say_what_became_of_the_files(self):
        files = {"BERTH_SESSION_SAVE_ON_END": "file"}
        self.make(**files)
        done = self.run_command("sessions", "kill", "old")  # which was told nothing of it
        self.assertEqual(done.stdout, "session old has ended; 1 file (5 bytes) is in the workspace at "
                                      "/sessions/old\n")
        self.make(**files)
        (self.state.path / "workspace").rename(self.state.path / "aside")
        (self.state.path / "workspace").write_text("no folder")
        done = self.run_command("sessions", "kill", "old", "--purge", status=1)
        self.assertIn("could not be saved", done.stderr)
        self.assertIn("--purge --no-save", done.stderr)
        done = self.run_command("sessions", "gc", status=1)
        self.assertIn("something stays: the home of session old", done.stderr)
        (self.state.path / "workspace").unlink()
        (self.state.path / "aside").rename(self.state.path / "workspace")
        done = self.run_command("sessions", "gc")
        self.assertIn("saved of old: 1 file (5 bytes) is in the workspace at /sessions/old", done.stdout)


if __name__ == "__main__":
    unittest.main()
