"""Where the outputs of a plan go: one writer a path, a place in the form, and nobody looks before it is there."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import islice

from agentstate.engine import references, schemas, writers
from agentstate.engine.plan.check import shapes
from agentstate.engine.plan.check.findings import Finding
from agentstate.engine.plan.facts import Facts
from agentstate.engine.plan.model import Call, Plan
from agentstate.engine.plan.order import Graph, Place, above_of, overlaps, written_by
from agentstate.engine.references import Path, Reference
from agentstate.engine.scratchpad import scopes

MAX_SEARCHED = 100  # calls that are looked at to find whether one waits for another
FEW = 5  # writers of one scope that are looked at


def findings(plan: Plan, facts: Facts, wiring: Graph) -> Iterator[Finding]:
    """What is wrong with the outputs and scopes of a plan that can be wired."""
    written = written_by(plan)
    perhaps = conditional(plan, wiring)
    for place, calls in written.items():
        if len(calls) > 1:
            yield _several(plan, place[1], calls, perhaps, facts)
        yield from _overlapping(place, calls, written, wiring)
    yield from _scopes(plan, facts, wiring, written)
    read = {path.kind for places in wiring.reads.values() for _, path in places} | {"state"}
    for call in plan.calls:
        yield from _writers(call, facts)
        yield from _in_the_form(call, facts)
        for kind in dict.fromkeys(path.kind for group in call.alternatives for path in group):
            if kind not in read and kind not in facts.of(call.instance):
                yield Finding("new_kind", call.id, f"there is no {kind}, and no call reads it")


def conditional(plan: Plan, wiring: Graph) -> Mapping[str, bool]:
    """Of each call whether it may be skipped: it has a guard, or all it reads stands on branches."""
    perhaps: dict[str, bool] = {}
    for name in wiring.order:
        call = plan.by_id[name]
        perhaps[name] = bool(call.when) or any(_may_lack(each, call, plan, wiring, perhaps) for _, each in call.refers)
    return perhaps


def _may_lack(reference: Reference, call: Call, plan: Plan, wiring: Graph, perhaps: Mapping[str, bool]) -> bool:
    """Whether every alternative of a reference may fail to come."""

    def comes(path: Path) -> bool:
        writers = wiring.at.get((call.instance, path), ())
        return not writers or any(_always(plan.by_id[name], path, perhaps) for name in writers)

    return not any(all(map(comes, group)) for group in reference.alternatives)


def _always(call: Call, path: Path, perhaps: Mapping[str, bool]) -> bool:
    """Whether a call writes `path`, or above it, whatever happens."""
    return not perhaps[call.id] and all(
        any(path.names[: len(each.names)] == each.names for each in group) for group in call.alternatives
    )


def _several(plan: Plan, path: Path, calls: list[str], perhaps: Mapping[str, bool], facts: Facts) -> Finding:
    always = [name for name in calls if _always(plan.by_id[name], path, perhaps)]
    if len(always) > 1:
        return Finding("two_writers", always[1], f"{path} is written by {always[0]} too, whatever happens")
    second = plan.by_id[calls[1]]
    if facts.by_model and second.tool in facts.rules.own and second.alternatives[0] == (path,):
        # The first result of a round stays: a later answer of the same tool, a refusal perhaps, would go nowhere.
        return Finding("two_writers", second.id, f"{path} is written by {calls[0]} too, and rules may read it")
    return Finding("several_writers", calls[1], f"{path} may be written by {calls[0]} too")


def _overlapping(
    place: Place, calls: list[str], written: Mapping[Place, list[str]], wiring: Graph
) -> Iterator[Finding]:
    for above in above_of(place):
        for other in written.get(above, ())[:1]:
            if other != calls[0] and other not in _before(calls[0], wiring):
                yield Finding("overlapping_outputs", calls[0], f"{place[1]} stands within {above[1]}, of {other}")


def _scopes(plan: Plan, facts: Facts, wiring: Graph, written: Mapping[Place, list[str]]) -> Iterator[Finding]:
    shown = {
        call.id: dict.fromkeys((call.instance, scopes.read(scope)) for scope in call.scopes or ())
        for call in plan.calls
    }
    at, below = overlaps((place for places in shown.values() for place in places), written)
    for call in plan.calls:
        before = _before(call.id, wiring) if shown[call.id] else ()
        for place in shown[call.id]:
            writers = [name for name in (*at[place][:FEW], *below[place][:FEW]) if name != call.id]
            if not writers and not _exists(call, place[1], facts):
                yield Finding("unknown_scope", call.id, f"there is no {place[1]}, and nothing writes it")
            late = next((name for name in writers if name not in before), None)
            if late is not None:
                yield Finding("scope_not_waited_for", call.id, f"{place[1]} is written by {late}")


def _exists(call: Call, path: Path, facts: Facts) -> bool:
    views = facts.of(call.instance)
    if not path.names:
        return path.kind in views or path.kind in facts.declared
    declared = facts.form if path.kind == "state" else facts.declared.get(path.kind)
    declares = declared is not None and shapes.at(declared, path.names)[0] == "declared"
    return declares or references.read(views, path) is not None


class _All:
    """Every call: what a short search cannot tell is given the benefit of the doubt."""

    def __contains__(self, name: object) -> bool:
        return True


def _before(call: str, wiring: Graph) -> Container[str]:
    """The calls that come before `call`, as far as a short search tells."""
    waiting, seen = [call], {call}
    while waiting:
        sources = islice(_sources(waiting.pop(), wiring), MAX_SEARCHED + 1)
        fresh = [name for name in sources if name not in seen]
        seen.update(fresh)
        waiting += fresh
        if len(seen) > MAX_SEARCHED:
            return _All()
    return seen


def _sources(call: str, wiring: Graph) -> Iterator[str]:
    for place in wiring.reads[call]:
        yield from wiring.at[place]
        yield from wiring.below[place]


def _writers(call: Call, facts: Facts) -> Iterator[Finding]:
    for problem in writers.problems(facts.output_of(call), facts.rules):
        rule = "not_a_writer" if isinstance(problem, schemas.NotAWriter) else "fixed_property"
        yield Finding(rule, call.id, problem.detail)


def _in_the_form(call: Call, facts: Facts) -> Iterator[Finding]:
    card = facts.card_of(call)
    for number, group in enumerate(call.alternatives):
        is_error = call.has_error_path and number == len(call.alternatives) - 1
        for path in group:
            form = facts.form if path.kind == "state" else facts.data.get(path.kind)
            if form is None or (call.instance and path.kind != "state"):
                continue
            word, wanted = shapes.at(form, path.names)
            given = True if card is None or card.result is None else card.result
            given = writers.ERROR if is_error else given
            why = "" if word == "impossible" else shapes.disagree(given, wanted)
            if word == "impossible":
                yield Finding("not_in_form", call.id, f"the form of {path.kind} has no place for {path}")
            elif why := why or (_of_error(path, facts) if is_error else ""):
                yield Finding("wrong_type", call.id, f"{path}: {why}")


def _of_error(path: Path, facts: Facts) -> str:
    """Why the state has no place for an error at a path; empty: it has one, or nothing is declared."""
    if path.kind != "state" or facts.rules.declared is None:
        return ""
    try:
        schemas.check_write(facts.rules.declared, schemas.SYSTEM, str(path), {"error": "it failed"}, {})
    except schemas.BreaksSchema as broken:
        return broken.detail
    return ""
