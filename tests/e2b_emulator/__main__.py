"""An E2B for tests: python3 tests/e2b_emulator. Prints one line of JSON, {"url", "api_key"}, and runs
until it is told to end (SIGTERM, SIGINT) or whoever started it is gone."""

import argparse
import json
import os
import secrets
import select
import signal
import sys
import threading

import front
from boxes import Boxes, Settings
from keeper import Keeper


PARENT = os.getppid()


def _arguments():
    parser = argparse.ArgumentParser(prog="e2b_emulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; else a free one")
    parser.add_argument("--api-key", default="e2b_" + secrets.token_hex(20), help="else a random one")
    parser.add_argument("--megabytes", type=int, default=1024, help="of each box's files, in memory")
    parser.add_argument("--freeze-by-signals", action="store_true", help="also where there are cgroups")
    parser.add_argument("--stay", action="store_true", help="when whoever started it is gone")
    return parser.parse_args()


def _wait(stay):
    """Until it is to end."""
    ended = os.pipe()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.write(ended[1], b"."))
    poll = select.poll()
    poll.register(ended[0], select.POLLIN)
    if not stay:
        try:
            # Not PR_SET_PDEATHSIG: that is of the thread which started it, and tests have threads.
            poll.register(os.pidfd_open(PARENT), select.POLLIN)
        except ProcessLookupError:
            return
    poll.poll()


def main():
    arguments = _arguments()
    keeper = Keeper(arguments.freeze_by_signals)  # before there are threads
    served = front.Front(Boxes(keeper, Settings(megabytes=arguments.megabytes)), {arguments.api_key},
                         arguments.port)
    threading.Thread(target=served.serve, daemon=True).start()
    try:
        print(json.dumps({"url": served.url, "api_key": arguments.api_key}), flush=True)
    except BrokenPipeError:
        pass
    _wait(arguments.stay)
    served.close()
    keeper.close()
    sys.stdout.flush()
    os._exit(0)  # no thread is waited for


main()
