"""When something must give way: the next summaries that a request needs in order to fit its budget.

What is pinned, and what waits for somebody, always stays; where that alone does not fit, nobody is asked
(`ContextTooSmall`). Of the rest goes first what is so large that it would take half of the room, then what matters
least; last go what scratchpad or plan still refer to, the last turn, its newest part, and the customer's last words.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentstate.engine.conversation import WINDOW
from agentstate.engine.memory.cover import Cover, covering, joining, loose
from agentstate.engine.memory.groups import Group
from agentstate.engine.memory.scene import Frame, Scene
from agentstate.engine.memory.summaries import FLOOR, MOST, headline
from agentstate.errors import Refused

KEPT = WINDOW * 3 // 5  # items left raw when the window is full: what makes room is dear, and must last for some turns
SHARE = 6  # summaries may take a sixth of the room
USUAL = 150  # tokens that a summary should have at least, where there is room for more than one
LIMIT = 330  # tokens of a summary that is made because the window is full, not the budget
NAMED = 5  # parts that a refusal names


class ContextTooSmall(Refused):
    """What the model must be shown does not fit the token budget."""

    code = "context_too_small"
    remedy = "Raise the agent's budget, unpin messages, decide what waits, or show less of the scratchpad."


def next_covers(scene: Scene, frame: Frame, counted: int | None = None) -> list[Cover]:
    """The next summaries to make before the model is asked; none when all fits. Raises ContextTooSmall.

    `counted` are the tokens of this very conversation, where they are known already.
    """
    room = scene.budget - frame.total
    summaries = scene.memory.summaries
    tokens = scene.tokens(scene.items, summaries) if counted is None else counted
    over = tokens > room
    if not over and len(scene.items) <= WINDOW and len(summaries) <= _allowed(room):
        return []
    return _giving_way(scene, frame, room, tokens)


def _giving_way(scene: Scene, frame: Frame, room: int, tokens: int) -> list[Cover]:
    summaries, over = scene.memory.summaries, tokens > room
    free = loose(scene)
    share = min(room // SHARE, _left_beside_what_must(scene, frame, room, bool(free or summaries)))
    limit = max(FLOOR, share // _allowed(room) - _headline(scene))
    goal = (room - share) * 4 // 5 if over else room
    if batch := _batch(scene, free, goal, room, tokens):
        return covering(scene, batch, limit, _allowed(room))
    if len(summaries) > _allowed(room) or (over and len(summaries) > 1):
        return [joining(scene, summaries[:2], limit)]
    if over and summaries and scene.counter.count(summaries[0].text) > limit:
        return [joining(scene, summaries, limit)]
    return covering(scene, _by_need(scene, free, room, _sizes(scene))[:1], limit, _allowed(room)) if over else []


def crowded_covers(scene: Scene, most: int) -> list[Cover]:
    """The summaries to make when more than `most` items are held, whatever their tokens."""
    summaries = scene.memory.summaries
    if len(summaries) > MOST:
        return [joining(scene, summaries[:2], LIMIT)]
    free = loose(scene) if len(scene.items) > most else []
    excess = len(scene.items) - most * 4 // 5
    batch: list[Group] = []
    for group in _by_need(scene, free, 0, {}):
        if sum(len(each.items) for each in batch) >= excess:
            break
        batch.append(group)
    return covering(scene, batch, LIMIT, MOST) if batch else []


def _batch(scene: Scene, free: list[Group], goal: int, room: int, tokens: int) -> list[Group]:
    """The groups that go, so that what stays raw takes `goal` tokens at most, and fewer than the window's items.
    `tokens` are those of the conversation: where they fill no half of the room, no group does, and none is counted.
    """
    over, count = tokens > room, len(scene.items)
    enough = KEPT if count > WINDOW else count
    if not over and count <= enough:
        return []
    sizes = _sizes(scene) if tokens > room // 2 else {}
    left = sum(sizes.values()) if over else 0
    batch: list[Group] = []
    for group in _by_need(scene, free, room, sizes):
        if left <= goal and count <= enough:
            break
        batch.append(group)
        left -= sizes.get(group.first, 0)
        count -= len(group.items)
    return batch


def _sizes(scene: Scene) -> dict[int, int]:
    """Tokens of each group, by its first entry."""
    return {group.first: scene.tokens(group.items, ()) for group in scene.groups}


def _by_need(scene: Scene, free: list[Group], room: int, sizes: Mapping[int, int]) -> list[Group]:
    """`free` in the order in which they give way. `sizes`: tokens by group; of those without, size does not matter."""
    words = next((item.seq for item in reversed(scene.items) if item.role == "customer"), -1)
    newest = max((group.last for group in free), default=-1)
    referred = scene.referred if free else frozenset()

    def need(group: Group) -> tuple[int, int, int]:
        first = group.items[0].seq  # what a customer says is a group of its own
        if first == words:
            return (4, 0, first)
        if room and sizes.get(first, 0) > room // 2:
            return (-1, 0, first)
        if group.items[-1].seq == newest:
            return (3, 0, first)
        if first > words >= 0:
            return (2, 0, first)
        level = 1 if referred and group.calls & referred else 0
        return (level, scene.points(group), first)

    return sorted(free, key=need)


def _allowed(room: int) -> int:
    """How many summaries a request of that room may hold."""
    return max(1, min(MOST, room // SHARE // USUAL))


def _headline(scene: Scene) -> int:
    """Tokens that a summary takes beside its text, at most."""
    last = scene.items[-1].seq if scene.items else 0
    return scene.counter.count(headline(last, last, last)) + scene.counter.count("summary") + 10


def _left_beside_what_must(scene: Scene, frame: Frame, room: int, summarised: bool) -> int:
    """Tokens that are left for summaries when nothing else is shown than what must. Raises ContextTooSmall."""
    must = [group for group in scene.groups if scene.must(group)]
    items = tuple(sorted((item for group in must for item in group.items), key=lambda item: item.seq))
    left = room - scene.tokens(items, ())
    least = _headline(scene) + FLOOR if summarised else 0
    if left < least:
        raise ContextTooSmall(_named(scene, frame, must, least), budget=scene.budget)
    return left


def _named(scene: Scene, frame: Frame, must: list[Group], least: int) -> str:
    """What does not fit, largest first."""
    parts = [(frame.instructions, "instructions"), (frame.tools, "tools"), (frame.state, "state"), (least, "a summary")]
    for group in must:
        why = "waits" if group.calls & scene.open_calls else "pinned"
        parts.append((scene.tokens(group.items, ()), f"entry {group.first} ({why})"))
    largest = sorted((part for part in parts if part[0]), key=lambda part: -part[0])
    named = ", ".join(f"{what} {tokens}" for tokens, what in largest[:NAMED])
    total = sum(tokens for tokens, _ in parts)
    return f"{total} tokens are needed and {scene.budget} there are: {named}"
