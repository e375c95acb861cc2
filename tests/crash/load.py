"""The mixed load: workers that call one tool after the other until their server is gone. What was sent
is noted in the world before, what was answered after."""

import contextlib
import os
import subprocess
import threading
import time

from mcp_client import binary_path
from exchange import Exchange
from settings import books
from suite import BACKENDS, backend
from world import PRINTED


REFUSALS = ("in flight", "a call came meanwhile")  # of a pause


def pause(session, state):
    """The command line that asks for it, and its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BERTH_")}
    return {"args": [binary_path(BACKENDS[backend()]), "sessions", "pause", session],
            "env": {**environment, **books(), "BERTH_STATE_DIR": str(state.path)}, "stderr": subprocess.PIPE,
            "stdout": subprocess.PIPE, "text": True}


class Load(Exchange):
    def __init__(self, world, state, session, refusals=REFUSALS, without=(), tells=False):
        """`refusals`: what a pause may be refused with. `without`: deeds that are not done. `tells`:
        notices are no surprise, and are collected in `told`."""
        self.world = world
        self.wrong = []
        self.calls = 0
        self._state = state
        self._session = session
        self._refusals = refusals
        self._without = without
        self.told = [] if tells else None
        self._threads = []
        self._stop = threading.Event()

    def begin(self, servers, workers, first=0):
        """Worker n is a client of servers[n % len(servers)]; `first`: the least of them."""
        self._stop.clear()
        self._threads = [threading.Thread(target=self._work, args=(servers[n % len(servers)], n),
                                          daemon=True) for n in range(first, first + workers)]
        for thread in self._threads:
            thread.start()

    def end(self):
        """Each ends what it has begun."""
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            if thread.is_alive():
                self.wrong.append("a call was not answered within a minute")

    def _work(self, server, worker):
        pick = self.world.random
        deeds = [(self._run, 4), (self._together, 1), (self._job, 2), (self._follow, 2),
                 (self._write, 3), (self._edit, 3), (self._read, 2), (self._pause, 1),
                 (self._save, 2), (self._load, 2)]
        if worker == 0:  # of two who move at once nobody could say where they end
            deeds.append((self._move, 2))
        deeds = [deed for deed in deeds if deed[0].__name__[1:] not in self._without]
        try:
            while not self._stop.is_set():
                pick.choices([deed for deed, _ in deeds], [weight for _, weight in deeds])[0](
                    server, worker)
        except (EOFError, OSError):  # the server is gone
            return
        except Exception as error:  # pylint: disable=broad-except
            self.wrong.append(f"worker {worker}: {error!r}")

    def _send(self, server, tool, **arguments):
        self.calls += 1
        return server.call_async(tool, arguments)

    def _answer(self, pending):
        """A result; nothing where the session was full."""
        result = pending.result(50)
        if self.told is not None:
            self.told += result.notices
        elif result.notices:
            self.wrong.append(f"told in the middle of the work: {result.notices}")
        if not result.is_error:
            return result
        if result.error.get("code") != "busy":
            self.wrong.append(f"a call failed: {result}")
        return None

    # ---- commands

    def _begin(self, server, command):
        return command, self._send(server, "bash_exec", command=command.text,
                                   background=command.background)

    def _take(self, begun):
        command, pending = begun
        result = self._answer(pending)
        if result is None:
            command.refused = True
            return
        command.answered = True
        if command.background:
            command.job = result.data["job_id"]
        else:
            self.wrong += command.outcome_is(result.data)

    def _foreground(self, worker):
        body = self.world.random.choice(("", "sleep 0.01; ", "sleep 0.06; ", "sleep 0.2; "))
        return self.world.command(worker, body + f"echo {PRINTED}; ", PRINTED + "\n")

    def _run(self, server, worker):
        self._take(self._begin(server, self._foreground(worker)))

    def _together(self, server, worker):
        # Each is taken: it may have been answered though the other was not, or could not be sent.
        with contextlib.ExitStack() as taken:
            for _ in range(2):
                taken.callback(self._take, self._begin(server, self._foreground(worker)))

    def _job(self, server, worker):
        count = self.world.random.randrange(1, 12)
        command = self.world.command(
            worker, f"for i in $(seq {count}); do echo {{0}}-$i; sleep 0.04; done; ",
            "".join(f"{{0}}-{n}\n" for n in range(1, count + 1)), background=True)
        self._take(self._begin(server, command))

    def _follow(self, server, worker):
        jobs = [job for job in self.world.jobs() if job.token.split("-")[-2] == str(worker)]
        if not jobs:
            return
        job = self.world.random.choice(jobs)
        result = self._answer(self._send(server, "bash_output", job_id=job.job, since=job.cursor,
                                         wait=self.world.random.choice((0, 0, 1))))
        if result is not None:
            self.wrong += follow(job, result.data)

    def _move(self, server, worker):
        name = f"d{self.world.random.randrange(1000)}"
        command = self.world.command(worker, f"mkdir -p ~/{name} && cd ~/{name}; ")
        self.world.directories.append(name)
        self._take(self._begin(server, command))
        self.world.directories = self.world.directories[:1] if command.refused else [name]

    # ---- files

    def _write(self, server, worker):
        text = self.world.random.choice(self.world.texts[worker][:2])
        content = self.world.content()
        text.maybe.append(content)
        self._settle(text, content, self._answer(self._send(
            server, "write_file", path=f"~/{text.path}", content=content.decode())))

    def _edit(self, server, worker):
        text = self.world.texts[worker][2]
        content = self.world.content()
        if text.told is None:
            text.maybe.append(content)
            self._settle(text, content, self._answer(self._send(
                server, "write_file", path=f"~/{text.path}", content=content.decode())))
            return
        old, new = text.told.split(b"\n")[0], content.split(b"\n")[0]
        content = text.told.replace(old + b"\n", new + b"\n")
        text.maybe.append(content)
        self._settle(text, content, self._answer(self._send(
            server, "edit_file", path=f"~/{text.path}",
            edits=[{"old_text": old.decode() + "\n", "new_text": new.decode() + "\n"}])))

    def _settle(self, text, content, result):
        text.maybe.remove(content)
        if result is not None:
            text.told = content

    def _read(self, server, worker):
        text = self.world.random.choice(self.world.texts[worker])
        if text.told is None:
            return
        result = self._answer(self._send(server, "read_file", path=f"~/{text.path}", limit=1))
        if result is not None:
            self.wrong += text.settle(result.data["sha256"])

    # ---- pauses

    def _pause(self, _server, _worker):
        """Refused while a call is in flight; one in three is killed in the middle."""
        process = subprocess.Popen(**pause(self._session, self._state))
        killed = self.world.random.random() < 0.3
        if killed:
            time.sleep(self.world.random.uniform(0, 0.02))
            process.kill()
        told = process.communicate(timeout=30)[1]
        if process.returncode != 0 and not killed and not any(words in told for words in self._refusals):
            self.wrong.append(f"no pause: {told}")


def follow(job, data):
    """Takes what came after the job's cursor; what is wrong with it."""
    read = job.read + data["stdout"]
    if not job.stdout.startswith(read):
        return [f"{job.token}: {data['stdout']!r} does not follow {job.read!r}"]
    job.read, job.cursor = read, data["cursor"]
    if data["status"] != "ended":
        return []
    job.done = True
    if (job.read, data["exit_code"]) != (job.stdout, job.exit_code):
        return [f"{job.token}: ended with {data['exit_code']} and {job.read!r}"]
    return []
