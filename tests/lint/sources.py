"""What the lint tests look at, and how they report."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("server", "tools", "sandbox", "tests")


def sources(*suffixes, folders=FOLDERS):
    """(path relative to the root, text) of every source file, in order."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def finish(name, complaints):
    for complaint in complaints:
        print(complaint)
    print(f"{name}: {len(complaints)} complaint(s)")
    sys.exit(1 if complaints else 0)
