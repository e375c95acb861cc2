"""What it costs in requests (docs/backends.md) beside a call on a machine that is awake, which on_e2b.py has."""

import json
import time

import e2b
from picture import noise
from suite import ParityTest, e2b_only

START = "envd POST /process.Process/Start"
STREAM = "envd POST /process.Process/StreamInput"
FILES = "envd POST /files"
CREATE, LIST, INFO, CONNECT, NETWORK, PAUSE = (f"api {each}" for each in (
    "POST /v2/sandboxes", "GET /v2/sandboxes", "GET /sandboxes/{id}", "POST /v2/sandboxes/{id}/connect",
    "PUT /sandboxes/{id}/network", "POST /sandboxes/{id}/pause"))


@e2b_only
class RequestsOnE2bTest(ParityTest):
    def counts(self):
        found = e2b.emulator().counts(clear=True)
        found.pop("connections", None)
        return found

    def begun(self, *flags, **env):
        """A server whose own beginning has been counted already."""
        self.berth.close()
        self.berth = self.start("--session", "work", *flags, env=env)
        self.berth.list_tools()
        return self.counts_of(lambda: self.berth.call_tool("session_info"))

    def counts_of(self, action):
        self.counts()
        action()
        return self.counts()

    def test_what_has_no_room_in_one_request_takes_two(self):
        self.output("true")
        for size, more in ((360_000, {}), (400_000, {STREAM: 1})):
            with self.subTest(size):
                self.assertEqual(self.counts_of(lambda: self.call("write_file", path="f", content="y" * size)),
                                 {START: 1, **more})

    def test_a_large_picture_takes_two(self):
        self.output("true")
        (self.home() / "p.png").write_bytes(noise(200))
        self.assertGreater((self.home() / "p.png").stat().st_size, 96 << 10)
        self.assertEqual(self.counts_of(lambda: self.call("read_file", path="p.png")), {START: 2})

    def test_the_first_call_of_a_server_to_a_machine_that_is_there(self):
        self.output("true")
        self.berth.close()
        self.berth = self.start("--session", "work")
        self.berth.list_tools()
        self.wait_until(lambda: LIST in self.counts(), 20, "what a server asks at its start")
        counts = self.counts_of(lambda: self.output("true"))
        self.assertEqual(counts, {INFO: 1, CONNECT: 1, START: 1 + 1})

    def test_a_box_whose_answer_was_lost_costs_two_more(self):
        e2b.emulator().fault(plane="api", method="POST", path="/v2/sandboxes", lose_reply=True)
        self.addCleanup(e2b.emulator().clear_faults)
        counts = self.counts_of(lambda: self.output("true"))
        self.assertEqual(counts, {CREATE: 1, LIST: 1, CONNECT: 1, FILES: 2, START: 2 + 1})

    def test_a_pause_by_an_operator_or_as_the_last_server_leaves(self):
        self.berth.close()
        self.berth = self.start("--session", "work", env={"BERTH_SESSION_ON_DISCONNECT": "now"})
        self.output("true")
        self.assertEqual(self.counts_of(self.berth.close), {PAUSE: 1, START: 3})

    def test_a_job_whose_server_makes_no_call(self):
        self.berth.close()
        self.berth = self.start("--session", "work", env={"BERTH_E2B_LEASE": "4s"})
        self.run_command("sleep 100", background=True)
        self.assertEqual(self.counts_of(lambda: time.sleep(5)), {START: 2})

    def test_the_start_of_a_server_asks_once_for_each_session_and_once_for_strays(self):
        self.output("true")
        other = self.start("--session", "other")
        other.call_tool("bash_exec", {"command": "true"})
        other.close()
        self.berth.close()
        self.counts()
        found = {}

        def asked():
            for name, count in self.counts().items():
                found[name] = found.get(name, 0) + count
            return found.get(LIST) == 1 and found.get(INFO) == 2
        self.berth = self.start("--session", "third")
        self.berth.list_tools()
        self.wait_until(asked, 20, "what a server asks at its start")
        self.assertEqual(found, {LIST: 1, INFO: 2})

    def test_another_network_for_a_machine_that_is_there(self):
        self.begun("--network", "host")
        self.output("true")
        for mode, asked in (("none", 1), ("host", 0)):
            with self.subTest(mode):
                self.begun("--network", mode)
                counts = self.counts_of(lambda: self.output("true"))
                said = json.dumps(counts)
                self.assertEqual((counts.pop(NETWORK), counts.pop(INFO), counts.pop(CONNECT)), (1, 2, 2), said)
