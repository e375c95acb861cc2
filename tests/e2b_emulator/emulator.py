"""The emulator for a test of another folder:

    with Emulator() as e2b:
        subprocess.run([...], env={**os.environ, **e2b.environment()})
        e2b.fault(path="/v2/sandboxes", method="POST", lose_reply=True)
        e2b.counts(), e2b.books()"""

import http.client
import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


class Emulator:
    def __init__(self, *arguments):
        """`arguments`: of the command line."""
        self._arguments = arguments
        self.process = None
        self.url = self.api_key = None

    def start(self):
        self.process = subprocess.Popen([sys.executable, str(FOLDER), *self._arguments],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the emulator ended with {self.process.wait()}")
        said = json.loads(line)
        self.url, self.api_key = said["url"], said["api_key"]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stop()

    def environment(self):
        """That makes a client come here. Pass no proxy variables beside it."""
        return {"E2B_API_KEY": self.api_key, "E2B_API_URL": self.url, "E2B_SANDBOX_URL": self.url}

    def _ask(self, method, what, body=None):
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        try:
            connection.request(method, f"/_emulator/{what}", None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise AssertionError(f"{method} {what}: {answer.status} {text.decode()}")
        return json.loads(text) if text else None

    def books(self):
        """{"created": ids, "running": ids, "paused": ids, "ended": {id: "killed", "expired" or
        "vanished"}}"""
        return self._ask("GET", "books")

    def counts(self, clear=False):
        """{"api POST /v2/sandboxes": 1, "envd POST /process.Process/Start": 2, "connections": 1}"""
        return self._ask("DELETE" if clear else "GET", "counts")

    def take_order(self):
        return self._ask("DELETE", "order")

    def take_bytes(self):
        """Of the bodies of requests to envd and of its answers, since the last time."""
        return self._ask("DELETE", "bytes")["envd"]

    def fault(self, **rule):
        return self._ask("POST", "faults", rule)["number"]

    def faults_left(self):
        return self._ask("GET", "faults")

    def clear_faults(self):
        self._ask("DELETE", "faults")

    def settings(self, **changed):
        return self._ask("POST", "settings", changed)

    def do(self, box, action, **more):
        """vanish, pause, expire, age (seconds=...), stall (pid=...), end_stall"""
        self._ask("POST", f"boxes/{box}/{action}", more)

    def log(self, box):
        """What envd's log has of each call, which E2B collects: nothing secret may be in it."""
        return self._ask("GET", f"boxes/{box}/log")
