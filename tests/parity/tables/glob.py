"""glob_files, most rows beside find, fd or bash in the same folder of the same sandbox."""

import base64
import os

from tables.calls import CallRow as Row

TREE = r"""mkdir -p src/deep/er .hidden 'with space' doc/api empty src/[z] ünï
for d in . src src/deep src/deep/er .hidden 'with space' doc doc/api 'src/[z]' ünï; do
    touch "$d"/{a.c,b.h,ab.o,Makefile,.dot,README.md,a1,a2,B,ä.txt,'x y','#h','!n','{q}','*s','back\slash'}
done
"""


def beside(name, pattern, command, path="", setup=TREE, **arguments):
    """The command prints the paths, each ended by NUL, from the folder it is in."""
    given = {"pattern": pattern, "limit": 0, **arguments, **({"path": path} if path else {})}
    return Row(name, given, setup=setup, look=lambda test, row, result: same_files(test, row, result, command, path))


def same_files(test, row, result, command, path):
    printed = test.output(f'cd "./{path}"; {{ {command}; }} | base64 -w0')
    names = [name for name in base64.b64decode(printed).decode().split("\0") if name]
    expected = sorted(os.path.normpath(os.path.join(test.row_directory(row), path, name)) for name in names)
    test.assertEqual(sorted(result.data["paths"]), expected)
    test.assertEqual((result.data["total"], result.data["complete"]), (len(expected), True))


def by_name(name, pattern, **more):
    """Without a slash: find -name."""
    quoted = "'" + pattern.replace("'", "'\\''") + "'"
    return beside("find " + name, pattern, f"find . -name .git -prune -o -xtype f -name {quoted} -print0", **more)


def by_path(name, pattern, words="", **more):
    """With one: bash, without the folders."""
    script = ("shopt -s dotglob globstar nullglob; for f in " + (words or pattern) +
              "; do [ -f \"$f\" ] && printf '%s\\0' \"$f\"; done; :")
    return beside("bash " + name, pattern, script, **more)


def by_fd(name, rules, pattern="*", **more):
    """What ignore files leave."""
    writes = "".join(f"cat >'{file}' <<'END'\n{text}\nEND\n" for file, text in rules.items())
    return beside("ignore " + name, pattern,
          f"fdfind --hidden --no-global-ignore-file --exclude .git --type f -0 --glob '{pattern}'",
                  setup="git init -q . 2>/dev/null\n" + TREE + writes, respect_ignore=True, **more)


def refused(name, pattern, parts=(), word="invalid_argument", **arguments):
    return Row("refused " + name, {"pattern": pattern, **arguments}, setup=TREE + "mkfifo p", refused=word,
          parts=parts)


def newest_first(test, row, result):
    test.assertEqual([path.rpartition("/")[2] for path in result.data["paths"]], ["new", "middle", "old"])


def same_again(test, row, result):
    for _ in range(4):
        test.assertEqual(test.call("glob_files", **row.arguments).data["paths"], result.data["paths"])


NAME_ROWS = (
    by_name("all", "*"),
    by_name("ending", "*.c"),
    by_name("begin", "a*"),
    by_name("exact", "Makefile"),
    by_name("one character", "a?"),
    by_name("two characters", "??"),
    by_name("hidden", ".*"),
    by_name("hidden by name", ".dot"),
    by_name("a set",
          "[ab]?"),
    by_name("a range", "[a-c]*"),
    by_name("no range", "[!a-z]*"),
    by_name("no range by ^", "[^a-z]*"),
    by_name("digits", "a[0-9]"),
    by_name("class of characters", "*[[:digit:]]"),
    by_name("a bracket in a set", "[]z]*"),
    by_name("a dot in a set",
          "*[.]c"),
    by_name("a dash in a set", "[a-]*"),
    by_name("case counts", "readme*"),
    by_name("wide", "ä*"),
    by_name("wide by one", "?.txt"),
    by_name("a blank",
          "x y"),
    by_name("a hash", "#*"),
    by_name("an exclamation mark", "!n"),
    by_name("escaped star", "\\*s"),
    by_name("escaped backslash",
          "back\\\\slash"),
    by_name("nothing", "*.none"),
    by_name("stars", "*a*c*"),
    by_name("of one folder", "*.c", path="src"),
    by_name("of a hidden folder", "*.c",
          path=".hidden"),
    by_name("of a folder with a blank", "*", path="with space"),
    by_name("of a folder in brackets", "*",
          path="src/[z]"),
    by_name("of an empty folder", "*", path="empty"),
    by_name("of wide folders", "a.c", path="ünï"),
    beside("braces", "*.{c,h}", "find . -type f -name '*.[ch]' -print0"),
    beside("braces with nothing", "a{1,}",
          "find . -type f -name a1 -print0"),
    beside("braces in braces", "{a{1,2},B}", "find . -type f \\( -name 'a[12]' -o -name B \\) -print0"),
    beside("braces of one", "{a1}", "find . -type f -name a1 -print0"),
    beside("escaped braces", "\\{q\\}",
          "find . -type f -name '{q}' -print0"),
)

