"""bash_exec as a call: what is given with the command, what is told of it, and what is refused."""

import re

from tables.rows import ExecRow

_BACK = {"background": True}


def _row(name, command, out=None, code=0, **more):
    return ExecRow(name, command, out, code=code, **more)


def _stdin(name, command, given, out, **more):
    return _row("stdin: " + name, command, out, arguments={"stdin": given}, **more)


def _env(name, command, given, out, **more):
    return _row("env: " + name, command, out, arguments={"env": given}, **more)


def _workdir(name, workdir, out, **more):
    return _row("workdir: " + name, "pwd", out, arguments={"workdir": workdir}, **more)


def _refused(name, word, words, **arguments):
    return ExecRow("refused: " + name, arguments.pop("command", "touch ran"), refused=word, words=words,
                   arguments=arguments)


STDIN = [
    _row("stdin: nothing", "cat; read x; echo $?; readlink /proc/self/fd/0", "1\n/dev/null\n"),
    _stdin("a text", "cat", "a\nb\n", "a\nb\n"),
    _stdin("without a newline", "cat; read x; echo $?", "a", "a1\n"),
    _stdin("an empty text", "wc -c", "", "0\n"),
    _stdin("unicode", "wc -cm", "é☃𝄞", re.compile(r" *3 +9\n")),
    _stdin("NUL and control characters", "od -An -tx1", "a\0\x01\x7f\x1b", " 61 00 01 7f 1b\n"),
    _stdin("carriage returns stay", "od -An -tx1", "a\r\nb\r", " 61 0d 0a 62 0d\n"),
    _stdin("lines", "while read -r x; do echo \"[$x]\"; done", "a\\b\n c \nd", "[a\\b]\n[c]\n"),
    _stdin("read in turns", "head -n 1; cat", "a\nb\nc\n", "a\nb\nc\n"),
    _stdin("it can be opened again", "cat /dev/stdin; cat /dev/stdin", "a\n", None, fresh=False),
    _stdin("a script", "bash -s x", "echo $1; exit 4", "x\n", code=4),
    _stdin("more than a pipe holds", "wc -c", "x" * 1_000_000, "1000000\n"),
    _stdin("unread", "true", "x" * 200_000, ""),
    _stdin("background children have it too", "cat & wait", "a\n", None),
    _stdin("closed by the command", "exec <&-; cat; echo $?", "a\n", "1\n"),
]

ENVIRONMENT = [
    _env("a value", "echo \"$A\"; printenv A", {"A": "b  c"}, "b  c\nb  c\n"),
    _env("empty", "echo ${A+set}${A:+full}; printenv A", {"A": ""}, "set\n\n"),
    _env("unicode and newlines", "printf %s \"$A\"", {"A": "ünï\n☃\t'\"$(x)`"}, "ünï\n☃\t'\"$(x)`"),
    _env("several", "echo $A$B$C", {"A": "1", "B": "2", "C": "3"}, "123\n"),
    _env("of nothing", "echo ${A-unset}", {}, "unset\n"),
    _env("not kept", "echo ${B-unset}", {"A": "1"}, "unset\n"),
    _env("one that was there", "echo $LANG $TERM", {"TERM": "xterm"}, "C.UTF-8 xterm\n"),
    _env("PATH", "echo $PATH; /bin/echo a; ls", {"PATH": "/nowhere"}, "/nowhere\na\n", code=127),
    _env("HOME", "echo ~ $HOME; cd; pwd", {"HOME": "/tmp"}, "/tmp /tmp\n/tmp\n"),
    _env("PWD is the working directory", "[ \"$PWD\" = {dir} ] && echo yes", {"PWD": "/tmp"}, "yes\n",
         fresh=False),
    _env("a name that bash has no use for", "env | grep -a '^A[.-]B='", {"A.B": "1", "A-B": "2"}, None),
    _env("a name of unicode", "env | grep -a '^Ä='", {"Ä": "1"}, "Ä=1\n"),
    _env("a function", "f x", {"BASH_FUNC_f%%": "() { echo \"f $1\"; }"}, "f x\n"),
    _env("SHELLOPTS", "echo $-; false; echo no", {"SHELLOPTS": "errexit"}, None, code=1),
    _env("BASH_ENV", "echo ran", {"BASH_ENV": "/dev/null"}, "ran\n"),
    _env("100 KB", "echo ${#A}", {"A": "x" * 100_000}, "100000\n"),
    _env("hundreds", "env | grep -c ^V_", {f"V_{n}": "x" * n for n in range(300)}, "300\n"),
]

