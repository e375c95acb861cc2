"""What the clients of one session were told, and what may be true beside it: the promises that the
checks hold the session to. Nothing here talks to a server."""

import dataclasses
import hashlib
import itertools
import random

PRINTED = "printed by {0}"


def sha(content):
    return hashlib.sha256(content).hexdigest()


@dataclasses.dataclass
class Text:
    """A file that one worker alone writes. None: there is none."""
    path: str
    told: bytes | None = None
    maybe: list = dataclasses.field(default_factory=list)  # what was sent, and not answered

    def candidates(self):
        return [self.told, *self.maybe]

    def settle(self, found):
        """`found`: a sha256, or None. Returns what is wrong."""
        for content in reversed(self.candidates()):
            if found == (None if content is None else sha(content)):
                self.told, self.maybe = content, []
                return []
        sizes = [None if content is None else (len(content), sha(content)[:12])
                 for content in self.candidates()]
        self.maybe = []
        return [f"{self.path} is {found and found[:12]}, which is neither what was acknowledged nor "
                f"what was sent since: {sizes}"]


@dataclasses.dataclass
class Folder:
    """One of the workspace into which one worker alone saves, always as a whole."""
    path: str
    told: dict = dataclasses.field(default_factory=dict)  # {name: content}
    maybe: list = dataclasses.field(default_factory=list)

    def settle(self, found):
        """`found`: {name: sha256}. Returns what is wrong."""
        for content in reversed([self.told, *self.maybe]):
            if found == {name: sha(text) for name, text in content.items()}:
                self.told, self.maybe = content, []
                return []
        self.maybe = []
        return [f"{self.path} is {found}, which is neither what was acknowledged nor what was sent since"]


class Shelf:
    """What one worker has in the workspace, and of it at home."""

    def __init__(self, name, worker, texts):
        self.texts = texts
        self.pattern = f"{name}-{worker}-*.txt"  # of these texts, and of nothing else
        self.one = Text(f"/{name}/{worker}-one")
        self.all = Folder(f"/{name}/{worker}-all")
        self.one_back = Text(f"{name}-{worker}.back")
        self.all_back = {text.path: Text(f"{name}-{worker}-back/{text.path}") for text in texts}

    def loaded(self):
        return [self.one_back, *self.all_back.values()]


@dataclasses.dataclass
class Command:
    """One that appends its token to the ledger once, prints, and exits."""
    token: str
    text: str
    stdout: str
    exit_code: int
    background: bool = False
    refused: bool = False  # as busy: it may not have run
    answered: bool = False
    job: str = ""  # its id, where it is one
    cursor: str = ""
    read: str = ""  # of a job, up to the cursor
    done: bool = False  # a job that was seen to the end

    def outcome_is(self, data):
        """What is wrong in the data of a result that shows its end."""
        shown = (data["stdout"], data["exit_code"])
        if shown != (self.stdout, self.exit_code):
            return [f"{self.token}: {shown} is not its outcome"]
        return []


class World:
    """Of one session. `name` makes the tokens of different sessions differ."""

    def __init__(self, name, workers, seed):
        self.name = name
        self.random = random.Random(seed)
        self._numbers = itertools.count(1)  # which threads may share
        self.commands = {}  # by token
        self.texts = [[Text(f"{name}-{worker}-{kind}.txt") for kind in ("a", "b", "edited")]
                      for worker in range(workers)]
        self.shelves = [Shelf(name, worker, texts) for worker, texts in enumerate(self.texts)]
        self.directories = [""]  # the one that is sure, then those that may be

    def command(self, worker, body, stdout="", background=False):
        """`body`: what comes between the ledger and the exit; {0} is the token."""
        token = f"{self.name}-{worker}-{next(self._numbers)}"
        exit_code = self.random.randrange(4)
        text = f"echo {token} >>~/ledger; {body.format(token)}exit {exit_code}"
        found = Command(token, text, stdout.format(token), exit_code, background)
        self.commands[token] = found
        return found

    def content(self):
        """Mostly small; one in four takes the guest a while."""
        size = self.random.choice((1, 100, 5000, 400_000))
        letter = self.random.choice(b"abcdefgh")
        return b"version %d\n" % next(self._numbers) + bytes([letter]) * size + b"\nend\n"

    def home(self):
        """All files that may be there, but for the ledger."""
        return [text for shelf in self.shelves for text in [*shelf.texts, *shelf.loaded()]]

    def jobs(self):
        """Those whose beginning was acknowledged, and whose end nobody has looked at."""
        return [command for command in list(self.commands.values()) if command.job and not command.done]

    def named_in(self, text):
        """The commands whose tokens a text has."""
        return [command for command in self.commands.values() if f"echo {command.token} >>" in text]
