"""The table that the benches print, and how what stands in one line of it is measured."""
import statistics

from peers import seconds


def at(samples, fraction):
    """In milliseconds."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))] * 1000


def in_turn(rounds, ours, theirs, warm_up=3):
    """Two functions that tell how many seconds they took, in turn, so that a machine that changes its
    speed changes both."""
    a, b = [], []
    for number in range(-warm_up, rounds):
        mine, other = ours(), theirs()
        if number >= 0:
            a.append(mine)
            b.append(other)
    return a, b


def interleaved(rounds, ours, theirs, warm_up=3):
    """The same of functions that are timed from their call to their return."""
    return in_turn(rounds, lambda: seconds(ours), lambda: seconds(theirs), warm_up)


def bound(goal):
    return f"<= {goal}" if goal else "-"


class Table:
    def __init__(self):
        print(f"{'metric':44} {'berth p50':>9} {'p99':>8} {'peer p50':>9} {'p99':>8} {'ratio':>6}  goal")

    @staticmethod
    def row(name, ours, theirs, goal):
        """Samples in seconds; without a goal: None."""
        ratio = statistics.median(ours) / statistics.median(theirs)
        print(f"{name:44} {at(ours, .5):7.3f}ms {at(ours, .99):6.2f}ms "
              f"{at(theirs, .5):7.3f}ms {at(theirs, .99):6.2f}ms "
              f"{ratio:6.3f}  {bound(goal)}", flush=True)

    @staticmethod
    def calls(name, ours, theirs, goal):
        """Each: calls in a second, seconds of p50 and p99, and the generator's part of one processor. The
        ratio is that of the calls: more is better."""
        print(f"{name:44} {ours[1] * 1000:7.3f}ms {ours[2] * 1000:6.2f}ms "
              f"{theirs[1] * 1000:7.3f}ms {theirs[2] * 1000:6.2f}ms "
              f"{ours[0] / theirs[0]:6.2f}  >= {goal} ({ours[0]:.0f}/s beside {theirs[0]:.0f}/s; the generator "
              f"took {ours[3]:.0%} and {theirs[3]:.0%} of a processor)", flush=True)

    @staticmethod
    def size(name, ours, theirs, goal):
        """KiB, of one measurement."""
        print(f"{name:44} {ours:7.0f}kB {'':8} {theirs:7.0f}kB {'':8} {ours / theirs:6.3f}  {bound(goal)}",
              flush=True)

    @staticmethod
    def memory(name, small, large):
        """Highest resident KiB of (server, guest), for a small and a large piece of work."""
        print(f"memory of {name:34} server {small[0] / 1024:6.1f} / {large[0] / 1024:6.1f} MiB, "
              f"guest {small[1] / 1024:6.1f} / {large[1] / 1024:6.1f} MiB", flush=True)

    @staticmethod
    def missing(name, why):
        print(f"{name:44} not measured: {why}", flush=True)
