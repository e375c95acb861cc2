"""Wire transcripts of the protocol on stdio, for which there is no official suite: what transcripts/*.txt
says, line by line. Which rule of MCP is shown where: README.md.

In a file of transcripts

    # a rule
    $ berth-direct serve    begins a server; without, the last one goes on
    > a line that is sent   with @meta, @able and @server for what MACROS says, and "$name" for what had it
    < a line that comes     as JSON; "…" is any value, at the end of a list any more of them, "…": any other
                            members, "$name" whatever it was the first time

They say all that comes from a server until its end."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import META, Bench
from mcp_client import binary_path

FOLDER = pathlib.Path(__file__).resolve().parent / "transcripts"
INFO = "io.modelcontextprotocol/serverInfo"
MACROS = {"@meta": META,
          "@able": {**META, "io.modelcontextprotocol/clientCapabilities": {
              "elicitation": {}, "roots": {}, "sampling": {}}},
          "@server": {INFO: {"name": "berth", "version": "…"}}}
# No other is defined for what a server may say.
CODES = {-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022}


def transcripts(path):
    """{rule: (words of a program that is to begin, [(">" or "<", text)])}."""
    found, rule = {}, None
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "#":
            if text in found:
                raise ValueError(f"{path.name}: twice: {text}")
            rule = found[text] = ([], [])
        elif mark == "$":
            rule[0][:] = text.split()
        elif mark in ("<", ">"):
            for name, value in MACROS.items():
                text = text.replace(name, json.dumps(value, ensure_ascii=False))
            rule[1].append((mark, text))
        elif line and rule:
            raise ValueError(f"{path.name}: {line}")
    return found


def is_like(wanted, came, names):
    """Whether JSON is what a transcript says; what has a name is kept in `names`, or compared."""
    if isinstance(wanted, str) and wanted.startswith("$"):
        return names.setdefault(wanted, came) == came
    if wanted == "…":
        return True
    if type(wanted) is not type(came):
        return False
    if isinstance(wanted, list):
        if wanted[-1:] == ["…"]:
            wanted, came = wanted[:-1], came[:len(wanted) - 1]
        return len(wanted) == len(came) and all(is_like(*each, names) for each in zip(wanted, came))
    if isinstance(wanted, dict):
        return (all(key in came for key in wanted if key != "…") and
                all(is_like(wanted[key], came[key], names) if key in wanted else
                    "…" in wanted and is_like(wanted["…"], came[key], names) for key in came))
    return wanted == came


def mistakes(message):
    """What is wrong with a message of a server, whatever it says."""
    if isinstance(message, list):
        return [wrong for each in message for wrong in mistakes(each)]
    result, error = message.get("result", {}), message.get("error", {"code": -32603, "message": "m"})
    rules = {"the version of JSON-RPC": message["jsonrpc"] == "2.0",
             "the members of an answer": "method" in message or
                                         set(message) in ({"jsonrpc", "id", "result"},
                                                          {"jsonrpc", "id", "error"}),
             "an error": error["code"] in CODES and bool(error["message"]) and
                         set(error) <= {"code", "message", "data"},
             "who answers": ("resultType" in result) == (INFO in result.get("_meta", {}))}
    return [name for name, is_kept in rules.items() if not is_kept]


class TranscriptsTest(Bench):
    def begin(self, words):
        program, *arguments = words
        self.server = subprocess.Popen([binary_path(program), *arguments], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.patience = threading.Timer(60, self.server.kill)
        self.patience.start()
        self.addCleanup(self.patience.cancel)

    def end(self):
        """Asserts that there is no more than what was heard."""
        with self.server:
            rest, _ = self.server.communicate()
        self.patience.cancel()
        self.assertEqual((rest, self.server.returncode), (b"", 0))

    def play(self, lines):
        """Asserts each line that comes."""
        names = {}
        for mark, text in lines:
            if mark == ">":
                for name, value in names.items():
                    text = text.replace(json.dumps(name), json.dumps(value))
                self.server.stdin.write(text.encode() + b"\n")
                self.server.stdin.flush()
            else:
                came = json.loads(self.server.stdout.readline() or '"nothing more"')
                self.assertTrue(is_like(json.loads(text), came, names), f"{text}\ncame as\n{came}")
                self.assertEqual(mistakes(came), [], came)

    def play_all(self, name):
        self.server = None
        for rule, (words, lines) in transcripts(FOLDER / name).items():
            with self.subTest(rule):
                if words and self.server:
                    self.end()
                if words:
                    self.begin(words)
                self.play(lines)
        self.end()

    def test_modern(self):
        self.play_all("modern.txt")

    def test_eras(self):
        self.play_all("eras.txt")

    def test_legacy(self):
        self.play_all("legacy.txt")

    def test_tools(self):
        self.play_all("tools.txt")

    def test_utilities(self):
        self.play_all("utilities.txt")


class ReaderTest(unittest.TestCase):
    """A transcript that is like anything shows nothing."""

    def test_what_comes_is_compared(self):
        for wanted, came, expected in (({"a": 1}, {"a": 1}, True), ({"a": 1}, {"a": 1, "b": 2}, False),
                                       ({"a": 1, "…": "…"}, {"a": 1, "b": 2}, True),
                                       ({"…": {"m": 1}}, {"x": {"m": 2}}, False),
                                       ({"a": "…"}, {}, False), ([1, "…"], [1, 2, 3], True), ([1, "…"], [2], False),
                                       ([1, 2, "…"], [1], False), (["…", 1], [2, 1], True), ([1], [1, 2], False),
                                       (1, True, False), (None, 0, False),
                                       (["$a", "$a"], ["x", "x"], True), (["$a", "$a"], ["x", "y"], False)):
            self.assertEqual(is_like(wanted, came, {}), expected, (wanted, came))

    def test_what_no_message_may_have_is_found(self):
        good = {"jsonrpc": "2.0", "id": 1, "result": {}}
        self.assertEqual(mistakes(good), [])
        for wrong in ({**good, "jsonrpc": "1.0"}, {**good, "more": 1}, {"jsonrpc": "2.0", "id": 1},
                      {**good, "result": {"resultType": "complete"}},
                      {"jsonrpc": "2.0", "id": 1, "error": {"code": -32042, "message": "m"}},
                      {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": ""}}):
            self.assertEqual(len(mistakes(wrong)), 1, wrong)

    def test_every_file_is_played(self):
        played = {name.removeprefix("test_") for name in vars(TranscriptsTest) if name.startswith("test_")}
        self.assertEqual({path.stem for path in FOLDER.iterdir()}, played)
        for path in FOLDER.iterdir():
            for rule, (_, lines) in transcripts(path).items():
                self.assertEqual((lines[0][0], lines[-1][0]), (">", "<"), rule)


if __name__ == "__main__":
    unittest.main()
