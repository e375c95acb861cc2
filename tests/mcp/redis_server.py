"""Debian's redis-server for one test, on a unix socket in a folder of its own and without a disk.

    with RedisServer() as redis, Berth("--registry", redis.url) as berth: ...

A test that needs one fails where there is none: nothing is skipped."""

import pathlib
import shutil
import socket
import subprocess
import tempfile
import time


class RedisServer:
    def __init__(self, *arguments):
        """`arguments`: more of redis-server's."""
        self._program = shutil.which("redis-server")
        if not self._program:
            raise AssertionError("there is no redis-server: install Debian's package")
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="redis-test-"))
        self._arguments = arguments
        self._process = None
        self.socket = self._folder / "redis.sock"
        self.url = f"unix://{self.socket}"

    def start(self):
        self._process = subprocess.Popen(
            [self._program, "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self._folder),
             "--save", "", *self._arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while True:
            try:
                return self.say("PING")
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def say(self, *words):
        """The first line or value of the answer, as text."""
        request = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self.socket))
            connection.sendall(request.encode())
            with connection.makefile("rb") as answers:
                line = answers.readline().decode().rstrip()
                if line.startswith("$") and line != "$-1":
                    return answers.read(int(line[1:])).decode()
                return line[1:]

    def settle(self):
        """As one that was started long ago: nobody waits for what other servers may know."""
        information = self.say("INFO", "server")
        run = next(line[7:] for line in information.splitlines() if line.startswith("run_id:"))
        self.say("SET", "berth:run", run)
        self.say("SET", "berth:generation", "of a test")

    def __enter__(self):
        self.start()
        self.settle()
        return self

    def __exit__(self, kind, value, trace):
        self.kill()
        shutil.rmtree(self._folder)
