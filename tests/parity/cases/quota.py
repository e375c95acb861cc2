"""session.quota: what the home may have, told and kept, with nothing deleted."""

import time

from suite import ParityTest

MEBIBYTE = 1024 * 1024
LIMIT = 16 * MEBIBYTE


class QuotaTest(ParityTest):
    environment = {"BERTH_SESSION_QUOTA": str(LIMIT)}
    enforced_by = "accounting"

    def test_it_is_told(self):
        data = self.run_command("head -c 4M /dev/urandom > data").data["quota"]
        self.assertEqual((data["limit_bytes"], data["enforced_by"]), (LIMIT, self.enforced_by))
        self.assertGreaterEqual(data["used_bytes"], 4 * MEBIBYTE)
        self.assertLess(data["used_bytes"], 5 * MEBIBYTE)
        info = self.call("session_info")
        self.assertEqual(info.data["quota"], data)
        self.assertIn("room in the home: 4.", info.text)
        self.assertIn("of 16 MiB (session.quota", info.text)
        self.assertIn("of 16 MiB (session.quota", self.command_line("sessions", "show", "work"))

    def test_a_write_is_refused_before_anything_changes(self):
        self.output("head -c 12M /dev/urandom > data; sha256sum data > sum")
        for path, mode in (("new", "overwrite"), ("data", "append")):
            error = self.refused("quota_exceeded", "write_file", path=path, mode=mode,
                                 content="x" * 5 * MEBIBYTE).error
            self.assertIn("session.quota", error["message"])
            self.assertEqual((error["details"]["limit_bytes"], error["details"]["enforced_by"]),
                             (LIMIT, self.enforced_by))
        self.refused("quota_exceeded", "edit_file", path="sum",
                     edits=[{"old_text": "data", "new_text": "y" * 5 * MEBIBYTE}])
        self.assertEqual(self.output("sha256sum -c sum && ls"), "data: OK\ndata\nsum\n")
        self.call("write_file", path="data", content="small")
        self.call("write_file", path="new", content="x" * 5 * MEBIBYTE)

    def test_a_load_is_refused(self):
        self.output("head -c 6M /dev/urandom > one")
        self.call("save_to_workspace", sandbox_path="one")
        self.output("cp one two")
        self.refused("quota_exceeded", "load_from_workspace", workspace_path="one",
                     sandbox_path="three")
        self.assertEqual(self.output("ls"), "one\ntwo\n")

    def test_a_command_is_stopped_and_a_quiet_job_is_not(self):
        job = self.run_command("sleep 100", background=True).data["job_id"]
        began = time.monotonic()
        result = self.run_command("echo begun; head -c 400M /dev/zero > large; sleep 60", timeout=60)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual((result.data["fate"], result.data["stdout"]), ("signaled", "begun\n"))
        self.assertIn("made the home too large", result.text)
        self.assertIn("session.quota", result.text)
        self.assertEqual([entry["job_id"] for entry in self.call("session_info").data["jobs"]], [job])
        # Nothing was deleted, and the session goes on: who makes room may work.
        self.refused("quota_exceeded", "write_file", path="note", content="x")
        self.assertEqual(self.output("ls; rm large"), "large\n")
        self.call("write_file", path="note", content="x")

    def test_commands_that_are_over_before_anybody_looks_do_not_add_up(self):
        self.run_command(f"head -c {LIMIT + 1000} /dev/zero >base")
        for number in range(30):
            self.run_command(f"head -c 1000k /dev/zero >more{number}")
        used = int(self.output("du -s --block-size=1 . | cut -f1"))
        self.assertLess(used, LIMIT + 4 * MEBIBYTE)
        # Who has made room may write again.
        self.output("rm base && rm -f more*")  # of a full XFS no further file was made
        self.assertEqual(self.output("head -c 2M /dev/zero >more; stat -c %s more"), "2097152\n")

    def test_a_job_says_why_it_ended(self):
        job = self.run_command("head -c 400M /dev/zero > large; sleep 60", background=True).data["job_id"]
        self.wait_until(lambda: self.call("bash_output", job_id=job).data["status"] == "ended", 30,
                        "the job was stopped")
        told = self.call("bash_output", job_id=job)
        self.assertEqual(told.data["ended_by"], "quota")
        self.assertIn("session.quota", told.text)

    def test_near_the_limit_the_result_warns(self):
        self.assertNotIn("session.quota", self.run_command("head -c 1M /dev/urandom > data").text)
        self.assertIn("session.quota", self.run_command("head -c 15M /dev/urandom > data").text)

    def test_outside_of_the_home_nothing_counts(self):
        self.assertEqual(self.output("f=$(mktemp); head -c 40M /dev/zero > $f; sleep 1; rm $f; echo ok"),
                         "ok\n")


class NoQuotaTest(ParityTest):
    def test_without_a_limit_nothing_is_said_of_it(self):
        self.assertNotIn("quota", self.run_command("true").data)
        info = self.call("session_info")
        self.assertNotIn("quota", info.data)
        self.assertNotIn("room in the home", info.text)
