"""envd: takes connections that the front makes, one request each, and gives them to what serves them."""

import os
import shutil
import threading
import time
import traceback

import between
import web
from envd import rpc, users
from envd.files import Files
from envd.filesystem_service import FilesystemService
from envd.process_service import ProcessService

OPEN_TO_ALL = (("GET", "/health"), ("GET", "/files"), ("POST", "/files"))  # the last two take signatures


class Context:
    """Of one call: who asks."""

    def __init__(self, request):
        self.request = request
        self.refused = None
        self._name = users.of_basic_auth(request.headers.get("authorization", ""))
        if self._name is not None:
            try:
                users.find(self._name)
            except KeyError:
                self.refused = rpc.RpcError("unauthenticated", f"invalid username: '{self._name}'")

    def user(self):
        return users.find(users.DEFAULT if self._name is None else self._name)


class Daemon:
    def __init__(self, spec):
        self._token = spec.get("token") or ""
        self._environment = {"E2B_SANDBOX": "true", "E2B_SANDBOX_ID": spec["box"],
                             "E2B_TEMPLATE_ID": spec["template"], **spec["environment"]}
        self._files = Files(self._token)
        self._services = {"process.Process": ProcessService(self._environment),
                          "filesystem.Filesystem": FilesystemService()}

    def answer(self, request, reply):
        if (self._token and request.headers.get("x-access-token") != self._token
                and (request.method, request.path) not in OPEN_TO_ALL):
            reply.error(401, "unauthorized access, please provide a valid access token or method signing "
                        "if supported")
        elif request.path == "/health":
            reply.whole(204)
        elif request.path in ("/files", "/files/compose"):
            self._files.serve(request, reply)
        elif request.path == "/envs":
            reply.json(200, self._environment)
        elif request.path == "/metrics":
            reply.json(200, _metrics())
        else:
            self._call(request, reply)

    def _call(self, request, reply):
        service, _, method = request.path.lstrip("/").partition("/")
        found = self._services.get(service)
        kinds = ((found.unary, "application/json", rpc.serve_unary),
                 (found.streams, "application/connect+json", rpc.serve_stream),
                 (found.client_streams, "application/connect+json", rpc.serve_client_stream)
                 ) if found else ()
        for methods, content_type, serve in kinds:
            if method in methods:
                if request.method != "POST":
                    return reply.whole(405, headers={"Allow": "POST"}, content_type="text/plain")
                given = request.headers.get("content-type", "").split(";")[0].strip()
                if given != content_type:
                    return reply.whole(415, headers={"Accept-Post": content_type},
                                       content_type="text/plain")
                return serve(methods[method], Context(request), reply, request)
        return reply.whole(404, b"404 page not found\n", "text/plain; charset=utf-8")


def _metrics():
    memory = {}
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            name, amount = line.split()[:2]
            memory[name.rstrip(":")] = int(amount) * 1024
    disk = shutil.disk_usage("/")
    return {"ts": int(time.time()), "cpu_count": os.cpu_count(), "cpu_used_pct": 0.0,
            "mem_total": memory["MemTotal"], "mem_used": memory["MemTotal"] - memory["MemAvailable"],
            "mem_cache": memory["Cached"], "disk_used": disk.used, "disk_total": disk.total}


def _serve_one(daemon, connection):
    between.roomy(connection)
    try:
        request = web.read_request(web.Source(connection))
        if request:
            reply = web.Reply(connection, request)
            try:
                daemon.answer(request, reply)
            except (web.Broken, BrokenPipeError):
                raise
            except Exception as error:
                traceback.print_exc()
                if not reply.begun:
                    reply.error(500, repr(error))
    except web.Broken:
        pass
    finally:
        web.quietly_closed(connection)


def serve(listener, spec):
    """Never returns."""
    os.umask(0o022)
    daemon = Daemon(spec)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve_one, args=(daemon, connection), daemon=True).start()
