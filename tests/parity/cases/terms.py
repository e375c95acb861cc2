"""What of a living machine changes with the settings of the server that comes next."""

import json
import os
import tempfile
import time

from suite import ParityTest, local_only

MEBIBYTE = 1024 * 1024


class TermsTest(ParityTest):
    environment = {"BERTH_SESSION_JOBS": "1", "BERTH_SESSION_CALLS": "2", "BERTH_LOCAL_NOFILE": "300",
                   "BERTH_SESSION_IDLE_PAUSE": "600s", "BERTH_SESSION_TTL": "2h",
                   "BERTH_SESSION_QUOTA": str(8 * MEBIBYTE)}

    def come(self, **env):
        """Another server, with other settings."""
        self.berth = self.start("--session", "work", env=env)

    def sandbox_id(self):
        return self.call("session_info").data["sandbox_id"]

    def test_numbers_of_commands_and_jobs(self):
        job = self.run_command("sleep 100", background=True).data["job_id"]
        self.assertIn("session.jobs", self.refused("busy", "bash_exec", command="sleep 100",
                                                   background=True).text)
        machine = self.sandbox_id()
        self.come(BERTH_SESSION_JOBS="2")
        self.assertEqual(self.run_command("sleep 100", background=True).notices, [])
        jobs = [entry["job_id"] for entry in self.call("session_info").data["jobs"]]
        self.assertEqual(len(jobs), 2)
        self.assertIn(job, jobs)
        self.assertEqual(self.sandbox_id(), machine)
        # Fewer than there are: nothing is ended for it, and no further one begins.
        self.come(BERTH_SESSION_JOBS="1")
        self.refused("busy", "bash_exec", command="sleep 100", background=True)
        self.assertEqual(len(self.call("session_info").data["jobs"]), 2)

    def test_open_files_of_commands_that_begin_later(self):
        self.assertEqual(self.output("ulimit -n"), "300\n")
        self.come(BERTH_LOCAL_NOFILE="200")
        self.assertEqual(self.output("ulimit -n"), "200\n")
        self.come(BERTH_LOCAL_NOFILE="400")
        self.assertEqual(self.output("ulimit -n"), "400\n")

    def test_times(self):
        self.output("true")
        self.come(BERTH_SESSION_IDLE_PAUSE="50s", BERTH_SESSION_TTL="90s")
        self.assertEqual(self.run_command("true").notices, [])  # the ttl was taken too
        shown = json.loads(self.command_line("sessions", "show", "work", "--json"))
        self.assertLessEqual(shown["pause"]["pauses_in_ms"], 50_000)

    def test_the_quota_is_raised_and_lowered(self):
        self.output("head -c 6M /dev/urandom > data")
        self.refused("quota_exceeded", "write_file", path="more", content="x" * 4 * MEBIBYTE)
        self.come(BERTH_SESSION_QUOTA=str(16 * MEBIBYTE))
        self.call("write_file", path="more", content="x" * 4 * MEBIBYTE)
        self.assertEqual(self.call("session_info").data["quota"]["limit_bytes"], 16 * MEBIBYTE)
        self.come(BERTH_SESSION_QUOTA=str(4 * MEBIBYTE))
        self.refused("quota_exceeded", "write_file", path="third", content="x" * MEBIBYTE)
        self.assertEqual(self.output("rm data more; ls"), "")
        self.call("write_file", path="third", content="x" * MEBIBYTE)

    def test_who_asks_for_nothing_changes_nothing(self):
        self.output("true")
        self.environment = {}
        self.come()
        self.assertEqual(self.run_command("ulimit -n").data["stdout"], "300\n")
        self.assertEqual(self.call("session_info").data["limits"]["open_files"], 300)

    def test_what_cannot_change_is_told(self):
        self.output("true")
        self.come(BERTH_OUTPUT_SPILL_STREAM="1MiB", BERTH_SESSION_JOBS="7")
        (told,) = self.run_command("true").notices
        self.assertIn("(output.spill_stream)", told)
        self.environment = {}
        self.come(BERTH_SESSION_QUOTA="0")
        (told,) = self.run_command("true").notices
        self.assertIn("(session.quota)", told)


