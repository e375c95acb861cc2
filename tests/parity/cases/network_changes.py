"""What a session's commands find when another network is asked for: on `local` by another machine, on `e2b` in
the same one."""

from suite import ParityTest, sandboxes_only

TOLD = 'echo "${PIP_RETRIES-unset} ${NPM_CONFIG_FETCH_RETRIES-unset} ${HTTPS_PROXY-unset}"'


@sandboxes_only
class NetworkChangesTest(ParityTest):
    def told_with(self, *flags):
        """Of the next server, by a command and by a job."""
        self.berth.close()
        self.berth = self.start("--session", "work", *flags)
        said = self.output(TOLD)
        job = self.run_command(TOLD, background=True).data["job_id"]
        self.assertEqual(self.call("bash_output", job_id=job, wait=10).data["stdout"], said)
        self.wait_until(lambda: not self.berth.call_tool("session_info").data["jobs"], 10, "its end")
        return said

    def test_installers_are_told_of_no_network_for_as_long_as_there_is_none(self):
        for _ in range(2):
            self.assertEqual(self.told_with("--network", "none"), "0 0 unset\n")
            self.assertEqual(self.told_with("--network", "host"), "unset unset unset\n")
        self.assertEqual(self.told_with(), "unset unset unset\n")  # who asks for nothing takes what is there
