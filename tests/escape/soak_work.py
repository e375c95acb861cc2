"""What the clients of soak.py do, each in a process of its own."""

import collections
import random
import re
import shlex
import signal
import time

import sandbox  # noqa: F401: it knows where the modules of other suites are
from mcp_client import Berth, RpcError

# The host's processors are not sold twice, as an operator would not: what waits for a processor is
# slower with any sandbox.
ABUSERS_HAVE = {"BERTH_LOCAL_CPUS": "0.15", "BERTH_LOCAL_MEMORY": "96MiB", "BERTH_LOCAL_PIDS": "64",
                "BERTH_SESSION_QUOTA": "64MiB", "BERTH_EXEC_TIMEOUT": "10s"}
# What a session leaves that stays: the log of calls that failed, the numbers of its users.
STAYS = re.compile(r"/errors\.jsonl$|/uids/\d+$|/home/")


def python(text):
    return f"exec python3 -c {shlex.quote(text)}"


# Each has an end of its own or is ended by its timeout; what it leaves, the next or the purge finds.
ABUSES = {
    "fork bomb": ("bomb() { bomb | bomb & }; bomb; sleep 2; kill -9 -1", 3),
    "memory": (python("x = []\nwhile True: x.append(bytearray(1 << 20))"), 5),
    "shared memory": ("dd if=/dev/zero of=/dev/shm/full bs=1M; rm -f /dev/shm/full", 10),
    "disk": ("dd if=/dev/zero of=full bs=1M; rm -f full", 10),
    "small files": ("mkdir -p many; for i in $(seq 4000); do : >many/$i; done; rm -rf many", 10),
    "deep folders": (python("import os\nfor n in range(1500): os.mkdir('d'); os.chdir('d')") + "; true", 10),
    "flood": ("yes", 2),
    "noise": ("cat /dev/urandom >&2", 2),
    "one line": ("head -c 20000000 /dev/zero | tr '\\0' x", 10),
    "busy": ("for i in 1 2 3 4; do while :; do :; done & done; wait", 3),
    "descriptors": (python("import os\nwhile True: os.dup(1)"), 5),
    "zombies": (python("import os, time\nfor n in range(50):\n    if not os.fork(): os._exit(0)\ntime.sleep(1)"), 5),
    "kill all": ("kill -9 -1; kill -STOP 1; kill -9 1", 5),
    "left behind": ("setsid sleep 3 & disown; (trap '' TERM INT HUP; sleep 3) & true", 5),
    "deaf": ("trap '' TERM INT HUP; while :; do sleep 0.1; done", 1),
    "namespaces": ("for i in $(seq 20); do unshare -Ur true; unshare -m true; done", 10),
    "out of it": ("mount -t tmpfs x /mnt; cat /proc/1/mem /proc/kcore; mknod d b 8 0; chroot / true; "
                  "ln -sf / up; cat up/../../etc/shadow; rm -f up", 10),
}


class Client:
    """Of one session. Of a call that fails it keeps what was said."""

    def __init__(self, state, session, environment=()):
        self.state, self.session, self.environment = state, session, dict(environment)
        self.start()

    def start(self):
        self.berth = Berth("--session", self.session, state=self.state, env=self.environment)

    def call(self, name, **arguments):
        return self.berth.call_tool(name, arguments, timeout=60)


def honest_calls(client):
    """{name: what does it and says whether it was right}"""
    text = "".join(f"line {number}\n" for number in range(200))
    turn = [0]

    def written():
        turn[0] += 1
        return not client.call("write_file", path="work.txt", content=f"{text}{turn[0]}\n").is_error

    return {
        "write": written,
        "read": lambda: f"{turn[0]}" in client.call("read_file", path="work.txt").text,
        "edit": lambda: not client.call("edit_file", path="work.txt", old_string="line 7\n",
                                        new_string="line seven\n").is_error,
        "grep": lambda: "line seven" in client.call("grep_files", pattern="seven", path=".").text,
        "exec": lambda: client.call("bash_exec", command="tail -n 1 work.txt").text == f"{turn[0]}\n",
    }


def work(calls, seconds):
    """One call after the other, as an agent's, with a moment between them."""
    times, wrong = collections.defaultdict(list), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, call in calls.items():
            begun = time.monotonic()
            try:
                if not call():
                    wrong.append(f"an honest {name} was answered wrongly")
            except (RpcError, TimeoutError, OSError) as error:
                wrong.append(f"an honest {name} has failed: {error}")
            times[name].append(time.monotonic() - begun)
            time.sleep(0.01)
    return dict(times), wrong[:10]


def be_honest(state, session, way):
    client = Client(state, session)
    calls = honest_calls(client)
    work(calls, 1)
    while question := way.recv():
        way.send(client.berth.pid if question[0] == "server" else work(calls, question[1]))
    client.berth.close()


def abuse(state, session, way, seed):
    chance = random.Random(f"{seed} {session}")
    done, wrong = collections.Counter(), []
    _, seconds = way.recv()
    way.send("begun")
    client = Client(state, session, ABUSERS_HAVE)
    end = time.monotonic() + seconds
    waiting = []
    while time.monotonic() < end:
        if not waiting: # each, before one comes again
            waiting = list(ABUSES)
            chance.shuffle(waiting)
        name = waiting.pop()
        done[name] += 1
        try:
            one_abuse(client, chance, *ABUSES[name])
        except (RpcError, OSError, TimeoutError) as error:
            if "busy" not in str(error): # it has done that to itself
                wrong.append(f"{session}, {name}: {error}")
    client.berth.kill()
    way.recv()
    way.send((dict(done), wrong[:10]))
    way.recv()


def one_abuse(client, chance, command, timeout):
    """As a command, in the background, or with a client that goes away, politely or not."""
    how = chance.choice(("call", "call", "job", "cancel", "kill"))
    arguments = {"command": command, "timeout": timeout}
    if how == "call":
        client.call("bash_exec", **arguments)
        return
    if how == "job":
        job = client.call("bash_exec", background=True, **arguments).data
        time.sleep(chance.uniform(0, timeout))
        if "job_id" in job:
            client.call("bash_kill", job_id=job["job_id"])
        return
    request = client.berth.call_async("bash_exec", arguments)
    time.sleep(chance.uniform(0, timeout))
    if how == "cancel":
        client.berth.cancel(request)
    else:
        client.berth.signal(signal.SIGKILL)
        client.berth.__exit__(RuntimeError, None, None)
        client.start()


def without_contents(lines):
    return [line for line in lines if not STAYS.search(line)]
