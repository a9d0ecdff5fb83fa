"""What a round needs next: which calls are ready, which wait and for what, which will never run and why.

A call that can never have its inputs is `blocked` when something it depends on was rejected, failed or is blocked
itself, and `skipped` when only a branch was not taken. What is derived is final: outputs are written once, so nothing
that follows can change it. From any state something is ready, running or waiting for a person, or the round has ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from agentstate.engine import guards, references
from agentstate.engine.plan import when
from agentstate.engine.plan.model import Call
from agentstate.engine.plan.order import Graph, Place, graph
from agentstate.engine.plan.rounds import OPEN, Outcome, Round
from agentstate.engine.plan.rounds import place as place_of
from agentstate.engine.references import Look, Never, Path, Resolution, Views, Waiting
from agentstate.engine.scratchpad import marks

Stage = Literal["waiting", "ready", "asked", "running", "done", "failed", "rejected", "skipped", "blocked"]
NO_OTHERS: Mapping[str, Views] = {}


class Standing(msgspec.Struct, frozen=True):
    """Where a call stands. `arguments` are its parameters with every reference replaced, once it is ready."""

    call: str
    status: Stage
    reason: str = ""
    waits_for: tuple[Path, ...] = ()
    arguments: dict[str, Any] | None = None
    kept: bool = False


def standings(now: Round, views: Views, others: Mapping[str, Views] = NO_OTHERS) -> dict[str, Standing]:
    """Where every call stands, in the plan's order. `views` are what the round's instance may read, `others` those of
    the instances that calls name.
    """
    sight = _Sight(now, views, others)
    found = {}
    for call in sight.graph.order:
        found[call] = sight.standing(call)
        sight.learn(found[call])
    return {call.id: found[call.id] for call in now.plan.calls}


def standing(now: Round, views: Views, call: str, others: Mapping[str, Views] = NO_OTHERS) -> Standing:
    """Where one call stands by what is recorded: what is only derived of others counts once it is recorded too."""
    return _Sight(now, views, others).standing(call)


def following(
    now: Round, views: Views, ended: Iterable[str], others: Mapping[str, Views] = NO_OTHERS
) -> tuple[Standing, ...]:
    """What became ready, skipped or blocked through these calls, which have ended; each to be recorded in this order.
    The cost is that of their dependents, not of the plan.
    """
    sight = _Sight(now, views, others)
    found: dict[str, Standing] = {}
    waiting = deque(ended)
    while waiting:
        for call in sight.graph.dependents(waiting.popleft()):
            if call in found or call in now.outcomes:
                continue
            answer = sight.standing(call)
            if answer.status == "waiting":
                continue
            found[call] = answer
            if answer.status != "ready":
                sight.learn(answer)
                waiting.append(call)
    return tuple(found.values())


class _Sight:
    """What is known of a round while it is looked at: recorded outcomes, and those derived so far."""

    def __init__(self, now: Round, views: Views, others: Mapping[str, Views]) -> None:
        self._now, self.plan, self.graph = now, now.plan, graph(now.plan)
        self._known: dict[str, Outcome] = dict(now.outcomes)
        self._views, self._others = views, others
        self._seen: dict[Place, Resolution] = {}

    def learn(self, found: Standing) -> None:
        """Take a derived end into account."""
        if found.status in ("skipped", "blocked") and found.call not in self._known:
            self._known[found.call] = Outcome(found.status, reason=found.reason, kept=found.kept)
            for place in self.graph.feeds[found.call]:
                self._seen.pop(place, None)

    def standing(self, call_id: str) -> Standing:
        known = self._known.get(call_id)
        if known is not None:
            return Standing(call_id, known.status, known.reason, kept=known.kept)
        call = self.plan.by_id[call_id]
        return self._gated(call) or self._with_arguments(call)

    def _gated(self, call: Call) -> Standing | None:
        """What the guard says before there are arguments, or None when the call may go on."""
        if not call.when:
            return None
        waits = set(self.graph.reads[call.id])
        places = ((call.instance, path) for path in when.reads(call.when))
        answers = [self._look(place) for place in places if place in waits]
        missing = [path for answer in answers if isinstance(answer, Waiting) for path in answer.paths]
        lost = [answer for answer in answers if isinstance(answer, Never) and answer.blocked]
        if missing:
            return Standing(call.id, "waiting", waits_for=tuple(dict.fromkeys(missing)))
        if lost:
            return Standing(call.id, "blocked", lost[0].why)
        return None if when.asks_for_arguments(call.when) else self._asked(call, {})

    def _with_arguments(self, call: Call) -> Standing:
        answer = references.filled(call.parameters, self._looking(call.instance))
        if isinstance(answer, Waiting):
            return Standing(call.id, "waiting", waits_for=answer.paths)
        if isinstance(answer, Never):
            return Standing(call.id, "blocked" if answer.blocked else "skipped", answer.why)
        refused = self._asked(call, answer.value) if call.when and when.asks_for_arguments(call.when) else None
        return refused or Standing(call.id, "ready", arguments=answer.value)

    def _asked(self, call: Call, arguments: dict[str, Any]) -> Standing | None:
        """The guard's answer: None is yes. A guard that cannot be read is no yes."""
        try:
            if when.holds(call.when, self._of(call.instance), arguments):
                return None
        except guards.UnreadableGuard as error:
            return Standing(call.id, "blocked", f"its guard cannot be read: {error.detail}")
        return Standing(call.id, "skipped", "its guard says no", kept=True)

    def _of(self, instance: str) -> Views:
        return self._others.get(instance, {}) if instance else self._views

    def _looking(self, instance: str) -> Look:
        return lambda path: self._look((instance, path))

    def _look(self, place: Place) -> Resolution:
        found = self._seen.get(place)
        if found is None:
            found = self._seen[place] = _look(place, self._now, self.graph, self._known, self._of(place[0]))
        return found


