"""Shapes of a customer's profile, and of what its subject, or staff on their behalf, ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, get_args
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.profile.decide import MAX_NOTE
from agentstate.engine.profile.events import KINDS, Part
from sessions.http.bodies import About, Chars, Command, Object, Words
from sessions.http.openapi import published
from sessions.profiles import queries
from sessions.profiles.queries import Value, ValueOrNull

PROFILE_PART = list(get_args(Part))
PROFILE_KIND = list(KINDS)
NAME = 40  # characters of a declared name


class Consent(Command, kw_only=True):
    """Whether the customer agrees to be known for a purpose. Withdrawing forgets what is held for it."""

    purpose: Annotated[str, Chars(NAME)]
    agreed: bool
    note: Annotated[str, Chars(MAX_NOTE, "how that is known", blank=True)] | UnsetType = UNSET


class Setting(Command, kw_only=True):
    """What the customer wants; null takes it back."""

    preference: Annotated[str, Chars(NAME)]
    value: ValueOrNull


class Feedback(Command, kw_only=True):
    """Whether a value fits the customer."""

    preference: Annotated[str, Chars(NAME)]
    value: Value
    fits: bool


class Correction(Command, kw_only=True):
    """What is right instead of what was learned."""

    preference: Annotated[str, Chars(NAME)]
    value: Value


class Refusal(Command, kw_only=True):
    """What must not be learned: a preference, or one value of it. With `allowed` it may be again."""

    preference: Annotated[str, Chars(NAME)]
    value: Value | UnsetType = UNSET
    allowed: bool | UnsetType = UNSET


class Forget(Command, kw_only=True):
    """What is to be forgotten; `everything` has no name."""

    part: Annotated[str, Words(PROFILE_PART)]
    name: Annotated[str, Chars(NAME, blank=True)] | UnsetType = UNSET


class ProfileReceipt(Struct, frozen=True):
    customer: UUID
    command: UUID
    first: Annotated[int, About("seq of the first entry that the command wrote")]
    seq: Annotated[int, About("entries of the profile after the command")]


class ProfileEntry(Struct, frozen=True):
    seq: int
    kind: Annotated[str, Words(PROFILE_KIND)]
    at: datetime
    actor: Annotated[str, About("user:<id> or system")]
    ref: int
    command: UUID
    data: Object | None


class ProfileEntryPage(Struct, frozen=True):
    entries: Sequence[ProfileEntry]
    next: Annotated[int | None, About("`after` of the next page; null on the last")]


published(
    Source=queries.SourceLine,
    Said=queries.SettingLine,
    HistoryRecord=queries.RecordLine,
    LearnedValue=queries.LearnedLine,
    Preference=queries.PreferenceLine,
    Purpose=queries.PurposeLine,
    History=queries.HistoryLine,
    Profile=queries.ProfileLine,
)
