"""grep_files and glob_files by tables."""

from tables.calls import CallTable
from tables.glob import NAME_ROWS, PATH_ROWS, REST_ROWS
from tables.grep import BUDGET_ROWS, MATCH_ROWS, SELECTION_ROWS


class GrepTable(CallTable):
    tool = "grep_files"

    def shown(self, result):
        """As ripgrep prints it."""
        lines = []
        for file in result.data["files"]:
            if result.data["mode"] == "content":
                lines += [f"{file['path']}:{line['number']}:{line['text']}" for line in file["lines"]]
            else:
                lines.append(file["path"] + (f":{file['count']}" if result.data["mode"] == "count" else ""))
        return "".join(line + "\n" for line in lines)


class GrepMatchTest(GrepTable):
    rows = MATCH_ROWS


class GrepSelectionTest(GrepTable):
    rows = SELECTION_ROWS


class GrepBudgetTest(GrepTable):
    rows = BUDGET_ROWS


class GlobTable(CallTable):
    tool = "glob_files"


class GlobNameTest(GlobTable):
    rows = NAME_ROWS


class GlobPathTest(GlobTable):
    rows = PATH_ROWS


class GlobRestTest(GlobTable):
    rows = REST_ROWS
