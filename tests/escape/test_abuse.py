"""What a command does to take the session's own guest, another session or whoever looks on next, by means
that it has a right to. Each is shown to do harm where it may."""

import textwrap
import time

from sandbox import EscapeTest

# As many as there may be of each; then it tells how many that were, and keeps them.
HOARD = textwrap.dedent("""
    import ctypes, os, signal, socket, sys
    libc = ctypes.CDLL(None, use_errno=True)
    timer = ctypes.c_void_p()
    def check(result):
        if result < 0:
            raise OSError(ctypes.get_errno(), "")
    watch = libc.inotify_init1(0)
    made = {
        "descriptors": lambda n: os.dup(1),
        "watches": lambda n: (os.mkdir(f"d/{n}"), check(libc.inotify_add_watch(watch, f"d/{n}".encode(), 0xfff))),
        "timers": lambda n: check(libc.timer_create(1, None, ctypes.byref(timer))),
        "sockets": lambda n: sockets.extend(socket.socketpair()),
    }[sys.argv[1]]
    sockets = []
    os.makedirs("d", exist_ok=True)
    count = 0
    spare = os.dup(1)
    try:
        while count < int(sys.argv[2]):
            made(count)
            count += 1
    except OSError:
        pass
    os.close(spare)
    with open("count", "w") as file:
        file.write(str(count))
    os.rename("count", "count of " + sys.argv[1])
    signal.pause()
""")

# Every signal to every thread of a process, by each call that sends one.
SIGNALS = textwrap.dedent("""
    import ctypes, os, signal, sys
    libc = ctypes.CDLL(None, use_errno=True)
    pid = int(sys.argv[1])
    fd = os.pidfd_open(pid)
    for number in range(1, 65):
        for thread in os.listdir(f"/proc/{pid}/task"):
            libc.tgkill(pid, int(thread), number)
        libc.sigqueue(pid, number, None)
        try:
            signal.pidfd_send_signal(fd, number)
        except OSError:
            break # it has ended
""")


class AbuseTest(EscapeTest):
    def answers(self, berth):
        """And soon."""
        begun = time.monotonic()
        self.assertEqual(self.output(berth, "echo alive"), "alive\n")
        self.assertLess(time.monotonic() - begun, 10)

    def test_whatever_is_hoarded_the_guest_answers(self):
        berth = self.start()
        berth.call_tool("write_file", {"path": "hoard.py", "content": HOARD})
        for what, most in (("descriptors", 1_000_000), ("sockets", 500_000), ("timers", 20_000), ("watches", 5_000)):
            with self.subTest(what):
                job = berth.call_tool("bash_exec", {"command": f"exec python3 hoard.py {what} {most}",
                                                    "background": True}).data["job_id"]
                got = int(self.output(berth, f"until cat 'count of {what}' 2>/dev/null; do sleep 0.05; done"))
                self.assertGreater(got, 100)
                if what in ("descriptors", "sockets"):
                    self.assertLess(got, most)
                self.answers(berth)
                berth.call_tool("bash_kill", {"job_id": job})

    def test_no_signal_to_any_of_its_threads_ends_the_guest(self):
        berth = self.start()
        berth.call_tool("write_file", {"path": "signals.py", "content": SIGNALS})
        berth.call_tool("grep_files", {"pattern": "x"})  # by a thread of its own, which waits for more
        before = berth.call_tool("session_info").data
        child = "sleep 300 & python3 signals.py $!; wait $!; echo $?"
        self.assertGreater(int(self.output(berth, child).split()[0]), 128)  # which they end
        self.assertGreater(int(self.output(berth, "ls /proc/1/task | wc -l; python3 signals.py 1")), 1)
        self.answers(berth)
        self.assertFalse(berth.call_tool("grep_files", {"pattern": "x"}).is_error)
        after = berth.call_tool("session_info").data
        self.assertEqual((after["sandbox_id"], after["created"]), (before["sandbox_id"], before["created"]))
        self.assertGreater(after["uptime_ms"], before["uptime_ms"])

    def test_one_session_ends_nothing_of_another(self):
        """Of one user's two, who have the same rights on the host where that is no root."""
        other = self.start()
        other.call_tool("bash_exec", {"command": "exec -a bystander sleep 300", "background": True})
        berth = self.start()
        self.output(berth, "sleep 300 & disown; true")
        berth.call_tool("bash_exec", {"command": "kill -9 -1; kill -9 $(seq 2 200) 2>/dev/null"})
        self.assertEqual(self.output(berth, "pgrep -c sleep; true"), "0\n")  # it does kill
        self.assertEqual(self.output(other, "pgrep -fc '^bystander'; true"), "1\n")
        self.answers(berth)

    def test_login_files_are_read_by_no_command_that_is_not_asked_to(self):
        berth = self.start()
        files = ".bashrc .bash_profile .bash_login .profile .bash_logout .inputrc"
        self.output(berth, f"for file in {files}; do echo 'echo POISONED' >~/$file; done")
        self.assertIn("POISONED", self.output(berth, "bash -l -c true"))  # who asks for it has it
        self.assertEqual(self.output(berth, "echo plain"), "plain\n")
        self.assertEqual(self.output(berth, "bash -c 'echo plain'"), "plain\n")
        self.assertEqual(self.output(berth, "exec bash", stdin="echo plain\n"), "plain\n")
        found = berth.call_tool("grep_files", {"pattern": "POISONED", "path": "."})
        self.assertFalse(found.is_error, found)

    def test_no_pattern_takes_longer_than_its_text(self):
        berth = self.start()
        pattern = "(a+)+$"
        self.output(berth, "head -c 1000000 /dev/zero | tr '\\0' a >long; echo b >>long; head -c 40 long >short; "
                           "echo b >>short")
        slow = berth.call_tool("bash_exec", {"timeout": 1, "command":
                               f"python3 -c 'import re; re.search(\"{pattern}\", open(\"short\").read().strip())'"})
        self.assertTrue(slow.data["timed_out"], slow)  # of an engine that goes back
        begun = time.monotonic()
        found = berth.call_tool("grep_files", {"pattern": pattern, "path": "long"})
        self.assertFalse(found.is_error, found)
        self.assertLess(time.monotonic() - begun, 10)
