"""Servers that are killed while one machine takes the place of another, as for a server that asks for
other mounts: one machine at most, the home as it was acknowledged, and the agent is told, once."""

import json
import os
import tempfile
import time

from books import Books
from kills import Killing
from load import REFUSALS, Load
from rest import Rest
from settings import SEED, kills
from suite import local_only
from world import World

NEWS = "files in the home are kept"
WHY = "it was made with other settings than are asked for now"
# A job keeps its machine from being replaced, and where the shell stands goes with it.
WITHOUT = ("job", "move")


def whole(notices):
    """Each line is a notice of its own; what a command of this load has printed is one line."""
    found = []
    for notice in notices:
        if found and found[-1].endswith("it printed at last:"):
            found[-1] += "\n" + notice
        else:
            found.append(notice)
    return found


class AfterIt(Books):
    """Of a session whose machine has been replaced: with it went the jobs that had the outcomes which
    nobody had seen, so these are told whole."""

    def __init__(self, world, server, before):
        """`before`: the notices that the server told which was killed."""
        super().__init__(world, server)
        self.news = [[], []]  # of that one, and of this one
        self.told = []
        self.short = 0  # outcomes without what was printed
        self._before = before

    def _check_outcomes(self, notices):
        both = whole(self._before), whole(notices)
        jobs = [[notice for notice in told if not self._is_of_the_change(notice, self.news[number])]
                for number, told in enumerate(both)]
        self.told = [*both[0], *both[1]]
        self.wrong += [f"told in the middle of the work: {notice}" for notice in jobs[0]]
        super()._check_outcomes(jobs[1])

    def _is_of_the_change(self, notice, news):
        if NEWS in notice:
            news.append(notice)
            return True
        # Of one that a server was killed with that had asked its machine for it, the next one finds that
        # nobody has read what was printed.
        told = "reached nobody" in notice or "printed has not been read" in notice
        if not told or "bash_output" in notice:
            return False
        for command in self.world.named_in(notice):
            self.twice += command.answered
            printed = command.stdout.rstrip("\n")
            end = f"exit {command.exit_code}"
            whole_end = end + (f"; it printed at last:\n| {printed}" if printed else "")
            # A server that is killed as it asks what was printed leaves how the command ended.
            short = notice.endswith(end) and whole_end != end
            self.short += short
            if whole_end not in notice and not short:
                self.wrong.append(f"{whole_end!r} is its end, and told is {notice}")
            command.answered = True
        return True


@local_only
class ReplacementsTest(Killing):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="berth-mount-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.folder = folder.name
        self.place = 0  # where the next server wants it
        self.changes = self.middle = self.again = self.short = 0
        self.told = set()  # by the last change

    def serve(self, session, **options):
        return self.start("--session", session, "--mount", f"{self.folder}:/mnt/{self.place}", **options)

    def load(self, world, **options):
        refusals = (*REFUSALS, "there is no session", "no machine that runs", "connect to the sandbox",
                    "the connection to the sandbox broke")
        return Load(world, self.state, "work", refusals, WITHOUT, **options)

    def work(self, world, server):
        """The machine is used, and then by nobody. At most three outcomes are told one by one."""
        # In Redis the lock of a server that was killed holds for four seconds, in which a record cannot
        # let go of what was read.
        load = self.load(world, tells=self.redis is not None)
        dies = world.random.random() < 0.5
        load.begin([server], 1 if dies else 3)
        time.sleep(world.random.uniform(0.05, 0.3))
        if dies:
            self.kill(server, load)
        else:
            self.worked(load)
            self.leave(server)
        if again := set(whole(load.told or [])):
            self.assertLessEqual(again, self.told)
            self.again += 1
        self.wait_until(self.is_unused, 10, "nothing runs")

    def is_unused(self):
        shown = json.loads(self.command_line("sessions", "show", "work", "--json"))
        return not shown["jobs"] and not shown["commands_in_flight"]

    def replace(self, world):
        """What a server has told that wanted another machine, and was killed as it got it."""
        self.place = 1 - self.place
        server = self.serve("work")
        load = self.load(world, tells=True)
        # Not the first worker, who may not know what became of its last call.
        load.begin([server], world.random.choice((1, 2)), first=1)
        # What is made anew on an idle host in 15 ms takes several times as long on a busy one.
        time.sleep(world.random.uniform(0, world.random.choice((0.02, 0.08))))
        self.kill(server, load)
        guests = self.state.guests()
        # One at most: a process that becomes a command looks like a guest for a moment.
        self.wait_until(lambda: len(self.state.guests()) <= 1, 2, "a second machine goes")
        self.middle += not guests
        return load.told

    def look_after(self, world, before, rest):
        server = self.serve("work")
        books = AfterIt(world, server, before)
        wrong = books.check()
        self.told = set(books.told)
        self.short += books.short
        self.unseen += books.unseen
        self.twice += books.twice
        context = f"after {self.killed} kills, seed {SEED}"
        self.assertEqual(wrong, [], context)
        news = [*books.news[0], *books.news[1]]
        self.assertTrue(news and all(WHY in each for each in news), (books.news, context))
        self.assertLessEqual(max(map(len, books.news)), 1, (books.news, context))
        self.again += len(news) - 1
        self.assertEqual(books.run("ls /mnt"), f"{self.place}\n")
        self.the_guest()
        self.assertEqual(rest.changes(), [], context)
        return server

    def test_a_server_killed_while_a_machine_replaces_another(self):
        world = World("r", 3, f"{SEED} replacements")
        server = self.look(world, "work")
        rest = Rest(self.state)
        least, most = max(kills() // 3, 4), kills() + 100
        while self.changes < least or not self.middle:  # else nothing was shown
            self.assertLess(self.changes, most, "none was killed in the middle")
            self.changes += 1
            if world.random.random() < 0.5:  # the next one is told nothing
                server.call_tool("session_info")  # else what came last may not count as read
                self.kill(server)
                server = self.serve("work")
            self.work(world, server)
            server = self.look_after(world, self.replace(world), rest)
        self.leave(server)
        self.assertLessEqual(self.short, 2 + self.changes // 10)
        self.tell(f"in {self.changes} changes of its machine, {self.middle} of them with none there, "
                  f"{self.again} times told again, {self.short} outcomes without what was printed")
        self.purge("work")
