"""connect.py SOCKET: standard input and output to and from a unix socket, as `socat` or `nc -U` does."""

import os
import socket
import sys
import threading


def copy(source, target):
    while chunk := os.read(source, 1 << 16):
        while chunk:
            chunk = chunk[os.write(target, chunk):]


def main():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])

        def send():
            copy(0, connection.fileno())
            connection.shutdown(socket.SHUT_WR)
        threading.Thread(target=send, daemon=True).start()
        copy(connection.fileno(), 1)


if __name__ == "__main__":
    main()
