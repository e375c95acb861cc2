"""read_file, write_file, edit_file, glob_files, grep_files: behaviour and error words."""

import base64

from suite import ParityTest


class FilesTest(ParityTest):
    def write(self, path, content, **arguments):
        return self.call("write_file", path=path, content=content, **arguments).data

    def content(self, path):
        return self.call("read_file", path=path, line_numbers=False).data["content"]

    def test_what_is_written_is_read(self):
        for content in ("", "a", "a\n", "tab\there\r\ncrlf\r\n", "\ufeffbom\n", "ünï→𝄞\n"):
            with self.subTest(content):
                data = self.write("d/e/f", content)
                self.assertEqual(data["size_bytes"], len(content.encode()))
                self.assertEqual(self.run_command("sha256sum <d/e/f").data["stdout"][:64],
                                 data["sha256"])

    def test_edits_change_only_what_they_say(self):
        for before, old, new, after in (
                ("a\tb\n", "\tb", "\tc", "a\tc\n"), ("a\r\nb\r\n", "b", "c", "a\r\nc\r\n"),
                ("\ufeffa\nb", "b", "c", "\ufeffa\nc"), ("→ü\n", "ü", "ö", "→ö\n")):
            with self.subTest(before):
                self.write("f", before)
                self.run_command("chmod 755 f")
                self.call("edit_file", path="f", old_text=old, new_text=new)
                out = self.run_command("base64 -w0 f; stat -c ' %a' f").data["stdout"]
                self.assertEqual(out, base64.b64encode(after.encode()).decode() + " 755\n")

    def test_error_words(self):
        self.write("f", "one\ntwo\ntwo\n")
        for code, tool, arguments in (
                ("not_found", "read_file", {"path": "missing"}),
                ("invalid_argument", "read_file", {}),
                ("is_directory", "write_file", {"path": "/tmp", "content": "x"}),
                ("invalid_path", "write_file", {"path": "/etc/x", "content": "x"}),
                ("invalid_path", "write_file", {"path": "", "content": "x"}),
                ("conflict", "write_file", {"path": "f", "content": "x", "mode": "create"}),
                ("text_not_found", "edit_file",
                 {"path": "f", "old_text": "three", "new_text": "x"}),
                ("ambiguous_match", "edit_file", {"path": "f", "old_text": "two", "new_text": "x"}),
                ("invalid_argument", "edit_file", {"path": "f", "old_text": "a", "new_text": "a"}),
                ("conflict", "edit_file", {"path": "f", "old_text": "one", "new_text": "x",
                                           "if_sha256": "0" * 64}),
                ("invalid_argument", "grep_files", {"pattern": "(unclosed"})):
            with self.subTest(f"{tool} {arguments}"):
                self.refused(code, tool, **arguments)
        self.assertEqual(self.content("f"), "one\ntwo\ntwo\n")

    def test_other_spellings(self):
        self.write("f", "one\n")
        self.call("edit_file", file_path="f", old_string="one", new_string="two")
        self.assertIn("two", self.call("read_file", file_path="f").text)
        self.assertIn("two", self.call("grep_files", **{"pattern": "TWO", "-i": True,
                                                        "head_limit": 0}).text)

    def test_search(self):
        self.run_command("mkdir -p s/.hidden && cd s && echo needle >a.py && echo needle >.hidden/b"
                         " && touch c.txt; cd ..")
        paths = self.call("glob_files", pattern="*.py", path="s").data["paths"]
        self.assertEqual([path.rpartition("/")[2] for path in paths], ["a.py"])
        data = self.call("grep_files", pattern="needle", path="s").data
        self.assertEqual(data["total_matches"], 2)
