#!/usr/bin/env python3
"""Counts test cases in Meson's testlog.json: "count: PASSED FAILED SKIPPED".

A doctest or unittest program counts with its cases, any other test as one."""
import json
import re
import sys

DOCTEST = re.compile(r"test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed")
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.M)
UNITTEST_BAD = re.compile(r"(failures|errors|skipped)=(\d+)")


def cases(test):
    output = (test.get("stdout") or "") + (test.get("stderr") or "")
    passed_here = test["result"] == "OK"
    if match := DOCTEST.search(output):
        passed, failed = int(match[2]), int(match[3])
    elif match := UNITTEST.search(output):
        bad = {kind: int(n) for kind, n in UNITTEST_BAD.findall(output)}
        failed = bad.get("failures", 0) + bad.get("errors", 0)
        skipped = bad.get("skipped", 0)
        if passed_here or failed:
            return int(match[1]) - failed - skipped, failed, skipped
        passed = int(match[1])
    elif test["result"] == "SKIP":
        return 0, 0, 1
    else:
        return (1, 0, 0) if passed_here else (0, 1, 0)
    return passed, failed if passed_here or failed else 1, 0


def main():
    totals = [0, 0, 0]
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                totals = [a + b for a, b in zip(totals, cases(json.loads(line)))]
    if sum(totals) == 0:
        print("no test ran")
        return 1
    print("count:", *totals)
    return 0


sys.exit(main())
