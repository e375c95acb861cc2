"""What the rows of the tables are."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class ExecRow:
    """A command, what is given with it, and what must come back. "{dir}" in texts is the folder that
    the row has to itself. A text is compared as it is; a pattern must match the whole."""

    name: str
    command: object = None
    out: object = None  # None: what a fresh bash prints
    err: object = None
    code: object = None
    arguments: dict = dataclasses.field(default_factory=dict)
    setup: str = ""  # a command before
    files: dict = dataclasses.field(default_factory=dict)  # {name: content} afterwards
    fate: str = ""  # default: exited or signaled, by the code
    data: dict = dataclasses.field(default_factory=dict)  # of the typed result
    text: object = None  # what the model sees
    refused: str = ""  # the error's word
    words: tuple = ()  # in the error's text
    fresh: bool = True  # a fresh bash does the same
    local_only: bool = False
    sandboxes_only: bool = False


@dataclasses.dataclass(frozen=True)
class EditRow:
    """A call of edit_file, the files before, and the files after it. Contents are texts or bytes, None
    is a file that is absent. "{dir}" in texts is the folder that the row has to itself."""

    name: str
    arguments: dict
    before: dict = dataclasses.field(default_factory=dict)
    after: dict = dataclasses.field(default_factory=dict)  # what is not named is as before
    setup: str = ""  # a command behind `before`
    shows: str = ""  # a command, and what it must print afterwards
    prints: str = ""
    text: object = None  # what the model sees
    parts: tuple = ()  # of that
    data: dict = dataclasses.field(default_factory=dict)  # of the typed result
    refused: str = ""  # the error's word: nothing may have changed
    words: tuple = ()  # in the error's text
    patch_applies: bool = True  # the diff leads from before to after and back by GNU patch
    local_only: bool = False
    sandboxes_only: bool = False
