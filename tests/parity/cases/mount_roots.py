"""What profiles may mount: allowed_mount_roots, default_workspace."""

import json
import os
import pathlib
import subprocess
import tempfile

from suite import ParityTest, binary_path, local_only, BACKENDS, backend


@local_only
class MountRootsTest(ParityTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-roots-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.root = pathlib.Path(folder.name).resolve() / "srv"
        self.root.mkdir()
        self.file = pathlib.Path(folder.name) / "berth.toml"

    def write(self, roots, profile):
        self.file.write_text((f'allowed_mount_roots = ["{self.root}"]\n' if roots else "") +
                             f'profile = "team"\n[profiles.team]\n{profile}\n')

    def serve(self, session):
        self.berth = self.start("--session", session, "--config", str(self.file))

    def test_each_session_has_its_workspace(self):
        self.write(True, f'default_workspace = "{self.root}/{{session}}"')
        self.serve("one")
        self.assertEqual(self.output("echo of one > /workspace/file; ls /workspace"), "file\n")
        self.call("write_file", path="/workspace/more", content="x")
        self.serve("../two")
        self.assertEqual(self.output("ls /workspace"), "")
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), ["%2E.%2Ftwo", "one"])
        self.assertEqual((self.root / "one" / "file").read_text(), "of one\n")
        listed = json.loads(self.command_line("sessions", "list", "--json", "--config", str(self.file)))
        self.assertEqual(len(listed), 2)  # though who lists has no session's name for the path
        shown = json.loads(self.command_line("config", "--json", "--config", str(self.file)))
        self.assertEqual(shown["default_workspace"]["value"], f"{self.root}/{{session}}")
        self.command_line("sessions", "kill", "one", "--purge", "--config", str(self.file))
        self.assertEqual((self.root / "one" / "more").read_text(), "x")

    def test_a_workspace_that_has_gone_is_made_for_the_next_machine(self):
        self.write(True, f'default_workspace = "{self.root}/{{session}}"')
        self.serve("one")
        self.output("true")
        self.command_line("sessions", "kill", "one", "--config", str(self.file))
        (self.root / "one").rmdir()
        self.assertEqual(self.output("echo x > /workspace/file; ls /workspace"), "file\n")
        self.assertEqual((self.root / "one" / "file").read_text(), "x\n")

    def test_a_workspace_that_cannot_be_made_again_is_told_and_made_when_it_can(self):
        """Whoever may write below the root could put a link there, to what he may not write."""
        self.write(True, f'default_workspace = "{self.root}/{{session}}"')
        self.serve("one")
        self.output("true")
        elsewhere = self.root.parent / "elsewhere"
        elsewhere.mkdir()
        self.command_line("sessions", "kill", "one", "--config", str(self.file))
        for gone, put in (((self.root / "one").rmdir, lambda: (self.root / "one").symlink_to(elsewhere)),
                          ((self.root / "one").unlink, lambda: self.root.rename(f"{self.root}.away"))):
            gone()
            put()
            said = self.refused("sandbox_unavailable", "bash_exec", command="touch /workspace/file").text
            self.assertIn(str(self.root), said)
        self.assertEqual(list(elsewhere.iterdir()), [])
        pathlib.Path(f"{self.root}.away").rename(self.root)
        self.assertEqual(self.output("echo x > /workspace/file; ls /workspace"), "file\n")

    def test_a_workspace_that_may_only_be_read_can_be(self):
        self.write(True, f'default_workspace = "{self.root}/{{session}}"\nmount_mode = "ro"')
        self.serve("one")
        (self.root / "one" / "file").write_text("of the host\n")
        self.assertEqual(self.output("ls /workspace; cat /workspace/file"), "file\nof the host\n")
        self.assertNotEqual(self.run_command("touch /workspace/more").data["exit_code"], 0)

    def test_a_workspace_that_cannot_be_read_is_refused(self):
        self.write(True, f'default_workspace = "{self.root}/{{session}}"\nmount_mode = "ro"')
        (self.root / "one").mkdir(0o700)
        if os.geteuid() != 0:  # commands run as the folder's owner
            self.serve("one")
            self.assertEqual(self.output("ls /workspace"), "")
            return
        self.assertIn(f"`chmod o+rx {self.root}/one`", self.not_served("--session", "one"))

    def not_served(self, *arguments):
        """What a server says that does not start."""
        ended = subprocess.run([binary_path(BACKENDS[backend()]), "serve", "--config", str(self.file),
                                *arguments],
                               env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)},
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertNotEqual(ended.returncode, 0)
        return ended.stderr

    def test_without_roots_a_profile_mounts_nothing(self):
        self.write(False, f'mount = ["{self.root}:/mnt/srv"]')
        said = self.not_served()
        self.assertIn("profiles may mount nothing, since no allowed_mount_roots are given", said)
        self.assertIn("lists the folders below which it may be", said)
