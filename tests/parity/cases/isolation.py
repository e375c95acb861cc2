"""Nothing of the server reaches the sandbox, and the commands cannot harm its guest."""

import contextlib
import os
import tempfile

from suite import ParityTest, backend, local_only

SECRET = "berth-test-secret-5f2c"
MEMORY = 64 * 1024 * 1024

# Everything a command may try against pid 1.
ATTACK = r"""
import ctypes, fcntl, os, resource, signal, time
def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
# Claims to come from outside: the kernel shows such a sender as 0. Before plain signals, of which a
# pending one hides the next, and each with time to be taken.
for code in (-1, -2, -3, -4, -5, -6, -60, 0, 1, 128):
    for number in (signal.SIGTERM, *range(1, 65)):
        forged = (ctypes.c_int * 32)(number, 0, code)
        libc.syscall(129, 1, number, ctypes.byref(forged))  # rt_sigqueueinfo
    time.sleep(0.05)
for number in (signal.SIGTERM, signal.SIGHUP):
    reader, writer = os.pipe()
    attempt(fcntl.fcntl, reader, fcntl.F_SETOWN, 1)
    attempt(fcntl.fcntl, reader, fcntl.F_SETSIG, number)
    attempt(fcntl.fcntl, reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")  # the kernel sends it, without any sender
    time.sleep(0.05)
for number in range(1, 65):
    attempt(os.kill, 1, number)
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA,
              resource.RLIMIT_STACK, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    attempt(resource.prlimit, 1, limit, (0, 0))
attempt(os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
attempt(os.sched_setaffinity, 1, {0})
attempt(os.setpriority, os.PRIO_PROCESS, 1, 19)
# Without room for what waits the kernel cannot note who sends a signal, which is then as from outside.
waits = signal.SIGRTMIN + 1
signal.pthread_sigmask(signal.SIG_BLOCK, {waits})
for _ in range(2_000_000):
    if libc.sigqueue(os.getpid(), waits, ctypes.c_void_p(0)) != 0:
        print("no room for another signal")
        break
libc.syscall(234, 1, 1, signal.SIGTERM)  # tgkill
time.sleep(0.05)
forged = (ctypes.c_int * 32)(signal.SIGTERM, 0, -1)
libc.syscall(129, 1, signal.SIGTERM, ctypes.byref(forged))
time.sleep(0.05)
print("ptrace", libc.ptrace(16, 1, 0, 0))
for name in ("mem", "environ", "maps", "fd/0", "root/etc", "cwd"):
    try:
        os.open("/proc/1/" + name, os.O_RDONLY)
        print("opened", name)
    except OSError:
        pass
"""


class SecretsTest(ParityTest):
    # On e2b its key is the emulator's, and none of these: differences_on_e2b.py looks for that.
    environment = {"BERTH_TEST_SECRET": SECRET, "LD_BERTH_TEST": SECRET,
                   **({} if backend() == "e2b" else {"E2B_API_KEY": SECRET})}

    def test_no_variable_reaches_a_command(self):
        names = self.output("env -0 | cut -z -d= -f1 | tr '\\0' '\\n'").split()
        self.assertFalse([name for name in names if name.startswith(("BERTH", "E2B", "LD_"))])
        self.assertEqual(self.output(f"env | grep -c {SECRET[:-4]} ; true"), "0\n")

    @local_only
    def test_no_process_inside_has_one(self):
        def found(text):
            """Not in the command line that looks for it."""
            return int(self.output(
                "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/environ "
                f"2>/dev/null | tr '\\0' '\\n' | grep -ac '{text[:-1]}[{text[-1]}]' ; true"))
        self.output("sleep 300 >/dev/null 2>&1 &", env={"SEEN": "berth-test-seen-1d7e"})
        self.assertGreater(found("berth-test-seen-1d7e"), 0)  # it looks where such things are
        self.assertEqual(found(SECRET), 0)
        if os.geteuid() == 0:  # nobody else may look at a guest
            (guest,) = self.living_guests()
            for name in ("environ", "cmdline"):
                with open(f"/proc/{guest}/{name}", "rb") as file:
                    self.assertNotIn(SECRET.encode(), file.read(), name)

    def test_no_descriptor_reaches_a_command_or_the_guest(self):
        with tempfile.NamedTemporaryFile() as secret, tempfile.TemporaryDirectory() as folder:
            directory = os.open(folder, os.O_RDONLY)
            self.addCleanup(os.close, directory)
            other = self.start("--session", "other", pass_fds=(secret.fileno(), directory))
            result = other.call_tool("bash_exec", {"command": (
                "for f in /proc/self/fd/*; do readlink $f; done; exec bash -c 'echo /proc/$$/fd/*'")})
            self.assertFalse(result.is_error, result)
            listing = result.data["stdout"]
            self.assertNotIn(secret.name, listing)
            self.assertNotIn(folder, listing)
            numbers = {int(path.rpartition("/")[2]) for path in listing.splitlines()[-1].split()}
            self.assertLessEqual(numbers, {0, 1, 2, 3, 255}, listing)  # 3: bash reads the directory
            if os.geteuid() == 0:  # nobody else may look at a guest
                for guest in self.living_guests():
                    held = []
                    for fd in os.listdir(f"/proc/{guest}/fd"):
                        with contextlib.suppress(FileNotFoundError):  # one that it just closed
                            held.append(os.readlink(f"/proc/{guest}/fd/{fd}"))
                    self.assertFalse([path for path in held if path in (secret.name, folder)], held)

    @local_only
    def test_no_file_of_the_server_can_be_seen(self):
        state = str(self.state.path)
        self.assertEqual(self.output(f"ls -d {state} /root/* /var/lib/berth /run/berth 2>/dev/null; "
                                     "find / -xdev -name machine -path '*sessions*' 2>/dev/null; "
                                     "find / -name '*.sock' 2>/dev/null; true"), "")


