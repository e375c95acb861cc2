"""read_file by tables."""

from tables.calls import CallTable
from tables.read import PLACE_ROWS, TEXT_ROWS, WINDOW_ROWS


class WindowTest(CallTable):
    tool = "read_file"
    rows = WINDOW_ROWS


class TextTest(CallTable):
    tool = "read_file"
    rows = TEXT_ROWS


class PlaceTest(CallTable):
    tool = "read_file"
    rows = PLACE_ROWS
