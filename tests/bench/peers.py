"""What berth is measured against, and the small clients that do the measuring."""
import json
import os
import subprocess
import time


class McpServer:
    """A server on stdio, called one request at a time by a client that adds as little as it can."""

    def __init__(self, command, **popen):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0, **popen)
        self.out = os.fdopen(os.dup(self.process.stdout.fileno()), "rb", 1 << 20)
        self.next_id = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def request(self, method, params):
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        while True:
            line = self.out.readline()
            if not line:
                raise RuntimeError("the server ended")
            answer = json.loads(line)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def call(self, tool, **arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result)
        return result

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


NO_NODE_SERVER = "BERTH_CLIENTS has no @modelcontextprotocol/server-filesystem or server-everything"


def node_server(name, *arguments):
    """A server of reference; None where it is not installed."""
    script = os.path.join(os.environ.get("BERTH_CLIENTS", ""),
                          f"node_modules/@modelcontextprotocol/{name}/dist/index.js")
    return ["node", script, *arguments] if os.path.exists(script) else None


def node_file_server(folder):
    return node_server("server-filesystem", str(folder))


def node_everything_server(transport):
    """"stdio", or "streamableHttp", which listens on the port in PORT."""
    return node_server("server-everything", transport)


def bare_bash():
    """`bash -c true` by posix_spawn, without any sandbox: the floor of bash_exec."""
    pid = os.posix_spawn("/bin/bash", ["bash", "-c", "true"], os.environ)
    os.waitpid(pid, 0)


def bare_bwrap():
    """A sandbox of bwrap that is made and ends."""
    pid = os.posix_spawnp("bwrap", ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], os.environ)
    os.waitpid(pid, 0)


def run_drained(command, cwd):
    """A program whose output is read to its end (to /dev/null, grep programs stop early)."""
    subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
