"""A tree of real files to search in: what this host has of source text, until it is large enough."""
import os
import pathlib
import shutil

SOURCES = ["/usr/include", "/usr/src", "/usr/lib/python3", "/usr/lib/python3.11", "/usr/share/perl",
           "/usr/share/doc", "/usr/lib/node_modules"]
# Larger ones are programs and archives; they would make up half of the bytes.
LARGEST = 4 << 20


def sources():
    clients = os.environ.get("BERTH_CLIENTS", "")
    named = [os.path.join(clients, "node_modules")] if clients else []
    return [pathlib.Path(name) for name in SOURCES + named if os.path.isdir(name)]


def files_of(source):
    for folder, _, names in os.walk(source):
        for name in names:
            path = pathlib.Path(folder, name)
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
                yield path


def make_tree(folder, files, size):
    """Copies until there are `files` files with `size` bytes; returns how many of both there are."""
    count, total, copy = 0, 0, 0
    while count < files or total < size:
        copy += 1
        before = count
        for source in sources():
            for path in files_of(source):
                if count >= files and total >= size:
                    break
                target = folder / f"copy{copy}" / path.relative_to("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                count += 1
                total += target.stat().st_size
        if count == before:
            break
    return count, total
