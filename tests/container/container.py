"""Runs a program as a container runtime would: what Docker and Podman do to a process by default,
piece by piece, made with util-linux alone. Needs root. Started as a program, it forbids user
namespaces, or all mounts, to the command line that follows."""

import ctypes
import os
import platform
import struct
import sys

# What `docker run` leaves to root.
DOCKER_CAPABILITIES = ("chown", "dac_override", "fsetid", "fowner", "mknod", "net_raw", "setgid",
                       "setuid", "setfcap", "setpcap", "net_bind_service", "sys_chroot", "kill",
                       "audit_write")
# Nothing of the host's: one old /proc that is left whole would let a new one be mounted.
MOUNTS = """
umount -l $(findmnt -rn -t proc -o TARGET | sort -r)
mount -t proc proc /proc
mount -t tmpfs -o ro tmpfs /sys/fs/cgroup
"""
MASKS = """
for path in /proc/kcore /proc/keys /proc/timer_list; do
    [ ! -e $path ] || mount --bind /dev/null $path
done
for path in /proc/bus /proc/fs /proc/irq /proc/sys; do
    mount --bind $path $path && mount -o remount,bind,ro $path
done
"""
CLONE_NEWUSER = 0x10000000
EPERM, EACCES, ENOSYS = 1, 13, 38
NUMBERS = {"x86_64": {"unshare": 272, "clone": 56, "clone3": 435, "mount": 165},
           "aarch64": {"unshare": 97, "clone": 220, "clone3": 435, "mount": 40}}
OPEN_TREE, MOVE_MOUNT, FSOPEN = 428, 429, 430  # the same everywhere


def _statement(code, value, if_true=0, if_false=0):
    return struct.pack("=HBBI", code, if_true, if_false, value)


def forbid_user_namespaces():
    """As the default seccomp profiles do. The architecture is not checked: what runs here does not
    try to get around it."""
    load, equal, test, give = 0x20, 0x15, 0x45, 0x06
    errno = 0x00050000
    numbers = NUMBERS[platform.machine()]
    program = b"".join([
        _statement(load, 0),
        _statement(equal, numbers["unshare"], 4, 0),
        _statement(equal, numbers["clone3"], 4, 0),
        _statement(equal, numbers["clone"], 0, 4),
        _statement(load, 16),
        _statement(test, CLONE_NEWUSER, 0, 2),
        _statement(give, errno | EPERM),
        _statement(give, errno | ENOSYS),
        _statement(give, 0x7fff0000)])
    _install(program)


def forbid_mounts():
    """As AppArmor does to what ordinary users make on Ubuntu: a user namespace can be made, and its
    capabilities are of no use."""
    load, equal, give = 0x20, 0x15, 0x06
    numbers = [NUMBERS[platform.machine()]["mount"], OPEN_TREE, MOVE_MOUNT, FSOPEN]
    _install(b"".join([
        _statement(load, 0),
        *(_statement(equal, number, len(numbers) - place, 0) for place, number in enumerate(numbers)),
        _statement(give, 0x7fff0000),
        _statement(give, 0x00050000 | EACCES)]))


def _install(program):
    buffer = ctypes.create_string_buffer(program)
    filter_program = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    set_no_new_privs, set_seccomp, filter_mode = 38, 22, 2
    libc.prctl(set_no_new_privs, 1, 0, 0, 0)
    if libc.prctl(set_seccomp, filter_mode, ctypes.create_string_buffer(filter_program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


def command(arguments, *, masked=True, seccomp=False, uid=0, rootless=False, own_run=False,
            no_mounts=False, no_namespaces=False):
    """The command line that runs `arguments` in the container: with /proc covered and user
    namespaces forbidden as Docker does both, as root with Docker's capabilities, as another user,
    or as Podman's root, who is `uid` outside and has every capability inside. `own_run`: with every
    capability, and a /run of its own. `no_mounts`: see forbid_mounts(). `no_namespaces`: where the
    limit of user namespaces is 0, which with `rootless` is that of the container alone."""
    if seccomp or no_mounts:
        arguments = ["/usr/bin/python3", __file__, "mounts" if no_mounts else "namespaces", *arguments]
    if no_namespaces:
        arguments = ["sh", "-ec", 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"', "sh", *arguments]
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    script = ["sh", "-ec", MOUNTS + (MASKS if masked else "") + 'exec "$@"', "sh"]
    if own_run:
        return [*unshare, "--mount-proc", "sh", "-ec", 'mount -t tmpfs tmpfs /run; exec "$@"', "sh",
                *arguments]
    if rootless:
        # The mounts of the host cannot be undone from there.
        return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *unshare,
                "--mount-proc", "--user", "--map-root-user", *arguments]
    bounding = "-all," + ",".join("+" + name for name in DOCKER_CAPABILITIES)
    user = ["--reuid", str(uid), "--regid", str(uid), "--clear-groups"] if uid else []
    return [*unshare, *script, "setpriv", "--bounding-set", bounding, *user, *arguments]


def is_possible():
    return os.geteuid() == 0 and platform.machine() in NUMBERS


if __name__ == "__main__":
    {"mounts": forbid_mounts, "namespaces": forbid_user_namespaces}[sys.argv[1]]()
    os.execvp(sys.argv[2], sys.argv[2:])
