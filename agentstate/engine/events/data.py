"""What happens to data messages: one is added to the session's context."""

from __future__ import annotations

from typing import Any

from agentstate.engine.events.base import Event


class DataAdded(Event, frozen=True, tag="data.added"):
    """A data message of kind `of`: a patch of the object of that kind, of the session or of `instance`. `schema` is a
    JSON Schema that holds for the object from now on; null: it brings none.
    """

    of: str
    data: Any
    by: str
    schema: Any = None
    instance: str = ""
    v: int = 1
