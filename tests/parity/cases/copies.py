"""A state directory that was copied, moved, or emptied: what is ended there is what is there."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from suite import ParityTest, local_only


@local_only
class CopiesTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-test-copies-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.other = self.folder / "other"

    def in_folder(self, folder, *arguments, status=0):
        return self.command_line(*arguments, status=status, env={"BERTH_STATE_DIR": str(folder)})

    def in_other(self, *arguments, status=0):
        return self.in_folder(self.other, *arguments, status=status)

    def run_in(self, folder, command):
        return self.in_folder(folder, "call", "--session", "work", "bash_exec", json.dumps({"command": command}))

    def copy(self):
        subprocess.run(["cp", "-a", self.state.path, self.other], check=True)

    def homes(self, folder):
        return list(folder.glob("sessions/*/home"))

    def test_what_is_ended_in_a_copy_is_not_the_original_s(self):
        self.output("echo mine >file")
        job = self.call("bash_exec", command="sleep 60", background=True).data["job_id"]
        for ways in ((("kill", "work", "--purge"),),
                     (("kill", "work"), ("gc", "--homes-older-than", "0s"))):
            with self.subTest(ways):
                self.copy()
                self.assertEqual(len(self.homes(self.other)), 1)
                for way in ways:
                    self.in_other("sessions", *way)
                self.assertEqual(self.homes(self.other), [])
                self.assertEqual(self.output("cat file"), "mine\n")
                self.assertEqual([each["job_id"] for each in self.call("session_info").data["jobs"]], [job])
                shutil.rmtree(self.other)

    def damage(self):
        """The record of the other directory's one session, of which only the key is left to name it by."""
        (record,) = self.other.glob("sessions/*/record.json")
        record.write_text("{ half")
        return record.parent.name

    def test_where_a_copy_s_record_cannot_be_read_nothing_leads_to_the_original_s_machine(self):
        self.output("echo mine >file")
        (guest,) = self.living_guests()
        self.copy()
        self.in_other("sessions", "kill", self.damage(), "--purge")
        self.assertEqual(self.homes(self.other), [])
        self.assertEqual((self.output("cat file"), self.living_guests()), ("mine\n", [guest]))

    def test_a_session_of_a_copy_has_a_machine_of_its_own(self):
        self.output("echo mine >file")
        self.copy()
        said = self.in_other("call", "--session", "work", "bash_exec", '{"command": "cat file; echo theirs >file"}')
        self.assertIn("mine\n", said)
        self.assertEqual(self.output("cat file"), "mine\n")
        self.in_other("sessions", "kill", "work", "--purge")
        self.assertEqual(self.output("cat file"), "mine\n")

    def test_a_moved_one_is_shown_and_removed_where_it_is(self):
        self.output("echo mine >file")
        self.berth.close()
        self.command_line("sessions", "kill", "work")
        self.state.path.rename(self.other)
        self.addCleanup(self.state.path.mkdir, 0o700, exist_ok=True)
        (listed,) = json.loads(self.in_other("sessions", "list", "--json"))
        self.assertEqual(pathlib.Path(listed["home"]), self.homes(self.other)[0])
        self.in_other("sessions", "kill", "work", "--purge")
        self.assertEqual(self.homes(self.other), [])

    def test_the_machine_of_one_that_was_moved_lives_on(self):
        self.berth.close()
        for name in (lambda: "work", self.damage):
            self.command_line("call", "--session", "work", "bash_exec", '{"command": "echo mine >file"}')
            self.assertEqual(len(self.state.keys()), 1)
            self.state.slots()  # to be known when they have moved
            self.state.path.rename(self.other)
            try:
                said = self.in_other("call", "--session", "work", "bash_exec", '{"command": "cat file"}')
                self.assertEqual(said, "mine\n")
                self.in_other("sessions", "kill", name(), "--purge")
                self.assertEqual((self.homes(self.other), self.state.guests()), ([], []))
                self.in_other("sessions", "gc")  # where no record said what its cgroups are called
                self.assertEqual(self.state.cgroups(), [])
            finally:
                self.other.rename(self.state.path)

    def test_a_living_one_is_ended_where_it_was_moved_to_though_its_old_place_is_made_anew(self):
        self.output("echo mine >file")
        self.state.path.rename(self.other)
        self.command_line("call", "--session", "another", "bash_exec", '{"command": "true"}')
        self.assertTrue(self.state.path.is_dir())
        self.assertIn("mine\n", self.in_other("call", "--session", "work", "bash_exec", '{"command": "cat file"}'))
        self.in_other("sessions", "kill", "work", "--purge")
        self.assertEqual(self.homes(self.other), [])
        self.command_line("sessions", "kill", "another", "--purge")

    def check_two(self, original, copy):
        """Each has its machine, whichever is called first; and what is ended in the copy ends there."""
        self.assertIn("mine\n", self.run_in(copy, "cat file; echo theirs >file"))
        self.assertEqual(self.run_in(original, "cat file; kill -0 $(cat ~/job) && echo runs"), "mine\nruns\n")
        self.assertEqual(self.run_in(copy, "cat file"), "theirs\n")
        self.assertEqual([(home / "file").read_text() for folder in (original, copy) for home in self.homes(folder)],
                         ["mine\n", "theirs\n"])
        self.in_folder(copy, "sessions", "kill", "work", "--purge")
        self.assertEqual(self.homes(copy), [])
        self.assertEqual(self.run_in(original, "cat file; kill -0 $(cat ~/job) && echo runs"), "mine\nruns\n")

    def check_end(self, original, copy):
        """In a copy whose session has had no machine of its own."""
        for ways in ((("kill", "work"), ("kill", "work", "--purge")),
                     (("kill", "work"), ("gc", "--homes-older-than", "0s"))):
            with self.subTest(ways):
                shutil.rmtree(copy, ignore_errors=True)
                subprocess.run(["cp", "-a", original, copy], check=True)
                for way in ways:
                    self.in_folder(copy, "sessions", *way)
                self.assertEqual(self.homes(copy), [])
                self.assertEqual(self.run_in(original, "cat file; kill -0 $(cat ~/job) && echo runs"),
                                 "mine\nruns\n")

    def move(self):
        """The state directory, with a machine of a job."""
        self.output("echo mine >file; sleep 300 >/dev/null 2>&1 & echo $! >~/job")
        self.berth.close()
        self.state.path.rename(self.other)

    def end_moved(self):
        self.in_other("sessions", "kill", "work", "--purge")
        self.assertEqual(self.state.guests(), [])

    def test_a_copy_at_the_place_where_the_original_was_is_a_copy(self):
        self.move()
        self.check_end(self.other, self.state.path)
        shutil.rmtree(self.state.path)
        subprocess.run(["cp", "-a", self.other, self.state.path], check=True)
        self.check_two(self.other, self.state.path)
        self.end_moved()

    def test_a_copy_is_one_also_where_its_original_was_moved(self):
        self.move()
        third = self.folder / "third"
        self.check_end(self.other, third)
        shutil.rmtree(third)
        subprocess.run(["cp", "-a", self.other, third], check=True)
        self.check_two(self.other, third)
        self.end_moved()
        self.state.path.mkdir(0o700)

    def test_a_session_that_is_called_where_its_folder_was_is_another(self):
        self.move()
        self.assertEqual(self.run_in(self.state.path, "ls; echo theirs >file"), "(no output)\n")
        self.assertEqual(self.run_in(self.other, "cat file; kill -0 $(cat ~/job) && echo runs"), "mine\nruns\n")
        self.assertEqual(self.run_in(self.state.path, "cat file"), "theirs\n")
        self.in_folder(self.state.path, "sessions", "kill", "work", "--purge")
        self.assertEqual(self.run_in(self.other, "cat file; kill -0 $(cat ~/job) && echo runs"), "mine\nruns\n")
        self.end_moved()

    def test_what_was_moved_with_a_machine_that_had_died_takes_nothing_from_the_one_at_its_old_place(self):
        for way in (("sessions", "kill", "work"), ("sessions", "gc")):
            with self.subTest(way):
                self.output("echo mine >file")
                (guest,) = self.living_guests()
                self.berth.close()
                os.kill(guest, signal.SIGKILL)
                self.wait_until(lambda: not self.living_guests(), 10, "the guest's end")
                self.state.path.rename(self.other)
                self.run_in(self.state.path, "sleep 300 >/dev/null 2>&1 & echo $! >~/job; echo theirs >file")
                self.in_other(*way)
                self.assertEqual(self.run_in(self.state.path, "cat file; kill -0 $(cat ~/job) && echo runs"),
                                 "theirs\nruns\n")
                self.assertIn("mine\n", self.run_in(self.other, "cat file"))
                self.assertEqual(self.run_in(self.state.path, "kill -0 $(cat ~/job) && echo runs"), "runs\n")
                for folder in (self.state.path, self.other):
                    self.in_folder(folder, "sessions", "kill", "work", "--purge")
                shutil.rmtree(self.state.path)
                self.other.rename(self.state.path)
                self.berth = self.start("--session", "work")

    def test_who_clears_up_in_a_copy_of_what_was_moved_ends_no_session_without_a_name(self):
        server = self.start()
        self.assertEqual(server.call_tool("bash_exec", {"command": "echo mine >file"}).data["exit_code"], 0)
        self.state.path.rename(self.other)
        third = self.folder / "third"
        subprocess.run(["cp", "-a", self.other, third], check=True)
        self.in_folder(third, "sessions", "list")
        self.in_folder(third, "sessions", "gc")
        said = server.call_tool("bash_exec", {"command": "cat file"})
        self.assertEqual((said.data["stdout"], said.notices), ("mine\n", []))
        self.other.rename(self.state.path)
        server.close()

    def test_a_machine_whose_folder_was_removed_by_hand_leaves_the_key_to_another(self):
        self.output("sleep 300 >/dev/null 2>&1 & echo old >~/file")
        (folder,) = self.state.path.glob("sessions/*/")
        shutil.rmtree(folder)
        other = self.start("--session", "work")
        self.assertEqual(other.call_tool("bash_exec", {"command": "ls ~; echo new >~/file"}).data["stdout"], "")
        self.wait_until(lambda: len(self.living_guests()) == 1, 5, "the first has ended")
        told = self.berth.call_tool("bash_exec", {"command": "cat ~/file"})
        self.assertEqual(told.data["stdout"], "new\n")
        self.assertIn("the session was deleted with its files", told.notices[0])
        # Of a home that cannot be removed whole, too: what leads to the machine is gone.
        (folder,) = self.state.path.glob("sessions/*/")
        for each in folder.iterdir():
            if each.name != "home":
                shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
        self.berth.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(self.output("cat ~/file"), "new\n")
        self.wait_until(lambda: len(self.living_guests()) == 1, 5, "the one before has ended")
        # And where only the first server is there.
        (folder,) = self.state.path.glob("sessions/*/")
        shutil.rmtree(folder)
        lost = self.berth.call_tool("bash_exec", {"command": "touch ~/ran"})
        if lost.is_error:  # its connection was there, and broke
            self.assertEqual(lost.error["code"], "session_lost")
            self.assertIn("without the files of this one", lost.error["hint"])
        self.assertEqual(self.output("ls ~"), "" if lost.is_error else "ran\n")
        self.assertEqual(len(self.living_guests()), 1)
