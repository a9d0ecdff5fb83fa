"""A session's conversation at the moment when a model is to be asked: what is held, what is needed, what room is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agentstate.engine.conversation import Item
from agentstate.engine.memory.context import messages
from agentstate.engine.memory.correction import ONE
from agentstate.engine.memory.groups import Group
from agentstate.engine.memory.held import Memory
from agentstate.engine.memory.importance import Importance, importance
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.shown import tokens_of
from agentstate.engine.memory.summaries import Summary
from agentstate.engine.memory.tokens import Counter


class Frame(msgspec.Struct, frozen=True):
    """Tokens of what a request holds beside the conversation: what is fixed, and the state with what its form lacks.

    `messages` and `summaries` are those of the conversation as it stood with `seq` entries; -1: not counted yet.
    """

    instructions: int = 0
    tools: int = 0
    state: int = 0
    messages: int = 0
    summaries: int = 0
    seq: int = -1

    @property
    def total(self) -> int:
        """All beside the conversation."""
        return self.instructions + self.tools + self.state

    def conversation(self, seq: int) -> int | None:
        """Tokens of the conversation as it stands with `seq` entries, where that is what was counted."""
        return self.messages + self.summaries if self.seq == seq else None


class Scene(msgspec.Struct, frozen=True):
    """`open_calls` wait or run and must be shown. `factor` is the correction for the model, in thousandths."""

    items: tuple[Item, ...]
    memory: Memory
    settings: Remembering
    counter: Counter
    at: str
    open_calls: frozenset[str] = frozenset()
    pad: dict[str, Any] = {}
    factor: int = ONE

    @property
    def budget(self) -> int:
        """Tokens by the counter, before correction, that a request may take."""
        return self.settings.budget * ONE // self.factor

    def tokens(self, items: tuple[Item, ...], summaries: tuple[Summary, ...]) -> int:
        """Tokens of a conversation as a model would be shown it."""
        return tokens_of(messages(items, summaries, self.settings.private), self.counter)

    def must(self, group: Group) -> bool:
        """Whether the group always has to be shown: it is pinned, or a call of it is open."""
        if self.open_calls and group.calls & self.open_calls:
            return True
        return bool(self.memory.pins) and any(self.memory.pinned(item.seq) for item in group.items)

    def importance(self, item: Item) -> Importance:
        """How much the item matters now."""
        return importance(
            item,
            self.settings.rules,
            rating=self.memory.rating(item.seq),
            pinned=self.memory.pinned(item.seq),
            turn=self.memory.turn,
            at=self.at,
            half_life_turns=self.settings.half_life_turns,
            half_life_seconds=self.settings.half_life_seconds,
        )

    @property
    def referred(self) -> frozenset[str]:
        """The calls that the scratchpad still speaks of, by their ids."""
        calls = {call.id for item in self.items for call in item.calls}
        return frozenset(calls.intersection(_texts(self.pad))) if calls else frozenset()

    def points(self, group: Group) -> int:
        """A group matters as much as its most important item."""
        return max(self.importance(item).points for item in group.items)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
