#!/usr/bin/env python3
"""Libraries and calls that have one place each. A rule is a pattern, where it may stand, and the
reason that is printed."""

import re

from sources import finish, sources

PRODUCT = ("server", "tools", "sandbox")

UNFINISHED = r"//[^\n]*\b(TODO|FIXME|XXX)\b"

RULES = (
    (r"#\s*include\s*<(spdlog|fmt)/", r"^server/log", "logging has one home: server/log"),
    (r"#\s*include\s*<httplib\.h>", r"^(server/transport|sandbox/e2b)/http[^/]*\.cpp$",
     "the HTTP library is hidden behind one file on each side"),
    (r"#\s*include\s*<toml\+\+/", r"^server/options", "only the options read TOML"),
    (r"#\s*include\s*<CLI/", r"^server/(options|cli)", "only the command line parses flags"),
    (r"#\s*include\s*<(re2|hs)/", r"^sandbox/guest/", "only the guest searches"),
    (r"#\s*include\s*<hiredis/", r"^sandbox/session/redis_connection\.cpp$",
     "hiredis is hidden behind one file"),
    (r"#\s*include\s*<seccomp\.h>", r"^sandbox/(local/launcher|guest)/",
     "only the launcher makes filters"),
    (r"#\s*include\s*<nlohmann/json\.hpp>", r"(\.cpp|^tools/entry\.hpp)$",
     "2.5 s for each file that includes it: <nlohmann/json_fwd.hpp> in headers (tools/entry.hpp is "
     "included by the tools' own .cpp files only, which need it anyway)"),
    (r"#\s*include\s*<regex>", None, "std::regex overflows the stack on long input"),
    (r"#\s*include\s*<iostream>", None, "stdout is the protocol's; static initialisers"),
    (r"#\s*include\s*<filesystem>", r"^(server|sandbox/local|sandbox/session|sandbox/direct)/",
     "only host-side, with error_code: the guest resolves paths by descriptor"),
    (r"\bisError\b", r"^server/(mcp/reply|cli/call)\.cpp$",
     "what failed is made a result in server/mcp/reply.cpp alone (berth call reads it)"),
    (r"(?<![\w.>])(::)?syscall\s*\(", r"^sandbox/base/syscalls\.hpp$",
     "raw system calls have one header, with the kernel that brought each"),
    (r"(?<![\w.>:])(::|std::)(system|popen|fork|vfork|tmpnam|mktemp|gets|strcpy|strcat|sprintf)\s*\(",
     r"^sandbox/(guest|local/launcher|filter/proxy)/|^server/first_process\.cpp$",
     "the server never forks, but before it is one, and runs no shell; the rest has no bounds"),
    (UNFINISHED, None, "finished, or an issue"),
)

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def blanked(text):
    """Comments out, line numbers kept."""
    return COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)


def main():
    complaints = []
    for path, text in sources(".cpp", ".hpp", folders=PRODUCT):
        code = blanked(text)
        for pattern, allowed, reason in RULES:
            if allowed and re.search(allowed, path):
                continue
            subject = text if pattern == UNFINISHED else code
            for match in re.finditer(pattern, subject):
                line = subject.count("\n", 0, match.start()) + 1
                complaints.append(f"{path}:{line}: {match.group().strip()}: {reason}")
    finish("raw_calls", complaints)


if __name__ == "__main__":
    main()
