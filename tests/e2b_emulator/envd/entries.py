"""What is told of a file: EntryInfo, and the metadata beside it."""

import contextlib
import datetime
import os
import stat

from envd import users
from envd.rpc import RpcError

PREFIX = "user.e2b."
LETTERS = "rwxrwxrwx"
# As Go prints a mode: the letters of what is set, then the permissions.
KINDS = ((stat.S_ISDIR, "d"), (stat.S_ISLNK, "L"), (stat.S_ISBLK, "D"), (stat.S_ISFIFO, "p"),
         (stat.S_ISSOCK, "S"), (stat.S_ISCHR, "Dc"))
BITS = ((stat.S_ISUID, "u"), (stat.S_ISGID, "g"), (stat.S_ISVTX, "t"))


def permissions(mode):
    front = "".join(letter for test, letter in KINDS if test(mode))
    front += "".join(letter for bit, letter in BITS if mode & bit)
    back = "".join(letter if mode & (1 << (8 - place)) else "-" for place, letter in enumerate(LETTERS))
    return (front or "-") + back


def time_text(nanoseconds):
    seconds, rest = divmod(nanoseconds, 10**9)
    text = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{rest:09d}".rstrip("0").rstrip(".") + "Z"


def metadata(path):
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listxattr(path):
            if name.startswith(PREFIX):
                found[name[len(PREFIX):]] = os.getxattr(path, name).decode(errors="replace")
    return found


def write_metadata(descriptor, wanted):
    """Replaces what was there. Raises OSError, but not where the file system has no such thing."""
    try:
        for name in os.listxattr(descriptor):
            if name.startswith(PREFIX) and name[len(PREFIX):] not in wanted:
                os.removexattr(descriptor, name)
        for key, value in wanted.items():
            os.setxattr(descriptor, PREFIX + key, value.encode())
    except OSError as error:
        if error.errno not in (95, 1):  # EOPNOTSUPP, EPERM
            raise


def _kind(mode):
    if stat.S_ISREG(mode):
        return "FILE_TYPE_FILE"
    if stat.S_ISDIR(mode):
        return "FILE_TYPE_DIRECTORY"
    return "FILE_TYPE_UNSPECIFIED"


def info(path):
    """proto3: what is zero is absent."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RpcError("not_found", "file not found: " + users.system_text(error, "lstat", path)) from error
    except OSError as error:
        raise RpcError("internal", "error getting file info: " +
                       users.system_text(error, "lstat", path)) from error
    told, target = found, None
    if stat.S_ISLNK(found.st_mode):
        target = path
        with contextlib.suppress(OSError):
            target = os.path.realpath(path, strict=True)
        try:
            told = os.stat(target)
        except OSError:
            told = None
    owner, group = users.owner_names(found.st_uid, found.st_gid)
    entry = {"name": os.path.basename(path.rstrip("/")) or "/",
             "type": _kind(told.st_mode) if told else "FILE_TYPE_UNSPECIFIED", "path": path,
             "size": str(found.st_size), "mode": stat.S_IMODE(told.st_mode) & 0o777 if told else 0,
             "permissions": permissions(found.st_mode), "owner": owner, "group": group,
             "modifiedTime": time_text(found.st_mtime_ns), "symlinkTarget": target,
             "metadata": metadata(path)}
    return {key: value for key, value in entry.items()
            if value not in (0, "0", None, {}, "FILE_TYPE_UNSPECIFIED")}
