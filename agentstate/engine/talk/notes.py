"""What a model is told of the references in the newest message of the customer: facts, no words for anybody."""

from __future__ import annotations

from typing import Any

from agentstate.engine.talk.held import Resolution, Talk


def resolved_note(talk: Talk) -> list[dict[str, Any]]:
    """A fact for each reference of the newest message of the customer that was understood, or must be asked about.

    Empty where nothing was declared: an agent without an ontology is told nothing.
    """
    if not talk.ontology.types:
        return []
    labels = {entity.id: entity.label or entity.id for entity in talk.entities}
    return [_fact(found, labels) for found in talk.heard if found.found != "none"]


def _fact(found: Resolution, labels: dict[str, str]) -> dict[str, Any]:
    meant = [{"id": entity, "label": labels.get(entity, entity)} for entity in found.entities]
    if found.found == "ambiguous":
        return {"said": found.mention, "could_mean": meant, "ask": found.ask}
    fact = {"said": found.mention, "means": meant, "confidence": found.confidence}
    return {**fact, "negated": True} if found.negated else fact
