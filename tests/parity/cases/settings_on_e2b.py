"""What is said of E2B, and by whom: its templates, its key, its limits, and other backends' sessions."""

import json

import e2b
from suite import ParityTest, e2b_only

e2b  # the path of what follows
from client import api  # noqa: E402


@e2b_only
class SettingsOnE2bTest(ParityTest):
    def box(self):
        (box,) = e2b.boxes()
        return api(e2b.emulator(), "GET", f"/sandboxes/{box}").json

    def test_a_template_is_e2b_s(self):
        self.berth = self.start("--session", "other", "--template", "base")
        self.output("true")
        self.assertEqual(self.box()["templateID"], "base")
        said = json.loads(self.command_line("config", "--json", status=2, env={"BERTH_TEMPLATE": "/srv/debian"}))
        self.assertIn("template of E2B's", said["reason"])

    def test_a_doctor_whose_key_is_refused_says_that_none_can_be_made(self):
        self.assertTrue(json.loads(self.command_line("doctor", "--json"))["available"])
        for wrong, word in (({"E2B_API_KEY": "e2b_" + "c" * 40}, "401"),
                            ({"E2B_API_URL": "http://127.0.0.1:9"}, "127.0.0.1:9")):
            with self.subTest(word):
                said = json.loads(self.command_line("doctor", "--json", status=1, env=wrong))
                self.assertFalse(said["available"])
                self.assertIn(word, said["reason"])

    def test_limits_that_are_the_template_s_are_told_as_none_of_berth_s(self):
        found = self.berth.call_tool("session_info").data
        self.assertEqual(found["limits"]["not_enforced"], ["memory_bytes", "cpus"])
        self.output("true")
        found = self.berth.call_tool("session_info").data
        self.assertEqual(found["limits"]["not_enforced"], ["memory_bytes", "cpus"])
        self.assertGreater(found["pause"]["pauses_in_ms"], 60_000)

    def test_one_that_sleeps_is_shown_as_that(self):
        self.output("true")
        self.command_line("sessions", "pause", "work")
        shown = json.loads(self.command_line("sessions", "show", "work", "--json"))
        self.assertEqual((shown["state"], shown["pause"]["paused"]), ("paused", True))
        self.assertIn("the next call wakes it", self.command_line("sessions", "show", "work"))

    def test_a_command_for_another_backend_leaves_it_alone_and_says_so(self):
        self.output("echo kept >file")
        local = {"BERTH_BACKEND": "local"}
        for command in ("pause", "resume", "kill"):
            with self.subTest(command):
                said = json.loads(self.command_line("sessions", command, "work", "--json", status=1, env=local))
                self.assertEqual(said["code"], "sandbox_unavailable")
                self.assertIn("--backend e2b", said["remedy"])
        (listed,) = json.loads(self.command_line("sessions", "list", "--json", env=local))
        self.assertIn("--backend e2b", listed["trouble"])
        collected = json.loads(self.command_line("sessions", "gc", "--json", env=local))
        self.assertEqual(collected["on_other_backends"], 1)
        self.assertEqual(self.output("cat file"), "kept\n")

    def test_who_cannot_reach_e2b_ends_nothing_and_notes_nothing(self):
        self.output("echo kept >file")
        for wrong in ({"E2B_API_URL": "http://127.0.0.1:9"}, {"E2B_API_KEY": ""}):
            said = json.loads(self.command_line("sessions", "kill", "work", "--purge", "--json", status=1, env=wrong))
            self.assertTrue(said["remedy"], said)
        (listed,) = self.sessions()
        self.assertEqual(listed["state"], "running")
        self.assertEqual(self.output("cat file"), "kept\n")

    def network(self):
        box = self.box()
        return box.get("allowInternetAccess"), box.get("network", {})

    def test_a_network_is_changed_on_a_living_box_before_the_call_begins(self):
        """And is what the books say, whoever comes; a list that allows alone denies the rest."""
        self.output("echo kept >file")
        self.assertEqual(self.network(), (False, {}))
        for flags, env, wanted in (
                (("--network", "host"), {"BERTH_E2B_ALLOW_OUT": "pypi.org,10.0.0.0/8"},
                 (True, {"allowOut": ["pypi.org", "10.0.0.0/8"], "denyOut": ["0.0.0.0/0"]})),
                ((), {}, (True, {"allowOut": ["pypi.org", "10.0.0.0/8"], "denyOut": ["0.0.0.0/0"]})),
                (("--network", "host"), {"BERTH_E2B_ALLOW_OUT": "", "BERTH_E2B_DENY_OUT": "1.1.1.1"},
                 (True, {"denyOut": ["1.1.1.1"]})),
                (("--network", "none"), {}, (False, {}))):
            with self.subTest(flags=flags, env=env):
                self.berth.close()
                self.command_line("sessions", "pause", "work")
                self.berth = self.start("--session", "work", *flags, env=env)
                found = self.run_command("cat file")
                self.assertEqual(found.data["stdout"], "kept\n")
                self.assertEqual(self.network(), wanted)

    def test_a_network_that_cannot_be_changed_stops_the_call(self):
        self.berth = self.start("--session", "other", "--network", "host")
        self.output("true")
        self.berth.close()
        e2b.emulator().fault(method="PUT", path="/sandboxes/{id}/network", status=500, times=0)
        self.addCleanup(e2b.emulator().clear_faults)
        self.berth = self.start("--session", "other", "--network", "none")
        found = self.berth.call_tool("bash_exec", {"command": "touch begun"})
        self.assertTrue(found.is_error, found)
        e2b.emulator().clear_faults()
        self.assertEqual(self.output("ls"), "")
        self.assertEqual(self.network()[0], False)

    def test_the_next_machine_in_a_box_has_the_network_that_is_asked_for_then(self):
        self.berth = self.start("--session", "other", "--network", "host")
        self.output("true")
        self.berth.close()
        self.command_line("sessions", "kill", "other")
        self.berth = self.start("--session", "other", "--network", "none")
        self.output("true")
        self.assertEqual(self.network(), (False, {}))

    def test_a_server_that_keeps_from_a_network_is_not_overruled_while_it_is_there(self):
        self.berth = self.start("--session", "other", "--network", "none")
        self.output("true")
        wider = self.start("--session", "other", "--network", "host")
        found = wider.call_tool("bash_exec", {"command": "true"})
        self.assertTrue(any("network" in line for line in found.notices), found)
        self.assertEqual(self.network()[0], False)

    def test_saving_what_a_session_leaves_does_not_change_its_network(self):
        env = {"BERTH_SESSION_SAVE_ON_END": "out"}
        self.berth = self.start("--session", "other", "--network", "host", env=env)
        self.output("mkdir out; echo kept >out/file")
        self.berth.close()
        self.assertEqual(json.loads(self.command_line("sessions", "kill", "other", "--json", env=env))["saved"]["files"], 1)
        self.berth = self.start("--session", "other", "--network", "host", env=env)
        self.output("true")
        self.assertEqual(self.network()[0], True)

    def test_a_box_that_was_made_elsewhere_has_the_network_that_is_asked_for(self):
        said = api(e2b.emulator(), "POST", "/v2/sandboxes", {"templateID": "base", "timeout": 300, "autoPause": True})
        self.command_line("sessions", "adopt", said.json["sandboxID"], "--session", "taken")
        self.berth = self.start("--session", "taken", "--network", "none")
        self.output("true")
        self.assertEqual(self.network()[0], False)

    def filtered(self, allow, **more):
        return {"BERTH_NETWORK": "filtered", "BERTH_FILTER_ALLOW": allow, **more}

    def reached(self):
        allows, network = self.network()
        self.assertEqual((allows in (None, True), network.get("denyOut")), (True, ["0.0.0.0/0"]))
        return network["allowOut"]

    def test_the_rules_of_a_filtered_network_are_e2b_s_from_the_first_moment(self):
        """And are told as they were written; no proxy of berth's is told to commands."""
        rules = self.filtered("pypi.org,*.pythonhosted.org,198.41.0.0/24:*", BERTH_FILTER_DENY="10.0.0.0/8")
        self.berth = self.start("--session", "other", env=rules)
        self.assertEqual(self.output("echo ${HTTPS_PROXY:-none}"), "none\n")
        self.assertEqual(self.reached(), ["pypi.org", "*.pythonhosted.org", "198.41.0.0/24"])
        found = self.berth.call_tool("session_info").data
        self.assertEqual((found["network"], found["filter"]["deny"]), ("filtered", ["10.0.0.0/8"]))
        self.assertIn("198.41.0.0/24:*", found["filter"]["allow"])

    def test_other_rules_are_e2b_s_before_the_call_begins(self):
        self.berth = self.start("--session", "other", env=self.filtered("pypi.org"))
        self.output("echo kept >file")
        for env, wanted in ((self.filtered("npmjs.org"), ["npmjs.org"]),
                            ({}, ["npmjs.org"]),  # who asks for nothing takes what is there
                            ({"BERTH_FILTER_ALLOW": "pypi.org"}, ["npmjs.org"])):  # rules of no network ask for none
            with self.subTest(env):
                self.berth.close()
                self.berth = self.start("--session", "other", env=env)
                found = self.run_command("cat file")
                self.assertEqual(found.data["stdout"], "kept\n")
                self.assertFalse(any("settings" in line for line in found.notices), found)
                self.assertEqual(self.reached(), wanted)
        for mode, wanted in (("none", (False, {})), ("host", (True, {}))):
            self.berth.close()
            self.berth = self.start("--session", "other", "--network", mode)
            self.output("true")
            self.assertEqual(self.network(), wanted)

    def test_a_filtered_network_is_not_opened_while_a_server_is_there_that_asked_for_it(self):
        """And is closed for one that had all."""
        self.berth = self.start("--session", "other", "--network", "host")
        self.output("true")
        stricter = self.start("--session", "other", env=self.filtered("pypi.org"))
        stricter.call_tool("bash_exec", {"command": "true"})
        self.assertEqual(self.reached(), ["pypi.org"])
        wider = self.start("--session", "other", "--network", "host")
        found = wider.call_tool("bash_exec", {"command": "true"})
        self.assertTrue(any("network" in line for line in found.notices), found)
        self.assertEqual(self.reached(), ["pypi.org"])

    def test_rules_that_e2b_cannot_keep_stop_the_start(self):
        for more, words in (({"BERTH_FILTER_ALLOW": "pypi.org:443"}, ("ports 80 and 443", 'Write "pypi.org"')),
                            ({"BERTH_FILTER_ALLOW": "198.41.0.0/24"}, ("to no ports", 'Write "198.41.0.0/24:*"')),
                            ({"BERTH_FILTER_DENY": "*.org"}, ("though it be denied", "--backend local")),
                            ({"BERTH_FILTER_PRIVATE": "10.0.0.0/8"}, ("no private network", "--backend local")),
                            ({"BERTH_E2B_ALLOW_OUT": "pypi.org"}, ("the network is filtered", "filter.allow"))):
            with self.subTest(more):
                said = json.loads(self.command_line("config", "--json", status=2,
                                                    env={**self.filtered("pypi.org"), **more}))
                for word in words:
                    self.assertIn(word, said["reason"] + said["remedy"])
                self.assertIn(next(iter(more)), said["reason"])

    def test_lists_without_a_network_or_without_e2b_are_refused(self):
        for env, word in (({"BERTH_NETWORK": "none"}, "there is none"),
                          ({"BERTH_NETWORK": "host", "BERTH_BACKEND": "local"}, "kept by E2B alone")):
            said = json.loads(self.command_line("config", "--json", status=2,
                                                env={"BERTH_E2B_DENY_OUT": "1.1.1.1", **env}))
            self.assertIn(word, said["reason"])
