#!/usr/bin/env python3
"""Each way in which a test can make it fail, and that it fails no more than it was told to."""

import json
import time
import unittest

import client
from case import BROKEN, EmulatorCase

LONG = "head -c 100000 /dev/zero"


class ControlFaultsTest(EmulatorCase):
    def create_path(self, **fault):
        self.e2b.fault(plane="api", method="POST", path="/v2/sandboxes", **fault)
        return self.api("POST", "/v2/sandboxes", {"templateID": "base"})

    def test_answers_in_place_of_its_own(self):
        made = self.e2b.books()["created"]
        for fault, status, retry, text in (
                ({"status": 429, "headers": {"Retry-After": "1"}}, 429, "1", b"injected 429"),
                ({"status": 429}, 429, None, b"injected 429"), ({"status": 500}, 500, None, b"injected"),
                ({"status": 503}, 503, None, b"injected"),
                ({"status": 502, "body": "<html>Bad Gateway</html>"}, 502, None, b"<html>"),
                ({"status": 504, "body": "", "type": "text/plain"}, 504, None, b"")):
            answer = self.create_path(**fault)
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (status, retry))
            self.assertIn(text, answer.text)
        self.assertEqual(self.e2b.books()["created"], made)
        self.assertEqual(self.e2b.faults_left(), {})
        self.create()

    def test_a_lost_reply_leaves_a_box(self):
        with self.assertRaises(BROKEN):
            self.create_path(lose_reply=True)
        client.becomes(lambda: len(self.e2b.books()["running"]) == 1)

    def test_a_lost_request_leaves_none(self):
        made = len(self.e2b.books()["created"])
        with self.assertRaises(BROKEN):
            self.create_path(drop=True)
        self.assertEqual(len(self.e2b.books()["created"]), made)

    def test_a_cut_answer(self):
        for reset in (True, False):
            with self.assertRaises(BROKEN):
                self.create_path(cut=10, reset=reset)

    def test_a_slow_answer(self):
        began = time.monotonic()
        self.assertEqual(self.create_path(delay=0.5).status, 201)
        self.assertGreater(time.monotonic() - began, 0.5)

    def test_a_wrong_id(self):
        box = self.create()
        self.e2b.fault(path="/v2/sandboxes/{id}/connect", id="iwrong")
        for name in ("iwrong", box.id):
            answer = self.api("POST", f"/v2/sandboxes/{box.id}/connect", {})
            self.assertEqual((answer.status, answer.json["sandboxID"]), (200, name))

    def test_some_requests_and_not_others(self):
        box, other = self.create(), self.create()
        self.e2b.fault(box=box.id, skip=1, times=2, status=500)
        said = [self.info(one).status for one in (box, other, box, other, box, box)]
        self.assertEqual(said, [200, 200, 500, 200, 500, 200])
        self.e2b.fault(path="/sandboxes/*", method="GET", times=0, status=503)
        self.assertEqual([self.info(box).status for _ in range(3)], [503] * 3)
        with self.assertRaises(AssertionError):
            self.e2b.fault(path="/", explode=True)