def _look(place: Place, now: Round, wiring: Graph, known: Mapping[str, Outcome], views: Views) -> Resolution:
    """What stands at a place, by what has become of the calls that write it."""
    instance, path = place
    at, below = wiring.at.get(place, ()), wiring.below.get(place, ())
    value = references.read(views, path)
    if not at and not below:
        return value or Never(f"there is no {path}, and nothing writes it")
    written = marks.is_written(now.marks.get(instance, {}), place_of(path))
    if any(_is_open(known.get(call)) for call in (below if written else (*at, *below))):
        return Waiting((path,))
    spoilt = [why for call in (below if written else (*at, *below)) if (why := _spoilt(now.plan.by_id[call], known))]
    if spoilt:
        return Never("; ".join(dict.fromkeys(spoilt)))
    if value is not None and (written or _still_stands(at, below, known)):
        return value
    lacking = next((call for call in at if _wrote_above(known[call], str(path))), None)
    if lacking is not None:
        return Never(f"{lacking} wrote no {path}")
    return Never(f"{', '.join((*at, *below)[:3])} did not write {path}", blocked=False)


def _is_open(outcome: Outcome | None) -> bool:
    return outcome is None or outcome.status in OPEN


def _still_stands(at: tuple[str, ...], below: tuple[str, ...], known: Mapping[str, Outcome]) -> bool:
    """Whether what stood there before the round may be taken: nobody was to replace it, or a guard said no to that."""
    return all(known[call].kept for call in at) and all(known[call].kept or known[call].wrote for call in below)


def _wrote_above(outcome: Outcome, path: str) -> bool:
    return any(path.startswith(f"{each}.") for each in outcome.wrote)


def _spoilt(call: Call, known: Mapping[str, Outcome]) -> str:
    """Why what depends on this call is blocked, or an empty string. A failure that has an error path is no harm."""
    outcome = known[call.id]
    if outcome.status == "blocked":
        return outcome.reason
    if outcome.status == "rejected" or (outcome.status == "failed" and not call.has_error_path):
        return f"{call.id} {outcome.status}"
    return ""
