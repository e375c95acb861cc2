"""Sessions and the workspace: who shares what, what stays, and what goes."""

import datetime
import json
import os
import shutil
import signal
import tempfile
import time

from suite import ParityTest, local_only


class SessionsTest(ParityTest):
    def test_a_second_server_of_the_session_sees_the_same_files(self):
        self.call("write_file", path="f", content="shared")
        other = self.start("--session", "work", era="modern")
        self.assertEqual(other.call_tool("bash_exec", {"command": "cat f"}).data["stdout"],
                         "shared")

    def test_another_session_does_not(self):
        self.call("write_file", path="f", content="mine")
        for arguments in (("--session", "other"), ("--session", "work", "--principal", "else"), ()):
            other = self.start(*arguments)
            self.assertEqual(other.call_tool("read_file", {"path": "f"}).error["code"], "not_found")

    def test_a_session_outlives_its_server(self):
        self.run_command("echo kept >f; sleep 300 >/dev/null 2>&1 & echo $! >pid; cd /tmp")
        self.assertEqual(self.berth.close(), 0)
        self.berth = self.start("--session", "work")
        self.assertEqual(self.output("cat ~/f; pwd; kill -0 $(cat ~/pid)"), "kept\n/tmp\n")

    def test_a_session_outlives_a_server_that_is_killed(self):
        self.run_command("echo kept >f")
        pending = self.berth.call_async("bash_exec", {"command": "sleep 300"})
        self.run_command("true")
        self.berth.kill()
        with self.assertRaises(EOFError):
            pending.result()
        self.berth = self.start("--session", "work")
        self.assertEqual(self.output("cat ~/f"), "kept\n")

    def test_a_command_of_a_session_outlives_the_client_that_left(self):
        pending = self.berth.call_async("bash_exec", {"command": "sleep 2; echo kept >f; sleep 300"})
        time.sleep(0.3)
        took = self.berth.seconds_to_end(lambda server: server.process.stdin.close())
        self.assertLess(took, 1.0)
        self.assertIn("goes on as a job", pending.result(1).text)
        self.berth = self.start("--session", "work")
        (job,) = self.berth.call_tool("session_info").data["jobs"]
        self.assertGreater(job["processes"], 0)
        self.wait_until(lambda: self.output("cat f || true") == "kept\n", 5, "the command's file")

    def test_a_command_of_a_session_ends_with_a_server_that_is_told_to(self):
        pending = self.berth.call_async("bash_exec", {"command": "sleep 300"})
        self.wait_until(lambda: self.berth.call_tool("session_info").data["commands_in_flight"], 20, "the command")
        self.berth.signal(signal.SIGTERM)
        self.assertEqual(self.berth.wait(), 0)
        found = pending.result(10)
        self.assertEqual(found.data.get("fate"), "cancelled", found)
        self.berth = self.start("--session", "work")
        self.assertEqual(self.berth.call_tool("session_info").data["jobs"], [])

    def test_an_unnamed_session_leaves_nothing(self):
        self.check_unnamed(lambda server: self.assertEqual(server.close(), 0))

    def test_an_unnamed_session_ends_with_a_server_that_is_killed(self):
        self.check_unnamed(lambda server: server.kill())

    def test_an_unnamed_session_ends_with_a_server_that_is_told_to(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            def stop(server, number=number):
                server.signal(number)
                server.wait()
            self.check_unnamed(stop)

    def check_unnamed(self, stop):
        self.berth.close()
        unnamed = self.start()
        unnamed.call_tool("bash_exec", {"command": "setsid sleep 300 >/dev/null 2>&1 &"})
        unnamed.call_async("bash_exec", {"command": "trap '' TERM; sleep 300"})
        unnamed.call_tool("bash_exec", {"command": "true"})
        stop(unnamed)
        self.wait_until(lambda: not self.state.processes(), 5, self.state.processes())
        # A server that was killed leaves its books; whoever looks next clears them away.
        self.assertEqual(self.sessions(), [])
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_a_server_clears_up_at_its_start(self):
        self.berth.close()
        unnamed = self.start()
        unnamed.call_tool("bash_exec", {"command": "true"})
        unnamed.kill()
        self.wait_until(lambda: not self.state.processes(), 5, self.state.processes())
        self.start("--session", "idle")  # makes no machine, and is asked for none
        self.wait_until(lambda: not self.state.leftovers(), 5, "what the dead one left")

    @local_only
    def test_a_session_whose_guest_is_killed(self):
        self.run_command("echo kept >f")
        for guest in self.living_guests():
            os.kill(guest, signal.SIGKILL)
        self.wait_until(lambda: not self.state.processes_but(self.berth.pid), 5, "its end")
        (found,) = self.sessions()
        self.assertEqual(found["state"], "lost")
        self.assertEqual(self.state.leaks_but(self.berth.pid), [])
        told = self.berth.call_tool("bash_exec", {"command": "true"})
        self.assertTrue(told.error.get("code") == "session_lost" or told.notices, told)
        errors = json.loads(self.command_line("status", "--json"))["recent_errors"]
        self.assertIn(("session_lost", "work"), [(e["code"], e["session"]) for e in errors])
        self.assertEqual(self.output("cat f"), "kept\n")

    @local_only
    def test_a_guest_that_dies_is_lost_where_its_end_was_to_be_another(self):
        """With on_disconnect = kill a machine that is gone has mostly ended in order."""
        for dies, state in ((True, "lost"), (False, "ended")):
            with self.subTest(state):
                server = self.start("--session", state, env={"BERTH_SESSION_ON_DISCONNECT": "kill"})
                server.call_tool("bash_exec", {"command": "true"})
                told = server.call_tool("session_info", {}).data
                self.assertEqual(told["on_disconnect"], "kill")
                self.assertTrue(told["lifetime"].startswith("it ends, with all that runs in it, "
                                                            "when its last server leaves"), told)
                if dies:
                    for guest in self.living_guests():
                        os.kill(guest, signal.SIGKILL)
                else:
                    server.close()
                self.wait_until(lambda: [each["state"] for each in self.sessions()
                                         if each["session"] == state] == [state], 10, state)

    def test_a_living_session_is_never_cleared_away(self):
        self.output("echo $$ >pid; sleep 300 >/dev/null 2>&1 & echo $! >pid")
        unnamed = self.start()
        unnamed.call_tool("bash_exec", {"command": "echo mine >f"})
        for _ in range(5):
            self.assertEqual(len(self.sessions()), 2)
        self.assertEqual(self.output("kill -0 $(cat pid) && echo on"), "on\n")
        self.assertEqual(unnamed.call_tool("bash_exec", {"command": "cat f"}).data["stdout"],
                         "mine\n")

    @local_only
    def test_a_server_killed_while_it_makes_a_machine(self):
        self.berth.close()
        for delay in (0, 0.002, 0.004, 0.006, 0.01, 0.015, 0.02, 0.03, 0.05):
            with self.subTest(delay):
                victim = self.start("--session", "made")
                victim.call_async("bash_exec", {"command": "sleep 300"})
                time.sleep(delay)
                victim.kill()
                successor = self.start("--session", "made")
                result = successor.call_tool("bash_exec", {"command": "echo on"})
                self.assertFalse(result.is_error, result)
                self.assertEqual(result.data["stdout"], "on\n")
                self.assertEqual(len(self.living_guests()), 1, self.state.processes())
                successor.close()
                self.command_line("sessions", "kill", "made", "--purge")
                self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_two_servers_in_one_session_at_once(self):
        second = self.start("--session", "work")
        calls = [server.call_async("bash_exec", {"command": f"echo {n} >>log; sleep 0.2; echo {n}"})
                 for n in range(4) for server in (self.berth, second)]
        for n, call in enumerate(calls):
            self.assertEqual(call.result().data["stdout"], f"{n // 2}\n")
        self.assertEqual(len(self.living_guests()), 1)
        self.assertEqual(self.output("sort log"), "0\n0\n1\n1\n2\n2\n3\n3\n")
        pending = second.call_async("bash_exec", {"command": "sleep 300"})
        self.berth.close()
        self.assertEqual(second.call_tool("bash_exec", {"command": "echo on"}).data["stdout"],
                         "on\n")
        second.cancel(pending)

    def test_info_makes_no_machine(self):
        fresh = self.start("--session", "fresh")
        self.assertEqual(fresh.call_tool("session_info").data["state"], "absent")
        fresh.list_tools()
        self.assertEqual(self.living_guests(), [])
        fresh.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(fresh.call_tool("session_info").data["state"], "running")

    def test_info_says_when_it_ends_and_where_it_stands(self):
        self.output("cd /tmp")
        begin = time.time()
        self.output("true")
        info = self.call("session_info")
        used = datetime.datetime.fromisoformat(info.data["last_used"].replace("Z", "+00:00"))
        self.assertLess(abs(used.timestamp() - begin), 5)
        self.assertEqual(info.data["cwd"], "/tmp")
        self.assertIn("12 h", info.data["lifetime"])
        server = self.start()
        server.call_tool("bash_exec", {"command": "true"})
        unnamed = server.call_tool("session_info")
        self.assertIn("server", unnamed.data["lifetime"])
        for result in (info, unnamed):
            self.assertIn(f"lifetime: {result.data['lifetime']}\n", result.text)

    @local_only
    def test_a_session_whose_record_is_damaged_is_listed_and_ended(self):
        for name, purge in ((None, ()), ("work", ("--purge",))):
            self.output("echo kept >f; sleep 300 >/dev/null 2>&1 &")
            self.wait_for_its_word()  # after which the record is written, without what was told
            (folder,) = (self.state.path / "sessions").iterdir()
            (folder / "record.json").write_text("{ half")
            (listed,) = self.sessions()
            self.assertEqual((listed["session"], listed["state"]), (folder.name, "damaged"))
            self.assertIn(f"to do: end the session with `berth sessions kill {folder.name}`: ",
                          self.command_line("sessions", "show", listed["session"]))
            ended = name or listed["session"]
            self.assertIn(f"session {ended} has ended", self.command_line("sessions", "kill", ended, *purge))
            self.wait_until(lambda: not self.living_guests(), 2, self.state.processes())
            left = [(each["key"], each["state"]) for each in self.sessions()]
            self.assertEqual(left, [] if purge else [(folder.name, "ended")])
            self.assertEqual((folder / "home/f").exists(), not purge)
        self.assertFalse(folder.exists())

    @local_only
    def test_a_session_whose_record_is_a_folder_is_purged_whole(self):
        for first in ((), ("--purge",)):
            self.output("echo kept >f")
            (folder,) = (self.state.path / "sessions").iterdir()
            record = folder / "record.json"
            self.wait_until(lambda: not {"news", "untold"} & set(json.loads(record.read_text())), 10, "what was told is noted")
            record.unlink()
            (record / "in/it").mkdir(parents=True)
            self.command_line("sessions", "kill", folder.name, *first)
            if not first:
                self.assertEqual([each["state"] for each in self.sessions()], ["ended"])
                self.assertIn("has ended already",
                              self.command_line("sessions", "kill", folder.name, "--json", status=1))
                self.command_line("sessions", "kill", folder.name, "--purge")
            self.assertEqual(self.sessions(), [])
            self.assertFalse(folder.exists())

    @local_only
    def test_a_session_whose_uid_file_is_damaged_is_purged_whole(self):
        self.output("echo kept >f")
        (folder,) = (self.state.path / "sessions").iterdir()
        if os.geteuid() != 0:  # whose sessions have no uid of their own
            self.assertFalse((folder / "uid").exists())
            return
        (folder / "uid").write_text("garbage")
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.output("cat f"), "kept\n")  # with the uid that its home has
        (folder / "uid").write_text("garbage")
        self.command_line("sessions", "kill", "work", "--purge")
        self.assertFalse(folder.exists())
        self.assertEqual([each.name for each in (self.state.path / "uids").iterdir()], ["lock"])

    @local_only
    def test_what_is_left_of_a_damaged_session_is_purged_by_its_key(self):
        self.output("echo kept >f")
        (folder,) = (self.state.path / "sessions").iterdir()
        (folder / "record.json").write_text("{ half")
        self.command_line("sessions", "kill", folder.name)
        self.command_line("sessions", "kill", folder.name, "--purge")
        self.assertEqual(self.sessions(), [])
        self.assertFalse(folder.exists())

    @local_only
    def test_a_session_that_closed_its_folders_is_ended_and_goes_on(self):
        self.output("chmod 0 /tmp /var/tmp")
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.output("echo x >/tmp/f; cat /tmp/f"), "x\n")
        self.output("chmod 0 /tmp /var/tmp ~")

    @local_only
    def test_a_machine_that_no_book_knows_is_found_by_a_server_with_another_runtime_folder(self):
        sockets = self.state.path / "sockets"  # an ordinary user's, unless others may enter it
        sockets.mkdir(exist_ok=True)
        sockets.chmod(0o755)
        first = self.start("--session", "work")
        first.call_tool("bash_exec", {"command": "echo kept >f"})
        first.kill()
        sockets.chmod(0o700)
        (folder,) = (self.state.path / "sessions").iterdir()
        (folder / "record.json").unlink()
        other = self.start("--session", "work")
        self.assertEqual(other.call_tool("bash_exec", {"command": "cat f"}).data["stdout"], "kept\n")
        self.wait_until(lambda: len(self.state.guests()) == 1, 2, self.state.processes())

    @local_only
    def test_a_machine_outlives_the_runtime_folder_of_its_user(self):
        """Which logind removes at the last logout, and makes anew at the next login."""
        runtime = self.state.path / "runtime"
        runtime.mkdir(mode=0o700)
        first = self.start("--session", "logout", env={"XDG_RUNTIME_DIR": str(runtime)})
        first.call_tool("bash_exec", {"command": "echo kept >/tmp/f"})
        shutil.rmtree(runtime)
        second = self.start("--session", "logout", env={"XDG_RUNTIME_DIR": str(runtime)})
        for server in (second, first):
            told = server.call_tool("bash_exec", {"command": "cat /tmp/f"})
            self.assertEqual((told.data["stdout"], told.notices), ("kept\n", []))
        # And a server that was there makes another.
        self.command_line("sessions", "kill", "logout")
        self.assertFalse(first.call_tool("bash_exec", {"command": "true"}).is_error)

    @local_only
    def test_a_state_directory_that_was_opened_to_others_is_known_as_berth_s(self):
        """Whatever berth has put there by then; another folder's rights nobody is told to change."""
        with tempfile.TemporaryDirectory(prefix="berth-open-") as folder:
            named = {"BERTH_STATE_DIR": folder, "BERTH_SESSION": "open"}
            self.command_line("call", "bash_exec", '{"command": "true"}', env=named)
            os.chmod(folder, 0o777)
            said = self.done("call", "bash_exec", '{"command": "true"}', env=named)
            os.chmod(folder, 0o700)
            self.command_line("sessions", "kill", "open", "--purge", env=named)
        self.assertIn(f"`chmod 700 '{folder}'`", said.stdout + said.stderr)

    @local_only
    def test_a_session_whose_folders_have_the_names_of_the_remover_is_ended_and_purged(self):
        for folder in ("/tmp", "/var/tmp", "~"):
            self.output(f"cd {folder} && rm -rf -- * .[!.]* && "
                        "mkdir -p .berth-deep-{1,2,3}/$(printf 'a/%.0s' {1..60})")
        self.command_line("sessions", "kill", "work")
        self.assertEqual(self.output("find /tmp /var/tmp -name '.berth-deep-*'"), "")
        self.assertEqual(self.output("ls -A ~ | wc -l"), "3\n")
        self.command_line("sessions", "kill", "work", "--purge")
        self.assertEqual(list((self.state.path / "sessions").iterdir()), [])

    def test_list_and_kill(self):
        self.assertEqual(self.sessions(), [])
        self.output("echo kept >f; sleep 300 >/dev/null 2>&1 & echo $! >pid")
        other = self.start("--session", "other")
        other.call_tool("bash_exec", {"command": "true"})
        self.assertEqual({(session["session"], session["state"]) for session in self.sessions()},
                         {("work", "running"), ("other", "running")})
        self.assertIn("work", self.command_line("sessions", "list"))
        self.command_line("sessions", "kill", "missing", status=1)
        self.command_line("sessions", "kill", "work")
        self.wait_until(lambda: len(self.living_guests()) == 1, 2, self.state.processes())
        # The home is kept; the agent is told that what ran is gone, once.
        told = self.run_command("cat f; ps -o args= -p $(cat pid) | grep -c 'sleep [3]00'")
        self.assertEqual(told.data["stdout"], "kept\n0\n")
        self.assertEqual(len(told.notices), 2, told.notices)
        self.assertIn("sleep 300", told.notices[0])
        self.assertIn("it ran, and was ended with the sandbox", told.notices[0])
        self.assertEqual(told.notices[1], "the sandbox had ended (it was ended on request); a fresh "
                                          "one is in use; files in the home are kept")
        self.assertEqual(told.text.splitlines()[0], f"[berth] {told.notices[0]}")
        self.assertNotIn("[berth]", self.run_command("true").text)
        self.assertEqual(self.run_command("true").notices, [])
        self.command_line("sessions", "kill", "work", "--purge")
        told = self.run_command("ls")
        self.assertEqual(told.data["stdout"], "")
        self.assertEqual(told.notices,
                         ["the session was deleted with its files, or its home was given to "
                          "another session; a fresh one is in use"])
        self.assertEqual(other.call_tool("bash_exec", {"command": "echo on"}).data["stdout"], "on\n")


    def test_a_session_that_another_server_began_anew_goes_on(self):
        self.output("echo kept >f")
        self.command_line("sessions", "kill", "work")
        other = self.start("--session", "work")
        self.assertEqual(len(other.call_tool("bash_exec", {"command": "true"}).notices), 1)
        for tool, arguments in (("read_file", {"path": "f"}), ("bash_exec", {"command": "cat f"})):
            self.assertIn("kept", self.call(tool, **arguments).text)

    def test_a_call_that_had_begun_is_told_that_it_was_lost(self):
        pending = self.berth.call_async("bash_exec", {"command": "touch begun; sleep 300"})
        self.wait_until(lambda: self.output("ls") == "begun\n", 10, "the command began")
        self.command_line("sessions", "kill", "work")
        lost = pending.result()
        self.assertEqual(lost.error.get("code"), "session_lost", lost)
        self.assertIn("has ended during this call (it was ended on request)", lost.text)
        self.assertEqual(self.output("ls"), "begun\n")

    def test_a_call_that_had_begun_is_told_that_its_files_were_deleted(self):
        pending = self.berth.call_async("bash_exec", {"command": "touch begun; sleep 300"})
        self.wait_until(lambda: self.output("ls") == "begun\n", 10, "the command began")
        self.command_line("sessions", "kill", "work", "--purge")
        lost = pending.result()
        self.assertEqual(lost.error.get("code"), "session_lost", lost)
        self.assertIn("has ended during this call (it was deleted with its files", lost.text)
        self.assertIn("a fresh sandbox, without the files of this one", lost.error["hint"])
        self.assertEqual(self.output("ls"), "")

    def test_what_a_sandbox_was_made_with_is_told_to_who_asked_for_something_else(self):
        self.berth = self.start("--session", "work", env={"BERTH_LOCAL_PIDS": "300"})
        self.assertEqual(self.run_command("true").notices, [])
        plain = self.start("--session", "work")
        self.assertEqual(plain.call_tool("bash_exec", {"command": "true"}).notices, [])
        self.assertEqual(plain.call_tool("session_info").data["limits"]["pids"], 300)
        other = self.start("--session", "work", "--network", "host")
        told = other.call_tool("bash_exec", {"command": "true"}).notices
        self.assertEqual(len(told), 1)
        self.assertIn("(network)", told[0])
        self.assertEqual(other.call_tool("bash_exec", {"command": "true"}).notices, [])


