"""A settings file that changes while the server runs, and what of it the living machine gets."""

import json
import os
import pathlib
import subprocess
import tempfile
import time

import e2b
from suite import ParityTest, e2b_only, local_only, sandboxes_only

e2b  # the path of what follows
from client import api  # noqa: E402

MEBIBYTE = 1024 * 1024


class ReloadCase(ParityTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-settings-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.chmod(folder.name, 0o777)  # whoever the server is, its sandboxes may write to what is mounted
        self.file = self.folder / "berth.toml"

    def serve(self, text, *arguments):
        self.file.write_text(text)
        self.berth = self.start("--session", "work", "--config", str(self.file), *arguments)

    def told(self):
        return self.berth.stderr.count("the settings file has changed")

    def change(self, text):
        """And has it noticed: by calls, once a second. What the agent was told meanwhile."""
        before = self.told()
        notices = []

        def is_told():
            result = self.berth.call_tool("bash_exec", {"command": "true"})
            notices.extend([] if result.is_error else result.notices)
            return self.told() > before
        self.file.write_text(text)
        self.wait_until(is_told, 10, "the change is logged")
        is_told()  # what cannot be changed is told by the next call, where the machine has to be asked
        return notices

    def sandbox_id(self):
        return self.call("session_info").data["sandbox_id"]

    def limits(self):
        return self.call("session_info").data["limits"]

    def mounted(self, *names, mode="rw"):
        """Folders that are /mnt/NAME in the sandbox, as a line of settings."""
        for name in names:
            (self.folder / name).mkdir(exist_ok=True)
            os.chmod(self.folder / name, 0o777)
        return "mount = [" + ", ".join(f'"{self.folder}/{name}:/mnt/{name}:{mode}"' for name in names) + "]\n"


class LiveTermsTest(ReloadCase):
    def test_limits_and_times_of_the_living_machine(self):
        self.serve('[session]\njobs = 1\nquota = "8MiB"\nidle_pause = "10min"\nttl = "2h"\n[local]\nnofile = 300\n')
        job = self.run_command("sleep 100", background=True).data["job_id"]
        self.refused("busy", "bash_exec", command="sleep 100", background=True)
        self.output("head -c 6M /dev/urandom > data")
        self.refused("quota_exceeded", "write_file", path="more", content="x" * 4 * MEBIBYTE)
        machine = self.sandbox_id()
        self.change('[session]\njobs = 2\nquota = "16MiB"\nidle_pause = "50s"\nttl = "90s"\n[local]\nnofile = 400\n')
        self.assertRegex(self.berth.stderr, r'in_force="?local.nofile, session.idle_pause, session.jobs, '
                                            r'session.quota, session.ttl')
        self.assertEqual(self.run_command("sleep 100", background=True).notices, [])
        self.call("write_file", path="more", content="x" * 4 * MEBIBYTE)
        self.assertEqual(self.output("ulimit -n"), "400\n")
        found = self.call("session_info").data
        self.assertEqual(found["quota"]["limit_bytes"], 16 * MEBIBYTE)
        self.assertEqual(found["sandbox_id"], machine)
        self.assertIn(job, [entry["job_id"] for entry in found["jobs"]])
        shown = json.loads(self.command_line("sessions", "show", "work", "--json"))
        self.assertEqual(shown["limits"]["open_files"], 400)

    def test_what_is_taken_out_of_the_file_is_its_default_again(self):
        self.serve("[local]\nnofile = 300\n")
        self.assertEqual(self.output("ulimit -n"), "300\n")
        self.change("# nothing\n")
        self.assertEqual(self.output("ulimit -n"), "4096\n")
        self.assertEqual(self.limits()["open_files"], 4096)

    def test_the_profile_in_force_and_what_it_locks(self):
        profile = '[profiles.ci]\nlocal.nofile = {}\nlocked = ["local.nofile"]\n'
        self.serve(profile.format(300), "--profile", "ci")
        self.assertEqual(self.output("ulimit -n"), "300\n")
        self.change(profile.format(200))
        self.assertEqual(self.output("ulimit -n"), "200\n")
        # A maximum cuts what the file says besides.
        self.change("[profiles.ci.max]\nlocal.nofile = 100\n[local]\nnofile = 500\n")
        self.assertEqual(self.output("ulimit -n"), "100\n")

    def test_a_flag_still_comes_first(self):
        self.environment = {"BERTH_LOCAL_NOFILE": "250"}
        self.serve("")
        self.change("[local]\nnofile = 300\n[read]\nlimit = 3\n")
        self.assertEqual(self.output("ulimit -n"), "250\n")

    def test_a_file_that_is_wrong_for_a_machine_changes_nothing(self):
        self.serve("[local]\nnofile = 300\n")
        self.output("true")
        for wrong in ('template = "/nowhere"\n', 'mount = ["/nowhere:/mnt/x"]\n', "[local]\nnofile = 1\n"):
            with self.subTest(wrong):
                before = self.berth.stderr.count("nothing of it holds")
                self.file.write_text(wrong)
                self.wait_until(lambda: self.call("session_info")
                                and self.berth.stderr.count("nothing of it holds") > before, 10, "it is logged")
                self.assertEqual(self.output("ulimit -n"), "300\n")

    def test_what_is_said_for_the_first_time_is_asked_for(self):
        """Also where it is the default: another server has made the machine with something else."""
        self.berth = self.start("--session", "work", env={"BERTH_LOCAL_NOFILE": "300"})
        self.assertEqual(self.output("ulimit -n"), "300\n")
        self.serve("")
        self.assertEqual(self.output("ulimit -n"), "300\n")
        self.change("[local]\nnofile = 4096\n")
        self.assertEqual(self.output("ulimit -n"), "4096\n")

    def second(self, text):
        """Another server of the session, with a file of its own."""
        other = self.folder / "other.toml"
        other.write_text(text)
        return other, self.start("--session", "work", "--config", str(other))

    def test_the_last_word_counts(self):
        self.serve("[local]\nnofile = 200\n")
        self.assertEqual(self.output("ulimit -n"), "200\n")
        other, second = self.second("")
        second.call_tool("session_info")
        other.write_text("[local]\nnofile = 500\n")
        self.wait_until(lambda: second.call_tool("bash_exec", {"command": "ulimit -n"}).data["stdout"] == "500\n", 10,
                        "the other's word holds")
        self.change("[local]\nnofile = 300\n")
        self.assertEqual(self.output("ulimit -n"), "300\n")

    @sandboxes_only
    def test_two_files_that_change_at_once(self):
        self.serve("")
        self.output("true")
        other, second = self.second("")
        second.call_tool("bash_exec", {"command": "true"})
        for number in range(300, 305):
            self.file.write_text(f"[local]\nnofile = {number}\n")
            other.write_text(f"[local]\npids = {number}\n")
            time.sleep(1.6)  # both look with their next call
            calls = [server.call_async("bash_exec", {"command": "true"}) for server in (self.berth, second)]
            notices = [notice for call in calls for notice in call.result(20).notices]
            self.assertEqual(notices, [])
            self.assertEqual(self.output("ulimit -n"), f"{number}\n")
            self.assertEqual(self.limits()["pids"], number)

    @local_only
    def test_a_limit_that_cannot_be_set_now_is_set_later(self):
        self.serve("[local]\npids = 100\n")
        job = self.run_command("for i in $(seq 20); do sleep 100 & done; wait", background=True).data["job_id"]
        self.wait_until(lambda: int(self.output("ps -e | grep -c sleep || :")) >= 20, 10, "all are there")
        told = self.change("[local]\npids = 15\n") + self.run_command("true").notices
        self.assertEqual(len(told), 1, told)
        self.assertIn("(local.pids)", told[0])
        self.call("bash_kill", job_id=job)
        self.wait_until(lambda: self.run_command("true") and self.limits()["pids"] == 15, 20, "it is set")

    def test_setup_is_of_machines_that_are_made_from_then_on(self):
        self.serve("")
        self.output("true")
        self.change('[session]\nsetup = ["echo made >~/set-up"]\n')
        self.assertEqual(self.output("ls"), "")
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.output("cat set-up"), "made\n")


