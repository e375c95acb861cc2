"""read_file: pictures, notebooks, PDFs, archives and what bash_exec has spilled."""

import base64
import io
import json
import struct
import tarfile
import zipfile
import zlib

from picture import noise
from tables.calls import CallRow as Row

PNG = noise(8)
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WEBP = base64.b64decode("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
JPEG = (b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0" + b"\xff\xc0\0\x0b\x08\0\x02\0\x03\1\1\x11\0" +
        b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\x12\x34\xff\xd9")


def wide_png(width):
    """One row of so many grey pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0" * (width + 1))) + chunk(b"IEND", b""))


def put(name, content):
    if isinstance(content, str):
        content = content.encode()
    return f"base64 -d >{name} <<<'{base64.b64encode(content).decode()}'\n"


def shown(content, mime_type):
    def look(test, _, result):
        test.assertEqual(result.images, [{"type": "image", "data": base64.b64encode(content).decode(),
                                          "mimeType": mime_type}])
    return look


def not_shown(test, _, result):
    test.assertEqual(result.images, [])


def picture(name, file, content, mime_type):
    return Row("picture " + name, {"path": file}, setup=put(file, content), look=shown(content, mime_type),
               data={"kind": "image", "mime_type": mime_type, "size_bytes": len(content)}, parts=(file,))


def no_picture(name, content, *parts):
    return Row("no picture: " + name, {"path": "f.png"}, setup=put("f.png", content), look=not_shown,
               data={"kind": "binary", "size_bytes": len(content)}, parts=parts)


def notebook(name, document, parts=(), lacks=(), arguments=None, look=None, **data):
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    return Row("notebook " + name, {"path": "n.ipynb", **(arguments or {})}, setup=put("n.ipynb", text), parts=parts,
               lacks=lacks, look=look, data={"kind": "notebook", **data})


def cells(*found, **more):
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(found), **more}


def code(source, *outputs, count=None):
    return {"cell_type": "code", "execution_count": count, "metadata": {}, "source": source, "outputs": list(outputs)}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def displayed(**data):
    return {"output_type": "display_data", "metadata": {}, "data": {kind.replace("_", "/"): value
                                                                   for kind, value in data.items()}}


def no_notebook(name, text, told):
    return Row("no notebook: " + name, {"path": "n.ipynb", "line_numbers": False}, setup=put("n.ipynb", text),
               data={"kind": "text", "content": text}, parts=("[not shown as a notebook: " + told,))


FIVE = cells(*(code(f"cell {number}") for number in range(1, 6)))
ENCODED_PNG = base64.b64encode(PNG).decode()

PICTURE_ROWS = (
    picture("PNG", "f.png", PNG, "image/png"),
    picture("JPEG", "f.jpg", JPEG, "image/jpeg"),
    picture("GIF", "f.gif", GIF, "image/gif"),
    picture("WebP", "f.webp", WEBP, "image/webp"),
    picture("with another ending", "f.txt", PNG, "image/png"),
    picture("with no ending", "f", JPEG, "image/jpeg"),
    picture("as wide as may be", "f.png", wide_png(8000), "image/png"),
    Row("picture by a link", {"path": "l"}, setup=put("f.png", PNG) + "ln -s f.png l", look=shown(PNG, "image/png"),
        data={"kind": "image", "path": "{dir}/f.png"}),
    no_picture("too wide", wide_png(8001), "8001x1 pixels, at most 8000x8000"),
    no_picture("cut off", PNG[:-6], "it is damaged or cut off"),
    no_picture("a wrong checksum", PNG[:40] + bytes([PNG[40] ^ 1]) + PNG[41:], "it is damaged or cut off"),
    no_picture("only its beginning", PNG[:8], "it is damaged or cut off"),
    no_picture("JPEG without an end", JPEG[:-2], "it is damaged or cut off"),
    no_picture("JPEG without pixels", JPEG.replace(b"\0\x02\0\x03", b"\0\0\0\0"), "no pixels"),
    no_picture("GIF without an end", GIF[:-1], "it is damaged or cut off"),
    no_picture("GIF of its header", GIF[:13], "it is damaged or cut off"),
    no_picture("WebP cut off", WEBP[:-8], "it is damaged or cut off"),
    Row("text with a picture's ending", {"path": "f.png"}, setup="echo text >f.png", look=not_shown,
        data={"kind": "text", "content": "text\n"}),
    Row("an empty picture", {"path": "f.png"}, setup=": >f.png", look=not_shown, data={"kind": "text",
          "content": ""}),
    Row("SVG is text", {"path": "f.svg"}, setup="echo '<svg/>' >f.svg", data={"kind": "text", "content": "<svg/>\n"}),
    Row("bytes of a picture", {"path": "f.png", "encoding": "base64"}, setup=put("f.png", PNG), look=not_shown,
        data={"content": ENCODED_PNG, "mime_type": "image/png"}),
    Row("picture above the limit", {"path": "f.png"}, look=not_shown,
        setup=put("f.png", PNG) + "head -c 6000000 /dev/zero >>f.png", data={"kind": "binary",
              "mime_type": "image/png"},
        parts=("too large to show as a picture",)),
    Row("a BMP is described", {"path": "f.bmp"}, setup=put("f.bmp", b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0"),
          look=not_shown,
        data={"kind": "binary"}),
)

NOTEBOOK_ROWS = (
    notebook("of cells", cells({"cell_type": "markdown", "metadata": {}, "source": "# One"}, code("print(1)",
          count=7),
                               {"cell_type": "raw", "metadata": {}, "source": "raw"}), total_lines=3, line_count=3,
             parts=("--- cell 1 (markdown) ---\n# One\n", "--- cell 2 (code, executed as [7]) ---\nprint(1)\n",
                    "--- cell 3 (raw) ---\nraw\n")),
    notebook("with lines as a list", cells(code(["a\n", "b"], stream(["1\n", "2\n"]))),
             parts=("a\nb\n[stdout]\n1\n2\n",), total_lines=1),
    notebook("of a language", cells(code("1"), metadata={"language_info": {"name": "R"}}),
          parts=("[notebook in R: 1 cell",)),
    notebook("with no cells", cells(), parts=("no cells",), total_lines=0, line_count=0, next_offset=0),
    notebook("with stderr", cells(code("x", stream("warned\n", "stderr"))), parts=("[stderr]\nwarned\n",)),
    notebook("with a result", cells(code("1", {"output_type": "execute_result", "execution_count": 1, "metadata": {},
                                               "data": {"text/plain": "1"}})), parts=("[output]\n1\n",)),
    notebook("with an error", cells(code("x", {"output_type": "error", "ename": "NameError", "evalue": "no x",
                                               "traceback": ["\x1b[0;31mline 1\x1b[0m", "line 2"]})),
             parts=("[error: NameError: no x]\nline 1\nline 2\n",), lacks=("\x1b",)),
    notebook("with a picture", cells(code("plot", displayed(image_png=ENCODED_PNG, text_plain="<Figure size 1x1>"))),
             parts=("[picture 1 below: image/png",), lacks=("<Figure",), look=shown(PNG, "image/png")),
    notebook("with a picture of lines", cells(code("plot", displayed(image_png=[ENCODED_PNG[:40] + "\n",
          ENCODED_PNG[40:] + "\n"]))),
             parts=("[picture 1 below: image/png",), look=shown(PNG, "image/png")),
    notebook("with a damaged picture", cells(code("plot", displayed(image_png=base64.b64encode(PNG[:60]).decode()))),
             parts=("[image/png", "not shown, it is damaged or cut off"), look=not_shown),
    notebook("with no base64", cells(code("plot", displayed(image_png="%%%"))), parts=("its base64 is damaged",),
             look=not_shown),
    notebook("with HTML alone", cells(code("t", displayed(text_html="<b>x</b>"))),
          parts=("[text/html: not shown, raw",)),
    notebook("with HTML beside text", cells(code("t", displayed(text_html="<b>x</b>", text_plain="x"))),
             parts=("[output]\nx\n",), lacks=("<b>",)),
    notebook("with a long output", cells(code("x", stream("1\n" * 9000))), parts=("left out",), line_count=1),
    notebook("with a BOM", b"\xef\xbb\xbf" + json.dumps(cells(code("1"))).encode(), total_lines=1),
    notebook("with wide text", cells(code("print('日本 ünï 𝄞')")), parts=("print('日本 ünï 𝄞')\n",)),
    notebook("of metadata behind cells", '{"cells": [{"source": "a", "cell_type": "code"}], "metadata": {"x": [{}]}}',
             parts=("--- cell 1 (code) ---\na\n",)),
    *(notebook(f"part {name}", FIVE, arguments=arguments, first_line=first, line_count=count, next_offset=following,
               total_lines=5, parts=parts)
      for name, arguments, first, count, following, parts in (
          ("first", {"limit": 1}, 1, 1, 1, ("cell 1 of 5", "next: offset 1")), ("middle", {"offset": 1, "limit": 2},
                2, 2, 3, ()),
          ("rest", {"offset": 3}, 4, 2, 0, ()), ("last", {"offset": -1}, 5, 1, 0, ("cell 5",)),
          ("from the end", {"offset": -3, "limit": 1}, 3, 1, 3, ()), ("before the begin", {"offset": -9}, 1, 5, 0,
                ()),
          ("behind the end", {"offset": 5}, 0, 0, 0, ("past the end: it has 5 cells",)))),
    Row("a notebook as it is", {"path": "n.ipynb", "raw": True, "line_numbers": False},
        setup=put("n.ipynb", json.dumps(FIVE)), data={"kind": "text", "content": json.dumps(FIVE)}),
    no_notebook("of version 3", '{"nbformat": 3, "worksheets": [{"cells": []}]}', "it has no list of cells"),
    no_notebook("cut off", json.dumps(FIVE)[:-9], "it is not valid JSON"),
    no_notebook("a list", "[]", "it has no list of cells"),
    no_notebook("two documents", "{} {}", "it is not valid JSON"),
    no_notebook("cells that are none", '{"cells": "none"}', "it has no list of cells"),
    no_notebook("deep", '{"cells": ' + "[" * 100 + "]" * 100 + "}", "it is nested deeper"),
)


def pdf(*texts):
    """A page for each text."""
    kids = " ".join(f"{3 + 2 * i} 0 R" for i in range(len(texts)))
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {len(texts)}>>"]
    font = "<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    for number, text in enumerate(texts):
        stream_text = f"BT /F 12 Tf 20 100 Td ({text}) Tj ET"
        objects += [f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources{font}/Contents {4 + 2 * number} 0 R>>",
                    f"<</Length {len(stream_text)}>>\nstream\n{stream_text}\nendstream"]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (body + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
            f"<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF\n")


PAGES = put("f.pdf", pdf("Hello first", "Hello second", "Hello third"))


def pages(name, arguments, first, count, *parts):
    """As pdftotext has them where the sandbox has it, else the word that it is missing."""
    def look(test, _, result):
        if test.output("command -v pdftotext || :"):
            test.assertEqual((result.data["kind"], result.data["first_line"], result.data["line_count"]),
                             ("pdf", first, count), result)
            for part in parts:
                test.assertIn(part, result.text)
        else:
            test.assertEqual(result.data["kind"], "binary")
            test.assertIn("where the sandbox has pdftotext (package poppler-utils)", result.text)
    return Row("PDF " + name, {"path": "f.pdf", **arguments}, setup=PAGES, look=look,
               data={"mime_type": "application/pdf"})


def archived(name, file, content, *names, needs="tar", **data):
    """A listing whose lines end with these names; where the program is missing, the word of it."""
    def look(test, _, result):
        if test.output(f"command -v {needs} || :"):
            wanted = {"kind": "archive", "total_lines": len(names), "line_count": len(names), **data}
            test.assertEqual({key: result.data[key] for key in wanted}, wanted, result)
            test.assertEqual([line.split()[-1] for line in result.data["content"].splitlines()], list(names), result)
        else:
            test.assertEqual(result.data["kind"], "binary")
            test.assertIn(f"tar and {needs} (package ", result.text)
    return Row("archive " + name, {"path": file}, setup=put(file, content), look=look)


def zipped(*names):
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), "text")
        return file.getvalue()


def tarred(mode, *names):
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode=mode) as archive:
            for name in names:
                info = tarfile.TarInfo(name)
                info.size = 4
                archive.addfile(info, io.BytesIO(b"text"))
        return file.getvalue()


def spilled(arguments, wanted):
    """The spill of a command, read as a file."""
    def look(test, row, _):
        stream_data = test.run_command("seq 300000").data["stdout_stream"]
        data = test.call("read_file", path=stream_data["spill_path"], **arguments).data
        test.assertEqual(data["content"].split(), wanted)
        test.assertEqual(data["total_lines"], 300000)
    return look


DOCUMENT_ROWS = (
    pages("whole", {}, 1, 3, "Hello first", "Hello third"),
    pages("one page", {"pages": "2"}, 2, 1, "Hello second"),
    pages("some pages", {"pages": "2-9"}, 2, 2, "Hello third"),
    pages("the last page", {"offset": -1}, 3, 1, "Hello third"),
    Row("PDF as it is", {"path": "f.pdf", "raw": True}, setup=PAGES,
        data={"kind": "binary", "mime_type": "application/pdf"}, parts=("25 50 44 46",)),
    Row("text that begins otherwise is no PDF", {"path": "f.pdf"}, setup="echo text >f.pdf",
        data={"kind": "text", "content": "text\n"}),
    archived("zip", "f.zip", zipped("a", "d/b"), "a", "d/b", mime_type="application/zip"),
    archived("zip with another ending", "f.jar", zipped("A.class"), "A.class"),
    archived("zip of nothing", "f.zip", zipped()),
    archived("tar", "f.tar", tarred("w", "a", "d/b"), "a", "d/b", mime_type="application/x-tar"),
    archived("tar of PAX", "f.tar", tarred("w:", "ü" * 120), "ü" * 120),
    archived("tar.gz", "f.tar.gz", tarred("w:gz", "a", "b"), "a", "b", mime_type="application/gzip"),
    archived("tar.bz2", "f.tbz", tarred("w:bz2", "a", "b"), "a", "b", needs="bzip2",
             mime_type="application/x-bzip2"),
    archived("tar.xz", "f.txz", tarred("w:xz", "a", "b"), "a", "b", needs="xz",
             mime_type="application/x-xz"),
    Row("archive by entries", {"path": "f.tar", "offset": 1, "limit": 1}, setup=put("f.tar", tarred("w", *"abc")),
        data={"first_line": 2, "line_count": 1, "total_lines": 3, "next_offset": 2, "truncated_by": "limit"},
        parts=("entry 2 of 3", " b\n", "next: offset 2")),
    Row("archive behind its end", {"path": "f.tar", "offset": 3}, setup=put("f.tar", tarred("w", *"abc")),
        data={"line_count": 0, "next_offset": 0}, parts=("past the end: it has 3 entries",)),
    Row("archive as it is", {"path": "f.zip", "raw": True}, setup=put("f.zip", zipped("a")), data={"kind": "binary"}),
    Row("a damaged zip", {"path": "f.zip"}, setup=put("f.zip", zipped("a", "b")[:40]), data={"kind": "binary"},
        parts=("its entries cannot be listed",)),
    Row("gzip of no archive", {"path": "f.gz"}, setup="echo text | gzip >f.gz", data={"kind": "binary"},
        parts=("compressed, with no tar archive in it",)),
    Row("zstd", {"path": "f.zst"}, setup=put("f.zst", b"\x28\xb5\x2f\xfd\0\0\0"), data={"kind": "binary"},
        look=lambda test, row, result: test.assertIn(
            "no tar archive in it" if test.output("command -v zstd || :") else "tar and zstd (package zstd)",
            result.text)),
    Row("7z", {"path": "f.7z"}, setup=put("f.7z", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(24)),
        look=lambda test, row, result: test.assertTrue(
            result.data["kind"] == "archive" or "its entries can" in result.text, result)),
    Row("the beginning of a spill", {"path": "."}, look=spilled({"limit": 2}, ["1", "2"])),
    Row("the midst of a spill", {"path": "."}, look=spilled({"offset": 150000, "limit": 1}, ["150001"])),
    Row("the end of a spill", {"path": "."}, look=spilled({"offset": -1}, ["300000"])),
)
