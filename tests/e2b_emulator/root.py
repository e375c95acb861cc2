"""The file system of a box: programs of the host under folders of its own, all of it in memory. It is
in no folder of the host, so there is nothing to remove: it ends with the last process of its box."""

import os
import shutil

import kernel

# Of the host's /etc: what programs read, and no secret.
ETC_FILES = ("bash.bashrc", "debian_version", "inputrc", "ld.so.cache", "ld.so.conf", "locale.alias",
             "login.defs", "mime.types", "os-release", "profile", "protocols", "services", "shells",
             "gai.conf", "rpc", "mke2fs.conf", "magic")
ETC_FOLDERS = ("alternatives", "ca-certificates", "ld.so.conf.d", "perl", "python3", "python3.11",
               "skel", "ssl/certs", "terminfo", "vim")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
FOLDERS = {"root": 0o700, "home": 0o755, "tmp": 0o1777, "run": 0o755, "var": 0o755, "var/tmp": 0o1777,
           "var/log": 0o755, "var/lib": 0o755, "var/cache": 0o755, "etc": 0o755, "etc/ssl": 0o755,
           "dev": 0o755, "dev/pts": 0o755, "dev/shm": 0o1777, "proc": 0o555, "sys": 0o555, "usr": 0o755,
           "opt": 0o755, "srv": 0o755, "mnt": 0o755, "media": 0o755}
USER, ROOT = 1000, 0


def _names(one_id):
    user = ROOT if one_id else USER
    return {
        "passwd": f"root:x:0:0:root:/root:/bin/bash\nuser:x:{user}:{user}::/home/user:/bin/bash\n"
                  "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
                  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "group": f"root:x:0:\nuser:x:{user}:\ndaemon:x:1:\ntty:x:5:\nstaff:x:50:\nnogroup:x:65534:\n",
        "hostname": "e2b.local\n",
        "hosts": "127.0.0.1 localhost e2b.local\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "resolv.conf": "nameserver 8.8.8.8\n",
    }


def _etc(etc, one_id):
    for name in ETC_FILES:
        if os.path.exists(f"/etc/{name}"):
            shutil.copy(f"/etc/{name}", f"{etc}/{name}")
    for name in ETC_FOLDERS:
        if os.path.isdir(f"/etc/{name}"):
            shutil.copytree(f"/etc/{name}", f"{etc}/{name}", symlinks=True, dirs_exist_ok=True)
    if os.path.lexists("/etc/localtime"):
        shutil.copy("/etc/localtime", f"{etc}/localtime", follow_symlinks=False)
    for name, text in _names(one_id).items():
        with open(f"{etc}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def _programs(root):
    """Root may write to /usr, as in a microVM, where overlays can be had."""
    os.mkdir(f"{root}/.usr", 0o700)
    os.mkdir(f"{root}/.usr/upper", 0o755)
    os.mkdir(f"{root}/.usr/work")
    try:
        kernel.mount("overlay", f"{root}/usr", "overlay", 0,
                     f"lowerdir=/usr,upperdir={root}/.usr/upper,workdir={root}/.usr/work")
    except OSError:
        kernel.bind("/usr", f"{root}/usr", read_only=True)
    for name in os.listdir("/"):
        if name in ("bin", "sbin") or name.startswith("lib"):
            if os.path.islink(f"/{name}"):
                os.symlink(os.readlink(f"/{name}"), f"{root}/{name}")
            elif os.path.isdir(f"/{name}"):
                os.mkdir(f"{root}/{name}")
                kernel.bind(f"/{name}", f"{root}/{name}", read_only=True)


def _devices(root):
    for name in DEVICES:
        with open(f"{root}/dev/{name}", "w", encoding="utf-8"):
            pass
        kernel.bind(f"/dev/{name}", f"{root}/dev/{name}")
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2"),
                         ("ptmx", "pts/ptmx")):
        os.symlink(target, f"{root}/dev/{name}")
    kernel.mount("devpts", f"{root}/dev/pts", "devpts", kernel.NOSUID | kernel.NOEXEC,
                 "newinstance,ptmxmode=0666,mode=0620")


def build(megabytes, one_id):
    """In the mount namespace of this process, which has the root of the box afterwards."""
    kernel.mount("none", "/", flags=kernel.REC | kernel.PRIVATE)
    root = "/mnt" if os.path.isdir("/mnt") else "/tmp"
    kernel.mount("box", root, "tmpfs", kernel.NOSUID | kernel.NODEV if one_id else 0,
                 f"mode=755,size={megabytes}m")
    os.umask(0)
    for name, mode in FOLDERS.items():
        os.mkdir(f"{root}/{name}", mode)
    os.umask(0o022)
    _etc(f"{root}/etc", one_id)
    _programs(root)
    _devices(root)
    try:
        kernel.mount("sysfs", f"{root}/sys", "sysfs",
                     kernel.RDONLY | kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
    except OSError:
        pass  # of a user namespace, in some containers
    if one_id:
        # A user namespace may see a /proc of its own only where one is in sight. init's lies over it.
        kernel.bind("/proc", f"{root}/proc")
    _home(f"{root}/home/user", f"{root}/root", one_id)
    kernel.pivot_root(root)


def _home(home, home_of_root, one_id):
    os.mkdir(home)
    for folder in (home, home_of_root):
        if os.path.isdir("/etc/skel"):
            mode = os.stat(folder).st_mode & 0o777
            shutil.copytree("/etc/skel", folder, dirs_exist_ok=True)
            os.chmod(folder, mode)  # of the folder it takes that too, and root's is root's alone
    if not one_id:
        for path in (home, *(f"{home}/{name}" for name in os.listdir(home))):
            os.lchown(path, USER, USER)


def mount_proc():
    """Of the pid namespace that this process is the first of."""
    kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
    for name in ("sys", "sysrq-trigger"):
        # Root here may be root of the host, whose kernel is not the box's own.
        if os.path.exists(f"/proc/{name}"):
            kernel.bind(f"/proc/{name}", f"/proc/{name}", read_only=True)
