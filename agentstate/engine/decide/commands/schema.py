"""What can be asked of the form of a session's state. An operator's, in bulk."""

from __future__ import annotations

from agentstate.engine.decide.commands.base import Command


class Migrate(Command, frozen=True):
    """Carry the state to version `to` of its schema. `hold`: it stays there when newer versions come."""

    to: int
    by: str
    hold: bool = False


class Prune(Command, frozen=True):
    """Remove what nothing reads any more from the state."""

    by: str
