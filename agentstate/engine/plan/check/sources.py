"""Where the values of a plan come from: every reference has a source, of a kind that can be what the tool wants."""

from __future__ import annotations

from collections.abc import Iterator

from agentstate.engine import references
from agentstate.engine.plan import when
from agentstate.engine.plan.check import shapes
from agentstate.engine.plan.check.findings import Finding
from agentstate.engine.plan.facts import Facts
from agentstate.engine.plan.model import Call, Plan
from agentstate.engine.plan.order import Graph
from agentstate.engine.references import Path, Reference
from agentstate.engine.schemas import Schema
from agentstate.engine.scratchpad import scopes
from agentstate.engine.scratchpad.private import met_by

FEW = 5  # writers of one path that are looked at


def findings(plan: Plan, facts: Facts, wiring: Graph) -> Iterator[Finding]:
    """What is wrong with the references of a plan that can be wired."""
    for call in plan.calls:
        if hidden := list(_private(call, facts)):
            yield from hidden  # and nothing else is told of it: whether the value is there is private too
            continue
        allowed = None if call.scopes is None else [scopes.read(scope) for scope in call.scopes]
        for place, reference in call.refers:
            yield from _sources(call, place, reference, facts, wiring)
            for group in reference.alternatives:
                yield from _fits(plan, call, place, group[-1], facts, wiring)
            for path in reference.paths:
                if allowed is not None and not scopes.allows(allowed, path):
                    reason = f"{place}: {path} is not within {', '.join(call.scopes or ()) or 'no scope at all'}"
                    yield Finding("outside_scopes", call.id, reason)
        for path in when.needs(call.when):
            if path.names and not _has_source(call, path, facts, wiring) and not _in_form(path, facts):
                yield Finding("guard_without_source", call.id, f"there is no {path}, and nothing writes it")


def _private(call: Call, facts: Facts) -> Iterator[Finding]:
    """What a call would read though it is private: no value of it becomes a parameter, and no guard says what it is."""
    if not facts.private:
        return
    for place, reference in call.refers:
        for path in reference.paths:
            if hidden := met_by(path, facts.private):
                yield Finding("private_parameter", call.id, f"{place}: {path} holds {hidden}, which is private")
    for path in when.reads(call.when):
        if hidden := met_by(path, facts.private):
            yield Finding("private_guard", call.id, f"{path} holds {hidden}, which is private")


def _sources(call: Call, place: str, reference: Reference, facts: Facts, wiring: Graph) -> Iterator[Finding]:
    lacking = [
        [path for path in group if not _has_source(call, path, facts, wiring)] for group in reference.alternatives
    ]
    if not all(lacking):
        for missing in filter(None, lacking):
            yield Finding("dead_alternative", call.id, f"{place}: there is no {missing[0]}, and nothing writes it")
        return
    for path in dict.fromkeys(path for missing in lacking for path in missing):
        if path.kind in facts.of(call.instance) or path.kind in facts.declared:
            yield Finding("no_source", call.id, f"{place}: there is no {path}, and nothing writes it")
        else:
            yield Finding("unknown_kind", call.id, f"{place}: {path}: there are no messages of kind {path.kind!r}")


def _has_source(call: Call, path: Path, facts: Facts, wiring: Graph) -> bool:
    here = (call.instance, path)
    if wiring.at.get(here) or wiring.below.get(here) or references.read(facts.of(call.instance), path) is not None:
        return True
    declared = facts.declared.get(path.kind)
    return declared is not None and shapes.at(declared, path.names)[0] != "impossible"


def _in_form(path: Path, facts: Facts) -> bool:
    return facts.form is not None and shapes.at(facts.form, path.names)[0] == "declared"


def _fits(plan: Plan, call: Call, place: str, path: Path, facts: Facts, wiring: Graph) -> Iterator[Finding]:
    """Whether what stands or will stand at `path` can be what the tool wants at `place` of its parameters."""
    card = facts.tools.get(call.tool)
    wanted: Schema = shapes.at(card.parameters, place.split("."))[1] if card else True
    writers = wiring.at.get((call.instance, path), ())
    for name in writers[:FEW]:
        yield from _of_writer(plan.by_id[name], call, place, path, facts, wanted)
    found = references.read(facts.of(call.instance), path)
    if writers or wiring.below.get((call.instance, path)):
        return
    if found is not None:
        given: Schema = {"const": found.value}
    else:
        given = shapes.at(facts.declared.get(path.kind, True), path.names)[1]
    why = shapes.disagree(given, wanted)
    if why:
        yield Finding("wrong_type", call.id, f"{place}: {path}: {why}")


def _of_writer(writer: Call, call: Call, place: str, path: Path, facts: Facts, wanted: Schema) -> Iterator[Finding]:
    card = facts.card_of(writer)
    result = card.result if card else None
    good = writer.alternatives[:-1] if writer.has_error_path else writer.alternatives
    above = next((each for group in good for each in group if path.names[: len(each.names)] == each.names), None)
    if result is None or above is None:
        return  # what an error looks like is not declared
    word, given = shapes.at(result, path.names[len(above.names) :])
    if word == "impossible":
        yield Finding("no_such_output", call.id, f"{place}: {path}: {writer.tool} gives no such value")
    elif word == "open" and isinstance(result, dict) and "properties" in result:
        yield Finding("undeclared_output", call.id, f"{place}: {path}: {writer.tool} does not declare it")
    why = shapes.disagree(given, wanted)
    if why:
        yield Finding("wrong_type", call.id, f"{place}: {path}, by {writer.id}: {why}")
