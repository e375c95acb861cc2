"""The boxes that there are: their states, their time limits, and the books of what became of each."""

import dataclasses
import re
import secrets
import string
import threading
import time

import between
import internet

ENVD_VERSION = "0.6.13"
CLIENT = "6532622b"
RUNNING, PAUSING, PAUSED, KILLING, GONE = "running", "pausing", "paused", "killing", "gone"
LETTERS = string.ascii_lowercase + string.digits
AUTO_RESUME_LEAST = 300


@dataclasses.dataclass
class Settings:
    """What a test may change while the emulator runs."""
    v2: bool = True  # of create and connect; without it 405, as older servers of others answer
    v2_list: bool = True
    other_keys: dict = dataclasses.field(default_factory=dict)  # and whose they are: "" the first key's team
    concurrent: int = 100
    page: int = 100  # boxes on one page of a list, whatever was asked for
    max_hours: int = 24
    megabytes: int = 1024  # of each box made from now on
    changes_network: bool = True  # of a box that is there; without it 405
    keeps_network: bool = True  # of boxes made or changed from now on; without it, all reach everything
    redirects_names: bool = False  # the same: whatever a box asks on port 53, the host answers
    idle_seconds: float = 0  # after which the front closes a connection; 0: never
    pause_seconds: float = 0  # how long a pause takes
    clock_ahead: float = 0  # seconds that all it tells of times is ahead of this host
    dead_stream_seconds: float = 900  # until a box that was resumed gives up streams from before


class Refusal(Exception):
    def __init__(self, status, message, headers=()):
        super().__init__(message)
        self.status, self.headers = status, dict(headers)


def unknown(name):
    return Refusal(404, f"Sandbox \"{name}\" doesn't exist or you don't have access to it")


def changing(box):
    being = {PAUSING: "paused", KILLING: "killed"}[box.state]
    return Refusal(409, f"Sandbox \"{box.id}\" is being {being}")


class Box:
    def __init__(self, wanted, token, timeout, team):
        self.team = team
        self.id = "i" + "".join(secrets.choice(LETTERS) for _ in range(20))
        self.token = token
        self.template = wanted["templateID"]
        self.metadata = wanted.get("metadata") or {}
        self.environment = wanted.get("envVars") or {}
        self.auto_pause = bool(wanted.get("autoPause"))
        self.keeps_memory = wanted.get("autoPauseMemory", True) is not False
        self.auto_resume = bool((wanted.get("autoResume") or {}).get("enabled"))
        self.internet = wanted.get("allow_internet_access")
        self.network = wanted.get("network")
        self.first_timeout = timeout
        self.started = self.end_at = time.time()
        self.state, self.has_memory = RUNNING, True
        self.lock = threading.RLock()  # of its transitions
        self.socket = None
        self.relays = set()
        self.log = []  # what envd's log of each call has, which E2B collects
        self._dead = []
        self._stalled = []

    def spec(self, settings):
        return {"box": self.id, "template": self.template, "token": self.token,
                "environment": self.environment, "megabytes": settings.megabytes,
                "reached": self.reached(settings)}

    def reached(self, settings):
        kept = internet.reached(self.internet, self.network) if settings.keeps_network else internet.PLACES
        return [*kept, *([internet.NAMES] if settings.redirects_names else [])]

    def cut(self, dead_stream_seconds=0):
        """Ends all streams to it. Its own ends stand for that time, and nobody reads them: so does a
        connection that is in a snapshot."""
        cut = [relay.cut(dead_stream_seconds > 0) for relay in list(self.relays)]
        dead = [connection for connection in cut if connection]
        self._dead += dead
        if dead:
            timer = threading.Timer(dead_stream_seconds, self.release, args=(dead,))
            timer.daemon = True
            timer.start()

    @staticmethod
    def release(connections):
        while connections:
            connections.pop().close()

    def stall(self, pid):
        """A subscriber of that process who reads nothing."""
        connection = between.connect(self.socket)
        body = b'{"process":{"pid":%d}}' % pid
        connection.sendall(
            b"POST /process.Process/Connect HTTP/1.1\r\nX-Access-Token: %b\r\n"
            b"Content-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n\0%b%b"
            % (self.token.encode(), len(body) + 5, len(body).to_bytes(4, "big"), body))
        said = b""
        while b"start" not in said and (piece := connection.recv(1024)):
            said += piece
        self._stalled.append(connection)

    def end_stall(self):
        self.release(self._stalled)

    def end_streams(self):
        self.cut()
        self.release(self._dead)
        self.end_stall()


