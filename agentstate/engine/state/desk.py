"""Who of the house sees to a session: since when, who asked for them, and to whom work in it is assigned."""

from __future__ import annotations

import msgspec

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
