"""What happens in a folder, by inotify."""

import os
import select
import struct
import threading

import kernel

CREATE, WRITE, REMOVE, RENAME, CHMOD = (
    f"EVENT_TYPE_{name}" for name in ("CREATE", "WRITE", "REMOVE", "RENAME", "CHMOD"))
# In the order in which envd tells of what came as one.
MEANINGS = ((0x100 | 0x80, CREATE), (0x40 | 0x800, RENAME), (0x4, CHMOD), (0x2, WRITE),
            (0x200 | 0x400, REMOVE))
WANTED = 0x100 | 0x80 | 0x40 | 0x800 | 0x4 | 0x2 | 0x200 | 0x400
IS_FOLDER = 0x40000000
HEAD = struct.Struct("iIII")


class Watch:
    """Tells `heard` of (path, type of event), until it is closed."""

    def __init__(self, folder, recursive, heard):
        self._recursive, self._heard = recursive, heard
        self._folders = {}
        self._descriptor = kernel.inotify_init()
        self._stop = os.pipe()
        self._add(folder)
        threading.Thread(target=self._run, daemon=True).start()

    def _add(self, folder):
        self._folders[kernel.inotify_add(self._descriptor, folder, WANTED)] = folder
        if self._recursive:
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    self._add(entry.path)

    def _run(self):
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.register(self._stop[0], select.POLLIN)
        while not any(which == self._stop[0] for which, _ in poll.poll()):
            data = os.read(self._descriptor, 1 << 16)
            while data:
                watch, mask, _, length = HEAD.unpack_from(data)
                name = data[HEAD.size:HEAD.size + length].rstrip(b"\0")
                data = data[HEAD.size + length:]
                self._tell(watch, mask, name)
        for descriptor in (self._descriptor, *self._stop):
            os.close(descriptor)

    def _tell(self, watch, mask, name):
        folder = self._folders.get(watch)
        if folder is None:
            return
        path = os.path.join(folder, os.fsdecode(name)) if name else folder
        if self._recursive and mask & IS_FOLDER and mask & (0x100 | 0x80):
            try:
                self._add(path)
            except OSError:
                pass  # gone again
        for bits, kind in MEANINGS:
            if mask & bits:
                self._heard(path, kind)

    def close(self):
        os.write(self._stop[1], b".")
