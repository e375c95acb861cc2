"""read_file, write_file, glob_files, grep_files: behaviour and error words."""

import base64
import hashlib

from picture import noise
from suite import ParityTest, sandboxes_only


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
                self.assertEqual(data["sha256"], hashlib.sha256(content.encode()).hexdigest())
                self.assertEqual(self.output("base64 -w0 <d/e/f"),
                                 base64.b64encode(content.encode()).decode())
        for raw in (b"", b"\0\xff\r\n", bytes(range(256)) * 50):
            encoded = base64.b64encode(raw).decode()
            self.write("b", encoded, encoding="base64")
            self.assertEqual(self.output("sha256sum <b")[:64], hashlib.sha256(raw).hexdigest())
            self.assertEqual(self.call("read_file", path="b", encoding="base64").data["content"],
                             encoded)

    def test_how_it_is_written(self):
        self.assertTrue(self.write("f", "one\n")["created"])
        self.assertFalse(self.write("f", "two\n", mode="append")["created"])
        self.assertEqual(self.content("f"), "one\ntwo\n")
        self.output("chmod 755 f; ln -s f link; ln -s missing dangling")
        self.write("link", "through\n")
        self.assertEqual(self.output("test -L link; cat f; stat -c %a f"), "through\n755\n")
        present = self.call("read_file", path="f").data["sha256"]
        self.write("f", "by hash\n", if_sha256=present)
        changed = self.refused("conflict", "write_file", path="f", content="x", if_sha256=present)
        now = hashlib.sha256(b"by hash\n").hexdigest()
        self.assertIn(now, changed.text)
        self.assertEqual(changed.error["details"]["sha256"], now)
        self.refused("conflict", "write_file", path="f", content="x", mode="create")
        self.assertEqual(self.content("f"), "by hash\n")

    def test_pages(self):
        self.output("seq 5000 >f")
        data = self.call("read_file", path="f", offset=100, limit=3).data
        self.assertEqual((data["content"].split(), data["total_lines"], data["next_offset"]),
                         (["101", "102", "103"], 5000, 103))
        self.assertEqual(self.call("read_file", path="f").data["line_count"], 2000)

    def test_error_words(self):
        self.write("f", "one\ntwo\ntwo\n")
        self.output("mkfifo fifo; mkdir shut; touch shut/f; chmod 0 shut; mkdir dir")
        for code, tool, arguments in (
                ("not_found", "read_file", {"path": "missing"}),
                ("invalid_path", "read_file", {"path": "f/x"}),
                ("not_a_file", "read_file", {"path": "fifo"}),
                ("not_a_file", "read_file", {"path": "/dev/zero"}),
                ("invalid_argument", "read_file", {}),
                ("invalid_argument", "read_file", {"path": ""}),
                ("invalid_argument", "read_file", {"path": "f", "limit": 0}),
                ("is_directory", "write_file", {"path": "dir", "content": "x"}),
                ("is_directory", "edit_file", {"path": "dir", "old_text": "a", "new_text": "b"}),
                ("invalid_argument", "write_file", {"path": "", "content": "x"}),
                ("invalid_argument", "write_file", {"path": "b", "content": "%",
                                                    "encoding": "base64"}),
                ("not_found", "glob_files", {"pattern": "*", "path": "missing"}),
                ("not_found", "grep_files", {"pattern": "x", "path": "missing"}),
                ("invalid_argument", "grep_files", {"pattern": "(unclosed"})):
            with self.subTest(f"{tool} {arguments}"):
                self.refused(code, tool, **arguments)
        self.assertEqual(self.content("f"), "one\ntwo\ntwo\n")

    @sandboxes_only
    def test_a_folder_that_may_not_be_written_to_is_named(self):
        self.output("mkdir closed; echo old >closed/f; chmod 555 closed")
        for tool, arguments in (
                ("write_file", {"path": "closed/f", "content": "new\n"}),
                ("write_file", {"path": "closed/new", "content": "new\n"}),
                ("edit_file", {"path": "closed/f", "old_text": "old", "new_text": "new"})):
            with self.subTest(f"{tool} {arguments}"):
                told = self.refused("permission_denied", tool, **arguments)
                self.assertRegex(told.error["message"], "^the folder /.*/closed may not be written to")
        self.assertEqual(self.output("cat closed/f; ls closed"), "old\nf\n")
        told = self.refused("permission_denied", "write_file", path="closed/d/e/f", content="x")
        self.assertRegex(told.error["message"], "^the folder /.*/closed may not be written to: the directory d ")
        self.output("chmod 0 closed")
        for tool, arguments in (("read_file", {"path": "closed/f"}),
                                ("write_file", {"path": "closed/d/e/f", "content": "x"})):
            with self.subTest(f"{tool} {arguments}"):
                told = self.refused("permission_denied", tool, **arguments)
                self.assertRegex(told.error["message"], "the folder /.*/closed may not be entered$")

    def test_a_pattern_that_cannot_be_says_what_is_unsupported_and_the_way_round(self):
        for pattern, what in (("(unclosed", "missing )"), ("a**", "**"), ("(?=ahead)", "look-around"),
                              ("(?<!behind)x", "look-around"), ("(a)\\1", "backreferences"),
                              ("(?<name>x)", "cannot be named with (?<name>")):
            with self.subTest(pattern):
                error = self.refused("invalid_argument", "grep_files", pattern=pattern).error
                self.assertIn(what, error["message"])
                self.assertIn("`fixed`", error["hint"])

    def test_a_pattern_that_is_too_long_says_what_to_do(self):
        error = self.refused("invalid_argument", "grep_files", pattern="x|" * 40000).error
        self.assertIn("80000 bytes, more than 64 KiB", error["message"])
        self.assertIn("grep -rnEf FILE", error["hint"])

    def test_a_name_that_deceives_is_written_alike_in_results_and_errors(self):
        name = "a\u202egnp\u200b\u2028\u061c\U000e0041\x9b"
        shown = r"a\u202egnp\u200b\u2028\u061c\U000e0041\u009b"
        written = self.call("write_file", path=name, content="text\n")
        self.assertTrue(written.data["path"].endswith(name))
        for told in (written.text, self.call("glob_files", pattern="a*").text,
                     self.call("grep_files", pattern="text").text,
                     self.refused("text_not_found", "edit_file", path=name, old_text="none",
                                  new_text="x").text,
                     self.refused("conflict", "write_file", path=name, content="", mode="create").text,
                     self.refused("not_found", "read_file", path=name + "x").text,
                     self.refused("not_found", "load_from_workspace", workspace_path=name).text):
            with self.subTest(told):
                self.assertIn(shown, told)
                self.assertFalse((set(name) - set("agnp")) & set(told))

    def test_absolute_alternatives(self):
        home = self.output("mkdir -p d/e f; touch d/a.c d/e/a.c f/b.c f/b.h; pwd").strip()
        found = self.call("glob_files", pattern=f"{{{home}/d/*.c,{home}/f/*.c}}").data
        self.assertEqual((sorted(found["paths"]), found["root"]),
                         ([f"{home}/d/a.c", f"{home}/f/b.c"], home))
        self.assertIn("begin in different places",
                      self.refused("invalid_argument", "glob_files", pattern=f"{{{home}/d/*.c,*.h}}").text)
        saved = self.call("save_to_workspace", sandbox_path=f"{{{home}/d/*.c,{home}/f/*.h}}").data
        self.assertEqual(sorted(file["workspace_path"] for file in saved["files"]), ["/d/a.c", "/f/b.h"])
        self.run_command("echo foo >d/a.c; echo foo >d/e/a.c")
        self.assertEqual(self.call("grep_files", pattern="foo", output_mode="files",
                                   include=f"{{{home}/d/*.c,/elsewhere/*}}").data["total_files"], 1)

    def test_what_lies_in_git_is_found_where_the_pattern_names_it(self):
        self.output("git init -q r && touch r/.git/hooks/mine && cd r && printf '*.o\\n' >.gitignore && touch a.o")
        for pattern in (".git/hooks/mine", ".git/hooks/m*", "./.git/*/mine", "**/.git/**/mine", "~/r/.git/hooks/m*"):
            with self.subTest(pattern):
                paths = self.call("glob_files", pattern=pattern).data["paths"]
                self.assertEqual([path.rpartition("/r/")[2] for path in paths], [".git/hooks/mine"])
        result = self.call("glob_files", pattern="mine")
        self.assertTrue(result.data["git_left_out"])
        self.assertIn(".git left out: name it", result.text)
        result = self.call("glob_files", pattern="*.o", respect_ignore=True)
        self.assertEqual((result.data["total"], result.data["ignored_files"]), (0, 1))
        self.assertIn("1 file skipped as ignored (respect_ignore)", result.text)

    def test_a_picture_is_shown(self):
        picture = base64.b64encode(noise(40)).decode()
        self.write("p.png", picture, encoding="base64")
        result = self.call("read_file", path="p.png")
        self.assertEqual(result.images,
                         [{"type": "image", "data": picture, "mimeType": "image/png"}])
        self.assertEqual((result.data["kind"], result.data["mime_type"]), ("image", "image/png"))
        self.assertIn("p.png", result.text)
        # One that is none would make the model's API refuse the whole conversation.
        self.write("p.png", picture[:400], encoding="base64")
        result = self.call("read_file", path="p.png")
        self.assertEqual((result.images, result.data["kind"]), ([], "binary"))

    def test_other_spellings(self):
        self.write("f", "one\n")
        self.call("edit_file", file_path="f", old_string="one", new_string="two")
        self.assertIn("two", self.call("read_file", file_path="f").text)
        self.assertIn("two", self.call("grep_files", **{"pattern": "TWO", "-i": True,
                                                        "head_limit": 0}).text)

    def test_search(self):
        self.output("mkdir -p s/.hidden s/.git && cd s && echo needle >a.py && "
                    "echo needle >.hidden/b && echo needle >.git/c && touch c.txt; cd ..")
        paths = self.call("glob_files", pattern="*.py", path="s").data["paths"]
        self.assertEqual([path.rpartition("/")[2] for path in paths], ["a.py"])
        self.assertEqual(self.output(f"cat {paths[0]}"), "needle\n")
        data = self.call("grep_files", pattern="needle", path="s").data
        self.assertEqual(data["total_matches"], 2)
        self.assertEqual(self.call("grep_files", pattern="no such").data["total_matches"], 0)

    def test_what_was_left_out_as_ignored_is_told(self):
        self.output("git init -q r && cd r && printf '*.o\\n/build/\\n' >.gitignore && mkdir build && "
                    "for f in a.c a.o b.o build/c; do echo needle >$f; done; cd ..")
        result = self.call("grep_files", pattern="needle", path="r")
        self.assertEqual((result.data["total_matches"], result.data["ignored_files"]), (1, 3))
        self.assertIn("3 files skipped as ignored (no_ignore)", result.text.splitlines()[-1])
        result = self.call("grep_files", pattern="needle", path="r", no_ignore=True)
        self.assertEqual((result.data["total_matches"], result.data["ignored_files"]), (4, 0))
        self.assertNotIn("ignored", result.text)

    def test_a_name_is_only_a_name(self):
        for name in ("$(touch hit)", "`touch hit`", "; touch hit", "-rf", "a b", "a'b\"c", "*", "[a]",
                     "#x", "~x", "a\\b", "ünï→𝄞", "a\tb", "..."):
            with self.subTest(name):
                path = f"names/{name}"
                self.write(path, "needle")
                self.assertEqual(self.content(path), "needle")
                self.call("edit_file", path=path, old_text="needle", new_text="found")
                self.assertEqual(self.output('cat <"$F"', env={"F": path}), "found")
                self.assertEqual(self.call("grep_files", pattern="found",
                                           path=path).data["total_matches"], 1)
                self.output('rm -- "$F"', env={"F": path})
        self.write("f", "-e\n--include\n")
        self.assertEqual(self.call("grep_files", pattern="-e", path="f").data["total_matches"], 1)
        self.output("test ! -e hit && test ! -e names/hit")
