"""The control plane: what api.e2b.app answers."""

import ipaddress
import re
import threading

import listing
from boxes import CLIENT, ENVD_VERSION, Refusal

# (method, path, name of the function below); {id} is any box.
ROUTES = (("POST", "/v2/sandboxes", "create"), ("POST", "/sandboxes", "create_v1"),
          ("GET", "/v2/sandboxes", "list"), ("GET", "/sandboxes", "list_v1"),
          ("GET", "/sandboxes/{id}", "info"), ("DELETE", "/sandboxes/{id}", "kill"),
          ("POST", "/v2/sandboxes/{id}/connect", "connect"),
          ("POST", "/sandboxes/{id}/connect", "connect_v1"),
          ("POST", "/sandboxes/{id}/resume", "resume"), ("POST", "/sandboxes/{id}/pause", "pause"),
          ("POST", "/sandboxes/{id}/timeout", "timeout"),
          ("PUT", "/sandboxes/{id}/network", "network"),
          ("POST", "/sandboxes/{id}/refreshes", "refresh"))
# And the setting of each.
NOT_IN_OLDER_SERVERS = {"create": "v2", "connect": "v2", "list": "v2_list", "network": "changes_network"}
SHORTEST_REFRESH = 15


def template_of(path):
    """The path as it is counted, and the box in it."""
    match = re.fullmatch(r"(/v2)?/sandboxes/([^/]+)(/.*)?", path)
    if not match:
        return path, None
    return f"{match[1] or ''}/sandboxes/{{id}}{match[3] or ''}", match[2]


def _number(body, name, default):
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refusal(400, f"validation error: request body has an error: doesn't match schema: Error at "
                      f"\"/{name}\": value must be an integer")
    return value


def _range_of(text):
    """None of what is a name, or nothing."""
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None


def _is_taken(text):
    found = _range_of(text)
    return found is not None and (not found.ip.is_unspecified or text == "0.0.0.0/0")


def _require_rules(network):
    """Names are allowed alone, and known only of what is looked at, which nothing is that is not denied."""
    denied, allowed = network.get("denyOut") or [], network.get("allowOut") or []
    for each in denied:
        if not _is_taken(each):
            raise Refusal(400, f"invalid denied CIDR {each}")
    for each in allowed:
        if _range_of(each) and not _is_taken(each):
            raise Refusal(400, f"invalid allowed address {each}")
    if not all(map(_range_of, allowed)) and "0.0.0.0/0" not in denied:
        raise Refusal(400, "When specifying allowed domains in allow out, you must include "
                      "'0.0.0.0/0' in deny out to block all other traffic.")


def _body(request, optional=False):
    try:
        return request.json(optional)
    except ValueError as error:
        raise Refusal(400, f"Error when parsing request: {error}") from error


