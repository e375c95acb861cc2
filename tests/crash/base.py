"""What every crash test has besides a host for itself: the books that run.py was asked for."""

import os

from redis_server import RedisServer
from settings import books, registry
from suite import ParityTest

# What was written is there after a kill, as it is of files.
PERSISTENT = ("--appendonly", "yes", "--appendfsync", "always")


class CrashTest(ParityTest):
    """With `--registry redis` each test has a Redis of its own, `self.redis`."""

    redis_arguments = PERSISTENT

    def setUp(self):
        self.redis = None
        if registry() == "redis":
            self.redis = RedisServer(*self.redis_arguments)
            self.redis.__enter__()
            self.addCleanup(self._forget_redis)
            os.environ["BERTH_REGISTRY"] = self.redis.url  # of the command line
        super().setUp()

    def _forget_redis(self):
        del os.environ["BERTH_REGISTRY"]
        self.redis.__exit__(None, None, None)

    def start(self, *arguments, env=None, **options):
        return super().start(*arguments, env={**books(), **(env or {})}, **options)

    def left_in_books(self):
        """What a Redis has of sessions that nobody has any more; of files the state directory tells."""
        if not self.redis:
            return []
        kinds = ("record", "lock", "claim")
        return [kind for kind in kinds if self.redis.say("KEYS", f"berth:{kind}:*") != "0"]
