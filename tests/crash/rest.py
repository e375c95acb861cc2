"""What berth has of a host while nothing runs in its one session: as much after hundreds of kills as
after none. Whatever a command, a save, a pause or a server has left shows here, whatever it is called."""

import dataclasses
import os
import re
import time

from footprint import taken, taken_at_rest
from state_directory import SLOT

# What the guest may remember, in KiB: jobs that have ended, results that nobody has read, answers of
# the last calls.
REMEMBERED_KB = 12 * 1024
# There are more of these while a job runs: the programs of a command, and the guest that waits for it.
OF_COMMANDS = {"process": re.compile(r"(?!berth( |-direct |-launcher ))"), "cgroup": re.compile(r".*/cmds/")}
# What the load itself has made, and the log of calls that failed (as busy, say). What a save that was
# killed has left is in `tmp`, or a journal. A server that is killed as it writes a record leaves a file
# beside it, until it is a minute old and something is collected. What a machine's cgroups are called is
# noted where they were made ahead.
CONTENTS = re.compile(r"/sessions/[^/]+/([a-z.-]+\.tmp\.[0-9a-f]+|cgroup)$|/errors\.jsonl$|"
                      r"/(sessions|machines)/[^/]+/home/|/workspace(/[^/]+(/tmp|/files(/.*)?)?)?$")


def _without_commands(things):
    return {kind: {name for name in names if kind not in OF_COMMANDS or not OF_COMMANDS[kind].match(name)}
            for kind, names in things.items()}


class Rest:
    """Of sessions that come one after the other."""

    def __init__(self, state):
        """While there is one server, and nothing runs."""
        self._state = state
        self._before = self._plain(taken_at_rest(state, []))
        self._before.memory_kb += REMEMBERED_KB

    def changes(self, everything=True, timeout=10):
        """What is more or less by now, as lines, while there is one server. Waits for the ends of jobs,
        but not without `everything`: then there may be more of what they have."""
        end = time.monotonic() + timeout
        while True:
            now = self._plain(taken(self._state, []))
            before = self._before
            if not everything:
                now, before = (dataclasses.replace(each, things=_without_commands(each.things))
                               for each in (now, before))
            lines = now.changes(before)
            if not lines or time.monotonic() > end:
                return lines
            time.sleep(0.02)

    def _plain(self, footprint):
        """Without the contents, and with the same words for what is each session's own."""
        things = footprint.things
        uids = sorted(name for name in things["file"] if re.search(r"/uids/\d+$", name))
        things["file"] -= set(uids)
        things["uid"] = {str(number) for number, _ in enumerate(uids)}
        things["file"] = {name for name in things["file"] if not CONTENTS.search(name)}
        keys = os.listdir(self._state.path / "sessions")
        if len(keys) == 1:  # else they have their own names, and are told
            for kind in ("cgroup", "file"):
                things[kind] = {name.replace(keys[0], "KEY").replace(self._state.sandbox_id(keys[0]), "ID")
                                for name in things[kind]}
            things["cgroup"] = {SLOT.sub("/berth/ID", name) for name in things["cgroup"]}
        return footprint
