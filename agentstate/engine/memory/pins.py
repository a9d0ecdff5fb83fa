"""Pins: items that people, the agent or a rule want kept in their own words. They never decay and are never summarised.

They are few, because they always have to fit.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from agentstate.errors import NotFound, Refused

MOST_PINS = 24
How = Literal["person", "agent", "rule"]


class Pin(msgspec.Struct, frozen=True):
    """The item of entry `seq` is kept; with a call go its results. `by` is a person, an agent or a rule."""

    seq: int
    how: How
    by: str
    at: str = ""
    why: str = ""


class TooManyPins(Refused):
    """So many messages are pinned already that one more may not fit."""

    code = "too_many_pins"
    remedy = "Unpin one first."


class NotHeld(NotFound):
    """This entry is no message that the session still holds in its own words."""

    code = "not_held"
    remedy = "Older messages are summarised; their words are in the ledger."


class NotPinned(NotFound):
    """This message is not pinned."""

    code = "not_pinned"


def with_pin(pins: tuple[Pin, ...], pin: Pin) -> tuple[Pin, ...]:
    """`pins` with `pin`, in the place of an earlier one of the same item."""
    return (*without(pins, pin.seq), pin)


def without(pins: tuple[Pin, ...], seq: int) -> tuple[Pin, ...]:
    """`pins` without the one of that item."""
    return tuple(pin for pin in pins if pin.seq != seq)
