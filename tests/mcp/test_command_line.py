"""The commands beside `serve` on the real binary: what they print, and how they end."""

import fcntl
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from bench import SLEEP, Bench
from mcp_client import LEGACY, MODERN, ROOT, RpcError, binary_path


class CommandLineTest(Bench):
    def run_command(self, *arguments, stdin=""):
        return subprocess.run([binary_path("berth-direct"), *arguments], input=stdin, text=True,
                              capture_output=True, timeout=30,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})

    def test_call_prints_the_text_and_says_by_its_status_how_it_went(self):
        done = self.run_command("call", "bash_exec", '{"command":"echo hi"}')
        self.assertEqual((done.returncode, done.stdout), (0, "hi\n"))
        done = self.run_command("call", "bash_exec", "-", "--json", stdin='{"command":"exit 3"}')
        self.assertEqual(json.loads(done.stdout)["_meta"]["berth/result"]["exit_code"], 3)
        self.assertEqual(self.run_command("call", "read_file", '{"path":"/none"}').returncode, 1)
        self.assertEqual(self.run_command("call", "no_such_tool").returncode, 1)
        self.assertEqual(self.run_command("call", "bash_exec", "{").returncode, 2)

    def test_a_backend_without_templates_says_so(self):
        done = self.run_command("call", "bash_exec", '{"command":"true"}', "--template", "/usr")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "the backend direct has no templates\nleave --template out: commands run "
                             "with the host's own programs\n"))

    def test_output_that_is_lost_is_a_failure(self):
        with open("/dev/full", "w") as full:
            for arguments in (("call", "bash_exec", '{"command":"echo hi"}'), ("version",),
                              ("config", "--json")):
                done = subprocess.run([binary_path("berth-direct"), *arguments], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=30,
                                      env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("the output cannot be written: No space left", done.stderr)

    def test_an_answer_that_a_server_cannot_write_is_a_failure(self):
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        with open("/dev/full", "wb") as full:
            done = subprocess.run([binary_path("berth-direct"), "serve"], stdout=full, input=ping,
                                  stderr=subprocess.PIPE, timeout=30,
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"the output cannot be written", done.stderr)
        self.assertIn(b"No space left", done.stderr)
        # A reader that went away has lost nothing.
        server = subprocess.Popen([binary_path("berth-direct"), "serve"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        server.stdout.close()
        try:
            server.stdin.write(ping)
            server.stdin.close()
        except BrokenPipeError:
            pass
        self.assertEqual(server.wait(30), 0)
        self.assertNotIn(b"cannot be written", server.stderr.read())
        server.stderr.close()

    def test_a_standard_stream_that_is_closed_is_no_place_for_files(self):
        """The next file to be opened would have its number, and be written to or read from."""
        call = ("call", "bash_exec", '{"command":"echo hi"}')

        def run(redirection, *arguments):
            return subprocess.run(
                ["sh", "-c", f'exec "$0" "$@" {redirection}', binary_path("berth-direct"),
                 *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        for arguments in (call, ("version",), ("sessions", "list"), ("serve",)):
            with self.subTest(arguments):
                done = run(">&-", *arguments)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("standard output is closed", done.stderr)
        for redirection in ("<&-", "2>&-", "<&- 2>&-"):
            with self.subTest(redirection):
                done = run(redirection, *call)
                self.assertEqual((done.returncode, done.stdout), (0, "hi\n"), done.stderr)

    def test_an_interrupted_call_stops_its_command(self):
        # A file: the guest of the direct backend holds a pipe open for as long as its session.
        said = tempfile.TemporaryFile("w+")
        self.addCleanup(said.close)
        self.addCleanup(self.run_command, "sessions", "kill", "work", "--purge")
        for session in ((), ("--session", "work")):
            for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
                with self.subTest(f"{session} {status}"):
                    mark = f"{300 + status}.{len(session)}"
                    call = subprocess.Popen(
                        # An ignored signal stays ignored, as under nohup: not here.
                        ["env", "--default-signal", binary_path("berth-direct"), "call", "bash_exec",
                         json.dumps({"command": f"trap '' TERM; setsid sleep {mark} & wait"}),
                         *session],
                        stdout=said, stderr=said,
                        env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
                    self.addCleanup(call.kill)
                    sleeps = lambda: [line for line in self.state.processes().values()
                                      if line.startswith(f"sleep {mark}")]
                    self.wait_for(sleeps)
                    started = time.monotonic()
                    call.send_signal(number)
                    self.wait_for(lambda: not sleeps(), 2)
                    self.assertEqual(call.wait(3), status)
                    self.assertLess(time.monotonic() - started, 2.5)
                    said.seek(0)
                    self.assertEqual(said.read().count("bash_exec was interrupted"), 1)
                    said.truncate(said.seek(0))

    def test_what_an_interrupted_call_has_printed_is_shown(self):
        for flags in ((), ("--json",)):
            call = subprocess.Popen(
                ["env", "--default-signal", binary_path("berth-direct"), "call", "bash_exec",
                 '{"command":"echo compiled 900 of 1000; sleep 62.5"}', *flags],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
            self.addCleanup(call.kill)
            self.wait_for(lambda: any(line.startswith("sleep 62.5")
                                      for line in self.state.processes().values()))
            call.send_signal(signal.SIGINT)
            shown, said = call.communicate(timeout=5)
            self.assertEqual(call.returncode, 130, said)
            self.assertIn("compiled 900 of 1000", shown)
            self.assertIn("bash_exec was interrupted", said)
            if flags:
                self.assertIn("content", json.loads(shown))

    def test_settings_that_are_wrong_stop_the_start_and_say_why(self):
        done = self.run_command("--config", self.config("[exec]\ntimeuot = 3\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("exec.timeout", done.stderr)
        done = self.run_command("--network", "lan")
        self.assertEqual(done.returncode, 2)
        self.assertIn('"none", "filtered", "host"', done.stderr)
        self.assertEqual(self.run_command("--no-such-flag").returncode, 2)
        done = self.run_command("serve", "--require", "userns")  # of which `direct` has none
        self.assertEqual(done.returncode, 2)
        self.assertIn('there is no layer "userns"', done.stderr)
        done = self.run_command("config", "--require", "userns")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('there is no layer "userns"', done.stderr)

    def test_the_looking_commands_speak_json(self):
        config = json.loads(self.run_command("config", "--json", "--network", "host").stdout)
        self.assertEqual(config["network"], {"value": "host", "origin": "flag --network"})
        self.assertEqual(config["state_dir"]["origin"], "environment BERTH_STATE_DIR")
        version = json.loads(self.run_command("version", "--json").stdout)
        self.assertEqual(version["protocol_revisions"],
                         [MODERN, LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"])
        self.check_version(version, self.run_command("version").stdout)
        self.assertTrue(json.loads(self.run_command("status", "--json").stdout)["available"])
        self.assertEqual(json.loads(self.run_command("sessions", "list", "--json").stdout), [])
        self.assertEqual(self.run_command("sessions", "kill", "none").returncode, 1)

    def check_version(self, version, text):
        """That of the project, the commit it was built from, and every library that is in it."""
        declared = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
        self.assertEqual(version["version"], declared)
        self.assertRegex(version["commit"], r"^([0-9a-f]{7,}\+?|unknown)$")
        inside = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True,
                                check=False)
        if inside.returncode == 0:
            self.assertNotEqual(version["commit"], "unknown")
        libraries = dict(library.rsplit(" ", 1) for library in version["libraries"].split(", "))
        self.assertEqual(set(libraries), {"nlohmann_json", "spdlog", "toml++", "CLI11", "RE2",
                                          "libseccomp", "libcrypto (OpenSSL)", "hiredis"})
        for library, number in libraries.items():
            self.assertRegex(number, r"^[0-9]", library)
            self.assertNotRegex(number, r"^0\.0\.0$", library)
        for part in (declared, version["commit"], version["libraries"], LEGACY):
            self.assertIn(part, text)

    def test_half_a_character_is_answered_by_its_id(self):
        request = (r'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write_file",'
                   r'"arguments":{"path":"f","content":"\ud83d"}}}')
        done = subprocess.run([binary_path(), "serve"], input=request + "\n", text=True,
                              capture_output=True, timeout=30,
                              env={**os.environ, "BERTH_STATE_DIR": str(self.state.path / "s")})
        answer = json.loads(done.stdout)
        self.assertEqual(answer["id"], 7)
        self.assertTrue(answer["result"]["isError"])
        text = answer["result"]["content"][0]["text"]
        self.assertIn('the text in "content" has half a character', text)
        self.assertIn("Send it again", text)

    def run_berth(self, state, *arguments, stdin="", **options):
        return subprocess.run([binary_path(), *arguments, "--state-dir", str(state)], text=True,
                              input=stdin, capture_output=True, timeout=30, **options)

    def test_a_server_in_a_folder_that_commands_may_write_says_so(self):
        with tempfile.TemporaryDirectory() as state, tempfile.TemporaryDirectory() as folder:
            below = os.path.join(folder, "below")
            os.mkdir(below)
            os.chmod(folder, 0o755)  # else root's sandboxes could not read it
            for mode, where, told in (("rw", folder, 1), ("rw", below, 1), ("ro", folder, 0),
                                      ("rw", state, 0)):
                done = subprocess.run(
                    [binary_path("berth"), "serve", "--state-dir", state, "--mount",
                     f"{folder}:/home/user/project:{mode}"], cwd=where, text=True, timeout=30,
                    stdin=subprocess.DEVNULL, capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("started in a writable mount"), told, done.stderr)

    def test_a_server_in_a_terminal_prints_a_registration_that_finds_it(self):
        terminal, line = os.openpty()
        self.addCleanup(os.close, terminal)
        with tempfile.TemporaryDirectory() as state:
            os.write(terminal, b"\x04")
            done = subprocess.run([binary_path("berth"), "serve", "--state-dir", state], stdin=line,
                                  text=True, timeout=30, capture_output=True)
        os.close(line)
        self.assertIn(f"claude mcp add berth -- {os.path.realpath(binary_path('berth'))} serve --mount ",
                      done.stderr)

    def test_with_too_few_descriptors_it_is_said_what_raises_the_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            for most in range(7, 16):
                with self.subTest(most):
                    done = subprocess.run(
                        ["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", binary_path(), "call",
                         "--state-dir", folder, "bash_exec", '{"command":"true"}'],
                        text=True, capture_output=True, timeout=30)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn("`ulimit -n 1024`", done.stdout + done.stderr)

    def test_with_too_few_descriptors_the_state_directory_is_not_blamed(self):
        key = "0" * 64
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            os.makedirs(os.path.join(folder, "sessions", key))
            open(os.path.join(folder, "sessions", key, "record.json"), "w").close()
            seen = 0
            for most in range(7, 16):
                for arguments in (("call", "session_info"), ("sessions", "kill", key)):
                    with self.subTest(most=most, arguments=arguments):
                        done = subprocess.run(
                            ["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", binary_path(),
                             *arguments, "--state-dir", folder],
                            text=True, capture_output=True, timeout=30)
                        told = done.stdout + done.stderr
                        self.assertNotIn("may write to", told)
                        if "Too many open files" in told:
                            seen += 1
                            self.assertIn("`ulimit -n 1024`", told)
            self.assertGreater(seen, 0)

    def test_other_limits_of_its_shell_are_named_with_what_raises_them(self):
        with tempfile.TemporaryDirectory() as folder:
            for limit, remedy in (("-s 64", "`ulimit -s 8192`"), ("-f 0", "`ulimit -f unlimited`"),
                                  ("-f 1", "`ulimit -f unlimited`"),
                                  ("-d 8000", "`ulimit -d unlimited`")):
                with self.subTest(limit):
                    done = subprocess.run(
                        ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", binary_path(), "call",
                         "--state-dir", folder, "bash_exec", '{"command":"true"}'],
                        text=True, capture_output=True, timeout=30)
                    if "Sanitizer" in done.stderr:  # has no room for its own memory
                        continue
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(remedy, done.stdout + done.stderr)

    def test_too_little_processor_time_is_refused_unless_it_can_be_raised(self):
        raised = subprocess.run(["sh", "-c", "ulimit -t 50; ulimit -t unlimited"],
                                capture_output=True).returncode == 0
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["sh", "-c", 'ulimit -t 50; exec "$@"', "sh", binary_path(), "status",
                                   "--state-dir", folder], text=True, capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 0 if raised else 1, done.stderr)
        self.assertEqual("`ulimit -t unlimited`" in done.stderr, not raised, done.stderr)

    def test_an_unusable_state_directory_is_the_same_to_everyone_and_stays_as_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            open(os.path.join(folder, "foreign"), "w").close()
            for arguments in (("status",), ("doctor",), ("call", "bash_exec", '{"command":"true"}')):
                done = self.run_berth(folder, *arguments)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn("may be written to by other users", done.stdout + done.stderr)
                self.assertNotIn("chmod", done.stdout + done.stderr)
            listed = self.run_berth(folder, stdin='{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
            tools = {tool["name"]: tool["description"]
                     for tool in json.loads(listed.stdout)["result"]["tools"]}
            self.assertIn("DISABLED", tools["bash_exec"])
            self.assertEqual(os.listdir(folder), ["foreign"])

    def test_what_only_looks_makes_no_state_directory(self):
        state = self.state.path / "none"
        self.run_berth(state, "status")
        self.run_berth(state, "sessions", "list")
        self.run_berth(state, "call", "session_info")
        self.assertFalse(state.exists())

    def test_a_layer_that_there_is_not_is_a_usage_error(self):
        for arguments in (("serve",), ("config",), ("call", "session_info")):
            with self.subTest(arguments):
                done = self.run_berth(self.state.path / "s", *arguments, "--require", "netns,foo")
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn('there is no layer "foo"', done.stderr)
        doctor = self.run_berth(self.state.path / "s", "doctor", "--json")
        names = {check["name"] for check in json.loads(doctor.stdout)["checks"]}
        done = self.run_berth(self.state.path / "s", "config", "--require", ",".join(names))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_doctor_insists_on_a_layer_too(self):
        for layer, status in (("userns", 0), ("netns", 1), ("foo", 2)):
            with self.subTest(layer):
                done = self.run_berth(self.state.path / "s", "doctor", "--network", "host",
                                      "--require", layer)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn("seccomp", done.stdout)
                done = self.run_berth(self.state.path / "s", "doctor", "--json", "--network", "host",
                                      "--require", layer)
                self.assertEqual((done.returncode, json.loads(done.stdout)["available"]), (status, True), done)
                self.assertEqual(f'"{layer}"' in done.stderr or f"{layer}: " in done.stderr, status != 0, done)

    def test_a_call_without_a_session_says_that_jobs_and_files_went_with_it(self):
        for command, told in (("sleep 9 >/dev/null 2>&1 &", True), ("seq 100000", True),
                              ("echo on", False)):
            with self.subTest(command):
                arguments = json.dumps({"command": command})
                done = self.run_command("call", "bash_exec", arguments)
                self.assertEqual("--session NAME keeps it" in done.stderr, told, done.stderr)
        arguments = json.dumps({"command": "seq 100000"})
        done = self.run_berth(self.state.path / "s", "call", "bash_exec", arguments,
                              "--session", "kept")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("--session NAME", done.stderr)
        self.run_berth(self.state.path / "s", "sessions", "kill", "kept", "--purge")

    def test_a_group_of_commands_alone_says_where_they_are_listed(self):
        done = self.run_berth(self.state.path / "s", "sessions")
        self.assertEqual(done.returncode, 2)
        self.assertIn("`berth sessions --help` lists what may follow", done.stderr)

    def test_a_mount_that_no_machine_can_have_stops_the_start(self):
        def start(mount):
            return subprocess.run([binary_path(), "serve", "--mount", mount], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=30,
                                  env={**os.environ, "BERTH_STATE_DIR": str(self.state.path / "s")})
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)  # else root's sandboxes could not read it
            for target in ("/etc", "/usr/share/x", "/proc", "/home/user"):
                done = start(f"{folder}:{target}")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"mount target {target} would hide a part of the sandbox",
                              done.stderr)
            done = start(f"{folder}:/mnt/a,{folder}:/mnt/a/:rw")
            self.assertEqual(done.returncode, 2)
            self.assertIn("two mounts have the target /mnt/a (flag --mount)", done.stderr)
            done = start(f"{folder}:/mnt/a,{folder}:/mnt/a/none:rw")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"make the folder {folder}/none on the host", done.stderr)
            # Who looks or cleans up is not kept from it by a mount of the next session.
            for mounts in (f"{folder}:/mnt/a,{folder}:/mnt/a/none:rw", f"{folder}/gone:/mnt/a"):
                for arguments in (("status",), ("doctor",), ("sessions", "list"),
                                  ("sessions", "kill", "none")):
                    done = self.run_berth(self.state.path / "s", *arguments, "--mount", mounts)
                    wanted = 1 if "kill" in arguments else 0  # there is no such session
                    self.assertEqual(done.returncode, wanted, done.stderr)
                    self.assertNotIn("mount", done.stderr)
            done = start(f"{folder}/gone:/mnt/a")
            self.assertEqual(done.returncode, 2)
            self.assertIn("that is there already", done.stderr)
            # What is refused at the start is not in force: by the settings, and by the backend.
            for mount, reason in ((f"{folder}/gone:/mnt/a", "that is there already"),
                                  ("~/gone:/mnt/a", "only where a shell reads it"),
                                  (f"{folder}:/etc", "would hide a part of the sandbox")):
                done = self.run_berth(self.state.path / "s", "config", "--mount", mount)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(reason, done.stderr)
            odd = os.path.join(folder, "a:b,c")
            os.mkdir(odd)
            done = start(f"{odd}:/mnt/x")
            self.assertEqual(done.returncode, 2)
            self.assertIn("a path with a comma in it can be given in the file", done.stderr)
            os.rename(odd, odd.replace(",", ":"))
            self.assertEqual(start(f"{odd.replace(',', ':')}:/mnt/x").returncode, 0)

    def test_a_misspelt_variable_is_told_on_stderr(self):
        berth = self.start(env={"BERTH_SESION": "work"}, era="modern")
        berth.list_tools()
        berth.close()
        self.assertIn("variable=BERTH_SESION did_you_mean=BERTH_SESSION", berth.stderr)

    def test_the_status_has_jobs_and_errors(self):
        berth = self.start("--session", "busy", era="modern")
        berth.call_tool("bash_exec", {"command": "sleep 300 >/dev/null 2>&1 &"})
        status = json.loads(self.run_command("status", "--json").stdout)
        self.assertEqual([(job["session"], job["processes"]) for job in status["jobs"]],
                         [("busy", 1)])
        self.assertEqual(status["recent_errors"], [])
        self.assertIn("sleep 300", self.run_command("status").stdout)
        pending = berth.call_async("bash_exec", SLEEP)
        self.wait_for(lambda: berth.call_tool("session_info").data["commands_in_flight"])
        self.run_command("sessions", "kill", "busy")
        result = pending.result(10)
        self.assertEqual(result.error["code"], "session_lost")
        self.assertIn("has ended during this call (it was ended on request)", result.text)
        status = json.loads(self.run_command("status", "--json").stdout)
        self.assertEqual([(error["code"], error["tool"], error["session"])
                          for error in status["recent_errors"]],
                         [("session_lost", "bash_exec", "busy")])

    def test_a_server_behind_a_terminals_foreground_can_be_ended(self):
        """A read of the terminal would stop it again whenever it is continued for the signal."""
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        shell = subprocess.Popen(
            ["sh", "-mc", '"$0" serve & echo $!; exec sleep 60', binary_path("berth-direct")],
            stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "BERTH_STATE_DIR": str(self.state.path)})
        os.close(slave)
        self.addCleanup(shell.stdout.close)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        server = os.pidfd_open(int(shell.stdout.readline()))
        self.addCleanup(os.close, server)
        os.write(master, b"\n")
        ended = select.poll()
        ended.register(server, select.POLLIN)
        if not ended.poll(2000):
            signal.pidfd_send_signal(server, signal.SIGTERM)
            signal.pidfd_send_signal(server, signal.SIGCONT)
        if not ended.poll(5000):
            signal.pidfd_send_signal(server, signal.SIGKILL)
            self.fail("it goes on")

    def test_help_on_a_command_that_there_is_not(self):
        done = self.run_command("help", "nosuch")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('there is no command "nosuch"', done.stderr)
        self.assertEqual(self.run_command("help", "call").returncode, 0)
        self.assertEqual(self.run_command("help").returncode, 0)

    def test_a_state_directory_that_is_not_there_or_a_file_is_told(self):
        folder = self.state.path / "typo"
        for flags in ((), ("--json",)):
            done = self.run_command("sessions", "list", "--state-dir", str(folder), *flags)
            self.assertEqual((done.returncode, done.stdout), (0, "[]\n" if flags else "no sessions\n"))
            self.assertIn(f"the state directory {folder} does not exist\n", done.stderr)
        self.assertFalse(folder.exists())
        folder.write_text("")
        done = self.run_command("sessions", "list", "--state-dir", str(folder))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(f"{folder} cannot be used: {folder} is a file (Not a directory)", done.stderr)

    def test_tools_that_there_are_not_are_told_with_who_named_them(self):
        done = self.run_command("config", "--tools", "nosuch")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn('no tool is named "nosuch" (tools, flag --tools)', done.stderr)

    def test_tools_can_be_left_out(self):
        berth = self.start("--read-only", "--tools", "read_file,write_file", era="modern")
        self.assertEqual([tool["name"] for tool in berth.list_tools()], ["read_file"])
        with self.assertRaises(RpcError) as refused:
            berth.call_tool("write_file", {"path": "a", "content": ""})
        self.assertIn("--read-only", refused.exception.message)

    def test_structured_content_is_sent_when_it_is_asked_for(self):
        berth = self.start("--structured-content", era="modern")
        tool = next(tool for tool in berth.list_tools() if tool["name"] == "bash_exec")
        self.assertEqual(tool["outputSchema"]["type"], "object")
        result = berth.call_tool("bash_exec", {"command": "echo hi"})
        self.assertEqual(result.structured["stdout"], "hi\n")
        self.assertEqual(result.data, result.structured)


if __name__ == "__main__":
    unittest.main()
