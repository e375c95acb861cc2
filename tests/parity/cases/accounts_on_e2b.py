"""A key that does not see a sandbox has no word on whether it is there: E2B says the same 404 of both."""

import json

import e2b
from suite import ParityTest, e2b_only

ANOTHER, SAME = "e2b_" + "1" * 40, "e2b_" + "2" * 40


@e2b_only
class AccountsOnE2bTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(e2b.emulator().settings, other_keys={})
        e2b.emulator().settings(other_keys={ANOTHER: "another", SAME: ""})

    def account(self):
        """As the books have it."""
        (record,) = self.state.path.glob("sessions/*/record.json")
        return json.loads(record.read_text())["machine"]["home"]["account"]

    def with_key(self, key, **more):
        return self.start("--session", "work", env={"E2B_API_KEY": key, **more})

    def vanish(self):
        (box,) = e2b.boxes()
        self.berth.close()
        e2b.emulator().do(box, "vanish")
        return box

    def test_another_team_s_key_replaces_and_forgets_nothing(self):
        self.output("echo kept >file")
        (box,) = e2b.boxes()
        self.berth.close()
        self.berth = self.with_key(ANOTHER)
        for tool, arguments in (("bash_exec", {"command": "true"}), ("read_file", {"path": "file"})):
            found = self.refused("sandbox_unavailable", tool, **arguments)
            self.assertIn(box, found.error["message"])
            self.assertIn("BERTH_E2B_SAME_ACCOUNT", found.error["hint"])
        wrong = {"E2B_API_KEY": ANOTHER}
        for command in (("kill", "work", "--purge"), ("kill", "work"), ("pause", "work"), ("resume", "work")):
            with self.subTest(command):
                said = json.loads(self.command_line("sessions", *command, "--json", status=1, env=wrong))
                self.assertEqual(said["code"], "sandbox_unavailable", said)
        self.done("sessions", "gc", "--homes-older-than", "0s", env=wrong)
        self.assertEqual(e2b.boxes(), [box])
        self.berth.close()
        self.berth = self.start("--session", "work")
        self.assertEqual(self.output("cat file"), "kept\n")

    def test_another_key_of_the_team_goes_on_with_it(self):
        self.output("echo kept >file")
        self.berth.close()
        self.berth = self.with_key(SAME)
        self.assertEqual(self.output("cat file"), "kept\n")

    def test_a_sandbox_that_is_gone_is_told_so_by_whoever_has_made_it(self):
        self.output("true")
        gone = self.vanish()
        self.berth = self.start("--session", "work")
        self.assertTrue(any("not there any more" in line for line in self.run_command("true").notices))
        self.assertNotEqual(e2b.boxes(), [gone])

    def test_an_operator_says_that_a_key_was_replaced(self):
        self.output("true")
        account = self.account()
        self.vanish()
        self.berth = self.with_key(SAME)
        found = self.refused("sandbox_unavailable", "bash_exec", command="true")
        self.assertIn(f"BERTH_E2B_SAME_ACCOUNT={account} ", found.error["hint"])
        self.berth.close()
        self.berth = self.with_key(SAME, BERTH_E2B_SAME_ACCOUNT=account)
        self.assertTrue(any("not there any more" in line for line in self.run_command("true").notices))
        self.assertNotEqual(self.account(), account)
        self.vanish()
        self.command_line("sessions", "kill", "work", "--purge", env={"E2B_API_KEY": SAME})

    def test_what_is_no_account_stops_the_start_and_is_not_quoted(self):
        key = "e2b_" + "3" * 40
        said = self.command_line("config", "--json", status=2, env={"BERTH_E2B_SAME_ACCOUNT": key})
        self.assertIn("BERTH_E2B_SAME_ACCOUNT", said)
        self.assertNotIn(key, said)
