"""Stands between a client and its MCP server: gate.py COUNT LOG COMMAND... Calls of tools go on to
the server only when COUNT of them have come, so a client that waits for one answer before it sends
the next call gets none. LOG becomes a list: the tools called, as the server answered them."""
import json
import subprocess
import sys
import threading


def main():
    count, log = int(sys.argv[1]), sys.argv[2]
    server = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    called, answered = {}, []

    def back():
        for line in server.stdout:
            message = json.loads(line)
            if "method" not in message and message["id"] in called:
                answered.append(called[message["id"]])
                with open(log, "w", encoding="utf-8") as file:
                    json.dump(answered, file)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    threading.Thread(target=back, daemon=True).start()
    held = []
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            called[message["id"]] = message["params"]["name"]
            held.append(line)
            if len(called) < count:
                continue
            line = b"".join(sorted(held, key=lambda one: b"grep_files" not in one))
            held.clear()
        server.stdin.write(line)
        server.stdin.flush()
    server.stdin.close()
    sys.exit(server.wait())


main()
