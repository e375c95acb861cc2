#!/usr/bin/env python3
"""What a box has for itself: a home and all other files, its token, and a way to the internet by its rules."""

import os
import pathlib
import tempfile
import unittest

import client
from case import BROKEN, USER, EmulatorCase

PLACES = ("1.1.1.1", "9.9.9.9", "208.67.222.222")


class IsolationTest(EmulatorCase):
    def out(self, box, command, user=USER):
        return box.run(command, user)[0]

    def test_a_home_is_the_box_s_alone(self):
        """And so is the rest of what can be written: of another box, and of the host."""
        one, other = self.create(), self.create()
        for place in ("/home/user", "/tmp", "/var/tmp"):
            with self.subTest(place):
                self.assertEqual(self.out(one, f"echo mine >{place}/secret; cat {place}/secret"), "mine\n")
                self.assertEqual(self.out(other, f"cat {place}/secret 2>/dev/null; ls -A {place} | grep secret; "
                                                 f"echo other >{place}/secret"), "")
                self.assertEqual(self.out(one, f"cat {place}/secret"), "mine\n")
        with tempfile.TemporaryDirectory(prefix="e2b-test-of-the-host-") as folder:
            self.assertEqual(self.out(one, f"ls -d {folder}; ls -d {pathlib.Path(__file__)}", "root"), "")
        self.assertEqual(one.http("GET", "/files?path=secret").text, b"mine\n")
        self.assertEqual(other.http("GET", "/files?path=secret").text, b"other\n")

    def test_files_end_with_their_box_and_last_as_long(self):
        box = self.create()
        self.out(box, "echo kept >~/file")
        self.api("POST", f"/sandboxes/{box.id}/pause", {})
        self.api("POST", f"/v2/sandboxes/{box.id}/connect", {})
        self.assertEqual(self.out(box, "cat ~/file"), "kept\n")
        self.api("DELETE", f"/sandboxes/{box.id}")
        self.assertEqual(self.out(self.create(), "ls ~"), "")

    def test_a_process_is_seen_by_its_own_box_alone(self):
        one, other = self.create(), self.create()
        command = ["/bin/sleep", f"4{os.getpid()}"]
        with one.stream("/process.Process/Start", {
                "process": {"cmd": command[0], "args": command[1:]}, "stdin": False}) as stream:
            pid = stream.begun().pid
            look = "ps ax | grep -c '[s]leep 4'"
            self.assertEqual((self.out(one, look), self.out(other, look)), ("1\n", "0\n"))
            kill = {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"}
            self.assertEqual(other.call("SendSignal", kill).status, 404)
            self.assertEqual(len(one.call("List", {}).json["processes"]), 1)
            self.assertEqual(other.call("List", {}).json.get("processes", []), [])

    def test_a_token_opens_its_own_box_alone(self):
        """By each way: a unary call, a stream, a file that comes and one that goes."""
        one, other = self.create(), self.create()
        start = {"process": {"cmd": "/bin/true", "args": []}, "stdin": False}
        for token in (other.token, "", one.token[:-1], one.token + "0"):
            with self.subTest(token=token[:8]):
                right, one.token = one.token, token
                said = [one.call("List", {}).status, one.files("ListDir", {"path": "/"}).status,
                        one.http("GET", "/files?path=/etc/passwd").status,
                        one.http("POST", "/files?path=x", b"x", Content_Type="application/octet-stream").status]
                with one.stream("/process.Process/Start", start) as stream:
                    said.append(stream.status)
                one.token = right
                self.assertEqual(said, [401] * 5)
        self.assertEqual(self.out(one, "ls ~"), "")
        self.api("POST", f"/sandboxes/{one.id}/pause", {})
        self.api("POST", f"/v2/sandboxes/{one.id}/connect", {})
        self.assertEqual(one.call("List", {}).status, 200)  # it outlives a pause

    def reached(self, box):
        found = self.out(box, f"for to in {' '.join(PLACES)}; do for port in 53 443; do "
                              "timeout 5 head -c1 </dev/tcp/$to/$port 2>/dev/null | wc -c; done; done")
        return "".join(found.split())

    def test_the_internet_is_reached_by_the_rules_of_a_box(self):
        for wanted, reached in (
                ({}, "111111"), ({"allow_internet_access": True}, "111111"),
                ({"allow_internet_access": False}, "000000"),
                ({"network": {"denyOut": ["9.9.9.9"]}}, "110011"),
                ({"network": {"allowOut": ["9.9.9.0/24"], "denyOut": ["0.0.0.0/0"]}}, "001100"),
                ({"network": {"allowOut": ["pypi.org"], "denyOut": ["0.0.0.0/0"]}}, "000000")):
            with self.subTest(wanted):
                self.assertEqual(self.reached(self.create(**wanted)), reached)

    def test_rules_are_changed_while_it_runs_and_outlast_a_pause(self):
        box = self.create()
        self.api("PUT", f"/sandboxes/{box.id}/network", {"allow_internet_access": False})
        self.assertEqual(self.reached(box), "000000")
        self.api("POST", f"/sandboxes/{box.id}/pause", {})
        self.assert_error(self.api("PUT", f"/sandboxes/{box.id}/network", {}), 404)
        self.api("POST", f"/v2/sandboxes/{box.id}/connect", {})
        self.assertEqual(self.reached(box), "000000")
        self.api("PUT", f"/sandboxes/{box.id}/network", {})
        self.assertEqual(self.reached(box), "111111")

    def test_a_server_that_keeps_no_rules(self):
        self.e2b.settings(keeps_network=False)
        box = self.create(allow_internet_access=False)
        self.assertEqual(self.info(box).json["allowInternetAccess"], False)
        self.assertEqual(self.reached(box), "111111")

    def test_a_limit_ends_what_runs_in_a_box(self):
        """By itself, at its time: with nobody asking."""
        box = self.create(timeout=1)
        with box.start("sleep 60") as stream, self.assertRaises(BROKEN):
            while stream.event() != {"ended": True}:
                pass
        client.becomes(lambda: self.e2b.books()["ended"].get(box.id) == "expired")
        self.assertEqual(box.call("List", {}).status, 502)


if __name__ == "__main__":
    unittest.main(verbosity=2)
