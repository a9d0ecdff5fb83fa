"""Commands about data messages."""

from __future__ import annotations

from typing import Any

from agentstate.engine.decide.commands.base import Command


class AddData(Command, frozen=True):
    """Somebody adds a data message of kind `of` to the session's context, or to that of one of its instances. `schema`
    is None where it brings none.
    """

    of: str
    data: Any
    by: str
    schema: Any = None
    instance: str = ""
