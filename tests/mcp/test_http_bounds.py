"""What one principal can hold of an HTTP server: memory of what it reads, places of connections and
of calls, whatever tokens it comes with and whether its clients wait for their answers."""

import concurrent.futures
import json
import pathlib
import resource
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import request
from http_bench import JSON, Connection, HttpBench, bearer, token_file
from test_http_issuer import TOKENS, IssuerBench

MEGABYTE = 1 << 20
# Of all that is held 256 MiB, of which a principal has a quarter.
SHARE = 64
READERS = 120
# A GIF with a comment of 3.6 MB, which is within read.image as base64.
MAKE_PICTURE = """python3 - <<'end'
import pathlib
head = b"GIF89a" + bytes([1, 0, 1, 0, 128, 0, 0, 0, 0, 0, 255, 255, 255])
comment = b"!\\xfe" + (b"\\xff" + b"x" * 255) * 14000 + bytes(1)
image = bytes([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0])
(pathlib.Path.home() / "large.gif").write_bytes(head + comment + image + b";")
end"""


class BoundsBench(HttpBench):
    def serve_two(self, **env):
        """Principals, of which the first may have as many calls at once as it likes."""
        self.serve(auth=("--token-file", token_file(
            self.state.path / "tokens.toml",
            a={"token": "t", "principal": "p", "calls": 1000}, b={"token": "u", "principal": "q"})),
            env={"BERTH_RPC_IN_FLIGHT": "256", **env})

    def ask_and_take_nothing(self, method, params, name, headers):
        """The connections of so many that ask for the same."""
        waiting = []
        for number in range(READERS):
            connection = self.connect()
            connection.socket.setsockopt(1, 8, 4096)  # SO_RCVBUF: what it does not read stays there
            connection.post(request(number, method, params, modern=True),
                            self.modern_headers(method, name, **headers))
            waiting.append(connection)
        return waiting


def size_of(headers):
    """What a busy machine takes long for comes as a stream, of which no length is told; who has to wait
    is told at once."""
    return int(headers.get("content-length", 2 * MEGABYTE))


