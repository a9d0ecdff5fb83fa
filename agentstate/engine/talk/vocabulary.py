"""What an entity may be called by: the words of its label, of its other names, and of its attributes' values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agentstate.engine.talk.tokens import singular, words_of
from agentstate.engine.talk.words import KIN, STOP, TITLES
from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.ontology import EntityType

MOST_WORDS = 24  # by which one entity may be called


class Words(NamedTuple):
    """`core` are the words of the label and the names alone; `gender` as an entity has it, or as its label says."""

    every: tuple[str, ...]
    core: tuple[str, ...]
    gender: str


def words_for(known: Entity, kind: EntityType) -> Words:
    """Returns what `known`, of type `kind`, may be called by."""
    core = _core(kind, (known.label, *known.names))
    found = dict.fromkeys(core)
    for attribute in kind.attributes:
        value = known.attributes.get(attribute.name)
        if attribute.kind in ("word", "code") and isinstance(value, str | int):
            found.update(dict.fromkeys(words_of(str(value))))
        elif attribute.kind == "flag" and value is True:
            found.update(dict.fromkeys((attribute.name.lower(), *attribute.words)))
    return Words(tuple(found)[:MOST_WORDS], core[:MOST_WORDS], known.gender or _gender_of(kind, known.label))


def _core(kind: EntityType, texts: Iterable[str]) -> tuple[str, ...]:
    nouns = {word for noun in kind.nouns for word in words_of(noun)}
    found = dict.fromkeys(word for text in texts for word in words_of(text))
    return tuple(word for word in found if word not in STOP and word not in TITLES and singular(word) not in nouns)


def _gender_of(kind: EntityType, label: str) -> str:
    first = next(iter(words_of(label)), "")
    return TITLES.get(first, KIN.get(first, "")) if kind.category == "person" else ""
