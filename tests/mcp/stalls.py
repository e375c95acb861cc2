"""How long the machine itself stood still: what a test that measures time may not hold against the
program it tests."""

import os
import tempfile
import threading
import time

STEP = 0.01
ORDINARY = 0.03


class Stalls:
    """Within the `with` block a thread sleeps for a moment and renames a file, again and again. What
    that takes above the ordinary is in `seconds`."""

    def __init__(self):
        self.seconds = 0.0
        self._ended = float("inf")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        with tempfile.TemporaryDirectory(prefix="berth-test-stalls-") as folder:
            names = [os.path.join(folder, name) for name in ("a", "b")]
            open(names[0], "wb").close()
            while True:
                began = time.monotonic()
                stopped = self._stop.wait(STEP)
                os.rename(*names)
                names.reverse()
                if stopped:
                    return
                late = min(time.monotonic(), self._ended) - began - STEP - ORDINARY
                self.seconds += max(late, 0)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self._ended = time.monotonic()
        self._stop.set()
        self._thread.join()
