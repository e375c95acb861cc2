"""HTTP from those who mean no good, or cannot write it: correct statuses, bounded memory, and no
other caller the worse for it."""

import gzip
import json
import pathlib
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import META, request
from http_bench import JSON, Connection, HttpBench, token_file

PING = json.dumps(request(1, "tools/list", modern=True)).encode()


class HeadTest(HttpBench):
    def setUp(self):
        super().setUp()
        self.serve()

    def status(self, data):
        """Of what is sent as it stands; None: closed without an answer."""
        with Connection(self.address) as connection:
            connection.send(data)
            answer = connection.answer()
            return answer and answer.status

    def test_heads_that_two_readers_could_understand_differently(self):
        good = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for head, status in ((good + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
                             (good + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400),
                             (good + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
                             (good + "Content-Length: -2\r\n\r\n", 400),
                             (good + "Content-Length: 2x\r\n\r\n", 400),
                             (good + "Content-Length : 2\r\n\r\n", 400),
                             (good + "X: a\r\n b\r\n\r\n", 400),
                             (good + "X: a\nY: b\r\n\r\n", 400),
                             (good + "X: a\0b\r\n\r\n", 400),
                             (good + "Host: evil\r\n\r\n", 400),
                             ("POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400),
                             ("POST /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
                             ("POST mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                             ("POST /" + "a" * 4000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                             ("\x16\x03\x01\x02\r\n\r\n", 400)):
            with self.subTest(head[:200]):
                self.assertEqual(self.status(head), status)

    def test_a_flood_of_headers_is_cut_off_in_little_memory(self):
        before = self.resident()
        self.assertEqual(self.status("GET / HTTP/1.1\r\nHost: localhost\r\n" +
                                     "".join(f"X-{i}: 1\r\n" for i in range(200)) + "\r\n"), 431)
        with Connection(self.address) as connection:
            with self.assertRaises(OSError):  # it is closed in the middle
                connection.send("GET / HTTP/1.1\r\nX: ")
                for _ in range(150):
                    connection.send(b"a" * (1 << 20))
        self.assertEqual(self.send(b"", path="/healthz", method="GET").status, 200)
        grown = self.resident() - before
        print(f"150 MB of one header line: {grown:.1f} MB more at most", file=sys.stderr)
        self.assertLess(grown, 30)

    def test_pages_of_the_web_are_kept_out(self):
        port = self.address[1]
        for host, origin, status in (("evil.example.com", None, 403),
                                     (f"127.0.0.1:{port}", f"http://127.0.0.1:{port}", 200),
                                     ("localhost", "http://localhost:3000", 200),
                                     ("[::1]:80", None, 200),
                                     ("localhost", "https://evil.example.com", 403),
                                     ("localhost", "null", 403),
                                     ("localhost.evil.example.com", None, 403)):
            headers = self.modern_headers("tools/list", **({"Origin": origin} if origin else {}))
            self.assertEqual(self.send(PING, headers, host=host).status, status, (host, origin))

    def test_the_host_of_an_absolute_target_counts(self):
        for target, status in (("http://localhost/healthz", 200), ("http://evil.example.com/healthz", 403),
                               ("http://localhost@evil.example.com/healthz", 400)):
            self.assertEqual(self.send(b"", path=target, method="GET", host="localhost").status, status, target)

    def test_other_media_are_refused_before_they_are_read(self):
        headers = self.modern_headers("tools/list")
        for change, status in (({"Content-Type": "text/plain"}, 415),
                               ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
                               ({"Content-Encoding": "gzip"}, 415), ({"Accept": "image/png"}, 406),
                               ({"Content-Type": "application/jsonp"}, 415),
                               ({"Content-Type": "Application/JSON", "Accept": "Application/JSON"}, 200),
                               ({"Content-Type": "application/json; charset=utf-8"}, 200)):
            answer = self.send(PING, {**headers, **change})
            self.assertEqual(answer.status, status, change)
        bomb = gzip.compress(b" " * (100 << 20))
        before = self.resident()
        self.assertEqual(self.send(bomb, {**headers, "Content-Encoding": "gzip"}).status, 415)
        self.assertLess(self.resident() - before, 20)


class BodyTest(HttpBench):
    def setUp(self):
        super().setUp()
        self.serve(env={"BERTH_REQUEST_MAX": "1MiB"})
        self.headers = self.modern_headers("tools/list")

    def head(self, connection, **headers):
        lines = ["POST /mcp HTTP/1.1", "Host: localhost",
                 *(f"{name}: {value}" for name, value in {**self.headers, **headers}.items())]
        connection.send("\r\n".join(lines) + "\r\n\r\n")

    def test_a_body_above_the_limit_is_refused_by_its_length(self):
        with Connection(self.address) as connection:
            self.head(connection, **{"Content-Length": str(100 << 20)})
            self.assertEqual(connection.answer().status, 413)
            self.assertTrue(connection.is_closed())

    def test_a_body_in_chunks_is_counted(self):
        before = self.resident()
        with Connection(self.address) as connection:
            self.head(connection, **{"Transfer-Encoding": "chunked"})
            try:
                for _ in range(60):
                    connection.send(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
            except OSError:
                pass  # it closed long before
            else:
                self.fail("60 MB were taken")
        self.assertLess(self.resident() - before, 20)

    def test_a_head_with_a_body_is_answered_without_one_and_for_the_last_time(self):
        self.serve()
        connection = self.connect()
        connection.send("HEAD /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}"
                        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        status, _ = connection.head()
        self.assertEqual(status, 405)
        self.assertEqual(connection.file.read(), b"")

    def test_chunks_are_read(self):
        with Connection(self.address) as connection:
            for _ in range(2):
                self.head(connection, **{"Transfer-Encoding": "chunked"})
                for piece in (PING[:10], PING[10:]):
                    connection.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                connection.send("0\r\n\r\n")
                self.assertEqual(connection.answer().status, 200)

    def test_sizes_of_chunks_that_are_none(self):
        for size in ("-2", "ffffffffffffffff", "zz", "-1"):
            with Connection(self.address, timeout=10) as connection:
                self.head(connection, **{"Transfer-Encoding": "chunked"})
                connection.send(size.encode() + b"\r\n" + PING + b"\r\n0\r\n\r\n")
                connection.socket.shutdown(1)
                answer = connection.answer()
                self.assertIn(answer and answer.status, (400, 413, None), size)
        self.assertEqual(self.modern("tools/list").status, 200)

    def test_expect_100_continue(self):
        with Connection(self.address) as connection:
            self.head(connection, **{"Content-Length": len(PING), "Expect": "100-continue"})
            self.assertEqual(connection.file.readline(), b"HTTP/1.1 100 Continue\r\n")
            connection.file.readline()
            connection.send(PING)
            self.assertEqual(connection.answer().status, 200)

    def test_text_that_is_no_message(self):
        deep = b"[" * 100_000
        double = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'
        for body, code in ((b"", -32700), (b"{", -32700), (b"\xff\xfe", -32700), (deep, -32600),
                           (double, -32600), (b"[]", -32600), (b"5", -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"1.0","id":9,"method":"ping"}', -32600)):
            answer = self.send(body, {"Content-Type": JSON})
            self.assertEqual((answer.status, answer.error["code"]), (400, code), body[:50])
        self.assertEqual(self.modern("tools/list").status, 200)

    def test_where_nobody_is_known_no_body_is_taken(self):
        for path in ("/healthz", "/readyz"):
            self.assertEqual(self.send(b"x", {"Content-Type": JSON}, path=path).status, 413, path)
        for path in ("/", "/mcp/", "/sse", "/sessions"):  # a client of a wrong address is told so
            answer = self.send(PING, self.headers, path=path)
            self.assertEqual((answer.status, answer.body), (404, b"MCP is at /mcp\n"), path)

    def test_a_body_that_ends_early_is_no_request(self):
        with Connection(self.address) as connection:
            self.head(connection, **{"Content-Length": str(len(PING) + 10)})
            connection.send(PING)
            connection.socket.shutdown(1)
            answer = connection.answer()
            self.assertIn(answer and answer.status, (400, None))


class CrowdTest(HttpBench):
    def test_five_hundred_idle_and_two_hundred_busy_connections_starve_no_new_one(self):
        self.serve(env={"BERTH_SESSION_CALLS": "256", "BERTH_RPC_IN_FLIGHT": "256"},
                   auth=("--token-file", self.many_calls()))
        before = self.threads()
        idle = [self.connect() for _ in range(500)]
        self.wait_for(lambda: self.threads() <= before + 2)  # they take none
        busy = []
        for number in range(200):
            connection = self.connect()
            connection.post(request(number, "tools/call", {"name": "bash_output", "arguments": {
                "job_id": self.job(), "wait": 30}}, modern=True),
                self.modern_headers("tools/call", "bash_output", Authorization="Bearer t"))
            busy.append(connection)
        began = time.monotonic()
        self.assertEqual(self.modern("tools/list", Authorization="Bearer t").status, 200)
        took = time.monotonic() - began
        print(f"a new connection beside 500 idle and 200 busy: {took * 1000:.0f} ms, "
              f"{self.threads()} threads, {self.resident('VmRSS'):.0f} MB", file=sys.stderr)
        self.assertLess(took, 5)
        for connection in idle[:5]:
            self.assertEqual(self.modern("tools/list", connection=connection,
                                         Authorization="Bearer t").status, 200)
        for connection in busy:
            connection.close()
        self.wait_for(lambda: self.threads() < 100, timeout=30)

    def test_who_fills_all_places_with_half_a_request_loses_his_own(self):
        """Heads of a stranger who has no token, and bodies of another caller."""
        self.serve(env={"BERTH_HTTP_CONNECTIONS": "16"}, auth=("--token-file", token_file(
            self.state.path / "tokens.toml", t={"token": "t", "principal": "p"},
            o={"token": "o", "principal": "other"})))
        half_body = ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Authorization: Bearer o\r\nContent-Length: 1000\r\n\r\n{")
        for half in ("POST /mcp HTTP/1.1\r\nHost: ", half_body):
            with self.subTest(half[:30]):
                held = []
                for number in range(40):
                    held.append(self.connect())
                    held[-1].send(half)
                    if number % 10 == 9:
                        time.sleep(0.05)  # till they are read
                        self.assertEqual(self.modern("tools/list", Authorization="Bearer t").status, 200)
                for connection in held:
                    connection.close()

    def many_calls(self):
        return token_file(self.state.path / "tokens.toml",
                          t={"token": "t", "principal": "p", "calls": 1000})

    def job(self):
        if not hasattr(self, "_job"):
            self._job = self.call("bash_exec", {"Authorization": "Bearer t"}, command="sleep 60",
                                  background=True).data["job_id"]
        return self._job

    def test_of_too_many_the_longest_idle_one_goes(self):
        self.serve(env={"BERTH_HTTP_CONNECTIONS": "8"})
        idle = [self.connect() for _ in range(8)]
        time.sleep(0.3)
        self.assertEqual(self.send(b"", path="/healthz", method="GET").status, 200)
        self.assertTrue(idle[0].is_closed())
        self.assertEqual(self.modern("tools/list", connection=idle[7]).status, 200)

    def test_a_reader_that_does_not_read_holds_up_nobody(self):
        self.serve()
        self.call("bash_exec", command="head -c 20000 /dev/urandom | base64 -w0 >~/big")
        slow = self.connect()
        for number in range(40):  # more than the buffers take
            slow.post(request(number, "tools/call", {"name": "read_file", "arguments": {
                "path": "~/big"}}, modern=True), self.modern_headers("tools/call", "read_file"))
        for _ in range(5):
            began = time.monotonic()
            self.assertEqual(self.modern("tools/list").status, 200)
            self.assertLess(time.monotonic() - began, 3)

    def test_a_slow_head_is_given_up(self):
        self.serve()
        slow = self.connect(timeout=30)
        slow.send("GET /healthz HTTP/1.1\r\n")
        began = time.monotonic()
        for _ in range(8):
            time.sleep(1)
            slow.send("X: a\r\n")
        self.assertEqual(slow.answer().status, 408)
        self.assertLess(time.monotonic() - began, 15)
        self.assertTrue(slow.is_closed())


if __name__ == "__main__":
    unittest.main()
