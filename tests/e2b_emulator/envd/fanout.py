"""Output to whoever is subscribed, as envd hands it out: each piece to each of them in turn, and no
piece before the one before it was taken. So one who does not read stops the process for all of them.
What comes while nobody is subscribed is thrown away."""

import queue
import threading

PIECES = 64  # between those who read the process and those who are told


class Subscriber:
    def __init__(self):
        self._changed = threading.Condition()
        self._piece = None
        self._left = False
        self._woken = False

    def offer(self, piece):
        with self._changed:
            self._piece = piece
            self._changed.notify_all()
            while self._piece is not None and not self._left:
                self._changed.wait()

    def leave(self):
        with self._changed:
            self._left = True
            self._changed.notify_all()

    def wake(self):
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def take(self, seconds):
        """The next piece; None after that time, or when it is woken."""
        with self._changed:
            self._changed.wait_for(lambda: self._piece is not None or self._woken, max(seconds, 0))
            piece, self._piece = self._piece, None
            self._changed.notify_all()
            return piece


class FanOut:
    END = object()

    def __init__(self):
        self._pieces = queue.Queue(PIECES)
        self._lock = threading.Lock()
        self._subscribers = []
        self._ended = False
        threading.Thread(target=self._run, daemon=True).start()

    def subscribe(self):
        subscriber = Subscriber()
        with self._lock:
            self._subscribers.append(subscriber)
            if self._ended:
                threading.Thread(target=subscriber.offer, args=(self.END,), daemon=True).start()
        return subscriber

    def unsubscribe(self, subscriber):
        subscriber.leave()
        with self._lock:
            self._subscribers.remove(subscriber)

    def put(self, piece):
        if self._subscribers:
            self._pieces.put(piece)

    def end(self):
        self._pieces.put(self.END)

    def _run(self):
        while True:
            piece = self._pieces.get()
            with self._lock:
                self._ended = piece is self.END
                now = list(self._subscribers)
            for subscriber in now:
                subscriber.offer(piece)
            if piece is self.END:
                return