@local_only
class ReplacedTest(ReloadCase):
    def test_another_mount_is_another_machine_with_the_same_home(self):
        self.serve(self.mounted("a"))
        self.output("echo kept >file; echo there >/mnt/a/file; touch /tmp/gone")
        told = self.change(self.mounted("a", "b"))
        result = self.run_command("cat file /mnt/a/file; ls /mnt; ls /tmp")
        self.assertEqual(result.data["stdout"], "kept\nthere\na\nb\n")
        (told,) = told + result.notices
        self.assertIn("made with other settings than are asked for now", told)
        self.assertEqual(self.run_command("true").notices, [])
        self.assertEqual(len(self.living_guests()), 1)

    def test_a_look_replaces_nothing(self):
        self.serve("")
        self.output("true")
        guests, before = self.living_guests(), self.told()
        self.file.write_text(self.mounted("a"))
        self.wait_until(lambda: self.call("session_info") and self.told() > before, 10, "the change is logged")
        self.assertEqual(self.call("session_info").notices, [])
        self.assertEqual(self.living_guests(), guests)
        self.assertEqual(self.output("ls /mnt"), "a\n")

    def test_one_with_a_job_stays_until_it_has_none(self):
        self.serve("")
        job = self.run_command("sleep 100", background=True).data["job_id"]
        (told,) = self.change(self.mounted("a")) + self.run_command("true").notices
        self.assertIn("(mount)", told)
        self.assertEqual(self.run_command("ls /mnt 2>/dev/null || :").notices, [])  # said once
        self.call("bash_kill", job_id=job)
        self.wait_until(lambda: "a" in self.run_command("ls /mnt").data["stdout"], 20, "it is replaced")

    def test_the_end_of_a_job_is_read_before_its_machine_goes(self):
        self.serve("")
        job = self.run_command("sleep 2; echo RESULT; exit 3", background=True).data["job_id"]
        self.change(self.mounted("a"))
        time.sleep(7)  # it has ended, and the change is due again
        self.output("true")
        found = self.call("bash_output", job_id=job).data
        self.assertEqual((found["exit_code"], found["stdout"]), (3, "RESULT\n"))
        self.wait_until(lambda: "a" in self.run_command("ls /mnt 2>/dev/null || :").data["stdout"], 20, "it is replaced")

    def test_what_nobody_can_read_any_more_does_not_keep_a_machine_that_reaches_too_much(self):
        self.serve(self.mounted("a", "b"))
        jobs = [self.run_command(f"sleep 1; echo RESULT {number}", background=True).data["job_id"]
                for number in range(5)]
        self.file.write_text(self.mounted("a"))
        notices = []

        def is_replaced():
            result = self.berth.call_tool("bash_exec", {"command": "ls /mnt"})
            notices.extend([] if result.is_error else result.notices)
            return not result.is_error and result.data["stdout"] == "a\n"
        self.wait_until(is_replaced, 20, "it is replaced, though nobody has read what they printed")
        said = "\n".join(notices)
        for number in (2, 3, 4):
            self.assertRegex(said, rf"(?s){jobs[number]}.*exit 0; it printed at last:\s*\| RESULT {number}")
        self.assertRegex(said, "nor did the results of 2 earlier commands reach anybody|what 2 more of those")

    def test_none_that_could_not_be_made_again_is_ended(self):
        self.serve("")
        self.output("echo kept >/tmp/file")
        second = self.start("--session", "second")
        second.call_tool("bash_exec", {"command": "true"})
        self.change("session.max = 1\n" + self.mounted("a"))
        self.assertEqual(self.output("cat /tmp/file"), "kept\n")

    def test_none_ends_for_one_that_its_own_home_is_in_the_way_of(self):
        self.serve("")
        self.output("echo kept >/tmp/file; mkdir -p data; touch data/way; cd data")
        mount = self.mounted("a").replace("/mnt/a:", "/home/user/data/way:")
        (told,) = self.change(mount) + self.run_command("true").notices
        self.assertIn("(mount); those it was made with stay in force since no other can be made now: ", told)
        self.assertIn("cannot be mounted on /home/user/data/way, for /home/user/data/way is a file", told)
        self.assertIn("rename the entry", told)
        self.assertEqual(self.output("pwd; cat /tmp/file"), "/home/user/data\nkept\n")
        self.assertEqual(self.run_command("mv way other").notices, [])  # it was said once
        self.wait_until(lambda: "way" in self.run_command("ls ~/data").data["stdout"], 20, "it is replaced")
        self.assertEqual(self.output("touch ~/data/way/made; ls ~/data"), "other\nway\n")
        self.assertEqual(os.listdir(self.folder / "a"), ["made"])

    def test_none_ends_for_a_template_that_is_none_any_more(self):
        template = self.folder / "template"
        self.serve("")
        self.output("echo kept >/tmp/file")
        for name in ("bin", "usr"):
            (template / name).mkdir(parents=True)
        self.change(f'template = "{template}"\n')
        self.assertEqual(self.output("cat /tmp/file"), "kept\n")

    def test_what_is_taken_away_is_gone_or_the_call_is_refused(self):
        self.serve(self.mounted("a", "b"))
        self.run_command("sleep 100", background=True)
        self.change(self.mounted("a"))
        for _ in range(2):
            error = self.refused("sandbox_unavailable", "bash_exec", command="echo no >/mnt/b/file").error
            self.assertIn("/mnt/b:rw", error["message"])
        self.assertEqual(os.listdir(self.folder / "b"), [])
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.output("ls /mnt"), "a\n")

    def test_network(self):
        self.serve('network = "host"\n')
        mine = os.readlink("/proc/self/ns/net")
        self.assertEqual(self.output("readlink /proc/self/ns/net").strip(), mine)
        self.change('network = "none"\n')
        self.assertNotEqual(self.output("readlink /proc/self/ns/net").strip(), mine)

    def test_a_session_without_a_name_keeps_its_home_too(self):
        self.file.write_text("")
        self.berth = self.start("--config", str(self.file))
        self.output("echo kept >file")
        self.change(self.mounted("a"))
        self.assertEqual(self.output("cat file; ls /mnt"), "kept\na\n")
        self.berth.close()
        self.wait_until(lambda: not self.living_guests(), 10, "it has ended with its server")