WORKDIR = [
    _workdir("absolute", "/tmp", "/tmp\n"),
    _workdir("the root", "/", "/\n"),
    _workdir("the home", "~", None, fresh=False, data={}),
    _row("workdir: below the home", "[ \"$PWD\" = ~/rows ] && echo yes", "yes\n",
         arguments={"workdir": "~/rows"}, fresh=False),
    _row("workdir: relative to the session's", "[ \"$PWD\" = ~/rows ] && echo yes", "yes\n",
         arguments={"workdir": "rows"}, fresh=False),
    _row("workdir: a dot", "[ \"$PWD\" = ~ ] && echo yes", "yes\n", arguments={"workdir": "."}, fresh=False),
    _workdir("dots in between", "{dir}/a/../a/.", "{dir}/a\n", setup="mkdir a", fresh=False),
    _row("workdir: no dots in PWD", "echo $PWD; printenv PWD", "{dir}/a\n{dir}/a\n", setup="mkdir a",
         arguments={"workdir": "{dir}//./a/"}, fresh=False),
    _row("workdir: two dots behind a link", "echo $PWD; pwd", "{dir}/d\n{dir}/d\n",
         setup="mkdir -p d/e; ln -s d/e l", arguments={"workdir": "{dir}/l/.."}, fresh=False),
    _workdir("blanks", "{dir}/a  b", "{dir}/a  b\n", setup="mkdir 'a  b'"),
    _workdir("quotes and dollars are no syntax", "{dir}/'$x'", "{dir}/'$x'\n", setup="mkdir \"'\\$x'\""),
    _workdir("unicode", "{dir}/ünï", "{dir}/ünï\n", setup="mkdir ünï"),
    _workdir("a newline", "{dir}/a\n", "{dir}/a\n\n", setup="mkdir $'a\\n'"),
    _row("workdir: a link keeps its name", "pwd; pwd -P", "{dir}/l\n{dir}/d\n", setup="mkdir d; ln -s d l",
         arguments={"workdir": "{dir}/l"}),
    _row("workdir: for this call only", "cd /; pwd", "/\n", arguments={"workdir": "{dir}"},
         data={"cwd_changed": False}),
    _row("workdir: removed while it runs", "rmdir {dir}/d; echo on", "on\n", setup="mkdir d",
         arguments={"workdir": "{dir}/d"}),
    ExecRow("workdir: missing", "touch ran", refused="not_found", arguments={"workdir": "{dir}/none"},
            words=("{dir}/none: No such file",)),
    ExecRow("workdir: a file", "touch ran", refused="invalid_path", setup="touch f",
            arguments={"workdir": "{dir}/f"}, words=("{dir}/f is not a directory",)),
    ExecRow("workdir: below a file", "touch ran", refused="invalid_path", setup="touch f",
            arguments={"workdir": "{dir}/f/x"}, words=("not a directory",)),
    ExecRow("workdir: a dangling link", "touch ran", refused="not_found", setup="ln -s none l",
            arguments={"workdir": "{dir}/l"}, words=("{dir}/l",)),
    ExecRow("workdir: links in a circle", "touch ran", refused="invalid_path", setup="ln -s l l",
            arguments={"workdir": "{dir}/l"}, words=("symbolic links",)),
    ExecRow("workdir: no way in", "touch ran", refused="permission_denied", setup="mkdir -m 0 d",
            arguments={"workdir": "{dir}/d"}, words=("ls -ld",), sandboxes_only=True),
    _refused("a workdir of another user", "not_found", ("~root",), workdir="~root"),
    _refused("a workdir with a variable", "not_found", ("$HOME",), workdir="$HOME"),
    _refused("an empty workdir", "invalid_argument", ("workdir: may not be empty",), workdir=""),
    _refused("a workdir with NUL", "invalid_path", ("NUL",), workdir="a\0b"),
    _refused("a workdir with too long a name", "invalid_path", ("too long",), workdir="x" * 256),
    _refused("a workdir that is too long", "invalid_path", ("4095",), workdir="./" * 2100),
]

