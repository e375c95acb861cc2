"""What the server and a guest need at most while they do something large."""
import pathlib

MIB = 1 << 20


def guest_pid(state):
    """The guest of the only session below this state directory: its home is mounted from there."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            if status.read_text().startswith("Name:\tberth-guest\n"):
                if f"{state}/sessions/" in (status.parent / "mountinfo").read_text():
                    return int(status.parent.name)
        except OSError:
            continue
    raise RuntimeError("no guest found")


def highest_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def highest_during(pids, work):
    """The highest resident memory of each process while `work` runs, in KiB."""
    for pid in pids:
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")
    work()
    return [highest_kb(pid) for pid in pids]


def bench_memory(table, berth, state):
    """The same work small and large: the memory shall not follow the size."""
    berth.call("bash_exec", command="true")
    pids = [berth.process.pid, guest_pid(state)]

    def edit(size):
        berth.call("bash_exec", command=f"yes 'one line of a large file' | head -c {size} >edit.txt; "
                                        "echo 'the last line' >>edit.txt")
        return highest_during(pids, lambda: berth.call(
            "edit_file", path="~/edit.txt", old_text="the last line", new_text="another last line"))

    def run(command):
        return highest_during(pids, lambda: berth.call("bash_exec", command=command))

    def read(size):
        berth.call("bash_exec", command=f"yes 'one line of a large file' | head -c {size} >read.txt")
        return highest_during(pids, lambda: berth.call("read_file", path="~/read.txt", limit=100))

    table.memory("bash_exec, output of 100 KB / 1 GB", run("yes | head -c 100K"), run("yes | head -c 1G"))
    table.memory("read_file, of a file of 1 / 100 MB", read(MIB), read(100 * MIB))
    table.memory("edit_file, in a file of 1 / 100 MB", edit(MIB), edit(100 * MIB))
