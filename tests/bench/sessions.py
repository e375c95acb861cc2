#!/usr/bin/env python3
"""What sessions cost: to pause and to wake one, to come back to one, to keep many, and what many cost one.
A part of bench.py; by itself: sessions.py --build BUILD [--quick]."""
import contextlib
import pathlib
import subprocess
import time

import program
from crun import Container
from peers import NO_NODE_SERVER, McpServer, node_file_server, seconds
from session_driver import Driver
from session_growth import OWN, Growth
from session_memory import MemoryCgroup, bwrap_kilobytes
from table import in_turn

AT_REST = 2.5  # seconds
TEXT = "".join(f"line {i:4} of a small file\n" for i in range(40))


def command_pair(driver, name):
    """Seconds of the two commands that people give, each a program that starts and looks at the books."""
    principal, session = name.split("/")
    began = time.perf_counter()
    for verb in ("pause", "resume"):
        done = subprocess.run([driver.build / "server/berth", "sessions", verb, session, "--principal", principal,
                               "--state-dir", driver.state], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
    return time.perf_counter() - began


def bench_pause(table, driver, folder, rounds, processes, goal):
    """A request to the guest on a connection that is open, and the commands, beside the pair of crun's."""
    name = f"bench/with-{processes}"
    plural = f"{processes} process{'es' if processes > 1 else ''}"
    driver.ask("make", name)
    driver.ask("run", name, f"for i in $(seq {processes}); do sleep infinity >/dev/null 2>&1 & done")
    resumes, commands = [], []

    def pause():
        took = driver.seconds("pause", name)
        resumes.append(driver.seconds("resume", name))
        commands.append(command_pair(driver, name))
        return took

    try:
        with Container(folder / f"crun-{processes}", processes) as container:
            pauses, pairs = in_turn(rounds, pause, container.pair)
        table.row(f"pause, {plural} (peer: the pair of crun)", pauses, pairs, goal)
        table.row(f"resume, {plural} (the same)", resumes[-rounds:], pairs, goal)
        table.row(f"`berth sessions` pause + resume, {plural}", commands[-rounds:], pairs, None)
    except (RuntimeError, OSError) as error:
        table.missing(f"pause and resume, {plural}", str(error))
    driver.ask("end", name)


def bench_wake(table, driver, berth, rounds):
    """The call that finds the session paused, beside the same call on one that is awake."""
    driver.ask("run", OWN, "sleep infinity >/dev/null 2>&1 &")

    def read():
        return seconds(lambda: berth.call("read_file", path="~/small.txt"))

    def read_paused():
        driver.ask("pause", OWN)
        return read()

    table.row("read_file 1 KB that wakes (peer: is awake)", *in_turn(rounds, read_paused, read), None)


def bench_reattach(table, driver, folder, rounds):
    """A new server of a session that lives, from its start to the answer to its first call; Node's server
    of files beside it, and what the two need of memory."""
    name = "reattach: start until a read_file is answered"
    command = node_file_server(folder)
    if command is None:
        return table.missing(name, NO_NODE_SERVER)
    (folder / "small.txt").write_text(TEXT)
    resident = {}

    def first_call(start, tool, path):
        began = time.perf_counter()
        server = start()
        server.call(tool, path=path)
        took = time.perf_counter() - began
        resident[tool] = resident_kilobytes(server.process.pid)
        server.close()
        return took

    ours, theirs = in_turn(rounds, lambda: first_call(lambda: driver.serve(OWN), "read_file", "~/small.txt"),
                           lambda: first_call(lambda: McpServer(command), "read_text_file",
                                              str(folder / "small.txt")), warm_up=1)
    table.row(name, ours, theirs, "0.05")
    return table.size("the server's resident memory then", resident["read_file"],
                      resident["read_text_file"], "0.15")


def resident_kilobytes(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1])


def bench_crowd(table, driver, berth, steps, rounds):
    growth = Growth(table, driver, berth, rounds)
    for others in steps:
        driver.grow(others)
        growth.measure(others)


def bench_sizes(table, driver, charged, before, few):
    """`before`: charged without the crowd. Each is of guests at rest, which give back within two seconds
    what they have worked with, and of a kernel that has taken apart what has ended."""
    time.sleep(AT_REST)
    idle = (charged.kilobytes() - before) / driver.made
    driver.each("pause")
    time.sleep(AT_REST)
    paused = (charged.kilobytes() - before) / driver.made
    try:
        peer = bwrap_kilobytes(few)
    except (RuntimeError, OSError) as error:
        table.missing("memory of a session", str(error))
        return
    table.size(f"memory of an idle session (of {driver.made})", idle, peer, "0.5 (380 kB)")
    table.size(f"memory of a paused session (of {driver.made})", paused, peer, "0.5 (380 kB)")


def bench_all(table, driver, folder, quick, charged):
    rounds = 40 if quick else 300
    driver.ask("make", OWN)
    for processes, goal in ((1, 0.02), (50, 0.06)):
        bench_pause(table, driver, folder, rounds // 2, processes, goal)
    berth = driver.serve(OWN)
    try:
        berth.call("write_file", path="~/small.txt", content=TEXT)
        bench_wake(table, driver, berth, rounds)
        bench_reattach(table, driver, folder, 5 if quick else 20)
        before = charged.kilobytes() if charged else 0
        bench_crowd(table, driver, berth, (10, 50) if quick else (10, 100, 1000), rounds)
    finally:
        berth.close()
    if charged:
        bench_sizes(table, driver, charged, before, 20 if quick else 200)


def bench_sessions(table, build, folder, quick):
    state = folder / "state-of-sessions"
    with contextlib.ExitStack() as stack:
        try:
            charged = stack.enter_context(MemoryCgroup("sessions"))
        except OSError as error:
            table.missing("memory of a session", str(error))
            charged = None
        try:
            driver = stack.enter_context(Driver(build, state, charged and charged.entrance))
            bench_all(table, driver, folder, quick, charged)
        except (RuntimeError, OSError) as error:
            table.missing("what sessions cost", str(error))


if __name__ == "__main__":
    program.run(__doc__, bench_sessions)