class PlacesTest(BoundsBench):
    def serve_tokens(self, env=None, **calls):
        self.serve(env=env, auth=("--token-file", token_file(
            self.state.path / "tokens.toml",
            a={"token": "t", "principal": "p", **calls}, b={"token": "u", "principal": "q"})))

    def test_the_calls_of_a_batch_that_was_left_are_counted_until_they_have_ended(self):
        self.serve_tokens(calls=4)
        session = self.initialize("2025-03-26", bearer("t"))
        connection = self.connect()
        connection.post([request(number, "tools/call", {"name": "bash_exec", "arguments": {
            "command": "echo >>~/began; sleep 4"}}) for number in range(4)], {**session, **bearer("t")})
        self.wait_for(lambda: self.modern("tools/list", **bearer("t")).status == 429)
        connection.close()
        time.sleep(0.7)
        self.assertEqual(self.modern("tools/list", **bearer("t")).status, 429)
        self.wait_for(lambda: self.modern("tools/list", **bearer("t")).status == 200)

    def test_what_is_no_message_in_a_batch_is_counted_too(self):
        self.serve_tokens()
        session = self.initialize("2025-03-26", bearer("t"))
        answer = self.send([1] * 100, {**session, **bearer("t")})
        self.assertEqual((answer.status, answer.error["data"]["code"]), (429, "busy"), answer)
        answer = self.send([1] * 3, {**session, **bearer("t")})
        self.assertEqual((answer.status, len(answer.message)), (200, 3), answer)

    def test_who_reads_no_answer_loses_his_own_places(self):
        """Of requests that are no call: each is answered at once, and more of it than the kernel takes."""
        self.serve_tokens(env={"BERTH_HTTP_CONNECTIONS": "12"})
        asked = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer t\r\n\r\n" * 20000
        for _ in range(12):
            connection = self.connect()
            connection.socket.setsockopt(1, 8, 4096)  # SO_RCVBUF
            connection.socket.setblocking(False)
            end = time.monotonic() + 0.5
            sent = 0
            while time.monotonic() < end:
                try:
                    sent += connection.socket.send(asked[sent:])
                except BlockingIOError:
                    time.sleep(0.02)
        for _ in range(3):
            self.assertEqual(self.modern("tools/list", **bearer("u")).status, 200)

    def test_a_message_of_many_values_is_within_the_share_too(self):
        self.serve_tokens()
        for count, status in ((100_000, 200), (800_000, 429)):  # of some 96 bytes
            answer = self.modern("tools/list", meta={"example.com/x": [{}] * count}, **bearer("t"))
            self.assertEqual(answer.status, status, count)
        self.assertEqual(answer.error["data"]["code"], "busy")

    def test_clients_that_never_say_that_they_go_make_room_for_others(self):
        self.serve_tokens()
        first = self.initialize(headers=bearer("t"))
        for _ in range(260):
            self.initialize(headers=bearer("t"))
        self.assertEqual(self.modern("tools/list", **bearer("t"), Berth_Session="another").status, 200)
        answer = self.send(request(1, "tools/list"), {**first, **bearer("t")})
        self.assertEqual(answer.status, 404)  # it begins anew

    def test_a_burst_of_new_sessions_ends_none_of_an_older_client_that_is_there(self):
        self.serve_tokens(calls=100)
        older = [self.initialize(headers=bearer("t")) for _ in range(40)]

        def status(name):
            return self.modern("tools/list", **bearer("t"), Berth_Session=name).status
        self.assertEqual({status(f"first{number}") for number in range(216)}, {200})
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            burst = list(clients.map(status, (f"later{number}" for number in range(400))))
        # So many that not all can be served, but on a machine that takes longer for them.
        print(f"{burst.count(429)} of a burst of {len(burst)} new sessions told to wait", file=sys.stderr)
        self.assertLessEqual(set(burst), {200, 429})
        for session in older:
            self.assertEqual(self.send(request(1, "ping"), {**session, **bearer("t")}).status, 200)

    def test_a_server_has_all_descriptors_that_it_may_have(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
        try:
            self.serve_tokens()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE), (hard, hard))


class ReadTest(BoundsBench):
    def test_reads_of_resources_that_nobody_takes_stay_within_a_principal_s_share(self):
        self.serve_two()
        headers = bearer("t")
        # What JSON makes twice as long.
        self.call("bash_exec", headers, command=f"head -c {MEGABYTE} /dev/zero | tr '\\0' '\"' >~/q")
        self.call("save_to_workspace", headers, sandbox_path="~/q", workspace_path="/q")
        read = {"uri": "workspace:///q"}
        whole = self.modern("resources/read", read, **headers)
        self.assertEqual(len(whole.result["contents"][0]["text"]), MEGABYTE)
        before = self.resident("VmRSS")
        waiting = self.ask_and_take_nothing("resources/read", read, read["uri"], headers)
        most = 0
        for _ in range(30):
            time.sleep(0.1)
            most = max(most, self.resident("VmRSS"))
        # Another principal has its own share.
        self.assertEqual(self.modern("tools/list", **bearer("u")).status, 200)
        heads = [connection.head() for connection in waiting]
        sizes = [size_of(headers) for _, headers in heads]
        large = [size for size in sizes if size > MEGABYTE]
        busy = [json.loads(connection.file.read(size))["error"]["data"]
                for connection, size in zip(waiting, sizes) if size < MEGABYTE]
        print(f"{READERS} readers of 1 MiB that do not read, {len(busy)} told to wait: "
              f"{most - before:.0f} MB more", file=sys.stderr)
        self.assertLessEqual({told["code"] for told in busy}, {"busy"})
        self.assertTrue(all(told["retry_after"] > 0 for told in busy))
        self.assertGreaterEqual(len(large), 8)
        for connection in waiting:
            connection.close()
        self.assertLess(most - before, SHARE + 40)
        self.wait_for(lambda: "result" in self.modern("resources/read", read, **headers).message,
                      timeout=20)


