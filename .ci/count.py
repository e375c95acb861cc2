#!/usr/bin/env python3
"""Counts test cases in Meson's testlog.json: "count: PASSED FAILED SKIPPED", and says in a line each
what failed. Of a suite that is in several logs the last counts, with what passed before where it ran
only what had failed; it is unsteady if it failed before.
Says which suites took longest, too: where to look when all of it takes too long.
With --failed: the names of the suites that failed, for `meson test`.

A doctest or unittest program counts with its cases, any other test as one."""
import json
import re
import sys

DOCTEST = re.compile(r"test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed")
DOCTEST_BLOCK = re.compile(r"^={20,}\n(.*?)(?=^={20,}$|\Z)", re.M | re.S)
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.M)
UNITTEST_BAD = re.compile(r"(failures|errors|skipped)=(\d+)")
UNITTEST_BLOCK = re.compile(r"^((?:FAIL|ERROR): .*?)(?=^={20,}$|^-{20,}\nRan )", re.M | re.S)
ONLY_FAILED = re.compile(r"^only what failed before: ", re.M)
LONGEST = 500
LONG = 20  # seconds


def output_of(test):
    return (test.get("stdout") or "") + (test.get("stderr") or "")


def cases(test):
    output = output_of(test)
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


def complaints(test):
    """What each failed case said, in a line: of a Python traceback the end, else the beginning."""
    output = output_of(test)
    found = [" ".join(block.split())[:LONGEST] for block in DOCTEST_BLOCK.findall(output)
             if "ERROR" in block]
    for block in UNITTEST_BLOCK.findall(output):
        text = " ".join(block.split())
        found.append(text if len(text) <= LONGEST else
                     text[:LONGEST // 4] + " ... " + text[-LONGEST * 3 // 4:])
    return found or [f"{test['result']} after {test['duration']:.0f} s: "
                     + " ".join(output.split())[-LONGEST:]]


def suite_name(test):
    return test["name"].rpartition(" / ")[2]


def main(paths):
    names_only = paths[:1] == ["--failed"]
    last = {}
    totals = {}
    told = []
    for path in paths[names_only:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                test = json.loads(line)
                passed_before = totals.get(test["name"], (0,))[0] if ONLY_FAILED.search(output_of(test)) else 0
                passed, *others = cases(test)
                totals[test["name"]] = (passed_before + passed, *others)
                last[test["name"]] = test
                if test["result"] not in ("OK", "SKIP"):
                    told += [(test["name"], complaint) for complaint in complaints(test)]
    bad = {name for name, test in last.items() if test["result"] not in ("OK", "SKIP")}
    if names_only:
        for name in sorted(bad):
            print(suite_name(last[name]))
        return 0
    for name, complaint in told:
        print(f"{'failed' if name in bad else 'unsteady'}: {name}: {complaint}")
    slow = [test for test in last.values() if test["duration"] >= LONG]
    if slow:
        slow.sort(key=lambda test: -test["duration"])
        print("slowest:", ", ".join(f"{suite_name(test)} {test['duration']:.0f} s" for test in slow))
    if not last:
        print("no test ran")
        return 1
    print("count:", *(sum(column) for column in zip(*totals.values())))
    return 1 if bad else 0


sys.exit(main(sys.argv[1:]))
