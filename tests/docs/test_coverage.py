"""tests/COVERAGE.md, the rules of MCP in tests/mcp/README.md, and what docs/backends.md says to differ,
against the tree: each row names a test, and every test that it names is there and is run by something.
Nothing is run here."""

import ast
import functools
import importlib
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = {"tests/COVERAGE.md": 11, "tests/mcp/README.md": 6}  # and how many topics at least
PARITY = ROOT / "tests" / "parity"
# `a/path`, then the names in it: "of a doctest", `Of.a_method`, `of_a_function`.
TOKEN = re.compile(r"`([^`]+)`|\"([^\"]+)\"")


def topics(text):
    """{heading: its rows, as cells}. A cell has a | as \\|."""
    found = {}
    for line in text.splitlines():
        if line.startswith("## "):
            found[line[3:]] = []
        elif line.startswith("|") and found:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if cells[0] not in ("promise", "rule") and set(cells[0]) - set("-: "):
                found[list(found)[-1]].append(cells)
    return found


def named(cell):
    """(path, names in it) of each file that a cell names; of a name before any path the path is empty."""
    found = []
    for code, quoted in TOKEN.findall(cell):
        if "/" in code:
            found.append((code, []))
        elif not found:
            found.append(("", [code or quoted]))
        else:
            found[-1][1].append(code or quoted)
    return found


@functools.cache
def doctests(path):
    """The names of the cases of a C++ file; a literal may be in pieces."""
    literals = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    cases = re.findall(r"TEST_CASE(?:_FIXTURE|_TEMPLATE)?\(\s*(?:\w+,\s*)?" + literals, path.read_text())
    return {"".join(re.findall(r'"((?:[^"\\]|\\.)*)"', case)) for case in cases}


@functools.cache
def methods(path):
    """The functions of a Python file, and Class.test_name of its tests, also of those that a class has
    from another one of the file. It is not run."""
    tree = ast.parse(path.read_text()).body
    tests = {}
    for one in tree:
        if isinstance(one, ast.ClassDef):
            own = {method.name for method in one.body if isinstance(method, ast.FunctionDef) and
                   method.name.startswith("test_")}
            tests[one.name] = own.union(*(tests.get(getattr(base, "id", ""), ()) for base in one.bases))
    return {one.name for one in tree if isinstance(one, ast.FunctionDef)} | {
        f"{case}.{name}" for case, names in tests.items() for name in names}


def rules(path):
    """The headings of a file of transcripts."""
    return re.findall(r"^# (.+)$", path.read_text(), re.MULTILINE)


def parity_module(name):
    if str(PARITY) not in sys.path:
        sys.path.insert(0, str(PARITY))
    return importlib.import_module(f"cases.{name}")


def of_a_table(path, name):
    """Whether it is a row of a table of cases, which make their methods as they are loaded."""
    case, _, method = name.partition(".")
    found = getattr(parity_module(path.stem), case, None)
    return method.startswith("test_") and hasattr(found, method)


def is_run(path):
    """Whether a build or CI knows it. The cases of the parity suite are run by their folder."""
    if path.parent == PARITY / "cases":
        return True
    folders = [folder for folder in path.parents if folder.is_relative_to(ROOT / "tests")]
    lists = [*(folder / "meson.build" for folder in folders), *(ROOT / ".ci").iterdir(),
             *(ROOT / "packaging").glob("*.sh")]
    text = "\n".join(file.read_text() for file in lists if file.is_file())
    text = re.sub(r"subdir\(.*\)", "", text)
    names = [path.name]
    if path.suffix == ".py":
        names += [f"'{path.stem}'", f"'{path.stem.removeprefix('test_')}'"]
    # "edit_test.cpp" is not named by "tolerant_edit_test.cpp".
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


def complaint(file, names):
    """What is wrong with what a row names; empty: nothing."""
    path = ROOT / file
    if not file or not path.is_file():
        return f"there is no file {file!r} for {names}"
    for name in names:
        if path.suffix == ".cpp":
            known = name in doctests(path)
        elif path.suffix == ".py":
            known = name in methods(path) or (path.parent == PARITY / "cases" and of_a_table(path, name))
        elif path.suffix == ".txt":
            known = name in rules(path)
        else:
            known = False
        if not known:
            return f"{file} has no {name!r}"
    if path.suffix in (".cpp", ".py", ".txt"):
        if not names and "/fuzz/targets/" not in file:
            return f"{file}: none of its tests is named"
        if not is_run(path) and "/fuzz/targets/" not in file and "/transcripts/" not in file:
            return f"{file} is run by nothing"
    return ""


