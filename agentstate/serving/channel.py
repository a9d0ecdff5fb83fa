"""One HTTP connection: a head within seconds, a body at a minimum rate, and no more bytes than are allowed.

What is too large is refused before it is read (431, 411, 413). The answer is followed by the end of our half of the
connection, and what the client still sends is thrown away for a few seconds: a client that writes its whole request
first would otherwise lose the answer to a reset (RFC 9112, section 9.6).

WebSockets leave this class with their handshake, and a request that is being answered has no time limit here.
"""

from __future__ import annotations

from enum import Enum, auto
from http import HTTPStatus
from typing import Any

from django.conf import settings
from twisted.internet.protocol import connectionDone
from twisted.web import http

from agentstate.proxies import Proxies, network_of
from agentstate.serving.heads import Heads
from agentstate.serving.rates import Body
from sessions.http.problems import MEDIA_TYPE, PREFIX, document
from sessions.http.rendering import encode

HEAD_SECONDS = 10.0
HEAD_BYTES = 16_384
MAX_HEADERS = 100
BODY_GRACE, BODY_RATE = 10.0, 1_000.0  # seconds, bytes a second
LINGER_SECONDS = 5.0
HEADS_PER_ADDRESS = 100


class Phase(Enum):
    """What a connection is doing."""

    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    IDLE = auto()  # between two requests
    REFUSED = auto()


class Channel(http.HTTPChannel):
    """Twisted's HTTP connection within these bounds.

    `heads` is shared by all connections; those of a named proxy are not counted in it.
    """

    transport: Any
    heads: Heads[Channel]
    proxies: Proxies

    MAX_LENGTH = totalHeadersSize = HEAD_BYTES
    maxHeaders = MAX_HEADERS

    def connectionMade(self) -> None:
        super().connectionMade()
        host = getattr(self.transport.getPeer(), "host", "")  # a Unix socket has none
        self._address, self._is_proxy = network_of(host), self.proxies.trust(host)
        self._timer: Any = None
        self._some = False  # whether a byte of this head has come
        self._head_begins()

    def connectionLost(self, reason: Any = connectionDone) -> None:
        self._wait_for(None)
        self.heads.end(self._address, self)
        super().connectionLost(reason)

    def dataReceived(self, data: bytes) -> None:
        if self._phase is Phase.REFUSED:
            return
        self._begin_if_idle()
        self._some = True
        super().dataReceived(data)

    def lineReceived(self, line: bytes) -> None:
        if self._phase is Phase.REFUSED:
            return
        self._begin_if_idle()  # another request was in the same bytes
        if self._receivedHeaderSize + len(line) > self.totalHeadersSize:
            self._refuse(431, "head_too_large", f"at most {HEAD_BYTES} bytes")
            return
        super().lineReceived(line)

    def lineLengthExceeded(self, line: bytes) -> None:
        self._refuse(431, "head_too_large", f"at most {HEAD_BYTES} bytes")

    def headerReceived(self, line: bytes) -> bool:
        if self._receivedHeaderCount >= self.maxHeaders:
            self._refuse(431, "head_too_large", f"at most {MAX_HEADERS} headers")
            return False
        return bool(super().headerReceived(line))

    def allHeadersReceived(self) -> None:
        self._head_ends()
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if self.length is None:  # Django takes a chunked body for an empty one
            self._refuse(411, "length_required", "Send the body with its Content-Length, not in chunks.")
        elif self.length > limit:
            self._refuse(413, "too_large", f"at most {limit} bytes")
        else:
            super().allHeadersReceived()
            if self.length:
                self._phase = Phase.BODY
                self._body = Body(self._now(), BODY_GRACE, BODY_RATE)
                self._wait_for(BODY_GRACE)

    def rawDataReceived(self, data: bytes) -> None:
        if self._phase is Phase.REFUSED:
            return
        if self._phase is Phase.BODY:
            self._body.received += len(data)
        super().rawDataReceived(data)

    def allContentReceived(self) -> None:
        self._wait_for(None)
        self._phase = Phase.ANSWER
        super().allContentReceived()

    def requestDone(self, request: Any) -> None:
        self._phase = Phase.IDLE
        super().requestDone(request)

    # --- time ---------------------------------------------------------------------------------------------------

    def _begin_if_idle(self) -> None:
        if self._phase is Phase.IDLE:
            self._head_begins()

    def _head_begins(self) -> None:
        self._phase, self._some = Phase.HEAD, False
        self._wait_for(HEAD_SECONDS)
        if not self._is_proxy:
            oldest = self.heads.begin(self._address, self)
            if oldest is not None:
                oldest.transport.abortConnection()

    def _head_ends(self) -> None:
        self.heads.end(self._address, self)
        self._phase = Phase.ANSWER

    def _wait_for(self, seconds: float | None) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None if seconds is None else self.callLater(seconds, self._time_is_up)

    def _time_is_up(self) -> None:
        if self._phase is Phase.REFUSED or not self._some:
            self.transport.abortConnection()  # a browser that connected ahead expects no answer
            return
        left = self._body.left(self._now()) if self._phase is Phase.BODY else 0.0
        if left > 0:
            self._wait_for(left)
        else:
            self._refuse(408, "too_slow", "Send the request faster.")

    def _now(self) -> float:
        return float(self.factory.reactor.seconds())

    # --- refusing -----------------------------------------------------------------------------------------------

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Answer, end our half of the connection, and take no more of what comes."""
        self.heads.end(self._address, self)
        self.setTimeout(None)
        self._phase = Phase.REFUSED
        path = getattr(self, "_path", b"").decode("latin-1").partition("?")[0]
        self.transport.write(_answer(status, code, detail, is_api=f"{path}/".startswith(PREFIX)))
        self.transport.loseWriteConnection()
        self._wait_for(LINGER_SECONDS)


def _answer(status: int, code: str, detail: str, *, is_api: bool) -> bytes:
    """A whole response: below the API's prefix a problem document, else a line of text."""
    phrase = HTTPStatus(status).phrase
    kind, body = "text/plain; charset=utf-8", f"{phrase}: {detail}\n".encode()
    if is_api:
        kind, body = MEDIA_TYPE, encode(document(status, code, detail=detail))
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode() + body


def bounded(heads: Heads[Channel], proxies: Proxies) -> type[Channel]:
    """The class of connections that are counted in `heads`."""
    return type("BoundedChannel", (Channel,), {"heads": heads, "proxies": proxies})
