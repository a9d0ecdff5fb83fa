"""What a model is told of the references in the newest message of the customer, and the question that settles one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentstate.engine.understanding.entities import Entity, said
from agentstate.engine.understanding.held import Resolution, Talk

MOST_NAMED = 4  # candidates that a question names


def resolved_note(talk: Talk) -> list[dict[str, Any]]:
    """A fact for each reference of the newest message of the customer that was understood, or must be asked about.

    Empty where no type of entity is declared.
    """
    if not talk.ontology.types:
        return []
    known = {entity.id: entity for entity in talk.entities} if talk.heard else {}
    return [_fact(found, known) for found in talk.heard if found.found != "none"]


def _fact(found: Resolution, known: Mapping[str, Entity]) -> dict[str, Any]:
    meant = [{"id": entity, "label": _label(known, entity)} for entity in found.entities]
    if found.found == "ambiguous":
        return {"said": found.mention, "could_mean": meant, "ask": _question(known, found)}
    fact = {"said": found.mention, "means": meant}
    return {**fact, "negated": True} if found.negated else fact


def question(entities: Sequence[Entity], found: Resolution) -> str:
    """What to ask so that the answer tells which entity was meant; empty where that is clear."""
    return _question({entity.id: entity for entity in entities}, found)


def _question(known: Mapping[str, Entity], found: Resolution) -> str:
    ids = found.entities
    if found.found == "entity" or "corrected" in found.why:
        return ""
    if not ids:
        return f'What do you mean by "{found.mention.strip()[:60]}"?'
    labels = _told_apart(known, ids[:MOST_NAMED], ids)
    if len(ids) == 1:
        return f"Do you mean {labels[0]}?"
    if len(ids) > MOST_NAMED:
        return f"Which do you mean: {', '.join(labels)} or another one?"
    return f"Which do you mean: {', '.join(labels[:-1])} or {labels[-1]}?"


def _label(known: Mapping[str, Entity], entity: str) -> str:
    return (known[entity].label if entity in known else "") or entity


def _told_apart(known: Mapping[str, Entity], shown: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Labels; where two are the same, each with the first value that differs."""
    labels = [_label(known, entity) for entity in shown]
    return [
        label if labels.count(label) == 1 else f"{label} ({_difference(known, entity, ids)})"
        for label, entity in zip(labels, shown, strict=True)
    ]


def _difference(known: Mapping[str, Entity], entity: str, ids: Sequence[str]) -> str:
    others = [known[other].attributes for other in ids if other != entity and other in known]
    for name, value in (known[entity].attributes if entity in known else {}).items():
        if said(value) and any(attributes.get(name) != value for attributes in others):
            return said(value)
    return entity
