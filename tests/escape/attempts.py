"""What a command may try to get out, each attempt by itself: attempts.py BAIT NAME... It runs inside of a
sandbox, and beside it, or in one that lacks a layer, where a test wants to see that it works there.

BAIT is JSON that says where the things of the host are that must not be reached (bait.py). Standard output:
a line `NAME OUTCOME` for each, where the outcome is `worked` or what refused it."""

import collections
import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

Attempt = collections.namedtuple("Attempt", "line what layer without function")
ATTEMPTS = {}
LIBC = ctypes.CDLL(None, use_errno=True)
# The same numbers on every architecture.
PIDFD_OPEN, CLONE3, PIDFD_GETFD = 434, 435, 438
MS_REMOUNT, MS_BIND, MNT_DETACH = 32, 4096, 2
CLONE_NEWUSER = 0x10000000
MOUNTING = "seccomp landlock privileges"  # each of which refuses a mount
PTRACE_SEIZE = 0x4206


class Refused(Exception):
    """By what is not there, rather than by an error."""


def attempt(line, what, layer, without=None):
    """`line` of the list of abuses; `layer` stops it; it works in a sandbox without the layers `without`, or,
    if that is "outside", where there is none, or, if "own", on a process of the command's own."""
    def add(function):
        ATTEMPTS[function.__name__] = Attempt(line, what, layer, without or layer, function)
        return function
    return add


def outcome(function, bait):
    try:
        function(bait)
    except Refused as refused:
        return str(refused)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return "worked"


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def expect(condition, otherwise):
    if not condition:
        raise Refused(otherwise)


def call(number, *arguments):
    return check(LIBC.syscall(ctypes.c_long(number), *(
        ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)))


def mount(source, target, kind, flags, data=None):
    check(LIBC.mount(*(None if text is None else text.encode() for text in (source, target, kind)),
                     ctypes.c_ulong(flags), data))


def umount(target):
    check(LIBC.umount2(target.encode(), MNT_DETACH))


def read(path, size=4096):
    with open(path, "rb", buffering=0) as file:
        return file.read(size)


# Processes. What is done to `process` is done to one of the host's, to the guest, or to a child.

@attempt("1", "list the processes of the host", "pidns", "outside")
def see_processes(bait):
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if bait["word"].encode() in read(f"/proc/{name}/cmdline").split(b"\0"):
                return
    raise Refused("not there")


@attempt("2", "kill a process of the host", "pidns", "outside")
def kill_process(bait):
    os.kill(bait["process"], signal.SIGCONT)


@attempt("3", "open the environment of a process of the host", "pidns", "outside")
def read_process(bait):
    expect(read(f"/proc/{bait['process']}/environ"), "nothing in it")


@attempt("2", "hold a process of the host (pidfd)", "pidns", "outside")
def hold_process(bait):
    os.close(call(PIDFD_OPEN, bait["process"], 0))


def of_every_thread(pid, file):
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.close(os.open(f"/proc/{pid}/task/{thread}/{file}", os.O_RDONLY))


@attempt("3", "open the memory of the guest, of any thread", "guest not dumpable", "own")
def guest_memory(bait):
    of_every_thread(bait["guest"], "mem")


@attempt("3", "open the environment of the guest, of any thread", "guest not dumpable", "own")
def guest_environment(bait):
    of_every_thread(bait["guest"], "environ")


@attempt("3", "trace the guest", "guest not dumpable", "own")
def guest_trace(bait):
    check(LIBC.ptrace(ctypes.c_long(PTRACE_SEIZE), ctypes.c_long(bait["guest"]), None, None))


@attempt("3", "take a descriptor out of the guest", "guest not dumpable", "own")
def guest_descriptor(bait):
    fd = call(PIDFD_OPEN, bait["guest"], 0)
    try:
        os.close(call(PIDFD_GETFD, fd, 0, 0))
    finally:
        os.close(fd)


@attempt("3", "read the guest's memory by process_vm_readv", "guest not dumpable", "own")
def guest_copy(bait):
    buffer = ctypes.create_string_buffer(8)
    mine = struct.pack("PN", ctypes.addressof(buffer), 8)
    # At an address that is nobody's: who may look is told EFAULT.
    theirs = struct.pack("PN", 8, 8)
    try:
        check(LIBC.process_vm_readv(bait["guest"], mine, 1, theirs, 1, 0))
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise


