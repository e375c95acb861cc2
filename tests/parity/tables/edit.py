"""edit_file with old and new texts."""

import hashlib
import re

from tables.rows import EditRow

BOM = "\ufeff"


def _hash(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _row(name, before, old, new, after, **more):
    """One replacement in the file f."""
    given = {"path": "{dir}/f", "old_text": old, "new_text": new, **more.pop("arguments", {})}
    return EditRow(name, given, {} if before is None else {"f": before},
                   {} if after is None else {"f": after}, **more)


def _all(name, before, old, new, after, **more):
    return _row(name, before, old, new, after, arguments={"replace_all": True}, **more)


def _edits(name, before, edits, after=None, **more):
    """Each edit: old, new, and whether all of them."""
    listed = [{"old_text": old, "new_text": new, **({"replace_all": True} if rest else {})}
              for old, new, *rest in edits]
    return EditRow("edits: " + name, {"path": "{dir}/f", "edits": listed}, {"f": before},
                   {} if after is None else {"f": after}, **more)


def _tolerant(name, before, old, new, after, *tolerated, **more):
    return _row("tolerant: " + name, before, old, new, after, arguments={"tolerant": True},
                data={"tolerated": list(tolerated)}, **more)


def _missing(name, before, old, *words, **more):
    """The text is not there, and the error says what is, and how it differs."""
    return _row("missing: " + name, before, old, "x", None, refused="text_not_found", words=words, **more)


def _refused(name, word, words, before=None, setup="", **arguments):
    return EditRow("refused: " + name, arguments, {"f": "a\n"} if before is None else before, setup=setup,
                   refused=word, words=words)


def _at(name, word, words, path, setup="", old="a", new="b", **more):
    return _refused(name, word, words, setup=setup, path="{dir}/" + path, old_text=old, new_text=new, **more)


EXACT = [
    _row("a word", "one two\nthree\n", "two", "2", "one 2\nthree\n",
         text=re.compile(r"Edited {dir}/f: 1 replacement · sha256 [0-9a-f]{12}\n--- {dir}/f\n\+\+\+ {dir}/f\n"
                         r"@@ -1,2 \+1,2 @@\n-one two\n\+one 2\n three\n"),
         data={"replacements": 1, "created": False, "size_bytes": 12, "sha256": _hash("one 2\nthree\n")}),
    _row("lines", "a\nb\nc\nd\n", "b\nc\n", "x\ny\nz\n", "a\nx\ny\nz\nd\n"),
    _row("lines go", "a\nb\nc\n", "b\n", "", "a\nc\n"),
    _row("all goes", "a\n", "a\n", "", ""),
    _row("across a newline", "ab\ncd\n", "b\nc", "-", "a-d\n"),
    _row("at the beginning", "ab\n", "a", "x", "xb\n"),
    _row("at the end", "a\nb", "b", "c", "a\nc"),
    _row("a newline comes at the end", "a\nb", "b", "b\n", "a\nb\n"),
    _row("a newline goes at the end", "a\nb\n", "b\n", "b", "a\nb"),
    _row("the newline alone", "a\n", "\n", "", "a"),
    _row("empty lines", "a\n\n\nb\n", "a\n\n\nb", "a\nb", "a\nb\n"),
    _row("tabs", "\ta\tb \n", "\tb ", " c\t", "\ta c\t\n"),
    _row("blanks at a line's end", "a  \nb\n", "a  \n", "a\n", "a\nb\n"),
    _row("what looks like a pattern", "a.*b $1 \\1 [x]\n", ".*b $1 \\1", "$& \\0 &", "a$& \\0 & [x]\n"),
    _row("what looks like a diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n", "-x\n", "+x\n-- y\n++ z\n",
         "--- a\n+++ b\n@@ -1 +1 @@\n+x\n-- y\n++ z\n"),
    _row("the new text has the old one", "a\n", "a", "aa", "aa\n"),
    _row("unicode", "ü → ☃ 𝄞\n", "☃ 𝄞", "日本", "ü → 日本\n"),
    _row("a letter without its accent", "e\u0301a\n", "\u0301", "", "ea\n"),
    _row("NFD is not NFC", "e\u0301\n", "\u00e9", "x", None, refused="text_not_found"),
    _row("a part of an emoji", "👩\u200d👧\n", "\u200d", "", "👩👧\n"),
    _row("separators that are no newlines", "a\u2028b\x0b\x0cc\x85\n", "\u2028b\x0b", "-", "a-\x0cc\x85\n"),
    _row("control characters", "a\x1b[31mb\x07\n", "\x1b[31m", "", "ab\x07\n"),
    _row("a carriage return within a line", "a\rb\n", "\rb", "\rc", "a\rc\n"),
    _row("lines that end with carriage returns", "a\rb\rc\r", "b", "x", "a\rx\rc\r"),
    _row("a long line", "x" * 50_000 + "needle" + "y" * 50_000 + "\n", "needle", "pin",
         "x" * 50_000 + "pin" + "y" * 50_000 + "\n", parts=("the diff is left out",),
         data={"diff_truncated": True}, patch_applies=False),
    _row("far down", "line\n" * 30_000 + "needle\n" + "line\n" * 30_000, "needle", "pin",
         "line\n" * 30_000 + "pin\n" + "line\n" * 30_000, parts=("@@ -29998,7 +29998,7 @@",)),
    _all("every one", "a b a\na\n", "a", "x", "x b x\nx\n", data={"replacements": 3}),
    _all("those that overlap: from the left", "aaaaa\n", "aa", "b", "bba\n", data={"replacements": 2}),
    _all("each once, though the new text has it", "aa\n", "a", "aa", "aaaa\n", data={"replacements": 2}),
    _all("a single one", "a\n", "a", "b", "b\n", data={"replacements": 1}),
    _all("newlines", "a\nb\n", "\n", ";", "a;b;"),
    _row("several", "a\nb a\n", "a", "x", None, refused="ambiguous_match",
         words=("occurs 2 times", "on lines 1, 2", "replace_all")),
    _row("several in a line", "a a\n", "a", "x", None, refused="ambiguous_match",
         words=("on line 1 (2 times)",)),
    _row("several that overlap", "aaa\n", "aa", "x", None, refused="ambiguous_match",
         words=("overlapping itself",)),
]

LINE_ENDS = [
    _row("CRLF stays", "a\r\nb\r\n", "a", "x", "x\r\nb\r\n"),
    _row("a newline means CRLF", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n"),
    _row("CRLF as it is", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
    _row("CRLF without a final newline", "a\r\nb", "a\nb", "x\ny", "x\r\ny"),
    _row("a new line in a file of CRLF", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
    _all("from CRLF", "a\r\nb\r\n", "\r\n", "\n", "a\nb\n", parts=("line ends: CRLF to LF",)),
    _all("to CRLF", "a\nb\n", "\n", "\r\n", "a\r\nb\r\n", parts=("line ends: LF to CRLF",)),
    _row("mixed ends are taken as they are", "a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n"),
    _row("mixed ends and LF for CRLF", "a\r\nb\n", "a\nb", "x", None, refused="text_not_found",
         words=("line 1 is the same but for line ends: tolerant = true",)),
    _row("CRLF for LF", "a\nb\n", "a\r\nb", "x", None, refused="text_not_found",
         words=("line ends: tolerant = true",)),
    _row("a mark stays", BOM + "a\nb\n", "a\n", "x\n", BOM + "x\nb\n"),
    _row("a mark that is given comes once", BOM + "a\n", BOM + "a", BOM + "b", BOM + "b\n"),
    _row("a mark that is given in the old text only", BOM + "a\n", BOM + "a", "b", BOM + "b\n"),
    _row("a mark that is given in the new text only", BOM + "a\n", "a", BOM + "b", BOM + "b\n"),
    _row("a mark in front of CRLF", BOM + "a\r\nb\r\n", "a\nb", "c\nd", BOM + "c\r\nd\r\n"),
    _row("a mark comes", "a\n", "a", BOM + "a", BOM + "a\n"),
    _row("a mark alone does not go", BOM + "a\n", BOM, "", None, refused="unsupported",
         words=("byte order mark", "sed -i")),
    _row("a mark within a line is text", "a" + BOM + "b\n", BOM, "", "ab\n"),
    _row("a file that is only a mark is empty", BOM, "", "a\n", BOM + "a\n"),
]

CREATED = [
    _row("a new file", None, "", "a\nb\n", "a\nb\n", data={"created": True, "size_bytes": 4},
         text=re.compile(r"Created {dir}/f: 4 bytes · .*\n--- /dev/null\n\+\+\+ {dir}/f\n"
                         r"@@ -0,0 \+1,2 @@\n\+a\n\+b\n")),
    EditRow("a new file in new folders", {"path": "{dir}/x/y/f", "old_text": "", "new_text": "a"},
            after={"x/y/f": "a"}, data={"created": True}, parts=("No newline at end of file",)),
    _row("an empty file is filled", "", "", "a\n", "a\n", data={"created": False}),
    _row("an empty text in a file with content", "a\n", "", "b", None, refused="invalid_argument",
         words=("old_text is empty", "write_file")),
    _row("nothing for nothing", None, "", "", None, refused="invalid_argument", words=("nothing to change",)),
    _row("a text in an empty file", "", "a", "b", None, refused="text_not_found"),
    _row("a text in no file", None, "a", "b", None, refused="not_found", words=("{dir}/f does not exist",)),
    EditRow("through a link that leads nowhere", {"path": "{dir}/l", "old_text": "", "new_text": "a\n"},
            setup="ln -s new l", after={"new": "a\n"}, shows="readlink l", prints="new\n"),
    EditRow("a dry run makes no folder", {"path": "{dir}/x/f", "old_text": "", "new_text": "a\n",
                                          "dry_run": True},
            shows="ls", prints="", data={"created": True, "dry_run": True}, parts=("Would create",)),
]

SEVERAL = [
    _edits("in order", "a\nb\nc\n", [("a", "1"), ("c", "3")], "1\nb\n3\n", data={"replacements": 2}),
    _edits("against the order of the file", "a\nb\nc\n", [("c", "3"), ("a", "1")], "1\nb\n3\n"),
    _edits("on the result of the one before", "a\n", [("a", "b c"), ("b", "d"), ("d c", "e")], "e\n"),
    _edits("next to each other", "abc\n", [("a", "1"), ("b", "2"), ("c", "3")], "123\n"),
    _edits("within what the first has put there", "a\n", [("a", "xyz"), ("y", "-")], "x-z\n"),
    _edits("across what the first has put there", "abcd\n", [("b", "x"), ("axc", "y")], "yd\n"),
    _edits("all of them by the second", "a b\n", [("a", "b"), ("b", "c", True)], "c c\n",
           data={"replacements": 3}),
    _edits("they exchange two words", "a b\n", [("a", "\0"), ("b", "a"), ("\0", "b")], "b a\n",
           patch_applies=False),
    _edits("emptied and filled", "a\n", [("a\n", ""), ("", "z\n")], "z\n"),
    _edits("a hundred", "".join(f"<{n}>\n" for n in range(100)),
           [(f"<{n}>", f"[{n}]") for n in range(100)], "".join(f"[{n}]\n" for n in range(100)),
           data={"replacements": 100}),
    _edits("line ends that the first has changed", "a\r\nb\r\n", [("\r\n", "\n", True), ("a\nb", "c")], "c\n"),
    _edits("the second is missing", "a\nb\n", [("a", "x"), ("none", "y")], refused="text_not_found",
           words=("(edit 2 of 2)",)),
    _edits("the first has taken the second's place", "ab\n", [("ab", "x"), ("b", "y")],
           refused="text_not_found", words=("(edit 2 of 2)",)),
    _edits("the first has made the second ambiguous", "a\nb\n", [("a", "b"), ("b", "c")],
           refused="ambiguous_match", words=("(edit 2 of 2)", "on lines 1, 2")),
    _edits("the second undoes the first", "a\n", [("a", "b"), ("b", "a")], refused="invalid_argument",
           words=("what {dir}/f has already", "nothing would change")),
    _edits("one is none", "a\n", [("a", "b"), ("c", "c")], refused="invalid_argument",
           words=("edits[1]: old_text and new_text are the same",)),
    _edits("none", "a\n", [], refused="invalid_argument", words=("expected 1 to 1000 elements, got 0",)),
    _edits("too many", "a\n", [("a", "b")] * 1001, refused="invalid_argument", words=("got 1001",)),
    EditRow("edits: by other names", {"file_path": "{dir}/f", "edits": [
        {"old_string": "a", "new_string": "b"}, {"oldText": "c", "newText": "d"}]}, {"f": "a c\n"},
            {"f": "b d\n"}),
]

TOLERANT = [
    _tolerant("exact goes first", "\tx\n    x\n", "    x", "    y", "\tx\n    y\n"),
    _tolerant("tabs for spaces", "if a:\n\tb\n\t\tc\n", "    b\n        c\n", "    b\n        d\n    e\n",
              "if a:\n\tb\n\t\td\n\te\n", "tabs"),
    _tolerant("spaces for tabs", "if a:\n  b\n", "\tb", "\tc", "if a:\n  c\n", "tabs"),
    _tolerant("a tab in a line", "a\tb\n", "a    b", "a    c", "a    c\n", "tabs"),
    _tolerant("blanks at the end", "a  \nb\t\nc\n", "a\nb\nc", "a\nx\nc", "a  \nx\nc\n", "trailing blanks"),
    _tolerant("blanks at the end of the text", "a\nb\n", "a \nb", "c \nd", "c \nd\n", "trailing blanks"),
    _tolerant("line ends", "a\r\nb\nc\n", "a\nb", "x\ny", "x\r\ny\nc\n", "line ends"),
    _tolerant("each line's own end", "a\r\nb\nc\r\n", "a\nb\nc\n", "a\nx\nc\n", "a\r\nx\nc\r\n", "line ends"),
    _tolerant("CRLF for LF", "a\nb\n", "a\r\nb\r\n", "x\r\ny\r\n", "x\ny\n", "line ends"),
    _tolerant("quotes", "say(\u201ca\u201d, \u2018b\u2019)\n", "say(\"a\", 'b')", "say(1)", "say(1)\n",
              "quotes"),
    _tolerant("plain quotes for typographic ones", "'a' \"b\"\n", "\u2018a\u2019 \u201cb\u201d", "c", "c\n",
              "quotes"),
    _tolerant("all of these", "if a:\n\tb(\u201cc\u201d)  \r\nd\n", "    b(\"c\")\nd", "    e(\"c\")\nd",
              "if a:\n\te(\"c\")\r\nd\n", "tabs", "trailing blanks", "line ends", "quotes"),
    _row("tolerant: every one", "\ta\n  \ta\n", "        a", "        b", "\tb\n  \tb\n",
         arguments={"tolerant": True, "replace_all": True}, data={"replacements": 2, "tolerated": ["tabs"]}),
    *(_row("tolerant: not " + what, before, old, "x", None, arguments={"tolerant": True},
           refused="text_not_found", words=words)
      for what, before, old, words in (
          ("another depth", "    a\n", "  a\n  b", ()),
          ("the number of spaces", "a b\n", "a  b", ("differs in the number of blanks",)),
          ("capital letters", "Abc\n", "abc", ("differs in capital letters",)),
          ("dashes", "a\u2013b\n", "a-b", ("dashes",)),
          ("special blanks", "a\u00a0b\n", "a b", ("special blanks",)),
          ("an empty line less", "a\n\nb\n", "a\nb", ()),
          ("one quote for the other", "\"a\"\n", "'a'", ()),
          ("two depths by one tab", "\ta\n\t\tb\n", "  a\n   b\n", ()))),
    _row("tolerant: several", "\ta\n\ta\n", "        a\n", "b\n", None, arguments={"tolerant": True},
         refused="ambiguous_match", words=("occurs 2 times in", "on lines 1, 2")),
    _row("tolerant: it is offered", "\ta  \n", "    a\n", "    b\n", None, refused="text_not_found",
         words=("line 1 is the same but for tabs and trailing blanks: tolerant = true",)),
]

MISSING = [
    _missing("nothing like it", "abc\n", "zzzzzz", "nothing in the file is like it", "read the file"),
    _missing("a letter", "first\nreturn alpha;\nlast\n", "return alpho;", "nearest: line 2", "`return alpha;`"),
    _missing("the second of two lines", "one\ntwo\nthree\n", "one\ntwx\n", "nearest: line 1",
             "where line 2 differs"),
    _missing("another depth", "    deep = 1\n", "        deep = 1\n", "nearest: line 1"),
    _missing("line numbers are no text", "int a;\nint b;\n", "     2\tint b;", "nearest: line 2"),
    _missing("the final newline", "a long line\nanother long line", "another long line\n",
             "it is the file's last line and has none"),
    _missing("a part of a longer line", "xx\nline 0000055 abcdef and much more that follows it\n", "LINE 0000055",
             "nearest: line 2", "differs in capital letters"),
    _missing("a part of a long line", "x" * 3000 + "\n" + "y " * 300 + "the needle, here " + "z " * 300 + "\n",
             "the neetle, here", "nearest: line 2", "`the needle, here`"),
    _missing("a number of read_file", "one\ntwo\n", "1\tone\n2\ttwo", "line 1 differs in the line number in front"),
    _missing("a line behind the last", "first\npass\n", "pass\n\n", "where line 3 differs in being there: "
             "the file has ended"),
    _missing("lines that the file has not", "int main() {\n    return compute(1);\n}\n",
             "int main() {\n    log();\n    return compute(1);\n    // more\n}\n", "nearest: line 1 (60 % alike)",
             "where line 2 has not in front of it the text's line 2, `    log();`: `    return compute(1);`"),
    _missing("a line in front of the first", "alpha one();\nbeta two();\ngamma three();\ndelta four();",
             "something else\nalpha one();\nbeta two();\ngamma three();", "nearest: line 1 (75 % alike)",
             "where line 1 has not in front of it the text's line 1, `something else`"),
    _missing("a line that the text has not", "alpha one();\nbeta two();\ngamma three();\n",
             "alpha one();\ngamma three();\n", "nearest: line 1 ", "where line 2 is not in the text: `beta two();`"),
    _missing("two lines and one nearly so", "".join(f"line number {n}\n" for n in range(1, 13)),
             "line number 5\nline number 6\nline nomber sevn", "nearest: line 5 ", "where line 7 differs in the text"),
    _missing("behind 200 lines", "".join(f"line {n}\n" for n in range(1, 501)),
             "".join(f"line {n}\n" for n in range(1, 211)) + "x",
             "where line 201 differs in it or a line behind it"),
]

KEPT = [
    *(_row(f"mode {mode}", "a\n", "a", "b", "b\n", setup=f"chmod {mode} f", shows="stat -c %a f",
           prints=f"{mode}\n") for mode in ("755", "600", "640", "664", "777")),
    EditRow("a link stays a link", {"path": "{dir}/l", "old_text": "a", "new_text": "b"}, {"d/f": "a\n"},
            {"d/f": "b\n"}, setup="ln -s d/f l", shows="readlink l; ls d", prints="d/f\nf\n",
            data={"path": "{dir}/d/f"}),
    EditRow("through a linked folder", {"path": "{dir}/l/f", "old_text": "a", "new_text": "b"}, {"d/f": "a\n"},
            {"d/f": "b\n"}, setup="ln -s d l", shows="readlink l", prints="d\n"),
    EditRow("a name with blanks and quotes", {"path": "{dir}/a 'b\" $c\\", "old_text": "a", "new_text": "b"},
            {"a 'b\" $c\\": "a\n"}, {"a 'b\" $c\\": "b\n"}),
    EditRow("a name of unicode", {"path": "{dir}/ünï☃", "old_text": "a", "new_text": "b"}, {"ünï☃": "a\n"},
            {"ünï☃": "b\n"}),
    EditRow("a name with a newline", {"path": "{dir}/a\nb", "old_text": "a", "new_text": "b"},
            {"a\nb": "a\n"}, {"a\nb": "b\n"}),
    EditRow("a name with a dash", {"path": "{dir}/-f", "old_text": "a", "new_text": "b"}, {"-f": "a\n"},
            {"-f": "b\n"}),
    EditRow("dots in the path", {"path": "{dir}/d/.././f", "old_text": "a", "new_text": "b"}, {"f": "a\n"},
            {"f": "b\n"}, setup="mkdir d", data={"path": "{dir}/f"}),
    _row("bytes that are no UTF-8 stay", b"a\xff\xfe\xc3\nb\n", "b", "c", b"a\xff\xfe\xc3\nc\n",
         patch_applies=False),
    _row("next to bytes that are no UTF-8", b"\xffa\xff\n", "a", "b", b"\xffb\xff\n", patch_applies=False),
    _row("NUL bytes stay", b"a\0b\0\n", "b", "c", b"a\0c\0\n", parts=("Binary files",), patch_applies=False),
    _row("NUL in the texts", b"a\0b\n", "a\0b", "\0", b"\0\n", parts=("Binary files",), patch_applies=False),
    _row("a dry run", "a\n", "a", "b", None, arguments={"dry_run": True}, parts=("Would edit", "dry run", "+b"),
         data={"dry_run": True, "sha256": _hash("b\n"), "size_bytes": 2}),
    *(_row(f"the hash: {what}", "a\n", "a", "b", "b\n", arguments={"if_sha256": given})
      for what, given in (("whole", _hash("a\n")), ("12 digits", _hash("a\n")[:12]),
                          ("in capitals", _hash("a\n").upper()))),
    _row("another hash", "a\n", "a", "b", None, arguments={"if_sha256": "0" * 64}, refused="conflict",
         words=(_hash("a\n"),)),
    _row("a hash of no file", None, "", "b", None, arguments={"if_sha256": _hash("")}, refused="conflict"),
]

REFUSED = [
    _at("a folder", "is_directory", ("{dir}/d is a directory",), "d", "mkdir d"),
    _at("a folder by its slash", "invalid_path", ("names a directory",), "f/"),
    _at("a missing file with a near name", "not_found", ("did you mean {dir}/name.txt?",), "nmae.txt",
        "touch name.txt"),
    _at("a missing folder", "not_found", ("the directory {dir}/none does not exist",), "none/f"),
    _at("below a file", "invalid_path", ("{dir}/f is a file, not a directory",), "f/x"),
    _at("a dangling link", "not_found", (), "l", "ln -s none l"),
    _at("links in a circle", "invalid_path", (), "l", "ln -s l l"),
    _at("a named pipe", "not_a_file", (), "p", "mkfifo p"),
    _at("a read-only file", "permission_denied", ("{dir}/f is read-only", "chmod u+w"), "f", "chmod 444 f"),
    _at("a name that is too long", "invalid_path", ("255 bytes",), "x" * 256, old=""),
    _at("UTF-16 with a mark", "unsupported", ("UTF-16LE", "iconv"), "f",
        before={"f": "a\n".encode("utf-16")}),
    _at("UTF-16 the other way", "unsupported", ("UTF-16BE", "iconv"), "f",
        before={"f": b"\xfe\xff" + "a\n".encode("utf-16-be")}),
    _at("UTF-32", "unsupported", ("UTF-32", "iconv"), "f", before={"f": "a\n".encode("utf-32")}),
    _at("the same text", "invalid_argument", ("are the same",), "f", new="a"),
    _refused("a path with NUL", "invalid_path", ("NUL",), path="a\0b", old_text="a", new_text="b"),
    _refused("a path outside", "invalid_path", ("/etc/hostname is outside",), path="/etc/hostname",
             old_text="a", new_text="b"),
    _refused("a new path outside", "invalid_path", ("/usr/new is outside of",), path="/usr/new", old_text="", new_text="b"),
    _refused("a new path beside the home", "invalid_path", ("/home/user2/x is outside of",), path="/home/user2/x",
             old_text="", new_text="b"),
    _refused("a device", "invalid_path", ("/dev/null",), path="/dev/null", old_text="a", new_text="b"),
    _at("a link that leads outside", "invalid_path", ("outside",), "l", "ln -s /etc/hostname l"),
    _refused("no path", "invalid_argument", ("missing: path",), old_text="a", new_text="b"),
    _refused("nothing at all", "invalid_argument", ("cut off",)),
    _refused("an empty path", "invalid_argument", ("path: may not be empty",), path="", old_text="a",
             new_text="b"),
    _refused("no new text", "invalid_argument", ("missing: new_text", "too long"), path="{dir}/f",
             old_text="a"),
    _refused("no old text", "invalid_argument", ("missing: old_text",), path="{dir}/f", new_text="a"),
    _refused("no texts", "invalid_argument", ("neither old_text and new_text nor edits",), path="{dir}/f"),
    _refused("texts and edits", "invalid_argument", ("both",), path="{dir}/f", old_text="a", new_text="b",
             edits=[{"old_text": "a", "new_text": "b"}]),
    _refused("replace_all beside edits", "invalid_argument", ("in each of the edits",), path="{dir}/f",
             replace_all=True, edits=[{"old_text": "a", "new_text": "b"}]),
    _refused("an edit without its new text", "invalid_argument", ("edits[0]",), path="{dir}/f",
             edits=[{"old_text": "a"}]),
    _refused("an edit with something else", "invalid_argument", ("edits[0]", "line"), path="{dir}/f",
             edits=[{"old_text": "a", "new_text": "b", "line": 1}]),
    _refused("an edit that is a text", "invalid_argument", ("edits[0]",), path="{dir}/f", edits=["a"]),
    _refused("edits that are an object", "invalid_argument", ("edits",), path="{dir}/f",
             edits={"old_text": "a", "new_text": "b"}),
    _refused("a number as a text", "invalid_argument", ("old_text: expected a string, got 1",),
             path="{dir}/f", old_text=1, new_text="b"),
    _refused("a word as replace_all", "invalid_argument", ("expected true or false",), path="{dir}/f",
             old_text="a", new_text="b", replace_all="yes"),
    *(_refused(f"a hash {what}", "invalid_argument", ("if_sha256",), path="{dir}/f", old_text="a",
               new_text="b", if_sha256=given)
      for what, given in (("of 11 digits", "a" * 11), ("of 65 digits", "a" * 65), ("of words", "not a hash!!"),
                          ("of nothing", ""))),
    _refused("an unknown argument", "invalid_argument", ("did you mean new_text?",), path="{dir}/f",
             old_text="a", new_txt="b"),
    _refused("one text by two names", "invalid_argument", ("old_text and old_string",), path="{dir}/f",
             old_text="a", old_string="c", new_text="b"),
]

EDIT_ROWS = [*EXACT, *LINE_ENDS, *CREATED, *SEVERAL, *TOLERANT, *MISSING, *KEPT, *REFUSED]
