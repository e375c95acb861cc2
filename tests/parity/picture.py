"""A PNG picture to show: Python's standard library alone makes it."""

import random
import struct
import zlib


def noise(side):
    """Of side × side pixels at random, so that it is about 3 × side² bytes."""
    source = random.Random(side)
    rows = b"".join(b"\0" + source.randbytes(3 * side) for _ in range(side))

    def chunk(name, data):
        return (struct.pack(">I", len(data)) + name + data +
                struct.pack(">I", zlib.crc32(name + data)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
