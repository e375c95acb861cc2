"""A run by itself. The cases look for what is left on the whole host, so two runs beside each other would
take each other's processes for leaks, and end them: each has a host of its own (its processes, its
runtime folder) where that can be made, else it waits for its turn."""

import fcntl
import os
import pathlib
import subprocess
import sys

MARK = "BERTH_PARITY_APART"
UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Not exec: the shell stays as the first process, and reaps orphans as an init does.
INSIDE = ('mkdir -p -m 700 /run/berth; mount -t tmpfs -o mode=700 tmpfs /run/berth; '
          'status=0; "$@" || status=$?; exit $status')


def be_apart():
    """Returns in the process that runs the cases, with what must be kept until it ends."""
    if os.environ.pop(MARK, None):
        return None
    if os.geteuid() == 0:
        command = [*UNSHARE, "sh", "-ec", INSIDE, "sh"]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            os.environ[MARK] = "1"
            os.execvp(command[0], [*command, sys.executable, *sys.argv])
    turn = open(pathlib.Path(__file__), "rb")
    fcntl.flock(turn, fcntl.LOCK_EX)
    return turn
