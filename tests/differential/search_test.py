#!/usr/bin/env python3
"""Compares glob_files and grep_files with ripgrep, find and git on real trees.

usage: search_test.py SEARCH_TOOL
Exit status 77 (skipped) when rg, git or find is missing.
"""

import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import generated

TOOL = ""


def run(arguments, cwd=None):
    done = subprocess.run(arguments, cwd=cwd, capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def ours(operation, path, pattern, **fields):
    arguments = [TOOL, operation, path, pattern]
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            arguments.append(f"{name}={int(one) if isinstance(one, bool) else one}")
    status, out, error = run(arguments)
    if status != 0:
        raise AssertionError(f"{arguments}: {error.decode()}")
    return out


def peak_memory(arguments):
    """KiB. Measured from a small process: what the one that forks has counts for its child too."""
    code = "import os, sys; print(os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], {}), 0)[2].ru_maxrss)"
    status, out, error = run([sys.executable, "-I", "-c", code, TOOL, *arguments])
    assert status == 0, error
    return int(out)


def summary(operation, path, pattern, **fields):
    arguments = [TOOL, operation, path, pattern]
    arguments += [f"{name}={value}" for name, value in fields.items()]
    _, _, error = run(arguments)
    return dict(pair.split("=", 1) for pair in error.decode().split())


def rg(path, pattern, *arguments, hidden=True):
    """ripgrep with the same choices: hidden files but .git, no global ignore file, by path."""
    command = ["rg", "--no-config", "--no-heading", "--color=never", "--with-filename", "--line-number",
               "--no-ignore-global", "--no-messages", "--sort=path"]
    if hidden:
        command.append("--hidden")
    status, out, error = run(command + list(arguments) + ["-g", "!.git", "-e", pattern, path], cwd=path if os.path.isdir(path) else "/")
    assert status in (0, 1), error
    # ripgrep says so among the matches when it meets a NUL byte after the first match.
    return b"".join(line for line in out.splitlines(True) if b"WARNING: stopped searching binary" not in line)


def write(root, name, content=""):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


WORDS = ["alpha", "beta", "foo", "bar", "foobar", "Foo", "FOO", "needle", "the", "return", "straße",
         "STRASSE", "käse", "日本語", "x", "", "a.b", "(paren)", "tab\there", "foo foo foo", "ſ", "\u212a"]


def make_tree(root, seed):
    """A git repository with nested ones, ignore files on several levels and odd files."""
    chance = random.Random(seed)
    directories = ["", "src", "src/deep", "src/deep/er", "build", "src/build", "doc", ".hidden",
                   "node_modules/pkg", "nested", "nested/src", "with space", "src/*star"]
    extensions = [".c", ".h", ".py", ".txt", ".o", ".log", "", ".md", ".tmp"]
    for directory in directories:
        for index in range(chance.randint(2, 6)):
            name = chance.choice(["main", "util", "a", "b", ".dot", "Makefile", "ä", "test_x"])
            lines = [" ".join(chance.choices(WORDS, k=chance.randint(0, 8)))
                     for _ in range(chance.randint(0, 40))]
            ending = chance.choice(["\n", "\n", "\n", "\r\n"])
            text = ending.join(lines) + chance.choice(["", ending])
            write(root, os.path.join(directory, f"{name}{index}{chance.choice(extensions)}"), text)
    write(root, "src/nul.bin", b"foo\0bar\nneedle\n")
    write(root, "src/late_nul.txt", b"needle foo\n" * 8000 + b"\0 needle\n" + b"needle\n" * 30000)
    write(root, "src/invalid.txt", b"foo \xff\xfe bar\nneedle \xc3\n")
    write(root, "src/bom.txt", b"\xef\xbb\xbffoo at the start\nneedle\n")
    write(root, "src/long.txt", b"x" * 300_000 + b" needle " + b"y" * 300_000 + b"\nfoo\n")
    write(root, "src/big.txt", "".join(f"line {i} {chance.choice(WORDS)}\n" for i in range(40_000)))
    write(root, "src/empty.txt", "")
    write(root, "src/newlines.txt", "\n\n\nfoo\n\n\nbar\n\n")
    os.makedirs(os.path.join(root, ".git/info"), exist_ok=True)
    run(["git", "init", "-q", root])
    run(["git", "init", "-q", os.path.join(root, "nested")])
    write(root, ".git/info/exclude", "*.tmp\n!keep.tmp\n")
    write(root, ".gitignore", chance.choice([
        "*.o\nbuild/\n!src/build/\n/doc/*.md\n# comment\n\\#odd\nnode_modules\n",
        "*.log\n!main*.log\n**/deep/er\nsrc/*/a*.c\n.hidden/*.py\n",
        "*\n!*/\n!*.c\n!*.py\n",
        "/src/**\n!/src/big.txt\nwith\\ space/\n[a-c]?.txt\n",
        "doc/**/main*\n**/build/**\nut?l[0-3]*\n!util1.c\nfoo   \n*.h\r\n",
    ]))
    write(root, "src/.gitignore", chance.choice(["!*.o\n", "*.py\n!/deep/*.py\n", "deep/\n", "/*.c\n", ""]))
    write(root, "src/deep/.ignore", chance.choice(["*.txt\n", "!*.log\n", "er\n", ""]))
    write(root, "doc/.rgignore", chance.choice(["*.py\n", "!*.md\n", ""]))
    write(root, "nested/.gitignore", chance.choice(["*.c\n", ""]))
    os.symlink("big.txt", os.path.join(root, "src/link.txt"))
    os.symlink("deep", os.path.join(root, "src/linkdir"))
    os.symlink("nowhere", os.path.join(root, "src/dangling"))
    os.mkfifo(os.path.join(root, "src/fifo"))


class Trees(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="berth-search-")
        cls.roots = []
        for seed in range(6):
            root = os.path.join(cls.directory, f"tree{seed}")
            os.makedirs(root)
            make_tree(root, seed)
            cls.roots.append(root)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    def check(self, root, pattern, rg_arguments, hidden=True, **fields):
        expected = rg(root, pattern, *rg_arguments, hidden=hidden)
        got = ours("grep", root, pattern, hidden=hidden, **fields)
        if got != expected:
            left, right = expected.splitlines(), got.splitlines()
            for index, (a, b) in enumerate(itertools.zip_longest(left, right)):
                if a != b:
                    self.fail(f"{root} {pattern!r} {fields}: line {index}: rg {a!r}, ours {b!r}")
            self.fail(f"{root} {pattern!r} {fields}: line ends differ")

    PATTERNS = ["foo", "needle", "return|needle|STRASSE", "fo+b", "^foo", "bar$", "[a-z]+_?[0-9]+",
                "a.b", "\\(paren\\)", "", "^$", "x*", "日本", "line 3\\d*7 ", "(foo|bar) (foo|the)",
                "t.e|n[e]+dle", "\\bfoo\\b", "stra.e", "[^a]foo", "foo.*foo", "(?i)foo", "\\tHERE|\\there",
                "k.se", ".", "\\.b", "foo{2}", "o{2,3}", "(?:needle)+ foo", "fo{0,1}o", "foo?bar"]

    def test_patterns(self):
        for root in self.roots[:3]:
            for pattern in self.PATTERNS:
                with self.subTest(root=root, pattern=pattern):
                    self.check(root, pattern, [])

    def test_modes(self):
        for pattern in ["foo", "needle|bar", "^", "[a-z]+ foo", "nomatchatall"]:
            for root in self.roots:
                self.check(root, pattern, ["-l"], mode="files")
                self.check(root, pattern, ["-c"], mode="count")
                self.check(root, pattern, ["--count-matches"], mode="count", only_matching=True)
                self.check(root, pattern, ["-o"], only_matching=True)

    def test_empty_matches(self):
        # On a last line without newline ripgrep does not report the empty match at its end.
        for name in ["src/big.txt", "src/newlines.txt", "src/bom.txt"]:
            path = os.path.join(self.roots[0], name)
            self.check(path, "x*", ["-o"], only_matching=True)
            self.check(path, "x*", ["--count-matches"], mode="count", only_matching=True)

    def test_case_and_fixed(self):
        for root in self.roots[:3]:
            for pattern in ["foo", "käse", "strasse", "k", "ſ", "NEEDLE foo", "the|return"]:
                self.check(root, pattern, ["-i"], ignore_case=True)
            for pattern in ["a.b", "(paren)", "foo foo", "$", "[", "\\", "tab\t"]:
                self.check(root, pattern, ["-F"], fixed=True)
                self.check(root, pattern, ["-F", "-i"], fixed=True, ignore_case=True)

    def test_context(self):
        for root in self.roots[:3]:
            for pattern in ["needle", "^x", "line 1\\d\\d7 ", "foo"]:
                for before, after in [(1, 0), (0, 1), (2, 2), (5, 0), (0, 7), (40, 40)]:
                    self.check(root, pattern, [f"-B{before}", f"-A{after}"], before=before, after=after)
            self.check(root, "needle", ["-o", "-A2", "-B1"], only_matching=True, before=1, after=2)

    def test_multiline(self):
        for root in self.roots[:3]:
            for pattern in ["foo\\s+bar", "needle", "line 1\\d*7 .*\\nline", "(?s)foo.{1,30}bar", "\\n\\n", "^$"]:
                # ripgrep searches a multiline file up to the end whatever NUL bytes it has later.
                others = ["-g", "!late_nul.txt"]
                self.check(root, pattern, ["-U", *others], multiline=True, include=["!late_nul.txt"])
                self.check(root, pattern, ["-U", "-l", *others], multiline=True, mode="files",
                           include=["!late_nul.txt"])
            self.check(root, "needle", ["-U", "-A1", "-B1", "-g", "!late_nul.txt"], multiline=True,
                       before=1, after=1, include=["!late_nul.txt"])

    def test_multiline_counts(self):
        for root in self.roots[:3]:
            for pattern in ["foo\\s+bar", "needle", "[a-z]+\\n[a-z]+", "(?s)foo.{1,30}bar",
                            "foo[ \\x0a]", "[^a]o", "foo.", "\\d+", "o\\D", "foo[[:space:]]", "\\S+", "\\x{a}f", "\\PL"]:
                others = ["-g", "!late_nul.txt"]
                self.check(root, pattern, ["-U", "-c", *others], multiline=True, mode="count",
                           include=["!late_nul.txt"])
        with tempfile.TemporaryDirectory(prefix="berth-count-") as root:
            write(root, "a", "a\nb\n")
            self.check(root, "a\\nb", ["-U", "-c"], multiline=True, mode="count")
            self.assertEqual(ours("grep", root, "a\\nb", multiline=True, mode="count"), f"{root}/a:1\n".encode())
            self.check(root, "a\\nb", ["-U", "-o"], multiline=True, only_matching=True)

    def test_utf16(self):
        text = "foo\nneedle ä 日本 \U0001f600\r\nx foo\n" + "line foo\n" * 30_000 + "last foo"
        with tempfile.TemporaryDirectory(prefix="berth-utf16-") as root:
            write(root, "le.txt", b"\xff\xfe" + text.encode("utf-16-le"))
            write(root, "be.txt", b"\xfe\xff" + text.encode("utf-16-be"))
            write(root, "nul.txt", b"\xff\xfe" + "foo\0".encode("utf-16-le"))
            write(root, "lone.txt", b"\xff\xfe" + b"f\0o\0o\0\x00\xd8a\0\x01\xdcb\0\n\0")
            write(root, "empty.txt", b"\xff\xfe")
            for pattern in ["foo", "needle", "日本", "^x", "\U0001f600", "last"]:
                self.check(root, pattern, ["-g", "!nul.txt"], include=["!nul.txt"])
                self.check(root, pattern, ["-c"], mode="count")
                self.check(root, pattern, ["-o", "-g", "!nul.txt"], include=["!nul.txt"], only_matching=True)
            self.check(root, "foo\\nline", ["-U", "-g", "!nul.txt"], include=["!nul.txt"], multiline=True)

    def test_both_refuse(self):
        for pattern in ["*", "+", "?", "(", "[a", "a{2,1}", "\\1", "(?=a)"]:
            self.assertEqual(run([TOOL, "grep", self.roots[0], pattern])[0], 2, pattern)
            self.assertEqual(run(["rg", "--no-config", "-e", pattern, self.roots[0]])[0], 2, pattern)

    def test_memory(self):
        with tempfile.TemporaryDirectory(prefix="berth-memory-") as root:
            os.makedirs(os.path.join(root, "rules/.git/info"))
            for name in [".gitignore", ".ignore", ".rgignore", ".git/info/exclude"]:
                write(root, os.path.join("rules", name), "a\n" * 500_000)
            for index in range(30_000):
                os.makedirs(os.path.join(root, "wide", f"{index:0100}"))
            for name in ["rules", "wide"]:
                self.assertLess(peak_memory(["grep", os.path.join(root, name), "foo"]), 24 << 10, name)

    def test_ignore_rules(self):
        for root in self.roots:
            for below in ["", "src", "src/deep", "src/build", "build", "doc", "nested", ".hidden"]:
                path = os.path.join(root, below) if below else root
                for hidden in (True, False):
                    self.check(path, "", ["-l"], hidden=hidden, mode="files")
                    self.check(path, "", ["-l", "--no-ignore"], hidden=hidden, mode="files", no_ignore=True)

    def test_include_and_type(self):
        for root in self.roots:
            for globs in [["*.c"], ["!*.c"], ["*.{c,h}"], ["src/**"], ["*.py", "!test*"], ["/src/*"],
                          ["**/deep/**"], ["!src"], ["*.c", "*.o"], ["with space/*"], ["[!a-m]*"], ["src"]]:
                arguments = list(itertools.chain.from_iterable(("-g", glob) for glob in globs))
                self.check(root, "", ["-l", *arguments], mode="files", include=globs)
            for name in ["py", "c", "md", "make", "h", "txt"]:
                self.check(root, "", ["-l", "-t", name], mode="files", type=name)
                self.check(root, "", ["-l", "-t", name], mode="files", type=name, hidden=False)

    def test_line_limit_offset(self):
        root = self.roots[0]
        whole = ours("grep", root, "foo").splitlines()
        for offset, limit in [(0, 1), (3, 5), (10, 100), (len(whole) - 1, 10), (len(whole), 10)]:
            part = ours("grep", root, "foo", offset=offset, limit=limit).splitlines()
            self.assertEqual(part, whole[offset:offset + limit])
        told = summary("grep", root, "foo", limit=5)
        self.assertEqual(told["matches"], str(len(whole)))
        self.assertEqual((told["truncated_by"], told["complete"]), ("limit", "1"))
        self.assertEqual(summary("grep", root, "foo", limit=len(whole))["truncated_by"], "")

    def test_single_file(self):
        path = os.path.join(self.roots[0], "src/big.txt")
        self.check(path, "foo", ["-C1"], before=1, after=1)

    def test_every_type(self):
        _, out, _ = run(["rg", "--type-list"])
        ripgrep = dict(line.split(": ", 1) for line in out.decode().splitlines())
        known = 0
        with tempfile.TemporaryDirectory(prefix="berth-types-") as root:
            for globs in ripgrep.values():
                for glob in globs.split(", "):
                    name = glob.replace("*", "x")
                    if "[" not in name and "/" not in name:
                        write(root, name, "foo\n")
            for name in ripgrep:
                status, out, _ = run([TOOL, "grep", root, "foo", "mode=files", f"type={name}"])
                if status == 0:
                    known += 1
                    self.assertEqual(out, rg(root, "foo", "-l", "-t", name), name)
        self.assertGreater(known, 40)

    # ---- glob ----

    def find(self, root, *tests):
        # -xtype f: a symlink to a file is a file; one to a directory is not gone into.
        _, out, _ = run(["find", root, "-name", ".git", "-prune", "-o", "-xtype", "f", *tests,
                         "-printf", "%p\n"])
        return sorted(out.splitlines())

    def test_glob_names(self):
        for root in self.roots:
            for pattern in ["*", "*.c", "a*", "?[0-9].*", "[!a-m]*", ".*", "*.t?t", "main*", "link*", "dangling",
                            "*[.]h", "big.txt", "\\*star*", "ä*"]:
                got = sorted(ours("glob", root, pattern).splitlines())
                self.assertEqual(got, self.find(root, "-name", pattern), pattern)

    def test_glob_paths(self):
        for root in self.roots[:3]:
            for pattern, regex in [
                ("src/*.c", "src/[^/]*\\.c"), ("**/*.c", "\\(.*/\\)?[^/]*\\.c"), ("src/**", "src/.*"),
                ("src/**/*.txt", "src/\\(.*/\\)?[^/]*\\.txt"), ("*/*.py", "[^/]*/[^/]*\\.py"),
                ("{src,doc}/*.{c,md}", "\\(src\\|doc\\)/[^/]*\\.\\(c\\|md\\)"),
                ("{src/{deep,build},doc}/*", "\\(src/\\(deep\\|build\\)\\|doc\\)/[^/]*"),
                ("**/deep/**", "\\(.*/\\)?deep/.*"), ("src/\\*star/*", "src/\\*star/[^/]*"),
                ("**", ".*"), ("**/er/*", "\\(.*/\\)?er/[^/]*"), ("src/**/**/*.h", "src/\\(.*/\\)?[^/]*\\.h"),
            ]:
                got = sorted(ours("glob", root, pattern).splitlines())
                self.assertEqual(got, self.find(root, "-regex", f"{root}/{regex}"), pattern)
                self.assertEqual(got, sorted(ours("glob", "/", f"{root}/{pattern}").splitlines()), pattern)

    def test_glob_through_links(self):
        for root in self.roots[:3]:
            for pattern in ["src/linkdir/*", "src/linkdir/er/*"]:
                _, out, _ = run(["bash", "-O", "dotglob", "-O", "nullglob", "-c", f'printf "%s\\n" {root}/{pattern}'])
                expected = sorted(os.path.realpath(path) for path in out.splitlines() if os.path.isfile(path))
                self.assertEqual(sorted(ours("glob", root, pattern).splitlines()), expected, pattern)

    def test_glob_order_and_limit(self):
        root = self.roots[0]
        for index, name in enumerate(["src/big.txt", "src/bom.txt", "src/long.txt"]):
            os.utime(os.path.join(root, name), ns=(2_000_000_000_000_000_000 + index,) * 2)
        names = [line.decode()[len(root) + 1:] for line in ours("glob", root, "*", limit=3).splitlines()]
        self.assertEqual(names, ["src/long.txt", "src/bom.txt", "src/link.txt"][:2] + names[2:])
        self.assertIn(names[2], ("src/big.txt", "src/link.txt"))
        told = summary("glob", root, "*", limit=3)
        self.assertEqual(told["total"], str(len(self.find(root))))
        self.assertEqual((told["truncated_by"], told["complete"]), ("limit", "1"))
        whole = ours("glob", root, "*").splitlines()
        self.assertEqual(ours("glob", root, "*", limit=7).splitlines(), whole[:7])

    def test_glob_respects_ignore(self):
        for root in self.roots:
            _, out, _ = run(["rg", "--no-config", "--files", "--hidden", "--no-ignore-global", "-g", "!.git", root], cwd=root)
            got = [line for line in ours("glob", root, "*", respect_ignore=True).splitlines()
                   if not os.path.islink(line)]
            self.assertEqual(sorted(got), sorted(out.splitlines()))

    def test_git_agrees(self):
        """git's own opinion, where ripgrep adds none: .gitignore and info/exclude only."""
        for root in self.roots:
            for name in ["src/deep/.ignore", "doc/.rgignore"]:
                os.rename(os.path.join(root, name), os.path.join(root, name + ".off"))
            shutil.move(os.path.join(root, "nested"), root + ".nested")
            try:
                listing = ["git", "-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=false",
                           "ls-files", "--others", "--exclude-standard", "-z"]
                _, out, _ = run(listing, cwd=root)
                expected = sorted(os.path.join(root.encode(), name) for name in out.split(b"\0") if name)
                expected = [path for path in expected if not os.path.islink(path)]
                got = [line for line in ours("glob", root, "*", respect_ignore=True).splitlines()
                       if not os.path.islink(line)]
                self.assertEqual(sorted(got), expected)
            finally:
                shutil.move(root + ".nested", os.path.join(root, "nested"))
                for name in ["src/deep/.ignore", "doc/.rgignore"]:
                    os.rename(os.path.join(root, name + ".off"), os.path.join(root, name))


class Generated(unittest.TestCase):
    """Patterns and ignore files that nobody thought of: the same ones in each run."""

    TREES = 5
    PATTERNS = 40  # for each tree

    def trees(self, **kind):
        for seed in range(self.TREES):
            with tempfile.TemporaryDirectory(prefix="berth-generated-") as root:
                chance = random.Random(seed)
                generated.make_files(chance, root, **kind)
                yield root, chance

    def same(self, root, pattern, got, expected):
        """Of what can differ, the first lines."""
        wrong = [(a, b) for a, b in itertools.zip_longest(expected, got) if a != b]
        self.assertEqual(wrong[:1], [], (root, pattern))

    def test_patterns_by_lines_as_ripgrep(self):
        modes = [([], {}), (["-i"], {"ignore_case": True}), (["-c"], {"mode": "count"}), (["-l"], {"mode": "files"}),
                 (["-C2"], {"before": 2, "after": 2}), (["-o"], {"only_matching": True}),
                 (["-o", "-i"], {"only_matching": True, "ignore_case": True}),
                 (["--count-matches"], {"mode": "count", "only_matching": True})]
        for root, chance in self.trees():
            for mode in itertools.islice(itertools.cycle(modes), self.PATTERNS):
                # ripgrep 13 finds ^ behind a match, and shows a whole line for an empty one at its end.
                parts = "only_matching" in mode[1]
                patterns = generated.Patterns(chance, ends=not parts)
                pattern = patterns.next()
                while parts and re.search(generated.for_python(pattern), ""):
                    pattern = patterns.next()
                expected = rg(root, generated.for_ripgrep(pattern), *mode[0])
                self.same(root, (pattern, mode), ours("grep", root, pattern, **mode[1]).split(b"\n"),
                          expected.split(b"\n"))

    def test_patterns_as_python(self):
        """What ripgrep 13 has faults in: \\b, \\A and \\z with -o, some matches over lines."""
        for root, chance in self.trees(wide=False, unfinished=False):
            patterns = generated.Patterns(chance, anchors=("\\b", "\\A", "\\z", "(?m:^)"), wide=False,
                                          groups=("", "?:", "?-m:"))
            for mode in itertools.islice(itertools.cycle(("lines", "parts", "spans")), self.PATTERNS):
                fields = {"lines": {}, "parts": {"only_matching": True}, "spans": {"multiline": True}}[mode]
                pattern = patterns.next()
                expected = generated.python_lines(root, pattern, mode)
                # Behind an empty match Python looks for another at the same place, others do not.
                while expected is None:
                    pattern = patterns.next()
                    expected = generated.python_lines(root, pattern, mode)
                got = ours("grep", root, pattern, **fields).split(b"\n")[:-1]
                self.same(root, (pattern, mode), got, expected)

    def test_ignore_files_as_git(self):
        """ripgrep differs from git in about a tenth of these."""
        for seed in range(20 * self.TREES):
            with tempfile.TemporaryDirectory(prefix="berth-generated-") as root:
                chance = random.Random(seed)
                run(["git", "init", "-q", root])
                generated.make_ignored_tree(chance, root)
                write(root, ".git/info/exclude", generated.make_rules(chance))
                _, out, _ = run(["git", "-c", "core.excludesFile=/dev/null", "ls-files", "--others",
                                 "--exclude-standard", "-z"], cwd=root)
                expected = sorted(os.path.join(root.encode(), name) for name in out.split(b"\0") if name)
                got = ours("glob", root, "*", respect_ignore=True)
                self.same(root, seed, sorted(got.split(b"\n")[:-1]), expected)

    def test_globs_as_bash(self):
        seen = 0
        for seed in range(self.TREES):
            with tempfile.TemporaryDirectory(prefix="berth-generated-") as root:
                chance = random.Random(seed)
                generated.make_ignored_tree(chance, root)
                for _ in range(2 * self.PATTERNS):
                    pattern = generated.make_glob(chance)
                    words = pattern.replace(" ", "\\ ").replace("#", "\\#")
                    _, out, error = run(["bash", "-c", "shopt -s dotglob globstar nullglob; printf '%s\\0' " + words],
                                        cwd=root)
                    self.assertEqual(error, b"", pattern)
                    expected = sorted({os.path.join(root.encode(), name) for name in out.split(b"\0")
                                       if os.path.isfile(os.path.join(root.encode(), name))})
                    got = sorted(ours("glob", root, pattern).split(b"\n")[:-1])
                    self.same(root, (seed, pattern), got, expected)
                    seen += len(got)
        self.assertGreater(seen, 300)


class RealTrees(unittest.TestCase):
    def check(self, root, pattern, arguments, **fields):
        # The listing's own budget is off; ties of a sorted walk are the same on both sides.
        self.assertEqual(ours("grep", root, pattern, **fields), rg(root, pattern, *arguments), (root, pattern))

    def test_trees(self):
        python = os.path.dirname(os.__file__)
        for root in [path for path in ["/usr/include", python] if os.path.isdir(path)]:
            for pattern in ["include", "EINVAL|ENOENT|EAGAIN", "[a-z]+_[0-9]{3}", "^#define\\s", "struct \\w+ \\{",
                            "return 0;$"]:
                self.check(root, pattern, ["-c"], mode="count")
            # RE2 takes overlong forms for characters; ripgrep does not. cjkencodings has some.
            self.check(root, "[^\\x00-\\x7f]+ ", ["-c", "-g", "!cjkencodings"], mode="count",
                       include=["!cjkencodings"])
            self.check(root, "unsigned long long", ["-C2"], before=2, after=2)
            self.check(root, "malloc", ["-i", "-o"], ignore_case=True, only_matching=True)
            # ripgrep takes minutes for this one where a file has very long lines.
            self.check(root, "\\)\\s*\\{\\n\\s*return", ["-U", "-g", "*.h"], multiline=True, include=["*.h"])
            self.check(root, "import|include", ["-l", "-g", "*.py", "-g", "*.h"], mode="files", include=["*.py", "*.h"])


if __name__ == "__main__":
    if len(sys.argv) < 2 or not all(shutil.which(name) for name in ("rg", "git", "find")):
        sys.exit(77)
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
