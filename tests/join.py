"""Writes a file that compiles many tests at once, which takes a third of the time:
  join.py OUTPUT FILE...
Their helpers share names, so each gets a namespace of its own. What they include comes before, at the
top: their own lines for it find it done. A file that adds to a namespace of the product cannot be in
another one; tests/unit/meson.build leaves those by themselves."""

import pathlib
import re
import sys


def main(output, *files):
    includes = {}  # in their order
    bodies = []
    for number, file in enumerate(files):
        path = pathlib.Path(file).resolve()
        includes.update(dict.fromkeys(re.findall(r"^#include .*", path.read_text(encoding="utf-8"), re.MULTILINE)))
        bodies.append(f'namespace joined_{number} {{\n#include "{path}"\n}}\n')
    pathlib.Path(output).write_text("\n".join([*includes, *bodies]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
