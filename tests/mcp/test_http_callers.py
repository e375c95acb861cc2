"""Who may call over HTTP, as whom, and what keeps callers apart."""

import json
import os
import pathlib
import pwd
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import META, request
from http_bench import JSON, HttpBench, bearer, token_file
from mcp_client import binary_path

ALICE = {"token": "berth_alice", "principal": "alice"}
BOB = {"token": "berth_bob", "principal": "bob"}


class CallersBench(HttpBench):
    def change_tokens(self, **entries):
        """They hold, and what there was for others has been left."""
        said = "the token file has changed, and holds"
        before = self.log().count(said)
        token_file(self.tokens, **entries)
        def is_taken():
            self.modern("tools/list", **bearer("nobody's"))
            return self.log().count(said) > before
        self.wait_for(is_taken)
        time.sleep(2.5)  # who leaves comes each second


class TokenTest(CallersBench):
    def serve_tokens(self, *arguments, **entries):
        self.tokens = self.state.path / "tokens.toml"
        token_file(self.tokens, **(entries or {"a": ALICE, "b": BOB}))
        self.serve(*arguments, auth=("--token-file", str(self.tokens)))

    def of(self, token, **more):
        return {"_headers": {**bearer(token), **more}}

    def test_without_a_token_that_is_known_nothing_is_done(self):
        self.serve_tokens()
        for headers in ({}, bearer("wrong"), bearer(""), {"Authorization": "Basic YTpi"},
                        {"Authorization": "berth_alice"}):
            answer = self.modern("tools/list", **headers)
            self.assertEqual(answer.status, 401, headers)
            self.assertEqual(answer.headers["www-authenticate"], 'Bearer realm="berth"')
        self.assertEqual(self.modern("tools/list", **bearer("berth_alice")).status, 200)
        self.assertEqual(self.modern("tools/list", Authorization="bearer berth_alice").status, 200)
        self.assertNotIn("berth_alice", self.log())

    def test_callers_have_sessions_and_workspaces_of_their_own(self):
        self.serve_tokens()
        alice, bob = self.of("berth_alice"), self.of("berth_bob")
        self.call("write_file", path="~/n", content="alice's", **alice)
        self.call("save_to_workspace", sandbox_path="~/n", **alice)
        self.assertTrue(self.call("read_file", path="~/n", **bob).is_error)
        self.assertNotIn("/n", self.call("list_workspace_files", **bob).text)
        self.assertIn("/n", self.call("list_workspace_files", **alice).text)
        job = self.call("bash_exec", command="echo mine; sleep 50", background=True, **alice)
        self.assertTrue(self.call("bash_output", job_id=job.data["job_id"], **bob).is_error)

    def test_a_session_of_an_older_client_is_no_other_principal_s(self):
        self.serve_tokens()
        session = self.initialize(headers=bearer("berth_alice"))
        stolen = {**session, **bearer("berth_bob")}
        self.assertEqual(self.send(request(1, "tools/list"), stolen).status, 404)
        self.assertEqual(self.send(b"", stolen, method="DELETE").status, 404)
        self.assertEqual(self.send(request(1, "tools/list"), session).status, 200)

    def test_a_token_brings_its_profile_which_the_caller_cannot_choose(self):
        self.serve_tokens(a=ALICE, b={**BOB, "profile": "offline-readonly"})
        def wall(token):
            return self.call("session_info", **self.of(token)).data["limits"]["memory_bytes"]
        self.assertNotEqual(wall("berth_alice"), wall("berth_bob"))

    def test_a_profile_that_cannot_be_served_is_no_fault_of_its_caller_s(self):
        """Nor does a caller learn from it where the operator keeps what."""
        folder = self.state.path / "operators"
        folder.mkdir()
        operators = token_file(folder / "operators.toml", o={"token": "berth_o", "principal": "o"})
        config = self.config(f'allowed_mount_roots = ["{self.state.path}"]\n'
                             f'[profiles.bad]\nmount = ["{folder}:/mnt/o:rw"]\n')
        self.serve_tokens("--config", config, "--operator-token-file", operators, "--log-format",
                          "json", a=ALICE, b={**BOB, "profile": "bad"})
        for answer in (self.modern("tools/list", **bearer("berth_bob")), self.send(
                request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                          "clientInfo": {"name": "t", "version": "1"}}),
                {"Content-Type": JSON, **bearer("berth_bob")})):
            self.assertEqual((answer.status, answer.error["data"]["code"]),
                             (503, "sandbox_unavailable"), answer)
            self.assertIn("retry-after", answer.headers)
            self.assertNotIn(str(self.state.path), answer.body.decode())
            self.assertNotIn("mount", answer.body.decode())
            (line,) = [line for line in map(json.loads, self.log().splitlines()[1:])
                       if line["message"] == "a session cannot be served" and
                       line["request"] in answer.error["data"]["hint"]]
            self.assertEqual((line["principal"], line["level"]), ("bob", "error"))
            self.assertIn(str(folder), line["error"])
        self.assertEqual(self.modern("tools/list", **bearer("berth_alice")).status, 200)

    def test_the_file_is_looked_at_again_and_a_wrong_one_changes_nothing(self):
        self.serve_tokens(a=ALICE)
        def status(token):
            return self.modern("tools/list", **bearer(token)).status
        self.assertEqual((status("berth_alice"), status("berth_bob")), (200, 401))
        token_file(self.tokens, b=BOB)
        self.wait_for(lambda: (status("berth_alice"), status("berth_bob")) == (401, 200))
        self.tokens.write_text("[tokens.x]\nsha256 = 'no'\n")
        self.wait_for(lambda: (status("berth_bob"), "nothing of it holds" in self.log()) ==
                      (200, True))

    def test_a_session_of_an_older_client_is_that_of_its_token_s_profile(self):
        """What a profile keeps from a token it does not get by the session of another one."""
        config = self.config('[profiles.strict]\nread_only = true\nlocked = ["read_only"]\n')
        robot = {**ALICE, "token": "berth_robot", "profile": "strict"}
        self.serve_tokens("--config", config, a=ALICE, b=robot)
        session = self.initialize(headers=bearer("berth_alice"))
        call = request(1, "tools/call", {"name": "bash_exec", "arguments": {"command": "echo did"}})
        self.assertEqual(self.send(call, {**session, **bearer("berth_robot")}).status, 404)
        self.assertIn("did", self.send(call, session).body.decode())
        # Nor does one whose own profile has changed.
        token_file(self.tokens, a={**ALICE, "profile": "strict"}, b=robot)
        self.wait_for(lambda: self.send(call, session).status == 404)

    def test_a_session_of_an_older_client_goes_on_with_another_number_of_sessions(self):
        self.serve_tokens(a={**ALICE, "max_sessions": 8})
        session = self.initialize(headers=bearer("berth_alice"))
        other = {**ALICE, "token": "berth_other"}
        token_file(self.tokens, a={**ALICE, "max_sessions": 4}, b=other)
        ping = request(1, "ping")
        self.wait_for(lambda: self.send(ping, {**session, **bearer("berth_other")}).status != 401)
        for token in ("berth_alice", "berth_other"):
            self.assertEqual(self.send(ping, {**session, **bearer(token)}).status, 200)

    def test_what_runs_goes_on_with_another_number_of_sessions(self):
        """Who still comes has not left, whatever becomes of a machine then."""
        self.tokens = self.state.path / "tokens.toml"
        token_file(self.tokens, a={**ALICE, "max_sessions": 8})
        self.serve("--config", self.config('[session]\non_disconnect = "kill"\n'),
                   auth=("--token-file", str(self.tokens)), binary="berth")
        job = self.call("bash_exec", command="sleep 50", background=True, **self.of("berth_alice"))
        self.change_tokens(a={**ALICE, "max_sessions": 4})
        found = self.call("bash_output", job_id=job.data["job_id"], **self.of("berth_alice"))
        self.assertEqual((found.data or {}).get("status"), "running", found.text)

    def test_a_batch_is_as_many_requests_as_are_in_it(self):
        self.serve_tokens(a={**ALICE, "calls": 2})
        session = self.initialize("2025-03-26", bearer("berth_alice"))
        pings = [request(number, "ping") for number in range(3)]
        answer = self.send(pings, session)
        self.assertEqual((answer.status, answer.message["error"]["data"]["code"]), (429, "busy"))
        done = self.send([*pings[:2], {"jsonrpc": "2.0", "method": "notifications/x"}], session)
        self.assertEqual((done.status, len(done.message)), (200, 2), done)
        self.assertEqual(self.send(pings[:2], session).status, 200)  # they are not counted any more

    def tools_of(self, session):
        answer = self.modern("tools/list", **bearer("berth_alice"), Berth_Session=session)
        self.assertEqual(answer.status, 200, answer)
        return {tool["name"] for tool in answer.result["tools"]}

    def test_a_settings_file_that_is_being_written_allows_nobody_more(self):
        config = pathlib.Path(self.config("read_only = true\n"))
        self.serve_tokens("--config", str(config))
        self.assertNotIn("bash_exec", self.tools_of("whole"))
        for state, text in (("empty", ""), ("broken", "read_onl")):
            config.write_text(text)
            self.assertNotIn("bash_exec", self.tools_of(state), state)
        # Whoever is let in no longer is not kept in by what is wrong elsewhere.
        self.assertEqual(self.modern("tools/list", **bearer("berth_bob")).status, 200)
        token_file(self.tokens, a=ALICE)
        self.wait_for(lambda: self.modern("tools/list", **bearer("berth_bob")).status == 401)
        config.unlink()
        self.assertNotIn("bash_exec", self.tools_of("gone"))
        time.sleep(2.5)  # the next looks
        self.assertNotIn("bash_exec", self.tools_of("gone for long"))

    def test_names_that_a_caller_makes_up_make_no_folders(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        roots = pathlib.Path(folder.name).resolve()
        config = self.config(f'allowed_mount_roots = ["{roots}"]\n'
                             f'default_workspace = "{roots}/{{principal}}/{{session}}"\n')
        self.serve_tokens("--config", config)
        for number in range(3):
            self.tools_of(f"made-up-{number}")
        self.assertFalse((roots / "alice").exists())
        self.call("bash_exec", command="true", **self.of("berth_alice", Berth_Session="real"))
        self.assertEqual([folder.name for folder in (roots / "alice").iterdir()], ["real"])

    def test_a_session_has_its_folder_made_with_its_first_machine(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        roots = pathlib.Path(folder.name).resolve()
        def settings(below):
            return (f'allowed_mount_roots = ["{roots}"]\n'
                    f'default_workspace = "{roots}/{below}/{{principal}}/{{session}}"\n')
        config = self.config(settings("one"))
        tokens = token_file(self.state.path / "tokens.toml", a=ALICE)
        self.serve("--config", config, auth=("--token-file", str(tokens)), binary="berth")
        self.assertEqual(list(roots.iterdir()), [])  # no session of the server's own user is made
        def writes(session):
            answer = self.call("bash_exec", command="pwd > /workspace/where; cat /workspace/where",
                               **self.of("berth_alice", Berth_Session=session))
            self.assertFalse(answer.is_error, answer.text)
        writes("real")
        self.assertTrue((roots / "one/alice/real/where").exists())
        # So it is with a place that the file names later.
        pathlib.Path(config).write_text(settings("two"))
        self.wait_for(lambda: "the settings file has changed" in self.log())
        for session in ("another", "real"):
            writes(session)
            self.assertTrue((roots / f"two/alice/{session}/where").exists())

    def test_a_token_s_other_profile_holds_for_its_sessions_soon(self):
        config = self.config('[profiles.open]\nnetwork = "host"\n[profiles.shut]\nnetwork = "none"\n')
        tokens = self.state.path / "tokens.toml"
        token_file(tokens, a={**ALICE, "profile": "open"})
        self.serve("--config", config, auth=("--token-file", str(tokens)), binary="berth")
        older = self.initialize(headers={**bearer("berth_alice"), "Berth-Session": "work"})
        def shares_the_hosts():
            answer = self.call("bash_exec", command="readlink /proc/self/ns/net",
                               **self.of("berth_alice", Berth_Session="work"))
            return (None if answer.is_error
                    else os.readlink("/proc/self/ns/net") in answer.text)
        self.assertTrue(shares_the_hosts())
        token_file(tokens, a={**ALICE, "profile": "shut"})
        self.wait_for(lambda: shares_the_hosts() is False)
        self.assertEqual(self.send(request(1, "ping"), {**older, **bearer("berth_alice")}).status, 404)

    def test_names_that_a_caller_makes_up_cost_no_memory_without_end(self):
        self.serve_tokens(a=ALICE)
        def status(number):
            return self.modern("tools/list", **bearer("berth_alice"),
                               Berth_Session=f"s{number}").status
        first = [status(number) for number in range(256)]
        self.assertEqual(first, [200] * 256)
        full = self.resident("VmRSS")
        more = [status(number) for number in range(256, 600)]
        self.assertTrue(set(more) <= {200, 429}, more)
        self.wait_for(lambda: status(0) == 200)
        print(f"256 sessions in its hands: {full:.0f} MB, after 344 more "
              f"{self.resident('VmRSS'):.0f} MB", file=sys.stderr)
        self.assertLess(self.resident("VmRSS"), 1.5 * full + 10)

    def test_calls_at_once_are_counted_for_each_principal(self):
        self.serve_tokens(a={**ALICE, "calls": 1}, b=BOB)
        busy = self.connect()
        busy.post(request(1, "tools/call", {"name": "bash_exec",
                                            "arguments": {"command": "sleep 50"}}, modern=True),
                  self.modern_headers("tools/call", "bash_exec", **bearer("berth_alice")))
        self.assertEqual(busy.head()[0], 200)  # its stream has begun
        answer = self.modern("tools/list", **bearer("berth_alice"))
        self.assertEqual((answer.status, answer.error["data"]["code"]), (429, "busy"))
        self.assertEqual(answer.headers["retry-after"], str(answer.error["data"]["retry_after"]))
        self.assertEqual(self.modern("tools/list", **bearer("berth_bob")).status, 200)
        busy.close()
        self.wait_for(lambda: self.modern("tools/list", **bearer("berth_alice")).status == 200)

    def test_files_that_say_nothing_good_stop_the_start(self):
        tokens = self.state.path / "tokens.toml"
        def complaint():
            done = subprocess.run([binary_path("berth-direct"), "serve", "--http", "127.0.0.1:0",
                                   "--token-file", str(tokens), "--state-dir", str(self.state.path)],
                                  capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr
        self.assertIn("No such file", complaint())
        token_file(tokens, a=ALICE)
        tokens.chmod(0o620)
        self.assertIn("chmod go-w", complaint())
        tokens.chmod(0o600)
        for text, said in (("[tokens.a]\nsha256 = 'ab'\n", "64 small hex digits"),
                           ("[tokens.a]\nprincipal = 'x'\n", "has no sha256"),
                           ("[tokens.a]\nprincipel = 'x'\n", "did you mean principal?"),
                           ("x = 1\n", '"x" is not of a token')):
            tokens.write_text(text)
            self.assertIn(said, complaint())
            self.assertIn("tokens.toml:", complaint())
        token_file(tokens, a=ALICE, b={**BOB, "token": ALICE["token"]})
        self.assertIn("the token of another entry", complaint())
        token_file(tokens, a={**ALICE, "profile": "no-such"})
        self.assertIn("no-such", complaint())

    def test_the_command_makes_an_entry_and_shows_its_token_once(self):
        done = subprocess.run([binary_path(), "token", "alice"], capture_output=True, text=True,
                              timeout=20)
        token = done.stderr.split("the token is ")[1].split()[0]
        self.assertNotIn(token, done.stdout)
        tokens = self.state.path / "tokens.toml"
        tokens.write_text(done.stdout)
        tokens.chmod(0o600)
        self.serve(auth=("--token-file", str(tokens)))
        self.assertEqual(self.modern("tools/list", **bearer(token)).status, 200)


class UnixTest(CallersBench):
    def test_the_kernel_says_who_calls(self):
        path = str(self.state.path / "berth.socket")
        self.serve(auth=(), listen=path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(self.call("bash_exec", command="echo hi").text, "hi\n")
        listed = subprocess.run([binary_path("berth-direct"), "sessions", "list", "--json",
                                 "--state-dir", str(self.state.path)], capture_output=True,
                                text=True, timeout=20)
        owner = pwd.getpwuid(os.geteuid()).pw_name
        self.assertEqual([session["principal"] for session in json.loads(listed.stdout)],
                         [owner])
        self.stop()
        self.assertFalse(os.path.exists(path))

    def test_a_user_s_session_outlives_an_entry_that_named_him(self):
        user = {"token": "berth_user", "principal": pwd.getpwuid(os.getuid()).pw_name}
        self.tokens = self.state.path / "tokens.toml"
        token_file(self.tokens, u={**user, "max_sessions": 8}, b=BOB)
        self.serve(auth=("--token-file", str(self.tokens)), listen=str(self.state.path / "berth.socket"))
        sessions = [self.initialize(), self.initialize(headers=bearer("berth_user"))]
        self.change_tokens(b=BOB)
        for session in sessions:
            session.pop("Authorization", None)  # he comes as a user of this host
            self.assertEqual(self.send(request(1, "ping"), session).status, 200)

    def sessions(self, *arguments):
        return subprocess.run([binary_path("berth-direct"), "sessions", *arguments, "--state-dir",
                               str(self.state.path)], capture_output=True, text=True, timeout=20, check=True)

    def post_call(self, client, tool, session=None, **arguments):
        """Its answer is there, and nobody has read it."""
        self.post_call_alone(client, tool, session, **arguments)
        self.assertTrue(select.select([client.socket], [], [], 20)[0])

    def post_call_alone(self, client, tool, session=None, **arguments):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": tool, "arguments": arguments, "_meta": META}}
        headers = {"Berth-Session": session} if session else {}
        client.post(message, {**self.modern_headers("tools/call", tool), **headers})

    def test_notices_of_an_answer_that_was_closed_unread_come_with_the_next(self):
        """The kernel had taken it: only of a socket of this host it says that nobody has read it."""
        self.serve(auth=(), listen=str(self.state.path / "berth.socket"))
        self.call("bash_exec", command="true")
        for read, wait in ((False, 0.2), (False, 0), (True, 0.3), (True, 0)):
            with self.subTest(read=read, wait=wait):
                self.sessions("kill", "default")
                with self.connect() as client:
                    self.post_call(client, "bash_exec", command="true")
                    time.sleep(wait)  # longer than its thread waits for the next request, or not
                    if read:
                        client.answer()
                time.sleep(0.2)
                for noticed in (not read, False):
                    found = self.call("bash_exec", command="true")
                    self.assertEqual(any("ended" in notice for notice in found.notices), noticed, found)

    def test_an_answer_that_is_closed_unread_when_its_session_was_left_breaks_nothing(self):
        self.serve(auth=(), listen=str(self.state.path / "berth.socket"))
        clients = [self.connect() for _ in range(3)]
        for number, client in enumerate(clients):
            self.post_call(client, "session_info", session=f"victim-{number}")
        with self.connect() as other:  # more than a principal may have in the server's hands
            for number in range(300):
                self.assertEqual(self.modern("tools/call", {"name": "session_info", "arguments": {}},
                                             connection=other, Berth_Session=f"made-up-{number}").status, 200)
        time.sleep(1.5)  # what was left is swept
        for client in clients:
            client.close()
        time.sleep(0.3)
        self.assertIsNone(self.server.poll())
        self.assertEqual(self.call("bash_exec", command="echo there").text, "there\n")

    def test_a_server_that_ends_leaves_its_successor_s_socket_alone(self):
        path = str(self.state.path / "berth.socket")
        self.serve(auth=(), listen=path)
        with self.connect() as client:
            self.post_call_alone(client, "bash_exec", command="touch ~/began; sleep 30")
            self.wait_for(lambda: self.call("bash_exec", command="cat ~/began").data["exit_code"] == 0)
            first = self.server
            first.send_signal(signal.SIGTERM)
            self.wait_for(lambda: not os.path.exists(path))
            self.serve(auth=(), listen=path)
            first.wait(10)
        self.assertEqual(self.modern("tools/list").status, 200)

    def test_nor_does_it_take_that_of_one_that_began_when_its_own_file_was_gone(self):
        path = str(self.state.path / "berth.socket")
        self.serve(auth=(), listen=path)
        first = self.server
        os.unlink(path)
        self.serve(auth=(), listen=path)
        first.send_signal(signal.SIGTERM)
        first.wait(10)
        self.assertEqual(self.modern("tools/list").status, 200)
        self.assertEqual(self.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def test_a_socket_that_a_killed_server_left_is_taken_and_no_living_one(self):
        path = str(self.state.path / "berth.socket")
        self.serve(auth=(), listen=path)
        done = subprocess.run([binary_path("berth-direct"), "serve", "--unix", path, "--state-dir",
                               str(self.state.path)], capture_output=True, text=True, timeout=20)
        self.assertIn("another server listens there", done.stderr)
        self.server.kill()
        self.server.wait(10)
        self.serve(auth=(), listen=path)
        self.assertEqual(self.modern("tools/list").status, 200)


class StartTest(HttpBench):
    def test_what_would_let_others_in_is_refused(self):
        for arguments, said in ((("--http", "127.0.0.1:0"), "without a token file"),
                                (("--http", "0.0.0.0:0", "--insecure-no-auth"), "--behind-proxy"),
                                (("--http", "8080"), "is not ADDRESS:PORT"),
                                (("--http", "example.com:80", "--insecure-no-auth"),
                                 "is not ADDRESS:PORT"),
                                (("--http", "127.0.0.1:0", "--unix", "/tmp/x"), "both"),
                                (("--http", "127.0.0.1:0", "--insecure-no-auth", "--session", "x"),
                                 "Berth-Session"),
                                # On standard input they would be for nobody: --http is forgotten.
                                (("--token-file", "/tmp/x"), "--http ADDRESS:PORT or --unix PATH"),
                                (("--behind-proxy",), "--http ADDRESS:PORT or --unix PATH")):
            done = subprocess.run([binary_path("berth-direct"), "serve", *arguments, "--state-dir",
                                   str(self.state.path)], capture_output=True, text=True, timeout=20)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(said, done.stderr)

    def test_a_port_that_is_taken_is_told(self):
        port = self.serve()[1]
        done = subprocess.run([binary_path("berth-direct"), "serve", "--http", f"127.0.0.1:{port}",
                               "--insecure-no-auth", "--state-dir", str(self.state.path)],
                              capture_output=True, text=True, timeout=20)
        self.assertIn("Address already in use", done.stderr)
        self.assertIn("Another program listens there", done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_a_port_that_needs_a_privilege_is_told_as_one(self):
        first = int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
        if os.geteuid() != 0 and first <= 80:
            return  # as in most containers: any user may
        user = []
        if os.geteuid() == 0:  # in a network of its own, which has the kernel's usual bound
            user = ["unshare", "--net", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        with tempfile.TemporaryDirectory(prefix="berth-test-port-") as folder:
            if user:
                os.chown(folder, 65534, 65534)
            done = subprocess.run([*user, binary_path("berth-direct"), "serve", "--http",
                                   "127.0.0.1:80", "--insecure-no-auth", "--state-dir",
                                   folder + "/state"], capture_output=True, text=True, timeout=20,
                                  env={"PATH": os.environ["PATH"], "HOME": folder,
                                       "XDG_RUNTIME_DIR": folder})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Permission denied", done.stderr)
        self.assertIn("Ports below 1024 need a privilege", done.stderr)
        self.assertNotIn("Another program", done.stderr)


if __name__ == "__main__":
    unittest.main()
