"""The processes of one box. Its *holder* has the namespaces and so the files, for as long as the box is
known; each boot of the box is an *init*, the first process of a pid namespace, with envd below it. The
end of init is the end of all that runs in the box.

Why this and not berth's own launcher: a box of E2B has root and `user` and commands of both, and root
may do what root may (set limits, protect itself from the OOM killer, become another). A machine of
sandbox/local has one mapped uid without any privilege. The namespaces here are no boundary either: what
runs in a box is the test's own."""

import os
import signal
import socket
import time
import traceback

import internet
import kernel
import root
from envd import daemon

# A box has a kernel of its own in the original; here these would reach the host's.
FORBIDDEN = {"MKNOD": 27, "SYS_MODULE": 16, "SYS_RAWIO": 17, "SYS_BOOT": 22, "SYS_TIME": 25,
             "AUDIT_CONTROL": 30, "MAC_OVERRIDE": 32, "MAC_ADMIN": 33, "SYSLOG": 34, "WAKE_ALARM": 35,
             "BLOCK_SUSPEND": 36, "PERFMON": 38, "BPF": 39}
SPACES = kernel.NEWNS | kernel.NEWUTS | kernel.NEWIPC | kernel.NEWNET


def one_id_only():
    """Whether this user can give a box one uid alone."""
    return os.geteuid() != 0


def _own_user_namespace():
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def hold(control, listener, cgroup, spec):
    """The holder: a boot or the end of one for each byte from `control`, the end with its end."""
    kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
    one_id = one_id_only()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    if one_id:
        _own_user_namespace()
        kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)  # new credentials forget it
        os.close(own)
        own = None
    kernel.unshare(SPACES)
    root.build(spec["megabytes"], one_id)
    kernel.set_hostname("e2b.local")
    kernel.loopback_up()
    world = internet.Internet(control, listener)
    world.allow(spec["reached"])
    init = 0
    control.sendall(b"+")
    while (order := control.recv(1)):
        if order == b"b":
            init = _boot(own, control, listener, cgroup, spec)
            control.sendall(init.to_bytes(4, "big"))
            spec = {**spec, "environment": {}}  # a cold boot has no variables of the creation
        elif order == b"k":
            os.kill(init, signal.SIGTERM if own is None else signal.SIGKILL)
            os.waitpid(init, 0)  # with all below it: an envd that still lived would take calls
            control.sendall(b"+")
        elif order == b"w":
            size = control.recv(1)[0]
            world.allow(control.recv(size).decode().split() if size else [])
            control.sendall(b"+")
    os._exit(0)


def _boot(own, control, listener, cgroup, spec):
    """The pid of init, or of the process above it, as the keeper sees them."""
    told, tell = os.pipe()

    def init():
        control.close()
        os.close(told)
        _init(listener, cgroup, spec, tell)
    started = _below_a_child(init, tell) if own is None else _below(own, init)
    os.close(tell)
    with open(told, encoding="utf-8") as file:
        wrong = file.read()
    if wrong:
        raise OSError(wrong)
    return started


def _below(own, init):
    """`init` as the first process of a new pid namespace. Then back to the `own` one, or the next would
    be nested."""
    kernel.unshare(kernel.NEWPID)
    started = os.fork()
    if started == 0:
        init()
    kernel.setns(own, kernel.NEWPID)
    return started


def _below_a_child(init, tell):
    """The same where the way back needs a privilege that is not there: by a process in between."""
    started = os.fork()
    if started == 0:
        kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
        kernel.unshare(kernel.NEWPID)
        first = os.fork()
        if first == 0:
            init()
        os.close(tell)
        signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
        os.waitpid(first, 0)
        os._exit(0)
    return started


def _init(listener, cgroup, spec, tell):
    """Never returns. Closes `tell` when envd is there; what is written to it is why it is not."""
    try:
        kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
        if cgroup is not None:
            os.write(cgroup, b"0")
            os.close(cgroup)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # what is ignored here is ignored by every command
        os.setsid()
        kernel.unshare(kernel.NEWNS)  # /proc goes with this boot
        root.mount_proc()
        for capability in FORBIDDEN.values():
            kernel.prctl(kernel.CAPBSET_DROP, capability)
        os.set_inheritable(tell, False)
        envd = _envd(listener, spec, tell)
        os.close(tell)
        while True:
            child, _ = os.wait()
            if child == envd:  # which the original's systemd starts again
                time.sleep(0.05)
                envd = _envd(listener, spec)
    except BaseException:
        os.write(tell, traceback.format_exc().encode())
    finally:
        os._exit(1)


def _envd(listener, spec, *to_close):
    child = os.fork()
    if child == 0:
        try:
            for descriptor in to_close:
                os.close(descriptor)
            os.setsid()
            daemon.serve(listener, spec)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return child


def listening():
    """A socket in the network namespace of the host, which the box accepts from; and its name."""
    name = "\0e2b-emulator-" + os.urandom(16).hex()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(name)
    listener.listen(256)
    return listener, name
