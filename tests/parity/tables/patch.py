"""edit_file with a patch."""

import re

from tables.rows import EditRow

BOM = "\ufeff"


def _row(name, body, before, after, **more):
    """`body`: what stands between *** Begin Patch and *** End Patch."""
    arguments = {"patch": f"*** Begin Patch\n{body}*** End Patch\n", **more.pop("arguments", {})}
    return EditRow("patch: " + name, arguments, before, after, **more)


def _hunk(name, before, hunk, after, **more):
    """An update of the one file f."""
    return _row(name, "*** Update File: {dir}/f\n" + hunk, {"f": before}, {"f": after}, **more)


def _refused_hunk(name, before, hunk, word, *words):
    return _row("refused: " + name, "*** Update File: {dir}/f\n" + hunk, {"f": before}, {}, refused=word,
                words=words)


def _refused(name, body, word, *words, setup="", before=None):
    return _row("refused: " + name, body, {"f": "a\n", "g": "a\n"} if before is None else before, {},
                refused=word, words=words, setup=setup)


def _unreadable(name, text, *words):
    return EditRow("patch: unreadable: " + name, {"patch": text}, {"f": "a\n"}, refused="invalid_argument",
                   words=words)


_CHANGE = "*** Update File: {dir}/f\n-a\n+b\n"

