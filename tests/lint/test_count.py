#!/usr/bin/env python3
"""What CI says of test logs: the counts, what failed and what was unsteady."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNT = ROOT / ".ci/count.py"
RULE = "=" * 79
DOCTEST_BAD = f"""[doctest] run with "--help" for options
{RULE}
../a_test.cpp:1:
TEST CASE:  what it is

../a_test.cpp:9: ERROR: CHECK( x < 2 ) is NOT correct!
  values: CHECK( 3 < 2 )

{RULE}
[doctest] test cases: 5 | 4 passed | 1 failed | 0 skipped
"""
DOCTEST_GOOD = f"{RULE}\n[doctest] test cases: 5 | 5 passed | 0 failed | 0 skipped\n"
UNITTEST_BAD = f"""test_one (__main__.Case.test_one) ... FAIL

======================================================================
FAIL: test_one (__main__.Case.test_one)
----------------------------------------------------------------------
Traceback (most recent call last):
{"  a line of the trace" * 80}
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 3 tests in 0.1s

FAILED (failures=1)
"""


def entry(name, result, output="", duration=2.0):
    return {"name": name, "result": result, "duration": duration, "stdout": output}


class CountTest(unittest.TestCase):
    def count(self, *logs, options=()):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, entries in enumerate(logs):
                paths.append(pathlib.Path(folder) / str(number))
                paths[-1].write_text("".join(json.dumps(each) + "\n" for each in entries))
            done = subprocess.run([sys.executable, COUNT, *options, *paths], text=True,
                                  capture_output=True, check=False)
            return done.returncode, done.stdout.splitlines()

    def test_all_is_well(self):
        self.assertEqual(self.count([entry("p / unit", "OK", DOCTEST_GOOD), entry("p / one", "OK")]),
                         (0, ["count: 6 0 0"]))

    def test_what_takes_long_is_told_the_longest_first(self):
        self.assertEqual(self.count([entry("p / quick", "OK"), entry("p / slow", "OK", duration=20),
                                     entry("p:mcp / slower", "OK", duration=61.2)]),
                         (0, ["slowest: slower 61 s, slow 20 s", "count: 3 0 0"]))

    def test_each_failure_is_a_line(self):
        status, lines = self.count([entry("p / unit", "FAIL", DOCTEST_BAD),
                                    entry("p:mcp / mcp", "FAIL", UNITTEST_BAD),
                                    entry("p / slow", "TIMEOUT", "half a")])
        self.assertEqual((status, lines[-1]), (1, "count: 6 3 0"))
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[0], r"^failed: p / unit: .*what it is.*x < 2.*CHECK\( 3 < 2 \)$")
        self.assertRegex(lines[1], r"^failed: p:mcp / mcp: FAIL: test_one.* AssertionError: 1 != 2$")
        self.assertEqual(lines[2], "failed: p / slow: TIMEOUT after 2 s: half a")

    def test_names_for_another_run(self):
        self.assertEqual(self.count([entry("p / as a user", "FAIL"), entry("p:mcp / mcp-one", "FAIL"),
                                     entry("p / unit", "OK")], options=["--failed"]),
                         (0, ["as a user", "mcp-one"]))

    def test_a_suite_that_passes_the_second_time_is_unsteady(self):
        status, lines = self.count([entry("p / unit", "FAIL", DOCTEST_BAD), entry("p / one", "OK")],
                                   [entry("p / unit", "OK", DOCTEST_GOOD)])
        self.assertEqual((status, lines[-1]), (0, "count: 6 0 0"))
        self.assertRegex(lines[0], "^unsteady: p / unit: ")

    def test_a_suite_that_fails_twice_has_failed(self):
        bad = [entry("p / unit", "FAIL", DOCTEST_BAD)]
        status, lines = self.count(bad, bad)
        self.assertEqual((status, lines[-1]), (1, "count: 4 1 0"))
        self.assertTrue(all(line.startswith("failed: ") for line in lines[:-1]))

    def test_what_passed_before_counts_where_only_the_rest_ran_again(self):
        again = "only what failed before: a.Case.test_one\ntest_one ... ok\n\nRan 1 test in 0.1s\n\nOK\n"
        status, lines = self.count([entry("p / parity", "FAIL", UNITTEST_BAD)], [entry("p / parity", "OK", again)])
        self.assertEqual((status, lines[-1]), (0, "count: 3 0 0"))
        self.assertRegex(lines[0], "^unsteady: p / parity: FAIL: test_one")

    def test_skipped_cases_are_counted(self):
        self.assertEqual(self.count([entry("p / one", "SKIP")])[1], ["count: 0 0 1"])
        self.assertEqual(self.count([]), (1, ["no test ran"]))


class StageTest(unittest.TestCase):
    """A stage of tests with a `meson` that writes the logs it is given, and any other."""

    def run_stage(self, first, again):
        with tempfile.TemporaryDirectory() as folder:
            logs = pathlib.Path(folder) / "gcc/meson-logs"
            logs.mkdir(parents=True)
            (logs / "testlog-again.json").write_text(json.dumps(entry("p / of old", "FAIL")) + "\n")
            meson = pathlib.Path(folder) / "meson"
            meson.write_text(f"""#!/bin/sh
case "$*" in
*--logbase*testlog-again*) printf '%s\n' {shlex.quote(json.dumps(again))} >{logs}/testlog-again.json ;;
*) printf '%s\n' {shlex.quote(json.dumps(first))} >{logs}/testlog.json ;;
esac
! grep -q FAIL {logs}/testlog*.json
""")
            sync = pathlib.Path(folder) / "sync"  # the real one may take long
            sync.write_text("#!/bin/sh\n")
            for program in (meson, sync):
                program.chmod(0o755)
            done = subprocess.run(
                ["bash", "-c", f'. {ROOT}/.ci/stages.sh; stage "g++ tests" tests gcc; finish'],
                env={**os.environ, "BERTH_CI_DIR": folder, "PATH": f"{folder}:{os.environ['PATH']}"},
                text=True, capture_output=True, check=False)
            return done.returncode, done.stdout.splitlines()

    def test_the_second_run_of_a_suite_counts(self):
        status, lines = self.run_stage(entry("p / unit", "FAIL", DOCTEST_BAD),
                                       entry("p / unit", "OK", DOCTEST_GOOD))
        self.assertEqual((status, lines[-1]), (0, "5 passed, 0 failed, 0 skipped"))
        self.assertRegex(lines[-3], "^unsteady: p / unit: ")

    def test_a_suite_that_fails_twice_fails_the_stage(self):
        bad = entry("p / unit", "FAIL", DOCTEST_BAD)
        status, lines = self.run_stage(bad, bad)
        self.assertEqual((status, lines[-1]), (1, "4 passed, 1 failed, 0 skipped"))
        self.assertIn("failed stages: g++ tests", lines)

    def test_one_run_is_enough_where_all_passes(self):
        status, lines = self.run_stage(entry("p / unit", "OK", DOCTEST_GOOD), entry("none", "FAIL"))
        self.assertEqual((status, lines[-1]), (0, "5 passed, 0 failed, 0 skipped"))
        self.assertNotIn("unsteady", "".join(lines))

    def test_what_a_stage_left_out_is_told_though_it_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            script = (f'. {ROOT}/.ci/stages.sh; tidy() {{ echo quiet; echo "left out: a.cpp"; }}; '
                      "stage tidy tidy; finish")
            done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=False,
                                  env={**os.environ, "BERTH_CI_DIR": folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out: a.cpp", done.stdout.splitlines())
        self.assertNotIn("quiet", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
