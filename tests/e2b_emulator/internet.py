"""Three addresses of the internet, as a box sees them: on its loopback, where somebody says a byte to who may
reach them. Who may not is let in and turned away without a word, as E2B's firewall does it. And a fourth, at
which nobody is: there the host answers, where it answers all questions of names itself."""

import ipaddress
import os
import select
import signal
import socket

import kernel

PLACES = ("1.1.1.1", "9.9.9.9", "208.67.222.222")
PORTS = (53, 443)
NOBODY = "192.0.2.1"
NAMES = "names"  # in the place of an address: port 53 of all of them
FREEBIND = 15


def _is_in(place, ranges):
    for each in ranges or ():
        try:
            if ipaddress.ip_address(place) in ipaddress.ip_network(each, strict=False):
                return True
        except ValueError:
            continue  # a name
    return False


def reached(internet, network):
    """Those that a box with such rules reaches: what is allowed, though it be denied, and what nothing denies."""
    network = network or {}
    if internet is False:
        return []
    return [place for place in PLACES
            if _is_in(place, network.get("allowOut")) or not _is_in(place, network.get("denyOut"))]


def _listening():
    sockets = {}
    for place, port in [(place, port) for place in PLACES for port in PORTS] + [(NOBODY, 53)]:
        listener = socket.socket()
        listener.setsockopt(socket.IPPROTO_IP, FREEBIND, 1)
        listener.bind((place, port))
        listener.listen()
        sockets[listener] = {place, NAMES} if port == 53 else {place}
    return sockets


def _answer(orders, sockets):
    kernel.prctl(kernel.PDEATHSIG, signal.SIGKILL)
    may = set()
    while True:
        ready, _, _ = select.select([orders, *sockets], [], [])
        for one in ready:
            if one is orders:
                said = orders.recv(4096)
                if not said:
                    os._exit(0)
                may = set(said.decode().split()[1:])
                orders.send(b"+")
                continue
            connection, _ = one.accept()
            with connection:
                if sockets[one] & may:
                    connection.send(b"\0")


class Internet:
    """Of the network namespace that it is made in. A process of its own: who makes boxes may have no threads."""

    def __init__(self, *others):
        sockets = _listening()
        for number, place in enumerate((*PLACES, NOBODY)):
            kernel.add_address(f"lo:{number}", place)
        self._orders, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            try:
                for other in (*others, self._orders):
                    other.close()
                _answer(inner, sockets)
            finally:
                os._exit(1)
        inner.close()
        for listener in sockets:
            listener.close()

    def allow(self, places):
        self._orders.send(" ".join(("may", *places)).encode())
        self._orders.recv(1)
