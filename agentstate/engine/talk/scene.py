"""A scene: a sentence beside what is known when it is said. All that one message is read with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import msgspec

from agentstate.engine.talk.tokens import Token, plural, singular
from agentstate.engine.talk.vocabulary import Words, words_for
from agentstate.engine.talk.words import PREPOSITIONS
from agentstate.engine.understanding.entities import Entity, types_of
from agentstate.engine.understanding.held import Group, Mention, Talk
from agentstate.engine.understanding.ontology import Attribute, EntityType, Ontology

FADES = 14  # salience lost with each message
PADDING = [""] * 24  # longer than any look ahead or back
_NOBODY: frozenset[str] = frozenset()
ALONE, LISTED, SHOWN, ONLY_SHOWN = 60, 30, 8, 32  # salience of a mention in this message


@dataclass(frozen=True)
class Lexicon:
    """An ontology by its words. A noun says which types it may mean and whether it is a plural."""

    types: Mapping[str, EntityType]
    nouns: Mapping[str, tuple[frozenset[str], bool]]
    begins: frozenset[str]  # first words of nouns of two
    verbs: Mapping[str, frozenset[str]]
    attributes: Mapping[str, tuple[tuple[str, Attribute], ...]]
    values: Mapping[str, tuple[tuple[str, str], ...]]
    orders: Mapping[str, tuple[str, bool]]


@lru_cache(maxsize=64)
def lexicon(ontology: Ontology) -> Lexicon:
    """The words of `ontology`."""
    nouns: dict[str, tuple[frozenset[str], bool]] = {}
    verbs: dict[str, frozenset[str]] = {}
    attributes: dict[str, tuple[tuple[str, Attribute], ...]] = {}
    values: dict[str, tuple[tuple[str, str], ...]] = {}
    orders: dict[str, tuple[str, bool]] = {}
    for kind in ontology.types:
        for noun in kind.nouns:
            for form, many in ((noun.lower(), False), (plural(noun.lower()), True)):
                nouns[form] = (nouns.get(form, (frozenset(), many))[0] | {kind.name}, many)
        for verb in kind.verbs:
            for form in _forms(verb.lower()):
                verbs[form] = verbs.get(form, frozenset()) | {kind.name}
        for attribute in kind.attributes:
            called = (attribute.name.lower(), *(noun.lower() for noun in attribute.nouns))
            for noun in (noun for noun in called if noun not in PREPOSITIONS):
                for form in (noun, plural(noun)):
                    attributes[form] = (*attributes.get(form, ()), (kind.name, attribute))
            for said, value in attribute.words.items():
                values[said.lower()] = (*values.get(said.lower(), ()), (kind.name, value.lower()))
            orders |= {word.lower(): (attribute.name, True) for word in attribute.more}
            orders |= {word.lower(): (attribute.name, False) for word in attribute.less}
    begins = frozenset(noun.split()[0] for noun in nouns if " " in noun)
    return Lexicon(types_of(ontology), nouns, begins, verbs, attributes, values, orders)


def _forms(verb: str) -> tuple[str, ...]:
    head, _, rest = verb.partition(" ")
    stem = head.removesuffix("e")
    forms = (head, f"{head}s", f"{stem}ed", f"{stem}ing", f"{head}{head[-1]}ed", f"{head}{head[-1]}ing")
    return tuple(f"{form} {rest}".strip() for form in forms)


def type_of(words: Lexicon, known: Entity) -> EntityType:
    """The declared type of an entity; of one without, a person's: only people are named without a declaration."""
    return words.types.get(known.type) or EntityType(known.type, category="person")


class Scene(msgspec.Struct, frozen=True):
    """`talk` as it was before the sentence, and the sentence. `by_word` leads from a word to the entities it may mean,
    `related` from a word to the entities that are tied to one it means.
    """

    talk: Talk
    tokens: list[Token]
    text: str
    now: datetime
    speaker: str
    words: Lexicon
    entities: Mapping[str, Entity]
    called: Mapping[str, Words]
    by_word: Mapping[str, frozenset[str]]
    related: Mapping[str, frozenset[str]]
    salience: Mapping[str, int]
    order: Mapping[str, int]
    texts: list[str]  # of the tokens; with padding, so that a look beyond either end finds nothing
    just: tuple[str, ...] = ()  # what this very sentence has spoken of, the newest last

    def word(self, index: int) -> str:
        """The token at `index`, or empty beyond either end."""
        return self.texts[index]

    def kind(self, index: int) -> str:
        """The kind of the token at `index`."""
        return self.tokens[index].kind if 0 <= index < len(self.tokens) else ""

    def ends(self, index: int) -> bool:
        """Whether the clause is over before `index`."""
        return index >= len(self.tokens) or self.tokens[index].kind == "mark"

    def type(self, entity: str) -> EntityType:
        """The declared type of a known entity."""
        return type_of(self.words, self.entities[entity])

    def noun(self, index: int) -> tuple[frozenset[str], bool, int] | None:
        """The noun of a type that begins at `index`: types, plural, tokens taken."""
        word = self.texts[index]
        if word in self.words.begins and f"{word} {self.texts[index + 1]}" in self.words.nouns:
            return (*self.words.nouns[f"{word} {self.texts[index + 1]}"], 2)
        found = self.words.nouns.get(word)
        return (*found, 1) if found else None

    def means(self, index: int) -> frozenset[str]:
        """The entities that the word at `index` may describe by name or value, by themselves."""
        word = self.texts[index]
        found = self.by_word.get(word) or self.by_word.get(singular(word), _NOBODY)
        for kind, value in self.words.values.get(word, ()):
            parts = value.split()
            sets = [self.by_word.get(part, frozenset()) for part in parts]
            meant = frozenset.intersection(*sets) if sets else frozenset()
            found = found | {entity for entity in meant if self.entities[entity].type == kind}
        return found


