"""The driver itself, tested on a small echo server: a driver that cannot fail proves nothing."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import Berth, Result, RpcError
from state_directory import StateDirectory

SERVER = """\
#!%s
import json, sys, time
print("hello from stderr", file=sys.stderr, flush=True)
for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        print("no json", flush=True)
        continue
    method = message.get("method")
    if "id" not in message:
        answer = {"jsonrpc": "2.0", "method": "notifications/seen", "params": {"method": method}}
    elif method == "fail":
        answer = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": "no"}}
    elif method == "silent":
        continue
    elif method == "end":
        break
    else:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": message["params"]}
    print(json.dumps(answer), flush=True)
"""


class ClientTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.binary = os.path.join(folder.name, "server")
        pathlib.Path(self.binary).write_text(textwrap.dedent(SERVER) % sys.executable)
        os.chmod(self.binary, 0o755)

    def start(self, **options):
        berth = Berth(binary=self.binary, **options)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def test_legacy_shakes_hands(self):
        berth = self.start()
        self.assertEqual(berth.initialize_result["protocolVersion"], "2025-11-25")
        berth.wait_for_notification(
            lambda message: message["params"]["method"] == "notifications/initialized")

    def test_modern_sends_meta_with_each_request(self):
        params = self.start(era="modern").request("x", {"a": 1})
        self.assertEqual(params["a"], 1)
        self.assertEqual(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28")

    def test_answers_find_their_requests(self):
        berth = self.start()
        pending = [berth.request_async("x", {"n": n}) for n in range(50)]
        self.assertEqual([one.wait()["n"] for one in pending], list(range(50)))

    def test_errors_and_silence_are_told_apart(self):
        berth = self.start()
        with self.assertRaises(RpcError):
            berth.request("fail")
        with self.assertRaises(TimeoutError):
            berth.request("silent", timeout=0.1)
        with self.assertRaises(EOFError):
            berth.request("end")

    def test_lines_that_are_no_messages_are_kept(self):
        berth = self.start()
        berth.send_line(b"{ this is no JSON")
        berth.request("x")
        self.assertEqual(berth.strays, [b"no json\n"])

    def test_close_gives_status_and_stderr(self):
        berth = self.start()
        self.assertEqual(berth.close(), 0)
        self.assertEqual(berth.stderr, "hello from stderr\n")

    def test_a_slow_end_is_told_as_slow(self):
        def end_late(berth):
            time.sleep(2)  # more than a machine stands still
            berth.process.stdin.close()
        self.assertGreater(self.start().seconds_to_end(end_late), 1.0)
        self.assertLess(self.start().seconds_to_end(lambda berth: berth.process.stdin.close()), 1.0)

    def test_result(self):
        result = Result({"content": [{"type": "text", "text": "a"}], "isError": True,
                         "_meta": {"berth/error": {"code": "busy"}, "berth/notice": "n"}})
        self.assertEqual((result.text, result.is_error, result.error["code"], result.notices),
                         ("a", True, "busy", ["n"]))


class StateDirectoryTest(unittest.TestCase):
    def test_a_left_process_is_found_and_ended(self):
        with StateDirectory() as state:
            self.assertEqual(state.leaks(), [])
            for arguments, options in ((["sleep", "60"], {"cwd": state.path}),
                                       (["sleep", "60"], {"env": {"X": str(state.path)}}),
                                       ([sys.executable, "-c", "import time; time.sleep(60)",
                                         str(state.path)], {})):
                process = subprocess.Popen(arguments, **options)
                self.assertIn(process.pid, state.processes())
                self.assertNotEqual(state.wait_for_no_leaks(timeout=0.1), [])
                for pid in state.processes():
                    os.kill(pid, 9)
                process.wait()
            self.assertEqual(state.wait_for_no_leaks(timeout=2), [])
        self.assertFalse(state.path.exists())

    def test_folders_without_permissions_are_removed(self):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                if os.geteuid() == 0:  # for whom modes mean nothing
                    os.setgid(65534)
                    os.setuid(65534)
                with StateDirectory() as state:
                    (state.path / "open/shut/deep").mkdir(parents=True)
                    (state.path / "open/shut/deep/f").write_text("")
                    for name in ("open/shut/deep", "open/shut", "open", "."):
                        (state.path / name).chmod(0)
                status = int(state.path.exists())
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
