"""E2B's control plane cannot be asked while the boxes themselves are well: what is awake goes on, and nobody waits
long for what is only to be told."""

import contextlib
import datetime
import threading
import time

import client
import e2b
from suite import ParityTest, e2b_only

CONNECT = "/v2/sandboxes/{id}/connect"
OUT = ({"status": 500}, {"status": 503}, {"drop": True}, {"delay": 30}, {"status": 429},
       {"status": 200, "body": "<html>sign in</html>"}, {"status": 404, "body": "<html>not here</html>"})
LONG = 600  # seconds: with its reserve more than a fresh box has
SOME_SECONDS = 5


class UnaskedTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(e2b.emulator().clear_faults)
        self.output("echo kept >file")
        (self.box,) = e2b.boxes()

    @contextlib.contextmanager
    def unasked(self, longest=None, path="*", **rule):
        """While it lasts the control plane does so; what is done meanwhile takes so many seconds at most."""
        e2b.emulator().fault(plane="api", path=path, times=0, **rule)
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        e2b.emulator().clear_faults()
        self.assertLess(took, longest or 100)

    def fresh(self):
        """A server of the session that has asked for a short call's time just now."""
        server = self.start("--session", "work")
        self.assertFalse(server.call_tool("bash_exec", {"command": "true", "timeout": 2}).is_error)
        e2b.emulator().counts(clear=True)
        return server

    def asked(self):
        return sum(count for name, count in e2b.emulator().counts(clear=True).items() if name.endswith("connect"))

    def ran(self, server, **arguments):
        found = server.call_tool("bash_exec", arguments)
        self.assertEqual((found.is_error, found.notices, found.data.get("exit_code")), (False, [], 0), found)
        return found.data["stdout"]

    def ends_at(self):
        end = client.api(e2b.emulator(), "GET", f"/sandboxes/{self.box}").json["endAt"]
        return datetime.datetime.fromisoformat(end).timestamp()


