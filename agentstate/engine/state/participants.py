"""The people of a session: who is responsible for it, and who spoke as the customer or for the agent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

QUEUE = "queue"  # in the place of a person: taken over from the agent, and nobody has it now


class Desk(msgspec.Struct, frozen=True):
    """What is known of a session's people beside `SessionState.taken_by`."""

    taken_at: str = ""
    taken_seq: int = -1  # entry of the take-over; -1: the agent has it
    in_flight: str = ""  # the model request that was open then: its answer is dropped
    wanted_at: str = ""  # since when the customer asks for a person; empty: they do not
    wanted_source: str = ""
    wanted_why: str = ""
    assigned_to: str = ""  # who is to see to it


MAX_PEOPLE = 50  # of each kind, the latest
Part = Literal["customer", "agent", "guidance"]


class Involvement(msgspec.Struct, frozen=True):
    """The actors who spoke as the customer, who spoke to the customer for the agent since the last hand-back, and who
    whispered to the agent.
    """

    customer: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()


def took_part(before: Involvement, part: Part, actor: str) -> Involvement:
    """Returns the involvement with this actor in this part, the latest last."""
    if not is_person(actor):
        return before
    known: tuple[str, ...] = getattr(before, part)
    others = tuple(each for each in known if each != actor)
    return replace(before, **{part: (*others[-MAX_PEOPLE + 1 :], actor)})


def heard(before: Involvement, role: str, actor: str) -> Involvement:
    """Returns the involvement after a message in this role."""
    if role == "customer":
        return took_part(before, "customer", actor)
    return took_part(before, "agent", actor) if role == "staff" else before


def is_person(actor: str) -> bool:
    """Whether an actor is a person or program that signs in: not the agent, not the system."""
    return bool(actor) and not actor.startswith("agent") and actor != "system"


def people(actors: Iterable[str]) -> tuple[str, ...]:
    """Returns those of the actors who sign in, each once."""
    return tuple(dict.fromkeys(actor for actor in actors if is_person(actor)))
