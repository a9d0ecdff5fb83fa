"""How a session's memory follows its events: each a function of what was held before.

`heard` stamps what came in. Histories from before there were summaries hold nothing that covers their older items: when
they grow too long, what is let go is named by a summary without words.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine.conversation import LONGEST, WINDOW, Item
from agentstate.engine.memory.cover import Cover, covering, joining
from agentstate.engine.memory.groups import Group, grouped
from agentstate.engine.memory.held import Memory
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.memory.scene import Scene
from agentstate.engine.memory.summaries import LONGEST_TEXT, MOST, Summary
from agentstate.engine.memory.tokens import ESTIMATE

Recalled = tuple[tuple[Item, ...], Memory]
_PLAIN = Remembering()
_NO_LIMIT = LONGEST  # of summaries: they are joined below, one after the other, as they always were


def heard(items: tuple[Item, ...], memory: Memory, at: str) -> Recalled:
    """What is held once the last of `items` has come in at `at`."""
    turn = memory.turn + (items[-1].role == "customer")
    items = (*items[:-1], replace(items[-1], at=at, turn=turn))
    return items, (replace(memory, turn=turn) if turn != memory.turn else memory)


def let_go(items: tuple[Item, ...], memory: Memory, open_calls: frozenset[str]) -> Recalled:
    """What is held once the eldest of more than LONGEST items are gone; what must be shown stays."""
    scene = Scene(items, memory, _PLAIN, ESTIMATE, "", open_calls)
    batch: list[Group] = []
    for group in grouped(items):
        if sum(len(each.items) for each in batch) >= len(items) - WINDOW or group.last == items[-1].seq:
            break
        if not scene.must(group):
            batch.append(group)
    if not batch:
        return items, memory
    for cover in covering(scene, batch, 0, _NO_LIMIT):
        items, memory = summarised(items, memory, _unworded(cover))
    while len(memory.summaries) > MOST:
        scene = replace(scene, items=items, memory=memory)
        items, memory = summarised(items, memory, _unworded(joining(scene, memory.summaries[:2], 0)))
    return items, memory


def _unworded(cover: Cover) -> Summary:
    earlier = "\n".join(each.text for each in cover.replaced if each.text)[-LONGEST_TEXT:]
    return Summary(cover.last, cover.first, cover.last, cover.kept, cover.count, cover.covers, "none", earlier)


def summarised(items: tuple[Item, ...], memory: Memory, summary: Summary) -> Recalled:
    """What is held once `summary` stands for its range: the items it covers go, and the summaries inside it."""
    first, last, kept = summary.first, summary.last, frozenset(summary.kept)
    left = tuple([item for item in items if item.seq < first or item.seq > last or item.seq in kept])
    others = (each for each in memory.summaries if each.last < summary.first or summary.last < each.first)
    summaries = tuple(sorted((*others, summary), key=lambda each: each.first))
    held = {item.seq for item in left}
    pins = tuple(pin for pin in memory.pins if pin.seq in held)
    ratings = {key: rating for key, rating in memory.ratings.items() if int(key) in held}
    return left, replace(memory, summaries=summaries, pins=pins, ratings=ratings, wanted=None)


def rated(memory: Memory, seq: int, rating: int) -> Memory:
    """With the rating of one item, in the place of an earlier one."""
    return replace(memory, ratings={**memory.ratings, str(seq): rating})


def named(memory: Memory, seqs: tuple[int, ...]) -> tuple[Summary, ...]:
    """The summaries that the entries `seqs` made."""
    return tuple(each for each in memory.summaries if each.seq in seqs)
