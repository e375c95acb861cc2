"""What the linker and the compiler made of the four programs that are installed: hardening, and
that what runs inside a sandbox needs nothing from there."""

import os
import pathlib
import re
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["BERTH_BUILD"])
PROGRAMS = {name: os.environ[f"BERTH_{name.upper()}"] for name in ("binary", "guest", "launcher", "proxy")}
STATIC = ("guest", "launcher")
# The objects of ours that each is linked from. Not the static programs themselves: what the
# libraries in them were compiled with would be counted too.
OBJECTS = {"binary": "server", "guest": "sandbox/guest", "launcher": "sandbox/local/launcher",
           "proxy": "sandbox/filter"}


def readelf(option, program):
    return subprocess.run(["readelf", "-W", option, program], check=True, capture_output=True,
                          text=True).stdout


def segments(program):
    """(type, flags) of each program header."""
    found = []
    for line in readelf("-l", program).split("Section to Segment")[0].splitlines():
        match = re.match(r"  ([A-Z_]+) +(?:0x[0-9a-f]+ +){5}([RWE ]{3}) ", line)
        if match:
            found.append((match[1], match[2].replace(" ", "")))
    return found


def dynamic(program, tag):
    return re.findall(rf"\({tag}\) +(.*)", readelf("-d", program))


def undefined_symbols(folder):
    objects = sorted((BUILD / folder).rglob("*.o"))
    assert objects, folder
    return set(subprocess.run(["nm", "-u", *objects], check=True, capture_output=True,
                              text=True).stdout.split())


class Hardening(unittest.TestCase):
    def each(self, check):
        for name, program in PROGRAMS.items():
            with self.subTest(name):
                check(name, program)

    def test_at_any_address(self):
        def check(_, program):
            self.assertRegex(readelf("-h", program), r"Type: +DYN")
            self.assertRegex(dynamic(program, "FLAGS_1")[0], r"\bPIE\b")
            self.assertEqual(dynamic(program, "TEXTREL"), [])
        self.each(check)

    def test_relocations_are_read_only_once_it_runs(self):
        def check(_, program):
            self.assertIn(("GNU_RELRO", "R"), segments(program))
            self.assertRegex(dynamic(program, "FLAGS_1")[0], r"\bNOW\b")
        self.each(check)

    def test_nothing_is_writable_and_executable(self):
        def check(_, program):
            found = segments(program)
            self.assertIn(("GNU_STACK", "RW"), found)
            self.assertIn(("LOAD", "RE"), found)
            self.assertEqual([flags for _, flags in found if "W" in flags and "E" in flags], [])
        self.each(check)

    def test_buffers_are_guarded(self):
        def check(name, _):
            symbols = undefined_symbols(OBJECTS[name])
            self.assertIn("__stack_chk_fail", symbols)
            # What of the proxy's own could be checked so the compiler knows to be right.
            if os.environ["BERTH_FORTIFIED"] == "yes" and name != "proxy":
                self.assertRegex(" ".join(symbols), r"\b__\w+_chk\b")
        self.each(check)


class Static(unittest.TestCase):
    def test_what_runs_inside_a_sandbox_loads_nothing(self):
        for name in STATIC:
            with self.subTest(name):
                self.assertEqual(dynamic(PROGRAMS[name], "NEEDED"), [])
                self.assertNotIn("INTERP", [kind for kind, _ in segments(PROGRAMS[name])])

    def test_the_server_loads_its_libraries(self):
        """Debian mends them without berth being built again."""
        self.assertIn("INTERP", [kind for kind, _ in segments(PROGRAMS["binary"])])


if __name__ == "__main__":
    unittest.main()