OUTCOMES = [
    _row("a timeout that is not reached", "echo a", "a\n", arguments={"timeout": 1}),
    _row("the longest timeout", "echo a", "a\n", arguments={"timeout": 7200}),
    _row("a timeout as a float that is whole", "echo a", "a\n", arguments={"timeout": 2.0}),
    _row("null is as good as nothing", "echo a", "a\n", arguments={"timeout": None, "env": None,
                                                                    "stdin": None, "workdir": None}),
    _row("timed out", "echo a; echo b >&2; sleep 60; echo c", "a\n", -1, err="b\n", fate="timed_out",
         arguments={"timeout": 1}, fresh=False, data={"timed_out": True, "survivors": 0, "signal": ""},
         text=re.compile(r"a\n\[stderr\]\nb\n\[timed out after 1 s · [^\n]*\]")),
    _row("timed out in spite of traps", "trap 'echo no' TERM INT HUP; sleep 60 & wait; sleep 60", "", -1,
         fate="timed_out", arguments={"timeout": 1}, fresh=False, data={"survivors": 0}),
    _row("timed out while stopped", "kill -STOP $$; echo no", "", -1, fate="timed_out",
         arguments={"timeout": 1}, fresh=False, data={"survivors": 0}),
    _row("timed out with stdin unread", "exec 5<&0; sleep 60", "", -1, fate="timed_out",
         arguments={"timeout": 1, "stdin": "x" * 300_000}, fresh=False, data={"survivors": 0}),
    _row("runs on behind its timeout", "echo a; sleep 60", "a\n", -1, fate="running",
         arguments={"timeout": 1, "on_timeout": "background"}, fresh=False,
         data={"timed_out": False, "background": True},
         text=re.compile(r"a\n\[still running after .* as job-[^\n]*\]")),
    _row("in the background", "echo a; sleep 60", "", -1, fate="running", arguments=_BACK, fresh=False,
         data={"background": True, "duration_ms": 0},
         text=re.compile(r"\[running in the background as job-[^\n]*\]")),
    _row("a child is left", "sleep 60 & echo a", "a\n", fresh=False, data={"background": False},
         text=re.compile(r"a\n\[left running as job-\S+: pid \d+ \(sleep 60\) · [^\n]*\]")),
    _row("a child that left the session is found", "setsid -f sleep 60; echo a", "a\n", fresh=False,
         text=re.compile(r"a\n\[left running as job-\S+: pid \d+ \(sleep 60\) · [^\n]*\]")),
    _row("a child that ends at once is none", "true & echo a", "a\n", data={"job_id": ""}, text="a\n"),
    _row("a child that was killed is none", "sleep 60 & kill $!; echo a", "a\n", fresh=False, text="a\n"),
    _row("the working directory stays with a session", "cd {dir}", "", fresh=False, arguments={},
         data={"cwd_changed": True}, text=re.compile(r"\(no output\)\n\[cwd /[^\n]*\]")),
    _row("a working directory with too long a path", "cd {dir}; for i in $(seq 25); do mkdir " + "x" * 200 +
         "; cd x*; done", "", fresh=False, data={"cwd_changed": True}, text=re.compile(
             r"\[berth\] the path of the working directory has more than 4095 bytes; the next command starts "
             r"in /.*\n\(no output\)\n\[cwd /.*\]")),
    _row("a working directory that is removed", "mkdir {dir}/d; cd {dir}/d; rmdir {dir}/d", "", fresh=False,
         data={"cwd_changed": True}, text=re.compile(
             r"\[berth\] the working directory was deleted; the next command starts in /.*\n\(no output\)\n"
             r"\[cwd /.*\]")),
    _row("a code in the text", "echo a; exit 3", "a\n", 3, text=re.compile(r"a\n\[exit 3 · \d+ ms\]")),
    _row("a code behind no newline", "printf a; exit 3", "a", 3,
         text=re.compile(r"a\n\[exit 3 · \d+ ms\]")),
    _row("a code of no output", "exit 3", "", 3, text=re.compile(r"\(no output\)\n\[exit 3 · \d+ ms\]")),
    _row("a signal in the text", "kill -9 $$", "", 137,
         text=re.compile(r"\(no output\)\n\[killed by SIGKILL \(exit 137\) · \d+ ms\]")),
    _row("standard error only", "echo a >&2", "", text="[stderr]\na\n"),
    _row("standard error behind no newline", "printf a; printf b >&2", "a", text="a\n[stderr]\nb"),
    _row("a text like a status", "echo '[exit 3 · 5 ms]'; echo '[stderr]'", None,
         text="[exit 3 · 5 ms]\n[stderr]\n"),
    _row("bytes that are no text", "printf 'a\\xff\\xc3\\n'", r"a\xff\xc3" "\n", fresh=False,
         data={"stdout_truncated": False}),
    _row("half a character at the end", "printf 'a\\xe2\\x98'", r"a\xe2\x98", fresh=False),
    _row("characters in pieces", "printf '\\xe2'; sleep 0.05; printf '\\x98'; sleep 0.05; printf '\\x83\\n'",
         "☃\n"),
    _row("totals", "printf 'a\\nb'; printf 'ü\\n' >&2", "a\nb", err="ü\n", data={
        "stdout_stream": {"total_bytes": 3, "total_lines": 2, "omitted_bytes": 0},
        "stderr_stream": {"total_bytes": 3, "total_lines": 1, "omitted_bytes": 0}}),
    _row("the middle of much is left out", "seq 20000", re.compile(r"1\n2\n.*\n19999\n20000\n"),
         fresh=False, data={"stdout_truncated": True, "stdout_stream": {"total_bytes": 108894,
                                                                       "total_lines": 20000}}),
    _row("a command of 200 KB", "x='" + "y" * 200_000 + "'; echo ${#x} $- $0 $#", "200000 hBc bash 0\n",
         fresh=False),
    _row("lines of a command of 200 KB", "#" + "y" * 200_000 + "\necho $LINENO; none-such", "2\n", 127,
         err="bash: line 2: none-such: command not found\n", fresh=False),
    _row("the end of a command of 200 KB", "trap 'echo bye' EXIT\nset -e\n#" + "y" * 200_000 +
         "\ncat <<X\na\nX\nfalse\necho no", "a\nbye\n", 1, fresh=False),
    _row("standard input of a command of 200 KB", "cat; ls /proc/self/fd | tr '\\n' ' ' #" + "y" * 200_000,
         "in\n0 1 2 3 ", arguments={"stdin": "in\n"}, fresh=False),
    _row("many arguments", "set -- $(seq 30000); /bin/echo $# \"$@\" | wc -w", "30001\n"),
    _row("too many arguments", "/bin/true $(seq 600000)", "", 126),
    _row("other names of the arguments", None, "1 in\n", fresh=False, arguments={
        "cmd": "read x; echo $A $x", "timeout_sec": 5, "cwd": "/", "environment": {"A": "1"},
        "input": "in\n", "run_in_background": False, "dangerouslyDisableSandbox": True}),
    _row("a description is nothing but that", "echo a", "a\n", arguments={"description": "x" * 5000}),
    _row("it knows its own session only", "ps -e -o pid= | wc -l", re.compile(r"\d\n"), fresh=False,
         local_only=True),
    _row("who it is", "id -un; whoami; echo $HOME $USER", "user\nuser\n/home/user user\n", fresh=False,
         sandboxes_only=True),
]

