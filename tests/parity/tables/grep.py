"""grep_files, most rows beside ripgrep in the same folder of the same sandbox."""

from tables.calls import CallRow as Row

RG = "rg --no-config --no-heading --color=never --with-filename --no-ignore-global --no-messages --sort=path"

TEXT = r"""printf 'alpha foo\nbeta Foo bar\n\nfoobar foo.bar\nthe end\n' >a.txt
printf 'def foo():\n    return "foo"\n# FOO straße STRASSE\n' >b.py
mkdir -p sub/deep .hidden; printf 'int foo(void);\r\nint bar;\r\n' >sub/c.h
printf 'foo (1+1)\n$x = [a-b]*\n\tfoo\\n\n' >sub/deep/d.c; printf 'foo hidden\n' >.hidden/e
printf 'unfinished foo' >sub/f.md; : >sub/empty; seq -f 'line %g' 30 >sub/numbers
"""

IGNORES = r"""git init -q . 2>/dev/null
mkdir -p build src/build src/deep/er doc nested/src 'with space' .hidden
for f in a.c a.o b.log keep.log .dot 'x y' '#odd' '!not' ; do
    for d in . build src src/build src/deep src/deep/er doc nested nested/src 'with space' .hidden; do echo foo >"$d/$f"; done
done
"""


def beside_rg(name, pattern, options="", setup=TEXT, path="", hidden=True, **arguments):
    """With ripgrep's options for the same."""
    quoted = "'" + pattern.replace("'", "'\\''") + "'"
    flags = options + (" --hidden" if hidden else "") + " -g '!.git'"
    if arguments.get("output_mode", "content") == "content":
        flags += " --line-number"
    given = {"pattern": pattern, **arguments, **({"path": path} if path else {}),
          **({} if hidden else {"hidden": False})}
    # Its exit status is 1 where nothing matches.
    return Row("rg " + name, given, setup=setup,
          same_as=f'{RG} {flags} -e {quoted} -- "$PWD{"/" + path if path else ""}" || [ $? = 1 ]')


def ignored(name, rules, **more):
    """Rules are written to the files of these names."""
    writes = "".join(f"cat >'{file}' <<'END'\n{text}\nEND\n" for file, text in rules.items())
    return beside_rg("ignore " + name, "foo", "--files-with-matches", setup=IGNORES + writes, output_mode="files",
          **more)


def refused(name, parts=(), refused="invalid_argument", **arguments):
    return Row("refused " + name, {"pattern": "foo", **arguments}, setup=TEXT, refused=refused, parts=parts)


def all_pages(test, row, result):
    """Joined they are what one page without a limit has, none twice, and each is full."""
    def units(data):
        return [(file["path"], line["number"], line["text"]) if line else file["path"]
                for file in data["files"] for line in (file["lines"] or [None])]

    found, limit = [], row.arguments["limit"]
    while True:
        found += units(result.data)
        following = result.data["next_offset"]
        if not following:
            break
        test.assertEqual((following, result.data["truncated_by"], result.data["listed"]), (len(found), "limit",
              limit))
        result = test.call("grep_files", **{**row.arguments, "offset": following})
    whole = test.call("grep_files", **{**row.arguments, "limit": 0})
    test.assertEqual(found, units(whole.data))
    test.assertEqual(len(found), len(set(found)))
    test.assertGreater(len(found), limit)


def same_again(test, row, result):
    for _ in range(4):
        test.assertEqual(test.call("grep_files", **row.arguments).text, result.text)


def paged(name, limit, **arguments):
    return Row("pages " + name, {"pattern": "e", "limit": limit, **arguments}, setup=TEXT, look=all_pages)


