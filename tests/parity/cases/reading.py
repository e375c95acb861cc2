"""read_file: the end of a file, and what is no text."""

import base64
import json

from picture import noise
from suite import ParityTest


def notebook(*cells):
    return json.dumps({"nbformat": 4, "metadata": {"language_info": {"name": "python"}},
                       "cells": list(cells)})


ODD_NAMES = ("a'b", 'a"b', "a b", "$(touch hit)", "`touch hit`", "-rf", "a;touch hit", "a\nb", "a[1]", "a*",
             "host:a", "a\\b", "\u00fc")

# Stand in for poppler's: seven pages.
PDFTOTEXT = """#!/bin/bash
[ "$1 $2 $3 $4 $6 $9 $#" = "-layout -enc UTF-8 -f -l - 9" ] || exit 9
for ((page = $5; page <= $7; page++)); do printf 'text %d of %s\\n\\f' "$page" "${8@Q}"; done
"""


def code(source, *outputs):
    return {"cell_type": "code", "execution_count": 1, "source": source, "outputs": list(outputs)}


class ReadingTest(ParityTest):
    def read(self, path, **arguments):
        return self.call("read_file", path=path, **arguments)

    def shown(self, path, **arguments):
        return self.read(path, line_numbers=False, **arguments).data["content"]

    def test_the_last_lines_are_those_of_tail(self):
        self.output("seq 5000 >plain; seq -f '%g\r' 9 >crlf; printf 'a\\nb' >unfinished; printf '\\n\\n' >blank; "
                    "seq 100000 | tr '\\n' ' ' >one; : >empty; seq 300000 >large")
        for path in ("plain", "crlf", "unfinished", "blank", "empty", "large"):
            for count in (1, 2, 7, 1999):
                with self.subTest(f"{path} {count}"):
                    self.assertEqual(self.shown(path, offset=-count),
                                     self.output(f"tail -n {count} {path}"))
        data = self.read("plain", offset=-10, limit=3).data
        self.assertEqual((data["content"].split(), data["first_line"], data["next_offset"]),
                         (["4991", "4992", "4993"], 4991, 4993))
        self.assertIn("[line 5,000 of 5,000 (offset -1)",
                      self.read("plain", offset=-1).text)
        self.assertEqual(self.read("one", offset=-1).data["truncated_by"], "line")

    def test_the_last_lines_of_utf_16(self):
        self.output("seq 300000 | iconv -t UTF-16 >f")
        data = self.read("f", offset=-2).data
        self.assertEqual((data["content"], data["first_line"]), ("299999\n300000\n", 299999))

    def test_the_last_bytes_and_the_last_entries(self):
        self.output("seq 5000 >f; mkdir d; cd d; touch $(seq -w 300); cd ..")
        data = self.read("f", offset=-5, encoding="base64").data
        self.assertEqual(data["content"], self.output("tail -c 5 f | base64").strip())
        names = [entry["name"] for entry in self.read("d", offset=-3, limit=2).data["entries"]]
        self.assertEqual(names, ["298", "299"])

    def test_the_end_of_a_huge_file_is_read_alone(self):
        self.output("echo first >f; head -c 100000 /dev/zero | tr '\\0' x >>f; "
                    "truncate -s 3G f; printf '\\nalmost\\nlast\\n' >>f")
        result = self.read("f", offset=-2, limit=1)
        self.assertEqual((result.data["content"], result.data["first_line"], result.data["next_offset"]),
                         ("almost\n", -2, -1))
        self.assertIn("-2\talmost", result.text)
        self.assertEqual(self.shown("f", offset=-1), "last\n")
        told = self.refused("too_large", "read_file", path="f", offset=-3)
        self.assertIn("base64", told.error["hint"])

    def test_the_end_of_a_file_of_proc(self):
        whole = self.shown("/proc/cpuinfo").splitlines()
        data = self.read("/proc/cpuinfo", offset=-4).data
        self.assertEqual(data["line_count"], 4)
        self.assertEqual(data["first_line"], len(whole) - 3)
        self.assertEqual(self.read("/proc/sys/kernel/ostype", offset=-1).data["content"], "Linux\n")

    def test_a_notebook_is_its_cells(self):
        picture = base64.b64encode(noise(20)).decode()
        text = notebook({"cell_type": "markdown", "source": ["# One\n", "two"]},
                        code("print(1)", {"output_type": "stream", "name": "stdout", "text": "1\n" * 5000}),
                        code("plot()", {"output_type": "display_data", "data": {"image/png": picture}}))
        self.call("write_file", path="n.ipynb", content=text)
        result = self.read("n.ipynb")
        self.assertEqual((result.data["kind"], result.data["total_lines"]), ("notebook", 3))
        for part in ("[notebook in python: 3 cells", "--- cell 1 (markdown) ---\n# One\ntwo\n",
                     "left out ...]", "[picture 1 below: image/png"):
            self.assertIn(part, result.text)
        self.assertEqual(result.images, [{"type": "image", "data": picture, "mimeType": "image/png"}])
        last = self.read("n.ipynb", offset=-2, limit=1)
        self.assertEqual((last.data["first_line"], last.data["line_count"], last.data["next_offset"],
                          last.images), (2, 1, 2, []))
        # As it is, for edit_file.
        self.assertEqual(self.shown("n.ipynb", raw=True), text)
        self.call("edit_file", path="n.ipynb", old_text="print(1)", new_text="print(2)")
        self.assertIn("print(2)", self.read("n.ipynb").text)

    def test_what_only_calls_itself_a_notebook_is_text(self):
        for content in ("{", "[" * 100000, '{"cells": 3}', "", "text\n"):
            with self.subTest(content[:9]):
                self.call("write_file", path="n.ipynb", content=content)
                result = self.read("n.ipynb", line_numbers=False)
                self.assertEqual(result.data["kind"], "text")
                self.assertEqual(result.data["content"], content[:len(result.data["content"])])
                self.assertTrue(result.text.startswith("[not shown as a notebook: it "), result.text)
        self.output("mkdir d.ipynb; touch d.ipynb/f; rm n.ipynb; truncate -s 20M n.ipynb")
        self.assertEqual(self.read("d.ipynb").data["total_entries"], 1)
        self.assertIn("above 16 MiB", self.read("n.ipynb").text)
        self.refused("not_found", "read_file", path="none.ipynb")

    def program(self, name, text):
        self.call("write_file", path=f"~/.local/bin/{name}", content=text)
        self.output(f"chmod +x ~/.local/bin/{name}")

    def test_an_archive_is_its_entries(self):
        self.output("mkdir d; echo one >d/one; echo two >'d/t w o'; tar -cf a.tar d; tar -czf a.tar.gz d; "
                    "cp a.tar no-name; gzip -c d/one >one.gz; head -c 1030 a.tar >cut.tar")
        for path in ("a.tar", "a.tar.gz", "no-name"):
            with self.subTest(path):
                result = self.read(path)
                self.assertEqual((result.data["kind"], result.data["total_lines"]), ("archive", 3))
                self.assertRegex(result.data["content"], r"(?m)^-rw.* 4 .* d/t w o$")
                page = self.read(path, offset=-1).data
                self.assertEqual((page["first_line"], page["line_count"]), (3, 1))
        self.assertEqual(self.read("a.tar", raw=True).data["kind"], "binary")
        # What holds no archive, or not all of one.
        result = self.read("one.gz")
        self.assertEqual(result.data["kind"], "binary")
        self.assertIn("no tar archive in it: gzip -dc FILE", result.text)
        result = self.read("cut.tar")
        self.assertEqual(result.data["totals_partial"], True)
        self.assertIn("exit 2: tar: Unexpected EOF", result.text)

    def test_an_archive_of_many_entries_is_paged(self):
        self.output("mkdir d; cd d; touch $(seq -w 3000); cd ..; tar -cf a.tar d")
        data = self.read("a.tar", limit=5).data
        self.assertEqual((data["line_count"], data["total_lines"], data["next_offset"]), (5, 3001, 5))
        last = self.read("a.tar", offset=-1).data
        self.assertEqual(last["first_line"], 3001)

    def test_names_of_archives_are_only_names(self):
        self.output("echo x >entry; tar -cf right.tar entry; touch WRONG; tar -cf a1.tar WRONG; mkdir names")
        for name in ODD_NAMES:
            with self.subTest(name):
                path = f"names/{name}.tar"
                self.output('cp right.tar "$F"', env={"F": path})
                self.assertTrue(self.read(path).data["content"].endswith(" entry\n"))
                self.output('gzip -k "$F"', env={"F": path})
                self.assertTrue(self.read(path + ".gz").data["content"].endswith(" entry\n"))
        self.output("test ! -e hit && test ! -e names/hit && test ! -e /hit")

    def test_names_of_zip_files_are_only_names(self):
        content = "import zipfile; z = zipfile.ZipFile('right.zip', 'w'); z.writestr('entry', 'x'); " \
                  "z.writestr('\\x1b[31m', 'y'); z.close(); z = zipfile.ZipFile('names/a1.zip', 'w'); " \
                  "z.writestr('WRONG', 'x'); zipfile.ZipFile('empty.zip', 'w').close()"
        self.output(f'mkdir names; /usr/bin/python3 -c "{content}"')
        self.assertIn(": no entries", self.read("empty.zip").text)
        for name in ODD_NAMES:
            with self.subTest(name):
                path = f"names/{name}.zip"
                self.output('cp right.zip "$F"', env={"F": path})
                data = self.read(path).data
                self.assertEqual((data["kind"], data["total_lines"]), ("archive", 2))
                self.assertTrue(data["content"].splitlines()[0].endswith(" entry"), data)
                self.assertNotIn("\x1b", data["content"])
        self.output("test ! -e hit && test ! -e names/hit && test ! -e /hit")

    def test_a_pdf_is_its_pages(self):
        self.program("pdftotext", PDFTOTEXT)
        self.program("pdfinfo", "#!/bin/bash\necho 'Title: x'; echo 'Pages:          7'\n")
        self.call("write_file", path="a.pdf", content="%PDF-1.4\n")
        result = self.read("a.pdf")
        self.assertEqual((result.data["kind"], result.data["line_count"], result.data["total_lines"],
                          result.data["next_offset"]), ("pdf", 7, 7, 0))
        self.assertIn("--- page 7 ---\ntext 7 of ", result.text)
        for arguments, pages in (({"pages": "3"}, (3, 1)), ({"pages": "2-5"}, (2, 4)),
                                 ({"pages": "6-99"}, (6, 2)), ({"offset": 4, "limit": 1}, (5, 1)),
                                 ({"offset": -2}, (6, 2)), ({"offset": -99}, (1, 7)),
                                 ({"pages": "8"}, (0, 0))):
            with self.subTest(arguments):
                data = self.read("a.pdf", **arguments).data
                self.assertEqual((data["first_line"], data["line_count"]), pages)
        self.assertEqual(self.read("a.pdf", raw=True).data["kind"], "binary")
        self.call("write_file", path="text", content="1\n2\n3\n")
        for path, arguments in (("text", {}), (".", {}), ("a.pdf", {"raw": True}),
                                ("a.pdf", {"encoding": "base64"}), ("a.pdf", {"offset": 2}),
                                ("a.pdf", {"limit": 2})):
            with self.subTest(f"{path} {arguments}"):
                self.refused("invalid_argument", "read_file", path=path, pages="1", **arguments)

    def test_names_of_pdf_files_are_only_names(self):
        self.program("pdftotext", PDFTOTEXT)
        for name in ODD_NAMES:
            with self.subTest(name):
                self.call("write_file", path=f"names/{name}.pdf", content="%PDF-1.4\n")
                quoted = self.output('F=$PWD/$F; printf %s "${F@Q}"', env={"F": f"{name}.pdf"}, workdir="names")
                self.assertIn(f"text 1 of {quoted}", self.read(f"names/{name}.pdf", pages="1").text)
        self.output("test ! -e hit && test ! -e names/hit && test ! -e /hit")

    def test_a_program_that_is_missing_fails_or_does_not_end_is_told(self):
        self.call("write_file", path="a.pdf", content="%PDF-1.4\n")
        for script, told in (("exit 127", "pdftotext (package poppler-utils), which this one does not have"),
                             ("echo 'Incorrect password' >&2; exit 1", "exit 1: Incorrect password"),
                             ("kill -9 $$", "cannot be read: exit 137"),
                             ("sleep 300", "cannot be read: stopped after 1 s")):
            with self.subTest(script):
                self.program("pdftotext", f"#!/bin/bash\n{script}\n")
                if script == "sleep 300":  # else it has 20 s
                    self.berth = self.start("--session", "work", env={"BERTH_EXEC_MAX_TIMEOUT": "1s"})
                result = self.read("a.pdf")
                self.assertEqual(result.data["kind"], "binary")
                self.assertIn("[application/pdf, 9 bytes · ", result.text)
                self.assertIn(told, result.text)
        # One that does not stop printing, and a page that has no end.
        self.berth = self.start("--session", "work")
        self.program("pdftotext", "#!/bin/bash\nwhile printf 'x%.0s' {1..1000}; do :; done\n")
        result = self.read("a.pdf")
        self.assertEqual((result.data["line_count"], result.data["truncated_by"]), (1, "line"))
        self.assertLess(len(result.text), 60_000)

    def test_reading_by_a_program_leaves_the_session_as_it_was(self):
        self.output("mkdir d; touch d/f; tar -cf d/a.tar d/f; cd d")
        self.assertEqual(self.read("a.tar").data["total_lines"], 1)
        self.assertEqual(self.output("pwd").strip().rpartition("/")[2], "d")
        self.output("cd ..; mv d e")
        self.assertEqual(self.read("~/e/a.tar").data["total_lines"], 1)
        self.program("pdftotext", "#!/bin/bash\nsleep 1000 >/dev/null 2>&1 & printf 'one\\n\\f'; touch ~/ran\n")
        self.call("write_file", path="a.pdf", content="%PDF-1.4\n")
        self.assertIn("one", self.read("a.pdf").text)
        self.assertEqual(self.call("session_info").data["jobs"], [])

    def test_huge_lines_and_sparse_files(self):
        self.output("head -c 30000000 /dev/zero | tr '\\0' x >line; printf 'a\\n' >two; cat line >>two; printf '\\nz\\n' >>two; "
                    "truncate -s 20G sparse; { echo text; head -c 100000 /dev/zero | tr '\\0' '\\n'; } >hole; "
                    "truncate -s 3G hole")
        for arguments in ({}, {"offset": -1}):
            result = self.read("line", **arguments)
            self.assertEqual((result.data["truncated_by"], result.data["total_lines"], result.data["line_count"]),
                             ("line", 1, 1))
            self.assertIn("of 30,000,000 bytes", result.text)
        self.assertEqual(self.shown("two", offset=-1), "z\n")
        data = self.read("two", offset=-2).data
        self.assertEqual((data["first_line"], data["truncated_by"], data["next_offset"]), (2, "line", 2))
        data = self.read("two", limit=1).data
        self.assertEqual((data["content"], data["next_offset"]), ("a\n", 1))
        for arguments in ({}, {"offset": -5}, {"raw": True}):
            data = self.read("sparse", **arguments).data
            self.assertEqual((data["kind"], data["size_bytes"], data["sha256"]), ("binary", 20 << 30, ""))
        self.assertEqual(self.read("sparse", offset=-3, encoding="base64").data["content"], "AAAA")
        data = self.read("hole", offset=10, limit=2).data
        self.assertEqual((data["content"], data["totals_partial"]), ("\n\n", True))
        self.refused("too_large", "read_file", path="hole", offset=-1)

    def test_files_of_proc_have_no_size_and_are_read(self):
        for path in ("/proc/self/status", "/proc/meminfo", "/proc/mounts", "/proc/sys/kernel/hostname"):
            with self.subTest(path):
                data = self.read(path).data
                self.assertGreater(data["line_count"], 0)
                self.assertEqual(data["line_count"], data["total_lines"])
                self.assertEqual(data["size_bytes"], len(data["content"].encode()))
        ostype = self.read("/proc/sys/kernel/ostype", encoding="base64", offset=-3).data
        self.assertEqual(base64.b64decode(ostype["content"]), b"ux\n")


class PicturesTest(ParityTest):
    environment = {"BERTH_READ_IMAGE": "2KiB"}

    def test_a_picture_that_is_too_large_says_how_large_and_what_makes_it_smaller(self):
        picture = base64.b64encode(noise(40)).decode()
        self.call("write_file", path="it's.png", content=picture, encoding="base64")
        self.call("write_file", path="~/.local/bin/magick", content="#!/bin/true\n")
        self.output("chmod +x ~/.local/bin/magick")
        result = self.call("read_file", path="it's.png")
        self.assertEqual((result.images, result.data["kind"]), ([], "binary"))
        self.assertIn("too large to show as a picture (1.5 KB at most): it has 40x40 pixels; "
                      "a smaller copy is made by magick '/", result.text)
        self.assertIn("/it'\\''s.png' -resize '1568x1568>' /tmp/smaller.png · ", result.text)
