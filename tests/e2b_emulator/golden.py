"""Requests of e2b@2.51.0 (JavaScript), to the byte as it sent them, but for names: {key}, {box}, {token} and
{pid}. Beside each, what is to come back; "..." stands for anything."""

import struct

API = """host: {host}
connection: keep-alive
browser: unknown
content-type: application/json
lang: js
lang_version: 20.20.2
package_version: 2.51.0
publisher: e2b
sdk_runtime: node
system: Linux
user-agent: e2b-js-sdk/2.51.0
x-api-key: {key}
accept: */*
accept-language: *
sec-fetch-mode: cors
accept-encoding: gzip, deflate
"""
ENVD = """e2b-sandbox-id: {box}
e2b-sandbox-port: 49983
user-agent: e2b-js-sdk/2.51.0
x-access-token: {token}
accept: */*
accept-language: *
sec-fetch-mode: cors
accept-encoding: gzip, deflate
"""
CONNECTION = "host: {host}\nconnection: keep-alive\n"
UNARY = CONNECTION + "connect-protocol-version: 1\ncontent-type: application/json\n" + ENVD
BOUNDARY = "----formdata-undici-038631722690"
SANDBOX = {"templateID": "base", "sandboxID": "{box}", "clientID": "6532622b", "envdVersion": "0.6.13",
           "envdAccessToken": "{token}", "trafficAccessToken": None, "domain": None}
LISTED = {"templateID": "base", "sandboxID": "{box}", "clientID": "6532622b", "startedAt": "...",
          "endAt": "...", "state": "running", "envdVersion": "0.6.13", "cpuCount": 2, "memoryMB": 512,
          "diskSizeMB": 1024, "metadata": {"a": "b c"}}
DETAIL = {**LISTED, "envdAccessToken": "{token}", "domain": None,
          "lifecycle": {"autoResume": True, "onTimeout": "pause"}}
NOT_FOUND = {"sandboxId": "{box}", "message": "The sandbox was not found", "code": 502}
DONE = {"event": {"end": {"exited": True, "status": "exit status 0"}}}


def chunks(*pieces):
    return "".join(f"{len(piece):x}\r\n{piece}\r\n" for piece in (*pieces, ""))


def api(method, path, *body):
    head = API if body else API.replace("content-type: application/json\n", "")
    if body:
        head += "transfer-encoding: chunked\n"
    return f"{method} {path} HTTP/1.1\n{head}", chunks(*body) if body else ""


def unary(method, body):
    head = f"POST /{method} HTTP/1.1\n{UNARY}"
    return head + "content-length: {length}\n", body


def start(body, timeout="connect-timeout-ms: 60000\n", user=""):
    head = (f"POST /process.Process/Start HTTP/1.1\n{CONNECTION}{user}connect-protocol-version: 1\n{timeout}"
            "content-type: application/connect+json\n" +
            ENVD.replace("user-agent", "keepalive-ping-interval: 50\nuser-agent") +
            "content-length: {length}\n")
    return head, struct.pack(">BI", 0, len(body)).decode("latin-1") + body


def started(command, stdin="false", more=""):
    return f'{{"process":{{"cmd":"/bin/bash","args":["-l","-c","{command}"]{more}}},"stdin":{stdin}}}'


def files(method, path, headers="", body=""):
    return f"{method} {path} HTTP/1.1\n{CONNECTION}{headers}{ENVD}", body


def stdout(text):
    return {"event": {"data": {"stdout": text}}}


PID = {"event": {"start": {"pid": "..."}}}
MULTIPART = (f"content-type: multipart/form-data; boundary={BOUNDARY}\n",
             f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a/b.txt\"\r\n"
             "Content-Type: application/octet-stream\r\n\r\n")
ENTRY = {"name": "b.txt", "type": "FILE_TYPE_FILE", "path": "/home/user/a/b.txt", "size": "5", "mode": 420,
         "permissions": "-rw-r--r--", "owner": "{user}", "group": "{user}", "modifiedTime": "..."}
FOLDER = {"name": "a", "type": "FILE_TYPE_DIRECTORY", "path": "/home/user/a", "size": "...", "mode": 493,
          "permissions": "drwxr-xr-x", "owner": "{user}", "group": "{user}", "modifiedTime": "..."}
CREATION = ('{"templateID":"base","metadata":{"a":"b c"},"envVars":{"FOO":"bar"},"timeout":120,'
            '"autoPause":true,"autoResume":{"enabled":true}}')

