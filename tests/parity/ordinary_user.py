"""A suite run again as an ordinary user, by the root that started it."""

import contextlib
import os
import pathlib
import pwd
import subprocess
import sys
import tempfile

from apart import MARK
from host import delegated, entering

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77  # what Meson takes for a skipped test


def run_as(user, script, arguments, with_cgroups=False):
    """The exit status of `script ARGUMENTS` as `user`, a name or a uid that need not be in the passwd
    file; `with_cgroups`: in some that are given to it."""
    uid, gid = (int(user), int(user)) if user.isdigit() else pwd.getpwnam(user)[2:4]
    as_user = ["setpriv", "--reuid", str(uid), "--regid", str(gid), "--clear-groups"]
    binary = os.environ.get("BERTH_BINARY", str(HERE.parent.parent / "build/server/berth"))

    def readable(path):
        return subprocess.run([*as_user, "test", "-r", path], check=False).returncode == 0

    # One that was installed below root's home is of no use to others.
    interpreter = sys.executable if readable(sys.executable) else "/usr/bin/python3"
    for path in (binary, str(script), str(HERE / "suite.py"), interpreter):
        if not readable(path):
            print(f"skipped: uid {uid} may not read {path}")
            return SKIPPED
    with tempfile.TemporaryDirectory(prefix="berth-parity-") as home:
        runtime = os.path.join(home, "run")
        os.mkdir(runtime, 0o700)
        for path in (home, runtime):
            os.chown(path, uid, gid)
        environment = {**os.environ, "HOME": home, "USER": f"uid-{uid}", "XDG_RUNTIME_DIR": runtime,
                       "PYTHONDONTWRITEBYTECODE": "1", MARK: "1"}
        with delegated(uid) if with_cgroups else contextlib.nullcontext([]) as folders:
            environment["BERTH_PARITY_CGROUPS"] = ":".join(folders)
            command = [interpreter, str(script), *arguments]
            return subprocess.run(entering("runner", folders, [*as_user, *command]),
                                  env=environment, cwd="/", check=False).returncode
