"""Patterns, trees and ignore files at random: the same ones for the same random.Random."""

import os
import re

WORDS = ["foo", "bar", "Foo", "FOO", "fo", "o", "ab", "aab", "x", "xx", "-", "k", "K", "s", "1", "12", "needle",
         "NEEDLE", "\t", ".", "a.b", "", " "]
WIDE_WORDS = ["ſ", "\u212a", "ä", "Ä", "ß", "日本", "é", "É"]
LITERALS = ["foo", "bar", "f", "o", "oo", "fo", "ab", "a", "b", "x", "k", "s", "needle", " ", "  ", "1", "12", "K", "S",
            "\\.", "\\t"]
WIDE_LITERALS = ["ä", "ß", "日", "É"]
SETS = ["[a-f]", "[^a]", "[fo]", "[0-9]", "[^o\\n]", "[x\\n]", "[^ ]", "[x-]", "[kK]", "."]
WIDE_SETS = ["[ä-ü]", "[^ä]"]
CLASSES = ["\\d", "\\w", "\\s", "\\W", "\\S", "\\D"]
# ripgrep's classes are Unicode's, RE2's are ASCII's.
SAME_IN_RIPGREP = {"\\d": "[0-9]", "\\w": "[0-9A-Za-z_]", "\\s": "[\\t\\n\\f\\r ]", "\\W": "[^0-9A-Za-z_]",
                   "\\S": "[^\\t\\n\\f\\r ]", "\\D": "[^0-9]"}
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "*?", "+?", "??"]


class Patterns:
    """Regular expressions of what RE2 and the oracle understand alike: `anchors` anywhere but under
    a repetition, `wide` ones with more than ASCII, ^ and $ only at the `ends` of a branch."""

    def __init__(self, chance, anchors=(), wide=True, ends=True, groups=("", "?:", "?:", "?i:")):
        self.chance = chance
        self.ends = ends
        self.anchors = list(anchors)
        self.literals = LITERALS + (WIDE_LITERALS if wide else [])
        self.sets = SETS + (WIDE_SETS if wide else [])
        self.groups = list(groups)

    def next(self, depth=0):
        branches = 1 if self.chance.random() < 0.75 else self.chance.randint(2, 3)
        return "|".join(self._branch(depth) for _ in range(branches))

    def _branch(self, depth):
        parts = [self._part(depth) for _ in range(self.chance.randint(1, 4 - depth))]
        # ripgrep 13 finds no empty line with "$^", so they have their usual places.
        begin, end = (self.chance.choice([anchor, "", "", "", ""]) if self.ends else "" for anchor in "^$")
        return begin + "".join(parts) + end

    def _part(self, depth):
        kind = self.chance.random()
        if kind < 0.1 and self.anchors:
            return self.chance.choice(self.anchors)
        if kind < 0.55:
            part = self.chance.choice(self.literals)
        elif kind < 0.8:
            part = self.chance.choice(self.sets)
        elif kind < 0.9 or depth == 2:
            part = self.chance.choice(CLASSES)
        else:
            part = f"({self.chance.choice(self.groups)}{self.next(depth + 1)})"
        if self.chance.random() < 0.65:
            return part
        if len(part) > 1 and part[0] not in "[(\\":
            part = f"(?:{part})"
        return part + self.chance.choice(REPEATS)


def for_ripgrep(pattern):
    for ours, theirs in SAME_IN_RIPGREP.items():
        pattern = pattern.replace(ours, theirs)
    return pattern


def make_lines(chance, wide=True):
    words = WORDS + (WIDE_WORDS if wide else [])
    return [chance.choice([" ", "", " "]).join(chance.choices(words, k=chance.randint(0, 6)))
            for _ in range(chance.randint(0, 25))]


def make_files(chance, root, wide=True, unfinished=True):
    """Eight small files of lines; `unfinished` ones have no newline at their end."""
    for index in range(8):
        newline = chance.choice(["\n", "\n", "\r\n"])
        text = newline.join(make_lines(chance, wide))
        ends = ["", newline, newline] if unfinished else [newline]
        with open(os.path.join(root, f"f{index}"), "wb") as file:
            file.write((text + chance.choice(ends)).encode())


