"""Only for run.py --delegated: as an ordinary user, with cgroups of its own."""

import os

from suite import ParityTest


class DelegatedTest(ParityTest):
    def test_every_limit_is_in_force(self):
        self.assertNotEqual(os.geteuid(), 0)
        self.output("true")
        info = self.call("session_info")
        layers = {layer["name"]: layer["in_force"] for layer in info.data["layers"]}
        for layer in ("cgroup-memory", "cgroup-pids", "cgroup-cpu", "cgroup-kill"):
            self.assertTrue(layers[layer], info.text)
        self.assertEqual(info.data["limits"]["not_enforced"], [])
        data = self.run_command("sleep 300", timeout=1).data
        self.assertEqual((data["fate"], data["stop_verified_by"]), ("timed_out", "cgroup"))
