"""berth sessions adopt: a session's home goes on under another name."""

import json
import os

from suite import ParityTest, local_only


class AdoptionTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.output("echo mine > file; chmod 600 file")

    def adopt(self, what, *arguments, status=0):
        printed = self.command_line("sessions", "adopt", what, "--json", *arguments, status=status)
        return json.loads(printed) if printed else None

    def shown(self, session="work"):
        return json.loads(self.command_line("sessions", "show", session, "--json"))

    def name(self):
        (session,) = self.sessions()
        return session

    def go_on_as(self, *arguments, session="kept"):
        self.berth = self.start("--session", session, *arguments)
        self.assertEqual(self.output("cat file; echo more >> file; cat file"), "mine\nmine\nmore\n")

    def test_by_name_sandbox_or_key(self):
        for number, field in enumerate(("session", "sandbox_id", "key")):
            with self.subTest(field):
                self.berth.close()
                before = self.name()
                told = self.adopt(before[field], "--session", f"kept-{number}")
                self.assertEqual((told["from_session"], told["from"]),
                                 (before["session"], before["key"]))
                after = self.name()
                self.assertEqual((after["session"], after["key"]), (f"kept-{number}", told["key"]))
                self.assertEqual(after["home"], told["home"])
                self.berth = self.start("--session", f"kept-{number}")
                first = self.run_command("cat file")
                self.assertEqual(first.data["stdout"], "mine\n")
                self.assertIn("taken over from session", " ".join(first.notices))

    @local_only
    def test_its_files_are_its_own(self):
        """Also the host uid is: another session of the old name gets another."""
        self.berth.close()
        self.adopt("work", "--session", "kept")
        self.go_on_as()
        self.berth.close()
        self.berth = self.start("--session", "work")
        self.assertEqual(self.output("ls -A"), "")
        self.output("echo new > file")
        owners = [os.stat(session["home"] + "/file").st_uid for session in self.sessions()]
        self.assertEqual(len(owners), 2)
        if os.geteuid() == 0:
            self.assertEqual(len(set(owners)), 2)

    def test_a_machine_that_is_in_use_is_not_taken_away(self):
        # The server is connected.
        self.command_line("sessions", "adopt", "work", "--session", "kept", status=1)
        self.command_line("sessions", "adopt", "work", "--session", "kept", "--end-machine", status=1)
        self.assertEqual(self.output("cat file"), "mine\n")
        job = self.run_command("sleep 300", background=True)
        self.assertTrue(job.data["job_id"])
        self.assertRegex(self.command_line("sessions", "show", "work"), r"(?m)^clients: \d connection")
        self.berth.close()
        self.wait_until(lambda: self.shown()["clients"] == 0, 10, "the server has left")
        self.assertNotIn("clients:", self.command_line("sessions", "show", "work"))
        self.command_line("sessions", "adopt", "work", "--session", "kept", status=1)
        told = self.adopt("work", "--session", "kept", "--end-machine")
        self.assertTrue(told["ended_machine"])
        self.assertEqual(self.state.processes(), {})
        self.go_on_as()

    def test_a_refusal_takes_from_nobody_what_he_was_not_told_of(self):
        """Its own server's client has not asked for what its job came to, and leaves."""
        self.run_command("exit 4", background=True)
        self.wait_until(lambda: not self.shown()["jobs"], 10, "its end")
        for options in ((), ("--end-machine",)):
            self.command_line("sessions", "adopt", "work", "--session", "kept", *options, status=1)
        self.berth.close()
        self.berth = self.start("--session", "work")
        self.assertIn("exit 4", "\n".join(self.run_command("true").notices))

    @local_only
    def test_a_refusal_for_a_job_leaves_what_nobody_has_seen_where_it_is(self):
        self.run_command("sleep 300", background=True)
        pending = self.berth.call_async("bash_exec", {"command": "touch begun; sleep 1; echo whole; touch done; exit 4"})
        self.wait_until((self.home() / "begun").exists, 10, "it runs")
        self.berth.kill()
        del pending
        self.wait_until((self.home() / "done").exists, 10, "its end")
        self.wait_until(lambda: self.shown()["clients"] == 0, 10, "the server has left")
        self.wait_until(lambda: len(self.shown()["jobs"]) == 1, 10, "the other goes on")
        self.command_line("sessions", "adopt", "work", "--session", "kept", status=1)
        self.berth = self.start("--session", "work")
        (notice,) = self.run_command("true").notices
        self.assertRegex(notice, r"exit 4, and bash_output of job-\S+ has what it printed")

    def test_after_another_key_and_to_another_principal(self):
        self.berth.close()
        keyed = {"BERTH_SESSION_KEY": "{team}/{session}"}
        key = self.name()["key"]
        os.environ.update(keyed)
        try:
            told = self.adopt(key, "--session", "work", "--var", "team=red")
            self.assertEqual(told["session"], "work")
        finally:
            del os.environ["BERTH_SESSION_KEY"]
        self.berth = self.start("--session", "work", "--var", "team=red", env=keyed)
        self.assertEqual(self.output("cat file"), "mine\n")
        self.berth.close()
        key = self.name()["key"]
        os.environ["BERTH_PRINCIPAL"] = "bob"
        try:
            self.command_line("sessions", "adopt", key, "--session", "kept", status=1)
        finally:
            del os.environ["BERTH_PRINCIPAL"]
        self.adopt(key, "--session", "kept", "--principal", "bob")
        self.go_on_as("--principal", "bob")

    def test_one_that_there_is_stays(self):
        self.berth.close()
        self.berth = self.start("--session", "kept")
        self.output("echo theirs > file")
        self.command_line("sessions", "adopt", "work", "--session", "kept", status=1)
        self.assertEqual(self.output("cat file"), "theirs\n")
        told = self.adopt("never-there", "--session", "third", status=1)
        self.assertEqual(told["session"], "never-there")
        self.assertIn("and no home of that key", told["reason"])
        self.assertEqual(told["code"], "not_found")
        self.assertTrue(told["remedy"])
        self.command_line("sessions", "adopt", "work", status=2)

    def test_what_nobody_was_told_of_goes_with_the_home(self):
        self.run_command("mkfifo gate")
        pending = self.berth.call_async(
            "bash_exec", {"command": "echo b >begun; read line <gate; echo printed; exit 4"})
        home = self.home()
        self.wait_until((home / "begun").exists, 10, "it runs")
        self.berth.kill()
        del pending
        (home / "gate").write_text("\n")
        self.wait_until(lambda: not self.shown()["jobs"], 10, "its end")
        self.wait_until(lambda: self.shown()["clients"] == 0, 10, "the server has left")
        self.adopt("work", "--session", "kept")
        self.berth = self.start("--session", "kept")
        notices = self.run_command("true").notices
        self.assertEqual(len(notices), 3, notices)
        self.assertIn("exit 4; it printed at last:", notices[0])
        self.assertEqual(notices[1], "| printed")  # which is none of berth's own
        self.assertIn("taken over from session", notices[2])

    def test_who_takes_an_unnamed_session_is_told_what_nobody_was(self):
        """Whose server is there yet, and would have told it with the next call."""
        server = self.start()
        server.call_tool("bash_exec", {"command": "echo printed; exit 4", "background": True})
        server.call_tool("bash_exec", {"command": "sleep 300", "background": True})
        unnamed = next(each["session"] for each in self.sessions() if each["session"].startswith("unnamed-"))
        self.wait_until(lambda: len(self.shown(unnamed)["jobs"]) == 1, 10, "the end of one")
        self.adopt(unnamed, "--session", "kept", "--end-machine")
        kept = self.start("--session", "kept")
        told = "\n".join(kept.call_tool("bash_exec", {"command": "true"}).notices)
        self.assertIn("exit 4; it printed at last:", told)
        self.assertIn("sleep 300", told)
        kept.close()
        server.close()

    def test_an_unnamed_session_is_taken_from_its_server(self):
        server = self.start()
        made = server.call_tool("bash_exec", {"command": "echo mine > file"})
        self.assertEqual(made.data["exit_code"], 0, made)
        unnamed = next(each["session"] for each in self.sessions()
                       if each["session"].startswith("unnamed-"))
        self.command_line("sessions", "adopt", unnamed, "--session", "kept", status=1)
        self.adopt(unnamed, "--session", "kept", "--end-machine")
        self.go_on_as()
        # Its server goes on with a fresh one, and takes nothing with it when it ends.
        fresh = server.call_tool("bash_exec", {"command": "ls"})
        self.assertEqual(fresh.data["stdout"], "", fresh)
        self.assertEqual(len(fresh.notices), 1, fresh)
        self.assertIn("deleted its files or gave them to another session", fresh.notices[0])
        server.close()
        self.assertEqual(self.output("cat file"), "mine\nmore\n")

    def test_a_home_that_no_book_knows(self):
        self.berth.close()
        session = self.name()
        self.command_line("sessions", "kill", "work")
        os.unlink(f"{self.state.path}/sessions/{session['key']}/record.json")
        self.assertEqual(self.sessions(), [])
        self.command_line("sessions", "adopt", session["key"], "--session", "kept", status=1)
        self.adopt(session["key"], "--session", "kept", "--principal", session["principal"])
        self.go_on_as("--principal", session["principal"])
