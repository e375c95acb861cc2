"""A server of E2B's protocol that takes what is said of the network, and keeps nothing of it."""

import e2b
from suite import ParityTest, e2b_only

e2b  # the path of what follows
from client import api  # noqa: E402

REACH = "for to in 1.1.1.1 9.9.9.9; do timeout 5 head -c1 </dev/tcp/$to/53 2>/dev/null | wc -c; done"
START = "envd POST /process.Process/Start"
FILES = "envd POST /files"


@e2b_only
class UnkeptOnE2bTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(e2b.emulator().settings, keeps_network=True, redirects_names=False, changes_network=True,
                        v2=True, v2_list=True)

    def unkept(self, **settings):
        e2b.emulator().settings(keeps_network=False, **settings)

    def serve(self, *flags, **env):
        self.berth.close()
        self.berth = self.start("--session", "work", *flags, env=env)

    def refusal(self):
        """Of a call that must not begin."""
        found = self.berth.call_tool("bash_exec", {"command": "touch begun"})
        self.assertEqual(found.error.get("code"), "backend_error", found)
        self.assertIn("answers on port", found.error["message"])
        self.assertIn("--network host", found.error["hint"])
        self.assertFalse(found.error["retryable"])
        return found

    def test_the_emulator_keeps_it_where_it_is_not_told_otherwise(self):
        """By what a command reaches: what is denied is taken and closed, as E2B's firewall has it."""
        for flags, env, reached in (
                (("--network", "none"), {}, "0\n0\n"), (("--network", "host"), {}, "1\n1\n"),
                (("--network", "host"), {"BERTH_E2B_DENY_OUT": "9.9.9.9"}, "1\n0\n"),
                ((), {"BERTH_NETWORK": "filtered", "BERTH_FILTER_ALLOW": "9.0.0.0/8:*"}, "0\n1\n")):
            with self.subTest(flags=flags, env=env):
                self.serve(*flags, **env)
                self.assertEqual(self.output(REACH), reached)

    def test_a_box_that_gets_out_is_not_used_and_not_left(self):
        for flags, env in ((("--network", "none"), {}),
                           ((), {"BERTH_NETWORK": "filtered", "BERTH_FILTER_ALLOW": "pypi.org"}),
                           (("--network", "host"), {"BERTH_E2B_DENY_OUT": "0.0.0.0/0"})):
            for v2 in (True, False):
                with self.subTest(flags=flags, env=env, v2=v2):
                    self.unkept(v2=v2, v2_list=v2)
                    self.serve(*flags, **env)
                    self.refusal()
                    e2b.emulator().counts(clear=True)
                    self.refusal()  # and no box is made to be told the same
                    self.assertEqual(e2b.emulator().counts(clear=True), {})
                    self.assertEqual(e2b.boxes(), [])
        self.serve("--network", "host")  # of which nothing is to be kept
        self.assertEqual(self.output(REACH), "1\n1\n")

    def test_a_host_that_answers_all_names_itself_is_no_way_out(self):
        e2b.emulator().settings(redirects_names=True)
        self.serve("--network", "none")
        self.assertEqual(self.output(REACH), "1\n1\n")  # of the host, though it was asked for others
        self.command_line("sessions", "kill", "work", "--purge")
        self.unkept()
        self.serve("--network", "none")
        self.assertIn("answers on port 443", self.refusal().error["message"])

    def test_it_costs_no_request(self):
        for flags in (("--network", "none"), ("--network", "host")):
            with self.subTest(flags):
                self.serve(*flags)
                self.berth.list_tools()
                e2b.emulator().counts(clear=True)
                self.output("true")
                counts = e2b.emulator().counts(clear=True)
                counts.pop("connections", None)
                self.assertEqual(counts, {"api POST /v2/sandboxes": 1, FILES: 2, START: 2 + 1})
                self.command_line("sessions", "kill", "work", "--purge")

    def test_a_home_whose_next_machine_would_get_out_sleeps_again(self):
        self.serve("--network", "none")
        self.output("echo kept >file")
        self.command_line("sessions", "kill", "work")
        (box,) = e2b.boxes()
        self.unkept()
        self.serve("--network", "none")
        self.refusal()
        self.assertEqual(e2b.emulator().books()["paused"], [box])
        e2b.emulator().settings(keeps_network=True)
        self.serve("--network", "none")  # whose server has seen nothing yet
        self.assertEqual(self.output("cat file; ls"), "kept\nfile\n")

    def test_a_living_one_that_would_get_out_is_not_used(self):
        """Nor by a later call, for a minute."""
        self.serve("--network", "host")
        self.output("echo kept >file")
        self.unkept()
        self.serve("--network", "none")
        self.refusal()
        self.refusal()
        e2b.emulator().settings(keeps_network=True)
        self.serve("--network", "none")
        self.assertEqual(self.output(f"cat file; ls; {REACH}"), "kept\nfile\n0\n0\n")

    def test_a_server_that_changes_no_network_has_the_next_machine_in_a_box_that_was_made_for_the_same(self):
        """And for another one says so, and what to do; the files are kept."""
        e2b.emulator().settings(v2=False, v2_list=False, changes_network=False)
        for mode, other in (("none", "filtered"), ("filtered", "none")):
            with self.subTest(mode):
                env = {"BERTH_NETWORK": mode, **({"BERTH_FILTER_ALLOW": "pypi.org"} if mode == "filtered" else {})}
                self.serve(**env)
                self.output("echo kept >file")
                self.command_line("sessions", "kill", "work")
                self.assertEqual(self.output(f"cat file; {REACH}"), "kept\n0\n0\n")
                self.command_line("sessions", "kill", "work")
                self.serve(**{"BERTH_NETWORK": other, "BERTH_FILTER_ALLOW": "npmjs.org"} if other == "filtered"
                           else {"BERTH_NETWORK": other})
                found = self.berth.call_tool("bash_exec", {"command": "touch begun"})
                self.assertEqual(found.error.get("code"), "backend_error", found)
                self.assertIn("was made to reach something else", found.error["message"])
                self.serve(**env)
                self.assertEqual(self.output("ls"), "file\n")
                self.command_line("sessions", "kill", "work", "--purge")

    def test_one_that_was_made_elsewhere_is_asked_before_its_first_call(self):
        said = api(e2b.emulator(), "POST", "/v2/sandboxes", {"templateID": "base", "timeout": 300, "autoPause": True})
        self.unkept()
        self.command_line("sessions", "adopt", said.json["sandboxID"], "--session", "taken")
        self.berth = self.start("--session", "taken", "--network", "none")
        self.refusal()

    def test_a_change_of_the_network_whose_connections_break_is_made_all_the_same(self):
        """Whichever of its requests it is: all of them may be made twice."""
        self.addCleanup(e2b.emulator().clear_faults)
        modes = ["none", "host"]
        self.serve("--network", modes[0])
        self.output("true")
        for plane, skips in (("api", 4), ("envd", 3)):
            for skip in range(skips):
                for wrong in ({"lose_reply": True}, {"drop": True}):
                    with self.subTest(plane=plane, skip=skip, wrong=wrong):
                        modes.reverse()
                        self.serve("--network", modes[0])
                        self.wait_until(lambda: self.berth.list_tools() and
                                        "api GET /v2/sandboxes" in e2b.emulator().counts(clear=True), 20, "its start")
                        e2b.emulator().fault(plane=plane, skip=skip, **wrong)
                        reached = self.output(REACH)
                        left = e2b.emulator().faults_left()
                        e2b.emulator().clear_faults()
                        self.assertFalse(left, "nothing broke")
                        self.assertEqual(reached, {"none": "0\n0\n", "host": "1\n1\n"}[modes[0]])

    def test_a_guest_that_could_not_be_told_of_its_network_is_told_later(self):
        """The books have that it was not, so the next server that asks says it again."""
        self.serve("--network", "none")
        self.output("true")
        self.serve("--network", "host")
        self.berth.list_tools()
        e2b.emulator().fault(plane="envd", path="/process.Process/Start", status=400, skip=1)
        self.addCleanup(e2b.emulator().clear_faults)
        self.assertEqual(self.output("echo ${PIP_RETRIES-unset}"), "0\n")
        self.serve("--network", "host")
        self.assertEqual(self.output("echo ${PIP_RETRIES-unset}"), "unset\n")