@local_only
class WithinReachTest(ReloadCase):
    """Who writes the settings says what of the host there is: no command may."""

    def refusal(self, *arguments, env=None):
        said = json.loads(self.command_line("config", "--json", *arguments, status=2, env=env))
        self.assertIn("within reach of the sandbox", said["reason"])
        self.assertTrue(said["remedy"])
        return said["reason"]

    def test_settings_in_a_writable_mount(self):
        self.file.write_text(f'mount = ["{self.folder}:/mnt/project:rw"]\n')
        self.assertIn(str(self.file), self.refusal("--config", str(self.file)))
        self.file.write_text(f'mount = ["{self.folder}:/mnt/project:ro"]\n')
        self.command_line("config", "--config", str(self.file))

    def test_settings_that_a_link_in_one_leads_to(self):
        place = self.folder / "project"
        place.mkdir()
        self.file.write_text(f'mount = ["{place}:/mnt/project:rw"]\n')
        self.command_line("config", "--config", str(self.file))
        (place / "link.toml").symlink_to(self.file)
        self.refusal("--config", str(place / "link.toml"))
        (self.folder / "way").symlink_to(place)
        self.refusal("--config", str(self.folder / "way" / "link.toml"))

    def test_settings_by_another_name_of_their_folder(self):
        """Root has some mounts of its own here (apart.py), and others can make none."""
        if os.geteuid() != 0:
            return
        place, config = self.folder / "project", self.folder / "config"
        for folder in (place, place / "bound", config, self.folder / "view"):
            folder.mkdir()
        (config / "berth.toml").write_text(f'mount = ["{place}:/mnt/project:rw"]\n')
        self.command_line("config", "--config", str(config / "berth.toml"))
        (place / "own.toml").write_text("")
        for source, target, file in ((config, place / "bound", config / "berth.toml"),
                                     (place, self.folder / "view", self.folder / "view/own.toml")):
            subprocess.run(["mount", "--bind", source, target], check=True)
            try:
                self.refusal("--config", str(file), "--mount", f"{place}:/mnt/project:rw")
            finally:
                subprocess.run(["umount", target], check=True)

    def test_settings_that_could_come_to_be_there(self):
        (self.folder / "config").mkdir()
        self.refusal("--mount", f"{self.folder}/config:/mnt/config:rw",
                     env={"XDG_CONFIG_HOME": str(self.folder / "config")})

    def test_a_secret(self):
        place = self.folder / "project"
        place.mkdir()
        self.file.write_text(f'secret = ["TOKEN=file:{place}/token"]\nmount = ["{place}:/mnt/project:rw"]\n')
        self.assertIn("secret", self.refusal("--config", str(self.file)))

    def test_in_a_home_or_the_workspace(self):
        self.output("true")
        home = self.home()
        for place in (home, self.state.path / "workspace"):
            place.mkdir(exist_ok=True)
            (place / "berth.toml").write_text("")
            self.refusal("--config", str(place / "berth.toml"))

    def test_in_a_mount_that_another_server_has_made(self):
        place = self.folder / "project"
        place.mkdir()
        os.chmod(place, 0o777)
        (place / "berth.toml").write_text("")
        os.chmod(place / "berth.toml", 0o666)
        self.berth = self.start("--session", "work", "--mount", f"{place}:/mnt/project:rw")
        self.run_command("sleep 100", background=True)
        self.berth = self.start("--session", "work", "--config", str(place / "berth.toml"))
        error = self.refused("sandbox_unavailable", "bash_exec", command="true").error
        self.assertIn(f"{place}:/mnt/project:rw", error["message"])

    def test_a_change_that_would_bring_it_there(self):
        place = self.folder / "project"
        place.mkdir()
        os.chmod(place, 0o777)
        mount = f'mount = ["{place}:/mnt/project:rw"]\n'
        self.serve(mount)
        self.output("ln -s /etc/hostname /mnt/project/token")
        self.file.write_text(mount + f'secret = ["TOKEN=file:{place}/token"]\n')
        self.wait_until(lambda: self.call("session_info") and "within reach" in self.berth.stderr, 10, "it is logged")
        self.assertEqual(self.output("echo [$TOKEN]"), "[]\n")


