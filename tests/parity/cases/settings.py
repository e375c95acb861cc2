"""Settings reach the tool that they are of: the same calls do one thing with the setting, and another
without it."""

import base64
import random

from picture import noise
from suite import ParityTest

RANDOM = random.Random(1)
FILES = {
    "lines": "".join(f"line {number}\n" for number in range(1, 2001)),
    "wide": "x" * 200 + "needle" + "y" * 200 + "\n",
    # RE2's automaton gets a new state with each letter.
    "slow": "".join(RANDOM.choice("ab") for _ in range(600_000)) + "\n",
}
SLOW = "[ab]*a[ab]{500}c"


def timed_out(result):
    return result.data.get("fate") == "timed_out"


def is_short(result):
    return result.data["stdout_truncated"] and len(result.data["stdout"]) < 1_300


# (setting, value, the calls, what is true of the last one's result with the setting, and only then)
TABLE = [
    ("EXEC_TIMEOUT", "1s", [("bash_exec", {"command": "sleep 2"})], timed_out),
    ("EXEC_MAX_TIMEOUT", "150s", [("bash_exec", {"command": "true", "timeout": 200})],
     lambda result: result.error.get("code") == "invalid_argument"),
    ("STICKY_CWD", "false", [("bash_exec", {"command": "cd /tmp"}),
                             ("bash_exec", {"command": "test $PWD = $HOME && echo home; cd ~"})],
     lambda result: result.data["stdout"] == "home\n"),
    ("OUTPUT_BUDGET", "1000", [("bash_exec", {"command": "cat lines"})], is_short),
    ("READ_LIMIT", "5", [("read_file", {"path": "lines"})],
     lambda result: result.data["line_count"] == 5 and result.data["next_offset"] == 5),
    ("READ_BUDGET", "1000", [("read_file", {"path": "lines"})],
     lambda result: len(result.data["content"]) <= 1000 and
     result.data["truncated_by"] == "budget"),
    ("READ_IMAGE", "2KiB", [("read_file", {"path": "picture.png"})],
     lambda result: not result.images and "too large to show" in result.text),
    ("GREP_LIMIT", "3", [("grep_files", {"pattern": "line", "path": "lines"})],
     lambda result: (result.data["listed"], result.data["truncated_by"]) == (3, "limit")),
    ("GREP_LINE", "20", [("grep_files", {"pattern": "needle", "path": "wide"})],
     lambda result: len(result.data["files"][0]["lines"][0]["text"]) <= 30),
    ("GLOB_LIMIT", "2", [("glob_files", {"pattern": "*"})],
     lambda result: len(result.data["paths"]) == 2),
    ("SEARCH_TIME", "100ms", [("grep_files", {"pattern": SLOW, "path": "slow"})],
     lambda result: (result.data["complete"], result.data["truncated_by"]) == (False, "time")),
    ("EDIT_MAX_FILE", "1KiB", [("edit_file", {"path": "lines", "old_text": "line 7\n",
                                              "new_text": "line 7\n\n", "dry_run": True})],
     lambda result: result.error.get("code") == "too_large"),
]


class SettingsTest(ParityTest):
    environment = {"BERTH_SEARCH_TIME": "300s"}  # the ten seconds of the default may pass on a busy host

    def setUp(self):
        super().setUp()
        for path, content in FILES.items():
            self.call("write_file", path=path, content=content)
        self.call("write_file", path="picture.png", encoding="base64",
                  content=base64.b64encode(noise(40)).decode())

    def last(self, server, calls):
        for tool, arguments in calls:
            result = server.call_tool(tool, arguments)
        return result

    def test_each_reaches_its_tool(self):
        for setting, value, calls, is_so in TABLE:
            with self.subTest(setting):
                plain = self.last(self.berth, calls)
                self.assertFalse(is_so(plain), f"without the setting: {plain}")
                berth = self.start("--session", "work", env={f"BERTH_{setting}": value})
                obeyed = self.last(berth, calls)
                self.assertTrue(is_so(obeyed), obeyed)
                self.assertEqual(obeyed.notices, [])  # none of them is the sandbox's
                berth.close()

    def test_a_profile_cuts_timeouts_and_says_so(self):
        """As LangBot's Box does; where no profile has a maximum it is refused."""
        server = self.start("--session", "cut", env={"BERTH_PROFILE": "offline-readonly",
                                                     "BERTH_EXEC_MAX_TIMEOUT": "10min"})
        cut = server.call_tool("bash_exec", {"command": "echo a", "timeout": 90})
        self.assertEqual(cut.data["stdout"], "a\n")
        self.assertEqual(cut.notices, ["timeout: 90 s were asked for, and are cut to the maximum of 60 s "
                                       "that is set here"])
        self.assertEqual(server.call_tool("bash_exec", {"command": "echo a", "timeout": 60}).notices, [])
        job = server.call_tool("bash_exec", {"command": "sleep 300", "background": True, "timeout": 7200})
        self.assertEqual(len(job.notices), 1)
        told = server.call_tool("bash_output", {"job_id": job.data["job_id"]}).data
        self.assertLessEqual(told["remaining_ms"], 60_000)
        claude = self.start("--session", "cut", "--tool-dialect", "claude", structured=False,
                            env={"BERTH_PROFILE": "offline-readonly"})
        cut = claude.call_tool("Bash", {"command": "echo a", "timeout": 90_000})
        self.assertIn("timeout: 90 s were asked for", cut.text)
        self.assertFalse(cut.is_error, cut)
