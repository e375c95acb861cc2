"""What the kernel counts not only for a session, but for whoever made its user namespace or for the whole host:
a session has a part of it, and leaves the rest to other sessions and to the host."""

import fcntl
import os
import resource
import struct
import subprocess
import sys
import textwrap

from sandbox import EscapeTest

NS_GET_OWNER_UID = 0xB704

# As many of each as there may be, up to a number; tells how many that were, and keeps them if it is to.
HOARD = textwrap.dedent("""
    import ctypes, os, signal, sys
    libc = ctypes.CDLL(None, use_errno=True)
    queued = signal.SIGRTMIN + 1
    signal.pthread_sigmask(signal.SIG_BLOCK, [queued])
    take = {
        "instances": lambda: libc.inotify_init1(0),
        "signals": lambda: libc.sigqueue(os.getpid(), queued, None),
        "timers": lambda: libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())),
        "terminals": lambda: libc.posix_openpt(os.O_RDWR | os.O_NOCTTY),
        "locked": lambda: libc.shmctl(libc.shmget(0, 1, 0o600), 11, None),  # a page, SHM_LOCK
    }
    for what in sys.argv[2:]:
        what, most = what.split("=")
        count = 0
        while count < int(most) and take[what]() >= 0:
            count += 1
        print(what, count, flush=True)
    if sys.argv[1] == "keep":
        signal.pause()
""")
ONE_EACH = "go instances=1 signals=1 timers=1 terminals=1 locked=1"
ALL_ONE = "instances 1\nsignals 1\ntimers 1\nterminals 1\nlocked 1\n"
TERMINALS = 256


def shares():
    """Of what this host lets a user have."""
    with open("/proc/sys/fs/inotify/max_user_instances", encoding="ascii") as file:
        instances = int(file.read())
    with open("/proc/sys/fs/inotify/max_user_watches", encoding="ascii") as file:
        watches = int(file.read())
    signals = resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]
    signals = 4096 if signals == resource.RLIM_INFINITY else min(4096, signals // 16)
    return {"instances": instances // 4, "watches": watches // 4, "signals": signals}


class SharesTest(EscapeTest):
    def hoarder(self, without=None):
        berth = self.start(without=without)
        berth.call_tool("write_file", {"path": "hoard.py", "content": HOARD})
        return berth

    def taken(self, berth, what, most):
        return int(self.output(berth, f"python3 hoard.py go {what}={most}").split()[1])

    def test_no_session_has_more_than_its_share(self):
        share = shares()
        for without in (None, "shares"):
            berth = self.hoarder(without)
            for what, of in (("instances", "instances"), ("signals", "signals"), ("timers", "signals")):
                with self.subTest(what, without=without):
                    more = share[of] + 5
                    self.assertEqual(self.taken(berth, what, more), more if without else share[of])
            limit = int(self.output(berth, "cat /proc/sys/user/max_inotify_watches"))
            self.assertEqual(limit == share["watches"], without is None, limit)
            soft, hard = self.output(berth, "ulimit -S -i; ulimit -H -i").split()
            self.assertEqual((soft == hard == str(share["signals"])), without is None, (soft, hard))

    def test_no_session_locks_more_memory_than_its_share(self):
        page = resource.getpagesize()
        usual, most = (limit if limit != resource.RLIM_INFINITY else 2**40
                       for limit in resource.getrlimit(resource.RLIMIT_MEMLOCK))
        share = min(most, max(64 * 1024, min(most // 16, 512 * 1024)))
        more = share // page + 5
        for without, limit in ((None, share), ("shares", usual)):
            with self.subTest(without=without):
                self.assertEqual(self.taken(self.hoarder(without), "locked", more), min(more, limit // page))

    def test_no_session_has_more_than_its_terminals(self):
        more = TERMINALS + 5
        self.assertEqual(self.taken(self.hoarder(), "terminals", more), TERMINALS)
        host = subprocess.run([sys.executable, "-c", HOARD, "go", f"terminals={more}"], capture_output=True,
                              text=True, timeout=60, check=True)
        self.assertEqual(host.stdout, f"terminals {more}\n")

    def test_what_one_session_hoards_another_and_the_host_still_have(self):
        berth = self.hoarder()
        lockable = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
        # A user who may lock less than a session's least has nothing to be divided.
        locked = 1 if 0 <= lockable < 1024 * 1024 else 3000
        everything = f"instances=1000000 terminals=1000 locked={locked} signals=100000"
        berth.call_tool("bash_exec", {"background": True, "command": f"exec python3 hoard.py keep {everything} >taken"})
        taken = self.output(berth, "until grep -q signals taken; do sleep 0.05; done; cat taken").split()
        self.assertGreater(int(taken[1]), 1)
        self.assertEqual(int(taken[3]), TERMINALS)
        self.assertGreaterEqual(int(taken[5]), min(locked, 2))
        self.assertGreater(int(taken[7]), 100)
        self.assertEqual(self.output(self.hoarder(), f"python3 hoard.py {ONE_EACH}"), ALL_ONE)
        host = subprocess.run([sys.executable, "-c", HOARD, *ONE_EACH.split()], capture_output=True, text=True,
                              timeout=60, check=True)
        self.assertEqual(host.stdout, ALL_ONE)

    def owner(self, berth):
        """As root: whom the kernel counts what is used up in its user namespace for."""
        namespace = self.output(berth, "readlink /proc/self/ns/user").strip()
        for number in filter(str.isdigit, os.listdir("/proc")):
            path = f"/proc/{number}/ns/user"
            try:
                if os.readlink(path) != namespace:
                    continue
                with open(path, "rb") as file:
                    return struct.unpack("I", fcntl.ioctl(file, NS_GET_OWNER_UID, bytes(4)))[0]
            except OSError:
                continue  # it has ended
        return self.fail("no process of the session is to be seen")

    def test_as_root_each_session_is_counted_for_nobody_else(self):
        berth = self.start()
        self.output(berth, "true")
        if not self.layer(berth, "uid"):  # then for berth's user, who is the session's own inside
            asked = f"fcntl.ioctl(open('/proc/self/ns/user'), {NS_GET_OWNER_UID}, bytes(4))"
            owner = self.output(berth, f'python3 -c "import fcntl; print({asked})"')
            self.assertEqual(owner, f"{struct.pack('I', 1000)}\n")
            return
        first, second = self.owner(berth), self.owner(self.start())
        self.assertNotEqual(first, second)
        for owner in (first, second):
            self.assertGreaterEqual(owner, 0xE0000000)
        self.assertEqual(self.owner(self.start(without="owner")), 0)