@e2b_only
class OnE2bTest(ReloadCase):
    def network(self):
        (box,) = e2b.boxes()
        found = api(e2b.emulator(), "GET", f"/sandboxes/{box}").json
        return found["allowInternetAccess"], found.get("network", {})

    def test_the_network_of_the_living_box(self):
        self.serve('network = "none"\n')
        self.output("echo kept >file")
        self.assertFalse(self.network()[0])
        self.change('network = "host"\n[e2b]\ndeny_out = ["1.1.1.1"]\n')
        self.assertEqual(self.run_command("cat file").notices, [])
        self.assertEqual(self.network(), (True, {"denyOut": ["1.1.1.1"]}))

    def test_less_holds_at_once_and_more_when_nobody_works_there(self):
        self.serve('network = "host"\n')
        job = self.run_command("sleep 100", background=True).data["job_id"]
        self.change('network = "host"\n[e2b]\ndeny_out = ["1.1.1.1"]\n')
        self.output("true")
        self.assertEqual(self.network(), (True, {"denyOut": ["1.1.1.1"]}))
        self.change('network = "host"\n[e2b]\ndeny_out = []\n')
        self.output("true")
        self.assertEqual(self.network(), (True, {"denyOut": ["1.1.1.1"]}))
        self.call("bash_kill", job_id=job)

    def test_what_cannot_be_taken_away_stops_the_call(self):
        self.serve('network = "host"\n')
        self.output("true")
        e2b.emulator().fault(method="PUT", path="/sandboxes/{id}/network", status=500, times=0)
        self.addCleanup(e2b.emulator().clear_faults)
        self.change('network = "host"\n[e2b]\ndeny_out = ["1.1.1.1"]\n')
        for _ in range(2):
            found = self.berth.call_tool("bash_exec", {"command": "touch begun"})
            self.assertTrue(found.is_error, found)
        e2b.emulator().clear_faults()
        self.assertEqual(self.output("ls"), "")
        self.assertEqual(self.network(), (True, {"denyOut": ["1.1.1.1"]}))
