"""GET and POST /files, and /files/compose: plain HTTP. All of it is done as root, whoever asks."""

import base64
import contextlib
import email.utils
import errno
import hashlib
import mimetypes
import os
import re
import stat
import time
import uuid
import zlib

from envd import entries, multipart, users

PIECE = 1 << 16
METADATA = "x-metadata-"
mimetypes.init()  # reads files, of which there are fewer in a box


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def signature(path, operation, user, token, expiration=None):
    parts = [path, operation, user or "", token] + ([] if expiration is None else [str(expiration)])
    digest = hashlib.sha256(":".join(parts).encode()).digest()
    return "v1_" + base64.b64encode(digest).decode().rstrip("=")


def authorize(request, token, operation):
    """By the header, else by a signature in the query."""
    if not token:
        return
    given = request.headers.get("x-access-token", "")
    if given:
        if given != token:
            raise Refused(401, "access token present in header but does not match")
        return
    query = request.query
    if "signature" not in query:
        raise Refused(401, "missing signature query parameter")
    expiration = query.get("signature_expiration")
    wanted = signature(query.get("path", ""), operation, query.get("username"), token, expiration)
    if query["signature"] != wanted:
        raise Refused(401, "invalid signature")
    if expiration is not None and int(expiration) < time.time():
        raise Refused(401, "signature is already expired")


def _user(name):
    try:
        return users.find(name)
    except KeyError as error:
        raise Refused(401, f"error looking up user '{name}': user: unknown user {name}") from error


def _resolved(path, user, what):
    try:
        return users.resolved(path, user)
    except ValueError as error:
        raise Refused(400, f"{what}: {error}") from error


def _content_type(path):
    guessed = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return guessed + ("; charset=utf-8" if guessed.startswith("text/") else "")


def _wants_gzip(request):
    accepted = [part.strip().split(";") for part in
                request.headers.get("accept-encoding", "").lower().split(",")]
    return any(part[0].strip() == "gzip" and "q=0" not in [one.strip() for one in part[1:]]
               for part in accepted)


def _pieces_of(descriptor, start, count):
    os.lseek(descriptor, start, os.SEEK_SET)
    while count is None or count > 0:
        piece = os.read(descriptor, PIECE if count is None else min(PIECE, count))
        if not piece:
            return
        if count is not None:
            count -= len(piece)
        yield piece


