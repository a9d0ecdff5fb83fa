"""What events change in `Talk`: a message is a turn, a result shows entities, references are said and corrected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine.understanding import topics
from agentstate.engine.understanding.entities import Entity, declared
from agentstate.engine.understanding.held import (
    KEPT_ENTITIES,
    KEPT_MENTIONS,
    MAX_REFERENCES,
    Mention,
    Reference,
    Talk,
    Understood,
)
from agentstate.engine.understanding.turns import taken

_NOTHING = Understood()


def said(talk: Talk, by: str, found: Understood | None, seq: int, at: str) -> Talk:
    """The talk after `by` said, in entry `seq` at `at`, a message that tells `found`; None: it was not read."""
    found = found or _NOTHING
    talk = taken(replace(talk, messages=talk.messages + 1), by, found.questions, seq, at)
    if by != "note":
        talk = topics.turned(talk, found.topic or talk.topic)
    return replace(talk, heard=(), heard_seq=seq, answered=False) if by == "customer" else talk


def shown(talk: Talk, tool: str, result: Any, written: str = "") -> Talk:
    """The talk after `tool` gave `result`, written to the output path `written`: the entities that the tool is declared
    to give are known.
    """
    return known(talk, declared(talk.ontology, tool, result, written))


def known(talk: Talk, found: Iterable[Entity]) -> Talk:
    """The talk with `found` among its entities; the newest values stand. What was mentioned longest ago falls out."""
    entities = {entity.id: entity for entity in talk.entities}
    before = len(entities)
    fresh = {entity.id: entity for entity in found}
    if not fresh:
        return talk
    entities |= fresh
    if len(entities) > KEPT_ENTITIES:
        entities = _kept(talk, entities, fresh)
    return replace(talk, entities=tuple(entities.values())) if fresh or before else talk


def _kept(talk: Talk, entities: dict[str, Entity], fresh: dict[str, Entity]) -> dict[str, Entity]:
    latest = {mention.entity: mention.message for mention in talk.mentions}
    order = {entity: index for index, entity in enumerate(entities)}
    ranked = sorted(
        entities,
        key=lambda e: (e in fresh, latest.get(e, -1), order[e]),
        reverse=True,
    )
    kept = set(ranked[:KEPT_ENTITIES])
    return {identifier: entity for identifier, entity in entities.items() if identifier in kept}


def asked(talk: Talk, named: int | msgspec.UnsetType | None) -> Talk:
    """The talk after a request that named so many entities (None: not recorded, all): its answer may refer to those."""
    if not talk.entities and not talk.shown:
        return talk
    shown = tuple(each.id for each in latest(talk))
    return replace(talk, shown=shown, named=len(shown) if named is None else named or 0)


def latest(talk: Talk) -> list[Entity]:
    """The entities, those mentioned last first, then those known last."""
    seen = (*(each.id for each in talk.entities), *(each.entity for each in talk.mentions))
    last = {entity: place for place, entity in enumerate(seen)}
    return sorted(talk.entities, key=lambda each: last[each.id], reverse=True)


def resolved(talk: Talk, references: tuple[Reference, ...]) -> Talk:
    """The talk after the model said what phrases of the customer's newest message mean."""
    meant = (entity for each in references for entity in each.entities)
    return _mentioned(replace(talk, heard=references, answered=True), meant)


def corrected(talk: Talk, seq: int, reference: Reference) -> Talk:
    """The talk after a person said what a phrase of entry `seq` means. That stands in place of what was said of it."""
    if talk.heard_seq != seq:
        return _mentioned(talk, reference.entities)
    wrong = {e for each in talk.heard if each.mention == reference.mention for e in each.entities}
    kept = tuple(each for each in talk.mentions if not (each.message == talk.messages and each.entity in wrong))
    others = tuple(each for each in talk.heard if each.mention != reference.mention)
    heard = (*others, reference)[-MAX_REFERENCES:]
    return _mentioned(replace(talk, heard=heard, answered=True, mentions=kept), reference.entities)


def _mentioned(talk: Talk, entities: Iterable[str]) -> Talk:
    added = tuple(Mention(entity, talk.messages, talk.turn) for entity in dict.fromkeys(entities))
    return replace(talk, mentions=(*talk.mentions, *added)[-KEPT_MENTIONS:])
