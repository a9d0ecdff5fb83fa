"""What is vouched for: which value a place of the state had."""

from __future__ import annotations

from typing import Any

from agentstate.engine.events.base import Event


class ValueProved(Event, frozen=True, tag="value.proved"):
    """After `state` entries the state had this value at `path`; entry `written` wrote it, where that is known (else
    -1). Nothing else is in here: whoever is shown the entry whole learns no more.
    """

    path: str
    value: Any
    state: int
    written: int = -1
    v: int = 1
