"""Shapes of triggers, of what became of what they heard, and of timers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from sessions.automation.triggers import queries
from sessions.http.bodies import About, Body, Chars, Command, Instant, Range, Words
from sessions.http.openapi import published
from sessions.timers import commands as timers
from sessions.timers import queries as timed

_NAME = 60


class KeepTrigger(Body, kw_only=True):
    """A trigger to make, or to change."""

    name: Annotated[str, Chars(_NAME, "a lower-case word with digits and hyphens")]
    definition: Annotated[Any, About("on what, when, what it does, how often at most: docs/triggers.md")]
    seen: Annotated[int, Range(0, 2**31 - 1, "the version that you saw; 0 or none: it is new")] | UnsetType = UNSET
    team: Annotated[str, Chars(_NAME, "slug; needed if you configure several")] | UnsetType = UNSET


class SwitchTrigger(Body, kw_only=True):
    on: bool


class TriggerList(Struct, frozen=True):
    triggers: Sequence[queries.TriggerLine]


class FiringList(Struct, frozen=True):
    firings: Sequence[queries.FiringLine]


class WatchList(Struct, frozen=True):
    watches: Sequence[queries.WatchLine]


class SetTimer(Command, kw_only=True):
    """Something that the session is to do by itself."""

    what: Annotated[str, Words(timed.TIMER_KIND)]
    after: Annotated[int, Range(0, timers.LONGEST, "seconds from now")] | UnsetType = UNSET
    at: Annotated[datetime, Instant("or an instant with its time zone")] | UnsetType = UNSET
    text: Annotated[str, Chars(16384, "what the agent is reminded of")] | UnsetType = UNSET


class TimerList(Struct, frozen=True):
    seq: int
    timers: Sequence[timed.TimerLine]


published(Trigger=queries.TriggerLine, Firing=queries.FiringLine, Watch=queries.WatchLine, Timer=timed.TimerLine)
