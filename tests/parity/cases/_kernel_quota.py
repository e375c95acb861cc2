"""session.quota where the kernel keeps it: as root, with the state directory on a file system that is
mounted with prjquota. tests/uml_quota.sh makes both and runs this."""

import ctypes
import fcntl
import os
import struct

from cases import quota

MEBIBYTE = quota.MEBIBYTE
LIMIT = quota.LIMIT

GET_ATTRIBUTES, SET_ATTRIBUTES = 0x801C581F, 0x401C5820  # FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR
QUOTACTL_FD, GET_QUOTA, OF_PROJECTS = 443, 0x800007, 2
FULL = ("Disk quota exceeded", "No space left on device")  # ext4, XFS

# What the owner of files may do with them, and these may not be done: let them count for another project,
# or what is made in a folder for none.
ESCAPES = f"""
import fcntl, os, struct
os.makedirs("folder", exist_ok=True)
open("folder/file", "w").close()
for name in ("folder/file", "folder", "."):
    fd = os.open(name, os.O_RDONLY)
    now = bytearray(fcntl.ioctl(fd, {GET_ATTRIBUTES}, bytes(28)))
    project, flags = struct.unpack_from("<I", now, 12)[0], struct.unpack_from("<I", now, 0)[0]
    print(name, hex(project >> 24), bool(flags & 0x200))
    for changed in ((0, 0), (12, 0), (12, 7)):
        wanted = bytearray(now)
        struct.pack_into("<I", wanted, changed[0],
                         flags & ~0x200 if changed[0] == 0 else changed[1])
        try:
            fcntl.ioctl(fd, {SET_ATTRIBUTES}, bytes(wanted))
        except OSError:
            pass
    try:
        inode = struct.unpack("<q", fcntl.ioctl(fd, 0x80086601, bytes(8)))[0]
        fcntl.ioctl(fd, 0x40086602, struct.pack("<q", inode & ~0x20000000))
    except OSError:
        pass
    assert bytearray(fcntl.ioctl(fd, {GET_ATTRIBUTES}, bytes(28)))[:16] == now[:16], name
"""