MATCH_ROWS = (
    beside_rg("word", "foo"),
    beside_rg("nothing", "no such text"),
    beside_rg("alternatives", "alpha|the|int"),
    beside_rg("begin of lines", "^foo"),
    beside_rg("end of lines", "foo$"),
    beside_rg("whole lines", "^foo.*bar$"),
    beside_rg("empty lines", "^$"),
    beside_rg("every line", "^"),
    beside_rg("CRLF is part of a line", "bar;$"),
    beside_rg("CRLF named", "bar;\\r$"),
    beside_rg("a class", "[A-Z]oo"),
    beside_rg("all but a newline",
          "foo[^\\n]*bar"),
    beside_rg("bound of words", "\\bfoo\\b"),
    beside_rg("repeated", "o{2}"),
    beside_rg("lazy", "f.*?o", "-o",
          only_matching=True),
    beside_rg("escaped", "\\$x = \\[a-b\\]\\*"),
    beside_rg("a tab", "\\tfoo"),
    beside_rg("flag i", "(?i)foo"),
    beside_rg("begin of the text is that of a line", "\\Afoo"),
    beside_rg("end of the text is that of a line",
          "foo\\z"),
    beside_rg("without flag m", "(?-m)^foo"),
    beside_rg("a named group", "(?P<word>foo)bar"),
    beside_rg("letters", "stra\\pLe"),
    beside_rg("wide", "straße"),
    beside_rg("ignore case", "FOO", "-i", ignore_case=True),
    beside_rg("ignore case of wide", "STRAßE", "-i",
          ignore_case=True),
    beside_rg("text", "foo (1+1)", "-F", fixed=True),
    beside_rg("text with a backslash", "foo\\n", "-F", fixed=True),
    beside_rg("text in both cases", "FOO.BAR", "-F -i", fixed=True, ignore_case=True),
    beside_rg("text of a bracket", "[", "-F", fixed=True),
    beside_rg("a dash first", "-b\\]"),
    beside_rg("files", "foo", "--files-with-matches", output_mode="files"),
    beside_rg("counts", "foo", "--count", output_mode="count"),
    beside_rg("counts of matches", "o", "--count-matches", output_mode="count", only_matching=True),
    beside_rg("parts", "fo+", "-o", only_matching=True),
    beside_rg("parts in both cases", "fo+", "-o -i",
          only_matching=True, ignore_case=True),
    beside_rg("over lines", "bar\\n\\nfoo", "-U", multiline=True),
    beside_rg("over lines by s", "(?s)alpha.{5,9}Foo",
          "-U", multiline=True),
    beside_rg("over lines in parts", "foo\\nbeta", "-U -o", multiline=True, only_matching=True),
    beside_rg("over lines a count", "foo\\nbeta|o", "-U -c", multiline=True, output_mode="count"),
    beside_rg("over lines a count of empty matches", "\\n*", "-U --count-matches", multiline=True,
              output_mode="count", only_matching=True),
    beside_rg("over lines a count of ends", "\\s*$", "-U --count-matches", multiline=True,
              output_mode="count", only_matching=True),
    beside_rg("over lines files", "int;?\\s+bar", "-U --files-with-matches", multiline=True, output_mode="files"),
    beside_rg("over lines of CRLF", ";\\r\\nint", "-U", multiline=True),
    beside_rg("over lines text", "bar\n\nfoo",
          "-U -F", multiline=True, fixed=True),
    beside_rg("not hidden", "foo", hidden=False),
    beside_rg("hidden by its folder", "foo", path=".hidden",
          hidden=False),
    beside_rg("one file", "foo", path="a.txt"),
    beside_rg("one hidden file", "foo", path=".hidden/e", hidden=False),
    beside_rg("one folder", "foo", path="sub"),
    beside_rg("a folder below", "foo", path="sub/deep"),
    beside_rg("include", "foo", "-g '*.txt'", include="*.txt"),
    beside_rg("include braces", "foo", "-g '*.{h,c}'",
          include="*.{h,c}"),
    beside_rg("include two", "foo", "-g '*.h' -g '*.py'", include=["*.h", "*.py"]),
    beside_rg("exclude", "foo", "-g '!*.py'", include="!*.py"),
    beside_rg("exclude a folder", "foo", "-g '!sub'",
          include=["!sub"]),
    beside_rg("include but", "foo", "-g '*.{c,h}' -g '!d.c'", include=["*.{c,h}", "!d.c"]),
    beside_rg("but include", "foo", "-g '!*.h' -g 'sub/*.h'", include=["!*.h", "sub/*.h"]),
    beside_rg("include below", "foo", "-g 'sub/**'", include="sub/**"),
    beside_rg("include anchored", "foo",
          "-g '/*.py'", include="/*.py"),
    beside_rg("include by any folder", "foo", "-g '**/deep/*'", include="**/deep/*"),
    beside_rg("include a set",
          "foo", "-g '[ab].*'", include="[ab].*"),
    beside_rg("type", "foo", "-t py", type="py"),
    beside_rg("type of two endings", "foo", "-t c", type="c"),
    beside_rg("type and include", "foo", "-t c -g '!*.h'", type="c", include="!*.h"),
    beside_rg("type md", "foo",
          "-t md", type="md"),
    *(Row(f"rg context {name}", {"pattern": "line 1?5", **arguments}, setup=TEXT,
          look=lambda test, row, result, options=options: test.assertEqual(
              "".join(result.text.splitlines(True)[:-1]), test.output(f'{RG} -n {options} -e "line 1?5" "$PWD"')))
      for name, options, arguments in (
          ("before", "-B2", {"before": 2}), ("after", "-A2", {"after": 2}), ("both", "-C1", {"context": 1}),
                ("joined", "-C6", {"context": 6}),
          ("none before", "-A2", {"context": 2, "before": 0}), ("most", "-C1000", {"context": 1000}),
          ("of parts", "-o -C1", {"context": 1, "only_matching": True}))),
)

