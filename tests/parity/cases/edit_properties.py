"""edit_file on random files, with Python, GNU diff and GNU patch to say what must come out. The seed is in
every failure; BERTH_SEED gives another one."""

import base64
import os
import pathlib
import random
import re
import subprocess
import tempfile

from cases.edit_tables import patched
from suite import ParityTest

SEED = int(os.environ.get("BERTH_SEED", "20261123"))
BOM = "\ufeff"
PIECES = ["a", "b", "ab", " ", "  ", "\t", "x = 1", "ü", "e\u0301", "☃", "𝄞", "\r", "\u2028", "*", "\\", "-", "+ ",
          "@@ ", "“q”", "'q'"]


class Text:
    """Random texts; line ends are those of the file: all LF, all CRLF, or mixed."""

    def __init__(self, seed):
        self.choice = random.Random(seed)
        self.ends = self.choice.choice([["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"]])
        # A lone carriage return is no part of a file whose line ends are all alike.
        self.pieces = [piece for piece in PIECES if piece != "\r" or len(self.ends) > 1]

    def line(self):
        return "".join(self.choice.choices(self.pieces, k=self.choice.randint(0, 6)))

    def lines(self, most):
        return "".join(self.line() + self.choice.choice(self.ends)
                       for _ in range(self.choice.randint(0, most)))

    def file(self):
        return self.choice.choice(["", "", BOM]) + self.lines(12) + self.choice.choice(["", self.line()])


class EditProperties(ParityTest):
    def put(self, content):
        self.call("write_file", path="f", content=base64.b64encode(content.encode()).decode(),
                  encoding="base64")

    def get(self):
        content = self.call("read_file", path="f", encoding="base64").data["content"]
        return base64.b64decode(content).decode()

    def test_only_the_match_changes_and_the_reverse_undoes_it(self):
        tried = 0
        for seed in range(SEED, SEED + 300):
            text = Text(seed)
            before = text.file()
            old, at = self.part_of(before, text.choice)
            new = text.lines(2) + text.line()
            if text.choice.random() < 0.3:
                new = new.replace("\r\n", "\n")  # as most clients write it
            if not old or old == new or BOM in old or places(before, old) != 1:
                continue
            meant = new
            if all_crlf(before):
                meant = new.replace("\r\n", "\n").replace("\n", "\r\n")
            after = before[:at] + meant + before[at + len(old):]
            if before == after or (old + new).count("\n") and self.is_pair_cut(before, at, len(old)):
                continue
            tried += 1
            with self.subTest(seed=seed, before=before, old=old, new=new):
                self.put(before)
                data = self.call("edit_file", path="f", old_text=old, new_text=new).data
                self.assertEqual(self.get(), after)
                self.check_diff(before, after, data)
                # In what has CRLF alone by now, a newline can mean nothing else.
                lost = all_crlf(after) and not all_crlf(before) and "\n" in old
                if meant and places(after, meant) == 1 and not lost:
                    self.call("edit_file", path="f", old_text=meant, new_text=old)
                    self.assertEqual(self.get(), before)
        self.assertGreater(tried, 100)

    @staticmethod
    def part_of(content, choice):
        at = choice.randint(0, len(content))
        return content[at:at + choice.randint(1, 12)], at

    @staticmethod
    def is_pair_cut(content, at, size):
        """The text begins or ends within a CRLF: where newlines mean CRLF it would match more."""
        return any(content[i - 1:i + 1] == "\r\n" for i in (at, at + size))

    def check_diff(self, before, after, data):
        self.assertFalse(data["diff_truncated"])
        self.assertEqual(patched(before.encode(), data["diff"]), after.encode(), data["diff"])
        self.assertEqual(patched(after.encode(), data["diff"], ["-R"]), before.encode(), data["diff"])

    def test_a_patch_made_of_a_diff_makes_what_gnu_patch_makes(self):
        """Of two random files, by hunks with more or less context. Where a place cannot be told it is
        refused; what is done is right, and undone by the patch of the reverse."""
        done = refused = 0
        for seed in range(SEED, SEED + 200):
            old, new = self.two_files(random.Random(seed))
            if old == new:
                continue
            context = seed % 4
            there, back = codex(old, new, context), codex(new, old, context)
            if only_adds(there) or only_adds(back):
                continue  # that is at the end, wherever it was
            with self.subTest(seed=seed, old=old, new=new, context=context):
                self.put(old)
                result = self.berth.call_tool("edit_file", {"patch": there})
                if result.is_error:
                    self.assertIn(result.error["code"], ("ambiguous_match", "text_not_found"), result)
                    self.assertEqual(self.get(), old)
                    refused += 1
                    continue
                done += 1
                self.assertEqual(self.get(), new)
                self.check_diff(old, new, result.data)
                undone = self.berth.call_tool("edit_file", {"patch": back})
                self.assertEqual(self.get(), new if undone.is_error else old, undone)
        self.assertGreater(done, 80)
        self.assertGreater(refused, 0)

    @staticmethod
    def two_files(choice):
        """The second is the first with lines changed, put in and taken out; both end alike. Few
        different lines make many places that are alike."""
        words = [f"line {n}" for n in range(choice.choice([6, 60, 600]))] + ["", "\tü", "  }"]
        old = choice.choices(words, k=choice.randint(1, 30))
        new = []
        for line in old:
            chance = choice.random()
            if chance < 0.8:
                new.append(line)
            elif chance < 0.9:
                new += choice.choices(words, k=choice.randint(1, 3))
        end = choice.choice(["\n", "\r\n"])
        last = choice.choice([end, ""]) if old[-1] and new and new[-1] else end
        # Where no line is left nothing says what a line ends with.
        end = end if min(len(old), len(new)) > 1 else "\n"
        last = end if last else ""
        return tuple(end.join(lines) + last if lines else "" for lines in (old, new))


def all_crlf(content):
    return "\n" in content and not re.search(r"(?<!\r)\n", content)


def places(content, part):
    """Those that overlap each other counted."""
    return sum(content.startswith(part, at) for at in range(len(content)))


def only_adds(patch):
    """A hunk of it."""
    hunks = patch.split("\n@@\n")[1:]
    return any(not any(line[:1] in ("-", " ") for line in hunk.split("\n")) for hunk in hunks)


def codex(old, new, context):
    """A patch of f in Codex's form, by the hunks that GNU diff finds."""
    with tempfile.TemporaryDirectory(prefix="berth-diff-") as folder:
        paths = [pathlib.Path(folder) / name for name in ("old", "new")]
        for path, content in zip(paths, (old, new)):
            path.write_bytes(content.encode())
        found = subprocess.run(["diff", f"-U{context}", *map(str, paths)], capture_output=True, check=False)
    lines = found.stdout.decode().replace("\r\n", "\n").split("\n")[2:-1]
    hunks = ["@@" if line.startswith("@@") else line for line in lines if not line.startswith("\\")]
    return "\n".join(["*** Begin Patch", "*** Update File: f", *hunks, "*** End Patch", ""])
