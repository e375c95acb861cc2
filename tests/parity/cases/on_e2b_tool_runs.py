"""As Letta has it: an agent's tools run in a sandbox that the next run uses again, each run by a server of
its own, on whichever host, with variables of the call and of the operator's profile."""

import json
import os
import pathlib
import tempfile

import e2b
from suite import e2b_only
from two_hosts import TwoHostsTest

PYTHON = "/usr/bin/python3"
TOOL = """\
import json, os, sys
import greetings  # a package that an earlier run installed
given = json.load(sys.stdin)
state = json.load(open("state.json")) if os.path.exists("state.json") else {"runs": 0}
state["runs"] += 1
json.dump(state, open("state.json", "w"))
names = ("TOOL_ID", "API_KEY", "STAGE", "SHARED", "E2B_API_KEY", "OF_THE_SERVER")
print(json.dumps({"said": greetings.greet(given["name"]), "runs": state["runs"],
                  "env": {name: os.environ.get(name) for name in names}}))
"""
PROFILES = """\
[profiles.tools]
env = ["STAGE=production", "SHARED=of the profile"]
[profiles.tools.session]
setup = ["echo made >>~/setups", "python3 -m venv --without-pip ~/venv"]
[profiles.changed]
extends = "tools"
env = ["STAGE=trial"]
network = "host"
template = "of-another-kind"
[profiles.changed.local]
nofile = 200
"""


@e2b_only
class ToolRunsTest(TwoHostsTest):
    session = "agent-7"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="berth-settings-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        file = pathlib.Path(folder.name) / "berth.toml"
        file.write_text(PROFILES)
        # No `tools` for the command line, which sees the host's sessions whatever their profile.
        self.environment = {"BERTH_CONFIG": str(file)}
        super().setUp()

    def served(self, number, profile="tools", **env):
        return self.on(number % 2, "--profile", profile, env={"OF_THE_SERVER": "its own", **env})

    def result(self, server, tool, **arguments):
        result = server.call_tool(tool, arguments)
        self.assertFalse(result.is_error, result)
        return result

    def one_run(self, number, env, profile="tools", **own):
        """(what the tool printed, what berth said beside it)"""
        server = self.served(number, profile, **own)
        result = self.result(server, "bash_exec", command="venv/bin/python tool.py", env=env,
                             stdin=json.dumps({"name": f"run {number}"}))
        server.close()
        self.assertTrue(self.sleeps())
        self.assertEqual(result.data["exit_code"], 0, result)
        return json.loads(result.data["stdout"]), result.notices

    def install(self):
        """The tool, and what pip would put where the interpreter of the venv looks for it."""
        server = self.served(0)
        (told,) = self.result(server, "write_file", path="tool.py", content=TOOL).notices
        self.assertIn("2 commands of session.setup", told)
        where = self.result(server, "bash_exec", command="venv/bin/python -c 'import sysconfig; "
                                                         "print(sysconfig.get_path(\"purelib\"), end=\"\")'")
        self.assertIn("/home/user/venv/", where.data["stdout"])
        self.result(server, "write_file", path=where.data["stdout"] + "/greetings/__init__.py",
                    content='def greet(name):\n    return f"hello, {name}"\n')
        server.close()
        self.assertTrue(self.sleeps())

    def test_runs_use_what_earlier_ones_left_and_have_variables_of_their_own(self):
        self.install()
        for number in range(1, 6):
            with self.subTest(number):
                env = {"TOOL_ID": f"tool-{number}", "API_KEY": f"key of run {number}"}
                if number % 2:
                    env["SHARED"] = "of the call"
                said, notices = self.one_run(number, env)
                self.assertEqual(notices, [])
                self.assertEqual(said, {"said": f"hello, run {number}", "runs": number, "env": {
                    "SHARED": "of the profile", **env, "STAGE": "production",
                    "E2B_API_KEY": None, "OF_THE_SERVER": None}})
        self.assertEqual(self.boxes_made(), 1)
        found = self.result(self.served(0), "bash_exec", command="cat setups; echo ${API_KEY-none}")
        self.assertEqual(found.data["stdout"], "made\nnone\n")
        log = json.dumps(e2b.emulator().log(self.box()))
        for secret in ("key of run", "of the profile", "greet"):
            self.assertNotIn(secret, log)

    def test_another_agent_has_a_sandbox_of_its_own(self):
        self.install()
        self.session = "agent-8"
        server = self.served(1)
        self.assertEqual(self.result(server, "bash_exec", command="ls").data["stdout"], "setups\nvenv\n")
        self.assertEqual(self.boxes_made(), 2)

    def test_a_changed_profile_changes_what_it_can_and_says_the_rest_once(self):
        self.install()
        _, notices = self.one_run(1, {})
        self.assertEqual(notices, [])
        said, (notice,) = self.one_run(2, {}, "changed")
        self.assertEqual((said["env"]["STAGE"], said["env"]["SHARED"], said["runs"]), ("trial", None, 2))
        self.assertNotIn("network", notice)  # nobody else works there, so it has that
        self.assertIn("template", notice)
        self.assertNotIn("nofile", notice)
        server = self.served(3, "changed")
        server.call_tool("bash_exec", {"command": "true"})  # a server of its own, which tells its client
        self.assertEqual(self.result(server, "bash_exec", command="ulimit -n").data["stdout"], "200\n")
        self.assertEqual(self.result(server, "bash_exec", command="true").notices, [])
        shown = self.result(server, "session_info").data
        self.assertEqual((shown["network"], shown["template"]), ("host", ""), shown)
        server.close()
        said, notices = self.one_run(4, {})
        self.assertEqual((said["env"]["STAGE"], said["runs"], notices), ("production", 3, []))
        self.assertEqual(self.boxes_made(), 1)
