"""One WebSocket: bounded in how many frames it may send, of whatever kind."""

from __future__ import annotations

import time
from typing import Any

from daphne.ws_protocol import WebSocketProtocol

from agentstate.serving.rates import Bucket

RATE, BURST = 20.0, 100.0  # frames a second, and at once; a page sends one each time it connects
POLICY_VIOLATION = 1008  # RFC 6455, section 7.4.1


class Socket(WebSocketProtocol):  # type: ignore[misc]
    """Daphne's WebSocket, closed with 1008 when its client sends more frames than a page ever does."""

    def onConnect(self, request: Any) -> Any:
        self._bucket = Bucket(RATE, BURST, time.monotonic())
        self._floods = False
        return super().onConnect(request)

    def onFrameBegin(self) -> None:
        """Autobahn calls this for each frame, control frames and parts of messages included."""
        super().onFrameBegin()
        if not self._floods and not self._bucket.take(time.monotonic()):
            self._floods = True
            self.sendCloseFrame(code=POLICY_VIOLATION, reasonUtf8=b"too many frames")
            self.dropConnection()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """What was in the same bytes as the frame that was one too many does not reach the application."""
        if not self._floods:
            super().onMessage(payload, isBinary)
