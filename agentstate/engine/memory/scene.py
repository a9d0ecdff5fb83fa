"""A session's conversation at the moment when a model is to be asked: what is held, what is needed, what room is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.memory.context import messages
from agentstate.engine.memory.correction import ONE
from agentstate.engine.memory.groups import Group, grouped
from agentstate.engine.memory.held import Memory
from agentstate.engine.memory.importance import Importance, importance, plain_points
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.shown import tokens_of
from agentstate.engine.memory.summaries import Summary
from agentstate.engine.memory.tokens import Counter
from agentstate.engine.plan.model import Call as Planned
from agentstate.engine.plan.when import reads
from agentstate.engine.references import BadReference, Path, output, within


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


class Scene(msgspec.Struct, frozen=True, dict=True):
    """`open_calls` wait or run and must be shown. `factor` is the correction for the model, in thousandths. `planned`
    are the calls of an open plan, of which `outcomes` tells those that have ended. `private` are the places of state
    and data messages that no model is shown.
    """

    items: tuple[Item, ...]
    memory: Memory
    settings: Remembering
    counter: Counter
    at: str
    open_calls: frozenset[str] = frozenset()
    pad: dict[str, Any] = {}
    factor: int = ONE
    planned: tuple[Planned, ...] = ()
    outcomes: Mapping[str, Any] = {}
    private: tuple[str, ...] = ()

    @property
    def budget(self) -> int:
        """Tokens by the counter, before correction, that a request may take."""
        return self.settings.budget * ONE // self.factor

    def tokens(self, items: tuple[Item, ...], summaries: tuple[Summary, ...]) -> int:
        """Tokens of a conversation as a model would be shown it."""
        return tokens_of(messages(items, summaries, self.private), self.counter)

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

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The conversation in groups."""
        return tuple(grouped(self.items))

    @property
    def referred(self) -> frozenset[str]:
        """The calls that the scratchpad still speaks of, or whose outputs a call of the plan has still to read, by
        their ids.
        """
        calls = {call.id: call for item in self.items for call in item.calls}
        if not calls:
            return frozenset()
        read = self._to_be_read()
        above = {place for path in read for place in _from_the_top(path)}
        awaited = {
            name
            for name, call in calls.items()
            if read and any(path in above or not read.isdisjoint(_from_the_top(path)) for path in _written(call))
        }
        return frozenset(awaited.union(_texts(self.pad)).intersection(calls))

    def _to_be_read(self) -> set[Path]:
        """The places that calls of the plan which have not ended refer to, or that their guards ask about."""
        waiting = [call for call in self.planned if call.id not in self.outcomes]
        asked = {path for call in waiting for path in reads(call.when)}
        return asked | {path for call in waiting for _, found in within(call.parameters) for path in found.paths}

    def points(self, group: Group) -> int:
        """A group matters as much as its most important item."""
        if self.memory.pins or self.memory.ratings:
            return max([self.importance(item).points for item in group.items])
        now, of = self.settings, group.items
        turn, at, turns, seconds = self.memory.turn, self.at, now.half_life_turns, now.half_life_seconds
        return max([plain_points(item, now.rules, turn, at, turns, seconds) for item in of])


def _from_the_top(path: Path) -> Iterator[Path]:
    return (Path(path.kind, path.names[:size]) for size in range(1, len(path.names) + 1))


def _written(call: ItemCall) -> Iterator[Path]:
    """Where the output of a call goes."""
    text = call.output_path or call.arguments.get("_outputPath")
    try:
        yield from output(text).paths if isinstance(text, str) else ()
    except BadReference:  # the call was refused for it
        return


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
