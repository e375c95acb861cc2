"""The names that docs/migrating.md and docs/tools.md promise to take, given to the program. Nothing
is run: each call also has an argument that no tool knows, which is complained of last."""

import re
import tempfile
import unittest

from test_docs import ROOT, Berth

UNKNOWN = "zzz_unknown"
# Where the column `also` has values, or names within elements: tests/unit/tools/aliases_test.cpp.
NO_ALIASES = ("encoding", "output_mode", "edits")
SAME_NAMES = "the same names"


def tables(page):
    """The cells of each row of every table."""
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def arguments_in(braces):
    """Names out of `command, timeout (milliseconds), limit=50, -A -B`."""
    names = []
    for item in re.sub(r"\([^)]*\)", "", braces).split(","):
        item = item.strip()
        names += item.split() if item.startswith("-") else re.findall(r"^\w+", item)
    return names


def promised(tools):
    """{(tool here, name there): whether it is called unsupported}, of migrating.md."""
    names, unsupported = set(), set()
    for cells in tables("migrating.md"):
        if len(cells) != 3 or cells[2].startswith("not offered"):
            continue
        _, there, here = cells
        named = [tool for tool in re.findall(r"`(\w+)", here) if tool in tools]
        for tool, braces in re.findall(r"`(\w+)\{([^}]*)\}", there):
            target = tool if SAME_NAMES in here else named[0]
            names.update((target, name) for name in arguments_in(braces))
        for spans in re.findall(r"((?:`[^`]+`(?:, | and )?)+) (?:is|are) `unsupported`", here):
            unsupported.update((named[0], name) for name in re.findall(r"`(\w+)", spans))
    return {pair: pair in unsupported for pair in names | unsupported}


def also(tools):
    """(tool, name, other name) of the column `also` in tools.md."""
    tool = None
    for line in (ROOT / "docs" / "tools.md").read_text().splitlines():
        if line.startswith("## "):
            tool = line[3:]
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if tool in tools and len(cells) == 4 and cells[0].startswith("`"):
            names, others = (re.findall(r"`([\w-]+)`", cells[i]) for i in (0, 3))
            if names[0] not in NO_ALIASES:
                # One name with many others, or as many of each.
                names = names if len(names) > 1 else names * len(others)
                yield from ((tool, *pair) for pair in zip(names, others) if others)


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.state = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="berth-docs-"))
        cls.server = cls.enterClassContext(Berth(state=cls.state))
        cls.tools = [tool["name"] for tool in cls.server.list_tools()]

    def test_every_system_has_a_table(self):
        sections = re.split(r"^## (.*)$", (ROOT / "docs" / "migrating.md").read_text(),
                            flags=re.MULTILINE)[1:]
        tables = [title for title, text in zip(sections[::2], sections[1::2])
                  if text.count("| | there | here |\n") == 1 and text.count("\n| ") > 5]
        self.assertEqual([title.split()[0] for title in tables],
                         ["AutoGPT", "LangBot", "Letta", "Claude's"])

    def test_names_of_other_systems_are_taken_or_told_as_unsupported(self):
        names = promised(self.tools)
        self.assertGreater(len(names), 40)
        for (tool, name), unsupported in sorted(names.items()):
            with self.subTest(f"{tool}: {name}"):
                error = self.server.call_tool(tool, {name: True, UNKNOWN: 1}).error
                if unsupported:
                    self.assertEqual(error["code"], "unsupported")
                else:
                    self.assertEqual(error["code"], "invalid_argument", error)
                    self.assertNotIn(f"{name}: there is no argument", error["message"])

    def test_other_names_stand_for_the_one_they_are_listed_with(self):
        pairs = list(also(self.tools))
        self.assertGreater(len(pairs), 15)
        for tool, name, other in pairs:
            with self.subTest(f"{tool}: {other}"):
                error = self.server.call_tool(tool, {name: 1, other: 2, UNKNOWN: 1}).error
                self.assertEqual(error["message"], f"{name} and {other} are the same argument and "
                                                   "have different values")


if __name__ == "__main__":
    unittest.main()