PATH_ROWS = (
    by_path("one level", "*/a.c"),
    by_path("two levels", "src/*/a.c"),
    by_path("here alone", "./*.c"),
    by_path("here by name", "./a.c"),
    by_path("any depth", "**/a.c"),
    by_path("below a folder", "src/**/*.c"),
    by_path("a folder at any depth",
          "**/deep/*"),
    by_path("all below", "src/**"),
    by_path("all", "**"),
    by_path("stars twice", "src/**/**/a.c"),
    by_path("stars on both sides", "**/deep/**"),
    by_path("braces of folders", "{src,doc}/a.c"),
    by_path("braces of paths", "{src/deep,doc}/*.{c,h}"),
    by_path("a set", "[sd]*/a?"),
    by_path("hidden folder", ".hidden/*.c"),
    by_path("hidden by a star", ".*/*"),
    by_path("brackets meant",
          "src/\\[z\\]/*"),
    by_path("a blank", "with space/*.c", words="with\\ space/*.c"),
    by_path("wide", "ün?/*.c"),
    by_path("slashes",
          "src//deep/*.c"),
    by_path("a dot between", "src/./deep/*.c"),
    by_path("from a folder", "deep/*.c", path="src"),
    by_path("from above", "../doc/*.c", path="src"),
    by_path("from far above", "../../doc/**/*.c", path="src/deep"),
    by_path("a star is no slash", "s*/a.c"),
    by_path("three stars", "src/***/a.c"),
    by_path("two stars within a name", "src/d**/a.c"),
    by_path("nothing below a file", "a.c/*"),
    beside("absolute", "{dir}/src/*.c", "find src -maxdepth 1 -name '*.c' -print0"),
    beside("absolute at any depth",
          "{dir}/**/er/*.c", "find src/deep/er -name '*.c' -print0"),
    beside("absolute file", "{dir}/src/a.c", "printf 'src/a.c\\0'"),
    beside("by the home",
          "~/rows/by_the_home/src/*.c", "find src -maxdepth 1 -name '*.c' -print0"),
    by_path("link to a file", "l*", setup=TREE + "ln -s a.c l1; ln -s gone l2; ln -s src l3; ln -s l4 l4",
          words="./l*"),
    by_path("link to a folder by name", "l/*.c", setup=TREE + "ln -s src l", words="src/*.c"),
    beside("link to a folder by a star", "*l/*.c", "find . -path './*l/*.c' -type f -print0",
          setup=TREE + "ln -s src xl"),
    beside("loop of links", "**/a.c", "find . -type f -name a.c -print0",
          setup=TREE + "ln -s . src/loop; ln -s .. src/up"),
    by_path("a fifo is no file", "*", words="*", setup="mkfifo p; touch f; mkdir d; ln -s p l"),
)

