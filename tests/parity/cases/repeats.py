"""What an agent that goes round in circles is told, and one whose calls arrive cut off."""

import time

from suite import ParityTest

# Longer than a model takes to answer at the least: sooner calls count as one try.
REACTION = 0.3


class TurnsTest(ParityTest):
    """Each call is of a turn of its own."""

    def call(self, tool, **arguments):
        time.sleep(REACTION)
        return super().call(tool, **arguments)

    def refused(self, code, tool, **arguments):
        time.sleep(REACTION)
        return super().refused(code, tool, **arguments)


class FailureTest(TurnsTest):
    def test_the_third_failure_of_a_call_says_how_often_and_what_to_do(self):
        self.call("write_file", path="a", content="x\n")
        edit = {"path": "a", "old_text": "nowhere", "new_text": "y"}
        for _ in range(2):
            error = self.refused("text_not_found", "edit_file", **edit)
            self.assertNotIn("repeated", error.error)
            self.assertNotIn("in a row", error.text)
            self.call("read_file", path="a")  # changes nothing
        again = {"file_path": "a", "old_string": "nowhere", "new_string": "y"}
        for times in (3, 4):
            error = self.refused("text_not_found", "edit_file", **again)
            self.assertEqual(error.error["repeated"], times)
            self.assertIn(f"\nThis same call has now failed {times} times in a row", error.text)
            self.assertIn("Read the file again", error.text)
        self.assertNotIn("in a row", self.refused("text_not_found", "edit_file",
                                                  **{**edit, "new_text": "z"}).text)

    def test_a_success_or_another_error_begins_anew(self):
        for _ in range(2):
            self.refused("not_found", "read_file", path="b")
        self.run_command("echo x >b")
        self.call("read_file", path="b")
        self.run_command("rm b")
        for _ in range(2):
            self.assertNotIn("in a row", self.refused("not_found", "read_file", path="b").text)
        self.assertIn("failed 3 times in a row",
                      self.refused("not_found", "read_file", path="b").text)

    def test_clients_of_one_session_are_counted_by_themselves(self):
        other = self.start("--session", "repeats")
        self.berth = self.start("--session", "repeats")
        for _ in range(2):
            self.refused("not_found", "read_file", path="nothing")
        time.sleep(REACTION)
        self.assertNotIn("in a row", other.call_tool("read_file", {"path": "nothing"}).text)
        self.assertIn("in a row", self.refused("not_found", "read_file", path="nothing").text)

    def test_a_job_that_is_not_there_is_not_looked_for_among_files(self):
        for _ in range(2):
            self.refused("not_found", "bash_output", job_id="job-9")
        error = self.refused("not_found", "bash_output", job_id="job-9")
        self.assertIn("See with session_info which jobs there are", error.text)
        self.assertNotIn("glob_files", error.text)

    def send_together(self, path):
        """What each of six calls says that are sent at once, and of six behind them; and as how many
        tries they may count at the most. One that is answered less than a quarter of a second after
        the one before was sent was read that soon after its failure; of others nothing is known."""
        sent, tries, texts = time.monotonic(), 1, []
        for call in [self.berth.call_async("read_file", {"path": path}) for _ in range(6)]:
            texts.append(call.result().text)
        tries += 5 if time.monotonic() - sent >= 0.25 else 0
        for _ in range(6):  # faster than any model reads
            before, sent = sent, time.monotonic()
            texts.append(self.berth.call_tool("read_file", {"path": path}).text)
            tries += time.monotonic() - before >= 0.25
        return texts, tries

    def test_calls_that_were_sent_together_are_one_try(self):
        self.output("true")  # the machine is there
        for attempt in range(30):  # a host that is too busy to be fast proves nothing
            path = f"nothing-{attempt}"
            texts, tries = self.send_together(path)
            if tries < 3:
                break
        self.assertLess(tries, 3, "twelve calls were fast once")
        self.assertNotIn("in a row", "".join(texts))
        self.refused("not_found", "read_file", path=path)
        self.assertIn("has now failed 14 times in a row",
                      self.refused("not_found", "read_file", path=path).text)


class CommandTest(TurnsTest):
    def test_the_same_end_three_times_without_another_call_is_noticed(self):
        def told():
            result = self.call("bash_exec", command="echo out; exit 3")
            self.assertIn("out\n", result.text)
            return [notice for notice in result.notices if "in a row" in notice]

        self.assertEqual([told(), told()], [[], []])
        for times in ("3", "4"):
            self.assertIn(f"{times} times in a row, with no other call in between", told()[0])
        self.call("session_info")
        self.assertEqual([told(), told()], [[], []])

    def test_another_description_is_no_other_command(self):
        for times in range(3):
            result = self.call("bash_exec", command="exit 3", description=f"Try number {times}")
        self.assertIn("3 times in a row", "".join(result.notices))

    def test_what_differs_or_succeeds_is_no_row(self):
        for _ in range(4):
            self.assertEqual(self.call("bash_exec", command="echo same").notices, [])
            self.assertEqual(self.call("bash_exec", command="echo x >>n; wc -l <n; exit 1").notices,
                             [])


class CutOffTest(ParityTest):
    def test_nothing_of_half_a_call_is_done(self):
        for arguments in ({}, {"_raw": '{"command": "touch half'}):
            error = self.refused("invalid_argument", "bash_exec", **arguments)
            self.assertIn("run that with bash FILE", error.text)
            self.assertEqual(error.error["details"]["cut_off"]["certain"], bool(arguments))
        self.assertEqual(self.output("ls"), "")

    def test_other_arguments_that_arrived_make_it_an_ordinary_error(self):
        self.assertIn("missing: content; arrived: path",
                      self.refused("invalid_argument", "write_file", path="a").text)


class NearestTest(ParityTest):
    def test_every_path_has_a_nearest_match(self):
        self.run_command("mkdir project; echo x >project/notes.txt")
        self.call("save_to_workspace", sandbox_path="project/notes.txt",
                  workspace_path="/reports/notes.txt")
        for tool, arguments, meant in (
                ("read_file", {"path": "project/note.txt"}, "project/notes.txt?"),
                ("edit_file", {"path": "projct/notes.txt", "old_text": "x", "new_text": "y"},
                 "/project?"),
                ("glob_files", {"pattern": "*", "path": "projekt"}, "/project?"),
                ("grep_files", {"pattern": "x", "path": "projekt"}, "/project?"),
                ("save_to_workspace", {"sandbox_path": "projekt"}, "/project?"),
                ("bash_exec", {"command": "touch ran", "workdir": "projekt"}, "/project?"),
                ("load_from_workspace", {"workspace_path": "/report/notes.txt"},
                 "/reports/notes.txt?"),
                ("load_from_workspace", {"workspace_path": "notes.txt"}, "/reports/notes.txt?"),
                ("delete_workspace_file", {"workspace_path": "/reports/note.txt"},
                 "/reports/notes.txt?")):
            with self.subTest(tool):
                error = self.refused("not_found", tool, **arguments)
                self.assertRegex(error.text, f"(?i)did you mean \\S*{meant[:-1]}\\?")
        self.assertNotIn("ran", self.output("ls"))
