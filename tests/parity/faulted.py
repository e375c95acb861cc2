"""Calls that meet faults, each in a folder of its own, and what is true of whatever comes of one: either
the result is that of a call without a fault and it was done once, or an error says so and means it."""

import json
import pathlib

import e2b
from suite import ParityTest
from tables.e2b_calls import SIX_HUNDRED_KILOBYTES

START, STREAM, SEND = (f"/process.Process/{name}" for name in ("Start", "StreamInput", "SendInput"))
UNTOUCHED = "untouched"  # the folder that no call gets
FIRST = 10  # the number of the call that meets no fault; all have two digits
SOON = 15  # seconds: what a guest gives up, and a stream that is silent, take longer
JOBS = {"printed": "seq 3000; exit 4", "reads": "cat >>~/got",
        "counts": "trap 'echo x >>~/signals' USR1; while :; do sleep 0.1; done"}


class FaultedTest(ParityTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(e2b.emulator().clear_faults)
        self.jobs, self.made = {}, 0

    def box(self):
        (box,) = e2b.boxes()
        return box

    # ---- before

    def make_ready(self, calls, faults):
        """With a folder for each of them together, and one for the call without a fault."""
        self.jobs = {name: self.run_command(command, background=True, stdin_open=True).data["job_id"]
                     for name, command in JOBS.items()}
        self.call("write_file", path="~/loaded", content=SIX_HUNDRED_KILOBYTES)
        self.call("save_to_workspace", sandbox_path="~/loaded", workspace_path="/loaded")
        self.call("bash_output", job_id=self.jobs["printed"], wait=10, filter="^3000$")
        for call in calls:
            self.output(f"mkdir -p ~/{call.name}; cd ~/{call.name}; mkdir {UNTOUCHED} "
                        f"$(seq {FIRST} {FIRST + len(faults)}); for n in *; do (cd $n; {call.prepare}); done")
        self.made = len(e2b.emulator().books()["created"])

    def filled(self, value, call, number):
        if isinstance(value, dict):
            return {name: self.filled(one, call, number) for name, one in value.items()}
        if isinstance(value, str) and value != SIX_HUNDRED_KILOBYTES:
            words = {**self.jobs, "n": str(number), "dir": f"/home/user/{call.name}/{number}"}
            for name, text in words.items():
                value = value.replace("{" + name + "}", text)
        return value

    # ---- the calls

    def begin(self, call, number):
        return self.berth.call_async(call.tool, self.filled(call.arguments, call, number))

    def meet(self, groups, faults, arm):
        """The calls of a group are made at once, after `arm(fault, how many)`. {(call, number): result},
        which lacks what did not come."""
        results = {(call, FIRST): self.begin(call, FIRST).result() for group in groups for call in group}
        for number, fault in enumerate(faults, FIRST + 1):
            for group in groups:
                e2b.emulator().clear_faults()  # of an answer that was shorter
                arm(fault, len(group))
                begun = [(call, self.begin(call, number)) for call in group]
                for call, pending in begun:
                    with self.subTest(call=call.name, fault=str(fault)):
                        results[call, number] = pending.result(SOON)
        e2b.emulator().clear_faults()
        return results

    # ---- what they came to

    def check(self, groups, faults, arm):
        results = self.meet(groups, faults, arm)
        numbers = range(FIRST, FIRST + len(faults) + 1)
        for call in (call for group in groups for call in group):
            effects = self.effects(call, numbers)
            first = self.shown(call, FIRST, results[call, FIRST])
            for number, fault in zip(numbers, (None, *faults), strict=True):
                with self.subTest(call=call.name, fault=str(fault)):
                    result = results.get((call, number))
                    self.assertIsNotNone(result, "no answer")
                    self.judge(result, (*fault.errors, *call.errors) if fault else ())
                    if not result.is_error:
                        self.assertEqual(self.shown(call, number, result), first)
                    self.judge_effect(result, effects[number], effects[UNTOUCHED], effects[FIRST])
        self.check_signals([result for (call, _), result in results.items() if call.name == "kill"])
        return results

    def shown(self, call, number, result):
        """What of a result must be the same whichever folder it was in."""
        return json.dumps([result.data.get(name) for name in call.shown]).replace(
            f"/{call.name}/{number}/", "/{call}/{n}/")

    def judge(self, result, errors):
        if not result.is_error:
            self.assertEqual(result.notices, [])
            return
        self.assertIn(result.error.get("code"), errors, result)
        self.assertTrue(result.error.get("message") and result.error.get("hint"), result)
        self.assertNotIn("on this host", result.error["hint"])  # nothing here is amiss

    def judge_effect(self, result, effect, untouched, once):
        """What was not done, or may be done again, has left nothing."""
        self.assertIn(effect, (untouched, once), result)
        if not result.is_error:
            self.assertEqual(effect, once)
        elif result.error["retryable"] or "othing" in result.text:
            self.assertEqual(effect, untouched, result)

    def effects(self, call, numbers):
        """Of each folder, by its number, and of the one that no call got."""
        if call.tool == "save_to_workspace":
            listed = self.call("list_workspace_files", prefix="/saved").data["files"]
            found = {pathlib.PurePath(file["workspace_path"]).name: file["sha256"] for file in listed}
            return {number: found.get(str(number)) for number in (UNTOUCHED, *numbers)}
        command = (f"cd ~/{call.name}; for n in {UNTOUCHED} $(seq {numbers[0]} {numbers[-1]}); do "
                   f"cd $n; {self.filled(call.effect, call, '$n')}; cd ..; done")
        return dict(zip([UNTOUCHED, *numbers], self.output(command).splitlines(), strict=True))

    def check_signals(self, results):
        """Each that was sent came, and came once."""
        sent = sum(not result.is_error for result in results)
        count = "cat ~/signals 2>/dev/null | wc -l"
        self.wait_until(lambda: int(self.output(count)) >= sent, 10, "the signals")
        self.assertEqual(int(self.output(count)), sent)

    def check_books(self, made=0):
        """No box was made beyond those, and berth's books have what the emulator's have."""
        self.assertEqual(len(e2b.emulator().books()["created"]) - self.made, made)
        listed = [session["sandbox_id"] for session in self.sessions()]
        self.assertEqual(sorted(listed), sorted(e2b.boxes()))
