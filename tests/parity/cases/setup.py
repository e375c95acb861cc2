"""session.setup: what every fresh machine is made ready with."""

import json
import os
import pathlib
import signal
import tempfile
import threading
import time

from suite import ParityTest, sandboxes_only


class SetupTest(ParityTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-settings-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.file = pathlib.Path(folder.name) / "berth.toml"

    def serve(self, text, *arguments, session="work", **env):
        self.file.write_text(text)
        self.berth = self.start("--session", session, "--config", str(self.file), *arguments, env=env)
        return self.berth

    def test_before_the_first_command_and_once_for_each_machine(self):
        self.serve('env = ["WHO=me"]\n[session]\nsetup = ["echo first, $WHO >> made", "pwd >> made; cd /tmp", "pwd >> made"]\n')
        result = self.run_command("cat made; pwd")
        home = self.call("session_info").data["home"]
        self.assertEqual(result.data["stdout"], f"first, me\n{home}\n{home}\n{home}\n")
        (told,) = result.notices
        self.assertIn("3 commands of session.setup", told)
        self.assertEqual(self.run_command("wc -l < made").notices, [])
        # Another server finds it made; the session's next machine is made ready anew.
        self.serve(self.file.read_text())
        self.assertEqual(self.run_command("wc -l < made").data["stdout"], "3\n")
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.run_command("wc -l < made").data["stdout"], "6\n")

    def test_its_variables_are_those_of_the_settings_of_then(self):
        settings = 'env = ["WHO={}"]\n[session]\nsetup = ["echo $WHO > made"]\n'
        self.serve(settings.format("before"))
        self.assertEqual(self.output("cat made; echo $WHO"), "before\nbefore\n")
        self.file.write_text(settings.format("after"))
        self.wait_until(lambda: self.output("echo $WHO") == "after\n", 10, "the new settings")
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.output("cat made"), "after\n")

    def test_one_that_fails_is_told_and_tried_again(self):
        self.serve('[session]\nsetup = ["echo tried >> ~/tries", "echo w${X}hy >&2; exit 3"]\n')
        for _ in range(2):
            error = self.refused("sandbox_unavailable", "bash_exec", command="echo ran > ran").error
            self.assertIn("exit code 3", error["message"])
            self.assertTrue(error["message"].endswith("exit code 3; it printed at last:\nwhy"), error)
            self.assertIn("session.setup", error["hint"])
        remembered = (self.state.path / "errors.jsonl").read_text()
        self.assertIn("failed with exit code 3", remembered)
        self.assertNotIn("why", remembered)  # for whoever called alone: it may be a secret
        self.assertEqual(json.loads(self.command_line("sessions", "list", "--json")), [])
        self.serve('[session]\nsetup = ["true"]\n')
        self.assertEqual(self.output("ls"), "")  # of a home that was made for what failed nothing is left

    def test_a_home_with_files_is_kept_when_it_fails(self):
        self.output("echo mine > mine")
        self.command_line("sessions", "kill", "work")
        self.serve('[session]\nsetup = ["exit 1"]\n')
        self.refused("sandbox_unavailable", "read_file", path="mine")
        self.serve("")
        self.assertEqual(self.output("cat mine"), "mine\n")

    def test_its_time_is_limited_and_what_it_leaves_is_stopped(self):
        self.serve('[session]\nsetup = ["sleep 100"]\nsetup_timeout = "1s"\n')
        error = self.refused("sandbox_unavailable", "bash_exec", command="true").error
        self.assertIn("session.setup_timeout = 1 s", error["message"])
        self.serve('[session]\nsetup = ["sleep 123 &"]\n')
        self.assertEqual(self.output("pgrep -x sleep | wc -l"), "0\n")
        self.assertEqual(self.call("session_info").data["jobs"], [])

    def state_of(self, session):
        """By the books; None: they do not know it."""
        return next((each["state"] for each in self.sessions() if each["session"] == session), None)

    def begin_long(self):
        """A call that waits for a setup of minutes."""
        self.serve('[session]\nsetup = ["sleep 300"]\n', session="long")
        call = self.berth.call_async("bash_exec", {"command": "true"})
        self.wait_until(lambda: self.state_of("long") == "creating", 20, "it is being made")
        time.sleep(1)
        return call

    def test_a_call_that_is_cancelled_stops_it(self):
        call = self.begin_long()
        self.berth.cancel(call)
        self.wait_until(lambda: self.state_of("long") is None, 20, "it is undone")
        self.serve('[session]\nsetup = ["true"]\n', session="long")
        self.assertEqual(self.output("ls"), "")

    def test_a_collection_meanwhile_names_it_and_is_no_failure(self):
        call = self.begin_long()
        self.assertIn("\n1 session was just being made or ended, and left for the next time, in 5 s: long\n",
                      self.command_line("sessions", "gc"))
        told = json.loads(self.command_line("sessions", "gc", "--json"))
        self.assertEqual((told["busy"], told["failed"], told["complete"]), (["long"], [], False))
        self.assertEqual(self.state_of("long"), "creating")
        self.berth.cancel(call)
        self.wait_until(lambda: self.state_of("long") is None, 20, "it is undone")

    def test_a_pause_meanwhile_is_told_that_it_is_being_made(self):
        self.begin_long()
        for command in ("pause", "resume"):
            told = json.loads(self.command_line("sessions", command, "long", "--json", status=1))
            self.assertEqual((told["code"], told["retry_after"]), ("busy", 5), told)
            self.assertIn("it is just being made", told["reason"])

    def test_of_a_creator_that_stands_still_a_call_is_told_when_to_try_again(self):
        self.begin_long()
        stopped = self.berth
        other = self.start("--session", "long")
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            error = other.call_tool("bash_exec", {"command": "true"}).error
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        self.assertEqual((error["code"], error["retryable"]), ("busy", True))
        self.assertIn("makes it since", error["message"])
        self.assertIn("state T", error["hint"])
        self.assertIn(error["details"]["retry_after"], range(1, 61))

    @sandboxes_only
    def test_it_is_killed_while_it_is_set_up(self):
        """The first machine of a session, which leaves nothing, and one with a home from before."""
        for state in (None, "ended"):
            with self.subTest(state):
                if state:
                    self.serve("", session="long")
                    self.output("echo kept >file")
                    self.command_line("sessions", "kill", "long")
                call = self.begin_long()
                self.command_line("sessions", "kill", "long")
                error = call.result(20).error
                self.assertEqual(error["code"], "sandbox_unavailable")
                self.assertIn("was ended while it was set up", error["message"])
                self.assertEqual(self.state_of("long"), state)
        self.serve("", session="long")
        self.assertEqual(self.output("cat file"), "kept\n")

    def test_servers_that_race_run_it_once(self):
        self.file.write_text('[session]\nsetup = ["echo once >> made; sleep 1"]\n')
        servers = [self.start("--session", "raced", "--config", str(self.file)) for _ in range(3)]
        results = [None] * len(servers)

        def call(i):
            results[i] = servers[i].call_tool("bash_exec", {"command": "cat made"})

        threads = [threading.Thread(target=call, args=(i,)) for i in range(len(servers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([result.data.get("stdout", result.error) for result in results], ["once\n"] * 3)
        self.assertEqual(sum(len(result.notices) for result in results), 1)

    def test_from_a_variable_a_line_each(self):
        self.berth = self.start("--session", "work", env={"BERTH_SESSION_SETUP": "echo a, b > one\n\n  echo c > two\n"})
        self.assertEqual(self.output("cat one two"), "a, b\nc\n")
        self.berth = self.start("--session", "unnamed", env={"BERTH_SESSION_SETUP": "echo x > three"})
        self.assertEqual(self.output("cat three"), "x\n")