def limit_of(project, folder):
    """In bytes, as the kernel has it; 0: none."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        found = ctypes.create_string_buffer(80)
        libc = ctypes.CDLL(None, use_errno=True)
        done = libc.syscall(QUOTACTL_FD, descriptor, ctypes.c_uint(GET_QUOTA << 8 | OF_PROJECTS),
                            ctypes.c_uint(project), found)
        return struct.unpack_from("<Q", found)[0] * 1024 if done == 0 else 0
    finally:
        os.close(descriptor)


def project_of(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return struct.unpack_from("<I", fcntl.ioctl(descriptor, GET_ATTRIBUTES, bytes(28)), 12)[0]
    finally:
        os.close(descriptor)


class KernelQuotaTest(quota.QuotaTest):
    """What is the same by berth's own count comes from there."""

    enforced_by = "kernel"

    def home(self):
        (home,) = self.state.path.glob("sessions/*/home")
        return home

    def end_machine(self):
        self.berth.close()
        self.command_line("sessions", "kill", "work")

    def test_it_is_told(self):
        super().test_it_is_told()
        info = self.call("session_info")
        self.assertIn("of 16 MiB (session.quota, kept by the kernel)", info.text)
        self.assertIn("kept by the kernel", self.command_line("sessions", "show", "work"))
        (layer,) = [layer for layer in info.data["layers"] if layer["name"] == "quota"]
        self.assertTrue(layer["in_force"])

    def test_a_command_is_stopped_and_a_quiet_job_is_not(self):
        """It is not stopped: the write fails, at the limit and not some hundred megabytes later."""
        job = self.run_command("sleep 100", background=True).data["job_id"]
        result = self.run_command("head -c 400M /dev/zero > large; echo goes on; stat -c %s large")
        self.assertEqual(result.data["fate"], "exited")
        said, size = result.data["stdout"].splitlines()
        self.assertEqual(said, "goes on")
        self.assertLessEqual(int(size), LIMIT)
        self.assertGreater(int(size), LIMIT - MEBIBYTE)
        self.assertTrue(any(word in result.data["stderr"] for word in FULL), result)
        self.assertIn("session.quota", " ".join(result.notices))
        self.assertEqual([entry["job_id"] for entry in self.call("session_info").data["jobs"]], [job])
        # Nothing was deleted, and the session goes on: who makes room may work.
        error = self.refused("quota_exceeded", "write_file", path="note", content="x" * MEBIBYTE).error
        self.assertEqual((error["details"]["limit_bytes"], error["details"]["enforced_by"]), (LIMIT, "kernel"))
        self.assertIn("used_bytes", error["details"])
        self.assertEqual(self.output("ls; rm large"), "large\n")
        self.call("write_file", path="note", content="x" * MEBIBYTE)

    def test_a_job_says_why_it_ended(self):
        job = self.run_command("head -c 400M /dev/zero > large", background=True).data["job_id"]
        self.wait_until(lambda: self.call("bash_output", job_id=job).data["status"] == "ended", 60,
                        "the job ended")
        told = self.call("bash_output", job_id=job)
        self.assertEqual((told.data.get("ended_by", ""), told.data["exit_code"]), ("", 1))

    def test_what_was_deleted_and_is_open_counts(self):
        result = self.run_command("exec 9>hidden; rm hidden; head -c 12M /dev/zero >&9 && "
                                  "head -c 12M /dev/zero >seen")
        self.assertEqual(result.data["exit_code"], 1)
        self.assertTrue(any(word in result.data["stderr"] for word in FULL), result)

    def test_nobody_inside_lets_a_file_count_for_another(self):
        self.call("write_file", path="escape.py", content=ESCAPES)
        self.assertEqual(self.output("python3 escape.py"),
                         "folder/file 0x62 False\nfolder 0x62 True\n. 0x62 True\n")
        self.output("! head -c 40M /dev/zero >folder/file 2>/dev/null")

    def test_a_home_from_before_counts_whole(self):
        self.berth.close()
        self.environment = {}
        self.berth = self.start("--session", "work")
        self.output("mkdir -p a/b; head -c 6M /dev/urandom >a/b/data; ln -s /etc a/link; mkfifo a/pipe")
        self.assertNotIn("quota", self.call("session_info").data)
        self.end_machine()
        self.environment = quota.QuotaTest.environment
        self.berth = self.start("--session", "work")
        used = self.run_command("true").data["quota"]["used_bytes"]
        self.assertGreaterEqual(used, 6 * MEBIBYTE)
        self.output("! head -c 12M /dev/zero >>a/b/data")
        self.output("head -c 8M /dev/urandom >a/b/more; readlink a/link; test -p a/pipe")

    def test_each_session_has_its_own(self):
        self.output("head -c 12M /dev/urandom > data")
        other = self.start("--session", "other")
        result = other.call_tool("bash_exec", {"command": "head -c 12M /dev/urandom > data"})
        self.assertEqual(result.data["exit_code"], 0)
        homes = list(self.state.path.glob("sessions/*/home"))
        self.assertEqual(len({project_of(home) for home in homes}), 2)
        # In one state directory and in all others of the file system.
        self.assertEqual({limit_of(project_of(home), home) for home in homes}, {LIMIT})

    def test_a_limit_goes_with_the_setting_and_with_the_home(self):
        self.output("true")
        project = project_of(self.home())
        self.assertEqual(limit_of(project, self.home()), LIMIT)
        self.end_machine()
        self.environment = {}
        self.berth = self.start("--session", "work")
        self.output("head -c 40M /dev/zero > large")
        self.assertEqual(limit_of(project, self.home()), 0)
        self.end_machine()
        self.environment = quota.QuotaTest.environment
        self.berth = self.start("--session", "work")
        self.output("! head -c 1M /dev/zero >>large; rm large")
        self.assertEqual((project_of(self.home()), limit_of(project, self.home())), (project, LIMIT))
        self.berth.close()
        self.command_line("sessions", "kill", "work", "--purge")
        self.assertEqual(limit_of(project, self.state.path), 0)
