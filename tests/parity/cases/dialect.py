"""The Claude dialect on the real server: what is recorded of Claude Code's built-in tools (inputs and
the text that the model sees), call by call, and the errors in the caller's own names."""

import base64
import re

from picture import noise
from suite import ParityTest

NO_NEED = "(file state is current in your context — no need to Read it back)"


class DialectTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.berth = self.start("--session", "work", "--tool-dialect", "claude", structured=False)
        self.home = self.said("Bash", command="pwd")

    def said(self, tool, **arguments):
        """The text of a call that must work."""
        result = self.berth.call_tool(tool, arguments)
        self.assertFalse(result.is_error, result)
        return result.text

    def failed(self, tool, arguments, *words):
        """The text of a call that must fail; it has all these words."""
        result = self.berth.call_tool(tool, arguments)
        self.assertTrue(result.is_error, result)
        for word in words:
            self.assertIn(word, result.text)
        return result

    def make(self, **files):
        for name, content in files.items():
            self.said("Write", file_path=name, content=content)


class BashTest(DialectTest):
    def test_recorded_texts(self):
        for command, text in (("echo out", "out"), ("echo out; echo err >&2", "out\nerr"),
                              ("true", "(Bash completed with no output)"),
                              ("printf '\\n\\n  a  \\n\\n'", "  a"),
                              ("printf 'a\\n\\nb\\n\\n'; echo err >&2", "a\n\nb\n\nerr"),
                              ("cat", "(Bash completed with no output)"),
                              ("test -t 0 || test -t 1 || echo none", "none")):
            with self.subTest(command):
                self.assertEqual(self.said("Bash", command=command, description="as recorded"), text)

    def test_an_exit_code_is_an_error_that_begins_with_it(self):
        result = self.failed("Bash", {"command": "echo out; echo err >&2; exit 3"})
        self.assertEqual(result.text, "Exit code 3\nout\nerr")
        self.assertEqual((result.data["exit_code"], result.data["ok"]), (3, True))
        self.assertEqual(self.failed("Bash", {"command": "false"}).text, "Exit code 1")
        self.assertEqual(self.failed("Bash", {"command": "kill -9 $$"}).text,
                         "Exit code 137\n[killed by SIGKILL]")

    def test_the_directory_stays_and_variables_do_not(self):
        self.assertEqual(self.said("Bash", command="mkdir d && cd d && export X=1"),
                         "(Bash completed with no output)")
        self.assertEqual(self.said("Bash", command='pwd; echo "[$X]"'), f"{self.home}/d\n[]")

    def test_timeout_counts_milliseconds(self):
        result = self.failed("Bash", {"command": "echo begun; sleep 30", "timeout": 1000})
        self.assertEqual(result.text,
                         "begun\nCommand did not complete within its 1s timeout and was stopped.")
        self.assertTrue(result.data["timed_out"])
        self.assertEqual(self.said("Bash", command="sleep 1.2; echo in time", timeout=2500),
                         "in time")
        self.failed("Bash", {"command": "true", "timeout": 7200001}, "timeout: 7200001",
                    "milliseconds, at most 7200000")
        self.failed("Bash", {"command": "true", "timeout": "5"}, "timeout: expected a whole number")

    def test_what_is_not_there_is_said_in_the_caller_s_words(self):
        self.said("Bash", command="true", run_in_background=False, dangerouslyDisableSandbox=True)
        text = self.said("Bash", command="echo ran; sleep 300", run_in_background=True)
        job = re.match(r"Command running in background with ID: (\S+)\. bash_output", text)[1]
        self.assertIn("ran", self.said("bash_output", job_id=job, wait=5))
        self.failed("Bash", {}, "needed: command", "(Write, then cat >>FILE in Bash)")
        self.failed("Write", {"_raw": '{"file_path": "a", "content": "b'}, "arrived cut off",
                    "Write with the first part, then cat >>FILE in Bash")
        self.failed("Bash", {"command": " "}, "command: there is nothing to run", "with Write")
        self.failed("Bash", {"command": "true", "workdir": "/"}, "workdir: there is no argument")

    def test_a_background_command_is_stopped_as_a_task(self):
        command = "echo ran; sleep 300"
        text = self.said("Bash", command=command, run_in_background=True)
        job = re.match(r"Command running in background with ID: (\S+)\. bash_output .* TaskStop ends "
                       "it", text)[1]
        self.failed("TaskStop", {}, "needed: task_id")
        self.failed("TaskStop", {"task_id": job, "signal": "INT"}, "signal: there is no argument")
        missing = self.failed("TaskStop", {"task_id": "job-99"}, "No task found with ID: job-99",
                              f"{job} (running)")
        self.assertEqual(missing.error["code"], "not_found")
        self.assertEqual(self.said("TaskStop", shell_id=job),
                         f"Successfully stopped task: {job} ({command})")
        again = self.failed("TaskStop", {"task_id": job})
        self.assertEqual(again.text, f"Task {job} is not running (status: killed)")
        self.assertEqual(again.data["status"], "ended")
        text = self.said("Bash", command="exit 3", run_in_background=True)
        job = re.search(r"ID: (\S+)\. ", text)[1]
        self.assertIn("exit 3", self.said("bash_output", job_id=job, wait=10))
        self.assertEqual(self.failed("TaskStop", {"task_id": job}).text,
                         f"Task {job} is not running (status: failed)")
        self.failed("bash_output", {"job_id": "job-99"}, "there is no job job-99")

    def test_long_output_names_its_file_and_Read_pages_it(self):
        text = self.said("Bash", command="seq 1 20000")
        path = re.search(r"all of it is in (\S+), which Read pages\]$", text)[1]
        self.assertIn("left out", text)
        self.assertEqual(self.said("Read", file_path=path, offset=10000, limit=2),
                         "10000\t10000\n10001\t10001")

    def test_what_runs_on_is_named(self):
        text = self.said("Bash", command="sleep 300 >/dev/null 2>&1 &")
        self.assertRegex(text, r"\A\(Bash completed with no output\)\n\[left running as job ")


