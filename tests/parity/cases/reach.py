"""What --network and --mount let a sandbox reach of the host, and nothing else."""

import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import threading

from suite import ParityTest, binary_path, local_only

GREETING = b"berth-test: from the host's loopback\n"


@local_only
class NetworkTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.reached = threading.Event()
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # closed: the test is over
            with connection:
                self.reached.set()
                connection.sendall(GREETING)

    def reach(self, server):
        port = self.listener.getsockname()[1]
        result = server.call_tool("bash_exec", {
            "command": f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"})
        self.assertFalse(result.is_error, result)
        return result.data

    def interfaces(self, server):
        listed = server.call_tool("bash_exec", {"command": "tail -n +3 /proc/net/dev | cut -d: -f1"})
        return sorted(listed.data["stdout"].split())

    def test_the_loopback_of_the_host(self):
        for arguments in ((), ("--network", "none")):
            with self.subTest(arguments):
                data = self.reach(self.start(*arguments))
                self.assertNotEqual(data["exit_code"], 0)
                self.assertIn("Connection refused", data["stderr"])
                self.assertFalse(self.reached.is_set())
        shared = self.start("--network", "host")
        data = self.reach(shared)
        self.assertEqual((data["stdout"], data["exit_code"]), (GREETING.decode(), 0), data)
        self.assertTrue(self.reached.is_set())
        self.assertEqual(self.interfaces(shared),
                         sorted(name for _, name in socket.if_nameindex()))

    def test_the_doctor_looks_at_the_network_that_is_asked_for(self):
        for network, held in (("none", True), ("host", False)):
            with self.subTest(network):
                told = json.loads(self.command_line("doctor", "--json", "--network", network))
                checks = {check["name"]: check["ok"] for check in told["checks"]}
                self.assertEqual((checks["netns"], checks["seccomp"]), (held, True), told)
                done = subprocess.run(
                    [binary_path(), "serve", "--require", "netns", "--network", network,
                     "--state-dir", str(self.state.path)], stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0 if held else 1, done.stderr)
                self.assertEqual(bool(re.search(r"--require: not in force:\s.*netns", done.stderr)), not held,
                                 done.stderr)

    def test_without_network_there_is_a_loopback_of_its_own(self):
        self.assertEqual(self.interfaces(self.berth), ["lo"])
        self.output("python3 -m http.server 8766 --bind 127.0.0.1 >log 2>&1 & "
                    "until curl -sf http://127.0.0.1:8766/ >/dev/null; do sleep 0.05; done; kill $!")


@local_only
class MountTest(ParityTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-mount-")
        self.addCleanup(folder.cleanup)
        self.outer = pathlib.Path(folder.name, "outer")
        self.inner = pathlib.Path(folder.name, "inner")
        for path in (self.outer, self.inner):
            path.mkdir()
            (path / "f").write_text(f"{path.name}\n")
        (self.outer / "below").mkdir()

    def mounted(self, *mounts):
        self.berth = self.start("--session", "mounted",
                                *(word for mount in mounts for word in ("--mount", mount)))

    def refuse_all_writing(self, path):
        for command in ("echo x >f", "echo x >new", "rm f", "mv f g", "mkdir d", "chmod 777 f",
                        "ln -s f l", "touch f", "mount -o remount,rw . ."):
            with self.subTest(command):
                data = self.run_command(f"cd {path} && {command}").data
                self.assertNotEqual(data["exit_code"], 0, data)
        for tool, arguments in (("write_file", {"path": f"{path}/f", "content": "x"}),
                                ("write_file", {"path": f"{path}/new", "content": "x"}),
                                ("edit_file", {"path": f"{path}/f", "old_text": "e",
                                               "new_text": "x"})):
            self.refused("permission_denied", tool, **arguments)

    def test_a_read_only_one(self):
        for mount in (f"{self.outer}:/mnt/o", f"{self.outer}:/mnt/o:ro"):
            with self.subTest(mount):
                self.mounted(mount)
                self.assertEqual(self.output("cat /mnt/o/f"), "outer\n")
                info = self.call("session_info")
                self.assertEqual(info.data["mounts"], [{"target": "/mnt/o", "writable": False}])
                self.assertIn("mounts: /mnt/o (read-only)\n", info.text)
                self.assertIn("outer", self.call("read_file", path="/mnt/o/f").text)
                self.refuse_all_writing("/mnt/o")
                self.assertEqual(sorted(os.listdir(self.outer)), ["below", "f"])
                self.assertEqual((self.outer / "f").read_text(), "outer\n")
                self.command_line("sessions", "kill", "mounted", "--purge")

    def test_a_writable_one(self):
        self.mounted(f"{self.outer}:/home/user/o:rw")
        self.output("echo more >>~/o/f; echo new >~/o/new")
        self.assertEqual(self.call("session_info").data["mounts"],
                         [{"target": "/home/user/o", "writable": True}])
        self.call("write_file", path="~/o/tool", content="tool\n")
        self.assertEqual((self.outer / "f").read_text(), "outer\nmore\n")
        for name in ("new", "tool"):
            self.assertEqual((self.outer / name).read_text(), f"{name}\n")
            self.assertEqual((self.outer / name).stat().st_uid, os.geteuid())

    def test_of_a_path_of_the_host_the_one_in_the_sandbox_is_named(self):
        self.mounted(f"{self.outer}:/home/user/o:rw")
        for tool, arguments in (("read_file", {}), ("edit_file", {"old_text": "a", "new_text": "b"})):
            with self.subTest(tool):
                error = self.berth.call_tool(tool, {"path": f"{self.outer}/below/f", **arguments})
                self.assertIn("In the sandbox it is /home/user/o/below/f.", error.text)
                self.assertIn("If it is not meant so: ", error.text)
        error = self.berth.call_tool("read_file", {"path": f"{self.outer}2/f"})
        self.assertNotIn("In the sandbox it is", error.text)

    def test_no_file_of_the_host_gets_the_rights_of_its_owner(self):
        self.mounted(f"{self.outer}:/mnt/o:rw")
        self.output("cd /mnt/o; cp /bin/true t; chmod 755 t; chmod u=rwx,go=rx t; ./t; install -m 755 t i")
        for attempt in ("chmod 4755 t", "chmod 2755 t", "chmod u+s t", "install -m 4755 t new",
                        "cp /bin/true j; setpriv --no-new-privs chmod g+s j"):
            with self.subTest(attempt):
                data = self.run_command(f"cd /mnt/o; {attempt}").data
                self.assertNotEqual(data["exit_code"], 0, data)
                self.assertIn("Operation not permitted", data["stderr"])
        for call, error in (("os.open('o', os.O_CREAT | os.O_WRONLY, 0o4755)", "EPERM"),
                            ("os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o2755)", "EPERM"),
                            ("os.mknod('m', 0o104755)", "EPERM"),
                            ("os.fchmod(os.open('t', os.O_RDONLY), 0o6755)", "EPERM"),
                            ("raw(452, -100, b't', 0o4755, 0)", "EPERM"),  # fchmodat2
                            ("raw(437, -100, b'o', b'\\0' * 24, 24)", "ENOSYS"),  # openat2
                            ("raw(425, 8, b'\\0' * 120)", "ENOSYS")):  # io_uring_setup
            with self.subTest(call):
                self.assertEqual(self.error_of(call), error)
        modes = {name: (self.outer / name).stat().st_mode & 0o7777 for name in os.listdir(self.outer)}
        self.assertFalse([name for name, mode in modes.items() if mode & 0o6000], modes)
        self.assertEqual((modes["t"], modes["i"]), (0o755, 0o755))

    def error_of(self, call):
        """The name of the errno with which a call in Python fails in the sandbox's shared folder."""
        program = ("import ctypes, errno, os\n"
                   "def raw(*arguments):\n"
                   "    libc = ctypes.CDLL(None, use_errno=True)\n"
                   "    if libc.syscall(*arguments) < 0: raise OSError(ctypes.get_errno(), '')\n"
                   f"try: {call}\n"
                   "except OSError as error: print(errno.errorcode[error.errno])\n"
                   "else: print('done')\n")
        return self.output("cd /mnt/o; umask 0; python3 -", stdin=program).strip()

    def test_without_such_a_folder_a_session_may_do_as_it_likes(self):
        self.output("touch f; chmod 4755 f; mkdir d; chmod g+s d")
        self.assertEqual(self.output("stat -c %a f d"), "4755\n2755\n")

    def test_a_writable_one_of_a_single_file(self):
        self.mounted(f"{self.outer}/f:/home/user/one:rw")
        before = (self.outer / "f").stat()
        self.call("write_file", path="~/one", content="first\n")
        self.call("edit_file", path="~/one", old_text="first", new_text="second")
        self.assertEqual((self.outer / "f").read_text(), "second\n")
        self.call("save_to_workspace", sandbox_path="~/one", workspace_path="/kept")
        self.output("echo changed >~/one")
        self.call("load_from_workspace", workspace_path="/kept", sandbox_path="~/one")
        self.assertEqual((self.outer / "f").read_text(), "second\n")
        after = (self.outer / "f").stat()
        self.assertEqual((before.st_ino, before.st_uid, before.st_mode),
                         (after.st_ino, after.st_uid, after.st_mode))
        self.assertEqual(self.output("ls -A ~"), "one\n")

    def test_one_that_the_host_replaces(self):
        """A checkout or an editor puts a new folder or file there; the sandbox keeps the old one."""
        self.mounted(f"{self.outer}:/mnt/o:rw", f"{self.inner}/f:/mnt/f")
        self.assertNotIn("replaced", self.run_command("true").text)
        self.outer.rename(self.outer.with_name("moved"))
        self.outer.mkdir()
        (self.outer / "f").write_text("anew\n")
        told = self.run_command("cat /mnt/o/f")
        self.assertEqual(told.data["stdout"], "outer\n")
        self.assertIn(f"has deleted or replaced what is mounted from {self.outer}: ", told.text)
        sandbox = self.call("session_info").data["sandbox_id"]
        self.assertIn(f"`berth sessions kill {sandbox}`", told.text)
        self.assertNotIn("replaced", self.run_command("true").text)  # once
        (self.inner / "new").write_text("anew\n")
        (self.inner / "new").rename(self.inner / "f")
        told = self.run_command("cat /mnt/f")
        self.assertEqual(told.data["stdout"], "inner\n")
        self.assertIn(f"mounted from {self.outer}, {self.inner}/f: ", told.text)
        self.command_line("sessions", "kill", "mounted")
        again = self.call("read_file", path="/mnt/o/f")
        self.assertIn("anew", again.text)

    def test_one_that_is_not_there_any_more_when_a_machine_is_made(self):
        self.mounted(f"{self.inner}:/mnt/o:rw")
        self.output("true")
        self.command_line("sessions", "kill", "mounted")
        moved = self.inner.rename(self.inner.with_name("moved"))
        refused = self.refused("sandbox_unavailable", "bash_exec", command="true")  # no fault of the agent's
        self.assertIn(f"mount source {self.inner}: No such file or directory", refused.error["message"])
        self.assertIn("must exist on the host", refused.error["hint"])
        self.assertNotIn("old one", refused.text)  # of which machine?
        self.assertIn(f"mount source {self.inner}", self.command_line("status"))
        moved.rename(self.inner)
        self.assertEqual(self.output("cat /mnt/o/f"), "inner\n")

    def test_a_single_file_beside_which_none_may_be_made(self):
        self.mounted(f"{self.outer}/f:/mnt/one:rw")
        for tool, arguments in (("write_file", {"content": "x"}),
                                ("edit_file", {"old_text": "outer", "new_text": "x"})):
            error = self.refused("unsupported", tool, path="/mnt/one", **arguments).error
            self.assertIn("/mnt/one is mounted by itself", error["message"])
            self.assertIn("cat NEW >/mnt/one", error["hint"])
        self.output("echo new >n && cat n >/mnt/one")
        self.assertEqual((self.outer / "f").read_text(), "new\n")

    def test_a_single_file_is_not_moved_or_deleted_by_a_patch(self):
        self.mounted(f"{self.outer}/f:/home/user/one:rw")
        for change in ("*** Delete File: one\n",
                       "*** Update File: one\n*** Move to: two\n@@\n-outer\n+x\n"):
            error = self.refused("unsupported", "edit_file",
                                 patch=f"*** Begin Patch\n{change}*** End Patch\n").error
            self.assertIn("/home/user/one is mounted by itself", error["message"])
        self.assertEqual((self.outer / "f").read_text(), "outer\n")
        self.assertEqual(self.output("ls ~"), "one\n")

    def test_what_the_host_made_anew_is_the_old_one_until_the_session_ends(self):
        self.mounted(f"{self.inner}:/mnt/o:rw", f"{self.outer}/f:/home/user/one:rw")
        self.output("cat /mnt/o/f ~/one")
        for path in (self.inner / "f", self.outer / "f"):
            path.unlink()
        self.inner.rmdir()
        self.inner.mkdir()
        for path in (self.inner / "f", self.outer / "f"):
            path.write_text("anew\n")
        for tool, arguments in (("read_file", {"path": "/mnt/o/f"}), ("read_file", {"path": "~/one"}),
                                ("glob_files", {"path": "/mnt/o", "pattern": "*"}),
                                ("write_file", {"path": "/mnt/o/f", "content": "x"}),
                                ("write_file", {"path": "~/one", "content": "x"})):
            with self.subTest(f"{tool} {arguments}"):
                error = self.refused("not_found", tool, **arguments).error
                self.assertIn("deleted or replaced there", error["message"])
                self.assertIn("berth sessions kill KEY", error["hint"])
        self.command_line("sessions", "kill", "mounted")
        self.assertEqual(self.output("cat /mnt/o/f ~/one"), "anew\n" * 2)

    def test_one_in_the_other(self):
        for outer, inner in (("ro", "rw"), ("rw", "ro")):
            with self.subTest(f"{inner} in {outer}"):
                # The one inside is named first: the order of the flags is no matter.
                self.mounted(f"{self.inner}:/mnt/o/below:{inner}", f"{self.outer}:/mnt/o:{outer}")
                self.assertEqual(self.output("cat /mnt/o/f /mnt/o/below/f"), "outer\ninner\n")
                read_only, writable = (("/mnt/o", "/mnt/o/below") if outer == "ro" else
                                       ("/mnt/o/below", "/mnt/o"))
                self.assertNotEqual(self.run_command(f"echo x >{read_only}/new").data["exit_code"], 0)
                self.output(f"echo x >{writable}/new")
                made = [path for path in (self.inner, self.outer) if (path / "new").exists()]
                self.assertEqual(made, [self.inner if inner == "rw" else self.outer])
                (made[0] / "new").unlink()
                self.assertEqual(os.listdir(self.outer / "below"), [])
                self.command_line("sessions", "kill", "mounted", "--purge")

    def test_one_that_cannot_be(self):
        for mount, word in ((f"{self.outer}:/etc", "would hide a part of the sandbox"),
                            (f"{self.outer}:/home/user", "would hide a part of the sandbox"),
                            (f"{self.outer}:/mnt/../etc", "mount"), (f"{self.outer}:relative", "mount"),
                            (f"{self.outer}/missing:/mnt/o", "missing"),
                            (f"{self.outer}:/mnt/o:rx", "mount"),
                            (f"{self.state.path}:/mnt/o:rw", "state"),
                            (f"{self.state.path.parent}:/mnt/o:rw", "state")):
            with self.subTest(mount):
                done = subprocess.run([binary_path(), "call", "bash_exec",
                                       '{"command":"ls -R /mnt /etc"}', "--mount", mount], text=True,
                                      env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)},
                                      capture_output=True, timeout=30, check=False)
                self.assertIn(done.returncode, (1, 2), done)
                self.assertEqual(done.stdout, "")
                self.assertIn(word, done.stderr)