class Boxes:
    def __init__(self, keeper, settings):
        self.settings = settings
        self._keeper = keeper
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._boxes = {}
        self._made, self._ended = [], {}
        threading.Thread(target=self._watch_limits, daemon=True).start()

    # What there is.

    def all(self):
        with self._lock:
            return [box for box in self._boxes.values() if box.state not in (KILLING, GONE)]

    def of(self, team):
        return [box for box in self.all() if box.team == team]

    def get(self, name, team=None):
        """Ids with the client's behind them are taken too. Who says a team sees no other's."""
        name = name.split("-")[0]
        if not re.fullmatch("[a-z0-9]+", name):
            raise Refusal(400, "Invalid sandbox ID")
        with self._lock:
            box = self._boxes.get(name)
        if box is None or team not in (None, box.team):
            raise unknown(name)
        return box

    def books(self):
        """Ids: of all that were made, of those in each state, and why each other one ended."""
        now = self.all()
        with self._lock:
            return {"created": list(self._made), "ended": dict(self._ended),
                    RUNNING: [box.id for box in now if box.state == RUNNING],
                    PAUSED: [box.id for box in now if box.state in (PAUSING, PAUSED)]}

    # What is done to them.

    def create(self, wanted, timeout, secured, team):
        self._check_length(timeout)
        token = "ea_" + secrets.token_hex(32) if secured else ""
        box = Box(wanted, token, timeout, team)
        with self._lock:
            running = sum(one.state == RUNNING for one in self._boxes.values())
            if running >= self.settings.concurrent:
                raise Refusal(429, "you have reached the maximum number of concurrent E2B sandboxes "
                              f"({self.settings.concurrent})")
            self._boxes[box.id] = box
        try:
            with box.lock:
                box.socket = self._keeper.make(box.id, box.spec(self.settings))
                box.started = time.time()
                box.end_at = box.started + timeout
        except OSError:
            with self._lock:
                del self._boxes[box.id]
            raise
        with self._lock:
            self._made.append(box.id)
            self._changed.notify()
        return box

    def _check_length(self, timeout):
        if timeout > self.settings.max_hours * 3600:
            raise Refusal(400, f"Timeout cannot be greater than {self.settings.max_hours} hours")

    def _limit(self, box, timeout):
        """When it ends with that much from now, and not later than the plan allows."""
        now = time.time()
        longest = box.started + self.settings.max_hours * 3600
        if now > longest:
            raise Refusal(400, "Max instance length exceeded")
        return min(now + timeout, longest)

    def keep_alive(self, box, timeout, may_shorten):
        if box.state in (PAUSING, KILLING):
            raise changing(box)
        with box.lock:
            if box.state != RUNNING:
                raise unknown(box.id)
            end = self._limit(box, timeout)
            if may_shorten or end > box.end_at:
                box.end_at = end
        with self._lock:
            self._changed.notify()

    def connect(self, box, timeout, memory=True):
        """Whether it had to be resumed."""
        self._check_length(timeout)
        with box.lock:  # waits for a transition
            if box.state == GONE:
                raise unknown(box.id)
            if box.state == RUNNING:
                self.keep_alive(box, timeout, may_shorten=False)
                return False
            self._resume(box, timeout, memory)
            return True

    def _resume(self, box, timeout, memory):
        if box.has_memory and memory:
            self._keeper.do("thaw", box.id)
        else:
            if box.has_memory:
                self._keeper.do("shut_down", box.id)
            self._keeper.do("boot", box.id)
        box.has_memory = True
        box.started = time.time()
        box.end_at = box.started + timeout
        box.state = RUNNING
        with self._lock:
            self._changed.notify()

    def auto_resume(self, box):
        with box.lock:
            if box.state == PAUSED:
                self._resume(box, max(box.first_timeout, AUTO_RESUME_LEAST), True)

    def change_network(self, box, internet_access, network):
        with box.lock:
            if box.state != RUNNING:
                raise unknown(box.id)
            box.internet, box.network = internet_access, network
            self._keeper.reach(box.id, box.reached(self.settings))

    def pause(self, box, memory=True):
        if box.state in (PAUSING, KILLING):
            raise changing(box)
        with box.lock:
            if box.state == PAUSED:
                raise Refusal(409, f"Error pausing sandbox - sandbox '{box.id}' is already paused")
            if box.state != RUNNING:
                raise unknown(box.id)
            box.state = PAUSING
            if memory:
                self._keeper.do("freeze", box.id)  # first: what is cut is not noticed inside
                box.cut(self.settings.dead_stream_seconds)
            else:
                box.end_streams()
                self._keeper.do("shut_down", box.id)
            time.sleep(self.settings.pause_seconds)
            box.has_memory, box.end_at, box.state = memory, time.time(), PAUSED

    def end(self, box, why):
        with box.lock:
            if box.state == GONE:
                raise unknown(box.id)
            box.state = KILLING
            box.end_streams()
            self._keeper.do("end", box.id)
            box.state = GONE
        with self._lock:
            del self._boxes[box.id]
            self._ended[box.id] = why

    def age(self, box, seconds):
        """As if what is known of it were so much older: a paused one has slept for longer."""
        with box.lock:
            box.started -= seconds
            if box.state == PAUSED:
                box.end_at -= seconds

    def expire(self, box):
        with box.lock:
            if box.state == RUNNING and box.auto_pause:
                self.pause(box, box.keeps_memory)
            elif box.state == RUNNING:
                self.end(box, "expired")

    def _watch_limits(self):
        while True:
            with self._lock:
                now = time.time()
                ends = [box.end_at for box in self._boxes.values() if box.state == RUNNING and box.socket]
                due = [box for box in self._boxes.values()
                       if box.state == RUNNING and box.socket and box.end_at <= now]
                if not due:
                    self._changed.wait(max(min(ends) - now, 0.001) if ends else None)
            for box in due:
                self._expire_if_due(box)

    def _expire_if_due(self, box):
        try:
            with box.lock:
                if box.end_at <= time.time():
                    self.expire(box)
        except (Refusal, OSError):
            pass