class PictureTest(BoundsBench):
    def test_pictures_that_are_read_at_once_stay_within_a_principal_s_share(self):
        """Also before their results are made, however many ask; and each that can wait is answered."""
        self.serve_two()
        headers = {**bearer("t"), "Accept": JSON}  # no events, however long one waits
        self.call("bash_exec", headers, command=MAKE_PICTURE)
        params = {"name": "read_file", "arguments": {"path": "~/large.gif"}}
        whole = self.modern("tools/call", params, **headers)
        size = len(whole.result["content"][1]["data"])
        self.assertGreater(size, 4 * MEGABYTE)
        before = self.resident("VmHWM")
        waiting = self.ask_and_take_nothing("tools/call", params, "read_file", headers)
        self.assertEqual(self.modern("tools/list", **bearer("u")).status, 200)
        heads = [connection.head() for connection in waiting]
        told = [json.loads(connection.file.read(size_of(each)))["result"]["_meta"]["berth/error"]
                for connection, (_, each) in zip(waiting, heads) if size_of(each) < MEGABYTE]
        more = self.resident("VmHWM") - before
        print(f"{READERS} readers of a picture that do not read, {len(told)} told to wait: {more:.0f} MB more",
              file=sys.stderr)
        self.assertEqual({error["code"] for error in told}, {"busy"})
        self.assertGreaterEqual(READERS - len(told), 4)
        self.assertLess(more, SHARE + 40)
        for connection in waiting:
            connection.close()

        # Of those that read there may be more than have room at once: they wait for each other.
        with concurrent.futures.ThreadPoolExecutor(8) as readers:
            answers = list(readers.map(lambda _: self.modern("tools/call", params, **headers), range(16)))
        self.assertEqual([len(answer.result["content"]) for answer in answers], [2] * 16)


class TextTest(BoundsBench):
    """Results that are text, as large as an operator can have them, of which JSON makes twice that."""
    SIZE = 400_000

    def setUp(self):
        super().setUp()
        self.serve_two(BERTH_READ_BUDGET=str(self.SIZE), BERTH_OUTPUT_BUDGET=str(self.SIZE),
                       BERTH_READ_LIMIT="100000", BERTH_GREP_LIMIT="100000",
                       BERTH_SESSION_CALLS="64")
        self.headers = {**bearer("t"), "Accept": JSON}
        self.call("bash_exec", self.headers, command="for i in $(seq 4000); do printf '%099d\\n' 0; done | "
                  "tr 0 '\"' >~/text")

    def ask_many(self, name, **arguments):
        """The errors that they are told, and how many MB the server grew by."""
        params = {"name": name, "arguments": arguments}
        size = len(self.modern("tools/call", params, **self.headers).body)
        self.assertGreater(size, self.SIZE)
        before = self.resident("VmHWM")
        waiting = self.ask_and_take_nothing("tools/call", params, name, self.headers)
        self.assertEqual(self.modern("tools/list", **bearer("u")).status, 200)
        heads = [connection.head() for connection in waiting]
        more = self.resident("VmHWM") - before
        told = [json.loads(connection.file.read(size_of(each)))["result"]["_meta"]["berth/error"]
                for connection, (_, each) in zip(waiting, heads) if size_of(each) < self.SIZE]
        print(f"{READERS} results of {name}, {size // 1000} kB each, that nobody takes, {len(told)} told to "
              f"wait: {more:.0f} MB more", file=sys.stderr)
        for connection in waiting:
            connection.close()
        self.wait_for(lambda: not self.modern("tools/call", params, **self.headers).tool.is_error, timeout=20)
        return told, more

    def check_share(self, name, **arguments):
        told, more = self.ask_many(name, **arguments)
        self.assertEqual({error["code"] for error in told}, {"busy"})
        self.assertGreaterEqual(READERS - len(told), 20)
        self.assertLess(more, SHARE + 100)  # and what is made at the moment

    def test_what_is_read_stays_within_a_principal_s_share(self):
        self.check_share("read_file", path="~/text")

    def test_what_is_found_does_too(self):
        self.check_share("grep_files", pattern=".", path="~/text")

    def test_a_command_that_ran_is_told_of_however_many_do_not_listen(self):
        told, more = self.ask_many("bash_exec", command="cat ~/text")
        self.assertEqual(told, [])
        self.assertLess(more, READERS * 2 * self.SIZE / 1e6 + 60)