@e2b_only
class AwakeTest(UnaskedTest):
    def test_calls_on_a_box_that_is_awake_go_on(self):
        for rule in OUT:
            with self.subTest(str(rule)):
                server = self.fresh()
                with self.unasked(SOME_SECONDS, **rule):
                    self.assertEqual(self.ran(server, command="cat file", timeout=LONG), "kept\n")
                self.assertGreater(self.asked(), 0)  # else nothing was due
                with self.unasked(SOME_SECONDS, **rule):
                    self.assertIn("kept", server.call_tool("read_file", {"path": "file"}).text)
                    for old, new in (("kept", "edited"), ("edited", "kept")):
                        edited = server.call_tool("edit_file", {"path": "file", "old_text": old, "new_text": new})
                        self.assertFalse(edited.is_error, edited)
                    self.assertEqual(self.ran(server, command="cat file", timeout=500), "kept\n")
                server.close()

    def test_its_time_is_asked_for_again(self):
        """Which a short call finds as well, some seconds later."""
        server = self.fresh()
        with self.unasked(status=500):
            self.ran(server, command="true", timeout=LONG)
        before = self.ends_at()
        self.assertGreater(self.asked(), 0)
        self.ran(server, command="true", timeout=2)
        self.assertEqual(self.asked(), 0)
        time.sleep(20)
        self.ran(server, command="true", timeout=2)
        self.assertEqual(self.asked(), 1)
        self.assertGreater(self.ends_at() - before, LONG / 2)

    def test_only_one_call_waits_for_more_time(self):
        server = self.fresh()
        with self.unasked(delay=30):
            first = server.call_async("bash_exec", {"command": "true", "timeout": LONG})
            time.sleep(0.5)
            began = time.monotonic()
            self.assertEqual(self.ran(server, command="cat file", timeout=LONG), "kept\n")
            self.assertIn("kept", server.call_tool("read_file", {"path": "file"}).text)
            self.assertLess(time.monotonic() - began, 2)
            self.assertFalse(first.result(SOME_SECONDS).is_error)
        self.assertEqual(self.asked(), 1)

    def test_the_time_of_calls_that_begin_at_once_is_that_of_the_longest(self):
        for _ in range(4):
            with self.fresh() as server:
                calls = [server.call_async("bash_exec", {"command": "true", "timeout": 900}),
                         server.call_async("bash_exec", {"command": "sleep 5000", "timeout": 5400, "background": True})]
                job = [call.result().data for call in calls][1]["job_id"]
                self.assertGreater(self.ends_at() - time.time(), 5400)
                server.call_tool("bash_kill", {"job_id": job})
            e2b.emulator().do(self.box, "pause")  # its limit is never moved to an earlier time

    def test_a_call_that_is_cancelled_while_it_waits_for_more_time(self):
        server = self.fresh()
        with self.unasked(delay=30):
            cancelled = server.call_async("bash_exec", {"command": "echo x >>count", "timeout": LONG})
            time.sleep(0.5)
            server.cancel(cancelled)
            self.assertEqual(self.ran(server, command="ls"), "file\n")
            time.sleep(4)
            self.assertEqual(self.ran(server, command="ls"), "file\n")

    def test_a_long_command_goes_on_behind_the_end_of_the_box_s_time(self):
        server = self.fresh()
        with self.unasked(status=503):
            running = server.call_async("bash_exec", {"command": "echo x >>count; sleep 3; cat count", "timeout": LONG})
            self.wait_until(lambda: (self.home() / "count").exists(), 10, "the command")
        e2b.emulator().do(self.box, "expire")
        found = running.result(60)
        self.assertEqual((found.data.get("stdout"), found.notices), ("x\n", []), found)

    def test_a_box_that_is_falling_asleep_is_waited_for(self):
        server = self.fresh()
        e2b.emulator().settings(pause_seconds=5)
        self.addCleanup(e2b.emulator().settings, pause_seconds=0)
        pausing = threading.Thread(target=e2b.emulator().do, args=(self.box, "pause"))
        pausing.start()
        time.sleep(0.5)
        self.assertEqual(self.ran(server, command="cat file", timeout=LONG), "kept\n")
        pausing.join()
        e2b.emulator().settings(pause_seconds=0)

        server = self.fresh()
        said = {"code": 409, "message": f'Sandbox "{self.box}" is being paused'}
        e2b.emulator().fault(plane="api", path=CONNECT, status=409, times=4, body=said, type="application/json")
        self.assertEqual(self.ran(server, command="cat file", timeout=LONG), "kept\n")
        self.assertEqual(e2b.emulator().faults_left(), {})

    def test_what_is_told_of_the_box_itself_is_no_outage(self):
        """Its key is taken back; and it goes, of which the next call is told."""
        server = self.fresh()
        refusal = {"code": 401, "message": "Invalid API key"}
        with self.unasked(SOME_SECONDS, status=401, body=refusal, type="application/json"):
            found = server.call_tool("bash_exec", {"command": "true", "timeout": LONG})
            self.assertEqual(found.error.get("code"), "authentication_required", found)
        e2b.emulator().do(self.box, "vanish")
        found = server.call_tool("bash_exec", {"command": "ls", "timeout": LONG})
        self.assertEqual((found.data.get("stdout"), len(found.notices)), ("", 1), found)

    def test_a_box_with_too_little_time_is_not_said_to_sleep(self):
        """A server that comes knows no more than that it runs."""
        server = self.start("--session", "work")
        with self.unasked(17 + 4, path=CONNECT, status=503):
            found = server.call_async("bash_exec", {"command": "echo x >>count", "timeout": 2}).result(60)
        self.assertEqual(found.error.get("code"), "sandbox_unavailable", found)
        self.assertTrue(found.error["retryable"])
        self.assertIn("could not be given more time", found.text)
        self.assertNotIn("woken", found.text)
        self.assertEqual(self.ran(server, command="ls"), "file\n")


@e2b_only
class StartTest(UnaskedTest):
    """A client that waits for too long for its tools has none."""
    longest = 3

    def timed(self, action):
        began = time.monotonic()
        found = action()
        self.assertLess(time.monotonic() - began, self.longest)
        return found

    def test_tools_are_there_soon(self):
        self.berth.close()
        for rule in ({"status": 503}, {"status": 500}, {"delay": 30}, {"delay": 3}):
            with self.subTest(str(rule)), self.unasked(**rule):
                older = self.start("--session", "work", handshake=False)
                self.assertIn("instructions", self.timed(older.initialize))
                newer = self.start("--session", "work", era="modern")
                self.assertIn("instructions", self.timed(lambda: newer.request("server/discover")))
                other = self.start("--session", "work", era="modern")
                for server in (older, newer, other):
                    tools = self.timed(server.list_tools)
                    self.assertIn("bash_exec", [tool["name"] for tool in tools])
                    self.assertFalse([tool for tool in tools if "Remedy" in tool["description"]])
        for server in (older, newer, other):  # and they work once it is back
            self.assertEqual(self.ran(server, command="cat file"), "kept\n")