def for_python(pattern):
    """`^` and `$` are of lines, as in ours, but where (?-m:...) takes that away."""
    return "(?m)" + pattern.replace("\\z", "\\Z")


def spanned_lines(text, regex):
    """The numbers of the lines, from 0, that matches lie on."""
    numbers = set()
    for match in regex.finditer(text):
        if match.start() == match.end():
            return None
        if match.start() < len(text):
            first = text.count("\n", 0, match.start())
            numbers.update(range(first, 1 + text.count("\n", 0, max(match.start(), match.end() - 1))))
    return numbers


def python_lines(root, pattern, mode):
    """As ripgrep would print them, of files that end with a newline. mode: lines, parts, spans.
    None: of the latter two, where a match is empty."""
    regex = re.compile(for_python(pattern), re.ASCII)
    found = []
    for name in sorted(os.listdir(root)):
        with open(os.path.join(root, name), encoding="utf-8", newline="") as file:
            text = file.read()
        lines = text.split("\n")[:-1]
        spanned = spanned_lines(text, regex) if mode == "spans" else ()
        if spanned is None:
            return None
        for number, line in enumerate(lines):
            shown = ([match.group() for match in regex.finditer(line)] if mode == "parts" else
                     [line] if (number in spanned if mode == "spans" else regex.search(line)) else [])
            if mode == "parts" and "" in shown:
                return None
            found += [f"{root}/{name}:{number + 1}:{part}".encode() for part in shown]
    return found


NAMES = ["a", "b", "ab", "a.c", "b.o", ".d", "x y", "a#", "!b", "c\\d", "e ", "ää", "[z]", "*"]
RULE_PARTS = ["a", "b", "ab", "a.c", "*.o", "*", "?", "a*", "*b", ".*", "[ab]", "[!a]", "[^b]", "[a-c]*", "**", "x y",
              "a?c", "\\#", "a#", "\\!b", "!b", "e\\ ", "ää", "?[.]c", "c\\\\d", "\\[z\\]", "\\*", "?**", "[[:alpha:]]",
              "[]z]*",
              ".d", "", "{a,b}"]


def make_ignored_tree(chance, root):
    """Folders in folders, of few names, and rules on up to three levels."""
    folders = [""]
    for _ in range(chance.randint(4, 10)):
        folders.append(os.path.join(chance.choice(folders), chance.choice(NAMES)))
    for folder in folders:
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    for folder in folders:
        for name in chance.sample(NAMES, chance.randint(1, 6)):
            path = os.path.join(root, folder, name)
            if not os.path.exists(path):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("x\n")
    for folder in ["", *chance.sample(folders, min(2, len(folders)))]:
        with open(os.path.join(root, folder, ".gitignore"), "w", encoding="utf-8") as file:
            file.write(make_rules(chance))


def make_rules(chance):
    rules = []
    for _ in range(chance.randint(1, 6)):
        parts = [chance.choice(RULE_PARTS) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
        rules.append(chance.choice(["", "", "", "!"]) + chance.choice(["", "", "", "/"]) + "/".join(parts) +
                     chance.choice(["", "", "", "/", " ", "\r"]))
    return "\n".join(rules) + chance.choice(["\n", ""])


def make_glob(chance):
    """With a slash, as without one it is a name at any depth, which bash has no word for."""
    parts = ["a", "b", "ab", "a.c", "*.o", "*", "*", "*", "**", "**", "?", "?*", "a*", "*b", ".*", "[ab]", "[!a]",
             "[a-c]*", "x y", "a?c", "\\*", "ää", "?[.]c", "\\[z\\]", "{a,b}", "{a,*.{c,o}}", "{,a}b", "[]z]*", "[[:punct:]]*", "?**",
             "[!.]*"]
    while True:
        pattern = "/".join(chance.choice(parts) for _ in range(chance.choice([2, 2, 3, 4])))
        if chance.random() < 0.2:
            pattern = f"{{{pattern},{chance.choice(parts)}/{chance.choice(parts)}}}"
        # Of "**/**/**" bash gives the folders, too, and one that is only that ends with a folder.
        if not pattern.endswith("**"):
            return pattern
