"""berth inside of a container: it works where the container lets it, and says what is in the way
and the line that removes it where not. Without privileges of the host in every case."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parent.parent / "mcp")]

import container
from mcp_client import Berth, binary_path, model_bytes
from state_directory import StateDirectory

USER = 65534
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
TOOLS = ["bash_exec", "bash_input", "bash_kill", "bash_output", "delete_workspace_file", "edit_file",
         "glob_files", "grep_files", "list_workspace_files", "load_from_workspace", "read_file",
         "save_to_workspace", "session_info", "write_file"]
NEED_NO_SANDBOX = ("delete_workspace_file", "list_workspace_files", "session_info")
PROBE = {"command": "id -u; grep -c . /proc/self/uid_map; cat /proc/sys/kernel/ostype; "
                    "for path in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /etc/passwd; do "
                    "(echo x >$path) 2>/dev/null && echo \"wrote $path\"; done; echo kept >file"}


class ContainerTest(unittest.TestCase):
    def setUp(self):
        self.state = StateDirectory()
        self.state.__enter__()
        self.addCleanup(self.state.__exit__, None, None, None)

    def run_berth(self, *arguments, **how):
        environment = {"PATH": PATH, "HOME": str(self.state.path),
                       "BERTH_STATE_DIR": str(self.state.path)}
        return subprocess.run(
            container.command([binary_path("berth"), *arguments], **how), env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def own_state(self, uid=0, **_):
        shutil.rmtree(self.state.path)
        self.state.path.mkdir(mode=0o700)
        os.chown(self.state.path, uid, uid)

    def expect_sandbox(self, **how):
        """A whole sandbox, in two containers one after the other: the file is in both."""
        self.own_state(**how)
        done = self.run_berth("call", "--session", "c", "bash_exec", json.dumps(PROBE), **how)
        self.assertEqual((done.returncode, done.stdout), (0, "1000\n1\nLinux\n"), done.stderr)
        done = self.run_berth("call", "--session", "c", "read_file", '{"path":"file"}', **how)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "1\tkept"),
                         done.stderr)
        checks = {check["name"]: check for check in json.loads(
            self.run_berth("doctor", "--json", **how).stdout)["checks"]}
        for name in ("userns", "nested-userns", "pidns", "netns", "seccomp", "guest", "proc-masks"):
            self.assertTrue(checks[name]["ok"], checks[name])
        self.assertFalse(checks["uid"]["ok"])
        self.expect_no_cgroups(checks, **how)
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def expect_no_cgroups(self, checks, **how):
        """There are none that berth may write: each layer of theirs is named as missing, with what brings it,
        and who insists on one is refused."""
        told = json.loads(self.run_berth("call", "--json", "--session", "c", "session_info", **how).stdout)
        layers = {layer["name"]: layer["in_force"] for layer in told["_meta"]["berth/result"]["layers"]}
        for name in ("cgroup-memory", "cgroup-pids", "cgroup-cpu"):
            self.assertFalse(layers[name], layers)
            self.assertFalse(checks[name]["ok"], checks[name])
            self.assertIn("cgroup", checks[name]["remedy"])
        for command in (["doctor"], ["call", "bash_exec", '{"command":"true"}']):
            done = self.run_berth(*command, "--require", "userns,cgroup-memory", **how)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("cgroup-memory: ", done.stderr)
            self.assertNotIn("userns: ", done.stderr)
        self.run_berth("sessions", "kill", "c", "--purge", **how)

    def expect_blocked(self, reason, remedy, **how):
        self.own_state(**how)
        done = self.run_berth("call", "bash_exec", '{"command":"true"}', **how)
        self.assertEqual(done.returncode, 1)
        self.assertIn(reason, done.stderr + done.stdout)
        self.assertIn(remedy, done.stderr + done.stdout)
        done = self.run_berth("doctor", "--json", **how)
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["available"]), (1, False), told)
        self.assertIn(reason, told["reason"])
        self.assertIn(remedy, told["remedy"])
        self.assertEqual([check["name"] for check in told["checks"] if not check["ok"]], ["sandbox"])
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def expect_a_list(self, reason, remedy, **how):
        """`berth serve` starts, shakes hands and lists every tool, in each era; its instructions and
        the tools that need a sandbox say DISABLED and why; and a call is answered with that."""
        self.own_state(**how)
        for era in ("legacy", "modern"):
            command = container.command([binary_path("berth"), "serve"], **how)
            with self.subTest(era=era, **how), Berth(
                    *command[1:], binary=shutil.which(command[0]), era=era,
                    env={"PATH": PATH, "HOME": str(self.state.path),
                         "BERTH_STATE_DIR": str(self.state.path)}) as berth:
                hello = (berth.request("server/discover") if era == "modern"
                         else berth.initialize_result)
                tools = berth.list_tools()
                self.assertLess(model_bytes(tools), 24 * 1024)
                listed = {tool["name"]: tool["description"] for tool in tools}
                self.assertEqual(list(listed), TOOLS)
                for text in (hello["instructions"], listed["bash_exec"], listed["read_file"]):
                    self.assertRegex(text, "^DISABLED: ")
                    self.assertIn(reason, text)
                for name in NEED_NO_SANDBOX:
                    self.assertNotIn("DISABLED", listed[name])
                told = berth.call_tool("bash_exec", {"command": "true"})
                self.assertEqual(told.error.get("code"), "sandbox_unavailable", told)
                self.assertIn(reason, told.text)
                self.assertIn(remedy, told.text)
                # What needs no sandbox works.
                for name in ("session_info", "list_workspace_files"):
                    self.assertFalse(berth.call_tool(name).is_error, name)
                self.assertEqual(berth.close(), 0)
                self.assertEqual(berth.strays, [])
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_a_server_lists_its_tools_where_no_sandbox_can_work(self):
        for uid in (0, USER):
            self.expect_a_list("forbids user namespaces", "--security-opt seccomp=unconfined",
                               seccomp=True, masked=False, uid=uid)
            self.expect_a_list("/proc of this container is masked",
                               "--security-opt systempaths=unconfined", uid=uid)

    def test_root_with_dockers_capabilities(self):
        self.expect_sandbox(masked=False)

    def test_an_ordinary_user(self):
        self.expect_sandbox(masked=False, uid=USER)

    def test_root_of_a_rootless_container(self):
        self.expect_sandbox(masked=False, uid=USER, rootless=True)

    def test_a_container_that_is_stopped(self):
        """Its processes are gone; of what is on its volume nothing, and the loss is told once."""
        self.own_state()
        command = container.command([binary_path("berth"), "serve", "--session", "c"], masked=False)
        environment = {"PATH": PATH, "HOME": str(self.state.path),
                       "BERTH_STATE_DIR": str(self.state.path)}
        with Berth(*command[1:], binary=shutil.which(command[0]), env=environment) as berth:
            berth.call_tool("bash_exec", {"command": "sleep 300", "background": True})
            berth.call_tool("write_file", {"path": "file", "content": "kept"})
            (guest,) = self.state.guests()
            berth.kill()  # the first process of the container goes with it
        deadline = time.monotonic() + 20
        while self.state.processes():
            self.assertLess(time.monotonic(), deadline, self.state.processes())
            time.sleep(0.05)
        with Berth(*command[1:], binary=shutil.which(command[0]), env=environment) as berth:
            told = berth.call_tool("bash_exec", {"command": "cat file"})
            self.assertEqual(told.notices, ["the sandbox was lost; a fresh one is in use; files in "
                                            "the home are kept"])
            self.assertTrue(told.text.endswith("kept"), told)
            self.assertEqual(berth.call_tool("bash_exec", {"command": "true"}).notices, [])
            self.assertNotEqual(self.state.guests(), [guest])
            self.assertEqual(berth.call_tool("session_info").data["jobs"], [])
        done = self.run_berth("sessions", "kill", "c", "--purge", masked=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.state.wait_for_no_leaks(), [])

    def test_a_masked_proc_is_named(self):
        for how in ({}, {"uid": USER}):
            with self.subTest(**how):
                self.expect_blocked("/proc of this container is masked",
                                    "docker run --security-opt systempaths=unconfined", **how)

    def test_a_seccomp_profile_is_named(self):
        for how in ({}, {"uid": USER}):
            with self.subTest(**how):
                self.expect_blocked("forbids user namespaces",
                                    "docker run --security-opt seccomp=unconfined", seccomp=True,
                                    masked=False, **how)

    def test_a_limit_of_user_namespaces_is_named(self):
        self.expect_blocked("user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=15000",
                            masked=False, uid=USER, rootless=True, no_namespaces=True)

    def test_namespaces_whose_rights_are_of_no_use_are_named(self):
        for how in ({}, {"uid": USER}):
            with self.subTest(**how):
                self.expect_blocked("forbids user namespaces", "--security-opt apparmor=unconfined",
                                    masked=False, no_mounts=True, **how)


if __name__ == "__main__":
    if not container.is_possible():
        print("skipped: only root can play a container runtime")
        sys.exit(77)
    unittest.main(verbosity=2)
