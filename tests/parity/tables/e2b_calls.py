"""One call of each tool that touches a machine, made so that a second run of it would be seen.

"{dir}" in texts is a folder that the call has to itself, "{n}" its number; "{printed}", "{reads}" and
"{counts}" are the jobs that faulted.py starts."""

import dataclasses


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    name: str
    tool: str
    arguments: dict
    shown: tuple  # what of the typed result must be as without a fault
    prepare: str = "true"  # a command in {dir}, before
    effect: str = "echo"  # a command in {dir} that prints what the call has done there, on one line
    sends_more: bool = False  # than a request's beginning has room for: a second request
    errors: tuple = ()  # what may be told of it where a connection broke, besides what the fault says


def _file(name, tool, arguments, effect, *shown, **more):
    return Call(name, tool, {"path": "{dir}/file", **arguments}, ("size_bytes", "sha256", *shown),
                effect=effect, **more)


SUM = "cat file 2>/dev/null | cksum"
PAGE = "seq -f 'line %g of a file that is longer than a frame' 1000 >file"
COMMAND = "cd {dir}; echo x >>count; seq 3000; echo complaint >&2; exit 3"
SIX_HUNDRED_KILOBYTES = "0123456789abcde\n" * 38_400

LOAD = Call("load", "load_from_workspace", {"workspace_path": "/loaded", "sandbox_path": "{dir}/file"},
     ("total_bytes",), effect=SUM, sends_more=True,
     errors=("backend_error",))  # its data was taken, and is not there a second time

CALLS = (
    Call("exec", "bash_exec", {"command": COMMAND}, ("stdout", "stderr", "exit_code", "fate"),
         effect="cat count 2>/dev/null | wc -l"),
    Call("background", "bash_exec", {"command": "cd {dir}; echo x >>count; sleep 0.2", "background": True},
         ("exit_code", "fate", "background"), effect="cat count 2>/dev/null | wc -l"),
    Call("output", "bash_output", {"job_id": "{printed}"}, ("stdout", "exit_code", "status", "cursor")),
    Call("input", "bash_input", {"job_id": "{reads}", "input": "{n}\n"}, ("bytes", "status"),
         effect="grep -cx {n} ~/got"),
    Call("kill", "bash_kill", {"job_id": "{counts}", "signal": "USR1"}, ("status", "fate")),
    _file("read", "read_file", {}, SUM, "content", "total_lines", prepare=PAGE),
    _file("write", "write_file", {"content": "appended\n", "mode": "append"}, SUM, "bytes", "created"),
    _file("write-large", "write_file", {"content": SIX_HUNDRED_KILOBYTES, "mode": "append"}, SUM, "bytes",
          "created", sends_more=True),
    _file("edit", "edit_file", {"old_text": "one", "new_text": "one one"}, SUM, "replacements", "diff",
          prepare="echo one >file"),
    Call("glob", "glob_files", {"pattern": "*.txt", "path": "{dir}"}, ("paths", "total", "complete"),
         prepare="touch -d @1 a.txt; touch -d @2 b.txt c.md"),
    Call("grep", "grep_files", {"pattern": "7", "path": "{dir}"}, ("files", "total_matches"),
         prepare="seq 300 >numbers"),
    Call("save", "save_to_workspace", {"sandbox_path": "{dir}/file", "workspace_path": "/saved/{n}",
                                       "overwrite": False}, ("total_bytes", "skipped"), prepare=PAGE),
    LOAD,
)

# Long enough for something to happen to their box meanwhile.
SLOW_CALLS = (
    Call("exec-slow", "bash_exec", {"command": "cd {dir}; echo x >>count; sleep 1; seq 3000; exit 3"},
         ("stdout", "exit_code", "fate"), effect="cat count 2>/dev/null | wc -l"),
    Call("output-slow", "bash_output", {"job_id": "{reads}", "wait": 1}, ("stdout", "status")),
)
