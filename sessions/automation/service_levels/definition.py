"""What a target is, as data: what is measured, how long it may take, by whose hours, and when it counts as at risk."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from agentstate.errors import Invalid
from sessions.automation.rules import definition as rules

MAX_BYTES = 8_192  # of a definition
LONGEST = 366 * 24 * 3600  # seconds
MAX_NAMES = 50

What = Literal["first_response", "next_response", "decide", "resolution"]
WHATS: tuple[What, ...] = get_args(What)


class BadTarget(Invalid):
    """The service level's target is not sound."""

    code = "bad_target"


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`first_response`: from the customer's first words to our first; `next_response`: from theirs to ours, each later
    time; `decide`: from a request to its decision, of these `tiers` (empty: all); `resolution`: from their first words
    to the end, not counting while it is their turn. At most `seconds` of open time by the team's `calendar` (empty:
    around the clock). At `risk` percent of that it is at risk. `agents` and `channels` empty: all.
    """

    what: What
    seconds: int
    calendar: str = ""
    risk: int = 75
    tiers: tuple[int, ...] = ()
    agents: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


def load(data: Any) -> Target:
    """A sound target of decoded JSON. Raises BadTarget naming the field."""
    found = rules.decoded(data, Target, BadTarget, MAX_BYTES)
    rules.must_be_within((("seconds", found.seconds, 1, LONGEST), ("risk", found.risk, 1, 99)), BadTarget)
    if not set(found.tiers) <= set(range(4)) or (found.tiers and found.what != "decide"):
        raise BadTarget("tiers, 0 to 3, are of what is decided", field="tiers")
    for field, values in (("agents", found.agents), ("channels", found.channels)):
        rules.must_be_names(field, values, MAX_NAMES, BadTarget)
    return found


def dump(target: Target) -> dict[str, Any]:
    """The target as JSON has it, defaults included."""
    built: dict[str, Any] = msgspec.to_builtins(target)
    return built
