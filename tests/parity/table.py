"""Tables of cases: each row is a test of its own, counted and run by name, and a whole table has one
session, or its rows would take a minute of making sandboxes."""

import re

from suite import ParityTest


def slug(row):
    """Its name where blanks and quotes would be in the way."""
    return re.sub(r"\W+", "_", row.name)


def matches(test, wanted, found, what):
    """`wanted`: the very text, or a pattern for all of it."""
    if isinstance(wanted, re.Pattern):
        test.assertRegex(found, re.compile(r"\A(?:" + wanted.pattern + r")\Z", re.DOTALL), what)
    else:
        test.assertEqual(found, wanted, what)


class TableTest(ParityTest):
    """`rows`: each has a `name` that no other one has. A subclass says what check(row) does; it works in
    row_directory(row), so that no row sees what another one has left."""

    rows = ()

    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        for row in cls.rows:
            name = "test_" + slug(row)
            if hasattr(cls, name):
                raise ValueError(f"two rows are named {row.name!r}")

            def method(self, row=row):
                self.check(row)
            method.local_only, method.sandboxes_only = row.local_only, row.sandboxes_only
            setattr(cls, name, method)

    @classmethod
    def setUpClass(cls):
        if not cls.rows:
            return
        cls.shared = ParityTest("end")
        cls.shared.addCleanup = cls.addClassCleanup
        cls.shared.setUp()
        cls.home = cls.shared.output("cd; pwd").rstrip("\n")
        cls.shared.output("mkdir -p " + " ".join(f"rows/{slug(row)}" for row in cls.rows))

    def setUp(self):
        self.state = self.shared.state
        self.berth = self.shared.berth

    def row_directory(self, row):
        return f"{self.home}/rows/{slug(row)}"

    def check(self, row):
        raise NotImplementedError