SELECTION_ROWS = (
    ignored("name", {".gitignore": "*.o"}),
    ignored("folder", {".gitignore": "build/"}),
    ignored("anchored",
          {".gitignore": "/build"}),
    ignored("negated", {".gitignore": "*.log\n!keep.log"}),
    ignored("negated in an ignored folder",
          {".gitignore": "build/\n!build/a.c"}),
    ignored("folder but one", {".gitignore": "/build/*\n!/build/a.c"}),
    ignored("two stars first",
          {".gitignore": "**/deep/*.c"}),
    ignored("two stars last", {".gitignore": "src/**"}),
    ignored("two stars between", {".gitignore": "src/**/a.c"}),
    ignored("a slash between", {".gitignore": "src/a.c"}),
    ignored("a folder's name only", {".gitignore": "a.c/"}),
    ignored("nested", {".gitignore": "*.log", "src/.gitignore": "!b.log\n/a.c"}),
    ignored("nested deeper",
          {"src/deep/.gitignore": "/er/\n*.o"}),
    ignored("comments", {".gitignore": "# a.c\n\\#odd\n\\!not"}),
    ignored("blanks",
          {".gitignore": "x y\na.c   \nwith\\ space"}),
    ignored("CRLF", {".gitignore": "*.c\r\nbuild/\r"}),
    ignored("a set", {".gitignore": "[ab].[!c]*"}),
    ignored("a question mark", {".gitignore": "?.c"}),
    ignored("everything but", {".gitignore": "*\n!*/\n!*.c"}),
    ignored("info/exclude",
          {".git/info/exclude": "*.o\n!a.o"}),
    ignored(".gitignore above exclude", {".git/info/exclude": "*.o", ".gitignore": "!a.o"}),
    ignored(".ignore",
          {".ignore": "*.c"}),
    ignored(".ignore above .gitignore", {".gitignore": "*.c", ".ignore": "!a.c"}),
    ignored(".rgignore",
          {".ignore": "*.c", ".rgignore": "!a.c"}),
    ignored("of the folder above", {".gitignore": "*.o\n/src/deep/a.c"}, path="src/deep"),
    ignored("an ignored folder named", {".gitignore": "build/"}, path="build"),
    ignored("hidden by a rule", {".gitignore": ".hidden/"}),
    ignored("hidden and kept", {".gitignore": "!.dot"},
          hidden=False),
    beside_rg("no_ignore", "foo", "--no-ignore --files-with-matches", setup=IGNORES + "echo '*' >.gitignore",
          output_mode="files", no_ignore=True),
    beside_rg("no repository", "foo", "--files-with-matches", setup=IGNORES + "rm -rf .git; echo '*.c' >.gitignore",
          output_mode="files"),
    beside_rg("a repository within", "foo", "--files-with-matches", output_mode="files",
              setup=IGNORES + "git init -q nested 2>/dev/null; echo '*.c' >.gitignore; echo '*.o' >nested/.gitignore"),
    beside_rg("an ignored repository within", "foo", "--files-with-matches", output_mode="files",
              setup=IGNORES + "git init -q nested 2>/dev/null; echo nested/ >.gitignore"),
    Row("what is ignored is counted", {"pattern": "foo"}, setup=IGNORES + "printf 'build/\n*.o\n' >.gitignore",
        parts=("skipped as ignored (no_ignore)",), look=lambda test, row,
              result: test.assertGreater(result.data["ignored_files"], 9)),
    beside_rg("symbolic links are left alone", "foo",
          setup=TEXT + "ln -s a.txt link; ln -s sub folder; ln -s . loop; ln -s gone dangling"),
    beside_rg("a fifo is left alone", "foo", setup=TEXT + "mkfifo p"),
    beside_rg("names of all kinds", "foo",
          setup=TEXT + "echo foo >'a b'; echo foo >ünï; echo foo >-rf; echo foo >'~'; echo foo >'*'"),
    Row("a folder by a link", {"pattern": "foo", "path": "folder", "output_mode": "files"},
          setup=TEXT + "ln -s sub folder",
        data={"root": "{dir}/sub", "total_files": 3}),
    Row("a name with a newline", {"pattern": "foo"}, setup="echo foo >'a\nb'", data={"total_matches": 1,
          "total_files": 1},
        look=lambda test, row, result: (test.assertEqual(result.data["files"][0]["path"],
              test.row_directory(row) + "/a\nb"),
                                        test.assertEqual(len(result.text.splitlines()), 2, result))),
    Row("a name that is no UTF-8", {"pattern": "foo"}, setup="echo foo >$'a\\xff'", data={"total_matches": 1},
        look=lambda test, row, result: test.assertEqual(result.data["files"][0]["path"],
              test.row_directory(row) + "/a\ufffd")),
    Row("a NUL byte is binary", {"pattern": "foo"}, setup="printf 'foo\\0' >f", data={"total_matches": 0,
          "binary_files": 1},
        parts=("was not searched for foo: there is nothing but 1 file with a NUL byte",)),
    Row("binary beside text", {"pattern": "foo"}, setup="printf 'foo\\0' >f; echo foo >g",
        data={"total_matches": 1, "binary_files": 1}, parts=("1 file skipped as binary",)),
    Row("UTF-16", {"pattern": "^strä"},
          setup="printf '\\xff\\xfe' >f; printf 'x\\nsträße\\n' | iconv -t UTF-16LE >>f",
        data={"total_matches": 1}, parts=("{dir}/f:2:sträße\n",)),
    Row("a BOM is no text", {"pattern": "^foo"}, setup="printf '\\xef\\xbb\\xbffoo\\n' >f", parts=("{dir}/f:1:foo\n",
          )),
    Row("invalid UTF-8 is shown", {"pattern": "foo"}, setup="printf 'foo \\xff\\n' >f",
          parts=("{dir}/f:1:foo \ufffd\n",)),
    Row("may not be read", {"pattern": "foo", "path": "."}, setup="echo foo >a; echo foo >b; mkdir d; chmod 0 b d",
          sandboxes_only=True,
        data={"total_matches": 1, "unreadable_files": 2, "unreadable_paths": ["{dir}/b", "{dir}/d/"],
              "complete": True},
        parts=("2 could not be read: {dir}/b, {dir}/d/",)),
    Row("may not be read in order", {"pattern": "foo"},
          setup="for d in {a..i}; do mkdir $d; echo foo >$d/f; done; chmod 0 {b..h}", sandboxes_only=True,
        data={"unreadable_files": 7, "unreadable_paths": [f"{{dir}}/{name}/" for name in "bcdef"]}, look=same_again),
    Row("an empty folder", {"pattern": "foo"}, data={"total_matches": 0, "searched_files": 0, "truncated_by": ""},
        parts=("No matches for foo in {dir} (0 files searched)",)),
)