HUNKS = [
    *(EditRow(f"patch: in {name}", {"patch": f"{above}\n*** Begin Patch\n{_CHANGE}*** End Patch\n{below}\n"},
              {"f": "a\n"}, {"f": "b\n"})
      for name, above, below in (("a fence", "```diff", "```"), ("a here-document", "apply_patch <<'EOF'", "EOF"))),
    _hunk("a line", "a\nb\nc\n", " a\n-b\n+x\n c\n", "a\nx\nc\n",
          text=re.compile(r"Patched 1 file\nupdated {dir}/f: 1 hunk · sha256 [0-9a-f]{12}\n--- {dir}/f\n"
                          r"\+\+\+ {dir}/f\n@@ -1,3 \+1,3 @@\n a\n-b\n\+x\n c\n")),
    _hunk("without context", "a\nb\n", "-b\n+x\n", "a\nx\n"),
    _hunk("lines come", "a\nb\n", " a\n+x\n+y\n b\n", "a\nx\ny\nb\n"),
    _hunk("lines go", "a\nb\nc\nd\n", " a\n-b\n-c\n d\n", "a\nd\n"),
    _hunk("all lines go", "a\nb\n", "-a\n-b\n", ""),
    _hunk("an empty line comes", "a\nb\n", " a\n+\n b\n", "a\n\nb\n"),
    _hunk("an empty line goes", "a\n\nb\n", " a\n-\n b\n", "a\nb\n"),
    _hunk("an empty line stays, though its blank is missing", "a\n\nb\n", " a\n\n-b\n+c\n", "a\n\nc\n"),
    _hunk("changes in turns", "a\nb\nc\nd\n", "-a\n+1\n b\n-c\n+3\n d\n", "1\nb\n3\nd\n"),
    _hunk("several hunks", "a\nb\nc\nd\ne\n", "@@\n-a\n+1\n@@\n-c\n+3\n@@\n-e\n+5\n", "1\nb\n3\nd\n5\n",
          parts=("3 hunks",)),
    _hunk("hunks next to each other", "a\nb\n", "@@\n-a\n+1\n@@\n-b\n+2\n", "1\n2\n"),
    _hunk("the second hunk is looked for behind the first", "a\nx\na\n", "@@\n a\n-x\n+y\n@@\n-a\n+b\n",
          "a\ny\nb\n"),
    _hunk("below a header", "f:\n  x\ng:\n  x\n", "@@ g:\n-  x\n+  y\n", "f:\n  x\ng:\n  y\n"),
    _hunk("below a header that is a part of its line", "int f(int a)\nx\nint g(int a)\nx\n",
          "@@ int g(\n-x\n+y\n", "int f(int a)\nx\nint g(int a)\ny\n"),
    _hunk("a whole line goes before a part of one", "xgx\n1\ng\n1\n", "@@ g\n-1\n+2\n", "xgx\n1\ng\n2\n"),
    _hunk("below two headers", "A:\n f:\n  x\nB:\n f:\n  x\n", "@@ B:\n@@ f:\n-  x\n+  y\n",
          "A:\n f:\n  x\nB:\n f:\n  y\n"),
    _hunk("a header as unified diffs have it", "f\na\nb\na\nb\n", "@@ -4,2 +4,2 @@ f\n a\n-b\n+c\n",
          "f\na\nc\na\nb\n"),
    _hunk("a header with its end", "f\na\n", "@@ f @@\n-a\n+b\n", "f\nb\n"),
    _hunk("line numbers alone are no header", "a\nb\n", "@@ -7,2 +9,2 @@\n a\n-b\n+c\n", "a\nc\n"),
    _hunk("added below a header", "a\nb\n", "@@ a\n+x\n", "a\nx\nb\n"),
    _hunk("added at the end", "a\nb\n", "+x\n", "a\nb\nx\n"),
    _hunk("added at the end, said so", "a\nb\n", "+x\n*** End of File\n", "a\nb\nx\n"),
    _hunk("added to an empty file", "", "+x\n", "x\n"),
    _hunk("the last of several places", "a\nb\na\n", "-a\n+x\n*** End of File\n", "a\nb\nx\n"),
    _hunk("marks are no text", "-a\n+b\n b\n", "--a\n++a\n +b\n", "+a\n+b\n b\n"),
    _hunk("lines that look like marks", "a\n", "-a\n+*** b\n+@@ c\n", "*** b\n@@ c\n"),
    _hunk("only whole lines", "xab\nab\nabx\n", "-ab\n+cd\n", "xab\ncd\nabx\n"),
    _hunk("empty lines behind a hunk are not of the file", "a\nb\n", "-a\n+c\n\n\n", "c\nb\n"),
    _hunk("empty lines in front of the first hunk", "a\nb\n", "\n@@\n-a\n+c\n", "c\nb\n"),
    _hunk("no final newline", "a\nb", " a\n-b\n+c\n", "a\nc"),
    _hunk("no final newline, a line comes", "a\nb", " b\n+c\n", "a\nb\nc"),
    _hunk("no final newline, the last line goes", "a\nb", " a\n-b\n", "a"),
    _hunk("no final newline, the last line goes without context", "a\nb", "-b\n", "a"),
    _hunk("no final newline, added at the end", "a\nb", "+c\n", "a\nb\nc"),
    _hunk("CRLF", "a\r\nb\r\n", " a\n-b\n+c\n+d\n", "a\r\nc\r\nd\r\n"),
    _hunk("CRLF in the patch", "a\nb\n", " a\r\n-b\r\n+c\r\n", "a\nc\n"),
    _hunk("mixed line ends", "a\r\nb\nc\n", " a\n-b\n+x\n c\n", "a\r\nx\nc\n"),
    _hunk("a mark", BOM + "a\nb\n", "-a\n+x\n b\n", BOM + "x\nb\n"),
    _hunk("a mark above the header's place", BOM + "a\nx\na\nx\n", "@@ a\n-x\n+y\n", BOM + "a\ny\na\nx\n"),
    _hunk("unicode", "ü☃\n𝄞\n", "-ü☃\n+日本\n 𝄞\n", "日本\n𝄞\n"),
    _hunk("bytes that are no UTF-8 stay", b"a\n\xff\n", "-a\n+b\n", b"b\n\xff\n", patch_applies=False),
    _hunk("NUL bytes stay", b"a\nx\0\n", "-a\n+b\n", b"b\nx\0\n", parts=("Binary files",),
          patch_applies=False),
    _hunk("tabs", "if a:\n\tb\n", " if a:\n-    b\n+    c\n", "if a:\n\tc\n", parts=("differing in tabs",)),
    _hunk("trailing blanks", "a  \nb\n", " a\n-b\n+c\n", "a  \nc\n", parts=("differing in trailing blanks",)),
    _hunk("quotes", "\u201ca\u201d\nb\n", " \"a\"\n-b\n+c\n", "\u201ca\u201d\nc\n",
          parts=("differing in quotes",)),
    _hunk("what is exact goes before what is not", "\ta\n    a\n", "-    a\n+    b\n", "\ta\n    b\n"),
    _hunk("blanks at the end come off", "a \nb\n", "-a \n+a\n", "a\nb\n"),
    _hunk("far down", "x\n" * 20_000 + "a\n" + "x\n" * 20_000, "-a\n+b\n",
          "x\n" * 20_000 + "b\n" + "x\n" * 20_000),
]

