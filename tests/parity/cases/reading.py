"""read_file: the end of a file, and what is no text."""

import base64
import json

from picture import noise
from suite import ParityTest


def notebook(*cells):
    return json.dumps({"nbformat": 4, "metadata": {"language_info": {"name": "python"}},
                       "cells": list(cells)})


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
