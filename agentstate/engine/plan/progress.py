"""How far a round has come: what stands where, how much is done, what takes longest, and whether the end is a good one.

All of it follows from the round, the state and the tools' cards. Durations are measured where a call has ended, and
declared by its tool otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from agentstate.engine import guards, instants, references, schemas
from agentstate.engine.plan.facts import ToolCard
from agentstate.engine.plan.order import Place, graph
from agentstate.engine.plan.ready import NO_OTHERS, Standing, standings
from agentstate.engine.plan.rounds import Round
from agentstate.engine.references import Found, Never, Views

ENDED = frozenset({"done", "failed", "rejected", "skipped", "blocked"})
NEVER_RAN = frozenset({"rejected", "skipped", "blocked"})
NO_CARDS: Mapping[str, ToolCard] = {}
CONDITION_NAMES = ("state", "input", "output")  # what a post-condition may read


class Bottleneck(msgspec.Struct, frozen=True):
    """The call that holds up the end most: how long it takes, and how many calls come after it."""

    call: str
    milliseconds: int
    holds_up: int


class Progress(msgspec.Struct, frozen=True):
    """`percent` counts ended calls; `critical_path` is the chain of calls that takes longest, `milliseconds` how long,
    and `remaining` how much of such a chain is still to come.
    """

    counts: Mapping[str, int]
    total: int
    percent: int
    standings: Mapping[str, Standing]
    critical_path: tuple[str, ...]
    milliseconds: int
    remaining: int
    bottleneck: Bottleneck | None

    @property
    def ended(self) -> bool:
        """Whether nothing can happen any more."""
        return all(each.status in ENDED for each in self.standings.values())


class Condition(msgspec.Struct, frozen=True):
    """A post-condition, and whether it holds. One that cannot be read does not, and says why."""

    expression: str
    holds: bool
    reason: str = ""


class Completion(msgspec.Struct, frozen=True):
    """What is to be said of the end: the output, what is wrong with it, and the post-conditions."""

    output: Any
    problems: tuple[schemas.Problem, ...]
    conditions: tuple[Condition, ...]


def progress(
    now: Round, views: Views, cards: Mapping[str, ToolCard] = NO_CARDS, others: Mapping[str, Views] = NO_OTHERS
) -> Progress:
    """How far the round has come."""
    found = standings(now, views, others)
    counts: Counter[str] = Counter(each.status for each in found.values())
    ended = sum(count for status, count in counts.items() if status in ENDED)
    total = len(now.plan.calls)

    def takes(call: str) -> int:
        return 0 if found[call].status in NEVER_RAN else duration(now, call, cards)

    path, milliseconds = critical_path(now, takes)
    _, remaining = critical_path(now, lambda call: 0 if found[call].status in ENDED else takes(call))
    return Progress(
        counts=dict(counts),
        total=total,
        percent=100 * ended // total if total else 100,
        standings=found,
        critical_path=path,
        milliseconds=milliseconds,
        remaining=remaining,
        bottleneck=_bottleneck(now, path, found, takes),
    )


def duration(now: Round, call: str, cards: Mapping[str, ToolCard] = NO_CARDS) -> int:
    """How long a call takes, in milliseconds: as measured, else as its tool declares, else 1."""
    outcome = now.outcomes.get(call)
    if outcome is not None and outcome.began and outcome.ended:
        took = instants.parse(outcome.ended) - instants.parse(outcome.began)
        return max(0, took // timedelta(milliseconds=1))
    card = cards.get(now.plan.by_id[call].tool)
    return card.milliseconds if card is not None and card.milliseconds else 1


def critical_path(now: Round, takes: Callable[[str], int]) -> tuple[tuple[str, ...], int]:
    """The chain of calls, each waiting for the one before, that takes longest, and how long it takes."""
    wiring = graph(now.plan)
    finish: dict[str, int] = {}
    after: dict[str, str | None] = {}
    last_at: dict[Place, str | None] = {}
    for call in wiring.order:
        for place in wiring.reads[call]:
            if place not in last_at:
                last_at[place] = max((*wiring.at[place], *wiring.below[place]), key=lambda each: finish[each])
        last = [each for place in wiring.reads[call] if (each := last_at[place]) is not None]
        after[call] = max(last, key=lambda each: finish[each], default=None)
        before = after[call]
        finish[call] = takes(call) + (finish[before] if before is not None else 0)
    path: list[str] = []
    at: str | None = max(finish, key=lambda each: finish[each], default=None)
    total = finish[at] if at is not None else 0
    while at is not None:
        path.append(at)
        at = after[at]
    return tuple(reversed(path)), total


def _bottleneck(
    now: Round, path: Iterable[str], found: Mapping[str, Standing], takes: Callable[[str], int]
) -> Bottleneck | None:
    """On the longest chain, the call that takes longest: of those to come, or of all when none is."""
    chain = tuple(path)
    candidates = [call for call in chain if found[call].status not in ENDED] or list(chain)
    if not candidates:
        return None
    slowest = max(candidates, key=takes)
    return Bottleneck(slowest, takes(slowest), len(_after(now, slowest)))


def _after(now: Round, call: str) -> set[str]:
    wiring = graph(now.plan)
    waiting, seen, places = [call], set(), set()
    while waiting:
        for place in wiring.feeds[waiting.pop()]:
            if place not in places:
                places.add(place)
                fresh = [each for each in wiring.read_by[place] if each not in seen]
                seen.update(fresh)
                waiting += fresh
    return seen


def completion(
    views: Views, output: Any = None, schema: schemas.Schema | None = None, conditions: Iterable[str] = ()
) -> Completion:
    """Whether the end is a good one: `output`, a structure with references, read from `views` and judged by `schema`,
    and each of `conditions` (CEL over state, input and output). Raises BadReference, BadSchema, BadGuard.
    """
    answer = references.filled(output, lambda path: references.read(views, path) or Never(f"there is no {path}"))
    if isinstance(answer, Found):
        value = answer.value
        problems = schemas.problems(True if schema is None else schema, value, "output")
    else:
        value = None
        problems = [schemas.Problem("output", "missing", answer.why if isinstance(answer, Never) else "")]
    values = {"state": views.get("state", {}), "input": views.get("input", {}), "output": value}
    return Completion(value, tuple(problems), tuple(_condition(each, values) for each in conditions))


def _condition(expression: str, values: Mapping[str, Any]) -> Condition:
    try:
        return Condition(expression, guards.answered(expression, CONDITION_NAMES, values))
    except guards.UnreadableGuard as error:
        return Condition(expression, False, error.detail)
