"""session.save_on_end: what of a session's home goes to the workspace when its machine has ended."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from suite import BACKENDS, ParityTest, backend, binary_path, local_only, sandboxes_only


class SaveOnEndTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.berth.close()
        self.serve("out", "report/*.md", "none/*")

    def serve(self, *patterns, session="work", env=None, **options):
        self.berth = self.start("--session", session,
                                env={"BERTH_SESSION_SAVE_ON_END": ",".join(patterns), **(env or {})},
                                **options)
        return self.berth

    def saved(self, principal=()):
        """The workspace's files below /sessions, and what is in them."""
        reader = self.start("--session", "reader", *principal)
        files = {}
        for entry in reader.call_tool("list_workspace_files", {"prefix": "/sessions"}).data["files"]:
            path = entry["workspace_path"]
            loaded = reader.call_tool("load_from_workspace",
                                      {"workspace_path": path, "sandbox_path": "~/loaded"})
            self.assertFalse(loaded.is_error, loaded)
            files[path.removeprefix("/sessions/")] = reader.call_tool(
                "bash_exec", {"command": "cat ~/loaded"}).data["stdout"]
        reader.close()
        return files

    def fill(self, word="one"):
        self.output(f"mkdir -p out/sub report; echo {word} > out/a; echo deep > out/sub/b;"
                    "echo text > report/r.md; echo no > report/r.txt; ln -sf /etc/passwd out/link")

    def kill(self, *arguments, status=0, session="work"):
        return json.loads(self.command_line("sessions", "kill", session, "--json", *arguments,
                                            status=status))

    def test_an_ended_session_s_files_are_in_the_workspace_under_their_paths(self):
        self.fill()
        told = self.kill()
        self.assertEqual((told["killed"], told["unsaved"]), (True, ""))
        self.assertEqual(told["saved"]["folder"], "/sessions/work")
        self.assertEqual(told["saved"]["files"], 3)
        self.assertEqual(told["saved"]["skipped"], ["link: symbolic link"])
        wanted = {"work/out/a": "one\n", "work/out/sub/b": "deep\n", "work/report/r.md": "text\n"}
        self.assertEqual(self.saved(), wanted)
        # The home is as it was, and the next end replaces what is of the same path.
        self.output("test -L out/link; echo two > out/a; rm out/sub/b")
        self.assertEqual(self.kill("--purge")["saved"]["files"], 2)
        self.assertEqual(self.saved(), {**wanted, "work/out/a": "two\n"})

    def test_a_pattern_that_matches_folders_alone_means_what_is_in_them(self):
        self.berth.close()
        self.serve("rep-*")
        self.output("mkdir -p rep-1/sub rep-2; echo one > rep-1/sub/x; echo two > rep-2/y")
        self.assertEqual(self.kill("--purge")["saved"]["files"], 2)
        self.assertEqual(self.saved(), {"work/rep-1/sub/x": "one\n", "work/rep-2/y": "two\n"})

    def test_another_session_of_the_name_has_another_folder(self):
        self.fill("first")
        self.kill("--purge")
        self.fill("second")
        self.assertEqual(self.kill("--purge")["saved"]["folder"], "/sessions/work-2")
        files = self.saved()
        self.assertEqual((files["work/out/a"], files["work-2/out/a"]), ("first\n", "second\n"))

    def test_what_a_user_has_saved_there_stays(self):
        self.fill("mine")
        self.call("save_to_workspace", sandbox_path="out/a", workspace_path="/sessions/work/out/a")
        self.output("echo other > out/a")
        self.assertEqual(self.kill()["saved"]["folder"], "/sessions/work-2")
        self.assertEqual(self.saved()["work/out/a"], "mine\n")

    def test_a_machine_that_ended_by_itself_is_saved_by_whoever_clears_up(self):
        self.berth.close()
        self.serve("out", env={"BERTH_SESSION_ON_DISCONNECT": "kill"})
        self.fill()
        self.berth.close()
        self.wait_until(lambda: not self.living_guests(), 10, self.state.processes())
        # Who only looks has no time for it.
        listed = {session["session"]: session for session in self.sessions()}
        self.assertIn("session.save_on_end", listed["work"]["lifetime"])
        collected = json.loads(self.command_line("sessions", "gc", "--json"))
        self.assertEqual([(each["session"], each["files"]) for each in collected["saved"]],
                         [("work", 2)])
        self.assertEqual(self.saved(), {"work/out/a": "one\n", "work/out/sub/b": "deep\n"})
        self.assertEqual(json.loads(self.command_line("sessions", "gc", "--json"))["saved"], [])

    def test_a_lost_one_too_and_a_server_does_it_at_its_start(self):
        self.fill()
        for pid in self.living_guests():
            os.kill(pid, signal.SIGKILL)
        self.berth.close()
        # A server looks, and where somebody is at it again some seconds later: not while the guests are dying.
        self.wait_until(lambda: [each["state"] for each in self.sessions()] == ["lost"], 20, "lost")
        other = self.start("--session", "other")
        self.wait_until(lambda: "work/out/a" in self.saved(), 60, "saved by the server")
        other.close()

    def test_an_unnamed_session_s_files_are_saved_before_they_go(self):
        server = self.start(env={"BERTH_SESSION_SAVE_ON_END": "out"})
        result = server.call_tool("bash_exec", {"command": "mkdir out; echo kept > out/k"})
        self.assertEqual(result.data["exit_code"], 0, result)
        server.close()
        collected = json.loads(self.command_line("sessions", "gc", "--json"))
        (saved,) = collected["saved"]
        self.assertRegex(saved["session"], "^unnamed-")
        self.assertEqual(self.saved(), {f"{saved['session']}/out/k": "kept\n"})
        self.assertEqual([each["session"] for each in self.sessions()], ["reader"])

    def test_what_a_single_call_leaves_is_saved_by_it(self):
        self.command_line("call", "bash_exec", '{"command": "mkdir out; echo kept > out/k"}',
                          env={"BERTH_SESSION_SAVE_ON_END": "out"})
        ((path, text),) = self.saved().items()
        self.assertRegex(path, "^unnamed-.*/out/k$")
        self.assertEqual(text, "kept\n")
        self.assertEqual([each["session"] for each in self.sessions()], ["reader"])

    def test_what_cannot_be_saved_keeps_its_home(self):
        self.fill()
        # No folder can be where a file is.
        self.call("save_to_workspace", sandbox_path="out/a", workspace_path="/sessions")
        told = self.kill("--purge", status=1)
        self.assertEqual((told["killed"], told["saved"]), (True, None))
        self.assertIn("sessions", told["unsaved"])
        (failed,) = json.loads(self.command_line("sessions", "gc", "--json", status=1))["failed"]
        self.assertIn("session work", failed)
        self.command_line("sessions", "gc", "--homes-older-than", "0s", status=1)
        self.assertEqual(self.kill("--purge", status=1)["unsaved"], told["unsaved"])
        errors = json.loads(self.command_line("status", "--json"))["recent_errors"]
        # Once for each reason, whoever tries again.
        self.assertEqual(["session.save_on_end" in each["message"] for each in errors], [True],
                         errors)
        self.assertEqual(self.output("cat out/a"), "one\n")  # nothing is lost
        self.call("delete_workspace_file", workspace_path="/sessions")
        self.assertEqual(self.kill("--purge")["saved"]["files"], 3)
        self.fill()
        self.call("delete_workspace_file", workspace_path="/sessions/work/out/a")
        self.assertIsNone(self.kill("--purge", "--no-save")["saved"])
        self.assertNotIn("work/out/a", self.saved())

    def test_who_is_killed_while_it_saves_leaves_it_to_the_next(self):
        self.output("mkdir out; head -c 200000000 /dev/zero > out/big")
        self.berth.close()
        killed = subprocess.Popen([binary_path(BACKENDS[backend()]), "sessions", "kill", "work"],
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (record,) = pathlib.Path(self.state.path).glob("sessions/*/record.json")
        def has_ended():
            return killed.poll() is not None

        self.wait_until(lambda: json.loads(record.read_text())["saving"]["begun"] or has_ended(), 20, "it saves")
        self.wait_until(lambda: self.living_guests() or has_ended(), 20, "it has a machine for that")
        killed.kill()
        self.assertEqual(killed.wait(), -signal.SIGKILL, "it was too quick for the test")
        if backend() != "e2b":  # where a box stays until somebody clears up, or its limit pauses it
            self.wait_until(lambda: not self.living_guests(), 60, self.state.processes())
        # What was making it for the killed one may still have the session's lock.
        self.wait_until(lambda: json.loads(self.command_line("sessions", "gc", "--json"))["complete"], 60,
                        "it is saved")
        loaded = self.start("--session", "reader").call_tool(
            "list_workspace_files", {"prefix": "/sessions"}).data["files"]
        self.assertEqual([(each["workspace_path"], each["size_bytes"]) for each in loaded],
                         [("/sessions/work/out/big", 200000000)])
        self.serve("out")
        self.assertEqual(self.output("stat -c %s out/big"), "200000000\n")

    def test_a_pattern_that_leads_out_of_the_home_stops_the_start(self):
        for pattern in ("/etc/passwd", "../x", "a/../../b", "~", "."):
            with self.subTest(pattern):
                done = self.command_line("config", "--json")
                self.assertIn("session.save_on_end", done)
                os.environ["BERTH_SESSION_SAVE_ON_END"] = pattern
                try:
                    self.command_line("config", status=2)
                finally:
                    del os.environ["BERTH_SESSION_SAVE_ON_END"]

    @local_only
    def test_what_is_mounted_into_the_home_is_not_the_home_s(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-mount-"))
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        (folder / "host").write_text("of the host")
        self.berth.close()
        self.berth = self.start("--session", "work", "--mount", f"{folder}:/home/user/m",
                                env={"BERTH_SESSION_SAVE_ON_END": "**"})
        self.output("mkdir out; echo one > out/a; cat m/host")
        self.kill()
        self.assertEqual(self.saved(), {"work/out/a": "one\n"})

    def test_a_link_in_the_home_leads_nowhere(self):
        self.berth.close()
        self.serve("out", "r", "report/*.md", "etc/*/*", "pipe", "loop")
        # What they lead to is there, for the session's machine too.
        self.output("ln -s /etc out; ln -s /etc/passwd r; mkdir report; mkfifo pipe;"
                    "ln -s /etc/passwd report/r.md; ln -s /etc etc; ln -s loop loop; cat out/passwd")
        told = self.kill()
        self.assertEqual(told["unsaved"], "")
        self.assertEqual(told["saved"]["files"], 0)
        self.assertEqual(told["saved"]["skipped"],
                         ["out: symbolic link", "r: symbolic link", "r.md: symbolic link",
                          "etc: symbolic link", "pipe: named pipe", "loop: symbolic link"])
        self.assertEqual(self.saved(), {})

    @sandboxes_only  # on `direct`, started by root, modes mean nothing
    def test_what_cannot_be_read_is_not_lost(self):
        self.fill()
        self.output("chmod 000 out/sub")
        told = self.kill("--purge", status=1)
        self.assertIn("out/sub", told["unsaved"])
        self.assertEqual(self.saved(), {})  # all or nothing
        self.output("chmod 755 out/sub")
        self.assertEqual(self.kill("--purge")["saved"]["files"], 3)