class StreamFaultsTest(EmulatorCase):
    def setUp(self):
        self.box = self.create()

    def start_fault(self, **fault):
        self.e2b.fault(plane="envd", path="/process.Process/Start", **fault)

    def whole(self):
        with self.box.start("echo hi") as stream:
            return stream.response.read()

    def test_a_status_in_place_of_the_answer_to_what_was_done(self):
        self.e2b.fault(plane="envd", path="/process.Process/Start", status=504, done=0.2, body="<html>",
                       type="text/html")
        with self.box.start("echo x >>/tmp/done; sleep 0.5; echo y >>/tmp/done") as stream:
            self.assertEqual((stream.response.status, stream.response.read()), (504, b"<html>"))
        client.becomes(lambda: self.box.run("cat /tmp/done")[0] == "x\ny\n")
        self.assertEqual(self.e2b.faults_left(), {})

    def test_a_cut_at_any_byte(self):
        length = len(self.whole())
        for reset in (True, False):
            for at in (0, 3, 5, 20, 40, length - 1):
                self.start_fault(cut=at, reset=reset)
                with self.assertRaises(BROKEN), self.box.start("echo hi") as stream:
                    stream.outcome()
        self.assertEqual(self.box.run("echo hi")[0], "hi\n")

    def test_a_cut_before_the_end_of_a_body_whose_length_nobody_knows(self):
        whole = self.whole()  # others differ from it in the pid at their beginning
        for missing in (1, 20, 1 << 20):
            self.start_fault(cut=-missing, reset=False)  # a reset may overtake what was sent before it
            with self.box.start("echo hi") as stream, self.assertRaises(BROKEN) as broken:
                stream.response.read()
            got = broken.exception.partial
            self.assertEqual(got, b"" if missing > len(whole) else got)
            self.assertEqual((got + whole[-missing:])[-40:], whole[-40:])
        self.assertEqual(self.box.run("echo hi")[0], "hi\n")

    def test_an_end_in_the_middle_of_a_frame(self):
        self.start_fault(end=45)
        with self.box.start("echo hi") as stream:
            self.assertEqual(len(stream.response.read()), 45)
        self.start_fault(end=37)
        with self.box.start("echo hi") as stream, self.assertRaises(EOFError):
            stream.outcome()

    def test_silence(self):
        self.start_fault(silent=36)
        with self.box.start("echo hi", headers={"Keepalive-Ping-Interval": "1"}) as stream:
            stream.begun()
            stream.give_up_after(2.5)
            with self.assertRaises(TimeoutError):
                stream.frame()
        self.assertEqual(self.box.run("echo hi")[0], "hi\n")

    def test_answers_of_proxies(self):
        self.start_fault(status=502, body="<html>502</html>")
        with self.box.start("echo >made") as stream:
            self.assertEqual((stream.status, stream.response.read()), (502, b"<html>502</html>"))
        self.assertEqual(self.box.run("ls")[0], "")

    def test_a_request_that_is_cut(self):
        self.e2b.fault(path="/files", method="POST", cut_request=70_000)
        with self.assertRaises(BROKEN):
            self.box.http("POST", "/files?path=cut", b"x" * 1_000_000,
                          Content_Type="application/octet-stream")
        client.becomes(lambda: self.box.run("stat -c %s cut")[0] == "70000\n")

    def test_a_box_that_vanishes_or_sleeps_between_two_calls(self):
        self.e2b.fault(box=self.box.id, path="/process.Process/List", then="pause")
        self.assertEqual(self.box.call("List", {}).status, 502)
        self.assertEqual(self.info(self.box).json["state"], "paused")
        self.api("POST", f"/v2/sandboxes/{self.box.id}/connect", {})
        self.e2b.fault(box=self.box.id, path="/process.Process/List", then="vanish")
        self.assertEqual(self.box.call("List", {}).status, 502)
        self.assertEqual(self.info(self.box).status, 404)
        self.assertEqual(self.e2b.books()["ended"][self.box.id], "vanished")
        self.e2b.fault(box=self.box.id, then="vanish")  # again, which is no matter
        self.assertEqual(self.box.call("List", {}).status, 502)

    def test_a_limit_that_runs_out_in_the_middle(self):
        for then in ("expire", "vanish"):
            box = self.create()
            self.e2b.fault(box=box.id, path="/process.Process/Start", then=then, after=1.5)
            with box.start("echo hi; sleep 60") as stream:
                self.assertEqual(stream.output(3), b"hi\n")
                with self.assertRaises(BROKEN):
                    stream.outcome()
            self.assertEqual(self.info(box).status, 404)

    def test_a_subscriber_that_does_not_read_stops_the_process_for_all(self):
        with self.box.start("read line; head -c 30000000 /dev/zero; echo >done", stdin=True) as stream:
            pid = stream.begun().pid
            self.e2b.do(self.box.id, "stall", pid=pid)
            self.box.call("SendInput", {"process": {"pid": pid}, "input": {"stdin": "Cg=="}})
            got = len(stream.output(30_000))
            stream.give_up_after(1)
            with self.assertRaises(TimeoutError):
                while True:
                    got += len(stream.output(1))
            self.assertLess(got, 20_000_000)
            self.assertEqual(self.box.run("ls")[0], "")
        self.assertEqual(self.box.run("ls")[0], "")
        self.e2b.do(self.box.id, "end_stall")
        client.becomes(lambda: self.box.run("ls")[0] == "done\n")

    def test_a_reader_that_stalls_loses_nothing(self):
        with self.box.start("head -c 30000000 /dev/zero; echo >done") as stream:
            stream.begun()
            time.sleep(1)
            self.assertEqual(self.box.run("ls")[0], "")
            self.assertEqual(len(stream.outcome()[0]), 30_000_000)

    def test_input_that_nobody_reads_comes_late(self):
        piece = "eHh4eHh4eHh4" * 12_000  # 108 KB, more than a pipe takes
        self.box.run("mkfifo gate")
        with self.box.start("read go <gate; cat | wc -c", stdin=True) as stream:
            pid = stream.begun().pid
            message = json.dumps({"process": {"pid": pid}, "input": {"stdin": piece}}).encode()
            head = (f"POST /process.Process/SendInput HTTP/1.1\r\nContent-Length: {len(message)}\r\n" +
                    "".join(f"{name}: {value}\r\n" for name, value in
                            self.box.headers(Content_Type="application/json").items()) + "\r\n")
            with client.raw(self.e2b, head.encode() + message) as connection:
                connection.settimeout(0.5)
                with self.assertRaises(TimeoutError):
                    connection.recv(1)
            self.box.run("echo >gate")  # which gives up, and its bytes come all the same
            client.becomes(lambda: self.box.call("CloseStdin", {"process": {"pid": pid}}).status == 200)
            self.assertEqual(stream.outcome()[0].strip(), "108000")

    def test_what_envd_s_log_has(self):
        self.box.run("echo shown", process={"envs": {"A": "also shown"}})
        self.box.http("POST", "/files?path=f", b"not shown", Content_Type="application/octet-stream")
        log = self.e2b.log(self.box.id)
        self.assertEqual([one["path"] for one in log], ["/process.Process/Start"])
        self.assertIn("also shown", log[0]["text"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
