"""What people decide, and that nobody did in time."""

from __future__ import annotations

from typing import Any, ClassVar

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command


class Decide(Command, frozen=True):
    """A person decides a request. `may` holds the permissions they have at this instant."""

    request: str
    decision: ev.DecisionKind
    by: str
    may: frozenset[str]
    reason: str = ""
    arguments: dict[str, Any] | None = None
    response: str = ""
    seen: str = ""  # digest of what their page showed; required once somebody has edited the request


class Claim(Command, frozen=True):
    """A person says that they are on a request. `lasts`: whether the lease of whoever is on it now still lasts, found
    out by the database's clock once nobody else can append. `take`: also from a colleague.
    """

    beside_the_wish: ClassVar[frozenset[str]] = frozenset({"lasts"})

    request: str
    by: str
    may: frozenset[str]
    take: bool = False
    lasts: bool = False


class Release(Command, frozen=True):
    """Who is on a request gives it back."""

    request: str
    by: str


class Expire(Command, frozen=True):
    """The deadline of a request has passed; the appending statement checks that it has."""

    request: str
