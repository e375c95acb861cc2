#!/usr/bin/env python3
"""Servers that share their books in a Redis: one machine for one session, whatever becomes of Redis, and
no password in anything that is said."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from mcp_client import Berth, binary_path
from redis_server import RedisServer
from state_directory import StateDirectory


class RedisTest(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.redis = stack.enter_context(RedisServer())
        self.states = [stack.enter_context(StateDirectory()) for _ in range(2)]
        self.stack = stack

    def start(self, session, state=0, **variables):
        return self.stack.enter_context(Berth("--session", session, "--registry", self.redis.url,
                                              state=self.states[state], env=variables))

    def command_line(self, *arguments, state=0, registry=None, **variables):
        done = subprocess.run([binary_path(), *arguments, "--state-dir", str(self.states[state].path),
                               "--registry", registry or self.redis.url], text=True,
                              env={**os.environ, **variables}, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def run_command(self, berth, command):
        result = berth.call_tool("bash_exec", {"command": command})
        self.assertFalse(result.is_error, result)
        return result.text

    def guests(self):
        return [pid for state in self.states for pid in state.guests()]

    def wait_for_no_guests(self):
        end = time.monotonic() + 5
        while self.guests() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.guests(), [])

    def test_servers_of_two_state_directories_that_race_have_one_machine(self):
        for number in range(3):
            with self.subTest(number):
                session = f"race-{number}"
                servers = [self.start(session, state) for state in (0, 1, 0, 1)]
                calls = [server.call_async("bash_exec", {"command": f"echo {i} >>~/who; hostname"})
                         for i, server in enumerate(servers)]
                for call in calls:
                    self.assertFalse(call.result().is_error)
                ids = {server.call_tool("session_info").data["sandbox_id"] for server in servers}
                self.assertEqual(len(ids), 1, ids)
                self.assertEqual(sorted(self.run_command(servers[3], "cat ~/who").split()),
                                 ["0", "1", "2", "3"])
                self.assertEqual(len(self.guests()), number + 1)

    def test_the_home_is_in_one_of_two_state_directories_and_stays_there(self):
        first = self.start("home", 0)
        self.run_command(first, "echo kept >~/file")
        status, _, error = self.command_line("sessions", "kill", "home", state=1)
        self.assertEqual(status, 1)
        self.assertIn(f"in the state directory {self.states[0].path} of this host", error)
        self.assertEqual(self.command_line("sessions", "kill", "home")[0], 0)
        refused = self.start("home", 1).call_tool("bash_exec", {"command": "cat ~/file"})
        self.assertEqual(refused.error["code"], "sandbox_unavailable")
        self.assertIn(f"--state-dir '{self.states[0].path}'", refused.error["hint"])
        self.assertTrue(self.run_command(self.start("home", 0), "cat ~/file").endswith("\nkept\n"))

    def test_a_purge_without_the_state_directory_says_that_no_home_was_there(self):
        server = self.start("moved")
        self.run_command(server, "echo kept >~/file")
        server.close()
        place = self.states[0].path
        kept = place.rename(place.with_name(place.name + "-moved"))
        self.addCleanup(shutil.rmtree, kept, ignore_errors=True)
        status, text, _ = self.command_line("sessions", "kill", "moved", "--purge")
        self.assertEqual((status, text), (0, "session moved has ended, and no home of it was found on this host\n"))
        shutil.rmtree(place)
        kept.rename(place)
        self.assertTrue(self.run_command(self.start("moved"), "cat ~/file").endswith("kept\n"))
        status, text, _ = self.command_line("sessions", "kill", "moved", "--purge")
        self.assertEqual((status, text), (0, "session moved has ended, and its home is removed\n"))

    def test_without_redis_calls_go_on_and_new_sessions_are_refused(self):
        server = self.start("live")
        self.run_command(server, "echo kept >~/file; sleep 300 >/dev/null 2>&1 &")
        self.redis.kill()
        self.assertEqual(self.run_command(server, "cat ~/file"), "kept\n")
        other = self.start("new")
        refused = other.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(refused.error["code"], "sandbox_unavailable")
        self.assertTrue(refused.error["retryable"])
        self.assertIn(self.redis.url, refused.error["message"])
        self.assertIn("go on", refused.error["hint"])
        self.assertEqual(self.run_command(server, "cat ~/file"), "kept\n")

        self.redis.start()  # without its data
        self.assertEqual(self.run_command(self.start("live"), "cat ~/file; pgrep -c sleep"), "kept\n1\n")
        self.assertEqual(self.run_command(server, "cat ~/file"), "kept\n")
        self.assertEqual(self.run_command(other, "echo works"), "works\n")
        self.assertEqual(len(self.guests()), 2)

    def test_a_machine_that_redis_has_lost_is_found_by_its_host(self):
        server = self.start("lost")
        job = server.call_tool("bash_exec", {"command": "echo begun; sleep 300", "background": True}).data
        self.run_command(server, "echo kept >~/file")
        server.kill()
        (guest,) = self.guests()
        self.redis.say("FLUSHALL")
        end = time.monotonic() + 20
        while not (told := json.loads(self.command_line("sessions", "gc", "--json")[1]))["restored"]:
            self.assertLess(time.monotonic(), end, told)  # five seconds are for servers that know more
        self.assertEqual((told["restored"], told["complete"]), (["lost"], True))
        (listed,) = json.loads(self.command_line("sessions", "list", "--json")[1])
        self.assertEqual((listed["session"], listed["state"]), ("lost", "running"))
        server = self.start("lost")
        self.assertTrue(self.run_command(server, "cat ~/file").endswith("kept\n"))  # after what nobody had read
        output = server.call_tool("bash_output", {"job_id": job["job_id"]})
        self.assertIn("begun", output.text)
        self.assertEqual(self.guests(), [guest])
        self.redis.say("FLUSHALL")
        server.kill()
        self.assertTrue(self.run_command(self.start("lost"), "cat ~/file; pgrep -c sleep").endswith("kept\n1\n"))
        self.assertEqual(self.guests(), [guest])

    def test_nobody_says_that_a_session_is_not_there_before_that_is_known(self):
        server = self.start("lost")
        self.run_command(server, "true")
        server.kill()
        self.redis.say("FLUSHALL")
        for arguments in (("list",), ("show", "lost"), ("kill", "lost"), ("pause", "lost"),
                          ("adopt", "lost", "--session", "other"), None):
            with self.subTest(arguments):
                self.redis.say("FLUSHALL")
                words = ("sessions", *arguments) if arguments else ("status",)
                status, text, _ = self.command_line(*words, "--json")
                told = json.loads(text)
                self.assertEqual(status, 1, told)
                self.assertRegex(told["reason"], "the registry is new, .* not known yet")
                self.assertTrue(0 < told["retry_after"] <= 5, told)
                status, text, error = self.command_line(*words)
                self.assertEqual(status, 1)
                self.assertIn("not known yet", text + error)
                self.assertNotIn("there is no session", text + error)
                self.assertNotIn("no sessions", text)
        end = time.monotonic() + 20
        while self.command_line("sessions", "list")[0] != 0:
            self.assertLess(time.monotonic(), end)
        (listed,) = json.loads(self.command_line("sessions", "list", "--json")[1])
        self.assertEqual(listed["session"], "lost")
        self.assertIn(listed["state"], ("running", "paused"))
        self.assertTrue(json.loads(self.command_line("status", "--json")[1])["sessions_known"])

    def test_a_machine_that_the_books_forgot_gives_way_and_the_agent_is_told(self):
        server = self.start("forgotten")
        self.run_command(server, "echo kept >~/file; sleep 300 >/dev/null 2>&1 &")
        server.kill()
        (copy,) = (self.states[0].path / "sessions").glob("*/last-machine")
        copy.unlink()  # as of a release that kept none
        self.redis.kill()
        self.redis.start()  # without its data, and nobody lives who knows
        server = self.start("forgotten")
        result = server.call_tool("bash_exec", {"command": "cat ~/file; pgrep -c sleep"})
        self.assertIn("kept\n0\n", result.text)
        (notice,) = result.notices
        self.assertIn("the books of the sessions no longer knew this session's sandbox", notice)
        self.assertIn("ended with its processes and jobs", notice)
        self.assertEqual(server.call_tool("bash_exec", {"command": "true"}).notices, [])
        self.assertEqual(len(self.guests()), 1)

    def test_a_home_that_redis_has_lost_is_listed_and_can_be_taken(self):
        server = self.start("lost")
        self.run_command(server, "echo kept >~/file")
        server.kill()
        self.assertEqual(self.command_line("sessions", "kill", "lost")[0], 0)
        self.redis.kill()
        self.redis.start()
        (key,) = self.states[0].keys()
        folder = self.states[0].path / "sessions" / key
        (folder / "last-machine").unlink()  # as of a release that kept none
        for path in (folder / "last-wanted", folder):  # nothing was done there for two minutes
            os.utime(path, (time.time() - 120,) * 2)
        deadline = time.monotonic() + 30
        # A Redis that was restarted gives no lock for five seconds.
        while self.command_line("sessions", "list", "--json")[0] != 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.5)
        listed = json.loads(self.command_line("sessions", "list", "--json")[1])
        self.assertEqual([(each["key"], each["session"], each["state"]) for each in listed],
                         [(key, key, "ended")])
        self.assertTrue(listed[0]["home"].startswith(str(self.states[0].path)), listed)
        status, _, error = self.command_line("sessions", "adopt", key, "--session", "taken")
        self.assertEqual(status, 1)
        self.assertIn("nobody knows whose the home", error)
        status, _, error = self.command_line("sessions", "adopt", key, "--session", "taken",
                                             "--principal", "local")
        self.assertEqual(status, 0, error)
        found = self.start("taken", BERTH_PRINCIPAL="local")
        self.assertIn("kept", self.run_command(found, "cat ~/file"))

    def test_without_redis_what_is_known_of_a_session_is_told(self):
        server = self.start("live")
        self.run_command(server, "cd /tmp; sleep 300 >/dev/null 2>&1 &")
        before = server.call_tool("session_info")
        self.redis.kill()
        told = server.call_tool("session_info")
        self.assertFalse(told.is_error, told)
        for fact in ("sandbox_id", "state", "created", "network", "limits", "mounts", "cwd", "layers"):
            self.assertEqual(told.data[fact], before.data[fact], fact)
        self.assertEqual(len(told.data["jobs"]), 1)
        self.assertEqual(before.notices, [])
        (notice,) = told.notices
        self.assertIn("the registry of sessions cannot be asked now (", notice)
        self.assertIn(self.redis.url, notice)
        # The machine goes: that is seen without the books, also by whoever has met it on a call.
        for guest in self.guests():
            os.kill(guest, signal.SIGKILL)
        # A process that is ending has no command line any more before its socket is closed.
        end = time.monotonic() + 10
        while ((self.guests() or server.call_tool("session_info").data.get("state") != "lost")
               and time.monotonic() < end):
            time.sleep(0.02)
        self.assertEqual(server.call_tool("session_info").data["state"], "lost")
        self.assertTrue(server.call_tool("bash_exec", {"command": "true"}).is_error)
        self.assertEqual(server.call_tool("session_info").data["state"], "lost")
        # A server that never had it has nothing to tell.
        refused = self.start("live").call_tool("session_info")
        self.assertEqual(refused.error["code"], "sandbox_unavailable")

    def test_without_redis_the_command_line_shows_what_this_host_knows(self):
        self.run_command(self.start("live"), "true")
        (home,) = self.states[0].path.glob("sessions/*/home")
        self.redis.kill()
        status, text, error = self.command_line("sessions", "show", "live")
        self.assertEqual(status, 1)
        self.assertIn("Session live: the books cannot be asked\n", text)
        self.assertIn(f"home on this host: {home}\n", text)
        self.assertIn("machine: lives on this host\n", text)
        self.assertIn(self.redis.url, error)
        status, text, error = self.command_line("sessions", "show", "live", "--json")
        data = json.loads(text)
        self.assertEqual((status, data["state"], data["home"], data["machine_here"]),
                         (1, "unknown", str(home), True))
        self.assertNotIn(self.redis.url, error)
        self.assertIn(self.redis.url, data["reason"])
        for guest in self.guests():
            os.kill(guest, signal.SIGKILL)
        while self.guests():
            time.sleep(0.02)
        self.assertIn("machine: none lives on this host\n",
                      self.command_line("sessions", "show", home.parent.name)[1])
        status, text, error = self.command_line("sessions", "show", "other")
        self.assertEqual((status, text), (1, ""))
        self.assertIn(self.redis.url, error)

    def test_without_redis_the_status_tells_what_needs_no_books(self):
        self.run_command(self.start("live"), "true")
        self.redis.kill()
        status, text, error = self.command_line("status")
        self.assertEqual(status, 1)
        self.assertNotIn(self.redis.url, error)
        self.assertRegex(text, r"available +yes\n")
        self.assertRegex(text, r"sessions +not known: .*" + re.escape(self.redis.url))
        self.assertRegex(text, r"errors +none lately\n")
        status, text, error = self.command_line("status", "--json")
        data = json.loads(text)
        self.assertEqual((status, data["available"], data["sessions_known"]), (1, True, False))
        self.assertIn(self.redis.url, data["reason"])
        self.assertEqual(data["recent_errors"], [])

    def test_a_server_that_begins_without_redis_says_so_in_its_log(self):
        self.redis.kill()
        server = self.start("live")
        server.close()
        self.assertIn("sessions cannot be used now", server.stderr)
        self.assertIn(self.redis.url, server.stderr)

    def test_a_failure_is_told_in_json_to_whoever_asked_for_it(self):
        self.redis.kill()
        for arguments in (["list"], ["gc"], ["kill", "x"], ["pause", "x"]):
            with self.subTest(arguments):
                status, text, error = self.command_line("sessions", *arguments, "--json")
                data = json.loads(text)
                self.assertEqual((status, data["code"]), (1, "sandbox_unavailable"))
                self.assertNotIn(self.redis.url, error)
                self.assertIn(self.redis.url, data["reason"])
                self.assertTrue(data["remedy"])

    def test_an_unnamed_session_ends_with_its_server(self):
        server = self.stack.enter_context(Berth("--registry", self.redis.url, state=self.states[0]))
        self.run_command(server, "true")
        self.assertEqual(len(self.guests()), 1)
        server.kill()
        self.wait_for_no_guests()

    def test_a_collection_says_of_what_it_does_not_know_yet(self):
        """Of a server that no lock of this host tells of, as one of a release that had none."""
        berth = self.stack.enter_context(Berth("--registry", self.redis.url, state=self.states[0]))
        self.run_command(berth, "true")
        (key,) = [path.name for path in (self.states[0].path / "sessions").iterdir()]
        berth.kill()
        self.wait_for_no_guests()
        (self.states[0].path / "sessions" / key / "server").unlink()
        self.redis.say("PEXPIRE", f"berth:claim:{key}", "20000")
        told = json.loads(self.command_line("sessions", "gc", "--json")[1])
        self.assertEqual((told["cleared"], told["complete"], len(told["silent"])), (0, False, 1))
        self.assertTrue(10 < told["retry_after"] <= 20, told)
        text = self.command_line("sessions", "gc")[1]
        self.assertRegex(text, rf"not known of 1 session .*: {told['silent'][0]}; it counts as dead in \d+")
        self.redis.say("DEL", f"berth:claim:{key}")
        told = json.loads(self.command_line("sessions", "gc", "--json")[1])
        self.assertEqual((told["cleared"], told["complete"], told["silent"]), (1, True, []))
        self.assertEqual(json.loads(self.command_line("sessions", "list", "--json")[1]), [])

    def test_the_end_comes_within_a_second_though_redis_does_not_answer(self):
        for arguments in (["--session", "hung"], []):
            with self.subTest(arguments):
                server = self.stack.enter_context(
                    Berth(*arguments, "--registry", self.redis.url, state=self.states[0]))
                self.run_command(server, "true")
                self.redis.say("CLIENT", "PAUSE", "2500")
                self.assertLess(server.seconds_to_end(lambda it: it.process.stdin.close()), 1.2)
                self.redis.say("CLIENT", "UNPAUSE")

    def test_a_session_on_another_host_is_named_and_left_alone(self):
        here = self.start("apart", BERTH_SESSION_HOST="here")
        self.run_command(here, "true")
        there = self.start("apart", 1, BERTH_SESSION_HOST="there")
        refused = there.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(refused.error["code"], "sandbox_unavailable")
        self.assertIn("on the host here", refused.error["message"])
        self.run_command(here, "true")
        self.assertEqual(len(self.guests()), 1)
        header, row, _, below = self.command_line("sessions", "list", state=1)[1].splitlines()
        self.assertEqual((header.split()[-1], row.split()[-1]), ("HOST", "here"))
        self.assertIn("Not known whether running or paused", below)
        self.assertIn("apart (it is on the host here, where `berth sessions list` tells", below)
        (listed,) = json.loads(self.command_line("sessions", "list", "--json", state=1)[1])
        self.assertEqual(listed["host"], "here")
        self.assertIn("it is on the host here", listed["trouble"])
        (home,) = self.states[0].path.glob("sessions/*/home")
        self.assertIn(f"home on its host: {home}\n", self.command_line("sessions", "show", "apart", state=1)[1])

    def test_a_call_whose_session_is_purged_is_told_so_as_with_books_in_files(self):
        server = self.start("gone")
        pending = server.call_async("bash_exec", {"command": "touch begun; sleep 300"})
        end = time.monotonic() + 20
        while not list(self.states[0].path.glob("sessions/*/home/begun")):
            self.assertLess(time.monotonic(), end)
        self.assertEqual(self.command_line("sessions", "kill", "gone", "--purge")[0], 0)
        lost = pending.result()
        self.assertIn("has ended during this call (it was deleted with its files", lost.text)
        self.assertIn("a fresh sandbox, without the files of this one", lost.error["hint"])

    def test_what_another_host_hides_after_a_loss_is_named_and_comes_back(self):
        """Nothing of berth ran on this host when the books were lost."""
        server = self.start("hidden")
        self.run_command(server, "echo first >~/file")
        server.close()
        self.redis.say("FLUSHALL")
        there = self.start("hidden", 1, BERTH_SESSION_HOST="there")
        self.run_command(there, "echo second >~/file")
        (home,) = self.states[0].path.glob("sessions/*/home")
        for words in (("list",), ("gc",)):
            with self.subTest(words):
                text, error = self.command_line("sessions", *words)[1:]
                self.assertIn(f"session hidden has a home here too, {home}, and a machine that lives", text + error)
                self.assertIn("they have the one on there, in ", text + error)
                self.assertIn(f"`berth sessions adopt {home.parent.name} --session OTHER --end-machine` there", text + error)
        there.close()
        adopted = self.command_line("sessions", "adopt", home.parent.name, "--session", "other",
                                    "--end-machine", state=1, BERTH_SESSION_HOST="there")
        self.assertEqual(adopted[0], 0, adopted)
        self.assertNotIn("has a home here too", self.command_line("sessions", "list")[2])
        self.assertTrue(self.run_command(self.start("hidden"), "cat ~/file").endswith("first\n"))
        again = self.start("other", 1, BERTH_SESSION_HOST="there")
        self.assertTrue(self.run_command(again, "cat ~/file").endswith("second\n"))

    def test_a_home_that_was_given_away_comes_back_with_all_that_is_known_of_it(self):
        server = self.start("given", BERTH_SESSION_SAVE_ON_END="out")
        self.run_command(server, "mkdir out; echo kept >out/file")
        server.close()
        given = self.command_line("sessions", "adopt", "given", "--session", "taken", "--end-machine")
        self.assertEqual(given[0], 0, given)
        self.redis.say("FLUSHALL")
        end = time.monotonic() + 20
        while self.command_line("sessions", "list")[0] != 0:
            self.assertLess(time.monotonic(), end)
        (listed,) = json.loads(self.command_line("sessions", "list", "--json")[1])
        self.assertEqual((listed["session"], listed["state"]), ("taken", "ended"))
        status, text, _ = self.command_line("sessions", "kill", "taken", "--purge")
        self.assertEqual(status, 0)
        self.assertIn("1 file (5 bytes) is in the workspace at /sessions/taken", text)

    def test_no_secret_that_was_printed_is_in_the_books(self):
        secret = "hunter2-hunter2"
        server = self.start("told", BERTH_SECRET="TOKEN=env:BERTH_TEST_TOKEN", BERTH_TEST_TOKEN=secret)
        self.run_command(server, "true")
        (home,) = self.states[0].path.glob("sessions/*/home")
        server.call_async("bash_exec", {"command": 'touch begun; sleep 1; echo "with $TOKEN"; touch over; exit 3'})
        end = time.monotonic() + 10
        while not (home / "begun").exists() and time.monotonic() < end:
            time.sleep(0.05)
        server.kill()
        while not (home / "over").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)  # it exits
        self.assertEqual(self.command_line("sessions", "kill", "told")[0], 0)
        script = """for _, key in ipairs(redis.call('KEYS', '*')) do
                        local kind = redis.call('TYPE', key).ok
                        local text = kind == 'string' and redis.call('GET', key)
                            or kind == 'hash' and table.concat(redis.call('HGETALL', key), ' ') or ''
                        if string.find(text, ARGV[1], 1, true) then return 1 end
                    end
                    return 0"""
        self.assertEqual(self.redis.say("EVAL", script, "0", "exit 3; what it printed"), "1")
        self.assertEqual(self.redis.say("EVAL", script, "0", secret), "0")
        for path in self.states[0].path.rglob("*"):
            if path.is_file():
                self.assertNotIn(secret.encode(), path.read_bytes(), path)

    def test_the_books_can_be_listed_and_are_empty_after_a_purge(self):
        self.run_command(self.start("listed"), "true")
        status, text, error = self.command_line("sessions", "list", "--json", state=1)
        self.assertEqual(status, 0, error)
        self.assertEqual([each["session"] for each in json.loads(text)], ["listed"])
        self.assertEqual(self.command_line("sessions", "kill", "listed", "--purge")[0], 0)
        self.assertEqual(json.loads(self.command_line("sessions", "list", "--json")[1]), [])
        self.assertEqual(self.states[0].keys(), set())  # not even a folder

    def test_no_password_is_said(self):
        registry = f"unix://ann:geheim@{self.redis.socket}?db=3"
        for arguments in (["config"], ["config", "--json"], ["status"], ["sessions", "list"],
                          ["call", "bash_exec", '{"command": "true"}', "--log-level", "debug"]):
            with self.subTest(arguments):
                status, text, error = self.command_line(*arguments, registry=registry)
                self.assertNotIn("geheim", text + error)
                self.assertIn(f"unix://{self.redis.socket}?db=3", text + error)
                self.assertEqual(status, 0 if arguments[0] == "config" else 1, error)
        status, text, error = self.command_line("config", registry="redis://:geheim@host:port")
        self.assertEqual(status, 2)
        self.assertNotIn("geheim", text + error)
        self.assertIn("(flag --registry)", error)


if __name__ == "__main__":
    unittest.main()
