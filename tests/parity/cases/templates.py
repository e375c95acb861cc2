"""--template: a sandbox whose programs are those of a folder, and not the host's."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import template_maker
from suite import ParityTest, binary_path, local_only


class TemplateCase(ParityTest):
    merged = True
    arguments = ()

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="berth-template-")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        cls.folder = pathlib.Path(folder.name).resolve()
        cls.template = template_maker.make(cls.folder / "small", cls.merged)

    def setUp(self):
        super().setUp()
        self.berth = self.start("--session", "small", "--template", str(self.template))

    def copy(self, name):
        """Of the template, for a test that changes it."""
        self.addCleanup(shutil.rmtree, self.folder / name, ignore_errors=True)
        return pathlib.Path(shutil.copytree(self.template, self.folder / name, symlinks=True))

    def run_berth(self, *arguments):
        return subprocess.run([binary_path(), *arguments], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)},
                              stdin=subprocess.DEVNULL, check=False)

    def check_programs(self):
        self.assertEqual(self.output("cat /usr/share/of-the-template; id -un"), "here\nuser\n")
        self.assertEqual(self.output("ls /usr/share"), "of-the-template\n")
        self.assertEqual(self.run_command("type python3 cc perl").data["stdout"], "")
        self.assertEqual(self.output("readlink -f /bin/sh").strip()[-9:], "/bin/bash")


@local_only
class MergedTest(TemplateCase):
    def test_the_programs_are_the_template_s(self):
        self.check_programs()
        for name in ("opt/tool/file", "nix/store/file", "var/lib/dpkg/status"):
            self.assertEqual(self.call("read_file", path="/" + name, line_numbers=False).data["content"],
                             template_maker.FILES[name], name)
        self.assertEqual(self.output("ls /root /mnt /srv"), "/mnt:\n\n/root:\n\n/srv:\n")

    def test_etc_is_the_template_s_without_users_and_secrets(self):
        for name in ("alternatives/tool", "debian_version", "os-release", "ssh/ssh_config",
                     "ssl/certs/one.pem"):
            self.assertEqual(self.output(f"cat /etc/{name}"), template_maker.FILES["etc/" + name])
        self.assertEqual(self.output("ls /etc/ssl /etc/ssh"), "/etc/ssh:\nssh_config\n\n/etc/ssl:\ncerts\n")
        self.assertEqual(self.run_command("ls /etc/shadow /etc/gshadow").data["stdout"], "")
        self.assertEqual(self.output("grep -c . /etc/passwd; grep ^user: /etc/passwd"),
                         "3\nuser:x:1000:1000:user:/home/user:/bin/bash\n")
        self.assertIn("localhost", self.output("cat /etc/hosts"))
        self.assertIn("has one user", self.run_command("sudo true").data["stderr"])

    def test_only_what_is_the_session_s_can_be_written(self):
        for folder in ("/usr/share", "/usr/bin", "/etc", "/etc/ssl/certs", "/opt", "/var/lib/dpkg", "/nix"):
            self.assertNotEqual(self.run_command(f"touch {folder}/new").data["exit_code"], 0, folder)
        self.output("touch ~/a /tmp/a /var/tmp/a /run/a")
        self.call("write_file", path="a", content="one\ntwo\n")
        self.assertEqual(self.call("grep_files", pattern="two").data["total_matches"], 1)
        self.assertEqual(self.output("cat a"), "one\ntwo\n")

    def test_it_is_named(self):
        self.output("true")
        info = self.call("session_info")
        self.assertEqual(info.data["template"], str(self.template))
        self.assertIn(f"template: {self.template}\n", info.text)
        self.assertIn(f"own root; the template {self.template} read-only", info.text)
        self.assertIn(f"template: {self.template}\n", self.command_line("sessions", "show", "small"))
        config = json.loads(self.command_line("config", "--json", "--template", str(self.template)))
        self.assertEqual(config["template"], {"value": str(self.template), "origin": "flag --template"})
        self.assertIn(f"the template {self.template}, not the host's",
                      self.berth.initialize_result["instructions"])

    def test_the_doctor_tries_it(self):
        done = self.run_berth("doctor", "--json", "--template", str(self.template))
        checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
        self.assertTrue(checks["mountns"]["ok"], done.stdout)
        self.assertTrue(checks["nested-userns"]["ok"], done.stdout)
        broken = self.copy("broken")
        (broken / "bin" / "bash").unlink()
        done = self.run_berth("doctor", "--template", str(broken))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"template {broken}: /bin/bash is missing in it", done.stdout)

    def test_what_is_changed_on_the_host_is_seen(self):
        changed = self.copy("changed")
        self.berth = self.start("--session", "changed", "--template", str(changed))
        self.output("true")
        template_maker.write(changed, "etc/later", "later\n")
        template_maker.write(changed, "usr/share/later", "later\n")
        self.assertEqual(self.output("cat /usr/share/later"), "later\n")
        self.command_line("sessions", "kill", "changed")
        self.assertEqual(self.output("cat /etc/later"), "later\n")


@local_only
class UnmergedTest(TemplateCase):
    merged = False

    def test_the_programs_are_the_template_s(self):
        self.check_programs()
        self.assertEqual(self.run_command("touch /bin/new /lib/new /lib64/new").data["exit_code"], 1)


@local_only
class HostileTemplateTest(TemplateCase):
    """Whoever wrote the template controls what runs inside, and nothing else."""

    def test_its_links_lead_nowhere_on_the_host(self):
        outside = self.folder / "outside"
        template_maker.write(outside, "secret", "secret\n")
        self.addCleanup(shutil.rmtree, outside)
        hostile = self.copy("hostile")
        for name in ("opt", "nix", "var/lib", "etc/ssl", "etc/alternatives"):
            shutil.rmtree(hostile / name)
            (hostile / name).symlink_to(outside)
        (hostile / "var" / "cache").symlink_to("../../outside")
        for name in ("etc/file", "etc/hosts.allow", "usr/share/file"):
            (hostile / name).symlink_to(outside / "secret")
        (hostile / "srv").symlink_to(outside)
        self.berth = self.start("--session", "hostile", "--template", str(hostile))
        self.output("true")
        for path in ("/opt", "/nix", "/var/lib", "/var/cache", "/etc/ssl", "/etc/alternatives", "/srv"):
            self.assertNotIn("secret", self.run_command(f"ls {path}/").data["stdout"], path)
        for path in ("/etc/file", "/etc/hosts.allow", "/usr/share/file"):
            self.assertNotEqual(self.run_command(f"cat {path}").data["exit_code"], 0, path)
        self.assertEqual(self.output("readlink /etc/file"), f"{outside}/secret\n")

    def test_a_usr_or_etc_that_is_a_link_is_not_followed(self):
        hostile = self.copy("linked")
        os.rename(hostile / "etc", self.folder / "moved-etc")
        self.addCleanup(shutil.rmtree, self.folder / "moved-etc")
        (hostile / "etc").symlink_to("../moved-etc")
        self.berth = self.start("--session", "linked", "--template", str(hostile))
        self.assertEqual(self.run_command("ls /etc/debian_version").data["stdout"], "")
        os.rename(hostile / "usr", self.folder / "moved-usr")
        self.addCleanup(shutil.rmtree, self.folder / "moved-usr")
        (hostile / "usr").symlink_to(self.folder / "moved-usr")
        self.command_line("sessions", "kill", "linked")
        self.assertIn("/bin/bash is missing", self.refused("sandbox_unavailable", "bash_exec",
                                                           command="true").text)

    def test_it_may_not_be_berth_s_own_nor_be_written_from_inside(self):
        for arguments, word in (
                (("--template", str(self.state.path)), "berth's own folder"),
                (("--template", str(self.state.path.parent)), "berth's own folder"),
                (("--mount", f"{self.template}/usr:/mnt/it:rw"), "could be changed from inside"),
                (("--mount", f"{self.folder}:/mnt/it:rw"), "could be changed from inside"),
                (("--mount", f"{self.folder}:/var/lib/new/one:ro"), "lies in the read-only template's")):
            if arguments[0] == "--mount":
                arguments = ("--template", str(self.template), *arguments)
            done = self.run_berth("call", "bash_exec", '{"command":"true"}', *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(word, done.stderr)

    def test_a_bind_mount_of_it_is_not_written_from_inside_either(self):
        outer = self.folder / "outer"
        (outer / "inner").mkdir(parents=True)
        self.addCleanup(shutil.rmtree, outer)
        if os.geteuid() == 0:  # another has no mounts of his own
            subprocess.run(["mount", "--bind", self.template / "usr", outer / "inner"], check=True)
            self.addCleanup(subprocess.run, ["umount", outer / "inner"], check=True)
        done = self.run_berth("config", "--template", str(self.template), "--mount", f"{outer}:/mnt/it:rw")
        self.assertEqual(done.returncode, 2 if os.geteuid() == 0 else 0, done)
        self.assertEqual("could be changed from inside" in done.stderr, os.geteuid() == 0)

    def test_of_root_one_that_others_may_write_to_is_refused(self):
        loose = self.copy("loose")
        (loose / "usr").chmod(0o777)
        done = self.run_berth("config", "--template", str(loose))
        self.assertEqual(done.returncode, 2 if os.geteuid() == 0 else 0, done)
        if os.geteuid() == 0:
            self.assertIn(f"{loose}/usr may be written to by everybody", done.stderr)
            os.chown(loose / "usr", 65534, 65534)
            (loose / "usr").chmod(0o755)
            self.assertIn("by uid 65534", self.run_berth("config", "--template", str(loose)).stderr)


@local_only
class WrongTemplateTest(TemplateCase):
    def test_one_that_is_none(self):
        (self.folder / "file").write_text("")
        empty = self.folder / "empty"
        empty.mkdir()
        for value, word in ((str(empty), "/bin/bash is missing in it"),
                            (str(self.folder / "none"), "No such file or directory"),
                            (str(self.folder / "file"), "it is not a folder"),
                            ("debian-12", "it is not an absolute path"), ("/proc", "of the kernel")):
            for command in (("config",), ("serve",)):
                done = self.run_berth(*command, "--template", value)
                self.assertEqual(done.returncode, 2, (value, done))
                self.assertIn(word, done.stderr)
                self.assertIn("flag --template", done.stderr)
        # Who only looks is not kept from it.
        self.assertEqual(self.run_berth("sessions", "list", "--template", str(empty)).returncode, 0)

    def test_one_that_loses_its_shell_while_a_server_runs(self):
        broken = self.copy("broken")
        self.berth = self.start("--session", "broken", "--template", str(broken))
        (broken / "bin" / "bash").unlink()
        told = self.refused("sandbox_unavailable", "bash_exec", command="true").text
        self.assertIn(f"template {broken}: /bin/bash is missing in it", told)

    def test_profiles_name_one_below_the_roots_alone(self):
        file = self.folder / "berth.toml"
        for roots, word in (((), "profiles may mount nothing"),
                            ((str(self.folder / "other"),), "below none of"), ((str(self.folder),), "")):
            file.write_text(f"allowed_mount_roots = {json.dumps(roots)}\nprofile = 'small'\n"
                            f"[profiles.small]\ntemplate = '{self.template}'\nlocked = ['template']\n")
            done = self.run_berth("config", "--config", str(file))
            self.assertEqual(done.returncode, 2 if word else 0, done)
            self.assertIn(word, done.stderr)
        done = self.run_berth("config", "--config", str(file), "--template", str(self.folder))
        self.assertIn("has locked", done.stderr)
        self.berth = self.start("--session", "of-profile", "--config", str(file))
        self.check_programs()


@local_only
class ReplacedTemplateTest(TemplateCase):
    def come(self, *arguments):
        self.berth.close()
        self.berth = self.start("--session", "small", *arguments)

    def test_another_replaces_a_machine_that_nobody_uses(self):
        self.output("echo mine > file")
        other = self.copy("other")
        template_maker.write(other, "usr/share/other", "other\n")
        self.come("--template", str(other))
        result = self.run_command("cat file /usr/share/other")
        self.assertEqual(result.data["stdout"], "mine\nother\n")
        self.assertIn("files in the home are kept", result.notices[0])
        # Who asks for nothing takes it as it is, and is told of it as it is.
        self.come()
        self.assertEqual(self.run_command("cat /usr/share/other").notices, [])
        self.assertEqual(self.call("session_info").data["template"], str(other))
        # Nobody's.
        self.come("--template", "")
        self.assertEqual(self.run_command("ls /usr/share/other").data["exit_code"], 2)
        self.assertEqual(self.call("session_info").data["template"], "")

    def test_one_that_is_used_is_told_as_different(self):
        job = self.run_command("sleep 100", background=True).data["job_id"]
        self.come("--template", str(self.copy("other")))
        (told,) = self.run_command("true").notices
        self.assertIn("(template)", told)
        self.assertEqual([entry["job_id"] for entry in self.call("session_info").data["jobs"]], [job])

    def test_a_folder_put_in_its_place_is_told(self):
        moved = self.copy("moved")
        self.berth = self.start("--session", "moved", "--template", str(moved))
        self.output("true")
        os.rename(moved, self.folder / "away")
        self.addCleanup(shutil.rmtree, self.folder / "away")
        self.copy("moved")
        (told,) = self.run_command("true").notices
        self.assertIn(f"deleted or replaced what is mounted from {moved}", told)