FILES = [
    _row("a file is added", "*** Add File: {dir}/n\n+a\n+\n+ b\n", {}, {"n": "a\n\n b\n"},
         parts=("added {dir}/n", "--- /dev/null"), data={"dry_run": False, "diff_truncated": False}),
    _row("a file is added in new folders", "*** Add File: {dir}/x/y/n\n+a\n", {}, {"x/y/n": "a\n"}),
    _row("an empty file is added", "*** Add File: {dir}/n\n", {}, {"n": ""}),
    _row("a file of one empty line is added", "*** Add File: {dir}/n\n+\n", {}, {"n": "\n"}),
    _row("an empty line without its mark is one of the file", "*** Add File: {dir}/n\n+a\n\n+b\n\n", {},
         {"n": "a\n\nb\n"}),
    _row("a file is deleted", "*** Delete File: {dir}/f\n", {"f": "a\n", "g": "b\n"}, {"f": None},
         parts=("deleted {dir}/f",)),
    _row("a file is moved", "*** Update File: {dir}/f\n*** Move to: {dir}/d/g\n", {"f": "a\n"},
         {"f": None, "d/g": "a\n"}, parts=("moved {dir}/f to {dir}/d/g",)),
    _row("a file is moved and changed", "*** Update File: {dir}/f\n*** Move to: {dir}/g\n-a\n+b\n",
         {"f": "a\n"}, {"f": None, "g": "b\n"}, parts=("-a\n+b\n",)),
    _row("a moved file keeps its mode", "*** Update File: {dir}/f\n*** Move to: {dir}/g\n-a\n+b\n",
         {"f": "a\n"}, {"f": None, "g": "b\n"}, setup="chmod 751 f", shows="stat -c %a g", prints="751\n"),
    _row("a changed file keeps its mode", _CHANGE, {"f": "a\n"}, {"f": "b\n"}, setup="chmod 751 f",
         shows="stat -c %a f", prints="751\n"),
    _row("through a link", "*** Update File: {dir}/l\n-a\n+b\n", {"f": "a\n"}, {"f": "b\n"},
         setup="ln -s f l", shows="readlink l", prints="f\n"),
    _row("all at once", "*** Update File: {dir}/f\n-a\n+b\n*** Add File: {dir}/n\n+n\n*** Delete File: "
         "{dir}/g\n*** Update File: {dir}/h\n*** Move to: {dir}/i\n-a\n+c\n",
         {"f": "a\n", "g": "a\n", "h": "a\n"},
         {"f": "b\n", "n": "n\n", "g": None, "h": None, "i": "c\n"}, parts=("Patched 4 files",)),
    _row("empty lines between the files", "\n*** Update File: {dir}/f\n-a\n+b\n\n\n*** Add File: {dir}/n\n+n\n"
         "\n*** Delete File: {dir}/g\n\n", {"f": "a\n", "g": "a\n"}, {"f": "b\n", "n": "n\n", "g": None}),
    _row("names with blanks and unicode", "*** Update File: {dir}/a  b\n-a\n+b\n*** Add File: {dir}/ü ☃\n+n\n",
         {"a  b": "a\n"}, {"a  b": "b\n", "ü ☃": "n\n"}),
    _row("no blank behind the colon", "*** Update File:{dir}/f\n-a\n+b\n", {"f": "a\n"}, {"f": "b\n"}),
    _row("a dry run", "*** Update File: {dir}/f\n-a\n+b\n*** Add File: {dir}/x/n\n+n\n*** Delete File: {dir}/g\n",
         {"f": "a\n", "g": "g\n"}, {}, arguments={"dry_run": True}, shows="ls", prints="f\ng\n",
         parts=("Would patch 3 files", "+b"), data={"dry_run": True}),
    EditRow("patch: without a newline at its end", {"patch": "*** Begin Patch\n" + _CHANGE + "*** End Patch"},
            {"f": "a\n"}, {"f": "b\n"}),
    EditRow("patch: blank lines and blanks around", {"patch": "\n *** Begin Patch \n" + _CHANGE +
                                                     "*** End Patch  \n\n"}, {"f": "a\n"}, {"f": "b\n"}),
]

