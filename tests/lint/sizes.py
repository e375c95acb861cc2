#!/usr/bin/env python3
"""No source file above 500 lines, no function above 50. The project's clang-format puts the brace
of a function body, and of nothing else, on a line of its own, alone or behind the `try` of a body
that is one: that is how bodies are found."""

import re

from sources import finish, sources

MAX_FILE = 500
MAX_FUNCTION = 50

# What is longer, and why it is still better in one piece.
LONG_FILES = {}
LONG_FUNCTIONS = {
    "sandbox/local/launcher/launch.cpp": "the steps of a launch, whose order is the point",
}

OPENING = re.compile(r"^( *)(?:try )?\{$")


def long_functions(path, text):
    lines = text.splitlines()
    for start, line in enumerate(lines):
        opening = OPENING.match(line)
        if not opening:
            continue
        closing = opening.group(1) + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(closing):
                length = end - start - 1
                if length > MAX_FUNCTION:
                    name = lines[start - 1].strip()
                    yield f"{path}:{start + 1}: {length} lines in the body after `{name}`"
                break


def main():
    complaints = []
    for path, text in sources(".cpp", ".hpp", ".py"):
        length = text.count("\n")
        if length > MAX_FILE and path not in LONG_FILES:
            complaints.append(f"{path}: {length} lines")
        if not path.startswith("tests/") and path not in LONG_FUNCTIONS:
            complaints += long_functions(path, text)
    finish("sizes", complaints)


if __name__ == "__main__":
    main()
