#!/usr/bin/env python3
"""Pause and resume: what stands still, what is cut, what wakes a box and what does not."""

import itertools
import pathlib
import threading
import time
import unittest

import client
import freezer
from case import BROKEN, EmulatorCase, processes_below

TICKING = "setsid sh -c 'for i in $(seq 2000); do echo $i >tick; sleep 0.02; done' >/dev/null 2>&1 &"


class PauseTest(EmulatorCase):
    def pause(self, box, **body):
        return self.api("POST", f"/sandboxes/{box.id}/pause", body)

    def wake(self, box, **body):
        return self.api("POST", f"/v2/sandboxes/{box.id}/connect", body)

    def ticks(self, box):
        return int(box.run("cat tick")[0] or 0)

    def test_all_of_it_stands_still_and_goes_on(self):
        box = self.create()
        box.run(TICKING + " echo kept >file")
        client.becomes(lambda: self.ticks(box) > 3)
        awake, before = -time.monotonic(), self.ticks(box)
        self.assertEqual(self.pause(box).status, 204)
        awake += time.monotonic()
        self.assert_error(self.pause(box), 409, f"sandbox '{box.id}' is already paused")
        self.assertEqual(self.info(box).json["state"], "paused")
        time.sleep(2)
        awake -= time.monotonic()
        answer = self.wake(box)
        self.assertEqual((answer.status, answer.json["sandboxID"], answer.json["envdAccessToken"]),
                         (201, box.id, box.token))
        first = self.ticks(box)
        awake += time.monotonic()
        self.assertLessEqual(first - before, awake / 0.02 + 5)  # a hundred more, had it gone on
        self.assertEqual(box.run("cat file")[0], "kept\n")
        client.becomes(lambda: self.ticks(box) > first)
        self.assertEqual(self.wake(box).status, 200)

    def test_calls_of_one_that_is_paused(self):
        box = self.create()
        self.pause(box)
        gone = {"sandboxId": box.id, "message": "The sandbox was not found", "code": 502}
        for answer in (box.http("GET", "/health"), box.call("List", {}),
                       box.http("GET", "/files?path=x")):
            self.assertEqual((answer.status, answer.json), (502, gone))
        self.assertEqual(self.info(box).json["state"], "paused")

    def test_a_request_wakes_one_that_says_so(self):
        box = self.create(autoPause=True, autoResume={"enabled": True}, timeout=60)
        self.pause(box)
        answer = box.http("GET", "/health", X_Access_Token="other")
        self.assert_error(answer, 403, "can't be resumed with the credentials provided")
        self.assertEqual(box.http("GET", "/health").status, 204)
        self.assertEqual(self.info(box).json["state"], "running")
        self.pause(box, memory=False)
        self.assertEqual(box.http("GET", "/health").status, 502)

    def test_without_memory_it_boots_anew(self):
        box = self.create(envVars={"OF": "the creation"})
        box.run("echo kept >file; setsid sleep 77 </dev/null >/dev/null 2>&1 &")
        self.pause(box, memory=False)
        self.assertEqual(self.wake(box).status, 201)
        self.assertEqual(box.run("cat file; echo =$OF=")[0], "kept\n==\n")
        self.assertNotIn("sleep 77", box.run("ps ax")[0])
        self.pause(box)
        self.wake(box, memory=False)
        self.assertEqual(box.run("cat file")[0], "kept\n")

    def test_streams_are_cut_and_their_processes_live(self):
        box = self.create()
        with box.start("sleep 1; echo over >done; sleep 60") as stream:
            pid = stream.begun().pid
            self.pause(box)
            with self.assertRaises(BROKEN):
                while "ended" not in stream.event():
                    pass
        self.wake(box)
        self.assertIn(pid, [one["pid"] for one in box.call("List", {}).json["processes"]])
        client.becomes(lambda: box.run("cat done")[0] == "over\n")

    def test_a_dead_stream_stops_its_process_until_it_is_given_up(self):
        self.e2b.settings(dead_stream_seconds=6)
        box = self.create()
        with box.start("read line; head -c 16000000 /dev/zero; echo >done", stdin=True) as stream:
            pid = stream.begun().pid
            self.pause(box)
        self.wake(box)
        box.call("SendInput", {"process": {"pid": pid}, "input": {"stdin": "Cg=="}})
        with box.connect(pid) as again:
            again.begun()
            time.sleep(1)
            self.assertEqual(box.run("ls done")[0], "")  # other processes go on
            self.assertTrue(again.outcome()[2]["exited"])
        self.assertEqual(box.run("ls done")[0], "done\n")

    def test_a_transition_that_takes_its_time(self):
        self.e2b.settings(pause_seconds=4)
        box = self.create(timeout=1, autoPause=True)
        client.becomes(lambda: self.info(box).json["state"] == "paused")
        self.assert_error(self.api("POST", f"/sandboxes/{box.id}/timeout", {"timeout": 9}), 409,
                          f'Sandbox "{box.id}" is being paused')
        self.assertEqual(self.wake(box).status, 201)  # which has waited
        self.assertEqual(box.run("echo hi")[0], "hi\n")

    def test_rounds_of_it_under_calls(self):
        """Each call is answered, refused or cut; none hangs, and none gives what another was to have."""
        self.e2b.settings(dead_stream_seconds=1)
        box, wrong, over = self.create(), [], threading.Event()

        def calls(name):
            for number in itertools.count():
                if over.is_set():
                    return
                try:
                    with box.start(f"echo {name}-{number}") as stream:
                        if stream.status == 200 and stream.outcome()[0] != f"{name}-{number}\n":
                            wrong.append((name, number))
                except BROKEN:
                    pass
                time.sleep(0.05)
        threads = [threading.Thread(target=calls, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for _ in range(8):
            time.sleep(0.15)
            self.assertEqual(self.pause(box).status, 204)
            self.assertEqual(self.wake(box).status, 201)
        over.set()
        for thread in threads:
            thread.join(40)
        self.assertFalse(any(thread.is_alive() for thread in threads))
        self.assertEqual(wrong, [])
        client.becomes(lambda: box.call("List", {}).text == b"{}")
        self.assertEqual(box.run("echo hi")[0], "hi\n")

    def test_one_that_is_paused_can_be_killed(self):
        box = self.create()
        self.pause(box)
        self.assertEqual(self.api("DELETE", f"/sandboxes/{box.id}").status, 204)
        self.assert_error(self.wake(box), 404)


class BySignalsTest(PauseTest):
    """Where there are no cgroups."""
    arguments = ("--freeze-by-signals",)

    def test_who_stood_still_before_stands_still_after(self):
        box = self.create()
        box.run("setsid sleep 78 </dev/null >/dev/null 2>&1 & sleep 0.3; kill -STOP $!; "
                "until grep -q '^State:.T' /proc/$!/status; do sleep 0.05; done")  # on a busy machine later
        self.pause(box)
        states = [pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").partition("State:\t")[2][0]
                  for pid in processes_below(self.e2b.process.pid)]
        self.assertGreaterEqual(states.count("T"), 3, states)
        self.wake(box)
        self.assertEqual(box.run("ps -o state= -C sleep")[0], "T\n")


class FreezerTest(unittest.TestCase):
    def test_a_cgroup_where_there_is_one(self):
        made = freezer.make()
        try:
            self.assertEqual(isinstance(made, freezer.Cgroup), made.procs is not None)
        finally:
            made.remove()


if __name__ == "__main__":
    unittest.main(verbosity=2)
