"""What outlasts whatever the clocks of servers and of the command line do: a file in the workspace, and
the home of a session that has ended."""

import json


class Kept:
    def __init__(self, test, serve, environment):
        """`serve(*arguments)` starts a server; `environment`: of the command line, with its clocks."""
        self._test = test
        self._serve = serve
        self._environment = environment

    def make(self, server):
        """`server` saves; the other one is ended."""
        self._tell(server, "bash_exec", command="echo saved >w")
        self._tell(server, "save_to_workspace", sandbox_path="w", workspace_path="/before")
        over = self._serve("--session", "over")
        self._tell(over, "bash_exec", command="echo mine >h")
        self._test.assertEqual(over.close(), 0)
        self._test.command_line("sessions", "kill", "over", env=self._environment)

    def check(self, server):
        """Nobody who clears up takes any of it, and it can be used as before."""
        collected = json.loads(self._test.command_line("sessions", "gc", "--json", env=self._environment))
        self._test.assertEqual((collected["failed"], collected["removed"], collected["swept"]["files"]),
                               ([], [], 0), collected)
        listed = self._tell(server, "list_workspace_files").data["files"]
        self._test.assertIn("/before", [file["workspace_path"] for file in listed])
        self._tell(server, "load_from_workspace", workspace_path="/before", sandbox_path="~/loaded")
        self._tell(server, "save_to_workspace", sandbox_path="~/loaded", workspace_path="/after")
        text = self._tell(server, "bash_exec", command="cat loaded; rm loaded").data["stdout"]
        self._test.assertEqual(text, "saved\n")

    def use(self):
        """The home is there for the session's next call, which is told what it must be."""
        over = self._serve("--session", "over")
        result = over.call_tool("bash_exec", {"command": "cat h"})
        self._test.assertEqual(result.data["stdout"], "mine\n")
        (told,) = result.notices
        self._test.assertIn("the sandbox had ended (it was ended on request)", told)
        self._test.assertEqual(over.close(), 0)
        self._test.command_line("sessions", "kill", "over", "--purge", env=self._environment)

    def _tell(self, server, tool, **arguments):
        result = server.call_tool(tool, arguments)
        self._test.assertFalse(result.is_error, result)
        self._test.assertEqual(result.notices, [])
        return result
