"""The audit log: a line for each call on either transport, nothing secret in it, and no call that
depends on it."""

import fcntl
import hashlib
import json
import os
import pathlib
import resource
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import Bench
from http_bench import bearer
from mcp_client import RpcError, binary_path
from test_http_operator import OperatorBench

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class AuditBench(Bench):
    @property
    def path(self):
        return self.state.path / "audit.jsonl"

    def written(self):
        return self.path.read_bytes().count(b"\n") if self.path.exists() else 0

    def lines(self, count):
        """Those there are, once there are so many: a line follows its answer."""
        self.wait_for(lambda: self.written() >= count)
        found = [json.loads(line) for line in self.path.read_text().splitlines()]
        self.assertEqual(len(found), count, found)
        return found


class StdioTest(AuditBench):
    audits = None  # the server that writes to `path`

    def tool(self, berth, name, **arguments):
        """And its line: else that of the next call may come before it."""
        before = self.written()
        result = berth.call_tool(name, arguments)
        if berth is self.audits:
            self.wait_for(lambda: self.written() > before)
        return result

    def audited(self, *arguments, **options):
        self.audits = self.start("--audit-log", str(self.path), "--session", "work", "--principal", "ann",
                                 *arguments, **options)
        return self.audits

    def test_each_call_has_a_line_of_its_own(self):
        with self.audited() as berth:
            self.tool(berth, "bash_exec", command="exit 3")
            self.tool(berth, "read_file", path="~/none")
            self.tool(berth, "bash_exec", command="")
        ran, read, empty = self.lines(3)
        self.assertEqual({name: ran[name] for name in ("principal", "session", "tool", "command",
                                                       "command_bytes", "env", "outcome", "fate",
                                                       "exit_code")},
                         {"principal": "ann", "session": "work", "tool": "bash_exec",
                          "command": "exit 3", "command_bytes": 6, "env": [], "outcome": "ok",
                          "fate": "exited", "exit_code": 3})
        self.assertRegex(ran["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertRegex(ran["request"], r"^[0-9a-f]{24}$")
        self.assertGreater(ran["duration_ms"], 0)
        self.assertEqual((read["tool"], read["outcome"]), ("read_file", "not_found"))
        self.assertNotIn("command", read)
        self.assertEqual((empty["outcome"], empty["command"]), ("empty_command", ""))
        self.assertNotIn("exit_code", empty)
        self.assertEqual(len({each["request"] for each in (ran, read, empty)}), 3)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)

    def test_nothing_that_is_known_to_be_secret_is_in_it(self):
        secret = self.state.path / "secret.txt"
        secret.write_text("sk-from-file\n")
        with self.audited("--config", self.config(f'secret = ["KEY=file:{secret}"]\n'),
                          "--env", "SETTING=value-of-setting") as berth:
            self.tool(berth, "bash_exec", env={"TOKEN": "tok-of-call"}, input="the-input",
                       command="echo sk-from-file value-of-setting tok-of-call >/dev/null; "
                               "echo the-output; : https://me:pass-word@host/")
            self.tool(berth, "write_file", path="~/n", content="the-content")
        text = self.path.read_text()
        ran, wrote = self.lines(2)
        self.assertEqual(ran["env"], ["KEY", "SETTING", "TOKEN"])
        self.assertEqual(ran["command"], "echo *** *** *** >/dev/null; echo the-output; "
                                         ": https://me:***@host/")
        for word in ("sk-from-file", "value-of-setting", "tok-of-call", "pass-word", "the-input",
                     "the-content"):
            self.assertNotIn(word, text)

    def test_a_secret_in_an_env_that_is_refused_for_its_form_is_not_in_it_either(self):
        secret = "sk-7f3a9c"
        forms = (f"TOKEN={secret}", f"A=1\nexport TOKEN='{secret}'", [f"TOKEN={secret}"], [secret],
                 {"TOKEN": [secret]}, {"TOKEN": {"value": secret}}, [{"name": "T", "value": secret}],
                 json.dumps({"TOKEN": secret}), {"TOKEN": 90127465})
        with self.audited() as berth:
            for env in forms:
                self.assertTrue(self.tool(berth, "bash_exec", env=env, command=
                                          f"curl -H {secret} 90127465").is_error, env)
        for env, line in zip(forms, self.lines(len(forms))):
            hidden = "90127465" if "90127465" in str(env) else secret
            self.assertNotIn(hidden, line["command"], env)
            self.assertTrue(line["command"].startswith("curl -H "), line)

    def test_of_secrets_that_overlap_no_part_is_left(self):
        with self.audited() as berth:
            self.tool(berth, "bash_exec", command=": left-mid-right leftmid leftmidright midleft",
                      env={"A": "leftmid", "B": "midright", "C": "left-mid", "D": "left"})
        (line,) = self.lines(1)
        self.assertEqual(line["command"], ": ***-right *** *** mid***")

    def test_what_is_read_of_the_workspace_beside_tools_has_a_line(self):
        with self.audited() as berth:
            self.tool(berth, "bash_exec", command="echo 1 >~/n")
            self.tool(berth, "save_to_workspace", sandbox_path="~/n", workspace_path="/a/n")
            self.lines(2)
            berth.request("resources/list")
            self.lines(3)  # each, or the next may come before it
            berth.request("resources/read", {"uri": "workspace:///a/n"})
            self.lines(4)
            with self.assertRaises(RpcError):
                berth.request("resources/read", {"uri": "workspace:///none"})
            self.lines(5)
            with self.assertRaises(RpcError):
                berth.request("resources/read", {"uri": 5})
            self.lines(6)
            berth.request("completion/complete", {
                "ref": {"type": "ref/resource", "uri": "workspace:///{+path}"},
                "argument": {"name": "path", "value": "a/"}})
            berth.request("resources/templates/list")
            berth.request("prompts/get", {"name": "sandbox-guide"})
        lines = self.lines(7)[2:]
        self.assertEqual([(line["tool"], line.get("uri"), line["outcome"]) for line in lines],
                         [("resources.list", None, "ok"),
                          ("resources.read", "workspace:///a/n", "ok"),
                          ("resources.read", "workspace:///none", "not_found"),
                          ("resources.read", None, "invalid_argument"),
                          ("completion.complete", None, "ok")])
        for line in lines:
            self.assertEqual((line["principal"], line["session"]), ("ann", "work"))
            self.assertRegex(line["request"], r"^[0-9a-f]{24}$")
            self.assertNotIn("command", line)
            self.assertGreater(line["duration_ms"], 0)

    def test_a_secret_that_is_not_to_be_had_hides_the_whole_command(self):
        with self.audited("--config", self.config('secret = ["KEY=file:/nowhere"]\n')) as berth:
            self.assertTrue(self.tool(berth, "bash_exec", command="echo sk-old").is_error)
        (line,) = self.lines(1)
        self.assertNotIn("command", line)
        self.assertEqual(line["command_sha256"], hashlib.sha256(b"echo sk-old").hexdigest())

    def test_a_secret_that_is_renewed_while_a_command_runs_is_not_in_it(self):
        secret = self.state.path / "secret.txt"
        secret.write_text("firstsecretvalue\n")
        with self.audited("--config", self.config(f'secret = ["KEY=file:{secret}"]\n')) as berth:
            # The command itself renews it, so that it is another one at its end for certain.
            for renewal in (f"echo secondsecretvalue >{secret}", f"rm {secret}"):
                command = f"echo firstsecretvalue secondsecretvalue; {renewal}"
                self.assertFalse(self.tool(berth, "bash_exec", command=command).is_error)
        renewed, removed = self.lines(2)
        self.assertEqual(renewed["command"], f"echo *** ***; echo *** >{secret}")
        self.assertEqual(renewed["env"], ["KEY"])
        self.assertNotIn("command", removed)  # what it had been is not known
        self.assertEqual(removed["command_sha256"], hashlib.sha256(command.encode()).hexdigest())

    def test_settings_that_change_while_a_command_runs_do_not_unmask_the_old_ones(self):
        config = self.config('env = ["KEY=firstvalue"]\n')
        with self.audited("--config", config) as berth:
            # The file is looked at once in a second.
            self.tool(berth, "bash_exec", command=f"echo 'env = [\"KEY=othervalue\"]' >{config}; "
                                                  "sleep 2; echo firstvalue")
        (line,) = self.lines(1)
        self.assertEqual(line["command"], f"echo 'env = [\"KEY=***\"]' >{config}; "
                                          "sleep 2; echo ***")

    def test_who_holds_the_file_s_lock_costs_no_line(self):
        calls = 40
        with self.audited() as berth, open(self.path, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            waiting = [berth.call_async("read_file", {"path": "~/none"}) for _ in range(calls)]
            for each in waiting:
                each.response()
        self.assertEqual(len(self.path.read_text().splitlines()), calls)

    def test_what_is_missing_at_the_end_is_told_in_the_file_itself(self):
        folder = self.state.path / "logs"
        folder.mkdir()
        log = folder / "audit.jsonl"
        with self.start("--audit-log", str(log)) as berth:
            away = self.state.path / "away"
            folder.rename(away)
            self.tool(berth, "bash_exec", command="echo 1")
            self.wait_for(lambda: "the audit log cannot be written" in berth.stderr)
            away.rename(folder)
        (gap,) = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual((gap["tool"], gap["outcome"]),
                         ("audit.lost", "1 line before this one could not be written"))

    def test_a_call_of_the_command_line_has_a_line_too(self):
        done = subprocess.run([binary_path("berth-direct"), "call", "bash_exec", "--audit-log",
                               str(self.path), "--state-dir", str(self.state.path), "--json",
                               json.dumps({"command": "exit 5"})], capture_output=True, text=True,
                              timeout=20)
        (line,) = self.lines(1)
        self.assertEqual((line["tool"], line["command"], line["exit_code"]),
                         ("bash_exec", "exit 5", 5), done.stderr)

    def test_a_command_is_cut_or_hashed_or_left_out_as_the_operator_says(self):
        long = "echo " + "x" * 1000
        for choice in ("text", "hash", "none"):
            self.path.unlink(missing_ok=True)
            with self.audited("--audit-command", choice) as berth:
                self.tool(berth, "bash_exec", command=long)
            (line,) = self.lines(1)
            self.assertEqual(line.get("command"), long[:400] + "…" if choice == "text" else None)
            self.assertEqual(line.get("command_sha256"), hashlib.sha256(long.encode()).hexdigest()
                             if choice == "hash" else None)
            self.assertEqual(line["command_bytes"], len(long))

    def test_the_tools_of_the_other_dialect_go_by_their_own_names(self):
        with self.audited("--tool-dialect", "claude") as berth:
            self.tool(berth, "Bash", command="exit 4", timeout=5000)
        (line,) = self.lines(1)
        self.assertEqual((line["tool"], line["command"], line["exit_code"]),
                         ("bash_exec", "exit 4", 4))

    def test_a_file_that_was_moved_away_is_made_anew(self):
        with self.audited() as berth:
            self.tool(berth, "bash_exec", command="true")
            self.lines(1)
            self.path.rename(str(self.path) + ".1")
            self.tool(berth, "bash_exec", command="false")
        self.assertEqual(self.lines(1)[0]["command"], "false")

    def test_what_cannot_be_written_costs_no_answer_and_is_told(self):
        folder = self.state.path / "logs"
        folder.mkdir()
        log = folder / "audit.jsonl"
        with self.start("--audit-log", str(log), "--session", "work") as berth:
            self.assertEqual(self.tool(berth, "bash_exec", command="echo 1").text, "1\n")
            self.wait_for(lambda: log.read_text().count("\n") == 1)
            log.unlink()
            folder.rmdir()
            self.assertEqual(self.tool(berth, "bash_exec", command="echo 2").text, "2\n")
            self.assertEqual(self.tool(berth, "bash_exec", command="echo 3").text, "3\n")
            folder.mkdir()
            self.assertEqual(self.tool(berth, "bash_exec", command="echo 4").text, "4\n")
            self.wait_for(lambda: log.exists() and "echo 4" in log.read_text())
        # The line of the third call may have come after the folder: lines follow their answers.
        gap, *after = [json.loads(line) for line in log.read_text().splitlines()]
        lost = {1: "2 lines", 2: "1 line"}[len(after)]
        self.assertEqual((gap["tool"], gap["outcome"]),
                         ("audit.lost", f"{lost} before this one could not be written"))
        self.assertEqual(after[-1]["command"], "echo 4")

    def test_a_file_that_is_no_place_for_it_stops_the_start(self):
        def complaint(*arguments):
            done = subprocess.run([binary_path("berth-direct"), "serve", "--state-dir",
                                   str(self.state.path), *arguments], capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=20)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr
        self.assertIn("no ordinary file", complaint("--audit-log", "/dev/null"))
        self.assertIn("cannot be opened", complaint("--audit-log", "/nowhere/audit"))
        with tempfile.TemporaryDirectory() as mounted:
            self.assertIn("within reach of the sandbox",
                          complaint("--audit-log", f"{mounted}/audit", "--mount",
                                    f"{mounted}:/mnt/m:rw"))


class HttpTest(OperatorBench, AuditBench):
    def serve_audited(self, *arguments):
        """From here on every request that has a line waits for it: lines follow their answers, each on a
        thread of its own, and that of the next request may come before it."""
        self.serve_operators("--audit-log", str(self.path), *arguments)
        for name in ("call", "tool", "legacy", "operate"):
            setattr(self, name, self.with_its_line(getattr(self, name)))

    def with_its_line(self, ask):
        def asked(*arguments, **how):
            before = self.written()
            answer = ask(*arguments, **how)
            self.wait_for(lambda: self.written() > before)
            return answer
        return asked

    def tool(self, command, **how):
        return self.modern("tools/call", {"name": "bash_exec", "arguments": {"command": command}},
                           **how, **bearer("berth_alice"))

    def legacy(self, message, headers):
        return self.send(message, headers)

    def operate(self, *arguments, **how):
        return self.json(*arguments, **how)

    def test_callers_and_operators_are_told_apart_and_a_trace_goes_with_its_call(self):
        self.serve_audited("--log-level", "debug", "--log-format", "json")
        self.call("bash_exec", command="true", **self.as_alice("work"))
        self.tool(":", Traceparent=TRACE)
        own = TRACE.replace("00f067aa0ba902b7", "1111111111111111")
        self.tool(":", meta={"traceparent": own}, Traceparent=TRACE)
        for wrong in ("00-0-0-0", TRACE + "-more", TRACE.upper()):
            self.tool(":", Traceparent=wrong)
        session = self.initialize(headers=bearer("berth_alice"))
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "bash_exec", "arguments": {"command": "echo old"}}}
        self.legacy(call, {**session, "traceparent": TRACE})
        lines = self.lines(7)
        self.assertEqual([line.get("traceparent") for line in lines],
                         [None, TRACE, own, None, None, None, TRACE])
        self.assertEqual({line["principal"] for line in lines}, {"alice"})
        self.assertEqual([line["session"] for line in lines][:2], ["work", "default"])
        self.assertEqual(lines[6]["session"], session["Mcp-Session-Id"])
        logged = {line["request"]: line for line in map(json.loads, self.log().splitlines()[1:])
                  if line["message"] == "call"}
        for line in lines:
            self.assertEqual(logged[line["request"]].get("traceparent"), line.get("traceparent"))
        key = self.json("GET", "/sessions")[0]["key"]
        self.operate("DELETE", f"/sessions/{key}")
        did = self.lines(8)[-1]
        self.assertEqual((did["principal"], did["tool"], did["session"], did["outcome"]),
                         ("olga", "sessions.kill", key, "ok"))
        self.assertNotIn("traceparent", did)
        self.assertNotIn("berth_olga", self.path.read_text() + self.log())
        self.assertNotIn("berth_alice", self.path.read_text() + self.log())

    def test_what_an_operator_did_is_told_with_whose_session_it_was_and_what_became_of_it(self):
        self.serve_audited("--log-format", "json")
        self.call("bash_exec", command="true", **self.as_alice("work"))
        key = self.json("GET", "/sessions")[0]["key"]
        self.operate("POST", "/sessions/work/pause?principal=bob", 404)
        self.operate("DELETE", f"/sessions/{key}?save=false", headers={"Traceparent": TRACE})
        self.operate("DELETE", "/sessions/work?principal=alice&purge=true")
        self.operate("DELETE", "/sessions/work?principal=alice&backend=moon", 400)
        paused, ended, purged, elsewhere = self.lines(5)[1:]

        def told(line):
            return {name: line[name] for name in ("of", "key", "backend", "purge", "save", "purged",
                                                  "saved", "traceparent") if name in line}
        self.assertEqual(told(paused), {"of": "bob"})
        self.assertEqual(told(ended), {"of": "alice", "key": key, "purge": False, "save": False,
                                       "purged": False, "traceparent": TRACE})
        self.assertEqual(told(purged), {"of": "alice", "key": key, "purge": True, "save": True,
                                        "purged": True})
        self.assertEqual(told(elsewhere), {"of": "alice", "backend": "moon", "purge": False,
                                           "save": True, "purged": False})
        logged = [line for line in map(json.loads, self.log().splitlines()[1:])
                  if line["message"] == "operator"]
        self.assertEqual([(line["of"], line["purge"]) for line in logged],
                         [("bob", ""), ("alice", "false"), ("alice", "true"), ("alice", "false")])

    def test_an_operator_s_line_never_has_the_key_of_another_s_session_for_a_name(self):
        self.serve_audited()
        self.call("bash_exec", command="true", **self.as_alice("work"))
        key = self.json("GET", "/sessions")[0]["key"]
        self.operate("DELETE", f"/sessions/{key}?principal=bob", 404)
        line = self.lines(2)[1]
        self.assertEqual((line["of"], line["outcome"]), ("bob", "not_found"))
        self.assertNotIn("key", line)

    def test_a_full_disk_loses_no_answer(self):
        self.serve_operators("--audit-log", str(self.path))
        for number in range(3):
            self.call("bash_exec", command="true", **self.as_alice())
        self.lines(3)
        size = self.path.stat().st_size
        # No file of the server's grows beyond the size that the log has, as on a full disk.
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (size + 20, size + 20))
        self.assertEqual(self.call("session_info", **self.as_alice()).data["session"], "default")
        self.wait_for(lambda: "the audit log cannot be written" in self.log())
        self.assertEqual(self.path.stat().st_size, size)  # no half of a line


if __name__ == "__main__":
    unittest.main()
