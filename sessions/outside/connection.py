"""One connection to the outside, as httpcore wants it: every read counts against time and bytes of the whole exchange,
and it can be cut from another thread, while it connects or waits for an answer.

A socket that is only closed does not wake whoever reads from it; one that is shut down does (shutdown(2)).
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from contextlib import suppress

import httpcore
import msgspec

from sessions.outside import refusals

MOST_HEADERS = 64_000  # bytes beside the body


class Bounds(msgspec.Struct, frozen=True):
    """Seconds until connected, seconds in all, and bytes of the answer's body."""

    connect: float = 3.0
    seconds: float = 8.0
    size: int = 256_000


class Clock:
    """What is left of the time of one exchange, by the process's monotonic clock."""

    def __init__(self, bounds: Bounds) -> None:
        self._end = time.monotonic() + bounds.seconds

    def left(self, most: float | None = None) -> float:
        """Seconds, at most `most`. Raises TooSlow when there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise refusals.TooSlow()
        return seconds if most is None else min(seconds, most)

    def sleep(self, seconds: float) -> None:
        """Wait so long. Raises TooSlow when there is no time left."""
        time.sleep(self.left(seconds))


class Cut:
    """What ends an exchange from outside of its thread: the socket that it has open now, and whether it was ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: socket.socket | None = None
        self.done = False

    def hold(self, opened: socket.socket) -> None:
        """From now on `opened` is what `now` shuts. Raises Cancelled where that has happened already."""
        with self._lock:
            self._open = opened
            if self.done:
                raise refusals.Cancelled()

    def now(self) -> None:
        """End it. Whoever waits for the socket is woken."""
        with self._lock:
            self.done = True
            if self._open is not None:
                with suppress(OSError):  # not connected, or gone
                    # Past the TLS layer, whose own state belongs to the thread that reads.
                    socket.socket.shutdown(self._open, socket.SHUT_RDWR)


def connected(address: str, port: int, seconds: float, cut: Cut) -> socket.socket:
    """A TCP connection. Raises OSError, TimeoutError, Cancelled."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        cut.hold(made)
        made.settimeout(seconds)
        made.connect((address, port))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        made.close()
        raise
    return made


class Wire(httpcore.NetworkStream):
    """A connected socket."""

    def __init__(self, opened: socket.socket, clock: Clock, size: int, cut: Cut) -> None:
        self._socket, self._clock, self._left, self._cut = opened, clock, size, cut

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._socket.settimeout(self._clock.left(timeout))
        try:
            data = self._socket.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout() from error
        except OSError as error:
            raise httpcore.ReadError() from error
        self._left -= len(data)
        if self._left < 0:
            raise refusals.TooLarge()
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        view = memoryview(buffer)
        try:
            while view:
                self._socket.settimeout(self._clock.left(timeout))
                view = view[self._socket.send(view) :]
        except TimeoutError as error:
            raise httpcore.WriteTimeout() from error
        except OSError as error:
            raise httpcore.WriteError() from error

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        self._socket.settimeout(self._clock.left(timeout))
        try:
            secured = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
        except TimeoutError as error:
            self.close()
            raise httpcore.ConnectTimeout() from error
        except OSError as error:
            self.close()
            raise httpcore.ConnectError() from error
        self._cut.hold(secured)
        return Wire(secured, self._clock, self._left, self._cut)

    def get_extra_info(self, info: str) -> object:
        match info:
            case "ssl_object" if isinstance(self._socket, ssl.SSLSocket):
                return self._socket
            case "socket":
                return self._socket
            case "is_readable":
                return bool(select.select([self._socket], [], [], 0)[0])
        return None
