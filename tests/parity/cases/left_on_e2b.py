"""What is left at E2B when a server goes: a box that comes when nobody waits for it any more is ended, and a
box that stays is left as its session has it."""

import json
import time

import e2b
from suite import ParityTest, e2b_only
from tables.e2b_faults import HTML

MAKING = {"plane": "api", "method": "POST", "path": "/v2/sandboxes"}
LATE = 6  # seconds after it was asked for


@e2b_only
class LateOnE2bTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(e2b.emulator().clear_faults)
        self.before = set(e2b.emulator().books()["created"])

    def made(self):
        return [box for box in e2b.emulator().books()["created"] if box not in self.before]

    def state_of(self, box):
        books = e2b.emulator().books()
        return next((state for state in ("running", "paused") if box in books[state]), books["ended"].get(box))

    def kill_while_it_makes(self, *session, late=LATE):
        """A server whose box comes some seconds after its death."""
        e2b.emulator().fault(**MAKING, late=late, delay=late + 2, status=504)
        e2b.emulator().counts(clear=True)
        server = self.start(*session)
        server.call_async("bash_exec", {"command": "true"})
        self.wait_until(lambda: e2b.emulator().counts().get("api POST /v2/sandboxes"), 20, "the request")
        server.signal(9)
        server.wait()
        self.assertEqual(self.made(), [])

    def await_the_box(self, known=()):
        self.wait_until(lambda: set(self.made()) - set(known), 30, "the late box")
        (box,) = set(self.made()) - set(known)
        return box

    def collect(self):
        return json.loads(self.command_line("sessions", "gc", "--json"))

    def test_a_collection_ends_it(self):
        """Also of a session without a name, and of one that was purged meanwhile."""
        for session, first in ((("--session", "made"), ("gc",)), ((), ("gc",)),
                               (("--session", "made"), ("kill", "made", "--purge"))):
            with self.subTest(session=session, first=first):
                self.before |= set(self.made())
                self.kill_while_it_makes(*session)
                self.command_line("sessions", *first)  # before it is there
                box = self.await_the_box()
                self.assertEqual(self.state_of(box), "running")
                self.collect()
                self.assertEqual(self.state_of(box), "killed")
                self.assertEqual(self.collect()["removed"], [])

    def test_a_server_that_starts_ends_it(self):
        self.kill_while_it_makes("--session", "made")
        self.command_line("sessions", "gc")
        box = self.await_the_box()
        server = self.start("--session", "another")
        server.list_tools()
        self.wait_until(lambda: self.state_of(box) == "killed", 20, "its end")
        self.assertEqual(self.made(), [box])

    def await_its_end(self, known=()):
        """Nobody comes to it but servers that run already."""
        box = self.await_the_box(known)
        self.assertEqual(self.state_of(box), "running")
        self.wait_until(lambda: self.state_of(box) == "killed", 20, "its end")

    def test_a_server_that_started_before_it_ends_it(self):
        """At once after the first was killed."""
        self.kill_while_it_makes("--session", "made", late=8)
        self.start("--session", "another").list_tools()
        self.await_its_end()

        self.before |= set(self.made())
        self.kill_while_it_makes("--session", "made", late=8)
        server = self.start("--session", "made")
        self.assertFalse(server.call_tool("bash_exec", {"command": "true"}).is_error)
        (used,) = self.made()
        self.await_its_end([used])
        self.assertEqual(self.state_of(used), "running")
        server.close()

    def test_a_server_on_http_that_started_before_it_ends_it(self):
        self.kill_while_it_makes("--session", "made", late=8)
        server = self.start("serve", "--http", "127.0.0.1:0", "--insecure-no-auth", structured=False, handshake=False)
        self.addCleanup(server.signal, 15)
        self.await_its_end()

    def test_the_server_that_gave_it_up_ends_it(self):
        e2b.emulator().fault(**MAKING, late=3, status=500)
        server = self.start("--session", "made")
        found = server.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(found.error["code"], "sandbox_unavailable", found)
        self.await_its_end()

    def test_it_comes_behind_the_next_one(self):
        """Whose files stay."""
        self.kill_while_it_makes("--session", "made")
        server = self.start("--session", "made")
        found = server.call_tool("bash_exec", {"command": "echo kept >file"})
        self.assertEqual((found.is_error, found.notices), (False, []), found)
        (used,) = self.made()
        late = self.await_the_box([used])
        self.collect()
        self.assertEqual((self.state_of(used), self.state_of(late)), ("running", "killed"))
        self.assertEqual(server.call_tool("bash_exec", {"command": "cat file"}).data["stdout"], "kept\n")

    def test_it_is_ended_by_the_next_that_is_made(self):
        self.kill_while_it_makes("--session", "made")
        self.command_line("sessions", "gc")
        late = self.await_the_box()
        server = self.start("--session", "made")
        server.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(self.state_of(late), "killed")
        self.assertEqual(len(self.made()), 2)


