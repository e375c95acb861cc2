"""The protocol's rules on the real binary: both eras, framing, limits, cancellation, and its end.

Calls run on berth-direct, which needs nothing of the host: what isolates is tested elsewhere.
What many calls at once do is in test_in_flight.py, for sandboxes as well."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import LEGACY, MODERN, ROOT, Berth, Pending, RpcError, binary_path
from state_directory import StateDirectory
from test_in_flight import Cases

META = {"io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {}}
SLEEP = {"command": "sleep 30"}


def request(request_id, method, params=None, modern=False):
    params = dict(params or {})
    if modern:
        params["_meta"] = META
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


class ProtocolTest(unittest.TestCase):
    def setUp(self):
        self.state = StateDirectory()
        self.state.__enter__()
        self.addCleanup(self.state.__exit__, None, None, None)

    def start(self, *arguments, **options):
        berth = Berth(*arguments, state=self.state, binary=binary_path("berth-direct"), **options)
        self.addCleanup(berth.__exit__, None, None, None)
        return berth

    def exchange(self, *messages, arguments=()):
        """Sends lines (bytes as they stand), closes, and returns what came back."""
        lines = [line if isinstance(line, bytes) else json.dumps(line).encode()
                 for line in messages]
        done = subprocess.run([binary_path("berth-direct"), *arguments],
                              input=b"\n".join(lines) + b"\n", capture_output=True, timeout=20,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def code(self, *messages):
        answers = self.exchange(*messages)
        self.assertEqual(len(answers), 1, answers)
        return answers[0]["error"]["code"]

    # ---- the two eras

    def test_a_modern_client_discovers_lists_and_calls(self):
        berth = self.start(era="modern")
        found = berth.request("server/discover")
        self.assertEqual(found["resultType"], "complete")
        self.assertEqual(found["supportedVersions"], [MODERN])
        self.assertEqual(found["capabilities"], {"tools": {}})
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

    def config(self, text):
        path = self.state.path / "berth.toml"
        path.write_text(text)
        return str(path)

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

    def wait_for(self, condition, timeout=10):
        end = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), end, "it did not come")
            time.sleep(0.01)

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

    def test_a_long_call_tells_its_progress(self):
        """At least every ten seconds, as long as it lasts."""
        def beats(berth):
            return [message["params"] for message in berth.notifications
                    if message["method"] == "notifications/progress"]

        begin = time.monotonic()
        calls = {}
        for era, token in (("modern", 7), ("legacy", "seven")):
            berth = self.start(era=era)
            calls[berth] = token, berth.call_async("bash_exec", SLEEP, progress_token=token)
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

    def test_a_client_that_no_longer_reads_ends_it(self):
        server = subprocess.Popen([binary_path("berth-direct")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.addCleanup(server.kill)
        server.stdout.close()
        server.stdin.write(json.dumps(request(1, "ping")).encode() + b"\n")
        server.stdin.flush()
        self.assertEqual(server.wait(2), 0)
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
            self.assertEqual(server.wait(3), 0)
            server.stdin.close()

    def test_a_limit_of_file_sizes_ends_no_server(self):
        lines = b"".join(json.dumps(message).encode() + b"\n" for message in (
            request(1, "initialize", {"protocolVersion": LEGACY}),
            request(2, "tools/list"),
            request(3, "tools/call", {"name": "bash_exec", "arguments": {"command": "echo hi"}})))
        for limit in ("1000", "1000000"):
            done = subprocess.run(["prlimit", f"--fsize={limit}", binary_path(), "serve",
                                   "--state-dir", str(self.state.path / "s")],
                                  input=lines, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
            self.assertEqual(set(answers), {1, 2, 3})
            self.assertIn("result", answers[3])

    def test_requests_that_were_piped_in_are_answered(self):
        answers = self.exchange(request(1, "initialize", {"protocolVersion": LEGACY}),
                                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                                request(2, "tools/list"))
        self.assertEqual({answer["id"] for answer in answers}, {1, 2})

    # ---- the command line

    def run_command(self, *arguments, stdin=""):
        return subprocess.run([binary_path("berth-direct"), *arguments], input=stdin, text=True,
                              capture_output=True, timeout=30,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})

    def test_call_prints_the_text_and_says_by_its_status_how_it_went(self):
        done = self.run_command("call", "bash_exec", '{"command":"echo hi"}')
        self.assertEqual((done.returncode, done.stdout), (0, "hi\n"))
        done = self.run_command("call", "bash_exec", "-", "--json", stdin='{"command":"exit 3"}')
        self.assertEqual(json.loads(done.stdout)["_meta"]["berth/result"]["exit_code"], 3)
        self.assertEqual(self.run_command("call", "read_file", '{"path":"/none"}').returncode, 1)
        self.assertEqual(self.run_command("call", "no_such_tool").returncode, 1)
        self.assertEqual(self.run_command("call", "bash_exec", "{").returncode, 2)

    def test_output_that_is_lost_is_a_failure(self):
        with open("/dev/full", "w") as full:
            for arguments in (("call", "bash_exec", '{"command":"echo hi"}'), ("version",),
                              ("config", "--json")):
                done = subprocess.run([binary_path("berth-direct"), *arguments], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=30,
                                      env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("the output cannot be written: No space left", done.stderr)

    def test_an_interrupted_call_stops_its_command(self):
        # A file: the guest of the direct backend holds a pipe open for as long as its session.
        said = tempfile.TemporaryFile("w+")
        self.addCleanup(said.close)
        self.addCleanup(self.run_command, "sessions", "kill", "work", "--purge")
        for session in ((), ("--session", "work")):
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
                with self.subTest(f"{session} {status}"):
                    mark = f"{300 + status}.{len(session)}"
                    call = subprocess.Popen(
                        # An ignored signal stays ignored, as under nohup: not here.
                        ["env", "--default-signal", binary_path("berth-direct"), "call", "bash_exec",
                         json.dumps({"command": f"trap '' TERM; setsid sleep {mark} & wait"}),
                         *session],
                        stdout=said, stderr=said,
                        env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
                    self.addCleanup(call.kill)
                    sleeps = lambda: [line for line in self.state.processes().values()
                                      if line.startswith(f"sleep {mark}")]
                    self.wait_for(sleeps)
                    started = time.monotonic()
                    call.send_signal(number)
                    self.wait_for(lambda: not sleeps(), 2)
                    self.assertEqual(call.wait(3), status)
                    self.assertLess(time.monotonic() - started, 2.5)
                    said.seek(0)
                    self.assertEqual(said.read().count("bash_exec was interrupted"), 1)
                    said.truncate(said.seek(0))

    def test_settings_that_are_wrong_stop_the_start_and_say_why(self):
        done = self.run_command("--config", self.config("[exec]\ntimeuot = 3\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("exec.timeout", done.stderr)
        done = self.run_command("--network", "lan")
        self.assertEqual(done.returncode, 2)
        self.assertIn('"none", "host"', done.stderr)
        self.assertEqual(self.run_command("--no-such-flag").returncode, 2)
        done = self.run_command("serve", "--require", "userns")  # of which `direct` has none
        self.assertEqual(done.returncode, 2)
        self.assertIn('there is no layer "userns"', done.stderr)

    def test_the_looking_commands_speak_json(self):
        config = json.loads(self.run_command("config", "--json", "--network", "host").stdout)
        self.assertEqual(config["network"], {"value": "host", "origin": "flag --network"})
        self.assertEqual(config["state_dir"]["origin"], "environment BERTH_STATE_DIR")
        version = json.loads(self.run_command("version", "--json").stdout)
        self.assertEqual(version["protocol_revisions"],
                         [MODERN, LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"])
        self.check_version(version, self.run_command("version").stdout)
        self.assertTrue(json.loads(self.run_command("status", "--json").stdout)["available"])
        self.assertEqual(json.loads(self.run_command("sessions", "list", "--json").stdout), [])
        self.assertEqual(self.run_command("sessions", "kill", "none").returncode, 1)

    def check_version(self, version, text):
        """That of the project, the commit it was built from, and every library that is in it."""
        declared = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
        self.assertEqual(version["version"], declared)
        self.assertRegex(version["commit"], r"^([0-9a-f]{7,}\+?|unknown)$")
        inside = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True,
                                check=False)
        if inside.returncode == 0:
            self.assertNotEqual(version["commit"], "unknown")
        libraries = dict(library.rsplit(" ", 1) for library in version["libraries"].split(", "))
        self.assertEqual(set(libraries), {"nlohmann_json", "spdlog", "toml++", "CLI11", "RE2",
                                          "libseccomp", "libcrypto (OpenSSL)"})
        for library, number in libraries.items():
            self.assertRegex(number, r"^[0-9]", library)
            self.assertNotRegex(number, r"^0\.0\.0$", library)
        for part in (declared, version["commit"], version["libraries"], LEGACY):
            self.assertIn(part, text)

    def test_half_a_character_is_answered_by_its_id(self):
        request = (r'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write_file",'
                   r'"arguments":{"path":"f","content":"\ud83d"}}}')
        done = subprocess.run([binary_path(), "serve"], input=request + "\n", text=True,
                              capture_output=True, timeout=30,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path / "s")})
        answer = json.loads(done.stdout)
        self.assertEqual(answer["id"], 7)
        self.assertTrue(answer["result"]["isError"])
        text = answer["result"]["content"][0]["text"]
        self.assertIn('the text in "content" has half a character', text)
        self.assertIn("Send it again", text)

    def run_berth(self, state, *arguments, stdin="", **options):
        return subprocess.run([binary_path(), *arguments, "--state-dir", str(state)], text=True,
                              input=stdin, capture_output=True, timeout=30, **options)

    def test_an_unusable_state_directory_is_the_same_to_everyone_and_stays_as_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            open(os.path.join(folder, "foreign"), "w").close()
            for arguments in (("status",), ("doctor",), ("call", "bash_exec", '{"command":"true"}')):
                done = self.run_berth(folder, *arguments)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn("may be written to by other users", done.stdout + done.stderr)
                self.assertNotIn("chmod", done.stdout + done.stderr)
            listed = self.run_berth(folder, stdin='{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
            tools = {tool["name"]: tool["description"]
                     for tool in json.loads(listed.stdout)["result"]["tools"]}
            self.assertIn("DISABLED", tools["bash_exec"])
            self.assertEqual(os.listdir(folder), ["foreign"])

    def test_what_only_looks_makes_no_state_directory(self):
        state = self.state.path / "none"
        self.run_berth(state, "status")
        self.run_berth(state, "sessions", "list")
        self.run_berth(state, "call", "session_info")
        self.assertFalse(state.exists())

    def test_a_layer_that_there_is_not_is_a_usage_error(self):
        done = self.run_berth(self.state.path / "s", "serve", "--require", "foo")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('there is no layer "foo"', done.stderr)

    def test_a_mount_that_no_machine_can_have_stops_the_start(self):
        def start(mount):
            return subprocess.run([binary_path(), "serve", "--mount", mount], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=30,
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path / "s")})
        with tempfile.TemporaryDirectory() as folder:
            for target in ("/etc", "/usr/share/x", "/proc", "/home/user"):
                done = start(f"{folder}:{target}")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"mount target {target} would hide a part of the sandbox",
                              done.stderr)
            done = start(f"{folder}:/mnt/a,{folder}:/mnt/a/:rw")
            self.assertEqual(done.returncode, 2)
            self.assertIn("two mounts have the target /mnt/a (flag --mount)", done.stderr)
            done = start(f"{folder}:/mnt/a,{folder}:/mnt/a/none:rw")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"make the folder {folder}/none on the host", done.stderr)
            # Who looks or cleans up is not kept from it by a mount of the next session.
            for arguments in (("status",), ("doctor",), ("sessions", "list")):
                done = self.run_berth(self.state.path / "s", *arguments, "--mount",
                                      f"{folder}:/mnt/a,{folder}:/mnt/a/none:rw")
                self.assertEqual(done.returncode, 0, done.stderr)
            odd = os.path.join(folder, "a:b,c")
            os.mkdir(odd)
            done = start(f"{odd}:/mnt/x")
            self.assertEqual(done.returncode, 2)
            self.assertIn("a path with a comma in it can be given in the file", done.stderr)
            os.rename(odd, odd.replace(",", ":"))
            self.assertEqual(start(f"{odd.replace(',', ':')}:/mnt/x").returncode, 0)

    def test_a_misspelt_variable_is_told_on_stderr(self):
        berth = self.start(env={"BERTH_SESION": "work"}, era="modern")
        berth.list_tools()
        berth.close()
        self.assertIn("variable=BERTH_SESION did_you_mean=BERTH_SESSION", berth.stderr)

    def test_the_status_has_jobs_and_errors(self):
        berth = self.start("--session", "busy", era="modern")
        berth.call_tool("bash_exec", {"command": "sleep 300 >/dev/null 2>&1 &"})
        status = json.loads(self.run_command("status", "--json").stdout)
        self.assertEqual([(job["session"], job["processes"]) for job in status["jobs"]],
                         [("busy", 1)])
        self.assertEqual(status["recent_errors"], [])
        self.assertIn("sleep 300", self.run_command("status").stdout)
        pending = berth.call_async("bash_exec", SLEEP)
        self.wait_for(lambda: berth.call_tool("session_info").data["commands_in_flight"])
        self.run_command("sessions", "kill", "busy")
        self.assertEqual(pending.result(10).error["code"], "session_lost")
        status = json.loads(self.run_command("status", "--json").stdout)
        self.assertEqual([(error["code"], error["tool"], error["session"])
                          for error in status["recent_errors"]],
                         [("session_lost", "bash_exec", "busy")])

    def test_tools_can_be_left_out(self):
        berth = self.start("--read-only", "--tools", "read_file,write_file", era="modern")
        self.assertEqual([tool["name"] for tool in berth.list_tools()], ["read_file"])
        with self.assertRaises(RpcError) as refused:
            berth.call_tool("write_file", {"path": "a", "content": ""})
        self.assertIn("--read-only", refused.exception.message)

    def test_structured_content_is_sent_when_it_is_asked_for(self):
        berth = self.start("--structured-content", era="modern")
        tool = next(tool for tool in berth.list_tools() if tool["name"] == "bash_exec")
        self.assertEqual(tool["outputSchema"]["type"], "object")
        result = berth.call_tool("bash_exec", {"command": "echo hi"})
        self.assertEqual(result.structured["stdout"], "hi\n")
        self.assertEqual(result.data, result.structured)


class InFlightTest(Cases, unittest.TestCase):
    program = "berth-direct"


if __name__ == "__main__":
    unittest.main()
