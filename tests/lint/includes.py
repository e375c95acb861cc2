#!/usr/bin/env python3
"""The direction of dependencies: which folder may include which. This table is the architecture."""

import re

from sources import finish, sources

EVERYTHING = ("",)
MODEL = ("sandbox", "sandbox/base", "sandbox/protocol")

# Folder -> folders it may include headers from, itself always. The longest entry that a file's
# folder begins with decides; "x/*" stands for x and everything below it.
ALLOWED = {
    "server": EVERYTHING,
    "server/transport": ("server/rpc", "sandbox/base"),
    "server/rpc": ("sandbox/base",),
    "server/mcp": ("server/rpc", "tools", "sandbox/base"),
    "tools": (*MODEL, "sandbox/session", "sandbox/workspace", "schemas"),
    "sandbox": ("sandbox/base", "sandbox/protocol"),
    "sandbox/base": (),
    "sandbox/protocol": ("sandbox/base",),
    "sandbox/guest": ("sandbox/guest/*", "sandbox/protocol", "sandbox/base"),
    "sandbox/filter": ("sandbox/filter/*", "sandbox/base", "sandbox/protocol"),
    "sandbox/workspace": ("sandbox/base",),
    "sandbox/session": MODEL,
    "sandbox/local": (*MODEL, "sandbox/local/*", "sandbox/filter"),
    "sandbox/local/launcher": (*MODEL, "sandbox/local", "sandbox/guest"),
    "sandbox/direct": MODEL,
    "sandbox/e2b": (*MODEL, "sandbox/filter"),
    "schemas": (),
    "tests": EVERYTHING,
}

# Only the composition roots know which backends there are: whoever else named one could no longer
# be used with the other.
BACKENDS = ("sandbox/local", "sandbox/direct", "sandbox/e2b")
COMPOSITION_ROOTS = ("server/main.cpp",)

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def within(folder, parent):
    return folder == parent or folder.startswith(parent + "/")


def rule_of(folder):
    return max((name for name in ALLOWED if within(folder, name)), key=len)


def matches(folder, pattern):
    if pattern == "":
        return True
    if pattern.endswith("/*"):
        return within(folder, pattern[:-2])
    return folder == pattern


def complaint_about(path, header):
    if "/" not in header or header.startswith("."):
        return f'{path}: "{header}" is not a full path from the root'
    folder, target = path.rpartition("/")[0], header.rpartition("/")[0]
    for backend in BACKENDS:
        if within(target, backend) and not (within(folder, backend) or within(folder, "tests") or
                                            path in COMPOSITION_ROOTS):
            return f'{path}: "{header}": only {", ".join(COMPOSITION_ROOTS)} may name a backend'
    rule = rule_of(folder)
    if within(target, rule) and rule_of(target) == rule:
        return None
    if any(matches(target, pattern) for pattern in ALLOWED[rule]):
        return None
    return f'{path}: "{header}": {rule}/ may not include {target}/'


def main():
    complaints = []
    for path, text in sources(".cpp", ".hpp"):
        complaints += filter(None, (complaint_about(path, header)
                                    for header in INCLUDE.findall(text)))
    finish("includes", complaints)


if __name__ == "__main__":
    main()
