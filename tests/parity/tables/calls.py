"""Rows that are one call of a tool that only looks."""

import base64
import dataclasses
import typing

from table import TableTest


@dataclasses.dataclass(frozen=True)
class CallRow:
    """"{dir}" in texts is the folder that the row has to itself; it is the working directory."""

    name: str
    arguments: dict
    setup: str = ""  # a command before
    refused: str = ""  # the error's word
    parts: tuple = ()  # of the text, an error's too
    lacks: tuple = ()
    data: dict = dataclasses.field(default_factory=dict)  # of the typed result
    same_as: str = ""  # a command that prints what shown(result) must be
    look: typing.Callable | None = None  # (test, row, result): whatever else must be so
    local_only: bool = False
    sandboxes_only: bool = False  # modes, which mean nothing to root


class CallTable(TableTest):
    tool = ""

    def shown(self, result):
        return result.data["content"]

    def filled(self, row, value):
        if isinstance(value, dict):
            return {name: self.filled(row, one) for name, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.filled(row, one) for one in value]
        return value.replace("{dir}", self.row_directory(row)) if isinstance(value, str) else value

    def check(self, row):
        self.output(f'cd "$D"\n{row.setup}\n:', env={"D": self.row_directory(row)})
        arguments = self.filled(row, row.arguments)
        if row.refused:
            result = self.refused(row.refused, self.tool, **arguments)
        else:
            result = self.call(self.tool, **arguments)
        for part in row.parts:
            self.assertIn(self.filled(row, part), result.text)
        for part in row.lacks:
            self.assertNotIn(self.filled(row, part), result.text)
        self.assertEqual({name: result.data.get(name) for name in row.data}, self.filled(row, row.data), result)
        if row.same_as:
            # Not as berth shows it: folded, and its control characters written.
            printed = self.output(f"{{ {row.same_as}\n}} | base64 -w0")
            self.assertEqual(self.shown(result), base64.b64decode(printed).decode(errors="replace"))
        if row.look:
            row.look(self, row, result)
