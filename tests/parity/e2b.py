"""The emulator that all cases of a run on `e2b` share, and what of them is not for it."""

import contextlib
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2b_emulator"))

from case import processes_below  # noqa: E402
from emulator import Emulator  # noqa: E402

# What is not run on e2b, by the beginning of its name, and why. Each has a row in "What differs" in
# docs/backends.md, which names what is so there instead (tests/docs/test_coverage.py).
NOT_HERE = {
    # What a sandbox of E2B's is not.
    "search.": "compares with programs of the host on a tree of the host, which is mounted",
    # Of its home only the books say which box it is; who has lost them takes it by its id (homes_on_e2b.py).
    "adoption.AdoptionTest.test_a_home_that_no_book_knows": "its key leads to no box",
    "terms.ShownTest.test_of_one_of_which_nothing_is_known": "a record without content leads to no box",
    # A box whose guest has died is like one that lives, until a call goes there.
    "save_on_end.SaveOnEndTest.test_a_lost_one_too_and_a_server_does_it_at_its_start": "nobody sees it before",
    "adoption.AdoptionTest.test_what_nobody_was_told_of_goes_with_the_home": "waits for the end of a connection",
    # What a killed server had not told is nobody else's before its lease is over, and a machine that is ended
    # before that takes it along; and nobody ends its machine.
    "outcomes.OutcomesTest.test_what_a_killed_machine_has_not_told": "ended within the lease",
    "outcomes.OutcomesTest.test_what_a_machine_has_not_told_that_ends_when_its_server_leaves": "not of a killed one",
    "sessions.SessionsTest.test_info_says_when_it_ends_and_where_it_stands": "it sleeps, and says that",
    # Until a command ends a machine cannot know that its server was killed: its connector stays.
    "outcomes.OutcomesTest.test_a_command_whose_server_was_killed_goes_on": "it is told when it has ended",
    # Its envd answers for a guest that is stopped: nobody asks the guest.
    "outcomes.OutcomesTest.test_what_its_own_server_gave_up": "given up when its time is over, not before",
    # A connector does not see that its server has gone, and what has a connection is wanted.
    "fairness.FairnessTest.test_a_command_that_waits_when_its_server_is_killed_is_not_run": "it is run",
    # The pause is E2B's: on_e2b.py has those that remain.
    "pausing.": "the guest's own pause, and its timers",
    "terms.TermsTest.test_times": "the guest's own timers",
}

_running = []


@contextlib.contextmanager
def running():
    with Emulator() as emulator:
        os.environ.update(emulator.environment(), BERTH_BACKEND="e2b")
        _running.append(emulator)
        try:
            yield
        finally:
            _running.clear()


def emulator():
    return _running[0]


def environment():
    """That makes berth use it."""
    return {**emulator().environment(), "BERTH_BACKEND": "e2b"}


def boxes():
    """Those that are there, running or paused."""
    books = emulator().books()
    return books["running"] + books["paused"]


def guests():
    """The process ids of the guests, as the host sees them; what they have forked is none."""
    found = {}
    for pid in processes_below(emulator().process.pid):
        with contextlib.suppress(OSError):
            folder = pathlib.Path(f"/proc/{pid}")
            if (folder / "comm").read_text(encoding="ascii", errors="replace") == "berth-resident\n":
                found[pid] = int((folder / "stat").read_text(encoding="ascii", errors="replace")
                                 .rpartition(")")[2].split()[1])
    return [pid for pid, parent in found.items() if parent not in found]