class Control:
    def __init__(self, boxes, keys):
        self._boxes, self._keys = boxes, keys
        self._routes = {(method, path): name for method, path, name in ROUTES}

    def answer(self, request, reply):
        if (request.method, request.path) == ("GET", "/health"):
            return reply.whole(204)
        template, box = template_of(request.path)
        try:
            request.team = self._authenticate(request)
            name = self._route(request.method, template)
            if name is None:
                return reply.whole(405, b"405 method not allowed", "text/plain")
            handler = getattr(self, "_" + name)
            if box is None:
                return handler(request, reply)
            return handler(request, reply, self._boxes.get(box, request.team))
        except Refusal as error:
            return reply.error(error.status, str(error), error.headers)
        except OSError as error:
            return reply.error(500, f"Failed to create sandbox: {error}")

    def _authenticate(self, request):
        key = request.headers.get("x-api-key")
        if not key:
            raise Refusal(401, "authorization header is missing")
        if not re.fullmatch("e2b_[0-9a-f]+", key):
            raise Refusal(401, "authorization header is malformed")
        if key in self._keys:
            return ""
        if key not in self._boxes.settings.other_keys:
            raise Refusal(401, "Invalid API key, please visit https://e2b.dev/docs/api-key for more "
                          "information.\nCannot get the team for the given API key")
        return self._boxes.settings.other_keys[key]

    def _route(self, method, template):
        """None where the path is known, but not with this method."""
        name = self._routes.get((method, template))
        setting = NOT_IN_OLDER_SERVERS.get(name)
        if name and (setting is None or getattr(self._boxes.settings, setting)):
            return name
        if any(path == template for _, path, _ in ROUTES):
            return None
        raise Refusal(404, "no matching operation was found")

    @staticmethod
    def _sandbox(box):
        secret = {"envdAccessToken": box.token} if box.token else {}
        return {"templateID": box.template, "sandboxID": box.id, "clientID": CLIENT,
                "envdVersion": ENVD_VERSION, **secret, "trafficAccessToken": None, "domain": None}

    @staticmethod
    def _listed(box):
        metadata = {"metadata": box.metadata} if box.metadata else {}
        return {"templateID": box.template, "sandboxID": box.id, "clientID": CLIENT,
                "startedAt": listing.time_text(box.started), "endAt": listing.time_text(box.end_at),
                "state": listing.shown_state(box), "envdVersion": ENVD_VERSION, "cpuCount": 2,
                "memoryMB": 512, "diskSizeMB": 1024, **metadata}

    def _detail(self, box):
        secret = {"envdAccessToken": box.token} if box.token else {}
        access = {} if box.internet is None else {"allowInternetAccess": box.internet}
        network = {"network": box.network} if box.network else {}
        return {**self._listed(box), **secret, **access, **network, "domain": None,
                "lifecycle": {"autoResume": box.auto_resume,
                              "onTimeout": "pause" if box.auto_pause else "kill"}}

    def _make(self, request, reply, default_timeout, always_secured):
        wanted = _body(request)
        if not isinstance(wanted.get("templateID"), str):
            raise Refusal(400, "validation error: request body has an error: doesn't match schema: Error "
                          "at \"/templateID\": property \"templateID\" is missing")
        timeout = _number(wanted, "timeout", default_timeout)
        if timeout <= 0:
            raise Refusal(400, "Timeout must be greater than 0")
        if wanted.get("autoPauseMemory") is False and (wanted.get("autoResume") or {}).get("enabled"):
            raise Refusal(400, "autoPauseMemory can't be false with autoResume")
        _require_rules(wanted.get("network") or {})
        box = self._boxes.create(wanted, timeout, always_secured or bool(wanted.get("secure")), request.team)
        reply.json(201, self._sandbox(box))

    def create_late(self, request, seconds):
        """When whoever asks has been told that it failed."""
        wanted, team = _body(request), self._authenticate(request)
        timer = threading.Timer(seconds, self._boxes.create,
                                args=(wanted, _number(wanted, "timeout", 300), True, team))
        timer.daemon = True
        timer.start()

    def _create(self, request, reply):
        self._make(request, reply, 300, True)

    def _create_v1(self, request, reply):
        self._make(request, reply, 15, False)

    def _list(self, request, reply):
        found, headers = listing.page(self._boxes.of(request.team), request.query, self._boxes.settings.page)
        reply.json(200, [self._listed(box) for box in found], headers)

    def _list_v1(self, request, reply):
        found = listing.all_running(self._boxes.of(request.team), request.query)
        reply.json(200, [self._listed(box) for box in found])

    def _info(self, _request, reply, box):
        if box.state in ("killing", "gone"):
            raise Refusal(404, f"Sandbox \"{box.id}\" doesn't exist or you don't have access to it")
        reply.json(200, self._detail(box))

    def _kill(self, _request, reply, box):
        self._boxes.end(box, "killed")
        reply.whole(204)

    def _connect(self, request, reply, box):
        body = _body(request, optional=True)
        self._resumed(reply, box, _number(body, "timeout", 300), body.get("memory") is not False)

    def _connect_v1(self, request, reply, box):
        body = _body(request)
        if "timeout" not in body:
            raise Refusal(400, "validation error: request body has an error: doesn't match schema: Error "
                          "at \"/timeout\": property \"timeout\" is missing")
        self._resumed(reply, box, _number(body, "timeout", 0), True)

    def _resumed(self, reply, box, timeout, memory):
        resumed = self._boxes.connect(box, timeout, memory)
        reply.json(201 if resumed else 200, self._sandbox(box))

    def _resume(self, request, reply, box):
        timeout = _number(_body(request, optional=True), "timeout", 15)
        if box.state == "running":
            raise Refusal(409, f"Sandbox {box.id} is already running")
        self._resumed(reply, box, timeout, True)

    def _pause(self, request, reply, box):
        self._boxes.pause(box, _body(request, optional=True).get("memory") is not False)
        reply.whole(204)

    def _timeout(self, request, reply, box):
        timeout = max(0, _number(_body(request), "timeout", None))
        self._boxes.keep_alive(box, timeout, may_shorten=True)
        reply.whole(204)

    def _network(self, request, reply, box):
        """In place of all there was."""
        wanted = _body(request)
        _require_rules(wanted)
        self._boxes.change_network(box, wanted.get("allow_internet_access"),
                                   {name: wanted[name] for name in ("allowOut", "denyOut", "rules", "egressProxy")
                                    if wanted.get(name)})
        reply.whole(204)

    def _refresh(self, request, reply, box):
        duration = _number(_body(request, optional=True), "duration", SHORTEST_REFRESH)
        if not 0 <= duration <= 3600:
            raise Refusal(400, "validation error: request body has an error: doesn't match schema: Error "
                          "at \"/duration\": number must be at most 3600")
        self._boxes.keep_alive(box, max(duration, SHORTEST_REFRESH), may_shorten=False)
        reply.whole(204)
