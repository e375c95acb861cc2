"""Sockets between the two halves, the front and the envd of a box."""

import contextlib
import socket

import kernel


def connect(name):
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(name)
    except OSError:
        connection.close()
        raise
    roomy(connection)
    return connection


def roomy(connection):
    """As much may lie between two halves as TCP has between two hosts, where that is allowed."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, kernel.SNDBUFFORCE, 4 << 20)