class Coverage(unittest.TestCase):
    def test_every_promise_is_shown_by_tests_that_there_are(self):
        for page, least in PAGES.items():
            found = topics((ROOT / page).read_text())
            self.assertGreaterEqual(len(found), least)
            for topic, rows in found.items():
                self.assertTrue(rows, topic)
                for cells in rows:
                    with self.subTest(f"{topic}: {cells[0]}"):
                        self.assertEqual(len(cells), 2, cells)
                        shown = named(cells[1])
                        self.assertTrue(shown, "no test is named")
                        self.assertEqual([wrong for wrong in (complaint(*one) for one in shown) if wrong], [])

    def test_no_promise_stands_twice(self):
        for page in PAGES:
            for topic, rows in topics((ROOT / page).read_text()).items():
                promises = [cells[0] for cells in rows]
                self.assertEqual(sorted(set(promises)), sorted(promises), topic)

    def test_every_transcript_shows_a_rule(self):
        text = (ROOT / "tests/mcp/README.md").read_text()
        for path in (ROOT / "tests/mcp/transcripts").iterdir():
            self.assertEqual([rule for rule in rules(path) if f'"{rule}"' not in text], [], path.name)

    def test_the_tables_are_long(self):
        """The rows of each tool; more than one class may have them."""
        for module, methods_of, least in (("exec_tables", "ExecTable", 60), ("read_tables", "CallTable", 60),
                                          ("edit_tables", "EditTable", 60), ("search_tables", "GrepTable", 60),
                                          ("search_tables", "GlobTable", 60)):
            loaded = parity_module(module)
            base = getattr(loaded, methods_of)
            rows = [row for one in vars(loaded).values()
                    if isinstance(one, type) and issubclass(one, base) for row in one.rows]
            self.assertGreaterEqual(len(rows), least, f"{module} {methods_of}")

    def test_what_is_not_there_is_found(self):
        table = "tests/parity/cases/read_tables.py"
        for cell, wrong in (
                ('`tests/unit/main.cpp`: "no such case"', "has no 'no such case'"),
                ('`tests/unit/none_test.cpp`: "a case"', "no file"),
                ('"a case without a file"', "no file"),
                ("`tests/docs/test_coverage.py`", "none of its tests"),
                ("`tests/docs/test_coverage.py`: `Coverage.test_none`", "has no 'Coverage.test_none'"),
                ("`tests/docs/test_coverage.py`: `Coverage`", "has no 'Coverage'"),
                (f"`{table}`: `PictureTest.test_picture_of_a_ship`", "has no 'PictureTest.test_picture_of"),
                (f"`{table}`: `PictureTest.check`", "has no 'PictureTest.check'"),
                ("`tests/parity/suite.py`: `ParityTest.refused`", "has no 'ParityTest.refused'"),
                ("`tests/parity/suite.py`: `backend`", "run by nothing"),
                ('`tests/mcp/transcripts/modern.txt`: "none"', "has no 'none'"),
                ("`tests/mcp/transcripts/modern.txt`", "none of its tests"),
                ("`tests/debootstrap.sh`: `as_user`", "has no 'as_user'")):
            with self.subTest(cell):
                (shown,) = named(cell)
                self.assertIn(wrong, complaint(*shown))
        for cell in (f"`{table}`: `PictureTest.test_picture_GIF`", "`tests/debootstrap.sh`",
                     "`tests/docs/test_coverage.py`: `Coverage.test_what_is_not_there_is_found`, `named`",
                     "`tests/mcp/test_in_flight.py`: `OrdinaryUserTest.test_nothing_follows_a_cancellation`",
                     '`tests/unit/base/error_test.cpp`: "an error from errno says what to do where errno '
                     'alone tells it"', "`tests/fuzz/targets/glob.cpp`"):
            with self.subTest(cell):
                self.assertEqual([complaint(*one) for one in named(cell)], [""])
        for unlisted in ("unlisted_test.cpp", "ible_test.cpp"):  # visible_test.cpp is
            self.assertFalse(is_run(ROOT / "tests" / "unit" / "base" / unlisted))
        self.assertEqual(topics("# A\n## B\n| promise | shown by |\n|---|---|\n| a \\| b | none |\n"),
                         {"B": [["a \\| b", "none"]]})
        self.assertEqual(named("by hand"), [])


def differences():
    """The rows of that table, as cells; what a test's cell names without a folder is a case."""
    page = (ROOT / "docs" / "backends.md").read_text()
    rows = topics(page)["What differs"]
    return [[*cells[:-1], re.sub(r"`(\w+\.py)`", r"`tests/parity/cases/\1`", cells[-1])] for cells in rows
            if cells[0] != "difference"]


def of_local_alone():
    """The files of cases with some that are marked so."""
    for path in sorted((PARITY / "cases").glob("[a-z]*.py")):
        classes = [one for one in vars(parity_module(path.stem)).values()
                   if isinstance(one, type) and one.__module__ == f"cases.{path.stem}"]
        if any(getattr(one, "local_only", False) for case in classes for one in (case, *vars(case).values())):
            yield path.name


class Differences(unittest.TestCase):
    def test_each_is_shown_by_tests_that_there_are(self):
        rows = differences()
        self.assertGreater(len(rows), 30)
        self.assertEqual(len({cells[0] for cells in rows}), len(rows))
        for cells in rows:
            with self.subTest(cells[0]):
                self.assertEqual(len(cells), 4, cells)
                self.assertNotEqual(cells[1], cells[2])
                shown = named(cells[3])
                self.assertTrue(shown, "no test is named")
                self.assertEqual([wrong for wrong in (complaint(*one) for one in shown) if wrong], [])

    def test_what_is_not_run_on_e2b_is_one(self):
        """Each by its name, or where a whole file is not by that."""
        shown = [one for cells in differences() for one in named(cells[3])]
        files = {pathlib.Path(file).name for file, _ in shown}
        names = {(pathlib.Path(file).stem, name) for file, names in shown for name in names}
        for case in parity_module("on_e2b").e2b.NOT_HERE:
            with self.subTest(case):
                module, _, name = case.partition(".")
                if name:
                    self.assertIn((module, name), names)
                else:
                    self.assertIn(f"{module}.py", files)
        marked = list(of_local_alone())
        self.assertGreater(len(marked), 10)
        self.assertEqual([file for file in marked if file not in files], [])


if __name__ == "__main__":
    os.environ.setdefault("BERTH_BINARY", str(ROOT / "build" / "server" / "berth"))
    unittest.main()
