"""Many sessions in one program (session_bench.cpp), as a server has them that serves many people."""
import contextlib
import json
import os
import subprocess

from peers import McpServer


class Driver:
    """Throws RuntimeError with what went wrong. At the end of its `with` block no session is left."""

    def __init__(self, build, state, cgroup=None):
        """`cgroup`: a file that what this starts writes 0 to, and so all that it makes is counted there."""
        self.build, self.state = build, state
        command = [build / "tests/bench/session-bench", state]
        if cgroup:
            command = ["sh", "-c", 'echo 0 >"$0" && exec "$@"', cgroup, *command]
        # A terminal's Ctrl-C is not for it: it ends its sessions when its input ends.
        self.process = subprocess.Popen(command, text=True, bufsize=1, start_new_session=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.made = 0
        if self.process.stdout.readline() != "ready\n":
            self.process.stdin.close()
            raise RuntimeError(self.process.stderr.read().strip() or "the driver does not start")

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error "):
            raise RuntimeError(f"{' '.join(words)}: {answer or 'the driver has ended'}")
        return answer

    def seconds(self, *words):
        return float(self.ask(*words))

    def grow(self, count):
        """Until there are so many that nobody uses, of some principals, each with a call behind it."""
        while self.made < count:
            name = self.name(self.made)
            self.ask("make", name)
            self.ask("run", name, "true")
            self.made += 1

    def serve(self, name):
        """A server on stdio of such a session, as clients start them."""
        principal, session = name.split("/")
        return McpServer([self.build / "server/berth", "serve", "--state-dir", self.state,
                          "--principal", principal, "--session", session])

    @staticmethod
    def name(number):
        return f"crowd-{number // 50}/idle-{number}"

    def each(self, verb):
        for number in range(self.made):
            self.ask(verb, self.name(number))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=240)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.returncode != 0:
            self.end_all()

    def end_all(self):
        """Of a driver that could not: by the books."""
        berth = self.build / "server/berth"
        environment = {**os.environ, "BERTH_STATE_DIR": str(self.state)}
        listed = subprocess.run([berth, "sessions", "list", "--json"], env=environment, text=True,
                                stdout=subprocess.PIPE, check=False).stdout
        for session in json.loads(listed or "[]"):
            subprocess.run([berth, "sessions", "kill", session["key"], "--purge"], env=environment,
                           stdout=subprocess.DEVNULL, check=False)