REFUSED = [
    _refused_hunk("no such lines", "a\n", "-none\n+x\n", "text_not_found", "hunk 1 (line 3 of patch)"),
    _refused_hunk("near lines", "first\nreturn alpha;\n", " first\n-return  alpha;\n+x\n", "text_not_found",
                  "nearest: line 1", "line 2 differs in the number of blanks"),
    _refused_hunk("the second hunk", "a\nb\n", "@@\n-a\n+x\n@@\n-none\n+y\n", "text_not_found",
                  "hunk 2 (line 6 of patch)"),
    _refused_hunk("two places", "a\nb\na\nb\n", " a\n-b\n+x\n", "ambiguous_match", "on lines 1, 3", "@@"),
    _refused_hunk("a place behind a mark, and another", BOM + "a\na\n", "-a\n+b\n", "ambiguous_match",
                  "on lines 1, 2"),
    _refused_hunk("two places of other lengths", "\ta\n\ta\n", "-        a\n+b\n", "ambiguous_match",
                  "occurs 2 times in"),
    _refused_hunk("hunks against the order", "a\nb\n", "@@\n-b\n+x\n@@\n-a\n+y\n", "text_not_found",
                  "it is on line 1, above the hunk", "order of the file"),
    _refused_hunk("above its header", "a\nb\n", "@@ b\n-a\n+x\n", "text_not_found", "it is on line 1, above"),
    _refused_hunk("its header is its own line", "a\nb\n", "@@ a\n-a\n+x\n", "text_not_found",
                  "it is on line 1, above"),
    _refused_hunk("no such header", "a\nb\n", "@@ none\n-a\n+x\n", "text_not_found",
                  "the line behind @@ of hunk 1"),
    _refused_hunk("not at the end", "a\nb\n", "-a\n+x\n*** End of File\n", "text_not_found",
                  "it is on line 1, which is not the file's end"),
    _refused_hunk("part of a line", "abc\n", "-b\n+x\n", "text_not_found"),
    _refused_hunk("it is so already", "a\nb\n", "-a \n+a\n", "invalid_argument",
                  "line 2 of patch: {dir}/f has already what its hunks make"),
    _refused_hunk("it is so already, with a NUL byte", b"x\0\na\n", "-a \n+a\n", "invalid_argument",
                  "line 2 of patch: {dir}/f has already what its hunks make"),
    _refused_hunk("UTF-16", "a\n".encode("utf-16"), "-a\n+b\n", "unsupported", "iconv"),
    _refused("the second file", _CHANGE + "*** Update File: {dir}/g\n-none\n+b\n", "text_not_found", "{dir}/g"),
    _refused("an added file is there", _CHANGE + "*** Add File: {dir}/g\n+x\n", "conflict", "exists already",
             "*** Update File"),
    _refused("a deleted file is not there", _CHANGE + "*** Delete File: {dir}/none\n", "not_found",
             "{dir}/none does not exist"),
    _refused("a changed file is not there", _CHANGE + "*** Update File: {dir}/none\n-a\n+b\n", "not_found",
             "{dir}/none does not exist"),
    _refused("moved to what is there", "*** Update File: {dir}/f\n*** Move to: {dir}/g\n-a\n+b\n", "conflict",
             "{dir}/g exists already"),
    _refused("moved to itself", "*** Update File: {dir}/f\n*** Move to: {dir}/./f\n-a\n+b\n",
             "invalid_argument", "line 2 of patch: {dir}/./f would be moved to itself"),
    _refused("a file twice", _CHANGE + "*** Update File: {dir}/f\n-b\n+c\n", "invalid_argument",
             "line 5 of patch: {dir}/f is the same file as in line 2"),
    _refused("a file twice, by another name", _CHANGE + "*** Delete File: {dir}/./f\n", "invalid_argument",
             "line 5 of patch: {dir}/./f is the same file as in line 2"),
    _refused("a file twice, by a link", _CHANGE + "*** Update File: {dir}/l\n-a\n+c\n", "invalid_argument",
             "is the same file as in line 2", setup="ln -s f l"),
    _refused("a file twice, by a hard link", _CHANGE + "*** Update File: {dir}/h\n-a\n+c\n",
             "invalid_argument", "is the same file as in line 2", setup="ln f h"),
    _refused("a link is deleted", _CHANGE + "*** Delete File: {dir}/l\n", "unsupported", "symbolic link",
             setup="ln -s g l"),
    _refused("a folder is deleted", _CHANGE + "*** Delete File: {dir}/d\n", "is_directory", setup="mkdir d"),
    _refused("a read-only file", _CHANGE + "*** Update File: {dir}/g\n-a\n+b\n", "permission_denied",
             "{dir}/g is read-only", setup="chmod 444 g"),
    _refused("a place outside", _CHANGE + "*** Add File: /etc/berth-new\n+x\n", "invalid_path", "outside"),
    _refused("moved outside", "*** Update File: {dir}/f\n*** Move to: /etc/berth-new\n-a\n+b\n",
             "invalid_path", "outside"),
    *(EditRow(f"patch: refused: beside {name}", {"patch": "*** Begin Patch\n" + _CHANGE + "*** End Patch\n",
                                                 name: given}, {"f": "a\n"},
              refused="invalid_argument", words=("give it alone",))
      for name, given in (("path", "f"), ("old_text", "a"), ("new_text", "b"), ("tolerant", True),
                          ("edits", [{"old_text": "a", "new_text": "b"}]), ("if_sha256", "0" * 64),
                          ("replace_all", True))),
    EditRow("patch: refused: a number", {"patch": 5}, refused="invalid_argument",
            words=("patch: expected a string, got 5",)),
]

