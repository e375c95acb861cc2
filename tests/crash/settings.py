"""What run.py was asked for."""

import os
import sys
import time

SEED = os.environ.get("BERTH_CRASH_SEED") or str(time.time_ns())


def kills():
    return int(os.environ.get("BERTH_CRASH_KILLS", "25"))


def races():
    return int(os.environ.get("BERTH_CRASH_RACES", "30"))


def sessions():
    return int(os.environ.get("BERTH_CRASH_SESSIONS", "30"))


def registry():
    """Where the books are: "files", or "redis"."""
    return os.environ.get("BERTH_CRASH_REGISTRY", "files")


def books():
    """The environment that leads a berth program to them."""
    return {name: os.environ[name] for name in ("BERTH_REGISTRY",) if name in os.environ}


def told(figures):
    """For who reads the log."""
    print(f"figures: {figures}", file=sys.stderr, flush=True)
