"""Servers that are killed at any moment: what was acknowledged is there, nothing ran twice, and every
outcome is known to the next one."""

import contextlib
import os
import random
import subprocess
import time

from base import CrashTest
from books import Books, told_jobs
from load import REFUSALS, Load, pause
from rest import Rest
from settings import SEED, kills, told
from world import World

WORKERS = 4


class Killing(CrashTest):
    maxDiff = None
    environment = {"BERTH_SESSION_IDLE_PAUSE": "200ms"}

    def setUp(self):
        super().setUp()
        self.berth.close()
        self.killed = self.unseen = self.twice = self.calls = self.looks = self.still = 0
        self.slowest = 0.0

    def serve(self, session, **options):
        return self.start("--session", session, **options)

    def kill(self, server, load=None):
        """In the middle of that load, which ends with it."""
        server.kill()
        self.killed += 1
        if load:
            self.worked(load)
        server.__exit__(None, None, None)  # there will be many

    def leave(self, server):
        self.assertEqual(server.close(), 0)
        server.__exit__(None, None, None)

    def look(self, world, session, whispered=False, rest=None):
        """The next server, which has found everything as it must be; `rest`: the host too."""
        began = time.monotonic()
        server = self.serve(session)
        books = Books(world, server, whispered)
        wrong = books.check()
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.unseen += books.unseen
        self.twice += books.twice
        self.assertEqual(wrong, [], f"after {self.killed} kills, seed {SEED}")
        if rest:
            # Each time all of it would leave no job that runs when a server is killed.
            self.looks += 1
            everything = self.looks % 3 == 0
            self.still += everything
            self.assertEqual(rest.changes(everything), [],
                             f"after {self.killed} kills, seed {SEED}")
        return server

    def worked(self, load):
        load.end()
        self.calls += load.calls
        self.assertEqual(load.wrong, [], f"after {self.killed} kills, seed {SEED}")

    def the_guest(self):
        (guest,) = self.state.guests()
        return guest

    def purge(self, session):
        """Ended as its user would; of it nothing may be left anywhere."""
        self.command_line("sessions", "kill", session, "--purge")
        self.assertEqual(self.state.wait_for_no_leaks(), [])
        left = [path for path in (self.state.path / "sessions").rglob("*")]
        for folder, stays in (("uids", "lock"), ("marks", "complete")):
            if os.path.isdir(self.state.path / folder):
                left += [path for path in (self.state.path / folder).iterdir() if path.name != stays]
        self.assertEqual((left, self.left_in_books()), ([], []))

    def tell(self, what):
        told(f"{self.killed} servers killed {what}, {self.calls} calls, {self.unseen} outcomes that "
             f"nobody had seen, {self.twice} told twice, slowest look {self.slowest:.2f} s, "
             f"{self.still} times everything that was left counted")


class UnderLoadTest(Killing):
    """One session, which lives as long as the test."""

    def kill_at_once(self, world):
        """One that comes and is killed at its first call."""
        server = self.serve("work")
        command = world.command(0, "")
        pending = server.call_async("bash_exec", {"command": command.text})
        time.sleep(world.random.uniform(0, 0.02))
        self.kill(server)
        with contextlib.suppress(EOFError):
            command.answered = not pending.result(5).is_error

    def hear(self, world, notices):
        """What a server that was there all the time was told of the one that was killed. Returns whether it
        was told of some by their number alone."""
        named, more, wrong = told_jobs(notices, world)
        self.assertEqual(wrong, [], f"after {self.killed} kills, seed {SEED}")
        for token, job in named.items():
            command = world.commands[token]
            self.unseen += not (command.answered or command.job)
            self.twice += command.answered
            command.job = command.job or job
        return more > 0

    def round(self, world, server):
        """Ends with `server` killed. Returns whether somebody was told what cannot be known."""
        pick = world.random
        servers = [server]
        if pick.random() < 0.3:
            servers.append(self.serve("work"))  # that goes on, and had its first call before
            told_first = servers[1].call_tool("bash_exec", {"command": ": check; true"})
            self.assertEqual((told_first.is_error, told_first.notices), (False, []))
        load = Load(world, self.state, "work", tells=len(servers) > 1)
        load.begin(servers, pick.choice((1, WORKERS, WORKERS)))
        time.sleep(pick.choice((pick.uniform(0, 0.1), pick.uniform(0, 0.4))))
        self.kill(server, load)
        for bystander in servers[1:]:
            self.leave(bystander)
        return self.hear(world, load.told or [])

    def sleep(self, pick):
        """What may happen while there is no server."""
        what = pick.random()
        if what < 0.2:
            done = subprocess.run(**pause("work", self.state), check=False, timeout=30)
            # The guest may not have seen yet that nobody waits for a call any more.
            self.assertTrue(done.returncode == 0 or any(words in done.stderr for words in REFUSALS),
                            done)
        elif what < 0.4:
            time.sleep(pick.uniform(0.1, 0.5))

    def test_a_session_whose_servers_are_killed(self):
        world = World("w", WORKERS, f"{SEED} load")
        server = self.look(world, "work")
        guest, rest = self.the_guest(), Rest(self.state)
        while self.killed < kills() * 3 // 4:
            whispered = self.round(world, server)
            if world.random.random() < 0.15:
                whispered = True
                self.kill_at_once(world)
            self.sleep(world.random)
            server = self.look(world, "work", whispered, rest)
            self.assertEqual(self.the_guest(), guest)
        self.kill(server)
        # Else nothing was shown: each call was refused, or no server died with one in flight.
        self.assertGreater(self.calls, self.killed)
        self.assertGreater(self.unseen, 0)
        self.assertGreater(self.still, 0)
        self.tell("under load")
        self.purge("work")


class WhileCreatingTest(Killing):
    """A session of its own for each."""

    def undisturbed(self):
        """What there is of one that nobody has killed a server of."""
        server = self.look(World("calm", 2, SEED), "calm")
        rest = Rest(self.state)
        self.leave(server)
        self.purge("calm")
        return rest

    def test_a_server_killed_while_it_makes_a_machine(self):
        pick = random.Random(f"{SEED} creating")
        rest = self.undisturbed()
        for number in range(kills() - kills() * 3 // 4):
            session = f"new-{number}"
            world = World(session, 2, f"{SEED} {session}")
            server = self.serve(session)
            load = Load(world, self.state, session,
                        (*REFUSALS, "there is no session", "no machine that runs"))
            load.begin([server], pick.choice((1, 2)))
            time.sleep(pick.uniform(0, 0.05))
            self.kill(server, load)
            server = self.look(world, session)
            self.the_guest()
            self.assertEqual(rest.changes(), [], f"after {self.killed} kills, seed {SEED}")
            self.leave(server)
            self.purge(session)
        self.tell("while they made a machine")