class FilesTest(DialectTest):
    def test_write_says_whether_the_file_is_new(self):
        path = f"{self.home}/new/a.txt"
        self.assertEqual(self.said("Write", file_path=path, content="a\n"),
                         f"File created successfully at: {path} {NO_NEED}")
        self.assertEqual(self.said("Write", file_path="new/a.txt", content="b\n"),
                         f"The file new/a.txt has been updated successfully. {NO_NEED}")
        self.assertEqual(self.said("Bash", command="cat new/a.txt"), "b")
        self.failed("Write", {"file_path": "x"}, "missing: content", "file_path", "with Bash")

    def test_read_numbers_lines_and_shows_the_last_empty_one(self):
        self.make(a="l1\nl2\nl3\n", b="l1\nl2")
        for arguments, text in (({}, "1\tl1\n2\tl2\n3\tl3\n4\t"), ({"offset": 2}, "2\tl2\n3\tl3\n4\t"),
                                ({"offset": 2, "limit": 1}, "2\tl2"), ({"offset": 1, "limit": 2},
                                "1\tl1\n2\tl2"), ({"limit": 3}, "1\tl1\n2\tl2\n3\tl3"),
                                ({"offset": 4}, "4\t")):
            with self.subTest(arguments):
                self.assertEqual(self.said("Read", file_path="a", **arguments), text)
        self.assertEqual(self.said("Read", file_path=f"{self.home}/b"), "1\tl1\n2\tl2")

    def test_read_warns_of_what_has_nothing_to_show(self):
        self.make(a="l1\nl2\nl3\n", empty="")
        self.assertEqual(self.said("Read", file_path="empty"),
                         "<system-reminder>Warning: the file exists but the contents are empty."
                         "</system-reminder>")
        self.assertEqual(self.said("Read", file_path="a", offset=100),
                         "<system-reminder>Warning: the file exists but is shorter than the "
                         "provided offset (100). The file has 4 lines.</system-reminder>")

    def test_read_of_what_is_no_text(self):
        self.said("Bash", command="mkdir d; printf 'a\\0b' >bin; printf 'a\\377\\n' >latin")
        self.assertEqual(self.failed("Read", {"file_path": "bin"}, "This tool cannot read binary "
                                     "files.").error["code"], "unsupported")
        self.failed("Read", {"file_path": "d"}, f"EISDIR: illegal operation on a directory, read "
                    f"'{self.home}/d'", "ls in Bash")
        self.assertIn("1\ta\ufffd\n2\t\n\n[not valid UTF-8", self.said("Read", file_path="latin"))
        picture = base64.b64encode(noise(4)).decode()
        self.said("Bash", command=f"echo {picture} | base64 -d >a.png")
        shown = self.berth.call_tool("Read", {"file_path": "a.png"})
        self.assertEqual([image["mimeType"] for image in shown.images], ["image/png"])

    def test_read_of_what_is_not_there(self):
        self.make(nine="x")
        result = self.failed("Read", {"file_path": "nime"}, "File does not exist. Note: your "
                             f"current working directory is {self.home}.",
                             f"did you mean {self.home}/nine?")
        self.assertEqual(result.error["code"], "not_found")
        self.failed("Read", {"file_path": "nine", "pages": "x"}, "pages: expected a page")
        self.failed("Read", {"path": "nine"}, "path: there is no argument of this name")
        self.failed("Read", {"file_path": "nine", "offset": -1}, "offset: -1 is below")

    def test_a_long_file_is_paged_from_the_line_that_the_result_names(self):
        self.said("Bash", command="seq 1 5000 >long")
        text = self.said("Read", file_path="long")
        self.assertTrue(text.endswith("2000\t2000\n\n[lines 1–2000 of 5001 are shown; next: offset "
                                      "2001]"), text[-100:])
        self.assertTrue(self.said("Read", file_path="long", offset=4001).endswith("5000\t5000\n5001\t"))

    def test_edit_changes_one_or_all(self):
        self.make(a="x = 1\ny = 1\n")
        self.assertEqual(self.said("Edit", file_path="a", old_string="x = 1", new_string="x = 2"),
                         f"The file a has been updated successfully. {NO_NEED}")
        self.make(a="1 1 1\n")
        self.assertEqual(self.said("Edit", file_path="a", old_string="1", new_string="2",
                                   replace_all=True),
                         f"The file a has been updated. All occurrences were successfully "
                         f"replaced. {NO_NEED}")
        self.assertEqual(self.said("Bash", command="cat a"), "2 2 2")
        self.assertEqual(self.said("Edit", file_path="new", old_string="", new_string="n\n"),
                         f"The file new has been updated successfully. {NO_NEED}")

    def test_edit_says_why_not(self):
        self.make(a="x = 1;\nx = 1;\nx = 1;\nx = 1;\nold_text\t= read_file\n")
        edit = {"file_path": "a", "old_string": "x = 1;", "new_string": "y"}
        self.failed("Edit", edit, "Found 4 matches of the string to replace, but replace_all is "
                    "false. To replace all occurrences, set replace_all to true. To replace only "
                    "one occurrence, please provide more context", "1, 2, 3, 4")
        absent = self.failed("Edit", {**edit, "old_string": "zzz"},
                             "String to replace not found in file.\nString: zzz")
        self.assertNotIn("old_text", absent.text)
        # What the file says stays as it is, what the tool says of its argument does not.
        self.failed("Edit", {**edit, "old_string": "old_text = read_file"},
                    r"tabs where old_string has spaces: `old_text\x09= read_file`")
        self.failed("Edit", {**edit, "new_string": "x = 1;"}, "No changes to make: old_string and "
                    "new_string are exactly the same.")
        self.failed("Edit", {**edit, "file_path": "none"}, "File does not exist.")
        self.failed("Edit", {"file_path": "a", "old_string": "x"}, "missing: new_string")
        self.failed("Edit", {**edit, "old_string": ""}, "Cannot create new file - file already exists.",
                    "with Write")


