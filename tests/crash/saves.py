"""Servers that are killed while they save to the workspace: what they had written there goes, all of it,
and what another one is saving does not."""

import json
import os
import random
import time

from settings import SEED, kills
from suite import ParityTest


def temporary_files(state):
    """What is being written in the workspace, or was left there."""
    found = []
    for principal in (state.path / "workspace").glob("*/tmp"):
        for folder, _, names in os.walk(principal):  # which takes it that they come and go
            found += [os.path.join(folder, name) for name in names]
    return found


def saving(server, state):
    """A save of the folder `d`, as soon as something of it is written."""
    pending = server.call_async("save_to_workspace", {"sandbox_path": "d", "workspace_path": "d"})
    while not pending.answered() and not temporary_files(state):
        time.sleep(0.002)
    return pending


class KilledSavesTest(ParityTest):
    COUNT = 600

    def setUp(self):
        super().setUp()
        self.berth.close()
        self.serve().call_tool("bash_exec", {
            "command": f"mkdir d; for i in $(seq {self.COUNT}); do head -c 20000 /dev/zero >d/f$i; done"})

    def serve(self):
        self.berth = self.start("--session", "work", "--principal", "ann")
        return self.berth

    def kill_one(self, after):
        """Says how many files it left."""
        saving(self.berth, self.state)
        time.sleep(after)
        self.berth.kill()
        self.berth.__exit__(None, None, None)
        return len(temporary_files(self.state))

    def kill_some(self, most):
        """Until one has left something."""
        for _ in range(20):
            if left := self.kill_one(random.uniform(0, most)):
                return left
            self.serve()
        self.fail("no server was killed in the middle of a save")

    def test_what_killed_saves_left_goes(self):
        random.seed(f"{SEED} saves")
        for _ in range(max(4, kills() // 6)):
            self.kill_some(0.05)
            self.serve()
        left = self.kill_some(0.02)
        self.assertLessEqual(left, self.COUNT * 2 + 1)  # those of one: each save clears up
        # gc, as somebody else's; the second one finds nothing.
        for expected in (left, 0):
            collected = json.loads(self.command_line("sessions", "gc", "--json", "--principal", "bob"))
            self.assertEqual((collected["failed"], collected["swept"]["files"]), ([], expected))
        self.assertEqual([each for each in (self.state.path / "workspace").glob("*/tmp/*")], [])
        self.serve()
        self.kill_some(0.02)
        other = self.start("--session", "other", "--principal", "bob")
        self.wait_until(lambda: not temporary_files(self.state), 20, "swept by a server at its start")
        other.close()
        self.serve()
        total = self.berth.call_tool("list_workspace_files", {"prefix": "d"}).data["total"]
        self.assertIn(total, (0, self.COUNT))