class WorkspaceTest(ParityTest):
    def test_what_is_saved_in_one_session_is_loaded_in_another(self):
        self.output("mkdir -p out && echo one >out/1 && echo two >out/2 && chmod 755 out/2")
        saved = self.call("save_to_workspace", sandbox_path="out", workspace_path="/results").data
        self.assertEqual([file["workspace_path"] for file in saved["files"]],
                         ["/results/1", "/results/2"])
        self.assertEqual(self.call("list_workspace_files", prefix="/results").data["total"], 2)
        self.assertEqual(self.call("list_workspace_files", prefix="/res").data["total"], 0)
        self.berth = self.start("--session", "other")
        self.call("load_from_workspace", workspace_path="/results", sandbox_path="~/in")
        self.assertEqual(self.output("cat in/1 in/2; stat -c %a in/2"), "one\ntwo\n755\n")
        self.call("delete_workspace_file", workspace_path="results/1")
        self.refused("not_found", "delete_workspace_file", workspace_path="/results/1")

    def test_a_folder_of_the_workspace_is_not_deleted_and_its_files_are_named(self):
        self.output("mkdir out; touch out/1 out/2")
        self.call("save_to_workspace", sandbox_path="out", workspace_path="/results")
        error = self.refused("is_directory", "delete_workspace_file", workspace_path="results")
        self.assertIn("'/results' in the workspace is a folder of 2 files", error.text)
        self.assertIn("Delete each: /results/1, /results/2.", error.text)
        self.output("for n in $(seq 3 12); do touch out/$n; done")
        self.call("save_to_workspace", sandbox_path="out", workspace_path="/results")
        error = self.refused("is_directory", "delete_workspace_file", workspace_path="/results/")
        self.assertIn('list_workspace_files {"prefix": "/results"} shows all.', error.text)

    def test_a_single_file_goes_where_it_was_told(self):
        self.output("mkdir d; echo one >d/n.txt")
        for target, stored in ((None, "/n.txt"), ("/x.txt", "/x.txt"), ("/dir/", "/dir/n.txt"),
                               ("/n.txt", "/n.txt")):
            with self.subTest(target):
                given = {} if target is None else {"workspace_path": target}
                files = self.call("save_to_workspace", sandbox_path="d/n.txt", **given).data["files"]
                self.assertEqual([(file["workspace_path"], file["size_bytes"]) for file in files],
                                 [(stored, 4)])
                self.call("load_from_workspace", workspace_path=stored, sandbox_path="back")
                self.assertEqual(self.output("cat back; rm back"), "one\n")
        self.refused("conflict", "save_to_workspace", sandbox_path="d/n.txt", overwrite=False)

    def test_a_pattern_saves_what_it_finds(self):
        self.output("mkdir -p out/deep && echo one >out/1.txt && echo two >out/deep/2.txt && "
                    "echo three >out/3.dat")
        for pattern, given, stored in (
                ("out/*.txt", {}, ["/1.txt"]), ("out/**/*.txt", {}, ["/1.txt", "/deep/2.txt"]),
                ("out/*.{txt,dat}", {"workspace_path": "/kept"}, ["/kept/1.txt", "/kept/3.dat"]),
                ("out", {}, ["/out/1.txt", "/out/3.dat", "/out/deep/2.txt"])):
            with self.subTest(pattern):
                files = self.call("save_to_workspace", sandbox_path=pattern, **given).data["files"]
                self.assertEqual(sorted(file["workspace_path"] for file in files), stored)
                self.call("load_from_workspace", workspace_path=stored[0], sandbox_path="~/back")
                self.assertEqual(self.output("cat ~/back"), "one\n")
        self.refused("not_found", "save_to_workspace", sandbox_path="out/*.none")

    def test_a_name_is_no_pattern_where_something_is_called_so(self):
        names = ("[slug]", "{a,b}", "st*r", "wh?t")
        self.output("mkdir -p app/x && cd app && echo one >p.ts && cp p.ts x/y.ts && "
                    + " && ".join(f"mkdir '{name}' && cp -r p.ts x '{name}'" for name in names))
        for name in names:
            for path, stored in ((name, [f"/{name}/p.ts", f"/{name}/x/y.ts"]),
                                 (name + "/", [f"/{name}/p.ts", f"/{name}/x/y.ts"]),
                                 (name + "/x", ["/x/y.ts"]), (name + "/p.ts", ["/p.ts"]),
                                 (name + "/*.ts", ["/p.ts"]), (name + "/?/*.ts", ["/x/y.ts"])):
                with self.subTest(path):
                    files = self.call("save_to_workspace", sandbox_path="~/app/" + path).data["files"]
                    self.assertEqual([file["workspace_path"] for file in files], stored)
        for pattern, stored in (("*.ts", ["/p.ts"]), ("[x]/*.ts", ["/x/y.ts"])):
            with self.subTest(pattern):
                files = self.call("save_to_workspace", sandbox_path="~/app/" + pattern).data["files"]
                self.assertEqual([file["workspace_path"] for file in files], stored)

    def test_what_was_damaged_is_never_handed_out(self):
        self.output("seq 100000 >f; echo other >g")
        self.call("save_to_workspace", sandbox_path="f", workspace_path="/d/f")
        self.call("save_to_workspace", sandbox_path="g", workspace_path="/d/g")
        (stored,) = (self.state.path / "workspace").rglob("f")
        content = stored.read_bytes()
        at = content.index(b"\n50000\n") + 1
        for damaged in (content[:at] + b"6" + content[at + 1:], content[:at], b""):
            with self.subTest(len(damaged)):
                stored.chmod(0o600)
                stored.write_bytes(damaged)
                result = self.refused("backend_error", "load_from_workspace", workspace_path="/d",
                                      sandbox_path="~/in")
                self.assertIn("damaged", result.text)
                self.assertEqual(self.output("find in -type f 2>/dev/null; true"), "")
        self.call("load_from_workspace", workspace_path="/d/g", sandbox_path="~/g")

    def test_the_workspace_of_nobody(self):
        self.output("echo one >f")
        nobody = self.start("--principal", "")
        nobody.call_tool("bash_exec", {"command": "echo one >f"})
        for tool, arguments in (("save_to_workspace", {"sandbox_path": "f"}),
                                ("load_from_workspace", {"workspace_path": "/f"}),
                                ("list_workspace_files", {}),
                                ("delete_workspace_file", {"workspace_path": "/f"})):
            result = nobody.call_tool(tool, arguments)
            self.assertEqual(result.error.get("code"), "authentication_required", result)
            self.assertIn("starts the server with a --principal", result.error["hint"])

    def test_a_principal_has_a_workspace_of_its_own(self):
        self.output("echo one >f")
        self.call("save_to_workspace", sandbox_path="f")
        other = self.start("--session", "work", "--principal", "else")
        self.assertEqual(other.call_tool("list_workspace_files").data["total"], 0)
        result = other.call_tool("load_from_workspace", {"workspace_path": "/f"})
        self.assertEqual(result.error.get("code"), "not_found", result)
        self.assertFalse(os.path.exists(self.state.path / "f"))