UNREADABLE = [
    _unreadable("nothing", "", "patch is empty"),
    _unreadable("blanks", " \n\n", "patch is empty"),
    _unreadable("words", "change a to b", "line 1 of patch: it does not begin with"),
    _unreadable("a unified diff", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "it is a unified diff",
                "patch in bash_exec"),
    _unreadable("a diff of git", "diff --git a/f b/f\n", "it is a unified diff"),
    _unreadable("words in front", "Here it is:\n*** Begin Patch\n" + _CHANGE + "*** End Patch\n",
                "line 1 of patch"),
    _unreadable("another end", "<<'EOF'\n*** Begin Patch\n" + _CHANGE + "*** End Patch\nEND\n", "line 7 of patch"),
    _unreadable("no end", "*** Begin Patch\n" + _CHANGE, "\"*** End Patch\" is missing", "cut off"),
    _unreadable("cut off in a mark", "*** Begin Patch\n" + _CHANGE + "*** End", "line 5 of patch"),
    _unreadable("no file", "*** Begin Patch\n*** End Patch\n", "names no file"),
    _unreadable("something behind the end", "*** Begin Patch\n" + _CHANGE + "*** End Patch\nx\n",
                "line 6 of patch: there is more behind"),
    _unreadable("two patches", ("*** Begin Patch\n" + _CHANGE + "*** End Patch\n") * 2, "one patch at a time"),
    _unreadable("no path", "*** Begin Patch\n*** Update File: \n-a\n+b\n*** End Patch\n",
                "line 2 of patch: there is no path behind"),
    _unreadable("no destination", "*** Begin Patch\n*** Update File: {dir}/f\n*** Move to:\n-a\n+b\n"
                "*** End Patch\n", "line 3 of patch: there is no path behind"),
    _unreadable("another mark", "*** Begin Patch\n*** Rename File: {dir}/f\n*** End Patch\n",
                "line 2 of patch: \"*** Rename File: "),
    _unreadable("a destination behind the hunk", "*** Begin Patch\n" + _CHANGE + "*** Move to: g\n"
                "*** End Patch\n", "line 5 of patch"),
    _unreadable("no hunk", "*** Begin Patch\n*** Update File: {dir}/f\n*** End Patch\n", "has no hunk"),
    _unreadable("an empty hunk", "*** Begin Patch\n*** Update File: {dir}/f\n@@ a\n*** End Patch\n",
                "has no lines"),
    _unreadable("a hunk that changes nothing", "*** Begin Patch\n*** Update File: {dir}/f\n a\n*** End Patch\n",
                "changes nothing"),
    _unreadable("a line without a mark", "*** Begin Patch\n*** Update File: {dir}/f\n-a\nb\n*** End Patch\n",
                "line 4 of patch: \"b\" in a hunk begins with no mark"),
    _unreadable("a tab for a mark", "*** Begin Patch\n*** Update File: {dir}/f\n\ta\n*** End Patch\n",
                "line 3 of patch"),
    _unreadable("a note on the final newline", "*** Begin Patch\n" + _CHANGE +
                "\\ No newline at end of file\n*** End Patch\n", "line 5 of patch"),
    _unreadable("an added line without a mark", "*** Begin Patch\n*** Add File: {dir}/n\n+a\nb\n"
                "*** End Patch\n", "line 4 of patch: \"b\" in an added file does not begin with +"),
    _unreadable("content below a deleted file", "*** Begin Patch\n*** Delete File: {dir}/f\n-a\n"
                "*** End Patch\n", "line 3 of patch: \"-a\" does not begin a file"),
]

PATCH_ROWS = [*HUNKS, *FILES, *REFUSED, *UNREADABLE]
