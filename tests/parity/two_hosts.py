"""Two hosts that share their books in a Redis, as those of a platform do: each has a state directory and
a name of its own, and the one knows of the other's sessions by that Redis alone."""

import json
import socket

import e2b
from redis_server import RedisServer
from state_directory import StateDirectory
from suite import ParityTest


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class TwoHostsTest(ParityTest):
    session = "work"

    def setUp(self):
        port = free_port()
        # With its data on the disk: one that comes back has them.
        self.redis = RedisServer("--port", str(port), "--bind", "127.0.0.1", "--appendonly", "yes",
                                 "--appendfsync", "always")
        self.redis.__enter__()
        self.addCleanup(self.redis.__exit__, None, None, None)
        self.environment = {"BERTH_REGISTRY": f"redis://127.0.0.1:{port}",
                            "BERTH_SESSION_ON_DISCONNECT": "now", **self.environment}
        self.made_before = len(e2b.emulator().books()["created"])
        self.other = StateDirectory()
        super().setUp()
        self.berth.close()
        self.hosts = [self.state, self.other]

    def end(self):
        try:
            super().end()
            self.assertEqual(self.other.wait_for_no_leaks(), [])
        finally:
            self.other.__exit__(None, None, None)

    def on(self, host, *arguments, env=None, **options):
        """A server of the session there."""
        return self.start("--session", self.session, *arguments, state=self.hosts[host],
                          env={**self.name_of(host), **(env or {})}, **options)

    @staticmethod
    def name_of(host):
        return {"BERTH_SESSION_HOST": f"host-{host}"}

    def command_line(self, *arguments, host=0, env=None, **options):
        return super().command_line(*arguments, **options, env={**self.there(host), **(env or {})})

    def done(self, *arguments, env=None):
        return super().done(*arguments, env={**self.there(0), **(env or {})})

    def there(self, host):
        other = {"BERTH_STATE_DIR": str(self.other.path)} if host else {}
        return {**self.environment, **self.name_of(host), **other}

    def boxes_made(self):
        return len(e2b.emulator().books()["created"]) - self.made_before

    def box(self):
        (box,) = e2b.boxes()
        return box

    def sleeps(self):
        return e2b.emulator().books()["paused"] == e2b.boxes()

    def listed(self, host):
        """What the books say there, which wakes nothing: (box, state) of each session."""
        sessions = json.loads(self.command_line("sessions", "list", "--json", host=host))
        return [(session["sandbox_id"], session["state"]) for session in sessions]
