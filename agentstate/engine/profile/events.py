"""What can have happened to a customer's profile, as typed, versioned records in a log of their own.

Like the events of sessions they are stored once, never rewritten, and hold all that the fold needs: a declaration that
changes later changes no profile. `by` is who said so: the customer, or an account on their behalf.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from agentstate.engine.events import Event
from agentstate.engine.events.upcast import Upcasters, Vocabulary

Part = Literal["preference", "setting", "history", "everything"]


class ProfileOpened(Event, frozen=True, tag="profile.opened"):
    """The first thing known of a customer. `declared` is the declaration in force."""

    declared: str
    v: int = 1


class ConsentGiven(Event, frozen=True, tag="profile.consent_given"):
    """The customer agrees to be known for a purpose, in the words of that declaration."""

    purpose: str
    by: str
    declared: str
    note: str = ""
    v: int = 1


class ConsentWithdrawn(Event, frozen=True, tag="profile.consent_withdrawn"):
    """The customer agrees no longer: everything held for the purpose is forgotten with it."""

    purpose: str
    by: str
    note: str = ""
    v: int = 1


class SettingMade(Event, frozen=True, tag="profile.setting_made"):
    """The customer says what they want."""

    name: str
    value: Any
    purpose: str
    by: str
    v: int = 1


class SettingCleared(Event, frozen=True, tag="profile.setting_cleared"):
    """The customer leaves it to what was learned again."""

    name: str
    by: str
    v: int = 1


class Observed(msgspec.Struct, frozen=True):
    """One thing that speaks for a value of a preference, or against it (a weight below zero), inside `Learned`."""

    name: str
    value: Any
    weight: int
    seq: int
    at: str
    rule: str
    purpose: str
    half_life: int


class Noted(msgspec.Struct, frozen=True):
    """One record of the derived history, inside `Learned`."""

    name: str
    values: dict[str, Any]
    seq: int
    at: str
    rule: str
    purpose: str
    form: Literal["list", "tally"]
    keep: int


class ProfileLearned(Event, frozen=True, tag="profile.learned"):
    """What the entries of a session up to `through` taught. Each item names its entry: where it is known from."""

    session: str
    through: int
    observed: tuple[Observed, ...] = ()
    noted: tuple[Noted, ...] = ()
    v: int = 1


class FeedbackGiven(Event, frozen=True, tag="profile.feedback_given"):
    """The customer says that a value fits them, or does not."""

    name: str
    value: Any
    weight: int
    purpose: str
    half_life: int
    by: str
    v: int = 1


class LearnedCorrected(Event, frozen=True, tag="profile.corrected"):
    """What was learned is wrong, this is right: it is now a setting, and what was learned is gone."""

    name: str
    value: Any
    purpose: str
    by: str
    v: int = 1


class LearningRefused(Event, frozen=True, tag="profile.refused"):
    """The customer does not want this preference, or this value of it, to be learned; what was learned is gone."""

    name: str
    by: str
    value: Any = None
    v: int = 1


class LearningAllowed(Event, frozen=True, tag="profile.allowed"):
    """What was refused may be learned again, from now on."""

    name: str
    by: str
    value: Any = None
    v: int = 1


class ProfileForgotten(Event, frozen=True, tag="profile.forgotten"):
    """A part of the profile was forgotten, and nothing that happened until then is learned from any more."""

    part: Part
    by: str
    name: str = ""
    v: int = 1


AnyProfileEvent = (
    ProfileOpened
    | ConsentGiven
    | ConsentWithdrawn
    | SettingMade
    | SettingCleared
    | ProfileLearned
    | FeedbackGiven
    | LearnedCorrected
    | LearningRefused
    | LearningAllowed
    | ProfileForgotten
)

KINDS: tuple[str, ...] = tuple(str(member.__struct_config__.tag) for member in get_args(AnyProfileEvent))

UPCASTERS: Upcasters = {}  # from an old form of a kind to the next
_encoder = msgspec.json.Encoder(decimal_format="number")
_vocabulary: Vocabulary[AnyProfileEvent] = Vocabulary(AnyProfileEvent, UPCASTERS)


def encode(event: Event) -> bytes:
    """The bytes that are stored, once."""
    return _encoder.encode(event)


def decode(data: bytes) -> AnyProfileEvent:
    """The inverse of `encode`, old forms as today's. Raises msgspec.ValidationError on anything that is no known
    event.
    """
    return _vocabulary.decode(data)