class PlaceTest(HttpBench):
    def legacy_call(self, session, number, command):
        connection = Connection(self.address)
        connection.post(request(number, "tools/call", {"name": "bash_exec",
                                                       "arguments": {"command": command}}), session)
        return connection

    def sleeping(self):
        return [line.strip() for line in self.state.processes().values()].count("sleep 60")

    def test_a_call_that_outlives_its_client_holds_no_place_of_a_connection(self):
        self.serve(env={"BERTH_HTTP_CONNECTIONS": "8"})
        session = self.initialize()
        for number in range(8):
            left = self.legacy_call(session, number, f"touch ~/begun{number}; sleep 60")
            self.wait_for(lambda: self.send(request(99, "tools/call", {
                "name": "read_file", "arguments": {"path": f"~/begun{number}"}}),
                session).tool.is_error is False)
            left.close()
        # Each of them works on; of the eight places none is taken.
        self.wait_for(lambda: self.send(b"", path="/healthz", method="GET") is not None)
        kept = [self.connect() for _ in range(7)]
        for connection in kept:
            self.assertEqual(self.modern("server/discover", connection=connection).status, 200)

    def test_but_its_place_among_its_principal_s_calls_until_it_has_ended(self):
        self.serve(auth=("--token-file", token_file(
            self.state.path / "tokens.toml", a={"token": "t", "principal": "p", "calls": 2})))
        session = self.initialize(headers=bearer("t"))
        for number in range(2):
            left = self.legacy_call(session, number, "sleep 60")
            self.wait_for(lambda: self.sleeping() == number + 1)
            left.close()

        def status():
            return self.send(request(9, "ping"), session).status
        self.wait_for(lambda: status() == 429)
        time.sleep(0.5)
        self.assertEqual(status(), 429)
        for number in range(2):  # what says that it may end is let through
            cancelled = self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                   "params": {"requestId": number}}, session)
            self.assertEqual(cancelled.status, 202)
        self.wait_for(lambda: status() == 200)


class AccountTest(IssuerBench):
    def test_one_principal_has_one_account_however_it_comes(self):
        """alice has a token of the file, another one, and one of the issuer's."""
        tokens = token_file(self.state.path / "tokens.toml",
                            a={"token": "one", "principal": "alice", "calls": 2},
                            b={"token": "two", "principal": "alice", "calls": 3})
        self.serve("--config", self.settings(), auth=("--token-file", tokens))
        busy = []
        for token in (TOKENS["RS256"], TOKENS["RS256"]):
            connection = self.connect()
            connection.post(request(1, "tools/call", {"name": "bash_exec", "arguments": {
                "command": "sleep 50"}}, modern=True),
                self.modern_headers("tools/call", "bash_exec", **bearer(token)))
            self.assertEqual(connection.head()[0], 200)
            busy.append(connection)
        self.assertEqual([self.status(token) for token in ("one", "two", TOKENS["RS256"])],
                         [429, 200, 200])
        for connection in busy:
            connection.close()
        self.wait_for(lambda: self.status("one") == 200)


if __name__ == "__main__":
    unittest.main()
