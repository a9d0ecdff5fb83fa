"""Liveness probes: whether a child that is alive still serves.

A probe is one small request to the child's socket. The supervisor's loop sends it and takes the answer in a later look,
so nothing here waits. A probe needs no free disk, no password and no other child, and a child that serves logs nothing.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import Enum, auto

INTERVAL = 5.0  # seconds between two probes of one child
TIMEOUT = 15.0  # seconds for one answer: on a busy machine it may come late
MAX_SILENCE = 45.0  # seconds: three probes without an answer, so that one lost answer ends no child
MAX_STOPPING = 10.0  # seconds for a child that somebody else told to stop: it does not serve again by itself
MAX_STEP = 1.0  # seconds of silence that one look adds at most: the supervisor itself may have been frozen


class Answer(Enum):
    """What a probe found."""

    SERVES = auto()
    STOPS = auto()  # it says that it is shutting down, or it listens no more
    NONE = auto()


@dataclass(frozen=True)
class Probe:
    """A request, and how the answers to it begin. `stops` is in the answer of a program that is shutting down.

    `address` is the path of a Unix socket, or a host and a TCP port.
    """

    address: str | tuple[str, int]
    request: bytes
    beginnings: tuple[bytes, ...]
    stops: bytes | None = None

    def read(self, heard: bytes) -> Answer:
        """What these bytes say."""
        if not heard.startswith(self.beginnings):
            return Answer.NONE
        return Answer.STOPS if self.stops is not None and self.stops in heard else Answer.SERVES


def http(port: int, request: str) -> Probe:
    """A probe of a web server on this machine. Every response counts, whatever its status."""
    head = f"{request} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    return Probe(("127.0.0.1", port), head.encode(), (b"HTTP/",))


@dataclass
class Silence:
    """For how many seconds a child has not served. Pure; instants are seconds of one clock."""

    at: float = 0.0
    seconds: float = 0.0
    has_served: bool = False
    is_stopping: bool = False

    def note(self, now: float, answer: Answer | None) -> None:
        """Count the time since the last call. `answer` is None while there is nothing new."""
        self.seconds += min(now - self.at, MAX_STEP)
        self.at = now
        if answer is Answer.SERVES:
            self.seconds, self.has_served = 0.0, True
        if answer is not None:
            self.is_stopping = answer is Answer.STOPS

    @property
    def is_too_long(self) -> bool:
        """Whether the child does not come back by itself. One that has never served is still starting."""
        return self.has_served and self.seconds >= (MAX_STOPPING if self.is_stopping else MAX_SILENCE)


class Watch:
    """The probes of one child, one after the other."""

    def __init__(self, probe: Probe) -> None:
        self.silence = Silence()
        self._probe = probe
        self._socket: socket.socket | None = None
        self._sent_at = float("-inf")
        self._is_connected = False
        self._unsent = b""

    def look(self, now: float) -> bool:
        """Send a probe when one is due, and take the answer that is there. Whether the child no longer serves."""
        if self._socket is None and now >= self._sent_at + INTERVAL:
            try:
                self._open(now)
            except OSError:  # no descriptor or memory is left for ourselves: that says nothing about the child
                return False
        self.silence.note(now, None if self._socket is None else self._answer(self._socket, now))
        return self.silence.is_too_long

    def close(self) -> None:
        """Leave the probe that waits for its answer."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self, now: float) -> None:
        is_path = isinstance(self._probe.address, str)
        self._socket = socket.socket(socket.AF_UNIX if is_path else socket.AF_INET)
        self._socket.setblocking(False)
        self._sent_at, self._is_connected, self._unsent = now, False, self._probe.request

    def _answer(self, connection: socket.socket, now: float) -> Answer | None:
        """The answer, None while there may still be one."""
        try:
            answer = self._probe.read(self._exchange(connection))
        except BlockingIOError:
            if now < self._sent_at + TIMEOUT:
                return None
            answer = Answer.NONE
        except ConnectionRefusedError:
            answer = Answer.STOPS
        except OSError:
            answer = Answer.NONE
        self.close()
        return answer

    def _exchange(self, connection: socket.socket) -> bytes:
        """What the child has said. Raises BlockingIOError where this would wait; the next call continues there."""
        if not self._is_connected:
            self._is_connected = True  # or soon: until then sending would wait, too
            connection.connect(self._probe.address)
        if self._unsent:
            self._unsent = self._unsent[connection.send(self._unsent) :]
        return connection.recv(4096)
