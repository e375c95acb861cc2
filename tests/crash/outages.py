"""A Redis that is killed and comes back under load, with its data or without, and servers that are killed
beside it: calls go on, and no session is lost, doubled or told of."""

import time

from base import PERSISTENT
from kills import Killing
from load import REFUSALS, Load
from rest import Rest
from settings import SEED, kills
from world import World

WORKERS = 3


class Outages(Killing):
    registry_only = "redis"

    def setUp(self):
        super().setUp()
        self.outages = 0
        self.away = 0.0

    def load(self, world):
        # The command line asks the books: they are away, or do not know the session yet.
        return Load(world, self.state, "work", (*REFUSALS, self.redis.url, "is not known yet"))

    def outage(self, world):
        """In the middle of whatever goes on."""
        began = time.monotonic()
        self.redis.kill()
        time.sleep(world.random.choice((0, world.random.uniform(0, 0.3), world.random.uniform(0.3, 1.2))))
        self.redis.start()
        self.outages += 1
        self.away += time.monotonic() - began

    def tell_of_outages(self):
        self.tell(f"beside a Redis that was {self.outages} times away, {self.away:.1f} s in all")
        self.purge("work")


class KeptTest(Outages):
    """What was written is there again: then anybody may die at any moment."""

    redis_arguments = PERSISTENT

    def round(self, world, server):
        """Ends with `server` killed: before, in the middle of or after the outage."""
        load = self.load(world)
        load.begin([server], WORKERS)
        time.sleep(world.random.uniform(0, 0.2))
        first = world.random.random() < 0.3
        if first:
            self.kill(server, load)
        self.outage(world)
        if not first:
            time.sleep(world.random.uniform(0, 0.3))
            self.kill(server, load)

    def test_servers_killed_around_an_outage(self):
        world = World("k", WORKERS, f"{SEED} outages")
        server = self.look(world, "work")
        guest, rest = self.the_guest(), Rest(self.state)
        for _ in range(max(kills() // 4, 3)):
            self.round(world, server)
            server = self.look(world, "work", rest=rest)
            self.assertEqual(self.the_guest(), guest)
        self.leave(server)
        self.assertGreater(self.calls, self.killed)
        self.tell_of_outages()


class ForgottenTest(Outages):
    """It comes back empty: who lives and has used the session writes it again, within a second."""

    redis_arguments = ()

    def test_outages_with_a_server_that_goes_on(self):
        world = World("f", WORKERS, f"{SEED} forgotten")
        server = self.look(world, "work")
        guest, rest = self.the_guest(), Rest(self.state)
        for _ in range(max(kills() // 6, 3)):
            load = self.load(world)
            load.begin([server], WORKERS)
            time.sleep(world.random.uniform(0, 0.2))
            self.outage(world)
            time.sleep(world.random.uniform(0, 0.3))
            self.worked(load)
            self.wait_until(lambda: self.redis.say("KEYS", "berth:record:*") == "1", 5, "it is written again")
            following = self.serve("work")  # before this one goes nobody else knows the session
            self.assertEqual(following.call_tool("bash_exec", {"command": ": check; true"}).notices, [])
            self.kill(server)
            self.leave(following)
            server = self.look(world, "work", rest=rest)
            self.assertEqual(self.the_guest(), guest)
        self.leave(server)
        self.tell_of_outages()
