"""The system calls that Python 3.11 has no names for."""

import ctypes
import fcntl
import os
import socket
import struct

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2
PDEATHSIG, CAPBSET_DROP = 1, 24
SNDBUFFORCE = 32

_libc = ctypes.CDLL(None, use_errno=True)
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]


def _checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _bytes(text):
    return None if text is None else os.fsencode(text)


def unshare(flags):
    _checked(_libc.unshare(flags), "unshare")


def setns(descriptor, kind):
    _checked(_libc.setns(descriptor, kind), "setns")


def mount(source, target, kind=None, flags=0, data=None):
    _checked(_libc.mount(_bytes(source), _bytes(target), _bytes(kind), ctypes.c_ulong(flags),
                         _bytes(data)), f"mount {kind or source} on {target}")


def bind(source, target, read_only=False):
    mount(source, target, flags=BIND | REC)
    if read_only:
        # In a user namespace the flags that the mount has already may not be taken from it.
        kept = os.statvfs(target).f_flag & (NOSUID | NODEV | NOEXEC)
        mount(None, target, flags=BIND | REMOUNT | RDONLY | kept)


def unmount(target):
    _checked(_libc.umount2(_bytes(target), DETACH), f"umount {target}")


def pivot_root(folder):
    """`folder`, a mount, becomes /; what was it is let go."""
    os.chdir(folder)
    _checked(_libc.syscall(_PIVOT_ROOT, b".", b"."), "pivot_root")
    unmount(".")
    os.chdir("/")


def prctl(option, argument):
    _checked(_libc.prctl(option, ctypes.c_ulong(argument), 0, 0, 0), "prctl")


def set_hostname(name):
    _checked(_libc.sethostname(os.fsencode(name), len(os.fsencode(name))), "sethostname")


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up_and_running = 0x1 | 0x40
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH22x", b"lo", up_and_running))


def add_address(name, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for request, value in ((0x8916, address), (0x891c, "255.255.255.255")):  # address, then mask
            packed = struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(any_socket, request, packed)


def inotify_init():
    return _checked(_libc.inotify_init1(os.O_CLOEXEC), "inotify_init1")


def inotify_add(descriptor, path, mask):
    return _checked(_libc.inotify_add_watch(descriptor, os.fsencode(path), ctypes.c_uint32(mask)),
                    f"inotify_add_watch {path}")
