"""What goes wrong with a request, and what may come of it: the words of tests/e2b_emulator/README.md."""

import dataclasses

HTML = {"body": "<html><head><title>Bad Gateway</title></head></html>", "type": "text/html"}
DONE_ALL_THE_SAME = ()  # no error will do


@dataclasses.dataclass(frozen=True)
class Fault:
    rule: dict
    errors: tuple = DONE_ALL_THE_SAME  # the words of those that may be told in place of a result

    def __str__(self):
        return " ".join(f"{name}={value}" for name, value in self.rule.items() if name not in HTML)


def _all(*rules, errors=DONE_ALL_THE_SAME):
    return tuple(Fault(rule, errors) for rule in rules)


# Of the answer's stream: its beginning, middle and end, by a reset, a plain end and half a frame.
BROKEN = _all(
    {"drop": True}, {"cut": 0}, {"cut": 3}, {"cut": 40}, {"cut": 150}, {"cut": 400}, {"cut": 8000},
    {"cut": -300}, {"cut": -60}, {"cut": -1}, {"cut": 40, "reset": False}, {"cut": -200, "reset": False},
    {"end": 20}, {"end": 120}, {"end": 300}, {"cut_request": 100})
# Of a call that sends more this would be silence: where nobody hears that it has begun, nothing comes.
LOST = _all({"lose_reply": True})

# Of the request that brings what the first had no room for.
BROKEN_BODIES = _all(
    {"drop": True}, {"lose_reply": True}, {"cut": 0}, {"cut_request": 0}, {"cut_request": 100_000},
    {"status": 500}, {"status": 502, **HTML}, {"status": 503}, {"status": 429})

# Of one that brings a frame: more of a load, or a cancel.
FRAMES = (*_all({"status": 429}),
          *_all({"drop": True}, {"lose_reply": True}, {"status": 500}, {"status": 502, **HTML}, {"status": 503},
                {"status": 504, "done": 0.1, **HTML}, {"cut_request": 5}, errors=("backend_error",)))
# A cancel that is held up on the way is given up, and goes again by another; so does one that came, and whose
# answer is held up. One that is merely slow is waited for.
CANCELS = (*FRAMES, *_all({"delay": 8}, {"silent": 0}, {"delay": 1}))

REFUSED = _all(
    {"status": 429}, {"status": 429, "headers": {"Retry-After": "1"}}, {"status": 502, **HTML}, {"status": 503},
    {"status": 500}, {"status": 500, **HTML}, {"status": 504, **HTML})
# The same words of a proxy that had passed it on, and waits no longer for what is done.
GIVEN_UP = _all({"status": 500, "done": 0.2}, {"status": 502, "done": 0.2, **HTML}, {"status": 503, "done": 0},
                {"status": 504, "done": 0.2, **HTML})

# Of what the control plane is asked for.
UNASKABLE = _all(
    {"drop": True}, {"lose_reply": True}, {"cut": 10}, {"end": 10}, {"status": 429}, {"status": 500},
    {"status": 429, "headers": {"Retry-After": "1"}}, {"status": 502, **HTML}, {"status": 503},
    errors=("sandbox_unavailable", "backend_error", "quota_exceeded", "busy"))
MEANWHILE = _all({"then": "pause", "after": 0.4}, {"then": "expire", "after": 0.4},
                 {"then": "pause", "after": 0.4, "delay": 0.5})

_COMING = ("sandbox_unavailable", "backend_error", "quota_exceeded", "busy")


def _each(which, rules, errors):
    return _all(*({**which, **rule} for rule in rules), errors=errors)


# Of the requests that make a box, in their order: the box, the guest's files, its start and first word.
MAKING = (
    *_each({"plane": "api", "method": "POST", "path": "/v2/sandboxes"},
           ({"drop": True}, {"lose_reply": True}, {"cut": 10}, {"end": 10}, {"status": 429}, {"status": 500},
            {"status": 429, "headers": {"Retry-After": "1"}}, {"status": 502, **HTML}, {"status": 503}),
           _COMING),
    *_each({"plane": "api", "method": "POST", "path": "/v2/sandboxes", "status": 404},
           ({"body": {"code": 404, "message": "template 'base' not found"}, "type": "application/json"},),
           ("backend_error",)),
    *_each({"plane": "envd", "path": "/files"},
           ({"drop": True}, {"lose_reply": True}, {"cut_request": 1000}, {"status": 502, **HTML},
            {"skip": 1, "lose_reply": True}), _COMING),
    *_each({"plane": "envd", "path": "/process.Process/Start"},  # to the one that is gone, as it turns out
           ({"drop": True}, {"cut": 40}, {"status": 503}), ("session_lost",)),
    *(fault for skip in (1, 2, 3) for fault in _each(
        {"plane": "envd", "path": "/process.Process/Start", "skip": skip},
        ({"drop": True}, {"lose_reply": True}, {"end": 60}, {"status": 500}), _COMING)),
    # And as often as it is tried.
    *_each({"plane": "envd", "path": "/files", "times": 0}, ({"drop": True},), _COMING),
    *_each({"plane": "envd", "path": "/process.Process/Start", "skip": 1, "times": 0},
           ({"lose_reply": True}, {"status": 500}), _COMING))

# Of those by which a server comes to one that is there.
TURNED_AWAY = (
    *(fault for skip in (0, 1) for fault in _each(
        {"plane": "api", "skip": skip},
        ({"drop": True}, {"cut": 10}, {"status": 429}, {"status": 500}, {"status": 503}), _COMING)),
    *(fault for skip in (0, 1) for fault in _each(
        {"plane": "envd", "skip": skip},
        ({"drop": True}, {"lose_reply": True}, {"end": 60}, {"cut": -60}, {"status": 500},
         {"status": 503}), _COMING)))

LEAVING = _all({"drop": True}, {"lose_reply": True}, {"cut": 3}, {"status": 429}, {"status": 500},
               {"status": 502, **HTML}, {"status": 409, "body": {"code": 409, "message": "being paused"}})
