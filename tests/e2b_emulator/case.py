"""What the tests here begin with: an emulator for each class, whose boxes end with each test."""

import http.client
import os
import pathlib
import unittest

import client
from emulator import Emulator


# What a client meets where a connection is cut.
BROKEN = (EOFError, OSError, http.client.HTTPException)
# Who `user` is: an ordinary user can give a box one uid alone, which is root's.
USER = "user" if os.geteuid() == 0 else "root"


class EmulatorCase(unittest.TestCase):
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.e2b = Emulator(*cls.arguments)
        cls.e2b.start()
        cls.addClassCleanup(cls.e2b.stop)
        cls.settings = cls.e2b.settings()

    def tearDown(self):
        self.e2b.clear_faults()
        self.e2b.settings(**self.settings)
        books = self.e2b.books()
        for box in books["running"] + books["paused"]:
            client.api(self.e2b, "DELETE", f"/sandboxes/{box}")
        books = self.e2b.books()
        self.assertEqual((books["running"], books["paused"]), ([], []))
        self.assertEqual(sorted(books["created"]), sorted(books["ended"]))
        self.e2b.counts(clear=True)

    def create(self, **wanted):
        return client.create(self.e2b, **wanted)

    def api(self, method, path, body=None):
        return client.api(self.e2b, method, path, body)

    def info(self, box):
        return self.api("GET", f"/sandboxes/{box.id}")

    def assert_error(self, answer, status, message=None):
        self.assertEqual(answer.status, status, answer.text)
        self.assertEqual(answer.json["code"], status)
        if message is not None:
            self.assertIn(message, answer.json["message"])


def processes_below(pid):
    """Of the whole tree, itself not."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(folder.name))
    found, todo = [], [pid]
    while todo:
        for child in parents.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found