# (request, status, content type, body: a value, or the list of a stream's messages without the last)
CREATE = (api("POST", "/v2/sandboxes", CREATION), 201, "application/json; charset=utf-8", SANDBOX)
COMMANDS = (
    (start(started("echo hi")), 200, "application/connect+json", [PID, stdout("aGkK"), DONE]),
    (start(started("echo out; echo $X; pwd", more=',"envs":{"X":"y"},"cwd":"/tmp"'),
           "connect-timeout-ms: 5000\n", "authorization: Basic cm9vdDo=\n"), 200,
     "application/connect+json", [PID, stdout("b3V0CnkKL3RtcAo="), DONE]),
    (start(started("exit 3")), 200, "application/connect+json",
     [PID, {"event": {"end": {"exitCode": 3, "exited": True, "status": "exit status 3",
                              "error": "exit status 3"}}}]),
)
FILES = (
    (files("POST", "/files?path=a%2Fb.txt", MULTIPART[0] + "transfer-encoding: chunked\n",
           chunks(MULTIPART[1], "hello", "\r\n", f"--{BOUNDARY}--\r\n")), 200,
     "application/json; charset=utf-8", [{"path": "/home/user/a/b.txt", "name": "b.txt", "type": "file"}]),
    (unary("filesystem.Filesystem/Stat", '{"path":"nope"}'), 404, "application/json",
     {"code": "not_found",
      "message": "file not found: lstat /home/user/nope: no such file or directory"}),
    (unary("filesystem.Filesystem/ListDir", '{"path":"a","depth":2}'), 200, "application/json",
     {"entries": [ENTRY]}),
    (unary("filesystem.Filesystem/Stat", '{"path":"a"}'), 200, "application/json", {"entry": FOLDER}),
    (unary("filesystem.Filesystem/Stat", '{"path":"a/b.txt"}'), 200, "application/json",
     {"entry": ENTRY}),
)
READ = files("GET", "/files?path=a%2Fb.txt")
CAT = start(started("cat", "true"))
SLEEP = start(started("sleep 30"), "")
INPUT = (
    (unary("process.Process/SendInput", '{"process":{"pid":{pid}},"input":{"stdin":"cGluZwo="}}'), 200,
     "application/json", {}),
    (unary("process.Process/CloseStdin", '{"process":{"pid":{pid}}}'), 200, "application/json", {}),
)
KILL = (
    (unary("process.Process/List", "{}"), 200, "application/json",
     {"processes": [{"config": {"cmd": "/bin/bash", "args": ["-l", "-c", "sleep 30"]}, "pid": "..."}]}),
    (unary("process.Process/SendSignal", '{"process":{"pid":{pid}},"signal":"SIGNAL_SIGKILL"}'), 200,
     "application/json", {}),
)
KILLED = {"event": {"end": {"exitCode": -1, "status": "signal: killed", "error": "signal: killed"}}}
LATE = start(started("sleep 10"), "connect-timeout-ms: 700\n")
LIFE = (
    (api("POST", "/sandboxes/{box}/pause", "{}"), 204, None, None),
    (api("POST", "/sandboxes/{box}/pause", "{}"), 409, "application/json; charset=utf-8",
     {"code": 409, "message": "Error pausing sandbox - sandbox '{box}' is already paused"}),
    (api("GET", "/sandboxes/{box}"), 200, "application/json; charset=utf-8",
     {**DETAIL, "state": "paused"}),
    (api("POST", "/v2/sandboxes/{box}/connect", '{"timeout":60}'), 201, "application/json; charset=utf-8",
     SANDBOX),
    (api("GET", "/sandboxes/{box}"), 200, "application/json; charset=utf-8", DETAIL),
    (api("POST", "/sandboxes/{box}/timeout", '{"timeout":90}'), 204, None, None),
    (api("GET", "/v2/sandboxes?metadata=a%3Db%252520c&state=running&limit=10"), 200,
     "application/json; charset=utf-8", [LISTED]),
    (api("DELETE", "/sandboxes/{box}"), 204, None, None),
    (api("DELETE", "/sandboxes/{box}"), 404, "application/json; charset=utf-8",
     {"code": 404, "message": "Sandbox \"{box}\" doesn't exist or you don't have access to it"}),
    (files("GET", "/health"), 502, "application/json; charset=utf-8", NOT_FOUND),
    (start(started("echo x")), 502, "application/json; charset=utf-8", NOT_FOUND),
)
