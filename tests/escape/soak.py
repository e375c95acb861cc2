#!/usr/bin/env python3
"""Honest sessions beside ones that abuse all that they have, for a long time:
  soak.py [--user UID] [--seconds 1800] [--honest 2] [--abusers 4] [--seed N]
With --user, started as root, all runs as that ordinary user, in cgroups that are given to it.
First the honest ones are alone, at the end again: their p99 then is what it is compared with. Fails where
an honest call fails, or is at p99 more than twice as slow beside the others; where anything of the abusers
is left when their sessions are purged, or the processes that stay have grown."""

import argparse
import collections
import multiprocessing
import os
import random
import subprocess
import sys
import time

import sandbox  # noqa: F401: it knows where the modules of other suites are
sys.path.append(str(sandbox.HERE.parent / "crash"))
import soak_work  # noqa: E402
from footprint import changes_that_stay, taken_at_rest  # noqa: E402
from mcp_client import binary_path  # noqa: E402
from ordinary_user import run_as  # noqa: E402
from state_directory import StateDirectory  # noqa: E402

PARTS = {"alone": 0.1, "beside": 0.8, "alone again": 0.1}
MOST = 2  # times as long as alone


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]


class Crowd:
    """Processes of their own, for clients in one would wait for each other. Forked, for of what Python spawns
    with, a process is there for a moment longer than this one."""

    def __init__(self, state, work, names, *arguments):
        fork = multiprocessing.get_context("fork")
        self._ways = []
        self._processes = []
        for name in names:
            here, there = fork.Pipe()
            process = fork.Process(target=work, args=(str(state.path), name, there, *arguments))
            process.start()
            there.close()
            self._ways.append(here)
            self._processes.append(process)

    def ask(self, *question):
        for way in self._ways:
            way.send(question)
        return [way.recv() for way in self._ways]

    def end(self):
        for way in self._ways:
            way.send(None)
        for process in self._processes:
            process.join(60)


def purge(state, names):
    environment = {**os.environ, "BERTH_STATE_DIR": str(state.path)}
    for name in names:
        subprocess.run([binary_path(), "sessions", "kill", name, "--purge"], env=environment, check=True,
                       capture_output=True, timeout=120)


def table(told):
    """Of {part: {call: times}}; what was too slow, as lines."""
    slow = []
    print(f"{'call':8}{'alone p50':>12}{'p99':>9}{'beside p50':>12}{'p99':>9}{'ratio':>8}   (ms)")
    for call in told["alone"]:
        alone = told["alone"][call] + told["alone again"][call]
        beside = told["beside"][call]
        ratio = p99(beside) / p99(alone)
        print(f"{call:8}" + "".join(f"{1000 * each:{width}.2f}" for each, width in (
            (sorted(alone)[len(alone) // 2], 12), (p99(alone), 9), (sorted(beside)[len(beside) // 2], 12),
            (p99(beside), 9))) + f"{ratio:8.2f}")
        if ratio > MOST:
            slow.append(f"{call}: p99 is {ratio:.2f} times that of alone")
    return slow


def merged(answers):
    times = collections.defaultdict(list)
    for answer in answers:
        for call, those in answer.items():
            times[call] += those
    return times


def soak(options, state, honest_names):
    abuser_names = [f"abuser-{number}" for number in range(options.abusers)]
    honest = Crowd(state, soak_work.be_honest, honest_names)
    servers = honest.ask("server")
    wrong, done, told = [], collections.Counter(), {}
    for part, share in PARTS.items():
        seconds = options.seconds * share
        abusers = None
        if part == "beside":
            # Not sooner: a guest's books of calls and outcomes grow until they are full.
            before = taken_at_rest(state, servers)
            abusers = Crowd(state, soak_work.abuse, abuser_names, options.seed)
            abusers.ask("begin", seconds)
        answers = honest.ask("work", seconds)
        told[part] = merged(times for times, _ in answers)
        wrong += [line for _, lines in answers for line in lines]
        if abusers:
            for counts, lines in abusers.ask("end"):
                done.update(counts)
                wrong += lines
            abusers.end()
            purge(state, abuser_names)
    wrong += soak_work.without_contents(changes_that_stay(before, state, servers, 30))
    honest.end()
    print("abuses:", ", ".join(f"{count} of {name}" for name, count in sorted(done.items())))
    missing = set(soak_work.ABUSES) - set(done)
    return wrong + table(told) + [f"never tried: {name}" for name in sorted(missing)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--user")
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--honest", type=int, default=2)
    parser.add_argument("--abusers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    if options.user and os.geteuid() == 0:
        arguments = [f"--{name}={value}" for name, value in vars(options).items() if name != "user"]
        sys.exit(run_as(options.user, os.path.realpath(__file__), arguments, with_cgroups=True))
    print("seed", options.seed)
    begun = time.monotonic()
    with StateDirectory() as state:
        honest_names = [f"honest-{number}" for number in range(options.honest)]
        wrong = soak(options, state, honest_names)
        purge(state, honest_names)
        wrong += state.wait_for_no_leaks()
    print(f"{time.monotonic() - begun:.0f} s", *wrong, "the soak has failed" if wrong else "nothing went wrong",
          sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