@e2b_only
class LeavingOnE2bTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(e2b.emulator().clear_faults)

    def state_when_it_leaves(self, server):
        (box,) = e2b.boxes()
        server.close()
        time.sleep(0.2)
        return next(state for state in ("running", "paused") if box in e2b.emulator().books()[state])

    def serve(self, policy):
        server = self.start("--session", "left", env={"BERTH_SESSION_ON_DISCONNECT": policy})
        self.assertFalse(server.call_tool("bash_exec", {"command": "true"}).is_error)
        return server

    def test_who_leaves_last_does_as_the_session_has_it(self):
        """Which is what the server that came last has asked for, and the maker where nobody has since."""
        for first, second, then in (("now", "keep", "running"), ("keep", "now", "paused"),
                                    ("keep", None, "running"), ("now", None, "paused")):
            with self.subTest(first=first, second=second):
                servers = [self.serve(first), self.serve(second)]
                if second is None:  # asks for nothing, and is there last
                    servers.reverse()
                servers[1].close()
                self.assertEqual(self.state_when_it_leaves(servers[0]), then)
                self.command_line("sessions", "kill", "left", "--purge")

    def test_a_box_sleeps_though_its_pause_failed_once(self):
        for rule in ({"status": 500}, {"status": 503}, {"status": 502, **HTML}, {"drop": True}):
            with self.subTest(str(rule)):
                server = self.serve("now")
                e2b.emulator().fault(plane="api", path="/sandboxes/{id}/pause", **rule)
                self.assertEqual(self.state_when_it_leaves(server), "paused")
                self.assertEqual(e2b.emulator().faults_left(), {})

    def test_an_unnamed_session_s_box_ends_though_that_failed_once(self):
        for method in ("DELETE", "GET"):
            for rule in ({"status": 500}, {"status": 503}):
                with self.subTest(method=method, rule=str(rule)):
                    server = self.start()
                    self.assertFalse(server.call_tool("bash_exec", {"command": "true"}).is_error)
                    (box,) = e2b.boxes()
                    e2b.emulator().fault(plane="api", method=method, path="/sandboxes/{id}", **rule)
                    server.close()
                    self.assertEqual(e2b.emulator().books()["ended"].get(box), "killed")
                    self.assertEqual(e2b.emulator().faults_left(), {})

    def test_what_is_left_of_an_unnamed_session_is_said(self):
        refused = {"plane": "api", "method": "DELETE", "path": "/sandboxes/{id}", "status": 500, "times": 0}
        before = set(e2b.boxes())

        def left():
            (box,) = set(e2b.boxes()) - before
            e2b.emulator().clear_faults()
            self.command_line("sessions", "gc")
            self.assertEqual(e2b.emulator().books()["ended"].get(box), "killed")
            return box

        e2b.emulator().fault(**refused)
        done = self.done("call", "bash_exec", '{"command": "echo done"}')
        box = left()
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done)
        self.assertIn(f"the sandbox {box} of this call is left on the backend e2b", done.stderr)
        self.assertIn("berth sessions gc", done.stderr)

        server = self.start()
        server.call_tool("bash_exec", {"command": "true"})
        e2b.emulator().fault(**refused)
        server.close()
        self.assertIn(f"the sandbox of a session without a name is left sandbox={left()}", server.stderr)
        server = self.start()
        server.call_tool("bash_exec", {"command": "true"})
        server.close()
        self.assertNotIn("is left", server.stderr)
