"""Shapes of approval requests and decisions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, get_args
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine import events as ev
from agentstate.engine.policy.terms import Sticky
from sessions.approvals import queries
from sessions.approvals.differences import Difference, Said
from sessions.http.bodies import About, Body, Chars, Command, Object, Words
from sessions.http.openapi import published

REASON = 2000  # characters
RESPONSE = 4000
DECISION_KIND = list(get_args(ev.DecisionKind))


class Decision(Command, kw_only=True):
    """What a person decides, and why."""

    decision: Annotated[str, Words(DECISION_KIND)]
    reason: Annotated[str, Chars(REASON, "needed to reject, edit or escalate", blank=True)] | UnsetType = UNSET
    arguments: Annotated[Object, About("of an edit: all arguments of the call, as corrected")] | UnsetType = UNSET
    response: Annotated[str, Chars(RESPONSE, "of `respond`: the answer to the agent", blank=True)] | UnsetType = UNSET
    seen: (
        Annotated[
            str,
            Chars(
                64, ("`digest` of the request as you saw it; another is refused as outdated. Needed once it was edited")
            ),
        ]
        | UnsetType
    ) = UNSET
    code: Annotated[str, Chars(100, "one of `terms.reasons`, where there are any")] | UnsetType = UNSET
    retyped: (
        Annotated[Object, About("by path, each of `terms.retype`: the value as you typed it yourself")] | UnsetType
    ) = UNSET


class Undo(Command, kw_only=True):
    """To object while it is held."""

    reason: Annotated[str, Chars(REASON, blank=True)] | UnsetType = UNSET


class Claim(Command, kw_only=True):
    """To be on a request."""

    take: Annotated[bool, About("also from a colleague who is on it; that is recorded")] | UnsetType = UNSET


class KeepClaim(Body):
    """To stay on a request."""


class Kept(Struct, frozen=True):
    until: Annotated[datetime, About("when the claim ends unless it is kept again")]


class OneRequest(queries.RequestLine, frozen=True, kw_only=True):
    """A request with how it differs from what the customer said."""

    differences: Annotated[
        Sequence[Difference],
        About(
            "amounts and payees that were not found in the customer's words, or differ from them; "
            "none does not mean that the call is right. While it waits, values of `terms.retype` are "
            "left out"
        ),
    ]


class RequestPage(Struct, frozen=True):
    requests: Sequence[queries.RequestLine]
    next: Annotated[UUID | None, About("`after` of the next page; null on the last")]


published(
    Grantable=Sticky,
    Request=queries.RequestLine,
    SaidValue=Said,
    RequestDifference=Difference,
)