class HostLimitsTest(ParityTest):
    """What the kernel keeps."""

    environment = {"BERTH_LOCAL_PIDS": "40", "BERTH_LOCAL_MEMORY": "64MiB"}
    fill = "head -c 200M /dev/zero | tail | wc -c"  # tail keeps it all: there is no line

    def come(self, **env):
        self.berth = self.start("--session", "work", env=env)

    def limits(self):
        return self.call("session_info").data["limits"]

    @local_only
    def test_processes(self):
        start = "for i in $(seq 60); do sleep 20 & done 2>/dev/null; jobs -r | wc -l"
        few = self.run_command(start).data["stdout"].split()
        self.assertNotIn("60", few)  # none, where the shell had no process for seq
        self.come(BERTH_LOCAL_PIDS="200")
        self.assertEqual(self.output(start), "60\n")
        self.assertEqual(self.limits()["pids"], 200)

    @local_only
    def test_fewer_processes_than_there_are(self):
        """No limit: a job would be ended to make room for the next command."""
        job = self.run_command("for i in $(seq 20); do sleep 100 & done; wait",
                               background=True).data["job_id"]
        self.wait_until(lambda: int(self.output("ps -e | grep -c sleep || :")) >= 20, 10, "all are there")
        self.come(BERTH_LOCAL_PIDS="10")
        result = self.run_command("echo on")
        self.assertEqual(result.data["stdout"], "on\n")
        (told,) = result.notices
        self.assertIn("(local.pids)", told)
        self.assertEqual([entry["job_id"] for entry in self.call("session_info").data["jobs"]], [job])
        self.assertEqual(self.limits()["pids"], 40)

    @local_only
    def test_memory(self):
        first = self.run_command(self.fill)
        limits = self.limits()
        if "memory_bytes" in limits["not_enforced"]:
            # Nothing keeps it, so nothing can be changed, and that is told.
            self.come(BERTH_LOCAL_MEMORY="512MiB")
            (told,) = self.run_command("true").notices
            self.assertIn("(local.memory)", told)
            return
        self.assertNotEqual(first.data["stdout"].strip(), str(200 * MEBIBYTE))
        self.come(BERTH_LOCAL_MEMORY="512MiB")
        self.assertEqual(self.output(self.fill).strip(), str(200 * MEBIBYTE))
        self.assertEqual(self.limits()["memory_bytes"], 512 * MEBIBYTE)
        # Not below what is in use: nobody is killed for it.
        job = self.run_command("(head -c 200M /dev/zero; sleep 100) | tail", background=True).data["job_id"]
        resident = "ps -C tail -o rss= || echo 0"
        self.wait_until(lambda: int(self.output(resident).split()[0]) > 200 * 1024, 30, "it has all")
        self.come(BERTH_LOCAL_MEMORY="64MiB")
        (told,) = self.run_command("true").notices
        self.assertIn("(local.memory)", told)
        self.assertEqual([entry["job_id"] for entry in self.call("session_info").data["jobs"]], [job])
        self.assertEqual(self.limits()["memory_bytes"], 512 * MEBIBYTE)

    @local_only
    def test_processors(self):
        self.output("true")
        self.come(BERTH_LOCAL_CPUS="0.5")
        told = self.run_command("true").notices
        if "cpus" in self.limits()["not_enforced"]:
            self.assertIn("(local.cpus)", told[0])
        else:
            self.assertEqual((told, self.limits()["cpus"]), ([], 0.5))


