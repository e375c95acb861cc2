"""Files that programs outside of the sandbox obey: a change to one is told in its call's result."""

import time

from suite import ParityTest


class ProtectedTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.place = self.output("pwd").strip()

    def names(self, result):
        """{(the path from the home on, what became of it, when)}."""
        return {(change["path"].removeprefix(self.place + "/"), change["change"], change["when"])
                for change in result.data.get("protected_changes", ())}

    def test_what_commands_change(self):
        told = self.run_command("mkdir -p .git/hooks sub && cd sub && echo x >CLAUDE.md && "
                                "echo x >~/.git/hooks/pre-commit && echo x >~/.git/hooks/pre-push.sample; "
                                "echo x >~/notes.md")
        self.assertEqual({name for name, _, when in self.names(told) if when == "during"},
                         {"sub/CLAUDE.md", ".git/hooks/pre-commit"}, told)
        self.assertRegex(told.text, r"^\[berth\] protected files, which programs outside of the sandbox may "
                                    r"obey, were changed by this call or while it ran: .*pre-commit \(created\)")
        self.assertEqual(self.names(self.run_command("true")), set())
        told = self.run_command("mv CLAUDE.md x; cp -p x CLAUDE.md; rm ~/.git/hooks/pre-commit")
        self.assertEqual(self.names(told), {("sub/CLAUDE.md", "changed", "during"),
                                            (".git/hooks/pre-commit", "removed", "during")})
        self.assertEqual(self.names(self.run_command("cat CLAUDE.md")), set())

    def test_what_a_job_changes_is_told_with_the_next_command(self):
        job = self.run_command("touch started; until [ -e go ]; do sleep 0.02; done; echo x >.mcp.json; sleep 1000",
                               background=True)
        self.output("until [ -e started ]; do sleep 0.02; done")
        told = self.run_command("touch go; until [ -e .mcp.json ]; do sleep 0.02; done")
        self.assertEqual(self.names(told), {(".mcp.json", "created", "during")})
        self.call("bash_kill", job_id=job.data["job_id"])
        job = self.run_command("echo more >>.mcp.json; echo done", background=True)
        self.wait_until(lambda: "done" in self.call("bash_output", job_id=job.data["job_id"]).text, 20, "its end")
        time.sleep(0.05)  # what comes within some ticks of the kernel's clock is told as during the command
        told = self.run_command("true")
        self.assertEqual(self.names(told), {(".mcp.json", "changed", "before")})
        self.assertIn("before this call, by a job or from outside", told.text)
        self.assertEqual(self.names(self.run_command("true")), set())

    def test_what_tools_change(self):
        told = self.call("write_file", path="deep/folder/CLAUDE.md", content="one\n")
        self.assertEqual(self.names(told), {("deep/folder/CLAUDE.md", "created", "during")})
        self.assertIn("CLAUDE.md (created)", told.text)
        told = self.call("edit_file", path="deep/folder/CLAUDE.md", old_text="one", new_text="two", dry_run=True)
        self.assertEqual(self.names(told), set())
        told = self.call("edit_file", path="deep/folder/CLAUDE.md", old_text="one", new_text="two")
        self.assertEqual(self.names(told), {("deep/folder/CLAUDE.md", "changed", "during")})
        self.output("ln -s deep/folder/CLAUDE.md link.md")
        told = self.call("edit_file", patch="*** Begin Patch\n*** Add File: .zshrc\n+x\n"
                         "*** Delete File: deep/folder/CLAUDE.md\n*** End Patch\n")
        self.assertEqual(self.names(told), {(".zshrc", "created", "during"),
                                            ("deep/folder/CLAUDE.md", "removed", "during")})
        told = self.call("write_file", path="link.md", content="x")
        self.assertEqual(self.names(told), {("deep/folder/CLAUDE.md", "created", "during")})
        self.assertEqual(self.names(self.call("write_file", path="notes.md", content="x")), set())
        self.assertEqual(self.names(self.run_command("true")), set())


class RefusedTest(ParityTest):
    environment = {"BERTH_PROTECTED_ACTION": "refuse", "BERTH_PROTECTED_PATHS": "agent/,~/rc"}

    def test_tools_are_refused_and_commands_told(self):
        for tool, arguments in {
                "write_file": {"path": "deep/agent/settings.json", "content": "x"},
                "edit_file": {"path": "~/rc", "old_text": "", "new_text": "x"}}.items():
            refused = self.refused("permission_denied", tool, **arguments)
            self.assertIn("is protected here", refused.text)
        self.refused("permission_denied", "edit_file", patch="*** Begin Patch\n*** Add File: other\n+x\n"
                     "*** Add File: rc\n+x\n*** End Patch\n")
        self.assertEqual(self.output("ls"), "")
        self.assertNotIn("protected_changes", self.call("write_file", path="CLAUDE.md", content="x").data)
        self.output("ln -s rc harmless")
        self.refused("permission_denied", "write_file", path="harmless", content="x")
        told = self.run_command("echo x >rc")
        self.assertEqual([change["change"] for change in told.data["protected_changes"]], ["created"])


class UnprotectedTest(ParityTest):
    environment = {"BERTH_PROTECTED_ACTION": "off"}

    def test_nothing_is_said(self):
        told = self.run_command("echo x >CLAUDE.md")
        self.assertNotIn("protected_changes", told.data)
        self.assertNotIn("protected_changes", self.call("write_file", path="CLAUDE.md", content="y").data)
