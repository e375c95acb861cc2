#!/usr/bin/env python3
"""grep_files against `rg -j2` and glob_files against `fdfind -j2`, without a sandbox around them.

usage: search_bench.py SEARCH_TOOL [TREE ...]

Interleaved rounds, medians, output to a pipe that is drained (rg stops early at /dev/null). A
figure is a ratio in one run on one machine; a bench never fails a build.
"""

import shutil
import statistics
import subprocess
import sys
import time

ROUNDS = 7

GREPS = [
    ("literal", "EINVAL_never_there", []),
    ("literal, some", "unsigned long long", []),
    ("literal, ignore case", "malloc_usable", ["ignore_case=1"]),
    ("alternation", "EAGAIN|ENOTCONN|EHOSTUNREACH|ETIMEDOUT", []),
    ("regex with literal", r"struct\s+sockaddr_[a-z]+", []),
    ("regex without literal", r"[a-z]{3}_[0-9]{4}\b", []),
    ("many matches", "the", []),
]


def seconds(command):
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while process.stdout.read(1 << 20):
            pass
    return time.perf_counter() - begin


def compare(name, mine, peer):
    seconds(mine), seconds(peer)  # warm
    own, other = [], []
    for _ in range(ROUNDS):
        own.append(seconds(mine))
        other.append(seconds(peer))
    a, b = statistics.median(own), statistics.median(other)
    print(f"{name:28} {a * 1000:9.1f} ms {b * 1000:9.1f} ms   {a / b:5.2f}", flush=True)


def main():
    tool = sys.argv[1]
    for tree in sys.argv[2:] or ["/usr/include"]:
        print(f"{tree}\n{'':28} {'berth':>12} {'peer':>12}   ratio")
        if shutil.which("rg"):
            for name, pattern, fields in GREPS:
                flags = ["-i"] if "ignore_case=1" in fields else []
                compare("grep " + name,
                        [tool, "grep", tree, pattern, "limit=250", "budget=30000", "line_limit=500", *fields],
                        ["rg", "--no-config", "-j2", "-n", "--hidden", "-M500", "-g", "!.git", *flags, pattern, tree])
        if shutil.which("fdfind"):
            for pattern in ["*.h", "*"]:
                compare("glob " + pattern, [tool, "glob", tree, pattern, "limit=1000"],
                        ["fdfind", "-j2", "-H", "-I", "-t", "f", "-g", pattern, tree])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
