"""The cases of a suite that failed, noted for another try that the gate makes: where BERTH_FAILED_CASES
names a folder, one that failed there before runs those alone. A suite of ten minutes is not run again for
a case of two seconds."""

import hashlib
import os
import pathlib
import sys
import unittest


def _note():
    """Of this command; None: nobody wants notes."""
    folder = os.environ.get("BERTH_FAILED_CASES")
    # Beside the words, what ordinary_user.py runs them with.
    words = "\0".join([os.environ.get("USER", ""), str(bool(os.environ.get("BERTH_PARITY_CGROUPS"))), *sys.argv])
    return folder and pathlib.Path(folder) / hashlib.sha256(words.encode()).hexdigest()


def failed_before():
    """Their names; none: all shall run."""
    note = _note()
    names = note.read_text().split() if note and note.exists() else []
    if names:
        print("only what failed before:", *names, flush=True)  # .ci/count.py adds the others
    return names


def note_failed(result):
    note = _note()
    if not note:
        return
    note.unlink(missing_ok=True)
    bad = [case for case, _ in result.failures + result.errors] + result.unexpectedSuccesses
    cases = [getattr(case, "test_case", case) for case in bad]  # of a subTest, the whole
    # A fixture of a class or a file has no name to be run by; what was skipped would be forgotten.
    if cases and not result.skipped and all(isinstance(case, unittest.TestCase) for case in cases):
        note.write_text("\n".join(sorted({case.id() for case in cases})))
