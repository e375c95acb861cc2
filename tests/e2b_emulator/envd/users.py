"""Users of the box, and paths as they mean them."""

import base64
import binascii
import contextlib
import grp
import os
import pwd

DEFAULT = "user"


def find(name):
    """Raises KeyError."""
    return pwd.getpwnam(name)


def of_basic_auth(header):
    """The name, or None where the header has none."""
    kind, _, text = header.partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        return base64.b64decode(text).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return None


def groups_of(user):
    return sorted({user.pw_gid, *(group.gr_gid for group in grp.getgrall()
                                  if user.pw_name in group.gr_mem)})


def owner_names(uid, gid):
    owner, group = str(uid), str(gid)
    with contextlib.suppress(KeyError):
        owner = pwd.getpwuid(uid).pw_name
    with contextlib.suppress(KeyError):
        group = grp.getgrgid(gid).gr_name
    return owner, group


def resolved(path, user):
    """Raises ValueError. A relative path is one of the home, whatever the working directory."""
    if path.startswith("~"):
        if path[1:2] not in ("", "/", "\\"):
            raise ValueError(f"failed to expand path '{path}' for user '{user.pw_name}': "
                             "cannot expand user-specific home dir")
        path = user.pw_dir + "/" + path[1:].lstrip("/")
        return os.path.normpath(path)
    if os.path.isabs(path):
        return path
    return os.path.normpath(os.path.join(user.pw_dir, path))


def ensure_folders(path, user):
    """Those that are missing become the user's. Raises OSError."""
    missing = []
    while not os.path.isdir(path):
        if os.path.lexists(path) and os.path.exists(path):
            raise NotADirectoryError(f"path is a file: {path}")
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o755)
        os.chown(folder, user.pw_uid, user.pw_gid)


def system_text(error, call, path):
    """An OSError in the words of Go."""
    return f"{call} {path}: {error.strerror.lower()}"
