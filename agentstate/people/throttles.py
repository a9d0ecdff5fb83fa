"""Limits on failures from one network address: wrong tokens, and links that nobody was given. Each has a count of its
own. Wrong passwords are the business of `attempts`.

These counters live in the cache; without it nothing is limited. A valid token is never throttled here: 256 random bits
cannot be guessed, and a colleague behind the same address must not suffer. What is limited is the noise, and
with it the trail.
"""

from __future__ import annotations

from typing import Any

from redis.exceptions import RedisError
from rest_framework.throttling import SimpleRateThrottle

from agentstate.proxies import network_of


class FailureThrottle(SimpleRateThrottle):
    """Counts failures, not requests. `rate` is the default; DEFAULT_THROTTLE_RATES[scope] overrides it."""

    scope: str
    duration: int  # seconds
    num_requests: int
    default_rate = ""

    def get_rate(self) -> str:
        return str(self.THROTTLE_RATES.get(self.scope) or self.default_rate)

    def get_cache_key(self, request: Any, view: Any = None) -> str:
        return self.cache_format % {"scope": self.scope, "ident": network_of(self.get_ident(request) or "")}

    def spent(self, request: Any) -> bool:
        """Whether this address has failed too often. Counts nothing."""
        self.key, self.now = self.get_cache_key(request), self.timer()
        try:
            kept = self.cache.get(self.key, [])
        except RedisError:
            kept = []
        self.history = [at for at in kept if at > self.now - self.duration]
        return len(self.history) >= self.num_requests

    def count(self, request: Any) -> bool:
        """Count one failure. False, and not counted, once the limit is reached."""
        try:
            return not self.spent(request) and self.throttle_success()
        except RedisError:
            return True


class TokenFailures(FailureThrottle):
    scope = "token_failures"
    default_rate = "30/min"


class LinkFailures(FailureThrottle):
    """Of links that nobody was given."""

    scope = "link_failures"
    default_rate = "20/min"


class LinkOpenings(FailureThrottle):
    """Of links that were: a page for people is not asked for by the second."""

    scope = "link_openings"
    default_rate = "60/min"


class UnknownNames(FailureThrottle):
    """Of attempts to sign in under names that no account has: what is limited is their entries, never an attempt."""

    scope = "unknown_names"
    default_rate = "60/min"
