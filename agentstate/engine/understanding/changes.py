"""What events change in `Talk`: a message is a turn, with what was understood of it; a result shows entities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from agentstate.engine.understanding import topics
from agentstate.engine.understanding.entities import Entity, declared
from agentstate.engine.understanding.held import (
    KEPT_ENTITIES,
    KEPT_GROUPS,
    KEPT_MENTIONS,
    Group,
    Mention,
    Resolution,
    Talk,
    Understood,
)
from agentstate.engine.understanding.turns import taken

_NOTHING = Understood()


def said(talk: Talk, by: str, found: Understood | None, seq: int, at: str) -> Talk:
    """The talk after `by` said, in entry `seq` at `at`, what was understood as `found`; None: it was not read."""
    found = found or _NOTHING
    talk = taken(replace(talk, messages=talk.messages + 1), by, found.questions, seq, at)
    talk = mentioned(talk, by, found.mentioned)
    if by != "note":
        talk = topics.turned(talk, found.topic or talk.topic)
    return replace(talk, heard=found.references, heard_seq=seq) if by == "customer" else talk


def shown(talk: Talk, tool: str, result: Any, at: str, written: str = "") -> Talk:
    """The talk after `tool` gave `result`, written to the output path `written`: the entities that the tool is declared
    to give are known.
    """
    return known(talk, declared(talk.ontology, tool, result, at, written))


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


def mentioned(talk: Talk, by: str, sets: Sequence[tuple[str, ...]]) -> Talk:
    """The talk with what one message spoke of, and a list for every type of which it spoke of several."""
    types = {entity.id: entity.type for entity in talk.entities}
    ordered = [e for e in dict.fromkeys(e for ids in sets for e in ids) if e in types]
    if not ordered:
        return talk
    by_type: dict[str, list[str]] = {}
    for entity in ordered:
        by_type.setdefault(types[entity], []).append(entity)
    mentions = tuple(Mention(entity, talk.messages, talk.turn) for entity in ordered)
    lists = tuple(Group(kind, tuple(ids), talk.messages, by) for kind, ids in by_type.items() if len(ids) > 1)
    return replace(
        talk,
        mentions=(*talk.mentions, *mentions)[-KEPT_MENTIONS:],
        groups=(*talk.groups, *lists)[-KEPT_GROUPS:],
    )


def corrected(talk: Talk, seq: int, mention: str, meant: tuple[str, ...]) -> Talk:
    """The talk after somebody said what a reference of entry `seq` means: what was heard is put right."""
    wrong = {e for found in talk.heard if found.mention == mention and talk.heard_seq == seq for e in found.entities}
    heard = tuple(
        _put_right(found, meant) if found.mention == mention and talk.heard_seq == seq else found
        for found in talk.heard
    )
    kept = tuple(m for m in talk.mentions if not (m.message == talk.messages and m.entity in wrong - set(meant)))
    added = tuple(Mention(entity, talk.messages, talk.turn) for entity in meant)
    return replace(talk, heard=heard, mentions=(*kept, *added)[-KEPT_MENTIONS:])


def _put_right(found: Resolution, meant: tuple[str, ...]) -> Resolution:
    if not meant:
        return replace(found, found="none", entities=(), why=("corrected",))
    return replace(found, found="entity", entities=meant, why=("corrected",))
