"""grep_files and glob_files of the real binary against rg, fdfind and find on the same trees, which
are mounted as they are on the host. search_test.py compares much more, but with the code alone."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from suite import ParityTest, backend

HEADERS = "/usr/include/linux"
INSIDE = "/mnt/tree"


def lines(*command, cwd="/"):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode not in (0, 1) or done.stderr:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout.splitlines()


def rg(root, *arguments):
    return lines("rg", "--no-config", "--no-heading", "--color=never", "--with-filename",
                 "--no-ignore-global", "--hidden", "--sort=path", "-g", "!.git", *arguments, root)


def make_tree(root):
    """A git repository with ignore files on three levels, hidden files and a repository inside."""
    subprocess.run(["git", "init", "-q", root], check=True)
    for number in range(6):
        for folder in ("", "src", "src/deep", "src/deep/er", "build", "src/build", ".hidden",
                       "nested", "nested/src", "with space"):
            for name in (f"a{number}.c", f"b{number}.o", f".dot{number}", f"keep{number}.log"):
                path = pathlib.Path(root, folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"needle {number}\nfoo\n\nbar needle needle\n" * (number + 1))
    subprocess.run(["git", "init", "-q", os.path.join(root, "nested")], check=True)
    for name, rules in ((".gitignore", "*.o\n/build/\n*.log\n!keep1.log\n"),
                        ("src/.gitignore", "!b2.o\ndeep/er/a*\n/build\n"),
                        ("src/deep/.gitignore", "!keep*.log\n.dot3\n"),
                        ("nested/.gitignore", "src/*.c\n"), (".git/info/exclude", "*4.c\n")):
        pathlib.Path(root, name).write_text(rules)


class SearchTest(ParityTest):
    def setUp(self):
        for program in ("rg", "fdfind", "find"):
            self.assertIsNotNone(shutil.which(program), f"{program} is missing: nothing to compare "
                                 "with (packaging/packages-test.txt)")
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-search-")
        self.addCleanup(folder.cleanup)
        self.tree = os.path.join(folder.name, "tree")
        make_tree(self.tree)
        self.inside = self.tree
        self.mount = ()
        if backend() == "local":
            self.inside = INSIDE
            self.mount = ("--mount", f"{self.tree}:{INSIDE}")
            self.berth = self.start("--session", "search", *self.mount)

    def places(self):
        """(folder on the host, the same in the sandbox)"""
        below = ("", "/src", "/src/deep", "/nested", "/.hidden")
        return [(HEADERS, HEADERS)] + [(self.tree + path, self.inside + path) for path in below]

    def grep(self, inside, limit, **arguments):
        """The results of all pages."""
        offset, found = 0, []
        while True:
            data = self.call("grep_files", path=inside, limit=limit, offset=offset, **arguments).data
            self.assertTrue(data["complete"], data)
            found.append(data)
            if not data["next_offset"]:
                return found
            self.assertEqual(data["next_offset"], offset + data["listed"])
            if data["truncated_by"] == "limit":  # else the text was full before
                self.assertEqual(data["listed"], limit)
            offset = data["next_offset"]

    def check_grep(self, host, inside, rg_arguments, **arguments):
        expected = [inside + line[len(host):] for line in rg(host, *rg_arguments)]
        for limit in (max(len(expected), 1), len(expected) // 3 + 1):
            found = self.grep(inside, limit, **arguments)
            self.assertEqual([line for data in found for line in rg_lines(data)], expected)
            self.assertGreaterEqual(len(found), -(-len(expected) // limit))
        return len(expected)

    def test_grep_is_ripgrep(self):
        seen = 0
        for host, inside in self.places():
            for pattern, rg_arguments, arguments in (
                    ("needle", [], {}), ("__u64\\s+size", [], {}),
                    ("FOO|define .*_IOC", ["-i"], {"ignore_case": True}),
                    ("bar (", ["-F"], {"fixed": True}), ("foo", ["--no-ignore"], {"no_ignore": True}),
                    ("needle|__u64", ["-g", "*.{c,h}"], {"include": "*.{c,h}"}),
                    ("needle|__u64", ["-t", "c"], {"type": "c"})):
                with self.subTest(f"{host} {pattern} {arguments}"):
                    seen += self.check_grep(host, inside, ["-n", *rg_arguments, "-e", pattern],
                                            pattern=pattern, **arguments)
                    self.check_grep(host, inside, ["-l", *rg_arguments, "-e", pattern],
                                    pattern=pattern, output_mode="files", **arguments)
                    self.check_grep(host, inside, ["-c", *rg_arguments, "-e", pattern],
                                    pattern=pattern, output_mode="count", **arguments)
        self.assertGreater(seen, 1000)

    def test_grep_across_lines_and_parts_of_lines_is_ripgrep(self):
        seen = 0
        for host, inside in self.places():
            for pattern, rg_arguments, arguments in (
                    ("needle", ["-o"], {"only_matching": True}),
                    ("[nb]ee[a-z]+", ["-o", "-i"], {"only_matching": True, "ignore_case": True}),
                    ("foo\\n\\nbar", ["-U"], {"multiline": True}),
                    ("__u64\\s+\\w+;\\n\\s+__u32", ["-U"], {"multiline": True}),
                    ("(?s)foo.{1,3}bar", ["-U"], {"multiline": True})):
                with self.subTest(f"{host} {pattern}"):
                    seen += self.check_grep(host, inside, ["-n", *rg_arguments, "-e", pattern],
                                            pattern=pattern, **arguments)
        self.assertGreater(seen, 500)

    def test_grep_with_context_is_ripgrep(self):
        """In the text: its form is ripgrep's, with the lines around a match and between groups."""
        self.berth = self.start("--session", "search", *self.mount,
                                env={"BERTH_OUTPUT_BUDGET": "400000"})  # for all on one page
        for host, inside in self.places()[1:]:
            for pattern, rg_arguments, arguments in (
                    ("foo", ["-B1"], {"before": 1}), ("foo", ["-A2"], {"after": 2}),
                    ("needle [35]", ["-A1", "-B3"], {"after": 1, "before": 3}),
                    ("needle 2", ["-C2"], {"context": 2}),
                    ("needle 2", ["-C0", "-A1"], {"context": 3, "before": 0, "after": 1}),
                    ("foo\\n\\nbar", ["-U", "-C1"], {"multiline": True, "context": 1})):
                with self.subTest(f"{host} {pattern} {arguments}"):
                    expected = [line.replace(host, inside, 1) for line in
                                rg(host, "-n", *rg_arguments, "-e", pattern)]
                    self.assertIn("--", expected)
                    text = self.call("grep_files", path=inside, pattern=pattern, limit=0,
                                     **arguments).text.splitlines()
                    self.assertRegex(text.pop(), r"^\[[\d,]+ match")
                    self.assertEqual(text, expected)

    def test_grep_shows_every_match_whatever_the_context_and_the_room(self):
        """Context that fills a result gives way to the match that it belongs to."""
        places = (10, 2500, 2501, 3000)
        text = [f"{'needle' if line in places else 'line'} {line:04} {'.' * 45}\n"
                for line in range(1, 3001)]
        folder = pathlib.Path(self.tree, "long")
        folder.mkdir()
        for name in "ab":
            folder.joinpath(name).write_text("".join(text))
        expected = [(f"{self.inside}/long/{name}", line) for name in "ab" for line in places]
        for room in ("1000", "30000"):
            self.berth = self.start("--session", "room" + room, *self.mount,
                                    env={"BERTH_OUTPUT_BUDGET": room})
            for limit in (1, 3, 250):
                for context in ({"before": 1000}, {"after": 1000}, {"context": 1000}, {"before": 3}):
                    with self.subTest(f"{room} {limit} {context}"):
                        found = self.grep(self.inside + "/long", limit, pattern="needle", **context)
                        self.assertEqual([(file["path"], line["number"]) for data in found
                                          for file in data["files"] for line in file["lines"]
                                          if line["is_match"]], expected)
        told = self.call("grep_files", path=self.inside + "/long/a", pattern="needle", before=1000,
                         limit=1, offset=1)
        self.assertIn("/long/a:2500:needle", told.text)
        self.assertRegex(told.text, r"showing 2–2 · cut at limit · \d+ lines of context before the first "
                         r"match left out · next: offset 2")
        self.assertGreater(told.data["context_omitted"], 400)
        told = self.call("grep_files", path=self.inside + "/long/a", pattern="needle", offset=4)
        self.assertIn("offset 4 is past the end", told.text)

    def test_grep_without_hidden_files_is_ripgrep(self):
        expected = lines("rg", "--no-config", "--no-ignore-global", "--sort=path", "-n", "needle",
                         self.tree)
        found = self.grep(self.inside, 10_000, pattern="needle", hidden=False)
        self.assertEqual(rg_lines(found[0]),
                         [self.inside + line[len(self.tree):] for line in expected])

    def check_glob(self, inside, expected, **arguments):
        """Newest first, so the order is another one than that of find; a page is its first part."""
        data = self.call("glob_files", path=inside, limit=10_000, **arguments).data
        self.assertEqual(sorted(data["paths"]), sorted(expected))
        self.assertEqual((data["total"], data["complete"]), (len(expected), True))
        part = self.call("glob_files", path=inside, limit=3, **arguments).data
        self.assertEqual(part["paths"], data["paths"][:3])
        self.assertEqual(part["total"], len(expected))

    def test_glob_is_find(self):
        for host, inside in self.places():
            for pattern, tests in (
                    ("*", []), ("*.h", ["-name", "*.h"]), (".*", ["-name", ".*"]),
                    ("[a-b]?.c", ["-name", "[a-b]?.c"]), ("*1.log", ["-name", "*1.log"]),
                    ("./*", ["-path", host + "/*", "-not", "-path", host + "/*/*"]),
                    ("./deep/*.c", ["-path", host + "/deep/*.c", "-not", "-path", host + "/deep/*/*"]),
                    ("**/deep/**", ["-path", host + "/*deep/*", "-regex", ".*/deep/.*"]),
                    ("{src,nested}/*.{c,o}", ["-regex", host + "/\\(src\\|nested\\)/[^/]*\\.[co]"])):
                if pattern.startswith("**") and "/deep" in host:
                    continue  # -regex sees the part above, too
                with self.subTest(f"{host} {pattern}"):
                    found = lines("find", host, "-name", ".git", "-prune", "-o", "-type", "f",
                                  *tests, "-print")
                    self.check_glob(inside, [inside + path[len(host):] for path in found],
                                    pattern=pattern)

    def test_glob_with_ignore_files_is_fd(self):
        for host, inside in self.places():
            for pattern in ("*", "*.c", "*.o", "*.log", ".dot*"):
                with self.subTest(f"{host} {pattern}"):
                    found = lines("fdfind", "--hidden", "--no-global-ignore-file", "--exclude", ".git",
                                  "--type", "f", "--absolute-path", "--glob", pattern, host)
                    self.check_glob(inside, [inside + path[len(host):] for path in found],
                                    pattern=pattern, respect_ignore=True)


def rg_lines(data):
    """As ripgrep prints them."""
    if data["mode"] == "files":
        return [file["path"] for file in data["files"]]
    if data["mode"] == "count":
        return [f"{file['path']}:{file['count']}" for file in data["files"]]
    return [f"{file['path']}:{line['number']}:{line['text']}" for file in data["files"]
            for line in file["lines"]]
