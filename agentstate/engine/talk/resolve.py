"""The resolver: every phrase of an English sentence that refers, and what it means, with a confidence and the reasons.

Deterministic and pure: the sentence, what the talk holds, and the instant that is now are all it goes by. What is known
of a domain comes from the ontology in the talk. A text of any length is read up to `tokens.MOST_CHARACTERS`, in linear
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from agentstate.engine.talk import idioms, names, pronouns
from agentstate.engine.talk.choose import Choice, choose, one_of
from agentstate.engine.talk.dates import WEEKDAYS
from agentstate.engine.talk.narrow import number
from agentstate.engine.talk.past import last_time
from agentstate.engine.talk.phrase import Phrase, closes, noun_phrase
from agentstate.engine.talk.region import tied
from agentstate.engine.talk.scene import ALONE, Scene, focus, groups, scene, type_of
from agentstate.engine.talk.tokens import Token, tokens
from agentstate.engine.talk.vocabulary import words_for
from agentstate.engine.talk.words import (
    AFTER,
    BEFORE,
    DEFINITE,
    EXCEPT,
    FEMALE,
    FROM_END,
    GRADED,
    HEADS,
    INDEFINITE,
    MALE,
    NUMBERS,
    ORDINALS,
    OTHER,
    PLAIN_SCALES,
    PLURAL,
    POINTING,
    POSSESSIVE,
    QUANTITIES,
    SAME,
    THING,
    listed,
)  # fmt: skip
from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.held import MOST_REFERENCES, Resolution, Talk

MOST_TOLD = 16  # references that are followed in a message of the agent, which may be a long list
THRESHOLD = 60  # percent: below it an answer is not given, but asked for
_POINTERS = frozenset({"that", "this"})
_BEGINS = frozenset(
    DEFINITE
    | POINTING
    | INDEFINITE
    | QUANTITIES
    | OTHER
    | SAME
    | BEFORE
    | AFTER
    | THING
    | FEMALE
    | MALE
    | PLURAL
    | set(ORDINALS)
    | set(FROM_END)
    | set(GRADED)
    | set(HEADS)
    | set(NUMBERS)
    | set(PLAIN_SCALES)
    | {"there", "option", "number", "choice", "as", "like"}
    | set(WEEKDAYS)
    | {"yesterday", "today", "tomorrow"}
)
_POLITE = listed("please thanks thank you then option number choice no nr")


@dataclass(frozen=True)
class Reading:
    """What was read of one sentence: its references, the entities it names for the first time."""

    references: tuple[Resolution, ...]
    new: tuple[Entity, ...]
    spoken_of: tuple[tuple[str, ...], ...]  # what each reference means, and what is named within one, in order


@dataclass
class _Pass:
    """One pass over a sentence. Local to `read`."""

    scene: Scene
    found: list[Resolution] = field(default_factory=list)
    new: list[Entity] = field(default_factory=list)
    spoken_of: list[tuple[str, ...]] = field(default_factory=list)


def resolve(talk: Talk, text: str, now: datetime, history: Sequence[Entity] = ()) -> tuple[Resolution, ...]:
    """The references of `text`, said by the customer at `now`. `history` are entities of earlier sessions."""
    known = {entity.id for entity in talk.entities}
    past = tuple(entity for entity in history if entity.id not in known)
    return read(replace(talk, entities=(*past, *talk.entities)), text, now).references


def read(talk: Talk, text: str, now: datetime, speaker: str = "customer") -> Reading:
    """`text` read beside `talk`, as spoken in the turn after its newest."""
    cut = tokens(text)
    run = _Pass(scene(talk, cut, text, now, speaker, talk.messages + 1))
    at = 0
    most = MOST_REFERENCES if speaker == "customer" else MOST_TOLD
    while at < len(cut) and len(run.found) < most:
        at = max(_step(run, at), at + 1) if _may_begin(run.scene, at) else at + 1
    return Reading(tuple(run.found), tuple(run.new), tuple(run.spoken_of))


def _may_begin(here: Scene, at: int) -> bool:
    """Whether any phrase can begin at `at`: most words of a sentence begin none."""
    token = here.tokens[at]
    if token.kind == "word":
        word = token.text
        known = word in _BEGINS or word in here.by_word or word in here.words.nouns or word in here.words.begins
        return known or word in here.words.values or word in here.words.orders or _coded(word) or bool(here.means(at))
    return token.kind in ("number", "money", "clock", "iso", "slash")


def _coded(word: str) -> bool:
    return word[0] == "#" or (not word.isalpha() and any(character.isdecimal() for character in word))


def _step(run: _Pass, at: int) -> int:
    """Read what begins at `at`; the token to go on with."""
    for reader in _READERS if run.scene.speaker == "customer" else _READERS[2:]:
        last = reader(run, at)
        if last:
            return last
    return at + 1


def _add(run: _Pass, first: int, choice: Choice) -> int:
    """Record what the phrase from `first` on means. Nothing that is known: recorded as none only when asked about."""
    at = run.scene
    last = max(choice.last, first + 1)
    start, end = at.tokens[first].start, at.tokens[min(last, len(at.tokens)) - 1].end
    negated = at.word(first - 1) in ("not", "'t") or at.word(first - 2) == "not"
    base = Resolution(at.text[start:end], start, end, "none", why=choice.why, negated=negated)
    if not choice.ids:
        run.found.append(base)
    elif choice.sure and choice.confidence >= THRESHOLD:
        run.found.append(replace(base, found="entity", entities=choice.ids, confidence=choice.confidence))
        run.spoken_of.append(choice.ids)
        if len(choice.ids) == 1:
            run.scene = _touched(at, choice.ids[0])
    else:
        run.found.append(replace(base, found="ambiguous", entities=choice.ids, confidence=choice.confidence))
    return last


def _touched(here: Scene, entity: str) -> Scene:
    """The scene after this very sentence spoke of `entity`: what follows may go back to it."""
    return replace(here, just=(*here.just, entity), salience={**here.salience, entity: ALONE + 4})


def _lone_number(run: _Pass, at: int) -> int:
    """`option 2`, `number three`, or an answer that is nothing but a number: a place in the newest list."""
    here = run.scene
    introduced = here.word(at) in ("option", "number", "choice")
    noun = here.noun(at)
    skip = 1 if introduced else noun[2] if noun is not None and not noun[1] else 0
    alone = not introduced and noun is None and all(_listed(token) for token in here.tokens)
    value = number(here.word(at + skip)) if skip or alone else None
    whole = value is not None and 1 <= value <= 10 and value == int(value)
    if value is None or not whole or not (skip == 0 or _over(here, at + skip + 1)):
        return 0
    lists = groups(here, noun[0] if noun is not None and not introduced else None)
    lists = [group for group in lists if group.by != "customer"] or lists
    if not lists or int(value) > len(lists[0].entities) or here.by_word.get(here.word(at + skip)):
        return 0
    chosen = lists[0].entities[int(value) - 1]
    return _add(run, at, Choice((chosen,), True, 90, ("position in the list",), at + skip + 1))


def _listed(token: Token) -> bool:
    """Whether a token may stand in an answer that is nothing but numbers: "1 and 3, please"."""
    return token.kind in ("mark", "number") or token.text in _POLITE or token.text in NUMBERS or token.text == "and"


def _over(here: Scene, at: int) -> bool:
    """Whether nothing but politeness follows in the clause."""
    while here.word(at) in _POLITE:
        at += 1
    return here.ends(at)


def _last_time(run: _Pass, at: int) -> int:
    choice = last_time(run.scene, at)
    return _add(run, at, choice) if choice is not None else 0


def _newcomer(run: _Pass, at: int) -> int:
    """Somebody or something that is named for the first time: `my sister`, `order #W1999`."""
    here = run.scene
    person = names.kin(here, at)
    if person is not None and not here.means(at + 1):
        if person.id not in here.entities:
            run.new.append(person)
            run.scene = _with(here, person)
        return _add(run, at, Choice((person.id,), True, 90, ("named",), at + 2))
    noun = here.noun(at)
    start = at + noun[2] if noun is not None else at
    if start >= len(here.tokens) or names.name(here, start) is not None:
        return 0
    coded = names.shaped(here, start)
    if coded is None:
        return 0
    if coded.id not in here.entities:
        run.new.append(coded)
        run.scene = _with(here, coded)
    return _add(run, at, Choice((coded.id,), True, 85, ("named by its code",), start + 1))


def _with(here: Scene, known: Entity) -> Scene:
    entities = {**here.entities, known.id: known}
    called = {**here.called, known.id: words_for(known, type_of(here.words, known))}
    return replace(here, entities=entities, called=called, order={**here.order, known.id: len(here.order)})


def _pronoun(run: _Pass, at: int) -> int:
    here, word = run.scene, run.scene.word(at)
    if word in THING:
        return at + 1 if word == "it" and idioms.empty_it(here, at) else _add(run, at, pronouns.thing(here, at, at + 1))
    if word in FEMALE | MALE:
        choice = pronouns.person(here, "female" if word in FEMALE else "male", at + 1)
        owned = _owned(run, at, frozenset(choice.ids)) if choice.sure and word in POSSESSIVE else 0
        return owned or _add(run, at, choice)
    if word in PLURAL:
        if word == "their" or here.noun(at + 1) is None:
            return _add(run, at, pronouns.several(here, at, at + 1))
        return 0
    if word == "there":
        return at + 1 if idioms.empty_there(here, at) else _add(run, at, pronouns.place(here, at + 1))
    if word in _POINTERS and noun_phrase(here, at) is None:
        return at + 1 if idioms.empty_that(here, at) else _add(run, at, pronouns.thing(here, at, at + 1))
    if word in ("those", "these") and noun_phrase(here, at) is None and not _points_on(here, at):
        return _add(run, at, pronouns.several(here, at, at + 1))
    return 0


def _points_on(here: Scene, at: int) -> bool:
    """`those people`, `these days`: a noun of its own follows."""
    return not closes(here, at + 1) or here.word(at + 1) in ("who", "that")


def _owned(run: _Pass, at: int, owner: frozenset[str]) -> int:
    """`her suitcase`: the person, and what is theirs."""
    phrase = noun_phrase(run.scene, at)
    if phrase is None or phrase.head != "noun":
        return 0
    _add(run, at, Choice(tuple(owner), True, 80, ("person",), at + 1) if owner else Choice((), True, 0, (), at + 1))
    choice = choose(run.scene, replace(phrase, owner=owner))
    return _add(run, at, choice) if choice.ids else at + 1


def _phrase(run: _Pass, at: int) -> int:
    here = run.scene
    phrase = noun_phrase(here, at)
    if phrase is None:
        return 0
    if phrase.quantity and phrase.det in PLURAL:
        return _add(run, at, pronouns.several(here, phrase.last - 1, phrase.last))
    if phrase.indefinite and not (here.speaker != "customer" and phrase.means):
        return _passed_over(here, phrase)
    choice = choose(here, phrase)
    if phrase.same and phrase.types is None and not phrase.marked:
        choice = one_of(here, list(choice.ids), choice.last, choice.why, narrowed=False)
    choice = _without(here, choice, phrase)
    if not choice.ids and not phrase.det:
        return choice.last
    if here.word(at - 1) == "of" and here.word(at - 2) in ("one", "any", "some") and len(choice.ids) > 1:
        choice = replace(choice, sure=False, confidence=0)  # "one of the two flights"
    last = _add(run, at, choice)
    run.spoken_of += _within(here, phrase, last)
    return last


def _within(here: Scene, phrase: Phrase, last: int) -> list[tuple[str, ...]]:
    """What is named inside a phrase about something else: "the transfer to Rosa" has spoken of Rosa too."""
    named = (names.name(here, at) for at in range(phrase.last, last))
    return [found.ids for found in named if found is not None and len(found.ids) == 1]


def _passed_over(here: Scene, phrase: Phrase) -> int:
    """An indefinite phrase speaks of any such thing; what describes it is no reference either."""
    return phrase.last


def _without(here: Scene, choice: Choice, phrase: Phrase) -> Choice:
    """`all except the joint account`."""
    at = choice.last
    if here.word(at) == "but" and phrase.quantity not in ("all", "everything"):
        return choice
    pair = f"{here.word(at)} {here.word(at + 1)}"
    skip = 1 if here.word(at) in EXCEPT or here.word(at) == "but" else 2 if pair in ("apart from", "other than") else 0
    if not skip or not (phrase.quantity or phrase.many):
        return choice
    skip += 1 if here.word(at + skip) in ("for", "from") else 0
    inner = noun_phrase(here, at + skip)
    named = names.name(here, at + skip)
    left_out = choose(here, inner) if inner is not None else None
    ids = left_out.ids if left_out is not None else named.ids if named is not None else ()
    last = left_out.last if left_out is not None else at + skip + (named.length if named is not None else 0)
    kept = tuple(entity for entity in choice.ids if entity not in ids)
    return replace(choice, ids=kept, last=last, why=(*choice.why, "with an exception")) if ids else choice


def _name(run: _Pass, at: int) -> int:
    here = run.scene
    named = names.name(here, at)
    if named is None or not names.stands(here, at, named):
        return 0
    ids, last = list(named.ids), at + named.length
    following = names.name(here, last) if last < len(here.tokens) else None
    if following is not None and set(following.ids) & set(ids):  # "savings 2207"
        ids, last = [entity for entity in ids if entity in following.ids], last + following.length
    choice = one_of(here, ids, last, ("name",), narrowed=True)
    if here.word(last) == "'s" and here.ends(last + 1) and (belonging := _belonging(here, frozenset(ids))):
        choice = one_of(here, belonging, last + 1, ("whose it is",), narrowed=True)
    return _add(run, at, replace(choice, confidence=97 if choice.sure and named.strong else choice.confidence))


def _belonging(here: Scene, owner: frozenset[str]) -> list[str]:
    """`and Rosa's?`: what is tied to her, of the type that is spoken of."""
    near = focus(here)
    types = {here.entities[near].type} if near else {group.type for group in groups(here)[:1]}
    return [e for e, known in here.entities.items() if known.type in types and tied(here, e, owner)]


# In this order: what the customer may say in answer to a list comes first.
_READERS = (_lone_number, _last_time, _newcomer, _pronoun, _phrase, _name)
