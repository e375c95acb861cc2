"""filesystem.Filesystem. All of it is done as root; what is made belongs to the user who asks."""

import os
import queue
import secrets
import shutil
import threading
import time

from envd import entries, rpc, users
from envd.rpc import RpcError
from envd.watch import CHMOD, CREATE, WRITE, Watch


def _path(context, text):
    try:
        return users.resolved(text, context.user())
    except ValueError as error:
        raise RpcError("invalid_argument", str(error)) from error


def _watched(context, message):
    path = _path(context, message.get("path", ""))
    if not os.path.exists(path):
        raise RpcError("not_found", f"path {path} not found: stat {path}: no such file or directory")
    if not os.path.isdir(path):
        raise RpcError("invalid_argument", f"path {path} not a directory: %!w(<nil>)")
    return path


def _event(message, folder, path, kind):
    event = {"name": os.path.relpath(path, folder), "type": kind}
    if message.get("includeEntry") and kind in (CREATE, WRITE, CHMOD):
        try:
            event["entry"] = entries.info(path)
        except RpcError:
            pass  # gone since
    return event


class FilesystemService:
    def __init__(self):
        self._watchers = {}  # id: (its watch, its events)
        self._lock = threading.Lock()
        self.streams = {"WatchDir": self.watch_dir}
        self.client_streams = {}
        self.unary = {"Stat": self.stat, "ListDir": self.list_dir, "MakeDir": self.make_dir,
                      "Move": self.move, "Remove": self.remove, "CreateWatcher": self.create_watcher,
                      "GetWatcherEvents": self.watcher_events, "RemoveWatcher": self.remove_watcher}

    def stat(self, context, message):
        return {"entry": entries.info(_path(context, message.get("path", "")))}

    def list_dir(self, context, message):
        asked = _path(context, message.get("path", ""))
        try:
            folder = os.path.realpath(asked, strict=True)
        except FileNotFoundError as error:
            raise RpcError("not_found", "path not found: " +
                           users.system_text(error, "lstat", asked)) from error
        except OSError as error:
            raise RpcError("internal", f"error resolving symlink: {error}") from error
        if not os.path.isdir(folder):
            raise RpcError("invalid_argument", f"path is not a directory: {folder}")
        found = []
        try:
            self._walk(folder, asked, message.get("depth", 0) or 1, found)
        except OSError as error:
            raise RpcError("internal", f"error reading directory {folder}: {error}") from error
        return {"entries": found} if found else {}

    def _walk(self, folder, shown, depth, found):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            try:
                entry = entries.info(path)
            except RpcError as error:
                if error.code == "not_found":
                    continue
                raise
            found.append({**entry, "path": os.path.join(shown, name)})
            if depth > 1 and os.path.isdir(path) and not os.path.islink(path):
                self._walk(path, os.path.join(shown, name), depth - 1, found)

    def make_dir(self, context, message):
        path = _path(context, message.get("path", ""))
        if os.path.isdir(path):
            raise RpcError("already_exists", f"directory already exists: {path}")
        if os.path.exists(path):
            raise RpcError("invalid_argument", f"path already exists but it is not a directory: {path}")
        self._ensure(path, context)
        return {"entry": entries.info(path)}

    @staticmethod
    def _ensure(path, context):
        try:
            users.ensure_folders(path, context.user())
        except OSError as error:
            raise RpcError("internal", f"failed to create directory: {error}") from error

    def move(self, context, message):
        source = _path(context, message.get("source", ""))
        target = _path(context, message.get("destination", ""))
        self._ensure(os.path.dirname(target), context)
        try:
            os.rename(source, target)
        except FileNotFoundError as error:
            raise RpcError("not_found", f"source file not found: rename {source} {target}: "
                           "no such file or directory") from error
        except OSError as error:
            raise RpcError("internal", f"error renaming: rename {source} {target}: "
                           f"{error.strerror.lower()}") from error
        return {"entry": entries.info(target)}

    def remove(self, context, message):
        path = _path(context, message.get("path", ""))
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.remove(path)
        except OSError as error:
            raise RpcError("internal", f"error removing file or directory: {error}") from error
        return {}

    def watch_dir(self, context, message, stream):
        folder = _watched(context, message)
        heard = queue.SimpleQueue()
        stream.on_leaving = lambda: heard.put(None)
        watch = Watch(folder, message.get("recursive", False), lambda *what: heard.put(what))
        try:
            stream.send({"start": {}})
            self._follow(context, message, folder, heard, stream)
        finally:
            watch.close()

    @staticmethod
    def _follow(context, message, folder, heard, stream):
        interval = rpc.keepalive_of(context.request)
        if interval <= 0:
            os._exit(2)  # the original's ticker panics
        lifetime = rpc.timeout_of(context.request)
        deadline = time.monotonic() + lifetime if lifetime else None
        ping = time.monotonic() + interval
        while not stream.left.is_set():
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                raise RpcError("deadline_exceeded", "context deadline exceeded")
            try:
                what = heard.get(timeout=max(0, (ping if deadline is None else min(ping, deadline)) - now))
            except queue.Empty:
                if time.monotonic() >= ping:
                    stream.send({"keepalive": {}})
                    ping = time.monotonic() + interval
                continue
            if what:
                stream.send({"filesystem": _event(message, folder, *what)})
                ping = time.monotonic() + interval
        raise rpc.Gone

    def create_watcher(self, context, message):
        folder = _watched(context, message)
        events = []

        def heard(path, kind):
            with self._lock:
                events.append(_event(message, folder, path, kind))
        name = "w" + secrets.token_hex(10)
        watch = Watch(folder, message.get("recursive", False), heard)
        with self._lock:
            self._watchers[name] = (watch, events)
        return {"watcherId": name}

    def _watcher(self, message):
        name = message.get("watcherId", "")
        if name not in self._watchers:
            raise RpcError("not_found", f"watcher with id {name} not found")
        return name

    def watcher_events(self, _context, message):
        with self._lock:
            events = self._watchers[self._watcher(message)][1]
            told = list(events)
            events.clear()
        return {"events": told} if told else {}

    def remove_watcher(self, _context, message):
        with self._lock:
            watch, _ = self._watchers.pop(self._watcher(message))
        watch.close()
        return {}
