#!/usr/bin/env python3
"""The control plane: what is made, told, kept alive, ended and refused."""

import datetime
import json
import time
import unittest
import urllib.parse

import client
from case import EmulatorCase


class ControlTest(EmulatorCase):
    def test_a_key_is_asked_for_in_the_original_s_words(self):
        for key, message in ((None, "authorization header is missing"),
                             ("sk_1", "authorization header is malformed"),
                             ("e2b_00", "Invalid API key, please visit")):
            headers = {"X-API-Key": key} if key else {}
            answer = client.ask(self.e2b, "GET", "/v2/sandboxes", None, headers)
            self.assert_error(answer, 401, message)

    def test_another_team_s_boxes_are_as_none(self):
        box = self.api("POST", "/v2/sandboxes", {"templateID": "base"}).json["sandboxID"]
        same, other = "e2b_" + "1" * 40, "e2b_" + "2" * 40
        self.addCleanup(self.e2b.settings, other_keys={})
        self.e2b.settings(other_keys={same: "", other: "another"})
        for key, status, listed in ((same, 200, [box]), (other, 404, [])):
            headers = {"X-API-Key": key}
            self.assertEqual(client.ask(self.e2b, "GET", f"/sandboxes/{box}", None, headers).status, status)
            found = client.ask(self.e2b, "GET", "/v2/sandboxes", None, headers).json
            self.assertEqual([each["sandboxID"] for each in found], listed)
        self.assert_error(client.ask(self.e2b, "DELETE", f"/sandboxes/{box}", None, {"X-API-Key": other}), 404,
                          "doesn't exist or you don't have access to it")

    def test_what_a_creation_says(self):
        answer = self.api("POST", "/v2/sandboxes", {"templateID": "base"})
        self.assertEqual(answer.status, 201)
        self.assertRegex(answer.json["sandboxID"], "^i[a-z0-9]{20}$")
        self.assertEqual({name: value for name, value in answer.json.items() if name not in
                          ("sandboxID", "envdAccessToken")},
                         {"templateID": "base", "clientID": "6532622b", "envdVersion": "0.6.13",
                          "trafficAccessToken": None, "domain": None})
        info = self.api("GET", f"/sandboxes/{answer.json['sandboxID']}-6532622b").json
        self.assertEqual(info["envdAccessToken"], answer.json["envdAccessToken"])
        self.assertEqual(info["lifecycle"], {"autoResume": False, "onTimeout": "kill"})

    def test_what_it_refuses(self):
        for body, message in (({}, "templateID"), ({"templateID": "base", "timeout": 0}, "greater than 0"),
                              ({"templateID": "base", "timeout": 90000}, "cannot be greater than 24 hours"),
                              ({"templateID": "base", "timeout": "9"}, "must be an integer")):
            self.assert_error(self.api("POST", "/v2/sandboxes", body), 400, message)
        answer = client.ask(self.e2b, "POST", "/v2/sandboxes", "{", {"X-API-Key": self.e2b.api_key})
        self.assert_error(answer, 400, "Error when parsing request: ")
        self.assertEqual(self.e2b.books()["running"], [])

    def test_as_many_as_the_plan_allows(self):
        self.e2b.settings(concurrent=1)
        self.create()
        answer = self.api("POST", "/v2/sandboxes", {"templateID": "base"})
        self.assert_error(answer, 429, "maximum number of concurrent E2B sandboxes (1)")
        self.assertIsNone(answer.headers["Retry-After"])

    def test_one_that_is_not_there(self):
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/timeout")):
            self.assert_error(self.api(method, f"/sandboxes/inot{path}", {"timeout": 9}), 404,
                              'Sandbox "inot" doesn\'t exist or you don\'t have access to it')
        self.assert_error(self.api("POST", "/v2/sandboxes/inot/connect", {}), 404)
        self.assert_error(self.api("GET", "/sandboxes/NOT"), 400, "Invalid sandbox ID")

    def left(self, box):
        return self.info_end(box) - time.time()

    def info_end(self, box):
        return datetime.datetime.fromisoformat(self.info(box).json["endAt"]).timestamp()

    def test_limits_are_set_and_extended(self):
        box = self.create(timeout=100)
        self.assertAlmostEqual(self.left(box), 100, delta=5)
        self.assertEqual(self.api("POST", f"/sandboxes/{box.id}/timeout", {"timeout": 50}).status, 204)
        self.assertAlmostEqual(self.left(box), 50, delta=5)
        for path, body, seconds in (("/sandboxes/{}/refreshes", {"duration": 20}, 50),
                                    ("/sandboxes/{}/refreshes", {"duration": 70}, 70),
                                    ("/v2/sandboxes/{}/connect", {"timeout": 60}, 70),
                                    ("/v2/sandboxes/{}/connect", {}, 300),
                                    ("/sandboxes/{}/connect", {"timeout": 400}, 400)):
            self.assertIn(self.api("POST", path.format(box.id), body).status, (200, 204))
            self.assertAlmostEqual(self.left(box), seconds, delta=5, msg=path)
        self.api("POST", f"/sandboxes/{box.id}/timeout", {"timeout": 100 * 3600})
        self.assertAlmostEqual(self.left(box), 24 * 3600, delta=5)

    def test_limits_run_out(self):
        killed, paused = self.create(timeout=1), self.create(timeout=1, autoPause=True)
        client.becomes(lambda: self.info(killed).status == 404)
        client.becomes(lambda: self.info(paused).json["state"] == "paused")
        self.assertEqual(self.e2b.books()["ended"][killed.id], "expired")
        timeout = f"/sandboxes/{paused.id}/timeout"  # 409 for as long as it is on its way
        client.becomes(lambda: self.api("POST", timeout, {"timeout": 9}).status == 404)
        now = self.create()
        self.assertEqual(self.api("POST", f"/sandboxes/{now.id}/timeout", {"timeout": 0}).status, 204)
        client.becomes(lambda: self.info(now).status == 404)

    def listed(self, **query):
        answer = self.api("GET", "/v2/sandboxes?" + urllib.parse.urlencode(query))
        self.assertEqual(answer.status, 200, answer.text)
        return [box["sandboxID"] for box in answer.json], answer.headers

    def test_lists_by_metadata_in_three_encodings(self):
        odd = {"a&b": "c d=e%f+g", "plain": "x"}
        box, other = self.create(metadata=odd), self.create(metadata={"plain": "y"})
        twice = urllib.parse.urlencode({urllib.parse.quote(key): urllib.parse.quote(value)
                                        for key, value in odd.items()})
        self.assertEqual(self.listed(metadata=twice)[0], [box.id])
        self.assertEqual(self.listed(metadata="plain=y")[0], [other.id])
        self.assertEqual(self.listed(metadata="plain=z")[0], [])

    def test_lists_in_pages_and_by_state(self):
        boxes = [self.create().id for _ in range(3)]
        self.api("POST", f"/sandboxes/{boxes[0]}/pause", {})
        found, headers = self.listed(limit=2)
        self.assertEqual(found, boxes[:0:-1])
        self.assertEqual(headers["X-Total-Running"], "2")
        rest, headers = self.listed(limit=2, nextToken=headers["X-Next-Token"])
        self.assertEqual((rest, headers["X-Next-Token"]), (boxes[:1], None))
        self.assertEqual(self.listed(state="paused")[0], boxes[:1])
        self.assertEqual(self.listed(order="asc", limit=1)[0], boxes[:1])
        first = [box["sandboxID"] for box in self.api("GET", "/sandboxes").json]
        self.assertEqual(first, boxes[:0:-1])  # its first version: none that is paused

    def test_older_servers(self):
        self.e2b.settings(v2=False)
        answer = self.api("POST", "/v2/sandboxes", {"templateID": "base"})
        self.assertEqual((answer.status, answer.text), (405, b"405 method not allowed"))
        open_box = self.api("POST", "/sandboxes", {"templateID": "base"}).json
        self.assertNotIn("envdAccessToken", open_box)
        self.assertEqual(client.Box(self.e2b, open_box).run("echo hi")[0], "hi\n")
        secured = self.api("POST", "/sandboxes", {"templateID": "base", "secure": True}).json
        self.assertIn("envdAccessToken", secured)
        path = f"/v2/sandboxes/{secured['sandboxID']}/connect"
        self.assertEqual(self.api("POST", path, {}).status, 405)
        self.assertEqual(self.api("GET", "/v2/sandboxes").status, 200)
        self.e2b.settings(v2_list=False)
        self.assertEqual(self.api("GET", "/v2/sandboxes").status, 405)

    def test_requests_are_counted_and_books_are_kept(self):
        box = self.create()
        self.info(box)
        self.info(box)
        box.call("List", {})
        counts = self.e2b.counts(clear=True)
        self.assertEqual(counts.pop("connections"), 4)
        self.assertEqual(counts, {"api POST /v2/sandboxes": 1, "api GET /sandboxes/{id}": 2,
                                  "envd POST /process.Process/List": 1})
        self.assertEqual(self.e2b.counts(), {})
        self.assertEqual(self.e2b.books()["running"], [box.id])
        self.api("DELETE", f"/sandboxes/{box.id}")
        self.assertEqual(self.e2b.books()["ended"][box.id], "killed")

    def test_requests_on_one_connection_and_in_chunks(self):
        body = json.dumps({"templateID": "base"}).encode()
        request = (b"POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nx-api-key: %b\r\n"
                   b"transfer-encoding: chunked\r\n\r\n" % self.e2b.api_key.encode())
        pieces = b"".join(b"%x\r\n%b\r\n" % (1, body[at:at + 1]) for at in range(len(body)))
        with client.raw(self.e2b, (request + pieces + b"0\r\n\r\n") * 2) as connection:
            text = b""
            while text.count(b"sandboxID") < 2:
                text += connection.recv(4096)
        self.assertEqual(text.count(b"HTTP/1.1 201 Created\r\n"), 2)
        self.assertEqual(self.e2b.counts()["connections"], 1)

    def test_the_ways_to_a_box(self):
        box = self.create()

        def status(path="/health", **headers):
            found = client.ask(self.e2b, "GET", path, None, {name.replace("_", "-"): value for name, value
                                                             in headers.items()})
            return found.status, found.text
        self.assertEqual(status(Host=f"49983-{box.id}.e2b.test")[0], 204)
        self.assertEqual(status(E2b_Sandbox_Id=box.id), (400, b"Missing header: E2b-Sandbox-Port"))
        self.assertEqual(status(E2b_Sandbox_Port="49983"), (400, b"Missing header: E2b-Sandbox-Id"))
        closed = status(E2b_Sandbox_Id=box.id, E2b_Sandbox_Port="3000")
        self.assertEqual((closed[0], json.loads(closed[1])), (502, {
            "sandboxId": box.id, "message": "The sandbox is running but port is not open", "port": 3000,
            "code": 502}))
        self.assertEqual(status("/init", **{name.replace("-", "_"): value for name, value in
                                            box.headers().items()})[0], 404)

    def test_idle_connections_are_closed_where_that_is_wanted(self):
        self.e2b.settings(idle_seconds=0.2)
        with client.raw(self.e2b, b"GET /health HTTP/1.1\r\n\r\n" * 2) as connection:
            text = b""
            while piece := connection.recv(4096):
                text += piece
        self.assertEqual(text.count(b"HTTP/1.1 204 No Content\r\n"), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
