#!/usr/bin/env python3
"""What the official client sends, to the byte, and what it is to be answered."""

import base64
import gzip
import json
import struct
import unittest

import client
import golden
import web
from case import USER, EmulatorCase


def joined(messages):
    """One message for what came in pieces of stdout: how many is a race."""
    found, text = [], b""
    for message in messages:
        piece = message["event"].get("data", {}).get("stdout")
        if piece is None:
            if text:
                found.append(golden.stdout(base64.b64encode(text).decode()))
                text = b""
            found.append(message)
        else:
            text += base64.b64decode(piece)
    return found


class GoldenTest(EmulatorCase):
    def setUp(self):
        self.names = {"user": USER, "key": self.e2b.api_key, "host": self.e2b.url[7:]}
        self.connections = []
        self.addCleanup(lambda: [connection.close() for connection in self.connections])

    def filled(self, text):
        for name, value in self.names.items():
            text = text.replace("{" + name + "}", str(value))
        return text

    def send(self, request):
        """(status, headers, body)"""
        head, body = (self.filled(text) for text in request)
        head = head.replace("{length}", str(len(body))).replace("\n", "\r\n")
        connection = client.raw(self.e2b, (head + "\r\n" + body).encode("latin-1"))
        self.connections.append(connection)
        return web.read_reply(web.Source(connection))

    def message(self, body):
        flags, length = struct.unpack(">BI", body.exactly(5))
        return flags, json.loads(body.exactly(length))

    def alike(self, found, wanted, where):
        if wanted == "...":
            self.assertTrue(found, where)
        elif isinstance(wanted, dict):
            self.assertEqual(set(found), set(wanted), where)
            for name, value in wanted.items():
                self.alike(found[name], value, f"{where} {name}")
        elif isinstance(wanted, list):
            self.assertEqual(len(found), len(wanted), (where, found))
            for one, other in zip(found, wanted):
                self.alike(one, other, where)
        else:
            self.assertEqual(found, self.filled(wanted) if isinstance(wanted, str) else wanted, where)

    def replay(self, exchange):
        request, status, content_type, wanted = exchange
        where = self.filled(request[0]).partition(" HTTP")[0]
        found = self.send(request)
        self.assertEqual(found[0], status, where)
        self.assertEqual(found[1].get("content-type"), content_type, where)
        text = found[2].all()
        if content_type == "application/connect+json":
            messages = []
            while text:
                flags, length = struct.unpack(">BI", text[:5])
                messages.append((flags, json.loads(text[5:5 + length])))
                text = text[5 + length:]
            self.assertEqual(messages.pop(), (2, {}), where)
            self.assertEqual({flags for flags, _ in messages}, {0}, where)
            self.alike(joined([message for _, message in messages]), wanted, where)
        elif content_type:
            said = json.loads(text)
            if "envdAccessToken" in said and "box" not in self.names:
                self.names.update(box=said["sandboxID"], token=said["envdAccessToken"])
            self.alike(said, wanted, where)
        else:
            self.assertEqual(text, b"", where)

    def test_a_life(self):
        self.replay(golden.CREATE)
        for exchange in (*golden.COMMANDS, *golden.FILES):
            self.replay(exchange)
        status, headers, body = self.send(golden.READ)
        self.assertEqual((status, headers["vary"], headers["content-encoding"]),
                         (200, "Accept-Encoding", "gzip"))
        self.assertEqual(gzip.decompress(body.all()), b"hello")
        self.input_and_signals()
        for exchange in golden.LIFE:
            self.replay(exchange)

    def input_and_signals(self):
        cat = self.send(golden.CAT)[2]
        self.names["pid"] = self.message(cat)[1]["event"]["start"]["pid"]
        for exchange in golden.INPUT:
            self.replay(exchange)
        self.assertEqual(self.message(cat), (0, golden.stdout("cGluZwo=")))
        self.assertEqual(self.message(cat), (0, golden.DONE))
        self.assertEqual(self.message(cat), (2, {}))
        sleep = self.send(golden.SLEEP)[2]
        self.names["pid"] = self.message(sleep)[1]["event"]["start"]["pid"]
        for exchange in golden.KILL:
            self.replay(exchange)
        self.assertEqual(self.message(sleep), (0, golden.KILLED))
        late = self.send(golden.LATE)[2]
        self.message(late)
        flags, message = self.message(late)
        if "event" in message:  # which of the two comes first is a race, there too
            self.assertEqual(message, golden.KILLED)
            flags, message = self.message(late)
        self.assertEqual(flags, 2)
        if message:
            self.assertEqual(message, {"error": {"code": "deadline_exceeded",
                                                 "message": "context deadline exceeded"}})

    def test_start_is_79_bytes(self):
        head, body = golden.start(golden.started("echo hi"))
        self.assertEqual((len(body), body[:5]), (79, "\0\0\0\0J"))
        self.assertIn("content-length: {length}\n", head)


if __name__ == "__main__":
    unittest.main(verbosity=2)
