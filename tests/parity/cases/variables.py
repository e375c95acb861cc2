"""What the operator gives to commands: `env`, `secret`, and a settings file that changes while the
server runs."""

import json
import os
import pathlib
import tempfile

from suite import ParityTest, local_only

SECRET = "hunter2-hunter2"


class VariablesTest(ParityTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-settings-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.file = pathlib.Path(folder.name) / "berth.toml"
        self.secret = pathlib.Path(folder.name) / "token"

    def serve(self, text, **env):
        self.file.write_text(text)
        self.berth = self.start("--session", "work", "--config", str(self.file), env=env)

    def printed(self, name, **arguments):
        return self.output(f"printf %s \"${name}\"", **arguments)

    def test_a_secret_is_read_for_each_command(self):
        self.secret.write_text(SECRET + "\n")
        self.serve(f'env = ["A=1", "B=2"]\nsecret = ["TOKEN=file:{self.secret}", "OWN=env:BERTH_TEST_OWN"]\n',
                   BERTH_TEST_OWN="of the server")
        self.assertEqual(self.output("printf %s $TOKEN | rev"), SECRET[::-1])
        self.assertEqual(self.output("echo $A $B; echo $OWN | rev", env={"B": "of the call"}),
                         "1 of the call\nrevres eht fo\n")
        self.secret.write_text("another")
        self.assertEqual(self.printed("TOKEN"), "another")
        self.secret.unlink()
        error = self.refused("sandbox_unavailable", "bash_exec", command="echo run > run").error
        self.assertIn("TOKEN", error["message"])
        self.assertIn("nothing was run", error["message"])
        self.secret.write_text("back")
        self.assertEqual(self.output("ls; printenv TOKEN"), "back\n")

    def test_a_secret_is_masked_in_results(self):
        """In each tool's, whoever of berth's programs shows it; what a command does with it is its own."""
        self.secret.write_text(SECRET)
        self.serve(f'secret = ["TOKEN=file:{self.secret}"]\n[output]\nbudget = 1000\n')
        told = self.run_command("env | grep ^TOKEN; printf %s $TOKEN | base64; printf %s:$TOKEN me | base64; "
                                "printf %s $TOKEN | od -An -v -tx1 | tr -d ' '; printf %s $TOKEN >kept; echo $TOKEN >&2")
        self.assertEqual(told.data["stdout"].splitlines()[0], "TOKEN=[secret TOKEN]")
        self.assertEqual(told.data["stdout"].count("[secret TOKEN]"), 4, told.text)
        self.assertEqual(told.data["stderr"], "[secret TOKEN]\n")
        self.assertRegex(told.text, r"^\[berth\] the values of secrets are left out of this result.*: TOKEN\n")
        # The head of a long output ends somewhere in it, its tail begins so.
        for told in (self.run_command("for i in $(seq 300); do printf %s $TOKEN; done"),
                     self.call("read_file", path="kept"), self.call("grep_files", pattern="h", path="kept"),
                     self.refused("not_found", "read_file", path=SECRET)):
            self.assertIn("[secret TOKEN]", told.text)
            for part in (SECRET, SECRET[:6], SECRET[-6:]):
                self.assertNotIn(part, told.text.replace("[secret TOKEN]", ""))
        self.assertEqual(self.output(f"grep -c {SECRET} kept"), "1\n")
        job = self.run_command("printf %s $TOKEN; sleep 60", background=True).data["job_id"]
        self.wait_until(lambda: "[secret TOKEN]" in self.call("bash_output", job_id=job).text, 10, "its output")
        self.secret.write_text("another-one-now")
        self.assertEqual(self.output("cat kept; echo $TOKEN"), "[secret TOKEN][secret TOKEN]\n")

    def test_a_secret_is_in_no_record_log_or_list(self):
        self.secret.write_text(SECRET)
        self.serve(f'secret = ["TOKEN=file:{self.secret}"]\n[log]\nlevel = "debug"\n')
        self.assertEqual(self.output("printf %s \"$TOKEN\" | wc -c"), f"{len(SECRET)}\n")
        job = self.run_command("sleep 60", background=True).data["job_id"]
        told = [self.call("session_info").text, self.call("bash_output", job_id=job).text,
                self.command_line("sessions", "show", "work"), self.command_line("sessions", "list", "--json"),
                self.command_line("config", "--config", str(self.file)), self.berth.stderr]
        for path in pathlib.Path(self.state.path).rglob("*"):
            if path.is_file():
                told.append(path.read_bytes().decode(errors="replace"))
        for text in told:
            self.assertNotIn(SECRET, text)
        self.assertIn(f"TOKEN=file:{self.secret}", told[4])

    @local_only
    def test_a_secret_that_was_printed_is_in_no_book(self):
        """Of a command whose machine was ended before anybody had read its result."""
        self.secret.write_text(SECRET)
        self.serve(f'secret = ["TOKEN=file:{self.secret}"]\n')
        pending = self.berth.call_async(
            "bash_exec", {"command": 'touch begun; sleep 1; echo "deploying with $TOKEN"; exit 3'})
        self.wait_until(lambda: "begun" in self.output("ls"), 10, "it runs")
        self.berth.kill()
        del pending
        shown = lambda: json.loads(self.command_line("sessions", "show", "work", "--json"))
        self.wait_until(lambda: not shown()["jobs"], 10, "its end")
        self.command_line("sessions", "kill", "work")
        for path in pathlib.Path(self.state.path).rglob("*"):
            if path.is_file():
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)
        self.berth = self.start("--session", "work")
        told = "\n".join(self.run_command("true").notices)
        self.assertIn("exit 3; what it printed is not kept, since it may have secrets", told)

    def test_jobs_and_the_shell_have_them_and_the_machine_does_not(self):
        self.serve('env = ["GIVEN=1"]\n')
        job = self.run_command("sleep 0.2; echo job $GIVEN", background=True).data["job_id"]
        self.wait_until(lambda: "job 1" in self.call("bash_output", job_id=job).text, 10, "the job has it")
        other = self.start("--session", "work")
        self.assertEqual(other.call_tool("bash_exec", {"command": "echo [$GIVEN]"}).data["stdout"], "[]\n")

    def test_a_file_that_changes_holds_from_one_of_the_next_calls_on(self):
        self.serve('env = ["A=old"]\n')
        self.assertEqual(self.printed("A"), "old")
        self.file.write_text('env = ["A=new"]\n[read]\nlimit = 3\n[request]\nmax = "1MiB"\n')
        self.wait_until(lambda: self.printed("A") == "new", 10, "the new value holds")
        self.output("seq 9 > lines")
        self.assertEqual(self.call("read_file", path="lines").data["line_count"], 3)
        self.wait_until(lambda: "the settings file has changed" in self.berth.stderr, 5, "it is logged")
        self.assertRegex(self.berth.stderr, r'in_force="?env, read\.limit')
        self.assertRegex(self.berth.stderr, r'from_the_next_start="?request\.max')
        self.file.write_text('env = "\n')
        self.wait_until(lambda: self.printed("A") and "nothing of it holds" in self.berth.stderr, 10,
                        "the mistake is logged")
        self.assertEqual(self.printed("A"), "new")
