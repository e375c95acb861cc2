"""bash_exec by tables, its shell beside a fresh bash."""

import re
import shutil
import signal
import subprocess
import tempfile

from suite import ParityTest
from table import TableTest, matches
from tables.exec_call import CALL_ROWS
from tables.exec_shell import SHELL_ROWS


def told(text):
    """Without what differs from run to run, and from a last command that bash replaces itself by: that
    one is killed without a word, ours with one."""
    text = re.sub(r"^bash: line (\d+): +\d+ ", r"bash: line \1: PID ", text, flags=re.MULTILINE)
    # Two newlines at a command's end keep bash from replacing itself.
    return re.sub(r"line \d+: syntax error: unexpected end of file", "unexpected end of file", text)


def with_default_signals():
    """A runner under nohup ignores SIGHUP, one that a script has started in the background SIGINT and
    SIGQUIT, and so would bash."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)


class ExecTable(TableTest):
    def check(self, row):
        place = self.row_directory(row)
        if row.setup:
            self.output(row.setup, workdir=place)
        arguments = self.arguments(row, place)
        if row.refused:
            refused = self.refused(row.refused, "bash_exec", **arguments)
            for words in row.words:
                self.assertIn(words.replace("{dir}", place), refused.text)
            self.assertEqual(self.output("find . -name 'ran*' 2>/dev/null; true", workdir=place), "")
            return
        result = self.call("bash_exec", **arguments)
        data = result.data
        if data["job_id"]:
            self.call("bash_kill", job_id=data["job_id"])
        if data["cwd_changed"]:
            self.output("cd")
        self.check_result(row, place, result)
        if row.fresh:
            self.check_fresh(row, arguments, place, data)

    def arguments(self, row, place):
        """{dir} in a path; without a workdir the row's own folder is it."""
        arguments = {"workdir": place, **row.arguments}
        if row.command is not None:
            arguments["command"] = row.command
        if "cwd" in arguments or not row.arguments and "cwd_changed" in row.data:
            del arguments["workdir"]
        for name in ("command", "workdir"):
            if isinstance(arguments.get(name), str):
                arguments[name] = arguments[name].replace("{dir}", place)
        return arguments

    def check_result(self, row, place, result):
        data = result.data
        for name, wanted in (("stdout", row.out), ("stderr", row.err), ("exit_code", row.code)):
            if isinstance(wanted, str):
                wanted = wanted.replace("{dir}", place)
            if wanted is not None:
                matches(self, wanted, data[name], data)
        self.assertEqual(data["fate"], row.fate or ("signaled" if data["signal"] else "exited"), data)
        if row.text is not None:
            matches(self, row.text, result.text, data)
        for name, wanted in row.data.items():
            found = data[name]
            if isinstance(wanted, dict):
                found = {key: found[key] for key in wanted}
            self.assertEqual(found, wanted, data)
        for name, wanted in row.files.items():
            self.assertEqual(self.output(f"cat '{name}'", workdir=place), wanted)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.rows:
            variables = cls.shared.output("env").splitlines()
            cls.environment_inside = dict(one.split("=", 1) for one in variables if "=" in one)
            for name in ("OLDPWD", "SHLVL", "_"):
                cls.environment_inside.pop(name, None)

    def check_fresh(self, row, arguments, place, data):
        """The same by bash itself, on this host, in a folder that begins as the row's did."""
        with tempfile.TemporaryDirectory(prefix="berth-fresh-") as folder:
            def here(text):
                return text.replace(place, folder)
            environment = {**self.environment_inside, **(arguments.get("env") or {})}
            workdir = here(arguments.get("workdir") or place)
            given = {"env": {**environment, "PWD": workdir}, "capture_output": True, "timeout": 20,
                     "preexec_fn": with_default_signals}
            shell = ["bash", "--norc", "--noprofile", "-c"]
            given["executable"] = shutil.which("bash")  # whatever PATH the row has
            if row.setup:
                subprocess.run([*shell, here(row.setup)], cwd=folder, check=True, **given)
            with tempfile.TemporaryFile() as stdin:
                stdin.write((arguments.get("stdin") or "").encode())
                stdin.seek(0)
                source = subprocess.DEVNULL if arguments.get("stdin") is None else stdin
                done = subprocess.run([*shell, here(arguments["command"])], cwd=workdir, stdin=source,
                                      umask=0o022, check=False, **given)
            code = done.returncode if done.returncode >= 0 else 128 - done.returncode
            wanted = (code, *(told(stream.decode(errors="replace").replace(folder, place))
                              for stream in (done.stdout, done.stderr)))
        self.assertEqual((data["exit_code"], told(data["stdout"]), told(data["stderr"])), wanted)


class ShellTest(ExecTable):
    rows = SHELL_ROWS


class CallTest(ExecTable):
    rows = CALL_ROWS


class CodesTest(ParityTest):
    def test_every_exit_code(self):
        pending = [(code, self.berth.call_async("bash_exec", {"command": f"exit {code}"}))
                   for code in range(8)]
        for code in range(256):
            asked, call = pending.pop(0)
            self.assertEqual((asked, call.result().data["exit_code"]), (code, code))
            if code + 8 < 256:
                pending.append((code + 8, self.berth.call_async("bash_exec",
                                                                {"command": f"exit {code + 8}"})))