def scene(talk: Talk, tokens: list[Token], text: str, now: datetime, speaker: str, message: int) -> Scene:
    """The sentence beside `talk`, which is message number `message`."""
    entities = {entity.id: entity for entity in talk.entities}
    spoken = {token.text for token in tokens}
    spoken |= {singular(word) for word in spoken}
    spoken |= _translated(talk.ontology, spoken)
    by_word: dict[str, set[str]] = {}
    words = lexicon(talk.ontology)
    called = {entity.id: words_for(entity, type_of(words, entity)) for entity in talk.entities}
    for entity, known in called.items():
        for word in known.every:
            if word in spoken:
                by_word.setdefault(word, set()).add(entity)
    frozen = {word: frozenset(ids) for word, ids in by_word.items()}
    return Scene(
        talk, tokens, text, now, speaker, words, entities, called, frozen,
        _related(talk, words, frozen), _salience(talk, entities, message),
        {entity: index for index, entity in enumerate(entities)},
        [*(token.text for token in tokens), *PADDING],
    )  # fmt: skip


def _translated(ontology: Ontology, spoken: set[str]) -> set[str]:
    values = lexicon(ontology).values
    return {part for word in spoken if word in values for _, value in values[word] for part in value.split()}


def _related(talk: Talk, words: Lexicon, by_word: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """From a word to the entities one of whose attributes is an entity that the word means."""
    ties: dict[str, set[str]] = {}
    if by_word:
        for entity in talk.entities:
            for attribute in words.types[entity.type].attributes if entity.type in words.types else ():
                if attribute.kind == "entity":
                    ties.setdefault(str(entity.attributes.get(attribute.name)), set()).add(entity.id)
    return {
        word: frozenset(tied for meant in ids for tied in ties.get(meant, ()))
        for word, ids in by_word.items()
        if any(meant in ties for meant in ids)
    }


def _salience(talk: Talk, entities: Mapping[str, Entity], message: int) -> dict[str, int]:
    """How much each entity is on the table: the best of its mentions, fading with messages."""
    found: dict[str, int] = {}
    for mention in talk.mentions:
        if mention.entity in entities:
            value = (ALONE if mention.alone else LISTED) * mention.weight - FADES * (message - mention.message)
            found[mention.entity] = max(value, found.get(mention.entity, 1))
    for group in talk.groups:
        if not group.said:
            value = max((ONLY_SHOWN if len(group.entities) == 1 else SHOWN) - 2 * (message - group.message), 1)
            for entity in group.entities:
                if entity in entities:
                    found[entity] = max(value, found.get(entity, 0))
    return found


def focus(scene: Scene, types: frozenset[str] | None = None) -> str:
    """The entity that stands out most, of `types` if given: the one spoken of alone, last. Empty when none does."""
    for near in reversed(scene.just):
        if not types or scene.entities[near].type in types:
            return near
    best, value = "", LISTED - FADES
    for mention in reversed(scene.talk.mentions):
        entity = scene.entities.get(mention.entity)
        if entity is None or not mention.alone or (types and entity.type not in types):
            continue
        if scene.salience[mention.entity] > value:
            best, value = mention.entity, scene.salience[mention.entity]
    return best


def groups(scene: Scene, types: frozenset[str] | None = None, least: int = 2) -> list[Group]:
    """The lists on the table, the newest first: what was said before what was only shown, of the same turn."""
    found = [
        group for group in scene.talk.groups if len(group.entities) >= least and (types is None or group.type in types)
    ]
    newest = sorted(found, key=lambda group: (group.message, group.said), reverse=True)
    kept: dict[frozenset[str], Group] = {}
    for group in newest:
        kept.setdefault(frozenset(group.entities), group)
    return list(kept.values())


__all__ = ["Lexicon", "Mention", "Scene", "focus", "groups", "lexicon", "scene"]
