"""What an entity may be called by: the words of its label and of its attributes' values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from agentstate.engine.talk.tokens import singular, words_of
from agentstate.engine.talk.words import STOP
from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.ontology import EntityType, Ontology


class Words(NamedTuple):
    """`every` word that may describe an entity; `names`, each of which may stand for it (a value only where the
    label says it too); its `codes`; its label's
    tokens, in order.
    """

    every: frozenset[str]
    names: tuple[frozenset[str], ...]
    codes: frozenset[str]
    label: tuple[str, ...]


def words_for(known: Entity, kind: EntityType) -> Words:
    """Returns what `known`, of type `kind`, may be called by."""
    nouns = _nouns(kind.nouns)
    label = tuple(words_of(known.label))
    names, codes, every = [_naming(known.label, nouns)], {known.id.lower()}, set[str]()
    for attribute in kind.attributes:
        value = known.attributes.get(attribute.name)
        if attribute.kind == "code" and isinstance(value, str | int):
            codes.add(str(value).lower())
        elif attribute.kind == "word" and isinstance(value, str):
            naming = _naming(value, nouns)
            every |= naming
            if naming <= set(label):
                names.append(naming)
        elif attribute.kind == "flag" and value is True:
            every.update((attribute.name.lower(), *attribute.words))
    every = every.union(codes, *names)
    return Words(frozenset(every), tuple(name for name in names if name), frozenset(codes), label)


@lru_cache(maxsize=256)
def _nouns(nouns: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for noun in nouns for word in words_of(noun))


def _naming(text: str, nouns: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words_of(text) if word not in STOP and singular(word) not in nouns)


@dataclass(frozen=True)
class Lexicon:
    """An ontology by its words: nouns of types, their verbs, the nouns of their attributes, and words for values."""

    types: Mapping[str, EntityType]
    nouns: Mapping[str, frozenset[str]]
    verbs: Mapping[str, frozenset[str]]
    attributes: Mapping[str, frozenset[str]]
    values: Mapping[str, frozenset[tuple[str, str]]]  # of a word: types, and one word of the value that it stands for


@lru_cache(maxsize=64)
def lexicon(ontology: Ontology) -> Lexicon:
    """Returns the words of `ontology`."""
    nouns: dict[str, frozenset[str]] = {}
    verbs: dict[str, frozenset[str]] = {}
    attributes: dict[str, frozenset[str]] = {}
    values: dict[str, frozenset[tuple[str, str]]] = {}
    for kind in ontology.types:
        for noun in kind.nouns:
            _put(nouns, noun.lower(), kind.name)
        for verb in kind.verbs:
            _put(verbs, verb.lower(), kind.name)
        for attribute in kind.attributes:
            for noun in (attribute.name, *attribute.nouns):
                _put(attributes, noun.lower(), kind.name)
            for said, value in attribute.words.items():
                for word in words_of(value):
                    _put(values, said.lower(), (kind.name, word))
    return Lexicon({kind.name: kind for kind in ontology.types}, nouns, verbs, attributes, values)


def _put(found: dict, word: str, what: object) -> None:  # type: ignore[type-arg]
    found[word] = found.get(word, frozenset()) | {what}
