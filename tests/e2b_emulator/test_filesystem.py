#!/usr/bin/env python3
"""filesystem.Filesystem."""

import unittest

import client
from case import USER, EmulatorCase


class FilesystemTest(EmulatorCase):
    def setUp(self):
        self.box = self.create()

    def refused(self, method, message, code):
        answer = self.box.files(method, message)
        self.assertEqual(answer.json["code"], code, answer.text)
        return answer

    def test_what_is_told_of_a_file(self):
        self.box.run("printf 12345 >f; chmod 4754 f; ln -s f link; ln -s none dangling; mkdir -m 1777 d; : >empty")
        entry = self.box.files("Stat", {"path": "f"}).json["entry"]
        self.assertRegex(entry.pop("modifiedTime"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        self.assertEqual(entry, {"name": "f", "type": "FILE_TYPE_FILE", "path": "/home/user/f", "size": "5",
                                 "mode": 0o754, "permissions": "urwxr-xr--", "owner": USER,
                                 "group": USER})
        link = self.box.files("Stat", {"path": "link"}).json["entry"]
        self.assertEqual((link["type"], link["symlinkTarget"], link["permissions"][0], link["mode"]),
                         ("FILE_TYPE_FILE", "/home/user/f", "L", 0o754))
        dangling = self.box.files("Stat", {"path": "dangling"}).json["entry"]
        self.assertEqual((dangling["symlinkTarget"], "type" in dangling), ("/home/user/dangling", False))
        self.assertEqual(self.box.files("Stat", {"path": "~/d"}).json["entry"]["permissions"], "dtrwxrwxrwx")
        self.assertNotIn("size", self.box.files("Stat", {"path": "empty"}).json["entry"])
        self.refused("Stat", {"path": "none"}, "not_found")

    def test_lists(self):
        self.box.run("mkdir -p l/a/b l2; touch l/a/b/c l/z; ln -s /home/user/l shown")

        def paths(path, **more):
            found = self.box.files("ListDir", {"path": path, **more}).json.get("entries", [])
            return [entry["path"] for entry in found]
        self.assertEqual(paths("l"), ["/home/user/l/a", "/home/user/l/z"])
        self.assertEqual(paths("l", depth=3), ["/home/user/l/a", "/home/user/l/a/b", "/home/user/l/a/b/c",
                                               "/home/user/l/z"])
        self.assertEqual(paths("shown"), ["/home/user/shown/a", "/home/user/shown/z"])
        self.assertEqual(paths("l2"), [])
        self.refused("ListDir", {"path": "none"}, "not_found")
        self.refused("ListDir", {"path": "l/z"}, "invalid_argument")

    def test_makes_moves_and_removes(self):
        made = self.box.files("MakeDir", {"path": "m/n"})
        self.assertEqual(made.json["entry"]["owner"], USER)
        self.assertEqual(self.refused("MakeDir", {"path": "m/n"}, "already_exists").status, 409)
        self.box.run("echo 1 >f; echo 2 >g; ln -s /home/user/m link")
        self.refused("MakeDir", {"path": "f"}, "invalid_argument")
        moved = self.box.files("Move", {"source": "f", "destination": "new/g"}).json["entry"]
        self.assertEqual(moved["path"], "/home/user/new/g")
        self.refused("Move", {"source": "f", "destination": "h"}, "not_found")
        self.refused("Move", {"source": "g", "destination": "/dev/shm/../null/x"}, "internal")
        for path in ("link", "new", "never"):
            self.assertEqual(self.box.files("Remove", {"path": path}).text, b"{}")
        self.assertEqual(self.box.run("ls")[0], "g\nm\n")

    def watch(self, **how):
        return self.box.stream("/filesystem.Filesystem/WatchDir", {"path": "w", **how})

    def seen(self, stream, wanted):
        found = set()
        while not wanted <= found:
            event = stream.event().get("filesystem")
            if event:
                found.add((event["type"].removeprefix("EVENT_TYPE_"), event["name"]))
        return found

    def test_a_watch(self):
        self.box.run("mkdir -p w/below")
        with self.watch(recursive=True, includeEntry=True) as stream:
            self.assertEqual(stream.event(), {"start": {}})
            self.box.run("echo 1 >w/f; mv w/f w/g; chmod 600 w/g; rm w/g; echo 2 >w/below/f")
            self.seen(stream, {("CREATE", "f"), ("WRITE", "f"), ("RENAME", "f"), ("CREATE", "g"),
                               ("CHMOD", "g"), ("REMOVE", "g"), ("WRITE", "below/f")})
            self.box.run("mkdir w/new")
            self.seen(stream, {("CREATE", "new")})
            self.box.run("echo 3 >w/new/f")
            self.seen(stream, {("WRITE", "new/f")})
        with self.watch(includeEntry=True) as stream:
            stream.event()
            self.box.run("echo 1 >w/below/g; echo 12 >w/h")
            event = stream.event()["filesystem"]  # none of what is below
            self.assertEqual((event["name"], event["entry"]["path"]), ("h", "/home/user/w/h"))

    def test_a_watch_of_nothing(self):
        with self.watch() as stream:
            self.assertEqual(stream.event()["last"]["error"]["code"], "not_found")
        self.box.run("touch w")
        with self.watch() as stream:
            self.assertEqual(stream.event()["last"]["error"]["code"], "invalid_argument")

    def test_a_watcher_that_is_asked(self):
        self.box.run("mkdir w")
        watcher = {"watcherId": self.box.files("CreateWatcher", {"path": "w"}).json["watcherId"]}
        self.box.run("touch w/f")
        events = client.becomes(lambda: self.box.files("GetWatcherEvents", watcher).json.get("events"))
        self.assertEqual(events[0], {"name": "f", "type": "EVENT_TYPE_CREATE"})
        self.assertEqual(self.box.files("RemoveWatcher", watcher).text, b"{}")
        self.refused("GetWatcherEvents", watcher, "not_found")

    def test_the_protocol_s_own_refusals(self):
        for body, code in ((b"", "invalid_argument"), (b"[]", "invalid_argument"), (b"{", "invalid_argument")):
            answer = self.box.http("POST", "/filesystem.Filesystem/Stat", body,
                                   Content_Type="application/json")
            self.assertEqual((answer.status, answer.json["code"]), (400, code))
        for method, path, kind, status in (("GET", "Stat", "application/json", 405),
                                           ("POST", "Stat", "text/plain", 415),
                                           ("POST", "WatchDir", "application/json", 415),
                                           ("POST", "None", "application/json", 404)):
            answer = self.box.http(method, f"/filesystem.Filesystem/{path}", b"{}", Content_Type=kind)
            self.assertEqual(answer.status, status, path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