REFUSED = [
    _refused("no command", "invalid_argument", ("missing: command", "Send the call again"), command=None),
    _refused("an empty command", "empty_command", ("nothing to run", "write_file"), command=""),
    _refused("a blank command", "empty_command", ("nothing to run",), command=" \t\r\n "),
    _refused("a command with NUL", "invalid_argument", ("NUL", "printf"), command="touch ran\0x"),
    _refused("a list as a command", "invalid_argument", ("expected a string, got a list",),
             command=["touch", "ran"]),
    _refused("a number as a command", "invalid_argument", ("expected a string, got 5",), command=5),
    _refused("two commands", "invalid_argument", ("command and cmd are the same",), cmd="touch ran2"),
    *(_refused(f"a timeout of {timeout}".replace("-", "minus "), "invalid_argument", ("timeout: ", words), timeout=timeout)
      for timeout, words in ((0, "minimum of 1"), (-5, "minimum of 1"), (7201, "maximum of 7200"),
                             (10 ** 30, "maximum of 7200"), (1.5, "a whole number, got 1.5"),
                             ("10", "got the string \"10\""), (True, "got true"))),
    _refused("milliseconds", "invalid_argument", ("did you mean 120 s?",), timeout=120_000),
    _refused("ten minutes in milliseconds", "invalid_argument", ("did you mean 600 s?",), timeout=600_000),
    _refused("no milliseconds", "invalid_argument", ("on_timeout",), timeout=7300),
    *(_refused(f"a variable with {what}", "invalid_argument", ("is no name of an environment variable",),
               env={name: "x"})
      for what, name in (("no name", ""), ("an equals sign", "A=B"), ("only that", "="), ("a blank", "A B"),
                         ("NUL", "A\0"), ("a newline", "A\n"), ("a tab", "A\t"))),
    _refused("a value with NUL", "invalid_argument", ("the value of A contains a NUL",), env={"A": "a\0b"}),
    _refused("a number as a value", "invalid_argument", ("env.A: expected a string, got 1",), env={"A": 1}),
    _refused("null as a value", "invalid_argument", ("env.A: expected a string",), env={"A": None}),
    _refused("a list of variables", "invalid_argument", ("expected an object of strings, got a list",),
             env=["A=1"]),
    _refused("a text of variables", "invalid_argument", ("expected an object of strings",), env="A=1"),
    _refused("a value that is too large", "too_large", ("Put large values in a file",),
             env={"A": "x" * 200_000}),
    _refused("too many values", "too_large", ("environment is too large",),
             env={f"V{n}": "x" * 100_000 for n in range(25)}),
    _refused("a number as stdin", "invalid_argument", ("stdin: expected a string",), stdin=1),
    _refused("an open stdin in the foreground", "invalid_argument", ("background: true",), stdin_open=True),
    _refused("much beside an open stdin", "invalid_argument", ("bash_input",), stdin_open=True,
             background=True, stdin="x" * 100_000),
    _refused("a word as background", "invalid_argument", ("background: expected true or false",),
             background="yes"),
    _refused("another on_timeout", "invalid_argument", ("one of kill, background",), on_timeout="stop"),
    _refused("a number as description", "invalid_argument", ("description: expected a string",),
             description=5),
    _refused("an unknown argument", "invalid_argument", ("shell: there is no argument", "It takes: command"),
             shell="zsh"),
    _refused("a mistyped argument", "invalid_argument", ("did you mean timeout?",), timeoutt=5),
]

CALL_ROWS = [*STDIN, *ENVIRONMENT, *WORKDIR, *OUTCOMES, *REFUSED]
