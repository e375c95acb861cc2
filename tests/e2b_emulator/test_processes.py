#!/usr/bin/env python3
"""process.Process: commands, input, ends, and the traps of docs/adr/0016-e2b-channel.md."""

import base64
import json
import time
import unittest

import client
from case import BROKEN, USER, EmulatorCase


def given(text):
    return base64.b64encode(text).decode()


class ProcessesTest(EmulatorCase):
    def setUp(self):
        self.box = self.create()

    def send(self, pid, text, kind="stdin"):
        return self.box.call("SendInput", {"process": {"pid": pid}, "input": {kind: given(text)}})

    def listed(self):
        return [one["pid"] for one in self.box.call("List", {}).json.get("processes", [])]

    def gone(self, pid):
        client.becomes(lambda: pid not in self.listed())

    def test_ends(self):
        good = {"exited": True, "status": "exit status 0"}
        for command, end in (("true", good), ("exit 3", {"exitCode": 3, "exited": True,
                                                         "status": "exit status 3", "error": "exit status 3"}),
                             ("kill -9 $$", {"exitCode": -1, "status": "signal: killed",
                                             "error": "signal: killed"})):
            self.assertEqual(self.box.run(command)[2], end)

    def test_who_and_where(self):
        self.assertEqual(self.box.run("id -un; pwd; echo $HOME $USER")[0],
                         f"{USER}\n/home/user\n/home/user user\n")
        self.assertEqual(self.box.run("id -u; pwd; touch /etc/made", user="root")[:2], ("0\n/root\n", ""))
        self.assertEqual(self.box.run("pwd", process={"cwd": "/tmp"})[0], "/tmp\n")
        self.assertEqual(self.box.run("cat /proc/self/oom_score_adj")[0], "100\n")
        for what, error in (({"process": {"cwd": "/no"}},
                             {"code": "invalid_argument", "message": "cwd '/no' does not exist"}),
                            ({"user": "ann"}, {"code": "unauthenticated",
                                               "message": "invalid username: 'ann'"})):
            self.assertEqual(self.box.run("true", **what), ("", "", error))

    def test_root_may_what_user_may_not(self):
        if USER == "user":
            self.assertIn("Permission denied", self.box.run("touch /usr/local/bin/made")[1])
            self.assertEqual(self.box.run("touch /usr/local/bin/made", user="root")[1], "")
        else:
            self.assertEqual(self.box.run("id -u")[0], "0\n")

    def test_variables(self):
        box = self.create(envVars={"A": "of the box", "B": "1"})
        said = box.run("echo $A $B $E2B_SANDBOX $E2B_SANDBOX_ID $PATH", process={"envs": {"B": "2"}})[0]
        self.assertEqual(said, f"of the box 2 true {box.id} /usr/local/sbin:/usr/local/bin:/usr/sbin:"
                               "/usr/bin:/sbin:/bin\n")

    def test_too_long_an_argument_begins_nothing(self):
        error = self.box.run("true", process={"envs": {"A": "a" * 140_000}})[2]
        self.assertEqual(error["code"], "invalid_argument")
        self.assertIn("argument list too long", error["message"])
        self.assertEqual(self.listed(), [])

    def test_a_box_sees_its_own_processes_and_network_alone(self):
        other = self.create()
        with other.start("sleep 60") as stream:
            stream.begun()
            self.assertNotIn("sleep 60", self.box.run("ps ax")[0])
        self.assertEqual(self.box.run("ls /sys/class/net")[0], "lo\n")
        self.assertEqual(self.box.run("ls /work /root", user="root")[0].strip(), "/root:")

    def test_input(self):
        with self.box.start("cat; echo over", stdin=True) as stream:
            pid = stream.begun().pid
            self.assertEqual(self.listed(), [pid])
            self.assertEqual(self.send(pid, b"ping\n").text, b"{}")
            self.assertEqual(stream.output(5), b"ping\n")
            self.assertEqual(self.box.call("CloseStdin", {"process": {"pid": pid}}).text, b"{}")
            self.assertEqual(stream.outcome()[0], "over\n")
        answer = self.send(pid, b"late")
        self.assertEqual((answer.status, answer.json["code"]), (404, "not_found"))

    def test_no_stdin_must_be_said(self):
        with self.box.stream("/process.Process/Start", {"process": {"cmd": "cat"}}) as stream:
            pid = stream.begun().pid
            self.send(pid, b"there is one\n")
            self.assertEqual(stream.output(13), b"there is one\n")
        with self.box.start("sleep 9") as stream:
            self.assertEqual(self.send(stream.begun().pid, b"x").json["code"], "internal")

    def test_whoever_leaves_ends_no_process_and_misses_what_comes(self):
        with self.box.start("echo one; read line; echo two; touch said; read line; echo three",
                            stdin=True) as stream:
            pid = stream.begun().pid
            stream.output(4)
        time.sleep(0.2)  # until envd knows that nobody is there
        self.send(pid, b"\n")
        client.becomes(lambda: self.box.run("ls said")[0])
        with self.box.connect(pid) as stream:
            stream.begun()
            self.send(pid, b"\n")
            self.assertEqual(stream.outcome()[0], "three\n")

    def test_a_late_connect_learns_the_end(self):
        with self.box.start("exit 4") as stream:
            pid = stream.begun().pid
            stream.outcome()
        with self.box.connect(pid) as stream:
            self.assertEqual(stream.outcome()[2]["exitCode"], 4)
        with self.box.connect(77777) as stream:
            self.assertEqual(stream.outcome()[2], {"code": "not_found",
                                                   "message": "process with pid 77777 not found"})

    def test_a_signal_ends_the_leader_alone(self):
        with self.box.start("sleep 61 & echo; wait") as stream:
            stream.output(1)
            message = {"process": {"pid": stream.pid}, "signal": "SIGNAL_SIGTERM"}
            self.assertEqual(self.box.call("SendSignal", message).text, b"{}")
            self.assertEqual(stream.outcome()[2]["status"], "signal: terminated")
        self.assertIn("sleep 61", self.box.run("ps ax")[0])
        self.assertEqual(self.box.call("SendSignal", message).status, 404)
        message["signal"] = "SIGNAL_SIGINT"
        with self.box.start("sleep 9") as stream:
            message["process"]["pid"] = stream.begun().pid
            self.assertEqual(self.box.call("SendSignal", message).json["code"], "unimplemented")

    def test_a_deadline_is_the_life_of_the_leader(self):
        began = time.monotonic()
        error = self.box.run("sleep 62 & sleep 63", headers={"Connect-Timeout-Ms": "1500"})[2]
        self.assertLess(time.monotonic() - began, 10)
        self.assertIn(error.get("code", error.get("status")), ("deadline_exceeded", "signal: killed"))
        client.becomes(lambda: not self.listed())
        self.assertIn("sleep 62", self.box.run("ps ax")[0])

    def test_a_child_that_holds_the_output_holds_the_stream(self):
        with self.box.start("(until [ -e go ]; do sleep 0.05; done) & echo now") as stream:
            stream.output(4)
            client.becomes(lambda: self.box.run(f"ps -o state= -p {stream.pid}")[0] == "Z\n")
            self.assertIn(stream.pid, self.listed())
            self.box.run("touch go")
            self.assertTrue(stream.outcome()[2]["exited"])
        began = time.monotonic()
        self.box.run("setsid sleep 64 </dev/null >/dev/null 2>&1 &")
        self.assertLess(time.monotonic() - began, 10)
        # Once it is one: the shell that has forked it has ended by then.
        client.becomes(lambda: self.box.run("ps -o ppid= -C sleep | head -1")[0].strip() == "1")

    def test_keepalives(self):
        with self.box.start("sleep 60", headers={"Keepalive-Ping-Interval": "1"}) as stream:
            stream.begun()
            self.assertEqual(stream.event(), {"keepalive": {}})

    def test_an_interval_of_nothing_ends_envd(self):
        with self.box.start("sleep 60", headers={"Keepalive-Ping-Interval": "0"}) as stream:
            with self.assertRaises(BROKEN):
                while "ended" not in stream.event():
                    pass
        client.becomes(lambda: self.box.http("GET", "/health").status == 204)
        self.assertEqual(self.listed(), [])

    def stream_input(self, pid, data, cut=b""):
        frames = client.envelope({"start": {"process": {"pid": pid}}})
        frames += b"".join(client.envelope({"data": {"input": {"stdin": given(piece)}}}) for piece in data)
        headers = self.box.headers(Content_Type="application/connect+json", Connect_Protocol_Version="1")
        return client.ask(self.e2b, "POST", "/process.Process/StreamInput", frames + cut, headers)

    def test_a_stream_of_input(self):
        with self.box.start("cat", stdin=True) as stream:
            answer = self.stream_input(stream.begun().pid, [b"a" * 100_000, b"b"])
            self.assertEqual(answer.text, client.envelope({}) + client.envelope({}, 2))
            self.assertEqual(stream.output(100_001), b"a" * 100_000 + b"b")
        answer = self.stream_input(77777, [])
        self.assertEqual(json.loads(answer.text[5:])["error"]["code"], "not_found")

    def test_half_an_envelope_is_dropped_and_stdin_stays_open(self):
        with self.box.start("cat", stdin=True) as stream:
            pid = stream.begun().pid
            half = client.envelope({"data": {"input": {"stdin": given(b"lost")}}})[:-3]
            self.stream_input(pid, [b"whole"], cut=half)
            self.send(pid, b" after")
            self.assertEqual(stream.output(11), b"whole after")

    def test_a_selection_by_tag_stops_at_another_tag(self):
        with self.box.start("sleep 60", tag="one").begun(), self.box.start("sleep 60", tag="two").begun():
            for tag, status in (("two", 404), ("one", 200)):
                message = {"process": {"tag": tag}, "signal": "SIGNAL_SIGKILL"}
                self.assertEqual(self.box.call("SendSignal", message).status, status)

    def test_a_terminal(self):
        with self.box.start("stty size; tty; read line; echo \"<$line>\"; stty size",
                            pty={"size": {"cols": 90, "rows": 31}}) as stream:
            pid = stream.begun().pid
            size = {"process": {"pid": pid}, "pty": {"size": {"cols": 100, "rows": 40}}}
            text = b""
            while b"/dev/pts/" not in text:
                text += base64.b64decode(stream.event().get("data", {}).get("pty", ""))
            self.assertEqual(self.box.call("Update", size).text, b"{}")
            self.assertEqual(self.send(pid, b"x\n", "stdin").json["code"], "internal")
            self.send(pid, b"typed\n", "pty")
            said = stream.outcome()
        self.assertIn("31 90", text.decode())
        self.assertIn("<typed>\r\n40 100", said[0])
        self.assertEqual(said[2]["status"], "exit status 0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