@attempt("3", "change a limit of the guest", "seccomp")
def guest_limits(_):
    soft, hard = resource.prlimit(1, resource.RLIMIT_SIGPENDING)
    resource.prlimit(1, resource.RLIMIT_SIGPENDING, (soft - 1, hard))


@attempt("3", "bind the guest to one processor", "seccomp")
def guest_processor(_):
    os.sched_setaffinity(1, os.sched_getaffinity(1))


@attempt("3", "put the guest behind everybody", "seccomp")
def guest_priority(_):
    os.setpriority(os.PRIO_PROCESS, 1, os.getpriority(os.PRIO_PROCESS, 1))


@attempt("3", "have the guest's timers fire late", "capabilities", "privileges")
def guest_timers(_):
    slack = read("/proc/self/timerslack_ns")
    with open("/proc/1/timerslack_ns", "wb", buffering=0) as file:
        file.write(slack)


# Descriptors, devices, programs.

@attempt("4", "open a file of the host through a descriptor that came along", "no descriptor leaks", "outside")
def leaked_descriptor(bait):
    for fd in range(3, 1024):
        with contextlib.suppress(OSError):
            os.close(os.open(os.path.basename(bait["file"]), os.O_RDONLY, dir_fd=fd))
            return
    raise Refused("no such descriptor")


