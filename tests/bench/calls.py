#!/usr/bin/env python3
"""What a call costs beside what its tool does: a tool that does nothing, called by 1, 32 and 200 at once, on
stdio and over HTTP, in turn with the servers of reference. A part of bench.py; by itself:
calls.py --build BUILD [--quick]."""
import contextlib
import json
import os
import socket
import statistics
import subprocess
import time

import program
from peers import NO_NODE_SERVER, node_everything_server, node_file_server

CALLERS = (1, 32, 200)
NOTHING = {"name": "test_simple_text", "arguments": {}}
ECHO = {"name": "echo", "arguments": {"message": "x"}}
FOLDERS = {"name": "list_allowed_directories", "arguments": {}}


class Load:
    """One server that call_load.cpp calls. Throws RuntimeError with what went wrong."""

    def __init__(self, build, call, *words):
        self.call = call
        self.process = subprocess.Popen([build / "tests/bench/call-load", *words], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, callers, seconds):
        """Calls in a second, then seconds of p50 and p99, and the generator's part of one processor."""
        self.process.stdin.write(f"{callers} {int(seconds * 1000)} {json.dumps(self.call)}\n")
        words = self.process.stdout.readline().split()
        if len(words) != 6:
            raise RuntimeError(" ".join(words) or "the generator has ended")
        count, failed, took, used, p50, p99 = map(float, words)
        if failed:
            raise RuntimeError(f"{failed:.0f} of {count:.0f} calls were refused")
        return count / took, p50 / 1e6, p99 / 1e6, used / took

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


@contextlib.contextmanager
def listening(command, port, **popen):
    """A server of HTTP, from when it listens until the end of the block."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, **popen)
    try:
        end = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("it does not listen")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(20)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def tokens_of(build, folder):
    """A token file whose one caller may make as many calls at once as there are callers, and his header."""
    made = subprocess.run([build / "server/berth", "token", "bench"], text=True, capture_output=True, check=True)
    path = folder / "tokens.toml"
    with open(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
        file.write(made.stdout + "calls = 1024\n")
    return path, f"Authorization: Bearer {made.stderr.split('the token is ')[1].split()[0]}"


def measure(table, name, loads, callers, rounds, seconds, goal):
    """`loads`: ours first, then each peer by its name. The medians of the rounds."""
    found = {}
    try:
        for number in range(-1, rounds):  # the first one warms up
            for who, load in loads.items():
                figures = load.run(callers, seconds)
                if number >= 0:
                    found.setdefault(who, []).append(figures)
    except RuntimeError as error:
        table.missing(f"{name}, {callers} callers", f"{who}: {error}")
        return
    medians = {who: [statistics.median(column) for column in zip(*rows)] for who, rows in found.items()}
    ours = medians.pop("berth")
    for who, theirs in medians.items():
        table.calls(f"{name}, {callers} caller{'s' if callers > 1 else ''} ({who})", ours, theirs, goal)


def bench_stdio(table, build, folder, rounds, seconds):
    commands = {"berth": (NOTHING, [build / "server/berth-conformance", "--state-dir", folder / "calls-state"]),
                "everything": (ECHO, node_everything_server("stdio")),
                "filesystem": (FOLDERS, node_file_server(folder))}
    for callers in CALLERS:
        with contextlib.ExitStack() as stack:
            loads = {who: stack.enter_context(Load(build, call, "stdio", *command))
                     for who, (call, command) in commands.items()}
            measure(table, "no-op tool, stdio", loads, callers, rounds, seconds, 1.5)


def bench_http(table, build, folder, rounds, seconds):
    tokens, header = tokens_of(build, folder)
    for callers in CALLERS:
        ours, theirs = free_port(), free_port()
        with contextlib.ExitStack() as stack:
            stack.enter_context(listening(
                [build / "server/berth-conformance", "--http", f"127.0.0.1:{ours}", "--token-file", tokens,
                 "--state-dir", folder / "calls-state"], ours))
            stack.enter_context(listening(node_everything_server("streamableHttp"), theirs,
                                          env={**os.environ, "PORT": str(theirs)}))
            loads = {"berth": stack.enter_context(Load(build, NOTHING, "http", str(ours), header)),
                     "everything": stack.enter_context(Load(build, ECHO, "http", str(theirs)))}
            measure(table, "no-op tool, HTTP", loads, callers, rounds, seconds, 1.5)


def bench_calls(table, build, folder, quick):
    if node_everything_server("stdio") is None or node_file_server(folder) is None:
        table.missing("a tool that does nothing", NO_NODE_SERVER)
        return
    rounds, seconds = (3, 0.3) if quick else (7, 1)
    for bench in (bench_stdio, bench_http):
        try:
            bench(table, build, folder, rounds, seconds)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            table.missing("a tool that does nothing", str(error))


if __name__ == "__main__":
    program.run(__doc__, bench_calls)