BUDGET_ROWS = (
    paged("one by one", 1),
    paged("by three", 3),
    paged("of files", 2, output_mode="files"),
    paged("of counts", 2,
          output_mode="count"),
    Row("pages of parts", {"pattern": "o", "limit": 4, "only_matching": True}, setup=TEXT,
        look=lambda test, row, result: test.assertEqual(
            sum(test.call("grep_files", **{**row.arguments, "offset": at}).data["listed"] for at in range(0,
                  result.data["total_matches"], 4)),
            result.data["total_matches"])),
    Row("the same order each time", {"pattern": "e", "context": 1}, setup=TEXT, look=same_again),
    Row("the same order of many files", {"pattern": "x", "output_mode": "files", "limit": 0}, look=same_again,
        setup="for d in {a..j}; do mkdir $d; for f in {1..40}; do echo x >$d/$f; done; done"),
    Row("by limit", {"pattern": "line", "limit": 5}, setup=TEXT,
        data={"listed": 5, "total_matches": 30, "truncated_by": "limit", "next_offset": 5, "complete": True},
        parts=("30 matching lines in 1 file · showing 1–5 · cut at limit · next: offset 5",)),
    Row("at the limit", {"pattern": "line", "limit": 30}, setup=TEXT, data={"listed": 30, "truncated_by": "",
          "next_offset": 0}),
    # Elsewhere the folder's name is so long that the text is full before.
    Row("by the default", {"pattern": "x"}, setup="yes x | head -n 251 >f", sandboxes_only=True,
        data={"listed": 250, "truncated_by": "limit", "total_matches": 251}),
    Row("by the size of a result", {"pattern": "x", "limit": 0}, setup="yes xxxxxxxxxxxxxxxxxxx | head -n 5000 >f",
        data={"truncated_by": "budget", "total_matches": 5000}, parts=("cut at the size of a result",),
        look=lambda test, row, result: (test.assertLessEqual(len(result.text), 30_500),
                                        test.assertEqual(result.data["next_offset"], result.data["listed"]))),
    Row("behind the end", {"pattern": "foo", "offset": 100}, setup=TEXT, data={"listed": 0, "next_offset": 0},
        parts=("offset 100 is past the end",)),
    Row("a long line is cut around its match", {"pattern": "needle"},
        setup="{ head -c 5000 /dev/zero | tr '\\0' x; printf needle; head -c 5000 /dev/zero | tr '\\0' y; echo; } >f",
        parts=("[cut] xxx", "needle", "yyy [cut]"), look=lambda test, row, result: test.assertLess(len(result.text),
              900)),
    Row("totals of files", {"pattern": "foo", "output_mode": "files"}, setup=TEXT, data={"total_matches": 0,
          "total_files": 6},
        parts=("[6 files with a match]",)),
    Row("totals of counts", {"pattern": "foo", "output_mode": "count"}, setup=TEXT, data={"total_files": 6,
          "mode": "count"}),
    Row("spelled as others do", {"pattern": "FOO", "-i": True, "-n": True, "glob": "*.txt", "head_limit": 1, "-C": 0,
          "output_mode": "files_with_matches"},
        setup=TEXT, data={"mode": "files", "listed": 1, "total_files": 1}),
    refused("look-ahead", ("look-around", "rg -P"), pattern="(?=x)"),
    refused("look-behind", ("look-around",),
          pattern="(?<!x)y"),
    refused("backreference", ("backreferences",), pattern="(a)\\1"),
    refused("include names nothing", ('include: "/" names no files', "without include"), pattern="a",
            include="/"),
    refused("no end of a group", ("missing )",),
          pattern="(x"),
    refused("no end of a set", ("missing ]",), pattern="[x"),
    refused("nothing to repeat", ("*",), pattern="*x"),
    refused("repeated twice", ("**",), pattern="x**"),
    refused("counts backwards", ("{3,2}",), pattern="x{3,2}"),
    refused("a backslash last", ("\\",), pattern="x\\"),
    refused("an unknown escape", ("\\h",), pattern="\\h"),
    refused("a newline by lines", ("multiline",), pattern="a\\nb"),
    refused("a newline by its number", ("multiline",
          ), pattern="a\\x0ab"),
    refused("a raw newline by lines", ("multiline",), pattern="a\nb"),
    refused("a newline as text", ("multiline",),
          pattern="a\nb", fixed=True),
    refused("NUL", ("NUL",), pattern="a\0b"),
    refused("no pattern", ("pattern",), pattern=""),
    refused("an unknown type", ("nosuch",), type="nosuch"),
    refused("a type by its ending", ("did you mean rust?",), type="rs"),
    refused("a type by another name", ("did you mean py?",), type="python"),
    refused("a bad include", ("[",), include="[a"),
    refused("open braces", ("{",), include="*.{c,h"),
    refused("a mode", ("output_mode",), output_mode="lines"),
    refused("context of thousands", ("context",), context=1001),
    refused("a negative limit", ("limit",), limit=-1),
    refused("an unknown argument", ("colour",), colour=True),
    refused("no folder", ("{dir}/none does not exist",),
          "not_found", path="none"),
    refused("a near folder", ("did you mean {dir}/sub?",), "not_found", path="sbu"),
    refused("below a file",
          ("is a file",), "invalid_path", path="a.txt/x"),
    Row("refused a fifo", {"pattern": "foo", "path": "p"}, setup="mkfifo p", refused="not_a_file"),
)