class SearchTest(DialectTest):
    def setUp(self):
        super().setUp()
        self.said("Bash", command="mkdir -p src/sub node_modules; "
                  "printf 'one\\nneedle 1\\ntwo\\n' >src/a.py; "
                  "printf 'needle 2\\nneedle 3\\n' >src/sub/b.txt; echo x >node_modules/c.py; "
                  "touch -d 2001-01-01 src/a.py")

    def test_glob_lists_relative_paths_newest_first(self):
        self.assertEqual(self.said("Glob", pattern="**/*.py"), "node_modules/c.py\nsrc/a.py")
        self.assertEqual(self.said("Glob", pattern="*.txt", path="src"), "src/sub/b.txt")
        self.assertEqual(self.said("Glob", pattern="*.txt", path=f"{self.home}/src"),
                         f"{self.home}/src/sub/b.txt")
        for pattern in (f"{self.home}/src/sub/*.txt", "~/src/sub/*.txt", f"{{{self.home}/src/*.txt,"
                        f"{self.home}/src/sub/*.txt}}"):
            self.assertEqual(self.said("Glob", pattern=pattern), f"{self.home}/src/sub/b.txt")
        self.said("Bash", command="cd src")
        self.assertEqual(self.said("Glob", pattern="../src/sub/*"), f"{self.home}/src/sub/b.txt")
        self.said("Bash", command="cd ..")
        self.assertEqual(self.said("Glob", pattern="*.nothing"), "No files found")
        self.failed("Glob", {"pattern": "*", "path": "none"}, "Directory does not exist: none. "
                    f"Note: your current working directory is {self.home}.")

    def test_glob_lists_a_hundred(self):
        self.said("Bash", command="mkdir many; touch many/{1..150}")
        lines = self.said("Glob", pattern="many/*").splitlines()
        self.assertEqual(len(lines), 101)
        self.assertEqual(lines[-1], "(Showing 100 of 150 matching files; 50 more are not listed. "
                         "Narrow the pattern or path to see the rest.)")

    def test_grep_of_each_mode(self):
        self.assertEqual(self.said("Grep", pattern="needle"),
                         "Found 2 files\nsrc/sub/b.txt\nsrc/a.py")  # newest first
        self.assertEqual(self.said("Grep", pattern="needle", output_mode="content"),
                         "src/a.py:2:needle 1\nsrc/sub/b.txt:1:needle 2\nsrc/sub/b.txt:2:needle 3")
        self.assertEqual(self.said("Grep", pattern="NEEDLE", output_mode="count", **{"-i": True}),
                         "src/a.py:1\nsrc/sub/b.txt:2\n\n"
                         "Found 3 total occurrences across 2 files.")
        self.assertEqual(self.said("Grep", pattern="needle", head_limit=1),
                         "Found 1 file limit: 1\nsrc/sub/b.txt")
        self.assertEqual(self.said("Grep", pattern="needle", head_limit=1, offset=1),
                         "Found 1 file offset: 1\nsrc/a.py")
        for mode, text in (("content", "No matches found"), ("files_with_matches", "No files found"),
                           ("count", "No matches found\n\n"
                            "Found 0 total occurrences across 0 files.")):
            self.assertEqual(self.said("Grep", pattern="nothing at all", output_mode=mode), text)

    def test_grep_of_some_files(self):
        content = {"pattern": "needle", "output_mode": "content"}
        for arguments, text in (
                ({"glob": "*.py"}, "src/a.py:2:needle 1"), ({"type": "py"}, "src/a.py:2:needle 1"),
                ({"path": "src/a.py"}, "2:needle 1"),
                ({"path": "src/sub", "-n": False}, "src/sub/b.txt:needle 2\nsrc/sub/b.txt:needle 3"),
                ({"glob": "*.py", "-C": 1}, "src/a.py-1-one\nsrc/a.py:2:needle 1\nsrc/a.py-3-two"),
                ({"glob": "*.py", "-B": 1}, "src/a.py-1-one\nsrc/a.py:2:needle 1"),
                ({"glob": "*.py", "-A": 1, "-o": False}, "src/a.py:2:needle 1\nsrc/a.py-3-two"),
                ({"glob": "*.py", "-o": True}, "src/a.py:2:needle"),
                ({"glob": "*.py", "pattern": "one.needle", "multiline": True},
                 "src/a.py:1:one\nsrc/a.py:2:needle 1")):
            with self.subTest(arguments):
                self.assertEqual(self.said("Grep", **{**content, **arguments}), text)

    def test_grep_pages(self):
        self.assertEqual(self.said("Grep", pattern="needle", output_mode="content", head_limit=1,
                                   offset=1),
                         "src/sub/b.txt:1:needle 2\n\n"
                         "[Showing results with pagination = limit: 1, offset: 1]")
        self.assertTrue(self.said("Grep", pattern="needle", output_mode="count", head_limit=1)
                        .endswith("Found 3 total occurrences across 2 files. with pagination = "
                                  "limit: 1"))
        self.berth = self.start("--session", "work", "--tool-dialect", "claude", structured=False,
                                env={"BERTH_GREP_LIMIT": "10"})
        self.said("Bash", command="seq 1 60 >src/numbers")
        numbers = {"pattern": "^", "path": "src/numbers", "output_mode": "content"}
        self.assertTrue(self.said("Grep", **numbers).endswith(
            "10:10\n\n[Showing results with pagination = limit: 10]"))
        whole = self.said("Grep", head_limit=0, **numbers)
        self.assertEqual(len(whole.splitlines()), 60)

    def test_grep_says_what_it_does_not_take(self):
        wrong = self.failed("Grep", {"pattern": "a(b"}, "backslash")
        self.assertEqual(wrong.error["code"], "invalid_argument")
        self.assertNotIn("fixed", wrong.text)
        self.failed("Grep", {"pattern": "(?=a)"}, "in Bash")
        self.failed("Grep", {"pattern": "a", "type": "nothing"}, "`glob`")
        self.failed("Grep", {"pattern": "a", "output_mode": "files"}, "output_mode: expected one of "
                    "content, files_with_matches, count")
        self.failed("Grep", {"pattern": "a", "-A": -1}, "-A: -1 is below")
        self.failed("Grep", {"pattern": "a", "path": "none"}, "Path does not exist: none. Note: "
                    f"your current working directory is {self.home}.")


class OtherToolsTest(DialectTest):
    def test_tools_without_a_counterpart_keep_name_and_form(self):
        self.make(a="x")
        self.assertIn("/a", self.said("save_to_workspace", sandbox_path="a"))
        self.assertIn("work", self.said("session_info"))
        result = self.failed("save_to_workspace", {"sandbox_path": "*.none"})
        self.assertNotIn("glob_files", result.text)
