"""The protocol's rules on the real binary: both eras, framing, limits, cancellation, and its end.

Calls run on berth-direct, which needs nothing of the host: what isolates is tested elsewhere.
What many calls at once do is in test_in_flight.py, for sandboxes as well."""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import META, SLEEP, Bench, request
from mcp_client import LEGACY, MODERN, Pending, Result, RpcError, binary_path, is_sanitized
from test_in_flight import Cases


class ProtocolTest(Bench):
    # ---- the two eras

    def test_a_modern_client_discovers_lists_and_calls(self):
        berth = self.start(era="modern")
        found = berth.request("server/discover")
        self.assertEqual(found["resultType"], "complete")
        self.assertEqual(found["supportedVersions"], [MODERN])
        self.assertEqual(found["capabilities"], {"tools": {}, "logging": {}, "resources": {},
                                                 "prompts": {}, "completions": {}})
        self.assertLess(len(found["instructions"]), 4096)
        listed = berth.request("tools/list")
        self.assertEqual(listed["cacheScope"], "private")
        self.assertGreaterEqual(listed["ttlMs"], 0)
        names = [tool["name"] for tool in listed["tools"]]
        self.assertEqual(names, sorted(names))
        self.assertIn("bash_exec", names)
        result = berth.call_tool("bash_exec", {"command": "echo hi"})
        self.assertEqual(result.raw["resultType"], "complete")
        self.assertEqual(result.text, "hi\n")
        self.assertEqual(result.data["exit_code"], 0)
        self.assertNotIn("stdout", result.data)

    def test_a_legacy_client_shakes_hands_pings_and_calls(self):
        for version in (LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"):
            with self.subTest(version):
                berth = self.start(handshake=False)
                self.assertEqual(berth.initialize(version)["protocolVersion"], version)
                self.assertEqual(berth.request("ping"), {})
                result = berth.call_tool("bash_exec", {"command": "echo hi"})
                self.assertNotIn("resultType", result.raw)
                self.assertEqual(result.text, "hi\n")

    def test_eras_mix_on_one_connection(self):
        berth = self.start(era="modern")
        berth.request("server/discover")
        berth.era = "legacy"
        self.assertEqual(berth.initialize()["protocolVersion"], LEGACY)
        self.assertNotIn("resultType", berth.request("tools/list"))
        berth.era = "modern"
        self.assertEqual(berth.request("tools/list")["resultType"], "complete")
        for method in ("initialize", "ping", "logging/setLevel"):
            with self.assertRaises(RpcError) as refused:
                berth.request(method, {"protocolVersion": LEGACY})
            self.assertEqual(refused.exception.code, -32601)

    def test_versions_and_envelopes_are_checked(self):
        berth = self.start(era="legacy", handshake=False)
        wrong = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        with self.assertRaises(RpcError) as refused:
            berth.request("tools/list", {"_meta": wrong})
        self.assertEqual(refused.exception.code, -32022)
        self.assertEqual(refused.exception.data,
                         {"supported": [MODERN], "requested": "2099-01-01"})
        with self.assertRaises(RpcError) as refused:
            berth.request("tools/list",
                          {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}})
        self.assertEqual(refused.exception.code, -32602)

    def test_errors_of_the_request_and_of_the_tool_differ(self):
        berth = self.start(era="modern")
        for params in ({"name": "no_such_tool"}, {"name": "bash_exec", "arguments": []}, {}):
            with self.assertRaises(RpcError) as refused:
                berth.request("tools/call", params)
            self.assertEqual(refused.exception.code, -32602)
        result = berth.call_tool("bash_exec", {"comand": "ls"})
        self.assertTrue(result.is_error)
        self.assertEqual(result.error["code"], "invalid_argument")

    # ---- framing and limits

    def test_what_cannot_be_read_is_answered_and_survived(self):
        ping = request(1, "ping")
        for line, code in ((b"{", -32700), (b"\xff\xfe", -32700), (b'"\xc3("', -32700),
                           (b"[" * 100_000, -32600), (b'{"a":' * 100_000, -32600),
                           (b'{"id":1,"id":2}', -32600), (b"7", -32600), (b"[]", -32600)):
            with self.subTest(line[:20]):
                bad, good = self.exchange(line, ping)
                self.assertEqual((bad["id"], bad["error"]["code"]), (None, code))
                self.assertEqual(good, {"jsonrpc": "2.0", "id": 1, "result": {}})

    def test_a_call_that_broke_off_is_answered_by_its_id_and_nothing_of_it_is_done(self):
        berth = self.start(era="modern")
        call = {"jsonrpc": "2.0", "id": "cut", "method": "tools/call", "params": {
            "name": "write_file", "arguments": {"path": "half", "content": "x" * 100}}}
        line = json.dumps(call).encode()
        advice = "write_file with the first part, then more calls with mode \"append\""
        for size in (len(line) - 1, len(line) - 3, len(line) - 50, line.index(b"content")):
            for era in ("modern", "legacy"):
                with self.subTest(size=size, era=era):
                    berth.era = era
                    if era == "legacy":
                        berth.initialize()
                    pending = berth._pending["cut"] = Pending("cut")
                    berth.send_line(line[:size])
                    result = pending.result(20)
                    self.assertEqual(result.error["code"], "invalid_argument")
                    self.assertIn("the request arrived cut off: the JSON ends in the middle, after "
                                  f"{size} bytes", result.text)
                    self.assertIn(advice, result.error["hint"])
                    self.assertEqual(result.error["details"]["cut_off"], {
                        "arrived_as": "message", "bytes": size, "certain": True})
        # Where the tool is not known the advice is a general one; without an id there is only null.
        pending = berth._pending["cut"] = Pending("cut")
        berth.send_line(line[:line.index(b'"name"') + 3])
        self.assertIn("What is too long for one call goes in pieces", pending.result(20).text)
        berth.send_line(line[:20])
        self.wait_for(lambda: berth.strays)
        self.assertEqual((berth.strays[0]["id"], berth.strays[0]["error"]["code"],
                          berth.strays[0]["error"]["data"]), (None, -32700, {"cut_off": True}))
        self.assertEqual(berth.call_tool("bash_exec", {"command": "ls"}).text, "(no output)")

    def test_arguments_that_are_a_string_are_refused_as_the_tool_s_error(self):
        berth = self.start(era="modern")
        half = '{"path": "half", "content": "xx'
        cut_off = {"bytes": len(half), "certain": True}
        for arguments, details in (
                (half, {"arrived_as": "string", **cut_off}),
                ({"_raw": half}, {"arrived_as": "wrapper", "argument": "_raw", **cut_off}),
                ({"__unparsedToolInput": {"raw": half, "len": 900}},
                 {"arrived_as": "wrapper", "argument": "__unparsedToolInput", **cut_off})):
            result = Result(berth.request("tools/call", {"name": "write_file",
                                                         "arguments": arguments}))
            self.assertTrue(result.is_error)
            self.assertIn("arrived cut off", result.text)
            self.assertIn("mode \"append\"", result.error["hint"])
            self.assertEqual(result.error["details"], {"cut_off": details})
        whole = Result(berth.request("tools/call", {"name": "write_file", "arguments":
                                                    '{"path": "half", "content": ""}'}))
        self.assertIn("Send the arguments as an object", whole.text)
        self.assertEqual(berth.call_tool("bash_exec", {"command": "ls"}).text, "(no output)")

    def test_a_client_that_repeats_a_failing_call_is_told(self):
        for era in ("modern", "legacy"):
            berth = self.start(era=era)
            texts = []
            for _ in range(3):
                time.sleep(0.3)  # a turn of a model: what comes sooner was sent together
                texts.append(berth.call_tool("read_file", {"path": "nothing"}).text)
            self.assertEqual([text.count("in a row") for text in texts], [0, 0, 1])
            self.assertIn("has now failed 3 times in a row", texts[2])

    def test_a_tool_s_name_is_told_where_it_is_mistyped(self):
        berth = self.start(era="modern")
        with self.assertRaises(RpcError) as refused:
            berth.call_tool("readfile", {"path": "a"})
        self.assertEqual(refused.exception.message, "Unknown tool: readfile; did you mean read_file?")
        for wanted, told in (("raed_file", "did you mean read_file?"),
                             ("READ_FILE", "did you mean read_file?"),
                             ("BashOutput", "did you mean bash_output?"),
                             ("KillShell", "here it is bash_kill"),
                             ("apply_patch", "here it is edit_file"),
                             ("mcp__berth__bash_exec", "here it is bash_exec"),
                             ("mcp__files__Grep", "here it is grep_files"),
                             ("LS", "here it is read_file")):
            with self.subTest(wanted), self.assertRaises(RpcError) as refused:
                berth.call_tool(wanted, {})
            self.assertEqual(refused.exception.message, f"Unknown tool: {wanted}; {told}")
        with self.assertRaises(RpcError) as refused:
            berth.call_tool("nosuch", {})
        served = ", ".join(tool["name"] for tool in berth.request("tools/list")["tools"])
        self.assertEqual(refused.exception.message, f"Unknown tool: nosuch; there are {served}")

    def test_no_tool_that_deletes_is_meant_unless_the_name_says_so(self):
        berth = self.start(era="modern")
        for wanted, told in (("read_workspace_file", "here it is load_from_workspace"),
                             ("write_workspace_file", "here it is save_to_workspace"),
                             ("delete_workspace_files", "did you mean delete_workspace_file?"),
                             ("remove_workspace_file", "did you mean delete_workspace_file?"),
                             ("delte_workspace_file", "did you mean delete_workspace_file?")):
            with self.subTest(wanted), self.assertRaises(RpcError) as refused:
                berth.call_tool(wanted, {})
            self.assertEqual(refused.exception.message, f"Unknown tool: {wanted}; {told}")
        for wanted in ("move_workspace_file", "rename_workspace_file", "dele_workspace_file2"):
            with self.subTest(wanted), self.assertRaises(RpcError) as refused:
                berth.call_tool(wanted, {})
            self.assertNotIn("did you mean delete", refused.exception.message)

    def test_arguments_that_are_null_are_none(self):
        berth = self.start()
        given = {"name": "session_info", "arguments": None}
        self.assertFalse(berth.request("tools/call", given).get("isError"))
        self.assertTrue(berth.request("tools/call", {"name": "bash_exec", "arguments": None})["isError"])

    def test_ids_are_strings_or_integers_and_echoed_exactly(self):
        for wrong in ("null", "1.5", "true", "[1]", "{}"):
            line = b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % wrong.encode()
            self.assertEqual(self.code(line), -32600)
        for good in (0, -7, 2 ** 53 + 1, "", "1", "é\n"):
            self.assertEqual(self.exchange(request(good, "ping"))[0]["id"], good)

    def test_an_oversized_line_is_skipped_in_bounded_memory(self):
        berth = self.start("--config", self.config("[request]\nmax = \"1MiB\"\n"))
        berth.call_tool("session_info")
        before = berth.resident_kilobytes()
        for _ in range(64):
            with berth._lock:  # one line of 64 MiB
                berth.process.stdin.write(b"x" * (1 << 20))
        berth.send_line(b"")
        self.assertEqual(berth.request("ping"), {})
        self.assertLess(berth.resident_kilobytes() - before, 8 << 10)
        self.assertEqual([stray["error"]["code"] for stray in berth.strays], [-32600])

    def test_an_oversized_call_is_answered_by_its_id(self):
        berth = self.start(era="modern")
        content = "x" * (33 << 20)
        arguments = {"path": "big", "content": content, "id": "inner"}
        for era in ("modern", "legacy"):
            berth.era = era
            if era == "legacy":
                berth.initialize()
            # Python's clients write the id first, those in TypeScript last.
            for first in (True, False):
                call = {"method": "tools/call", "params": {"name": "write_file",
                                                           "arguments": arguments}}
                rest = {"jsonrpc": "2.0", "id": f"{era} {first}"}
                message = {**rest, **call} if first else {**call, **rest}
                with self.subTest(message["id"]):
                    pending = berth._pending[message["id"]] = Pending(message["id"])
                    berth.send(message)
                    result = pending.result(20)
                    self.assertEqual(result.error["code"], "too_large")
                    self.assertIn("append", result.error["hint"])
                    self.assertEqual("resultType" in result.raw, era == "modern")
        self.assertEqual(berth.call_tool("bash_exec", {"command": "ls"}).data["exit_code"], 0)
        self.assertEqual(berth.strays, [])

    def test_batches_only_in_the_revision_that_has_them(self):
        batch = [request(2, "ping"), request(3, "tools/list"), request(4, "nope")]
        self.assertEqual(self.code(batch), -32600)
        server = subprocess.Popen([binary_path("berth-direct")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        with server:
            def ask(message):
                server.stdin.write(json.dumps(message).encode() + b"\n")
                server.stdin.flush()
                return json.loads(server.stdout.readline())

            ask(request(1, "initialize", {"protocolVersion": "2025-03-26"}))
            answers = {answer["id"]: answer for answer in ask(batch)}
            self.assertEqual(answers[2]["result"], {})
            self.assertIn("tools", answers[3]["result"])
            self.assertEqual(answers[4]["error"]["code"], -32601)
            modern = [request(5, "ping"), request(6, "tools/list", modern=True)]
            self.assertEqual(ask(modern)["error"]["code"], -32600)
            server.stdin.close()

    # ---- calls in flight

    def test_an_id_in_flight_is_not_taken_twice(self):
        berth = self.start(era="modern")
        slow = berth.request_async("tools/call", {"name": "bash_exec", "arguments": SLEEP},
                                   request_id="same")
        second = berth.request_async("ping", request_id="same")
        with self.assertRaises(RpcError) as refused:
            second.wait()
        self.assertEqual(refused.exception.code, -32600)
        self.assertFalse(slow.answered())

    def test_a_flood_of_notifications_costs_nothing_and_cancels_nothing_that_is_not_there(self):
        """Nor what has that id later, or had it before."""
        berth = self.start()
        ran = berth.call_async("session_info")
        self.assertFalse(ran.result().is_error)
        coming = berth.request_async("ping")
        coming.wait()
        before = berth.resident_kilobytes()
        flood = [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
                 for params in ({"requestId": ran.id}, {"requestId": coming.id + 1}, {"requestId": "none"},
                                {"requestId": [1]}, {})]
        flood += [{"jsonrpc": "2.0", "method": "notifications/never", "params": {"x": "y" * 1000}},
                  {"jsonrpc": "2.0", "method": "notifications/initialized"}]
        lines = b"\n".join(json.dumps(each).encode() for each in flood)
        for _ in range(2000):
            berth.send_line(lines)
        after = berth.call_async("session_info")
        self.assertEqual(after.id, coming.id + 1)
        self.assertFalse(after.result().is_error)
        if not is_sanitized(berth.pid):
            self.assertLess(berth.resident_kilobytes() - before, 4 << 10)
        self.assertEqual((berth.strays, berth.notifications), ([], []))

    def test_a_long_call_tells_its_progress(self):
        """At least every ten seconds, as long as it lasts."""
        def beats(berth):
            return [message["params"] for message in berth.notifications
                    if message["method"] == "notifications/progress"]

        calls = {}
        for era, token in (("modern", 7), ("legacy", "seven")):
            berth = self.start(era=era)
            calls[berth] = token, berth.call_async("bash_exec", SLEEP, progress_token=token)
        begin = time.monotonic()  # of the calls: a server may take its time to start where others work
        for count in (1, 2):
            self.wait_for(lambda: all(len(beats(berth)) >= count for berth in calls),
                          begin + count * 10 - time.monotonic())
        for berth, (token, slow) in calls.items():
            self.assertEqual({beat["progressToken"] for beat in beats(berth)}, {token})
            told = [beat["progress"] for beat in beats(berth)]
            self.assertGreater(told[0], 0)
            self.assertEqual(told, sorted(set(told)))  # it only grows
            berth.cancel(slow)

    # ---- the end

    def test_the_end_comes_within_a_second_and_leaves_nothing(self):
        ends = {"end of file": lambda berth: berth.process.stdin.close(),
                "SIGINT": lambda berth: berth.signal(signal.SIGINT),
                "SIGTERM": lambda berth: berth.signal(signal.SIGTERM)}
        for name, end in ends.items():
            with self.subTest(name):
                berth = self.start(era="modern")
                berth.call_tool("bash_exec", {"command": "true"})
                berth.call_async("bash_exec", SLEEP)
                time.sleep(0.3)
                self.assertLess(berth.seconds_to_end(end), 1.0)
                self.wait_for(lambda: not self.state.processes())

    def test_who_pipes_calls_through_it_may_read_late(self):
        """As the next program of a shell's pipe, which has yet to start."""
        calls = b"".join(json.dumps(message).encode() + b"\n" for message in (
            request(1, "initialize", {"protocolVersion": LEGACY}),
            request(2, "tools/call", {"name": "bash_exec", "arguments": {"command": "echo hi"}})))

        def piped(reads_after):
            with subprocess.Popen([binary_path(), "serve", "--state-dir", str(self.state.path / "s"),
                                   "--session", "piped"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, bufsize=0) as server:
                self.addCleanup(server.kill)
                server.stdin.write(calls)
                server.stdout.readline()
                self.wait_for(lambda: fcntl.ioctl(server.stdout, termios.FIONREAD, b"\0" * 4) > b"\0" * 4)
                server.stdin.close()
                time.sleep(reads_after)
                return server.stdout.read().splitlines()
        self.addCleanup(subprocess.run, [binary_path(), "sessions", "kill", "piped", "--purge",
                                         "--state-dir", str(self.state.path / "s")],
                        capture_output=True, check=True)
        for _ in range(2):
            answers = piped(0.3)
            self.assertIn(b"hi", answers[-1])
            self.assertNotIn(b"reached nobody", answers[-1])

    def test_a_client_that_no_longer_reads_ends_it(self):
        server = subprocess.Popen([binary_path("berth-direct")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.addCleanup(server.kill)
        server.stdout.close()
        server.stdin.write(json.dumps(request(1, "ping")).encode() + b"\n")
        server.stdin.flush()
        self.assertEqual(server.wait(20), 0)  # its start and its end, on a machine that may be busy
        server.stdin.close()

    def test_a_client_that_no_longer_reads_ends_it_while_there_is_nothing_to_say(self):
        call = request(1, "tools/call", {"name": "bash_exec", "arguments": SLEEP}, modern=True)
        for busy in (False, True):
            server = subprocess.Popen([binary_path("berth-direct")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
            self.addCleanup(server.kill)
            if busy:
                server.stdin.write(json.dumps(call).encode() + b"\n")
                server.stdin.flush()
                self.wait_for(lambda: any("sleep 30" in line
                                          for line in self.state.processes().values()))
            server.stdout.close()
            self.assertEqual(server.wait(20), 0)
            server.stdin.close()

    def test_a_limit_of_file_sizes_ends_no_server(self):
        lines = b"".join(json.dumps(message).encode() + b"\n" for message in (
            request(1, "initialize", {"protocolVersion": LEGACY}),
            request(2, "tools/list"),
            request(3, "tools/call", {"name": "bash_exec", "arguments": {"command": "echo hi"}})))
        for limit in ("1000", "1000000"):
            with subprocess.Popen(["prlimit", f"--fsize={limit}", binary_path(), "serve",
                                   "--state-dir", str(self.state.path / "s")],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as server:
                self.addCleanup(server.kill)
                server.stdin.write(lines)
                server.stdin.flush()
                answers = {answer["id"]: answer for answer in
                           (json.loads(server.stdout.readline()) for _ in range(3))}
                self.assertIn("result", answers[3])
                server.stdin.close()
                self.assertEqual(server.wait(20), 0, server.stderr.read())

    def test_whoever_listens_for_changes_is_told_that_there_will_be_none(self):
        told, ended = self.exchange(request("l", "subscriptions/listen", {"notifications": {
            "promptsListChanged": True, "resourceSubscriptions": ["berth://session"]}}, modern=True))
        self.assertEqual((told["method"], told["params"]["notifications"]),
                         ("notifications/subscriptions/acknowledged", {}))
        self.assertEqual((ended["id"], ended["result"]["resultType"]), ("l", "complete"))
        for message in (told["params"], ended["result"]):
            self.assertEqual(message["_meta"]["io.modelcontextprotocol/subscriptionId"], "l")

    def test_requests_that_were_piped_in_are_answered(self):
        answers = self.exchange(request(1, "initialize", {"protocolVersion": LEGACY}),
                                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                                request(2, "tools/list"))
        self.assertEqual({answer["id"] for answer in answers}, {1, 2})


class InFlightTest(Cases, unittest.TestCase):
    program = "berth-direct"


if __name__ == "__main__":
    unittest.main()
