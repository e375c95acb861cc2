"""Root file systems for --template, put together from this host's own programs: what a container has,
in small."""

import os
import pathlib
import re
import shutil
import subprocess

PROGRAMS = ("bash", "cat", "chroot", "grep", "head", "id", "ls", "mkfifo", "mknod", "mount", "prlimit", "readlink", "rm",
            "seq", "sleep", "stat", "tail", "timeout", "touch", "tr", "unshare", "wc")
FILES = {  # of the template alone
    "etc/alternatives/tool": "an alternative\n",
    "etc/debian_version": "of the template\n",
    "etc/gshadow": "shadow of the template\n",
    "etc/hosts": "10.0.0.1 of-the-template\n",
    "etc/os-release": "ID=small\n",
    "etc/passwd": "root:x:0:0::/root:/bin/sh\nhost:x:0:0::/:/bin/sh\n",
    "etc/shadow": "shadow of the template\n",
    "etc/ssh/ssh_config": "of the template\n",
    "etc/ssh/ssh_host_key": "key of the template\n",
    "etc/ssl/certs/one.pem": "a certificate\n",
    "etc/ssl/private/one.key": "key of the template\n",
    "nix/store/file": "a store\n",
    "opt/tool/file": "optional\n",
    "root/secret": "of root\n",
    "usr/share/of-the-template": "here\n",
    "var/lib/dpkg/status": "Package: small\n",
}


def make(folder, merged=True):
    """`folder`, which must not be there: /bin, /lib and /lib64 as links into /usr, or folders."""
    folder = pathlib.Path(folder)
    folder.mkdir(mode=0o755)
    for name in ("bin", "lib", "lib64"):
        (folder / "usr" / name).mkdir(parents=True)
        if merged:
            (folder / name).symlink_to(f"usr/{name}")
        else:
            (folder / name).mkdir()
    for name in PROGRAMS:
        _copy(shutil.which(name), folder / "bin" / name)
    (folder / "bin" / "sh").symlink_to("bash")
    found = subprocess.run(["ldd", *map(shutil.which, PROGRAMS)], check=True, capture_output=True, text=True)
    for library in set(re.findall(r"(/\S+) \(0x", found.stdout)):
        _copy(library, folder / library.lstrip("/"))
    for name, text in FILES.items():
        write(folder, name, text)
    return folder


def write(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(os.path.realpath(source), target)
    target.chmod(0o755)
