"""What a conversation with an MCP server is allowed, and what went wrong in it first."""

from __future__ import annotations

from sessions.outside import refusals

GRACE = 1.0  # seconds that a process has to end by itself once nobody speaks to it any more


class Trouble:
    """Why a conversation cannot go on: the first reason, which the protocol's own errors would hide."""

    def __init__(self) -> None:
        self.reason: refusals.NotReached | None = None

    def note(self, reason: refusals.NotReached) -> refusals.NotReached:
        """Keep the first."""
        self.reason = self.reason or reason
        return reason


class Allowance:
    """How many bytes the other side may still say, for the call that is under way."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def renew(self) -> None:
        """Another call begins."""
        self._left = self._size

    def count(self, size: int) -> None:
        """Note bytes that came. Raises TooLarge."""
        self._left -= size
        if self._left < 0:
            raise refusals.TooLarge(f"{self._size} bytes are.")
