"""Clients that open connections and do not send what they announced."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "
MANY = 1_100  # more than the usual limit of 1,024 descriptors


@contextmanager
def connections(port: str, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """So many connections that each send this and then nothing."""
    opened: list[socket.socket] = []
    try:
        for _ in range(number):
            opened.append(socket.create_connection(("127.0.0.1", int(port)), 20))
            with suppress(OSError):  # it may have been closed for a later one
                opened[-1].sendall(sent)
        yield opened
    finally:
        for each in opened:
            each.close()
