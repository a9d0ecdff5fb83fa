"""How fast a client must send a body, and how often it may send a frame. Pure; instants are seconds of one clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Body:
    """A body that is being received: `grace` seconds, and from then on at least `rate` bytes a second on average.

    As `RequestReadTimeout body=10,MinRate=1000` of Apache's mod_reqtimeout.
    """

    began: float
    grace: float
    rate: float
    received: int = 0

    def left(self, now: float) -> float:
        """Seconds until it is too slow, unless more arrives; negative when it is."""
        return self.began + self.grace + self.received / self.rate - now


@dataclass(slots=True)
class Bucket:
    """A token bucket: `burst` frames at once, and `rate` a second from then on."""

    rate: float
    burst: float
    at: float
    tokens: float = -1.0

    def take(self, now: float) -> bool:
        """Whether one more is allowed."""
        before = self.burst if self.tokens < 0 else self.tokens
        self.tokens = min(self.burst, before + max(0.0, now - self.at) * self.rate)
        self.at = max(self.at, now)
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True
