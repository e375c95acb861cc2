"""How long the machine itself stood still: what a test that measures time may not hold against the
program it tests."""

import os
import tempfile
import threading
import time

STEP = 0.01
ORDINARY = 0.02


class Stalls:
    """Within the `with` block a thread sleeps for a moment and renames a file, again and again. What
    that takes above the ordinary is in `seconds`."""

    def __init__(self):
        self.seconds = 0.0
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
                late = time.monotonic() - began - STEP
                if late > ORDINARY:
                    self.seconds += late

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self._stop.set()
        self._thread.join()
