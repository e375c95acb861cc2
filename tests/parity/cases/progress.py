"""What a client that gave a token is told while its call lasts. The protocol's side of it:
tests/mcp/test_progress.py."""

from suite import ParityTest


class ProgressTest(ParityTest):
    def messages(self, token):
        return [message["params"]["message"] for message in list(self.berth.notifications)
                if message["method"] == "notifications/progress" and
                message["params"]["progressToken"] == token]

    def told(self, token, text):
        self.wait_until(lambda: text in self.messages(token), 20, f"{text!r} was not told")

    def test_the_last_lines_of_a_command(self):
        call = self.berth.call_async("bash_exec", {
            "command": "echo begun; for n in 1 2 3 4 5; do echo step $n; done; sleep 60"}, "exec")
        self.told("exec", "step 3\nstep 4\nstep 5")
        self.berth.cancel(call)

    def test_escape_sequences_are_left_out_as_in_the_output(self):
        call = self.berth.call_async("bash_exec", {
            "command": r"printf '\033[1;31mred\033[0m\a\n'; sleep 60"}, "red")
        self.told("red", "red\\x07")
        self.berth.cancel(call)

    def test_a_bar_on_standard_error(self):
        call = self.berth.call_async("bash_exec", {
            "command": r"echo loading; sleep 0.3; printf '\r10%%\r20%%\r30%%' >&2; sleep 60"}, "bar")
        self.told("bar", "30%")
        self.berth.cancel(call)

    def test_what_a_job_prints_while_somebody_waits_for_another_line(self):
        job = self.run_command("for n in $(seq 40); do echo line $n; sleep 0.05; done; sleep 60",
                               background=True).data["job_id"]
        call = self.berth.call_async("bash_output", {"job_id": job, "filter": "never", "wait": 60},
                                     "job")
        self.told("job", "line 38\nline 39\nline 40")
        self.berth.cancel(call)
        self.call("bash_kill", job_id=job)

    def test_nothing_without_a_token(self):
        call = self.berth.call_async("bash_exec", {"command": "echo quiet; sleep 2"})
        heard = self.berth.call_async("bash_exec", {"command": "echo loud; sleep 60"}, "loud")
        self.told("loud", "loud")
        self.assertEqual(call.result().data["stdout"], "quiet\n")
        self.assertEqual({message["params"]["progressToken"]
                          for message in self.berth.notifications
                          if message["method"] == "notifications/progress"}, {"loud"})
        self.berth.cancel(heard)

    def test_a_save_and_a_load(self):
        """They end too soon to be told of, and a token changes nothing else."""
        self.call("write_file", path="~/out/a.txt", content="a\n")
        saved = self.berth.call_async("save_to_workspace", {"sandbox_path": "~/out"}, "save").result()
        self.assertEqual(len(saved.data["files"]), 1, saved)
        loaded = self.berth.call_async("load_from_workspace", {
            "workspace_path": "/out", "sandbox_path": "~/back"}, "load").result()
        self.assertEqual(loaded.data["total_bytes"], 2, loaded)
