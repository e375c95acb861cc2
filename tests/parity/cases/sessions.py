"""Sessions and the workspace: who shares what, and what stays."""

from suite import ParityTest


class SessionsTest(ParityTest):
    def test_a_second_server_of_the_session_sees_the_same_files(self):
        self.call("write_file", path="f", content="shared")
        other = self.start("--session", "work", era="modern")
        self.assertEqual(other.call_tool("bash_exec", {"command": "cat f"}).data["stdout"],
                         "shared")

    def test_another_session_does_not(self):
        self.call("write_file", path="f", content="mine")
        other = self.start("--session", "other")
        self.assertEqual(other.call_tool("read_file", {"path": "f"}).error["code"], "not_found")

    def test_a_session_outlives_its_server(self):
        self.run_command("echo kept >f; cd /tmp")
        self.assertEqual(self.berth.close(), 0)
        self.berth = self.start("--session", "work")
        self.assertEqual(self.run_command("cat ~/f; pwd").data["stdout"], "kept\n/tmp\n")

    def test_an_unnamed_session_leaves_nothing(self):
        unnamed = self.start()
        unnamed.call_tool("bash_exec", {"command": "sleep 300 >/dev/null 2>&1 &"})
        self.assertEqual(unnamed.close(), 0)
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_what_is_saved_in_one_session_is_loaded_in_another(self):
        self.run_command("mkdir -p out && echo one >out/1 && echo two >out/2 && chmod 755 out/2")
        saved = self.call("save_to_workspace", sandbox_path="out", workspace_path="/results").data
        self.assertEqual([file["workspace_path"] for file in saved["files"]],
                         ["/results/1", "/results/2"])
        self.assertEqual(self.call("list_workspace_files", prefix="/results").data["total"], 2)
        self.assertEqual(self.call("list_workspace_files", prefix="/res").data["total"], 0)
        self.berth = self.start("--session", "other")
        self.call("load_from_workspace", workspace_path="/results", sandbox_path="~/in")
        self.assertEqual(self.run_command("cat in/1 in/2; stat -c %a in/2").data["stdout"],
                         "one\ntwo\n755\n")
        self.call("delete_workspace_file", workspace_path="results/1")
        self.refused("not_found", "delete_workspace_file", workspace_path="/results/1")
        self.refused("invalid_path", "save_to_workspace", sandbox_path="in/1",
                     workspace_path="../x")

    def test_info_makes_no_machine(self):
        fresh = self.start("--session", "fresh")
        self.assertEqual(fresh.call_tool("session_info").data["state"], "absent")
        fresh.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(fresh.call_tool("session_info").data["state"], "running")