def _range(text, size):
    """(start, end) or None for the whole. Raises Refused."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", text)
    if not match or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size
    start, end = int(first), min(int(last) + 1, size) if last else size
    if start >= size or end <= start:
        raise Refused(416, "invalid range: failed to overlap")
    return start, end


class Files:
    def __init__(self, token):
        self._token = token

    def serve(self, request, reply):
        try:
            if request.path == "/files/compose" and request.method == "POST":
                self._compose(request, reply)
            elif request.method == "GET":
                self._download(request, reply)
            elif request.method == "POST":
                self._upload(request, reply)
            else:
                reply.whole(405)
        except Refused as error:
            reply.error(error.status, str(error), {"X-Content-Type-Options": "nosniff"})

    def _download(self, request, reply):
        authorize(request, self._token, "read")
        query = request.query
        user = _user(query.get("username", users.DEFAULT))
        path = _resolved(query.get("path", ""), user, "error expanding and resolving path")
        try:
            found = os.stat(path)
            if stat.S_ISDIR(found.st_mode):
                raise Refused(400, f"path '{path}' is a directory")
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Refused(404, f"path '{path}' does not exist") from error
        except OSError as error:
            raise Refused(500, f"error opening file '{path}': {error.strerror.lower()}") from error
        try:
            self._send(request, reply, path, found, descriptor)
        finally:
            os.close(descriptor)

    @staticmethod
    def _send(request, reply, path, found, descriptor):
        headers = {"Content-Type": _content_type(path), "Vary": "Accept-Encoding",
                   "Content-Disposition": f"inline; filename={os.path.basename(path)}"}
        asked = request.headers.get("range")
        if not asked and _wants_gzip(request):
            reply.head(200, {**headers, "Content-Encoding": "gzip"})
            packer = zlib.compressobj(wbits=31)
            for piece in _pieces_of(descriptor, 0, None):
                reply.write(packer.compress(piece))
            reply.write(packer.flush())
            return reply.end()
        headers["Accept-Ranges"] = "bytes"
        headers["Last-Modified"] = email.utils.formatdate(found.st_mtime, usegmt=True)
        part = _range(asked, found.st_size) if asked else None
        # The size is what stat says: files of /proc come out empty.
        start, end = part or (0, found.st_size)
        if part:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{found.st_size}"
        reply.head(206 if part else 200, headers, end - start)
        for piece in _pieces_of(descriptor, start, end - start):
            reply.write(piece)
        return reply.end()

    def _upload(self, request, reply):
        authorize(request, self._token, "write")
        query = request.query
        pieces = self._unpacked(request)
        user = _user(query.get("username", users.DEFAULT))
        metadata = {name[len(METADATA):]: value for name, value in request.headers.items()
                    if name.startswith(METADATA)}
        kind = request.headers.get("content-type", "")
        if kind.split(";")[0].strip().lower() == "application/octet-stream":
            if "path" not in query:
                raise Refused(400, "path query parameter is required for raw body upload")
            done = [self._store(query["path"], user, pieces, metadata, [])]
        elif kind.lower().startswith("multipart/"):
            done = self._store_parts(kind, query, user, pieces, metadata)
        else:
            raise Refused(400, f"unsupported content type: {kind}, expected multipart/form-data or "
                          "application/octet-stream")
        reply.json(200, done)

    def _store_parts(self, kind, query, user, pieces, metadata):
        done = []
        try:
            for name, file_name, content in multipart.Parts(pieces, kind):
                if name == "file":
                    path = query.get("path", file_name)
                    if path is None:
                        raise Refused(400, "error getting multipart custom part file name: filename not "
                                      "found in Content-Disposition header")
                    done.append(self._store(path, user, content, metadata,
                                            [one["path"] for one in done]))
        except multipart.Malformed as error:
            raise Refused(500, f"error reading form: {error}") from error
        return done

    @staticmethod
    def _unpacked(request):
        encoding = request.headers.get("content-encoding", "identity").lower()
        if encoding == "identity":
            return request.body.pieces()
        if encoding != "gzip":
            raise Refused(400, "error decompressing request body: unsupported Content-Encoding: "
                          f"{encoding}, supported: [gzip]")

        def unpacked():
            unpacker = zlib.decompressobj(wbits=31)
            for piece in request.body.pieces():
                yield unpacker.decompress(piece)
            yield unpacker.flush()
        return unpacked()

    def _store(self, path, user, pieces, metadata, taken):
        """In place and piece by piece: whoever is cut off has left half a file."""
        path = _resolved(path, user, "error resolving path")
        if path in taken:
            raise Refused(400, f"you cannot upload multiple files to the same path '{path}' in one upload "
                          "request, only the first specified file was uploaded")
        try:
            users.ensure_folders(os.path.dirname(path), user)
            if os.path.isdir(path):
                raise Refused(400, f"path is a directory: {path}")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            with open(descriptor, "wb", buffering=0) as file:
                os.fchown(descriptor, user.pw_uid, user.pw_gid)
                for piece in pieces:
                    view = memoryview(piece)
                    while view:
                        view = view[file.write(view):]
                entries.write_metadata(descriptor, metadata)
        except zlib.error as error:
            raise Refused(500, f"error writing file: gzip: {error}") from error
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise Refused(507, "not enough disk space available") from error
            raise Refused(500, f"error writing file: {error}") from error
        entry = {"path": path, "name": os.path.basename(path), "type": "file"}
        kept = entries.metadata(path)
        return {**entry, "metadata": kept} if kept else entry

    def _compose(self, request, reply):
        try:
            asked = request.json()
        except ValueError as error:
            raise Refused(400, f"invalid request body: {error}") from error
        if not asked.get("source_paths") or not asked.get("destination"):
            raise Refused(400, "destination is required" if asked.get("source_paths") else
                          "source_paths must not be empty")
        user = _user(asked.get("username", users.DEFAULT))
        target = _resolved(asked["destination"], user, "error resolving destination path")
        sources = [_resolved(path, user, "error resolving source path") for path in asked["source_paths"]]
        for source in sources:
            if source == target:
                raise Refused(400, f"source path \"{source}\" cannot be the same as destination")
            if not os.path.exists(source):
                raise Refused(404, f"source file not found: {source}")
            if not os.path.isfile(source):
                raise Refused(400, f"source path is not a regular file: {source}")
        self._join(sources, target, user)
        reply.json(200, {"path": target, "name": os.path.basename(target), "type": "file"})

    @staticmethod
    def _join(sources, target, user):
        beside = f"{target}.e2b-compose.{uuid.uuid4()}.tmp"
        try:
            users.ensure_folders(os.path.dirname(target), user)
            with open(beside, "wb") as file:
                os.fchown(file.fileno(), user.pw_uid, user.pw_gid)
                for source in sources:
                    with open(source, "rb") as part:
                        while piece := part.read(PIECE):
                            file.write(piece)
            os.rename(beside, target)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.remove(beside)
            if error.errno == errno.ENOSPC:
                raise Refused(507, "not enough disk space available") from error
            raise Refused(500, f"error composing: {error}") from error
        for source in sources:
            with contextlib.suppress(OSError):
                os.remove(source)
