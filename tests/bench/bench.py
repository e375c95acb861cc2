#!/usr/bin/env python3
"""Prints metric, berth p50/p99, peer p50/p99, ratio of the medians, goal. Never fails a build."""
import os
import subprocess

import program
from calls import bench_calls
from memory import bench_memory
from peers import NO_NODE_SERVER, McpServer, bare_bash, node_file_server, run_drained
from sessions import bench_sessions
from table import interleaved
from tree import make_tree


def bench_exec(table, berth, rounds):
    for pinned in (False, True):
        if pinned:
            os.sched_setaffinity(0, {0})
            os.sched_setaffinity(berth.process.pid, {0})
        ours, theirs = interleaved(rounds, lambda: berth.call("bash_exec", command="true"), bare_bash)
        table.row(f"bash_exec true{' (client and server on one CPU)' if pinned else ''}",
                  ours, theirs, "1.25 (a waiting shell: 0.5)")
    os.sched_setaffinity(0, range(os.cpu_count()))
    os.sched_setaffinity(berth.process.pid, range(os.cpu_count()))


def bench_read(table, berth, folder, rounds):
    name = "read_file 1 KB"
    command = node_file_server(folder)
    if command is None:
        return table.missing(name, NO_NODE_SERVER)
    text = "".join(f"line {i:4} of a small file\n" for i in range(40))
    (folder / "small.txt").write_text(text)
    berth.call("write_file", path="~/small.txt", content=text)
    peer = McpServer(command)
    ours, theirs = interleaved(rounds, lambda: berth.call("read_file", path="~/small.txt"),
                               lambda: peer.call("read_text_file", path=str(folder / "small.txt")))
    table.row(name, ours, theirs, "0.30")
    return peer.close()


def bench_grep(table, berth, tree, rounds):
    patterns = {"literal": ("CONFIG_X86_64_ACPI", "0.75"),
                "alternation": ("pthread_create|io_uring_enter|epoll_wait", "0.60"),
                "regex without literal": (r"[a-z]{3}_[0-9]{4}\b", "0.65")}
    for name, (pattern, goal) in patterns.items():
        ours, theirs = interleaved(
            rounds, lambda p=pattern: berth.call("grep_files", pattern=p, path="/data"),
            lambda p=pattern: run_drained(["rg", "-j2", "--hidden", "-n", "-M", "500", "-e", p, "."], tree),
            warm_up=1)
        table.row(f"grep_files, {name}", ours, theirs, goal)
    ours, theirs = interleaved(rounds, lambda: berth.call("glob_files", pattern="*.h", path="/data"),
                               lambda: run_drained(["fdfind", "-j2", "-HI", r"\.h$", "."], tree), warm_up=1)
    table.row("glob_files", ours, theirs, "0.65")


def bench_create(table, build, folder, rounds):
    program = build / "tests/bench/create-bench"
    output = subprocess.run([program, str(folder / "create-state"), str(rounds)], text=True,
                            capture_output=True, check=False)
    if output.returncode != 0:
        return table.missing("create a sandbox", output.stderr.strip())
    found = {"berth": [], "behind": [], "bwrap": []}
    for line in output.stdout.splitlines():
        name, value = line.split()
        found[name].append(float(value))
    table.row("create a sandbox until its guest answers", found["berth"], found["bwrap"],
              "0.35 (from a pool: 0.04)")
    return table.row("the same right behind another", found["behind"], found["bwrap"], None)


def bench_all(table, build, folder, quick):
    rounds = 100 if quick else 500
    os.chmod(folder, 0o755)
    bench_create(table, build, folder, rounds // 2)
    bench_sessions(table, build, folder, quick)
    bench_calls(table, build, folder, quick)
    tree = folder / "tree"
    files, size = make_tree(tree, 10_000 if quick else 100_000, (100 if quick else 1000) << 20)
    print(f"(searched: {files} files, {size >> 20} MiB)", flush=True)
    berth = McpServer([build / "server/berth", "serve", "--state-dir", folder / "state",
                       "--mount", f"{tree}:/data:ro"])
    try:
        bench_exec(table, berth, rounds)
        bench_read(table, berth, folder, rounds)
        bench_grep(table, berth, tree, 5 if quick else 15)
        bench_memory(table, berth, folder / "state")
    finally:
        berth.close()


program.run(__doc__, bench_all)
