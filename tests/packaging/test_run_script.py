"""packaging/run.sh with programs that install and build nothing, but are as loud and as greedy as
the real ones may be: a client's pipes are the server's alone. tests/debootstrap.sh has the real ones."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parent.parent.parent / "packaging"
LOUD = '#!/bin/sh\necho "$(basename "$0") $*"\ncat\n'
PROGRAMS = {
    "id": "#!/bin/sh\necho ${RUN_AS:-0}\n",
    "dpkg-query": "#!/bin/sh\n[ -f \"$0.installed\" ] && printf 'ii '\n",
    "apt-get": LOUD + '[ "$1" != install ] || touch "$(dirname "$0")/dpkg-query.installed"\n',
    "meson": LOUD + 'for tree do :; done\nmkdir -p "$tree/build" && touch "$tree/build/build.ninja"\n',
    "ninja": LOUD + 'mkdir -p "$2/server" && cp "$(dirname "$0")/berth" "$2/server/berth"\n',
    "berth": '#!/bin/sh\necho "berth $*"\n[ "$1" != serve ] || cat\n',
}


class RunScript(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="berth-run-")))
        shutil.copytree(PACKAGING, self.tree / "packaging")
        (self.tree / "bin").mkdir()
        for name, text in PROGRAMS.items():
            program = self.tree / "bin" / name
            program.write_text(text)
            program.chmod(0o755)

    def run_script(self, *arguments, script="run.sh", stdin="", status=0, **variables):
        environment = {"PATH": f"{self.tree / 'bin'}:{os.environ['PATH']}", **variables}
        done = subprocess.run([self.tree / "packaging" / script, *arguments], env=environment,
                              input=stdin, capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_the_pipes_are_the_server_s(self):
        done = self.run_script("serve", "--session", "a b", stdin="from the client\n")
        self.assertEqual(done.stdout, "berth serve --session a b\nfrom the client\n")
        for loud in ("apt-get update", "apt-get install", "meson setup", "ninja -C", "takes minutes"):
            self.assertIn(loud, done.stderr)

    def test_without_arguments_it_shows_all_there_is_to_do(self):
        lines = self.run_script().stdout.splitlines()
        self.assertEqual(lines[0], "berth doctor")
        self.assertTrue(any(line.startswith("berth call bash_exec ") for line in lines))
        self.assertIn(f"    claude mcp add berth -- {self.tree}/build/server/berth serve "
                      "--mount FOLDER:/home/user/project:rw", lines)

    def test_help_on_the_tests_installs_and_builds_nothing(self):
        done = self.run_script("--help", script="test.sh")
        self.assertTrue(done.stdout.startswith("usage: packaging/test.sh"))
        self.assertEqual(done.stderr, "")
        self.assertEqual(list(self.tree.glob("build*")), [])

    def test_who_may_not_install_is_told_what_is_missing(self):
        """By the line that installs all of packages.txt; nothing is tried or built."""
        listed = (PACKAGING / "packages.txt").read_text().splitlines()
        wanted = [name for name in (line.partition("#")[0].strip() for line in listed) if name]
        self.assertIn("ninja-build", wanted)
        done = self.run_script("serve", status=1, RUN_AS="1000")
        self.assertEqual(done.stdout, "")
        (line,) = [line for line in done.stderr.splitlines() if "sudo apt-get install" in line]
        self.assertEqual(line.split()[-len(wanted):], wanted)
        self.assertNotIn("apt-get update", done.stderr)
        self.assertFalse((self.tree / "build").exists())


if __name__ == "__main__":
    unittest.main()
