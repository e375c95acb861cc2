"""The blocks of code that users paste: they parse, the flags they give berth are flags of berth, and
whoever registers berth switches off the built-in tools that it replaces."""

import functools
import json
import re
import unittest

from test_docs import PAGES, ROOT, berth

BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = ("serve", "call", "sessions", "status", "doctor", "config", "version")
# All that touches the machine of the client. An alias leaves Monitor, which runs commands.
BUILT_IN = ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit", "Monitor", "EnterWorktree",
            "ExitWorktree"]
# Flags of other programs: what stands behind berth's own on the Inspector's command line, and what
# pages name of Docker and npm.
OF_OTHERS = {"--method", "--tool-name", "--tool-args-json", "--cli", "--security-opt",
             "--no-sandbox", "--color", "--init", "--cgroupns"}


def blocks(*languages):
    """(place, text) of the fenced blocks in one of these languages."""
    return [(f"{page.name}: {text.splitlines()[0]}", text) for page in PAGES
            for language, text in BLOCK.findall(page.read_text()) if language in languages]


def statements():
    """(place, text) of whatever may be a command line: lines of shell, whole blocks of other
    languages, spans in prose. A tool's arguments, which may be a command with flags, are left out."""
    for place, text in [*blocks("sh"), *blocks("console")]:
        for line in text.replace("\\\n", " ").splitlines():
            if not text.startswith("$ ") or line.startswith(("$ ", "> ")):
                yield place, re.sub(r"'\{.*?\}'", "", line.split(" #")[0])
    yield from blocks("json", "ts", "python")
    for page in PAGES:
        for span in re.findall(r"`([^`\n]+)`", BLOCK.sub("", page.read_text())):
            yield page.name, span


def invocations(statement):
    """(words after the program's name up to the first flag, flags) of each use of berth."""
    words = [word for word in re.split(r"[\s\"'`,:()\[\]{}=]+", statement)
             if word not in ("", "args", "command")]
    for part in re.split(r" (?:\||&&|;|--) ", " ".join(words)):
        found = part.split()
        starts = [i for i, word in enumerate(found) if word == "berth" or word.endswith("/berth")]
        if starts:
            rest = found[starts[-1] + 1:]
            flags = [i for i, word in enumerate(rest) if word.startswith("--")]
            yield rest[:flags[0]] if flags else rest, [rest[i] for i in flags]


@functools.cache
def flags_of(*command):
    return set(re.findall(r"^ +(?:-\w, ?)?(--[a-z-]+)", berth(*command, "--help").stdout,
                          re.MULTILINE))


def command_of(words):
    if words[:1] == ["sessions"]:
        return tuple(words[:2])
    return tuple(word for word in words[:1] if word in COMMANDS)


class Blocks(unittest.TestCase):
    def test_json_parses(self):
        self.assertGreater(len(blocks("json")), 0)
        for place, text in blocks("json"):
            with self.subTest(place):
                json.loads(text)

    def test_python_compiles(self):
        self.assertGreater(len(blocks("python")), 1)
        for place, text in blocks("python"):
            with self.subTest(place):
                compile(text, place, "exec")

    def test_flags_given_to_berth_are_its_own(self):
        seen = 0
        for place, statement in statements():
            for words, flags in invocations(statement):
                for flag in set(flags) - OF_OTHERS:
                    seen += 1
                    with self.subTest(f"{place}: {flag}"):
                        self.assertIn(flag, flags_of() | flags_of(*command_of(words)))
        self.assertGreater(seen, 15)

    def test_flags_named_alone_are_berth_s(self):
        known = flags_of().union(*(flags_of(command) for command in COMMANDS),
                                 flags_of("sessions", "kill"), flags_of("sessions", "adopt"))
        for place, statement in statements():
            if statement.startswith("--") and statement != "--":
                with self.subTest(f"{place}: {statement}"):
                    self.assertIn(re.split("[ =]", statement)[0], known | OF_OTHERS)


class Registrations(unittest.TestCase):
    """Of every client: a heading in bold, and what follows it."""

    def check(self, text):
        lists = re.findall(r"disallowed_?[tT]ools\W+(\w+(?:(?:[\", ']|\\*\n {6,})+\w+)*)", text)
        self.assertEqual([re.findall(r"\w+", words) for words in lists], [BUILT_IN])
        self.assertRegex(text, r"\ballowed_?[tT]ools\W+mcp__berth\b")

    def test_each_replaces_the_built_in_tools(self):
        part = re.search(r"^## Register it\n(.*?)^## ", (ROOT / "README.md").read_text(),
                         re.MULTILINE | re.DOTALL)[1]
        sections = re.split(r"^\*\*(.+)\*\*$", part, flags=re.MULTILINE)[1:]
        by_client = dict(zip(sections[::2], sections[1::2]))
        self.assertEqual(by_client.pop("MCP Inspector").count("disallowed"), 0)  # it has no tools
        self.assertEqual(len(by_client), 3)
        for client, text in by_client.items():
            with self.subTest(client):
                self.check(text)

    def test_so_do_the_script_and_the_tested_client(self):
        for path in ("packaging/run.sh", "tests/clients/agent.mjs"):
            with self.subTest(path):
                self.check((ROOT / path).read_text())


if __name__ == "__main__":
    unittest.main()
