"""Nothing is written, or made on the way, where it may not be."""

from suite import ParityTest, backend, local_only


class BoundariesTest(ParityTest):
    def refuse_to_write(self, path, codes=("invalid_path",)):
        for tool, arguments in (("write_file", {"content": "x"}),
                                ("write_file", {"content": "x", "mode": "append"}),
                                ("edit_file", {"old_text": "", "new_text": "x"})):
            with self.subTest(tool, path=path):
                result = self.berth.call_tool(tool, {"path": path, **arguments})
                self.assertIn(result.error.get("code"), codes, result)

    def test_outside(self):
        for path in ("/usr/berth-test", "/etc/berth-test", "/usr/berth-test/deep/f",
                     "../../berth-test", "../../../../../../../etc/berth-test",
                     "~/../../etc/berth-test", "//etc//berth-test", "/proc/self/berth-test",
                     "/berth-test", "/dev/berth-test", "/var/berth-test"):
            self.refuse_to_write(path)
            self.assertEqual(self.output(f"cd; test -e {path.replace('/deep/f', '')} || echo no"),
                             "no\n")
        self.refused("invalid_path", "write_file", path="/etc/passwd", content="x")
        self.refused("invalid_path", "edit_file", path="/etc/passwd", old_text="root",
                     new_text="toor")

    def test_neighbours_of_what_is_allowed(self):
        for path in ("/tmp-berth-test", "/home/user2-berth-test/f"):
            self.refuse_to_write(path)

    def test_through_links(self):
        self.output("ln -s /usr/local usr; ln -s /etc/berth-test dangling; ln -s /etc/passwd passwd; "
                    "ln -s usr chain; ln -s loop loop; mkdir d; ln -s ../../../../../../etc d/up; "
                    "ln -s /proc/self/root/etc magic")
        for path in ("usr/berth-test", "usr/berth-test/deep/f", "chain/berth-test", "d/up/berth-test"):
            self.refuse_to_write(path)
        self.refuse_to_write("magic/berth-test", ("invalid_path", "permission_denied"))
        self.refuse_to_write("dangling", ("invalid_path", "conflict"))
        self.refuse_to_write("passwd", ("invalid_path", "conflict", "invalid_argument"))
        self.refuse_to_write("loop", ("invalid_path", "not_found"))
        self.assertEqual(self.output("find /usr/local /etc -name 'berth-test*' 2>/dev/null; "
                                     "test -L dangling -a -L passwd && echo links"), "links\n")

    def test_load_from_the_workspace(self):
        self.call("write_file", path="f", content="x")
        self.call("save_to_workspace", sandbox_path="f")
        self.output("ln -s /usr/local usr")
        for path in ("/usr/local/berth-test", "../../../../../../../etc/berth-test",
                     "usr/berth-test", "/etc/passwd"):
            with self.subTest(path):
                self.refused("invalid_path", "load_from_workspace", workspace_path="/f",
                             sandbox_path=path)
        self.call("save_to_workspace", sandbox_path="f", workspace_path="/a/f")
        self.output("mkfifo pipe")
        for path, words in (("/etc/berth-test", "/etc/berth-test is outside"),
                            ("f", "/f is a file, and several files need a directory"),
                            ("pipe", "/pipe is a named pipe, and several files need a directory")):
            with self.subTest(path):
                self.assertIn(words, self.refused("invalid_path", "load_from_workspace",
                                                  workspace_path="/a", sandbox_path=path).text)
        for path in ("../x", "/../x", "/a/../../x"):
            with self.subTest(path):
                self.refused("invalid_path", "load_from_workspace", workspace_path=path)
                self.refused("invalid_path", "save_to_workspace", sandbox_path="f",
                             workspace_path=path)
        self.assertFalse((self.state.path / "x").exists())

    @local_only
    def test_reading_shows_the_sandbox_only(self):
        for path in ("/etc/passwd", "../../etc/passwd"):
            content = self.call("read_file", path=path, line_numbers=False).data["content"]
            self.assertIn("user:x:1000:", content)
        for path in ("/etc/shadow", str(self.state.path), "/etc/machine-id-of-the-host"):
            self.refused("not_found", "read_file", path=path)

    def test_a_narrow_policy(self):
        narrow = self.start("--session", "narrow", env={"BERTH_PATH_POLICY": "home"})
        for tool, arguments in (("read_file", {"path": "/etc/passwd"}),
                                ("glob_files", {"pattern": "*", "path": "/usr"}),
                                ("grep_files", {"pattern": "x", "path": "/etc"}),
                                ("write_file", {"path": "/tmp/f", "content": "x"})):
            with self.subTest(tool):
                result = narrow.call_tool(tool, arguments)
                self.assertEqual(result.error.get("code"), "invalid_path", result)
        self.assertFalse(narrow.call_tool("write_file", {"path": "f", "content": "x"}).is_error)
        kept = narrow.call_tool("bash_exec", {"command": "seq 100000"}).data["stdout_stream"]["spill_path"]
        for tool, arguments in (("read_file", {"path": kept, "offset": 99990}),
                                ("grep_files", {"path": kept, "pattern": "^100000$"})):
            with self.subTest(tool, path=kept):
                self.assertIn("100000", narrow.call_tool(tool, arguments).text)
        self.assertEqual(narrow.call_tool("session_info").data["backend"], backend())