REST_ROWS = (
    by_fd("nothing", {}),
    by_fd("name", {".gitignore": "*.o"}),
    by_fd("folder", {".gitignore": "deep/"}),
    by_fd("anchored", {".gitignore": "/a.c"}),
    by_fd("negated", {".gitignore": "a*\n!a1"}),
    by_fd("nested", {".gitignore": "*.o",
          "src/.gitignore": "!ab.o\n/deep/a.c"}),
    by_fd("exclude", {".git/info/exclude": "*.h"}),
    by_fd("by pattern", {".gitignore": "/src/deep"}, pattern="*.c"),
    # To git, fd and ripgrep a question mark and a set are a byte, and an ä has two.
    by_fd("bytes", {".gitignore": "?.txt"}),
    by_fd("two bytes", {".gitignore": "??.txt"}),
    by_fd("a set of bytes", {".gitignore": "[!x].txt\n[ä].txt"}),
    by_fd("from below", {".gitignore": "*.o"}, path="src"),
    by_fd("hidden", {".gitignore": ".dot"}),
    by_fd("comments and blanks",
          {".gitignore": "# a.c\nx y\n\\#h\n\\!n  "}),
    by_fd("two stars", {".gitignore": "doc/**/a.c"}),
    beside("ignored unless asked", "*.o", "find . -type f -name '*.o' -print0",
          setup=TREE + "git init -q . 2>/dev/null; echo '*.o' >.gitignore"),
    Row("what is ignored is told", {"pattern": "*.o", "respect_ignore": True},
          setup=TREE + "git init -q . 2>/dev/null; echo '*.o' >.gitignore",
        data={"total": 0, "ignored_files": 10}, parts=("10 files skipped as ignored (respect_ignore)",)),
    Row("git is left out", {"pattern": "HEAD"}, setup="git init -q . 2>/dev/null", data={"total": 0,
          "git_left_out": True},
        parts=(".git left out: name it",)),
    Row("git by name", {"pattern": ".git/HEAD"}, setup="git init -q . 2>/dev/null",
          data={"paths": ["{dir}/.git/HEAD"]}),
    Row("git by path", {"pattern": "HEAD", "path": ".git"}, setup="git init -q . 2>/dev/null",
          data={"paths": ["{dir}/.git/HEAD"]}),
    Row("newest first", {"pattern": "*"},
          setup="touch -d '2001-01-01' old; touch -d '2002-01-01' middle; touch -d '2003-01-01' new",
                look=newest_first),
    Row("newest of all", {"pattern": "*", "limit": 1},
          setup="touch -d '2001-01-01' old; touch -d '2003-01-01' new; touch -d '2002-01-01' middle",
        data={"paths": ["{dir}/new"], "count": 1, "total": 3, "truncated_by": "limit"},
              parts=("newest 1 of 3 files; raise limit",)),
    Row("the same order of the same age", {"pattern": "*", "limit": 7},
          setup="mkdir a b; touch -d '2001-01-01' {a,b}/{a..z}", look=same_again),
    Row("at the limit", {"pattern": "*", "limit": 3}, setup="touch a b c", data={"count": 3, "truncated_by": ""}),
    Row("by the size of a result", {"pattern": "*", "limit": 0}, setup="touch $(seq 2000)",
          data={"truncated_by": "budget", "total": 2000},
        parts=("; narrow the pattern or path",), look=lambda test, row, result: test.assertLess(len(result.text),
              30_500)),
    Row("a name with a newline", {"pattern": "a*"}, setup="touch $'a\\nb'", data={"paths": ["{dir}/a\nb"],
          "total": 1},
        look=lambda test, row, result: test.assertEqual(len(result.text.splitlines()), 1, result)),
    Row("a name that is no UTF-8", {"pattern": "a*"}, setup="touch $'a\\xff'", data={"paths": ["{dir}/a\ufffd"],
          "total": 1}),
    Row("no UTF-8 by a question mark", {"pattern": "a?"}, setup="touch $'a\\xff'", data={"total": 1}),
    Row("may not be listed", {"pattern": "*", "path": "."}, setup="mkdir a d; touch a/f d/f; chmod 0 d",
          sandboxes_only=True,
        data={"total": 1, "unreadable_directories": 1, "unreadable_paths": ["{dir}/d/"], "complete": True},
              parts=("1 could not be read: {dir}/d/",)),
    Row("a root by a link", {"pattern": "a.c", "path": "l"}, setup=TREE + "ln -s doc l", data={"root": "{dir}/doc",
          "total": 2}),
    Row("nothing is told", {"pattern": "*.none"}, setup=TREE, data={"total": 0, "paths": []},
          parts=("nothing matches *.none in {dir}",)),
    refused("a slash last", "src/", ("ends with a slash",)),
    refused("above in the midst", "src/../*", ("'..'",)),
    refused("above last", "src/..", ("'..'",)),
    refused("an open set", "[a", ("[",)),
    refused("an open brace", "{a,b", ("'{'",)),
    refused("a brace too many",
          "a}", ("'}'",)),
    refused("a backslash last", "a\\", ("backslash",)),
    refused("a range backwards", "[z-a]", ("range",)),
    refused("NUL", "a\0", ("NUL",)),
    refused("nothing", "", ("pattern",)),
    refused("too long", "a" * 5000, ("4096",)),
    refused("too many braces",
          "{a,b}" * 9, ("256",)),
    refused("no folder", "*", ("{dir}/none does not exist",), "not_found", path="none"),
    refused("a near folder",
          "*", ("did you mean {dir}/src?",), "not_found", path="scr"),
    refused("a file", "*", ("is a file, not a directory",), path="a.c"),
    refused("below a file", "*", (),
          "invalid_path", path="a.c/x"),
    refused("a fifo", "*", (), "not_a_file", path="p"),
    refused("a limit below 0", "*", ("limit",), limit=-1),
    refused("an unknown argument", "*", ("hidden",), hidden=True),
)
