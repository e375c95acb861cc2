"""Compiles files by themselves, as a user's build does, without writing anything: builds that join a dozen of
them do not see that one misses an include which another has.
  by_itself.py BUILD-FOLDER [FILE...]"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def commands(build):
    """By the file's path."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        output = words.index("-o")
        found[(pathlib.Path(entry["directory"]) / entry["file"]).resolve()] = (
            words[:output] + words[output + 2:] + ["-fsyntax-only"])
    return found


def main(build, *files):
    known = commands(pathlib.Path(build))

    def compile_one(file):
        return subprocess.run(known[pathlib.Path(file).resolve()], cwd=build, check=False).returncode

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(compile_one, files), default=0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
