"""Commands to approval requests and standing approvals."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.base import Command


class Authority(msgspec.Struct, frozen=True):
    """What a person may do in a session's team at an instant: permissions, and the names by which rules know the person
    ("role:supervisor", "team:retail", "user:maya"). `of`: the actor who delegated it; empty: the person's own.
    `shares`: the actors with whom `of` shares a right in the team. `deputy`: the person holds it as a deputy of the
    team, for requests that too few people can approve.
    """

    may: frozenset[str]
    names: frozenset[str] = frozenset()
    of: str = ""
    shares: frozenset[str] = frozenset()
    deputy: bool = False


class Decide(Command, frozen=True):
    """A person decides a request. `may` and `names` are their authority at this instant, and `lent` the authorities
    delegated to them. `sharing`: the actors who delegated a right in the team to them, or received one from them.
    `deputy`: their own authority is that of a deputy.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"may", "names", "lent", "sharing", "deputy", "shown"})

    request: str
    decision: ev.DecisionKind
    by: str
    may: frozenset[str]
    reason: str = ""
    arguments: dict[str, Any] | None = None
    response: str = ""
    seen: str = ""  # digest of what their page showed; required once somebody has edited the request
    code: str = ""  # of the reasons that the terms name
    retyped: dict[str, Any] = {}  # values that they typed themselves, by path: "arguments.amount.minor"
    names: frozenset[str] = frozenset()
    lent: tuple[Authority, ...] = ()
    sharing: frozenset[str] = frozenset()
    deputy: bool = False
    shown: ev.View | None = None  # what their page showed, with the digest that the request had there


class Claim(Command, frozen=True):
    """A person says that they are on a request. `lasts`: whether the lease of whoever is on it now still lasts, found
    out by the database's clock once nobody else can append. `take`: also from a colleague.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"may", "lasts", "names", "lent"})

    request: str
    by: str
    may: frozenset[str]
    take: bool = False
    lasts: bool = False
    names: frozenset[str] = frozenset()
    lent: tuple[Authority, ...] = ()


class Release(Command, frozen=True):
    """Who is on a request gives it back."""

    request: str
    by: str


class Undo(Command, frozen=True):
    """A person objects to a request that is held, or takes an approval back while it is."""

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"may", "lent"})

    request: str
    by: str
    may: frozenset[str]
    reason: str = ""
    lent: tuple[Authority, ...] = ()


class HoldOver(Command, frozen=True):
    """The time of a held request is over; the appending statement checks that it is."""

    request: str


class Escalate(Command, frozen=True):
    """The time of step `step` of a request's chain has come; the appending statement checks that it has."""

    request: str
    step: int


class Expire(Command, frozen=True):
    """The deadline of a request has passed; the appending statement checks that it has."""

    request: str


class GrantSame(Command, frozen=True):
    """An approver of a request gives a standing approval of the same, for at most as long and as often as the rule
    offers (None: as it offers). `may` and `names` are their authority at this instant, `lent` the authorities delegated
    to them, and `sharing` the actors who share a right with them in the team.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"may", "names", "lent", "sharing"})

    request: str
    by: str
    may: frozenset[str]
    seconds: int | None = None
    uses: int | None = None
    reason: str = ""
    names: frozenset[str] = frozenset()
    lent: tuple[Authority, ...] = ()
    sharing: frozenset[str] = frozenset()


class RevokeGrant(Command, frozen=True):
    """Somebody who may decide takes a grant back. `wider`: it holds in other sessions too, and whoever commands has
    looked that it stands and may be used here.
    """

    excluded_from_digest: ClassVar[frozenset[str]] = frozenset({"wider"})

    grant: str
    by: str
    may: frozenset[str]
    reason: str = ""
    wider: bool = False
