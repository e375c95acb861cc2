"""A client on stdio that takes nothing of what it is answered, for a while: its calls do their work, it can
cancel, the server holds what it may and no more, and all of it comes in the end. Over HTTP, where such a
client is taken for gone after half a minute: test_http_bounds.py, and tests/unit/server/transport/
http_answers_test.cpp."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import Bench
from mcp_client import is_sanitized, peak_kilobytes

CALLS = 120
SIZE = 400_000
LARGE = {"BERTH_READ_BUDGET": str(SIZE), "BERTH_READ_LIMIT": "100000", "BERTH_OUTPUT_BUDGET": str(SIZE)}
# Each once, and what the server has beside that, while some are made.
MOST = CALLS * SIZE / 1e6 + 100


class DeafTest(Bench):
    def test_a_client_that_takes_nothing_for_a_while_gets_all_of_it(self):
        berth = self.start(era="modern", env=LARGE)
        made = berth.call_tool("bash_exec", {"command": "seq -f %09.0f 40000 >~/text"})
        self.assertFalse(made.is_error, made)
        whole = berth.call_tool("read_file", {"path": "~/text", "line_numbers": False})
        before = peak_kilobytes(berth.pid)
        with berth.reading_paused():
            reads = [berth.call_async("read_file", {"path": "~/text", "line_numbers": False})
                     for _ in range(CALLS)]
            # What was asked for last is done, and what was cancelled is ended.
            marks = [self.state.path / name for name in ("begun", "done")]
            berth.call_async("bash_exec", {"command": f"touch {marks[1]}"})
            cancelled = berth.call_async("bash_exec", {"command": f"touch {marks[0]}; sleep 299"})
            self.wait_for(lambda: all(mark.exists() for mark in marks), 30)
            berth.cancel(cancelled)
            self.wait_for(lambda: not any("sleep 299" in line for line in self.state.processes().values()), 30)
            time.sleep(1)  # whatever is still to come
            more = (peak_kilobytes(berth.pid) - before) / 1024
        answers = [read.result(60) for read in reads]
        print(f"{CALLS} results of {len(whole.text) // 1000} kB that a client takes late: {more:.0f} MB more",
              file=sys.stderr)
        self.assertEqual([answer.text == whole.text for answer in answers], [True] * CALLS)
        if not is_sanitized(berth.pid):
            self.assertLess(more, MOST)


if __name__ == "__main__":
    unittest.main()
