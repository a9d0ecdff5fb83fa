"""Shapes of erasures, legal holds, retention and reports about data subjects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from audit.erasure import MAX_REASON, State
from audit.retention import MAX_DAYS, MAX_RULES
from sessions.conversation.commands import CHANNELS
from sessions.core.person import MAX_REFERENCE
from sessions.http.bodies import About, Body, Chars, Command, Instant, Items, Object, Range, Words
from sessions.privacy import queries

ERASURE_RULING = [State.APPROVED.value, State.REFUSED.value, State.WITHDRAWN.value]
CLASS_NAME = 60


class SealSession(Command, kw_only=True):
    """Nothing follows in the session any more."""


class OfSubject(Body, kw_only=True):
    """Whom it is about: a customer's reference, or a session of theirs."""

    customer: Annotated[str, Chars(MAX_REFERENCE)] | UnsetType = UNSET
    session: UUID | UnsetType = UNSET


class AskErasure(OfSubject, kw_only=True):
    """Whom to erase, on which legal basis, and why."""

    basis: Annotated[str, Words(queries.ERASURE_BASIS)]
    reason: Annotated[str, Chars(MAX_REASON, "your team's privacy staff read it until the erasure; no customer's name")]


class RuleErasure(Body, kw_only=True):
    """What becomes of a request. Who asked cannot approve, but withdraw."""

    state: Annotated[str, Words(ERASURE_RULING)]


class ErasureList(Struct, frozen=True):
    """Erasure requests; those that wait first."""

    erasures: Sequence[queries.Erasure]


class HoldList(Struct, frozen=True):
    """Legal holds, newest first."""

    holds: Sequence[queries.Hold]


class ErasureDetail(Struct, frozen=True):
    """A request with what an approval would erase, by store, and what blocks it."""

    erasure: queries.Erasure
    stores: dict[str, int]
    sessions: Sequence[UUID]
    holds: Sequence[queries.Hold]


class SetHold(OfSubject, kw_only=True):
    """Whom or what to keep. With `only_session`, nothing but that session."""

    only_session: bool | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON, "your team's privacy staff read it until the erasure; no customer's name")]
    until: Annotated[datetime, Instant("until it is lifted, if left out")] | UnsetType = UNSET


class RetentionClass(Body, kw_only=True):
    """Days that the words of a session are kept after its end."""

    name: Annotated[str, Chars(CLASS_NAME)]
    days: Annotated[int, Range(0, MAX_DAYS)]


class RetentionRule(Body, kw_only=True):
    """What belongs to a class; what is left out fits everything."""

    retention: Annotated[str, Chars(CLASS_NAME)]
    team: UUID | UnsetType = UNSET
    agent: Annotated[str, Chars(60)] | UnsetType = UNSET
    channel: Annotated[str, Words(CHANNELS)] | UnsetType = UNSET


class Retention(Body, kw_only=True):
    """All classes, and all rules: the first that fits decides."""

    classes: Annotated[list[RetentionClass], Items(MAX_RULES)]
    rules: Annotated[list[RetentionRule], Items(MAX_RULES)]


class PruningDue(Struct, frozen=True):
    """A session whose term is over."""

    session: UUID
    retention: str
    ended_at: Annotated[datetime | None, About("null: it goes on, and loses its oldest words")]
    upto: Annotated[int, About("of so many entries, from the first; 0: of all")]
    due_at: datetime
    payloads: int
    held: Annotated[bool, About("a legal hold keeps it")]
    others: Annotated[bool, About("it goes on and holds data of other data subjects: it is left out")]


class PruningList(Struct, frozen=True):
    """What the next run prunes."""

    sessions: Sequence[PruningDue]


class ProposeReport(OfSubject, kw_only=True):
    """On whom other teams are asked for their part of your reports, and why."""

    reason: Annotated[str, Chars(MAX_REASON)]


class SubjectReport(Struct, frozen=True):
    """Everything held about one data subject."""

    subject: UUID
    made_at: str
    outstanding: Annotated[bool, About("parts are missing: other teams hold them and have not agreed")]
    logs: Sequence[Object]
    waiting: Annotated[Sequence[Object], About("what waits for triggers")]
    stores: dict[str, int]
    holds: Sequence[Object]
    erasures: Sequence[Object]