@local_only
class GuestTest(ParityTest):
    environment = {"BERTH_LOCAL_MEMORY": str(MEMORY), "BERTH_LOCAL_PIDS": "200"}

    def check_alive(self, uptime):
        info = self.call("session_info").data
        self.assertGreater(info["uptime_ms"], uptime)  # the same guest as before
        self.assertEqual(self.output("echo alive"), "alive\n")
        self.call("write_file", path="f", content="x" * 1_000_000)

    def test_attacks_on_pid_1(self):
        self.output("true")
        uptime = self.call("session_info").data["uptime_ms"]
        limits = guest_limits(self.living_guests())
        self.call("write_file", path="attack.py", content=ATTACK)
        data = self.run_command("python3 attack.py; kill -9 -1", timeout=20).data
        self.assertIn("no room for another signal", data["stdout"])
        self.assertIn("ptrace -1", data["stdout"])
        self.assertNotIn("opened", data["stdout"])
        self.check_alive(uptime)
        self.assertEqual(guest_limits(self.living_guests()), limits)

    def test_commands_are_killed_before_the_guest(self):
        score = "/proc/self/oom_score_adj"
        data = self.run_command(
            f"cat {score}; (setsid cat {score}); {{ sleep 300 & }}; cat /proc/$!/oom_score_adj; "
            f"for s in -1 -1000; do (echo $s >{score}) 2>/dev/null && echo lowered; done; "
            "(echo 1000 >/proc/1/oom_score_adj) 2>/dev/null && echo raised; kill $!").data
        scores = [int(line) for line in data["stdout"].split()]
        self.assertEqual(len(scores), 3, data)
        for guest in self.living_guests():
            with open(f"/proc/{guest}/oom_score_adj", encoding="ascii") as file:
                self.assertGreaterEqual(min(scores), min(int(file.read()) + 500, 1000))

    def test_a_swarm_under_the_memory_limit(self):
        self.output("true")
        uptime = self.call("session_info").data["uptime_ms"]
        data = self.run_command(
            "for i in $(seq 500); do sleep 300 & done 2>/dev/null; "
            "for i in $(seq 40); do head -c 4000000 /dev/zero | tail -c 4000000 | sleep 300 & done",
            timeout=3).data
        self.assertIn(data["fate"], ("timed_out", "exited", "oom_killed", "signaled"))
        self.check_alive(uptime)

    def test_a_fork_bomb(self):
        self.output("true")
        uptime = self.call("session_info").data["uptime_ms"]
        data = self.run_command(":(){ :|:& };: 2>/dev/null; sleep 300", timeout=2).data
        self.assertEqual((data["fate"], data["survivors"]), ("timed_out", 0))
        self.check_alive(uptime)

    def test_threads_without_end_in_a_job(self):
        self.output("true")
        uptime = self.call("session_info").data["uptime_ms"]
        job = self.run_command(THREADS_WITHOUT_END, background=True).data["job_id"]
        self.wait_until(lambda: not self.berth.call_tool("read_file", {"path": "full"}).is_error, 60,
                        "no thread is left")
        self.call("write_file", path="beside", content="x")
        state = self.call("bash_kill", job_id=job).data
        self.assertEqual((state["status"], state["survivors"]), ("ended", 0), state)
        self.assertGreaterEqual(state["signalled"], 1)
        self.check_alive(uptime)


# As many as there may be, and anew whenever one ends.
THREADS_WITHOUT_END = """exec python3 - <<'END'
import threading, time
while True:
    try:
        threading.Thread(target=time.sleep, args=(300,)).start()
    except RuntimeError:
        open("full", "w").close()
        time.sleep(0.001)
END"""


def guest_limits(guests):
    texts = []
    for guest in guests:
        with open(f"/proc/{guest}/limits", encoding="ascii") as limits:
            texts.append(limits.read())
    return texts
