"""What can be asked of a session's statechart."""

from __future__ import annotations

from typing import Any

from agentstate.engine.decide.commands.base import Command


class Signal(Command, frozen=True):
    """Somebody or something outside tells the chart an event that it declares."""

    name: str
    by: str
    data: Any = None


class Wind(Command, frozen=True):
    """The runtime found a timer of the chart due."""
