"""read_file by tables."""

from tables.calls import CallTable
from tables.media import DOCUMENT_ROWS, NOTEBOOK_ROWS, PICTURE_ROWS
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


class PictureTest(CallTable):
    tool = "read_file"
    rows = PICTURE_ROWS


class NotebookTest(CallTable):
    tool = "read_file"
    rows = NOTEBOOK_ROWS


class DocumentTest(CallTable):
    tool = "read_file"
    rows = DOCUMENT_ROWS
