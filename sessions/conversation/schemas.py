"""Shapes of sessions, their messages and entries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine import events as ev
from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.decide.looping import MAX_REASON
from agentstate.engine.lifecycle import SessionStatus
from sessions.conversation.commands import CHANNELS
from sessions.core import entry_lines
from sessions.core.person import MAX_REFERENCE
from sessions.http.bodies import About, Chars, Command, Range, Words
from sessions.http.openapi import published

WaitingFor = Literal["customer", "agent", "decision", "retry", "delegate", "resume", "colleague", "stop", "nobody"]
CHANNEL = list(CHANNELS)
SESSION_STATUS = [each.value for each in SessionStatus]
WAITING_FOR = list(get_args(WaitingFor))
ENTRY_KIND = list(ev.KINDS)
GRANTED_TO = ("run", "session")
MOST = 10**15  # of anything that is granted


class OpenSession(Command, kw_only=True):
    """Who calls, and which agent answers."""

    customer: Annotated[str, Chars(MAX_REFERENCE, "the customer's id in your own records")]
    agent: Annotated[str, Chars(60, "name of the agent that is to speak")]
    channel: Annotated[str, Words(CHANNEL)]
    topic: Annotated[str, Chars(MAX_REFERENCE, blank=True)] | UnsetType = UNSET
    alias: Annotated[str, Chars(MAX_REFERENCE, "your id of the session", blank=True)] | UnsetType = UNSET
    team: Annotated[str, Chars(60, "needed when you may open sessions in several")] | UnsetType = UNSET


class PostMessage(Command, kw_only=True):
    """What the customer says."""

    text: Annotated[str, Chars(MAX_TEXT)]


class EndSession(Command, kw_only=True):
    """Why the conversation is over."""

    reason: Annotated[str, Chars(MAX_REFERENCE)]


class PauseSession(Command, kw_only=True):
    """Why it is stopped for a while."""

    reason: Annotated[str, Chars(MAX_REFERENCE)]


class ResumeSession(Command, kw_only=True):
    """Nothing but a key."""


class GrantRun(Command, kw_only=True):
    """How much more, why, and whether to the run or to the session."""

    reason: Annotated[str, Chars(MAX_REASON)]
    of: Annotated[str, Words(GRANTED_TO, "run unless said otherwise")] | UnsetType = UNSET
    tokens: Annotated[int, Range(0, MOST)] | UnsetType = UNSET
    micros: Annotated[int, Range(0, MOST, "millionths of the prices' currency")] | UnsetType = UNSET
    steps: Annotated[int, Range(0, MOST, "model requests")] | UnsetType = UNSET
    seconds: Annotated[int, Range(0, MOST)] | UnsetType = UNSET
    calls: Annotated[int, Range(0, MOST, "calls that the model proposes")] | UnsetType = UNSET


class CancelSession(Command, kw_only=True):
    """Why it is stopped for good."""

    reason: Annotated[str, Chars(MAX_REFERENCE)]


class Session(Struct, frozen=True):
    id: UUID
    status: Annotated[str, Words(SESSION_STATUS)]
    waiting_for: Annotated[str, Words(WAITING_FOR)]
    seq: Annotated[int, About("entries so far")]
    agent: str
    channel: Annotated[str, Words(CHANNEL)]
    tier: Annotated[int, About("the highest risk tier among its open requests, 0 to 3")]
    open_requests: int
    opened_at: datetime
    last_at: datetime
    ended_at: datetime | None
    parent: Annotated[UUID | None, About("the session whose task this one does")]
    fork_of: Annotated[UUID | None, About("the session that it is a fork of, while it may not speak or act")]
    customer: Annotated[
        UUID | None, About("id of the customer's profile; this and what follows is empty unless you may read")
    ]
    name: Annotated[str, About("the customer's")]
    topic: str
    alias: Annotated[str, About("your id of the session")]
    last_role: str
    last_words: str
    taken_by: Annotated[str, About("who speaks instead of the agent, `queue`: nobody yet; empty: the agent")]
    wanted_at: Annotated[datetime | None, About("since when the customer asks for a person")]
    assigned_to: Annotated[str, About("who is to see to it")]


class SessionPage(Struct, frozen=True):
    sessions: Sequence[Session]
    next: Annotated[UUID | None, About("`after` of the next page; null on the last")]


class EntryPage(Struct, frozen=True):
    entries: Sequence[entry_lines.EntryLine]
    next: Annotated[int | None, About("`after` of the next page; null on the last")]


published(Entry=entry_lines.EntryLine)
