"""What a session is given of its customer's profile: the user's part of the state, as it changes."""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine.events.base import Event, digest


class Tightening(msgspec.Struct, frozen=True):
    """A threshold of the customer's own: calls of `tools` of which `when` is true and whose whole number at `path` is
    above `above` wait for a person. Without a path the number does not matter.
    """

    name: str
    tools: tuple[str, ...]
    tier: int
    quorum: int
    why: str
    when: str = "true"
    path: str = ""
    above: int = 0
    currency: str = ""


class Adaptation(msgspec.Struct, frozen=True):
    """What the declared mapping makes of a profile, as of entry `profile` of the profile's log: the view that models
    are shown, instructions, parameters of the model, thresholds, and the names of the mappings that apply.
    """

    profile: int = 0
    declared: str = ""
    view: dict[str, Any] = {}
    instructions: tuple[str, ...] = ()
    parameters: dict[str, int] = {}
    tightenings: tuple[Tightening, ...] = ()
    mappings: tuple[str, ...] = ()
    consents: tuple[str, ...] = ()  # purposes that the customer agreed to, of those that the agent works for

    @property
    def digest(self) -> str:
        """Over all that can change a step: equal digests, equal behaviour, whatever else the profile learned.

        Empty when nothing changes one.
        """
        parts: tuple[Any, ...] = (self.view, self.instructions, self.parameters, self.tightenings, self.mappings)
        parts = (*parts, self.consents) if self.consents else parts
        return digest(self.declared, *parts) if any(parts) else ""


class UserAdapted(Event, frozen=True, tag="user.adapted"):
    """From here on the session knows this of its customer, and what it changes."""

    adaptation: Adaptation
    v: int = 1
