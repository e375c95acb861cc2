#!/usr/bin/env python3
"""/files: what goes in and out, as whom, and how it is refused."""

import gzip
import os
import unittest
import urllib.parse

import client
from case import USER, EmulatorCase
from envd.files import signature

LINUX = tuple(int(part) for part in os.uname().release.split(".")[:2])
RAW = {"Content_Type": "application/octet-stream"}


def parts(boundary, *named):
    text = b""
    for name, file_name, content in named:
        shown = f'; filename="{file_name}"' if file_name else ""
        text += (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{shown}\r\n'
                 "Content-Type: application/octet-stream\r\n\r\n").encode() + content + b"\r\n"
    return text + f"--{boundary}--\r\n".encode()


class FilesTest(EmulatorCase):
    def setUp(self):
        self.box = self.create()

    def put(self, path, content, **headers):
        return self.box.http("POST", "/files?path=" + urllib.parse.quote(path, safe=""), content,
                             **{**RAW, **headers})

    def get(self, path, query="", **headers):
        headers.setdefault("Accept_Encoding", "identity")
        return self.box.http("GET", "/files?path=" + urllib.parse.quote(path, safe="") + query, **headers)

    def test_a_body_is_a_file(self):
        content = bytes(range(256)) * 5000
        self.assertEqual(self.put("a/b.bin", content).json,
                         [{"path": "/home/user/a/b.bin", "name": "b.bin", "type": "file"}])
        answer = self.get("~/a/b.bin")
        self.assertEqual((answer.status, answer.text), (200, content))
        self.assertEqual(answer.headers["Content-Disposition"], "inline; filename=b.bin")
        self.assertEqual(self.box.run("stat -c '%U %a' a a/b.bin")[0], f"{USER} 755\n{USER} 644\n")
        self.put("/a", b"of root", user="root")
        self.assertEqual(self.box.run("stat -c %U /a; cat /a")[0], f"{USER}\nof root")

    def test_parts_are_files(self):
        mark = "----mark"
        content = b"x" * 70_000 + b"\r\n----mark, which is none\r\n--" + b"y" * 70_000
        kind = {"Content_Type": f"multipart/form-data; boundary={mark}"}
        body = parts(mark, ("file", "deep/one", content), ("other", "no", b"no"), ("file", "/tmp/two", b""))
        answer = self.box.http("POST", "/files", body, **kind)
        self.assertEqual([one["path"] for one in answer.json], ["/home/user/deep/one", "/tmp/two"])
        self.assertEqual(self.get("deep/one").text, content)
        answer = self.box.http("POST", "/files?path=named", parts(mark, ("file", None, b"1")), **kind)
        self.assertEqual(answer.json[0]["path"], "/home/user/named")
        answer = self.box.http("POST", "/files", parts(mark, ("file", "same", b"1"), ("file", "same", b"2")),
                               **kind)
        self.assert_error(answer, 400, "you cannot upload multiple files to the same path")
        self.assertEqual(self.get("same").text, b"1")
        self.assert_error(self.box.http("POST", "/files", body[:100], **kind), 500, "error reading form")

    def test_packed_both_ways(self):
        content = b"packed " * 10_000
        self.put("p.txt", gzip.compress(content), Content_Encoding="gzip")
        answer = self.get("p.txt", Accept_Encoding="gzip, deflate")
        self.assertEqual(answer.headers["Content-Encoding"], "gzip")
        self.assertEqual(gzip.decompress(answer.text), content)
        self.assert_error(self.put("x", b"", Content_Encoding="br"), 400, "unsupported Content-Encoding")

    def test_a_part_of_it(self):
        self.put("r", b"0123456789")
        for asked, status, text, told in (("bytes=2-4", 206, b"234", "bytes 2-4/10"),
                                          ("bytes=7-", 206, b"789", "bytes 7-9/10"),
                                          ("bytes=-3", 206, b"789", "bytes 7-9/10"),
                                          ("bytes=3-99", 206, b"3456789", "bytes 3-9/10")):
            answer = self.get("r", Range=asked, Accept_Encoding="gzip")
            self.assertEqual((answer.status, answer.text, answer.headers["Content-Range"]),
                             (status, text, told))
        self.assertEqual(self.get("r", Range="bytes=10-").status, 416)

    def test_metadata_replaces_metadata(self):
        # Files in memory have none before Linux 6.6, and then it is not told as if they had.
        kept = {"kind": "v"} if LINUX >= (6, 6) else None
        self.assertEqual(self.put("m", b"", X_Metadata_Kind="v").json[0].get("metadata"), kept)
        self.assertEqual(self.box.files("Stat", {"path": "m"}).json["entry"].get("metadata"), kept)
        self.assertNotIn("metadata", self.put("m", b"").json[0])

    def test_refusals(self):
        self.box.run("mkdir folder")
        for answer, status, message in (
                (self.get("none"), 404, "path '/home/user/none' does not exist"),
                (self.get("folder"), 400, "path '/home/user/folder' is a directory"),
                (self.put("folder", b""), 400, "path is a directory: /home/user/folder"),
                (self.get("~other/x"), 400, "cannot expand user-specific home dir"),
                (self.get("x", "&username=ann"), 401, "error looking up user 'ann'"),
                (self.put("x", b"", Content_Type="text/plain"), 400, "unsupported content type"),
                (self.box.http("POST", "/files", b"", **RAW), 400, "path query parameter is required")):
            self.assert_error(answer, status, message)

    def test_a_full_disk(self):
        self.e2b.settings(megabytes=16)
        box = self.create()
        answer = box.http("POST", "/files?path=big", b"b" * (20 << 20), **RAW)
        self.assert_error(answer, 507, "not enough disk space available")

    def test_tokens_and_signatures(self):
        self.put("hello.txt", b"hello")
        for headers, status in (({"X_Access_Token": "ea_other"}, 401), ({"X_Access_Token": ""}, 401)):
            self.assert_error(self.get("hello.txt", **headers), status)
            self.assert_error(self.box.http("GET", "/envs", **headers), status, "unauthorized access")
        for query, status in (("", 200), ("&signature_expiration=9999999999", 200),
                              ("&signature_expiration=1", 401)):
            expiration = query.rpartition("=")[2] or None
            signed = signature("hello.txt", "read", None, self.box.token, expiration)
            answer = self.get("hello.txt", f"&signature={urllib.parse.quote_plus(signed)}{query}",
                              X_Access_Token="")
            self.assertEqual(answer.status, status, answer.text)
        self.assertEqual(signature("hello.txt", "read", None, "ea_TOKEN"),
                         "v1_IHDMN/VnyFBIdLxlIu5EOI2RAqTcbw2v11iAX4y1L2k")

    def test_files_of_proc_come_out_empty(self):
        self.assertEqual(self.get("/proc/self/status").text, b"")
        self.assertIn(b"Name:", gzip.decompress(self.get("/proc/self/status", Accept_Encoding="gzip").text))

    def test_parts_are_put_together(self):
        self.put("1", b"one"), self.put("2", b"two")
        body = '{"source_paths":["1","2"],"destination":"d/whole"}'
        self.assertEqual(self.box.http("POST", "/files/compose", body).json["path"], "/home/user/d/whole")
        self.assertEqual(self.get("d/whole").text, b"onetwo")
        self.assertEqual(self.get("1").status, 404)

    def test_an_answer_before_all_was_sent_is_heard(self):
        for headers in ({}, {"Connection": "close"}):
            answer = self.put("x", b"x" * 20_000_000, X_Access_Token="ea_other", **headers)
            self.assert_error(answer, 401, "does not match")

    def test_an_upload_that_is_cut_leaves_what_came(self):
        self.put("cut", b"what was there before")
        head = "POST /files?path=cut HTTP/1.1\r\nContent-Length: 1000\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in
                        self.box.headers(Content_Type="application/octet-stream").items())
        with client.raw(self.e2b, head.encode() + b"\r\n" + b"half"):
            client.becomes(lambda: self.box.run("cat cut")[0] == "half")
        self.assertEqual(self.get("cut").text, b"half")


if __name__ == "__main__":
    unittest.main(verbosity=2)