@attempt("14", "become root by a set-user-id program", "no_new_privs", "outside")
def set_user_id(_):
    with subprocess.Popen(["su"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as program:  # which asks for a password and waits
        try:
            until = time.monotonic() + 0.2
            while time.monotonic() < until:
                status = read(f"/proc/{program.pid}/status").decode()
                if status.split("\nUid:")[1].split()[1] == "0":
                    return
                time.sleep(0.01)
        finally:
            program.kill()
    raise Refused("as before")


@attempt("48", "have the host's core_pattern run its program on a crash", "seccomp")
def crash(_):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What is 1 is the only limit under which the kernel runs none.
    expect(resource.getrlimit(resource.RLIMIT_CORE) != (1, 1), "no crash is told")


@attempt("12", "make a device node", "landlock")
def device_node(_):
    # A whiteout, the one that the kernel itself lets everybody make.
    os.mknod("whiteout", 0o020600, os.makedev(0, 0))
    os.unlink("whiteout")


# Capabilities. What the filter refuses too is tried without either.

@attempt("15", "have any capability, in any set", "capabilities", "privileges")
def capabilities(_):
    sets = [line for line in read("/proc/self/status").decode().splitlines() if line.startswith("Cap")]
    expect(any(int(line.split()[1], 16) for line in sets), "all empty")


@attempt("15", "give a program capabilities (setcap)", "capabilities", "privileges")
def file_capability(_):
    with open("program", "wb"):
        pass
    net_raw = struct.pack("<IIIIII", 0x03000001, 1 << 13, 0, 0, 0, os.getuid())
    try:
        os.setxattr("program", "security.capability", net_raw)
    finally:
        os.unlink("program")


@attempt("46", "open a raw socket", "capabilities", "privileges")
def raw_socket(_):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attempt("15", "change the root (chroot)", "seccomp, capabilities", MOUNTING)
def change_root(_):
    child = os.fork()
    if child == 0:
        try:
            os.chroot("/tmp")
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise OSError(status, "")


@attempt("7", "mount a file system", "seccomp, landlock, capabilities", MOUNTING)
def mount_new(_):
    mount("none", "/tmp", "tmpfs", 0)
    umount("/tmp")


@attempt("8", "mount another /proc over the masked one", "seccomp, landlock, capabilities", MOUNTING)
def mount_proc(_):
    mount("proc", "/proc", "proc", 0)
    umount("/proc")


@attempt("8", "take a mask off /proc", "seccomp, landlock, capabilities", MOUNTING)
def unmask(_):
    umount("/proc/kallsyms")


@attempt("8", "make a read-only mount writable, and write", "seccomp, landlock, capabilities", MOUNTING)
def remount(bait):
    mount(None, bait["shown"], None, MS_REMOUNT | MS_BIND)
    with open(f"{bait['shown']}/file", "a", encoding="ascii") as file:
        file.write("changed\n")


@attempt("8", "write to a read-only mount", "mountns", "outside")
def write_read_only(bait):
    with open(f"{bait['shown']}/file", "a", encoding="ascii") as file:
        file.write("changed\n")


@attempt("9", "open user namespaces again by /proc/sys", "/proc masks, capabilities", MOUNTING)
def write_sysctl(_):
    with contextlib.suppress(OSError):
        umount("/proc/sys")
    with open("/proc/sys/user/max_user_namespaces", "r+", encoding="ascii") as file:
        before = file.read()
        file.write("7")
        file.flush()
        file.seek(0)
        file.write(before)


@attempt("6", "make a user namespace by clone3, whose flags no filter sees", "nested-userns", "nested")
def user_namespace(_):
    arguments = struct.pack("8Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    child = call(CLONE3, arguments, len(arguments))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


@attempt("6", "make a user namespace by unshare", "seccomp, nested-userns", "seccomp nested")
def user_namespace_by_unshare(_):
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.unshare(CLONE_NEWUSER) == 0 else ctypes.get_errno())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise OSError(status, "")


@attempt("8", "read what /proc tells of the host's kernel", "/proc masks", "masks")
def masked_files(_):
    for name in ("kallsyms", "interrupts", "modules", "config.gz"):
        with contextlib.suppress(OSError):
            if read(f"/proc/{name}", 1):
                return
    raise Refused("empty")


@attempt("8", "list what /proc tells of the host's devices", "/proc masks", "masks")
def masked_folders(_):
    for name in ("fs", "irq", "bus", "pressure"):
        with contextlib.suppress(OSError):
            if os.listdir(f"/proc/{name}"):
                return
    raise Refused("empty")


# Files, sockets and memory of the host's, and what the server knows.

@attempt("18", "read a file of the host", "mountns", "outside")
def host_file(bait):
    read(bait["file"])


@attempt("18", "climb to it: out of the home, by /proc, by another's root", "mountns", "outside")
def climb(bait):
    places = ["../" * 40, "/proc/self/root/", "/proc/self/cwd/" + "../" * 40, "/proc/1/root/", "/dev/fd/../root/"]
    for place in places:
        with contextlib.suppress(OSError):
            read(place + bait["file"])
            return
    raise Refused("not there")


@attempt("16", "connect to a socket of the host by its path", "mountns", "outside")
def unix_socket(bait):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(bait["socket"])


@attempt("17", "connect to an abstract socket of the host", "netns", "outside")
def abstract_socket(bait):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect("\0" + bait["word"])


@attempt("46", "connect to what listens on the host's 127.0.0.1", "netns", "outside")
def host_tcp(bait):
    socket.create_connection(("127.0.0.1", bait["tcp"]), 1).close()


@attempt("46", "and by the same address written as IPv6", "netns", "outside")
def host_tcp_as_ipv6(bait):
    with socket.socket(socket.AF_INET6) as peer:
        peer.settimeout(1)
        peer.connect(("::ffff:127.0.0.1", bait["tcp"]))


@attempt("46", "ask what answers datagrams there", "netns", "outside")
def host_udp(bait):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(1)
        peer.connect(("127.0.0.1", bait["udp"]))
        peer.send(b"?")
        peer.recv(1)


@attempt("17", "attach shared memory of the host (System V)", "ipcns", "outside")
def shared_memory(bait):
    check(LIBC.shmget(bait["shm"], 0, 0))


@attempt("17", "open shared memory of the host (POSIX)", "mountns", "outside")
def posix_memory(bait):
    read(f"/dev/shm/{bait['word']}")


@attempt("10", "open a terminal of the host by its number", "devpts", "outside")
def terminal(bait):
    os.close(os.open(bait["terminal"], os.O_RDWR | os.O_NOCTTY))


@attempt("1", "learn the name of the host", "utsns", "outside")
def host_name(bait):
    expect(socket.gethostname() == bait["host"], "another")


@attempt("48", "find a variable of the server in its own", "environment from nothing", "outside")
def variable(bait):
    expect(bait["word"] in "".join(os.environ.values()), "not there")


def main(bait, names):
    child = None
    if bait.get("own"):
        child = subprocess.Popen(["sleep", "60"])
        bait["guest"] = child.pid
    for name in names:
        print(name, outcome(ATTEMPTS[name].function, bait), flush=True)
    if child:
        child.kill()
        child.wait()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
