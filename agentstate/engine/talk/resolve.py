"""The resolver: the phrases of an English sentence that refer, and what each means.

It knows four kinds and leaves everything else unresolved:

- a definite or demonstrative noun: "my savings account", "that transfer", "the mortgage";
- a place in a list that was said: "the second one";
- "it", where one thing was spoken of last and a declared verb or noun fits;
- a code, or a label of several words, in full.

Every word of a phrase must fit what it means. A word that does not, before the noun or after it, leaves the phrase
unresolved.

Deterministic and pure. A text of any length is read up to `tokens.MOST_CHARACTERS`, in linear time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agentstate.engine.talk.sentence import Sentence, sentence
from agentstate.engine.talk.words import (
    ARTICLES,
    BEFORE_CODES,
    DETERMINERS,
    DIRECTIONS,
    NEGATIONS,
    ORDINALS,
    POINTING,
    PREPOSITIONS,
    STOP,
)
from agentstate.engine.understanding.held import MOST_REFERENCES, Found, Resolution, Talk

MOST_TOLD = 16  # references that are followed in a message of the agent, which may be a long list
MAX_MODIFIERS = 4  # words between determiner and noun
MAX_NAME = 4  # words of a name
_FOUND: tuple[Found, Found, Found] = ("none", "entity", "ambiguous")  # by how many fit
RECENT = 4  # messages that "it" goes back


class Phrase(NamedTuple):
    """Tokens up to `last` - 1. `ids` is what is meant, or the candidates; none: it is not understood."""

    last: int
    ids: tuple[str, ...]
    why: tuple[str, ...]


class Reading(NamedTuple):
    """The references of one sentence, and what each that was resolved means, in order."""

    references: tuple[Resolution, ...]
    mentioned: tuple[tuple[str, ...], ...]


def resolve(talk: Talk, text: str) -> tuple[Resolution, ...]:
    """The references of `text`, as said by the customer after `talk`."""
    return read(talk, text).references


def read(talk: Talk, text: str, speaker: str = "customer") -> Reading:
    """`text` read beside `talk`, as said by `speaker`."""
    said = sentence(talk, speaker, text)
    found, at = list[Resolution](), 0
    most = MOST_REFERENCES if speaker == "customer" else MOST_TOLD
    while at < len(said.tokens) and len(found) < most:
        phrase = _ordinal(said, at) or _definite(said, at) or _it(said, at) or _label(said, at)
        if phrase is not None:
            found.append(_reference(said, at, phrase))
            said.said += phrase.ids if len(phrase.ids) == 1 else ()
        at = phrase.last if phrase is not None else at + 1
    resolved = tuple(each.entities for each in found if each.found == "entity")
    return Reading(tuple(found), resolved)


def _reference(said: Sentence, first: int, phrase: Phrase) -> Resolution:
    start, end = said.tokens[first].start, said.tokens[phrase.last - 1].end
    before = first - 2 if said.word(first - 1) in PREPOSITIONS - NEGATIONS else first - 1
    negated = said.word(before) in NEGATIONS
    found = _FOUND[min(len(phrase.ids), 2)]
    return Resolution(said.text[start:end], start, end, found, phrase.ids, phrase.why, negated)


def _definite(said: Sentence, at: int) -> Phrase | None:
    """`my savings account`, `that transfer`, `the account ending in 2207`, `the vacation one`, `my savings`."""
    if said.word(at) not in DETERMINERS[said.speaker]:
        return None
    modifiers, place = list[str](), at + 1
    while len(modifiers) <= MAX_MODIFIERS:
        noun = said.noun(place)
        if noun is not None:
            return _with_noun(said, at, modifiers, noun[0], place + noun[1])
        if said.word(place) == "one" and modifiers:
            return _with_noun(said, at, modifiers, frozenset(said.lexicon.types), place + 1)
        if not said.is_word(place) or said.word(place) in STOP:
            break
        modifiers.append(said.word(place))
        place += 1
    return _with_name(said, at)


def _with_noun(said: Sentence, at: int, modifiers: list[str], types: frozenset[str], last: int) -> Phrase | None:
    """A phrase whose noun is of `types` and ends before `last`: all its words must fit."""
    ids = [
        entity
        for entity, known in said.entities.items()
        if known.type in types and all(said.fits(entity, word) for word in modifiers)
    ]
    ids, end = _by_code(said, ids, last)
    if said.word(at) in ARTICLES and not modifiers and end == last:
        return None  # any such thing
    if not _is_over(said, end, types):
        return Phrase(end, (), ("more follows",))
    why = ("noun", *(("description",) if modifiers else ()), *(("code",) if end > last else ()))
    if said.word(last - 1) == "one":
        return Phrase(end, tuple(ids), why)
    return Phrase(end, _chosen(said, ids, pointing=said.word(at) in POINTING), why)


def _by_code(said: Sentence, ids: list[str], at: int) -> tuple[list[str], int]:
    """The candidates whose code stands at `at` ("the account ending in 2207"), and where the phrase ends."""
    place = at
    while said.word(place) in BEFORE_CODES and place < at + 3:
        place += 1
    code = said.word(place)
    if not said.is_word(place) or not any(character.isdecimal() for character in code):
        return ids, at
    ending = place > at
    return [e for e in ids if any(c == code or (ending and c.endswith(code)) for c in said.words[e].codes)], place + 1


def _is_over(said: Sentence, at: int, types: Iterable[str]) -> bool:
    """Whether nothing that follows can belong to the phrase: `to my checking account` goes on with another one."""
    if said.closes(at):
        return True
    if said.word(at) not in DIRECTIONS:
        return False
    place = at + 1 + (said.word(at + 1) in DETERMINERS[said.speaker])
    for step in range(MAX_MODIFIERS):
        noun = said.noun(place + step)
        if noun is not None:
            return bool(noun[0] & set(types))
        if said.word(place + step) in STOP or not said.is_word(place + step):
            break
    ids, _ = _named(said, place)
    return any(said.entities[entity].type in types for entity in ids)


def _chosen(said: Sentence, ids: list[str], *, pointing: bool) -> tuple[str, ...]:
    """The only candidate, or the only one that was spoken of last. What only a tool returned is no rival of those."""
    newest = said.newest(ids)
    if len(newest) == 1:
        return (newest[0],)
    if pointing:
        return tuple(newest)
    spoken = {mention.entity for mention in said.talk.mentions} | set(said.said)
    return tuple(entity for entity in ids if entity in spoken) or tuple(ids)


def _with_name(said: Sentence, at: int) -> Phrase | None:
    """`my savings`, `the Mastercard`: a name that stands for a noun."""
    ids, length = _named(said, at + 1)
    last = at + 1 + length
    if not ids or not _is_over(said, last, {said.entities[entity].type for entity in ids}):
        return None
    return Phrase(last, _chosen(said, ids, pointing=said.word(at) in POINTING), ("name",))


def _named(said: Sentence, at: int) -> tuple[list[str], int]:
    """The entities one of whose names stands at `at` in full, and its length."""
    for length in range(MAX_NAME, 0, -1):
        run = [said.word(at + step) for step in range(length) if said.is_word(at + step)]
        if len(run) == length and not any(word in STOP for word in run):
            ids = [entity for entity in said.entities if _is_called(said, entity, run)]
            if ids:
                return ids, length
    return [], 0


def _is_called(said: Sentence, entity: str, run: list[str]) -> bool:
    spoken = [said.spoken(entity, word) for word in run]
    whole = set[str]().union(*spoken)
    names = (name for name in said.words[entity].names if name <= whole)
    return any(all(word & name for word in spoken) for name in names)


def _ordinal(said: Sentence, at: int) -> Phrase | None:
    """`the second`, `the first account`, `second one`: a place in the newest list that the customer was told."""
    place = at + (said.word(at) == "the")
    nth = ORDINALS.get(said.word(place))
    if nth is None or said.speaker != "customer":
        return None
    noun = said.noun(place + 1)
    if noun is not None:
        if nth < 0 and all(said.lexicon.types[kind].happened for kind in noun[0]):
            return None  # "my last transfer" is the last in time
        last, types = place + 1 + noun[1], noun[0]
    else:
        last, types = place + 1 + (said.word(place + 1) == "one"), frozenset(said.lexicon.types)
    if noun is None and last == place + 1 and not _stands_alone(said, at, place):
        return None
    if place == at and not said.begins(at):
        return None
    if not _is_over(said, last, types if noun is not None else ()):
        return None
    return Phrase(last, _in_list(said, types, nth), ("place in the list",))


def _stands_alone(said: Sentence, at: int, place: int) -> bool:
    """Whether an ordinal without a noun is no date and no order of speaking."""
    return place > at and said.word(at - 1) not in PREPOSITIONS and not said.word(place)[0].isdecimal()


def _in_list(said: Sentence, types: frozenset[str], nth: int) -> tuple[str, ...]:
    lists = [group for group in said.talk.groups if group.by != "customer" and group.type in types]
    newest = [group for group in lists if group.message == lists[-1].message]
    if len(newest) != 1 or abs(nth) > len(newest[0].entities):
        return ()
    entity = newest[0].entities[nth - 1 if nth > 0 else nth]
    return (entity,) if entity in said.entities else ()


def _it(said: Sentence, at: int) -> Phrase | None:
    """`close it`, `its balance`, `the balance of it`: the one thing that was spoken of last."""
    if said.word(at) not in ("it", "its"):
        return None
    recent = {m.entity for m in said.talk.mentions if m.message > said.talk.messages - RECENT} | set(said.said)
    ids = said.newest(recent & said.entities.keys())
    if len(ids) != 1 or said.type(ids[0]).category == "person":
        return None
    kind, lexicon = said.entities[ids[0]].type, said.lexicon
    if said.word(at) == "its":
        fits = kind in lexicon.attributes.get(said.word(at + 1), ())
    elif said.word(at - 1) in PREPOSITIONS:
        fits = kind in lexicon.attributes.get(said.word(at - 2), ())
    else:
        fits = kind in lexicon.verbs.get(said.word(at - 1), ())
    return Phrase(at + 1, (ids[0],), ("spoken of last",)) if fits else None


def _label(said: Sentence, at: int) -> Phrase | None:
    """A code, or a label of several words, in full."""
    for length in range(MAX_NAME, 0, -1):
        ids = said.labels.get(tuple(said.word(at + step) for step in range(length)), ())
        if len(ids) == 1 and (length > 1 or _is_code(said, at)):
            return Phrase(at + length, tuple(ids), ("code" if length == 1 else "label",))
    return None


def _is_code(said: Sentence, at: int) -> bool:
    """Whether the word at `at` can be nothing but a code: a short number counts something."""
    word = said.word(at)
    return said.is_word(at) and len(word) > 2 and any(character.isdecimal() for character in word)
