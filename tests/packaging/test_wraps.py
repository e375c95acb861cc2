"""Every dependency has a wrap to fall back to, pinned to a commit, unless docs/adr/0010 says that it
has none. What they are is not fetched: that takes a network."""

import configparser
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ADR = (ROOT / "docs" / "adr" / "0010-static-libraries.md").read_text()
# Name for dependency(): how the ADR calls it.
WITHOUT = {"re2": "RE2", "libcrypto": "libcrypto", "libssl": "libssl",
           "libseccomp": "libseccomp", "hiredis": "hiredis"}
OF_THE_COMPILER = {"threads"}


def wraps():
    """{name: its file}."""
    found = {}
    for path in ROOT.glob("subprojects/*.wrap"):
        found[path.stem] = configparser.ConfigParser()
        found[path.stem].optionxform = str
        found[path.stem].read(path)
    return found


def dependencies():
    """[(name, name of the fallback or None)] of every call of dependency()."""
    files = [ROOT / "meson.build"] + [path for folder in ("sandbox", "schemas", "tools", "server", "tests")
                                      for path in sorted((ROOT / folder).rglob("meson.build"))]
    found = []
    for path in files:
        for name, rest in re.findall(r"\bdependency\('([^']+)'([^)]*)\)", path.read_text()):
            if "allow_fallback: false" not in rest:
                fallback = re.search(r"fallback: '([^']+)'", rest)
                found.append((name, fallback and fallback[1]))
    return found


class Wraps(unittest.TestCase):
    def test_every_dependency_has_one_or_a_reason(self):
        found = dependencies()
        self.assertGreater(len(found), 10)
        for name, fallback in found:
            with self.subTest(name):
                if name in WITHOUT:
                    self.assertIsNone(fallback)
                    self.assertIn(WITHOUT[name], ADR)
                elif name not in OF_THE_COMPILER:
                    self.assertIn(name, wraps()[fallback]["provide"])

    def test_each_is_used_and_pinned(self):
        used = {fallback for _, fallback in dependencies()}
        for name, wrap in wraps().items():
            with self.subTest(name):
                self.assertIn(name, used)
                self.assertRegex(wrap["wrap-git"]["revision"], r"^[0-9a-f]{40}$")
                patch = wrap["wrap-git"].get("patch_directory")
                if patch:
                    self.assertTrue((ROOT / "subprojects" / "packagefiles" / patch / "meson.build").exists())


if __name__ == "__main__":
    unittest.main()
