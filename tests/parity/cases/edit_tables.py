"""edit_file by tables, its diff beside GNU patch."""

import base64
import collections
import hashlib
import io
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

from table import TableTest, matches, slug
from tables.edit import EDIT_ROWS
from tables.patch import PATCH_ROWS


def listing(test, folder, depth):
    """What is there from that depth on: kind and mode, of files which one and when it was changed."""
    return test.output(f"cd ~/{folder}; find . -mindepth {depth} \\( -type d -printf '%P %y %m\\0' -o -printf "
                       "'%P %y %m %i %T@ %l\\0' \\) | sort -z | tr '\\n\\0' '?\\n'", workdir="/")


def as_bytes(content):
    return content.encode() if isinstance(content, str) else content


class EditTable(TableTest):
    def check(self, row):
        place = self.row_directory(row)

        def filled(value):
            if isinstance(value, dict):
                return {name: filled(one) for name, one in value.items()}
            if isinstance(value, re.Pattern):
                return re.compile(value.pattern.replace("{dir}", re.escape(place)))
            return value.replace("{dir}", place) if isinstance(value, str) else value

        if row.refused:
            refused = self.refused(row.refused, "edit_file", **filled(row.arguments))
            for words in row.words:
                self.assertIn(filled(words), refused.text)
            self.assertEqual(listing(self, "rows/" + slug(row), 1), self.found[slug(row)])
            self.check_files(place, row.before)
            return
        result = self.call("edit_file", **filled(row.arguments))
        for part in row.parts:
            self.assertIn(filled(part), result.text)
        if row.text is not None:
            matches(self, filled(row.text), result.text, result)
        self.assertEqual({name: result.data[name] for name in row.data}, filled(row.data), result)
        after = {**row.before, **row.after}
        self.check_files(place, row.before if row.arguments.get("dry_run") else after)
        if row.shows:
            self.assertEqual(self.output(row.shows, workdir=place), row.prints)
        if row.patch_applies:
            self.check_patch(row, after, result.data)

    @classmethod
    def setUpClass(cls):
        """What is there before the rows, by a few commands for all of them."""
        super().setUpClass()
        with io.BytesIO() as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for row in cls.rows:
                for name, content in row.before.items():
                    member = tarfile.TarInfo(f"{slug(row)}/{name}")
                    member.size = len(as_bytes(content))
                    archive.addfile(member, io.BytesIO(as_bytes(content)))
            archive.close()
            given = base64.b64encode(packed.getvalue()).decode()
        if not cls.rows:
            return
        cls.shared.output("base64 -d | tar -x -m --no-same-owner -C ~/rows", stdin=given)
        cls.shared.output("set -e\n" + "\n".join(f"cd ~/rows/{slug(row)}; {row.setup}"
                                                 for row in cls.rows if row.setup))
        cls.found = collections.defaultdict(str)
        for line in listing(cls.shared, "rows", 2).splitlines(keepends=True):
            folder, _, rest = line.partition("/")
            cls.found[folder] += rest

    @classmethod
    def tearDownClass(cls):
        if cls.rows:  # what an edit needs for a moment
            cls.shared.assertEqual(cls.shared.output("find ~/rows -name '.berth-*'"), "")

    def check_files(self, place, contents):
        for name, content in contents.items():
            path = f"{place}/{name}"
            if content is None:
                self.refused("not_found", "read_file", path=path)
                continue
            if len(content) > 20_000:  # more than a result has room for
                found = self.output('sha256sum <"$F"', env={"F": path})[:64]
                self.assertEqual(found, hashlib.sha256(as_bytes(content)).hexdigest(), name)
                continue
            read = self.call("read_file", path=path, encoding="base64").data["content"]
            self.assertEqual(base64.b64decode(read), as_bytes(content), name)

    def check_patch(self, row, after, data):
        """The diff of one file, given to GNU patch, makes of the old content the new one, and back."""
        changed = [name for name, content in row.after.items() if row.before.get(name) != content]
        if len(changed) != 1 or data["diff_truncated"] or not data["diff"]:
            return
        (name,) = changed
        old, new = as_bytes(row.before.get(name, "")), as_bytes(after[name])
        if new is None:
            return
        for options, source, wanted in (([], old, new), (["-R"], new, old)):
            self.assertEqual(patched(source, data["diff"], options), wanted, data["diff"])


def patched(content, diff, options=()):
    """What GNU patch makes of it; None when it does not apply in full, and exactly there."""
    if shutil.which("patch") is None:
        raise AssertionError("this test needs GNU patch: apt-get install patch")
    with tempfile.TemporaryDirectory(prefix="berth-patch-") as folder:
        path = pathlib.Path(folder) / "file"
        path.write_bytes(content)
        done = subprocess.run(["patch", "--binary", "-s", "-F0", "-E", *options, "-o", folder + "/out",
                               str(path)], input=diff.encode(), capture_output=True, check=False)
        out = pathlib.Path(folder) / "out"
        return out.read_bytes() if done.returncode == 0 and out.exists() else (
            b"" if done.returncode == 0 else None)


class EditTest(EditTable):
    rows = EDIT_ROWS


class PatchTest(EditTable):
    rows = PATCH_ROWS