@local_only
class RetiredTest(ParityTest):
    """What a machine cannot become: it is made anew where nobody uses it."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-mount-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.mount = f"{folder.name}:/mnt/it"

    def leave_and_come(self, *arguments):
        self.berth.close()
        self.berth = self.start("--session", "work", *arguments)

    def test_where_nobody_uses_it(self):
        self.output("echo mine > file; echo gone > /tmp/file")
        before = self.call("session_info").data["sandbox_id"]
        self.leave_and_come("--mount", self.mount)
        result = self.run_command("ls -d /mnt/it; cat file; ls /tmp")
        self.assertEqual(result.data["stdout"], "/mnt/it\nmine\n")
        (told,) = result.notices
        self.assertIn("it was made with other settings than are asked for now", told)
        self.assertIn("files in the home are kept", told)
        self.assertEqual(self.run_command("true").notices, [])
        self.assertEqual(self.call("session_info").data["sandbox_id"], before)
        # Who asks for nothing takes it as it is.
        self.leave_and_come()
        self.assertEqual(self.run_command("ls -d /mnt/it").notices, [])

    def test_where_a_job_runs(self):
        job = self.run_command("sleep 100", background=True).data["job_id"]
        self.leave_and_come("--mount", self.mount)
        (told,) = self.run_command("true").notices
        self.assertIn("(mount)", told)
        self.assertEqual([entry["job_id"] for entry in self.call("session_info").data["jobs"]], [job])
        self.call("bash_kill", job_id=job)
        self.leave_and_come("--mount", self.mount)
        self.assertEqual(self.output("ls -d /mnt/it"), "/mnt/it\n")

    def test_where_an_outcome_reached_nobody(self):
        """It is told with what it printed: the job that has it ends with the machine."""
        self.output("true")
        self.berth.call_async("bash_exec", {"command": "sleep 1; echo precious; exit 3"})
        time.sleep(0.5)
        self.berth.process.kill()
        self.berth.process.wait()
        time.sleep(1.5)
        self.berth = self.start("--session", "work", "--mount", self.mount)
        result = self.run_command("ls -d /mnt/it")
        self.assertEqual(result.data["stdout"], "/mnt/it\n")
        told = "\n".join(result.notices)
        self.assertIn("`sleep 1; echo precious; exit 3`) reached nobody", told)
        self.assertIn("exit 3; it printed at last:\n| precious\n", told)
        self.assertIn("it was made with other settings", told)

    def test_mounts_in_another_order_are_the_same(self):
        first, second = f"{self.mount}/a", f"{self.mount[:self.mount.index(':')]}:/mnt/b"
        self.leave_and_come("--mount", first, "--mount", second)
        self.output("touch /tmp/here")
        self.leave_and_come("--mount", second, "--mount", first)
        result = self.run_command("ls /tmp/here")
        self.assertEqual((result.data["stdout"], result.notices), ("/tmp/here\n", []))

    def test_where_another_server_works(self):
        self.output("true")
        other = self.start("--session", "work", "--mount", self.mount)
        (told,) = other.call_tool("bash_exec", {"command": "true"}).notices
        self.assertIn("(mount)", told)

    def test_what_reaches_too_far_is_refused_only_while_it_is_used(self):
        self.leave_and_come("--mount", self.mount + ":rw")
        self.output("true")
        other = self.start("--session", "work", "--mount", self.mount)
        self.assertTrue(other.call_tool("bash_exec", {"command": "true"}).is_error)
        self.berth.close()
        result = other.call_tool("bash_exec", {"command": "touch /mnt/it/x"})
        self.assertFalse(result.is_error, result)
        self.assertEqual(result.data["exit_code"], 1)


class ShownTest(ParityTest):
    """`berth sessions show` tells what the session has, not what that command itself is set to."""

    environment = {"BERTH_LOCAL_NOFILE": "300", "BERTH_EXEC_TIMEOUT": "77"}
    own = {"BERTH_LOCAL_NOFILE": "200", "BERTH_EXEC_TIMEOUT": "88"}

    def show(self, *arguments, session="work"):
        return self.command_line("sessions", "show", session, *arguments, env=self.own)

    def test_of_one_that_runs(self):
        self.output("true")
        text = self.show()
        self.assertRegex(text, r"(?m)^limits: .* 300 open files")
        self.assertNotIn("timeout", text)  # each server has its own
        self.assertNotIn("the next one", text)
        data = json.loads(self.show("--json"))
        self.assertEqual((data["settings_of"], data["limits"]["open_files"]), ("present", 300))
        self.assertNotIn("timeout_s", data["limits"])

    def test_of_one_that_has_ended(self):
        self.output("true")
        self.command_line("sessions", "kill", "work")
        text = self.show()
        self.assertRegex(text, r"(?m)^its last sandbox had:\n(  .*\n)*  limits: .* 300 open files")
        self.assertIn("the next one come from the server whose call makes it", text)
        self.assertNotIn("isolation", text)
        data = json.loads(self.show("--json"))
        self.assertEqual((data["settings_of"], data["limits"]["open_files"], data["layers"]), ("last", 300, []))
        # A server tells its own: a call of it would get them.
        self.berth = self.start("--session", "work", env=self.own)
        limits = self.call("session_info").data["limits"]
        self.assertEqual((limits["open_files"], limits["timeout_s"]), (200, 88))

    def test_of_one_of_which_nothing_is_known(self):
        self.output("true")
        self.command_line("sessions", "kill", "work")
        (record,) = self.state.path.glob("sessions/*/record.json")
        record.write_text("{")
        text = self.show(session=record.parent.name)
        self.assertNotIn("limits: ", text)
        self.assertIn("the next one come from", text)
        data = json.loads(self.show("--json", session=record.parent.name))
        self.assertEqual(data["settings_of"], "unknown")
        self.assertNotIn("limits", data)
