"""The list of boxes: filters, order and pages."""

import base64
import datetime
import urllib.parse

import clock
from boxes import PAUSED, RUNNING, Refusal

LAST_ID = "zzzzzzzzzzzzzzzzzzzz"


def time_text(seconds):
    moment = datetime.datetime.fromtimestamp(clock.shown(seconds), datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"


def wanted_metadata(text):
    """The query has decoded once already; what is left is encoded as a whole, and each part again."""
    found = {}
    for pair in urllib.parse.unquote_plus(text).split("&"):
        key, equals, value = pair.partition("=")
        if not equals:
            raise Refusal(400, "Error parsing metadata")
        found[urllib.parse.unquote_plus(key)] = urllib.parse.unquote_plus(value)
    return found


def shown_state(box):
    return RUNNING if box.state == RUNNING else PAUSED


def _selected(boxes, query):
    if query.get("metadata"):
        wanted = wanted_metadata(query["metadata"])
        boxes = [box for box in boxes if wanted.items() <= box.metadata.items()]
    if query.get("template"):
        boxes = [box for box in boxes if box.template == query["template"]]
    if query.get("startedAfter"):
        try:
            since = datetime.datetime.fromisoformat(query["startedAfter"])
        except ValueError as error:
            raise Refusal(400, "validation error: parameter \"startedAfter\" in query has an error") from error
        boxes = [box for box in boxes if box.started >= since.timestamp()]
    return boxes


def _limit(query):
    try:
        limit = int(query.get("limit", 100))
        if 1 <= limit <= 100:
            return limit
    except ValueError:
        pass
    raise Refusal(400, "validation error: parameter \"limit\" in query has an error")


def _behind(boxes, token, ascending):
    try:
        started, name = base64.urlsafe_b64decode(token).decode().split("__")[:2]
    except ValueError as error:
        raise Refusal(400, "Invalid next token") from error

    def later(box):
        own = time_text(box.started)
        if ascending:
            return own > started or (own == started and box.id < name)
        return own < started or (own == started and box.id > name)
    return [box for box in boxes if later(box)]


def page(boxes, query, most=100):
    """(the boxes of the page, the headers that go with it)"""
    states = query["state"].split(",") if query.get("state") else [RUNNING, PAUSED]
    if not set(states) <= {RUNNING, PAUSED}:
        raise Refusal(400, "validation error: parameter \"state\" in query has an error")
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise Refusal(400, f"Invalid order parameter: unknown order \"{order}\"")
    ascending, limit = order == "asc", min(_limit(query), most)
    found = [box for box in _selected(boxes, query) if shown_state(box) in states]
    headers = {}
    if RUNNING in states:
        headers["X-Total-Running"] = str(sum(box.state == RUNNING for box in found))
    found.sort(key=lambda box: box.id, reverse=ascending)
    found.sort(key=lambda box: time_text(box.started), reverse=not ascending)
    if query.get("nextToken"):
        found = _behind(found, query["nextToken"], ascending)
    if len(found) > limit:
        last = found[limit - 1]
        cursor = f"{time_text(last.started)}__{last.id}" + ("__asc" if ascending else "")
        headers["X-Next-Token"] = base64.urlsafe_b64encode(cursor.encode()).decode()
    return found[:limit], headers


def all_running(boxes, query):
    """The first version of the list has no pages, and no box that is paused."""
    found = [box for box in _selected(boxes, query) if box.state == RUNNING]
    return sorted(found, key=lambda box: box.started, reverse=True)
