"""A noun phrase as it was read: determiner, what stands before the noun, the noun or what stands for it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agentstate.engine.talk import dates, narrow
from agentstate.engine.talk.narrow import Filter, Rank
from agentstate.engine.talk.scene import Scene
from agentstate.engine.talk.words import (
    AFTER,
    BE,
    BEFORE,
    CLOSED,
    CONJUNCTIONS,
    DEFINITE,
    EXCEPT,
    FROM_END,
    HEADS,
    INDEFINITE,
    NUMBERS,
    ORDINALS,
    OTHER,
    PLAIN_SCALES,
    PLURAL,
    POINTING,
    PREPOSITIONS,
    PRONOUNS,
    QUANTITIES,
    SAME,
    listed,
)  # fmt: skip

MOST_BEFORE = 8  # words before a noun
_PARTS_OF_NAMES = listed("id ids number numbers code codes name names holder")  # "my order number" is no order
_NOUNS_OF_NOTHING = listed("time thing day way reason problem question moment second minute")


class Phrase(msgspec.Struct, frozen=True):
    """Tokens `first` to `last` - 1. `head` is noun, one, or empty. `nth` counts from 1, from the end when negative."""

    first: int
    last: int
    det: str = ""
    quantity: str = ""
    types: frozenset[str] | None = None
    head: str = ""
    many: bool = False
    means: tuple[frozenset[str], ...] = ()
    unknown: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    rank: Rank | None = None
    nth: int = 0
    ordinal: str = ""
    count: int = 0
    step: int = 0  # -1: the one before, 1: the one after
    other: bool = False
    same: bool = False
    owner: frozenset[str] = frozenset()

    @property
    def indefinite(self) -> bool:
        """Whether it speaks of any such thing, not of one that is known."""
        return self.det in INDEFINITE

    @property
    def marked(self) -> bool:
        """Whether something but determiner and noun says which is meant."""
        return bool(self.means or self.filters or self.rank or self.nth or self.step or self.other or self.same)


def noun_phrase(scene: Scene, first: int) -> Phrase | None:
    """The noun phrase that begins at `first`, if what begins there is one that may refer."""
    phrase = _determined(scene, Phrase(first, first))
    for _ in range(MOST_BEFORE):
        headed = _head(scene, phrase)
        if headed is not None:
            return headed if _may_stand(scene, headed) else None
        longer = _before(scene, phrase)
        if longer is None:
            break
        phrase = longer
    return phrase if _headless(scene, phrase) else None


def _determined(scene: Scene, phrase: Phrase) -> Phrase:
    word, at = scene.word(phrase.last), phrase.last
    if word in QUANTITIES and not (word == "all" and scene.word(at - 1) in BE):
        phrase = replace(phrase, quantity=word, last=at + 1)
        if scene.word(phrase.last) == "of":
            phrase = replace(phrase, last=phrase.last + 1)
        word, at = scene.word(phrase.last), phrase.last
        if word in ("those", "these") and phrase.last > phrase.first + 1 and closes(scene, at + 1):
            return replace(phrase, last=at + 1, det="them")
        if word in PLURAL and phrase.last > phrase.first + 1:
            return replace(phrase, last=at + 1, det=word)
    if word in DEFINITE | POINTING | INDEFINITE and not (word in ("more", "new") or scene.ends(at + 1)):
        return replace(phrase, det=word, last=at + 1)
    return _possessed(scene, phrase)


def _possessed(scene: Scene, phrase: Phrase) -> Phrase:
    """`Rosa's ...`, `yesterday's ...`."""
    for length in (1, 2, 3):
        if scene.word(phrase.last + length) in ("'s", "'") and scene.kind(phrase.last) == "word":
            sets = [scene.means(phrase.last + step) for step in range(length)]
            owner = frozenset.intersection(*sets)
            if owner and scene.word(phrase.last + length + 1) not in BE | INDEFINITE | PREPOSITIONS:
                return replace(phrase, det="'s", owner=owner, last=phrase.last + length + 1)
            found = dates.when(scene.tokens, phrase.last, scene.now)
            timed = narrow.read(scene, phrase.last) if found is not None and found.length == length else None
            if timed is not None:
                return replace(phrase, det="'s", filters=(timed,), last=phrase.last + length + 1)
    return phrase


def _head(scene: Scene, phrase: Phrase) -> Phrase | None:
    word, at = scene.word(phrase.last), phrase.last
    noun = scene.noun(at)
    if noun is not None and scene.word(at + noun[2]) not in _PARTS_OF_NAMES:
        types, many, length = noun
        return replace(phrase, head="noun", types=types, many=many, last=at + length)
    if word in HEADS and (phrase.last > phrase.first or phrase.quantity):
        return replace(phrase, head="one", many=HEADS[word] or phrase.count > 1, last=at + 1)
    return None


def _before(scene: Scene, phrase: Phrase) -> Phrase | None:
    """`phrase` with the next word before its noun, or None where there is none such."""
    word, at = scene.word(phrase.last), phrase.last
    following = scene.word(at + 1)
    if word in OTHER:
        many = word in ("others", "rest", "remaining") or phrase.count > 1
        return replace(phrase, other=True, many=many, last=at + 1)
    if word in SAME:
        return replace(phrase, same=True, last=at + 1)
    if word == "middle" and not scene.means(at):
        return replace(phrase, ordinal="middle", nth=1, last=at + 1)
    counted = _ordinal(scene, phrase)
    if counted is not None:
        return counted
    if word in BEFORE or word in AFTER:
        return replace(phrase, step=-1 if word in BEFORE else 1, last=at + 1)
    spelled = narrow.read(scene, at) if word in NUMBERS else None
    if spelled is not None and spelled.length > 1:
        return replace(phrase, filters=(*phrase.filters, spelled), last=at + spelled.length)
    if word in NUMBERS and (word != "one" or following in HEADS) and NUMBERS[word] > 1:
        return replace(phrase, count=NUMBERS[word], many=True, last=at + 1)
    rank = narrow.rank(scene, at)
    if rank is not None and not (scene.means(at) and rank.degree == ""):
        return replace(phrase, rank=rank, last=at + rank.length)
    filtered = narrow.read(scene, at, bare=not scene.means(at))
    if filtered is not None:
        return replace(phrase, filters=(*phrase.filters, filtered), last=at + filtered.length)
    return _described(scene, phrase)


def _ordinal(scene: Scene, phrase: Phrase) -> Phrase | None:
    word, at = scene.word(phrase.last), phrase.last
    following = scene.word(at + 1)
    if word in ORDINALS and not _is_day(scene, at):
        if (word in ("second", "next") and following == "to" and scene.word(at + 2) == "last") or (
            word == "second" and following == "last"
        ):
            return replace(phrase, nth=-2, ordinal="last", last=at + (3 if following == "to" else 2))
        return replace(phrase, nth=ORDINALS[word], ordinal=word, last=at + 1)
    if word == "next" and following == "to" and scene.word(at + 2) == "last":
        return replace(phrase, nth=-2, ordinal="last", last=at + 3)
    if word == "last" and following == "but" and scene.word(at + 2) == "one":
        return replace(phrase, nth=-2, ordinal="last", head="one", last=at + 3)
    if word in FROM_END:
        return replace(phrase, nth=-FROM_END[word], ordinal=word, last=at + 1)
    return None


def _is_day(scene: Scene, at: int) -> bool:
    """`to the 9th`, `on the 2nd`: a day, not a place in a list."""
    before = scene.word(at - 2) if scene.word(at - 1) == "the" else scene.word(at - 1)
    return scene.word(at)[0].isdecimal() and before in (
        "on",
        "to",
        "from",
        "by",
        "until",
        "of",
        "since",
        "before",
        "after",
    )


def _described(scene: Scene, phrase: Phrase) -> Phrase | None:
    word, at = scene.word(phrase.last), phrase.last
    meant = scene.means(at) | (scene.related.get(word, frozenset()) if phrase.det or phrase.quantity else frozenset())
    if meant:
        return replace(phrase, means=(*phrase.means, meant), last=at + 1)
    rank = PLAIN_SCALES.get(word)
    if rank is not None and _noun_soon(scene, at + 1):
        return replace(phrase, rank=Rank(rank[0], rank[1], "", 1), last=at + 1)
    if scene.kind(at) in ("word", "number") and word not in CLOSED and _noun_soon(scene, at + 1):
        return replace(phrase, unknown=(*phrase.unknown, word), last=at + 1)
    return None


def _noun_soon(scene: Scene, at: int) -> bool:
    """Whether a noun, or "one", stands within two words: then what is before it belongs to it."""
    for step in (0, 1):
        if scene.noun(at + step) is not None or scene.word(at + step) in HEADS:
            return True
        if scene.word(at + step) in CLOSED or scene.ends(at + step):
            return False
    return False


def _may_stand(scene: Scene, phrase: Phrase) -> bool:
    """Whether a phrase with a head refers: bare nouns are often verbs, or speak of any such thing."""
    if phrase.head == "one" and scene.word(phrase.last) in _NOUNS_OF_NOTHING:
        return False  # "that one time"
    if phrase.det or phrase.quantity:
        return True
    if phrase.head == "one":
        return phrase.marked or bool(phrase.unknown)
    if phrase.many:
        return bool(phrase.filters or phrase.means or phrase.rank) or _region_filters(scene, phrase)
    return bool(phrase.means or phrase.rank or phrase.nth or phrase.step or phrase.other or phrase.filters)


def _region_filters(scene: Scene, phrase: Phrase) -> bool:
    return scene.word(phrase.last) in PREPOSITIONS


def _headless(scene: Scene, phrase: Phrase) -> bool:
    """Whether a phrase without a noun refers: "the second", "both", "my savings", "the cheapest", "the other two"."""
    if phrase.last == phrase.first or phrase.unknown:
        return False
    if phrase.det in INDEFINITE and not (scene.speaker != "customer" and phrase.means):
        return False  # an agent that tells of "a savings and a checking account" speaks of those that are known
    if phrase.quantity and not phrase.det and not phrase.marked:
        return _quantity_stands(scene, phrase)
    if phrase.quantity and phrase.det in PLURAL:
        return True
    if not phrase.marked and not (phrase.count and phrase.det):
        return False
    if phrase.rank is not None and ((phrase.rank.attribute and phrase.rank.length == 2) or phrase.rank.degree == ""):
        return False  # "the higher rate" is a rate
    if not phrase.det and not phrase.quantity and not _bare_stands(scene, phrase):
        return False
    timed = all(filtered.why == "time" for filtered in phrase.filters)
    owned = phrase.det == "'s" and scene.ends(phrase.last)  # "yesterday's"
    if phrase.filters and timed and not (phrase.means or phrase.rank or phrase.nth or phrase.quantity or owned):
        return False  # "the 12th", "this week": a time, not a thing
    if (phrase.det == "that" or not phrase.det) and phrase.same:
        return False
    if phrase.rank is not None and scene.word(phrase.last - 1) in ("most", "least", "max", "maximum", "min", "minimum"):
        return False
    return closes(scene, phrase.last)


def closes(scene: Scene, at: int) -> bool:
    """Whether a phrase may be over before the token at `at`: no noun of its own can begin there."""
    word = scene.word(at)
    if scene.ends(at) or word in CLOSED or word in EXCEPT or scene.kind(at) in ("number", "money", "clitic"):
        return True
    return word.endswith(("ed", "ly"))


def _quantity_stands(scene: Scene, phrase: Phrase) -> bool:
    """`both`, `all three`, `neither`, `everything over 400`."""
    word, before = phrase.quantity, scene.word(phrase.first - 1)
    if before in PRONOUNS and word in ("both", "all", "each"):
        return False  # "they both": the pronoun speaks for it
    if word == "all":
        excepted = scene.word(phrase.last) in EXCEPT or scene.word(phrase.last) == "but"
        return phrase.count > 0 or scene.word(phrase.last - 1) == "of" or excepted
    if word in ("every", "each", "none", "everyone"):
        return False
    if word == "everything":  # "everything over 400"; not "everything looks good"
        return scene.word(phrase.last) in PREPOSITIONS | EXCEPT | {"but", "else", "that"} or bool(phrase.filters)
    return closes(scene, phrase.last) and not (word in ("either", "neither", "both") and _goes_on(scene, phrase))


def _goes_on(scene: Scene, phrase: Phrase) -> bool:
    """`I can't either`; `both you and I`."""
    if phrase.quantity == "either" and (scene.word(phrase.first - 1) in ("'t", "not") or scene.ends(phrase.last)):
        return not scene.ends(phrase.first - 1) and scene.word(phrase.first - 1) != "for"
    return scene.word(phrase.last) in PRONOUNS


def _bare_stands(scene: Scene, phrase: Phrase) -> bool:
    """Without any determiner: "second one", "cheapest, please", "from savings", "and checking?"."""
    before = scene.word(phrase.first - 1)
    starts = phrase.first == 0 or scene.kind(phrase.first - 1) == "mark"
    if phrase.nth or phrase.rank or phrase.other or phrase.step:
        if (phrase.rank is not None and phrase.rank.degree != "est") or (phrase.nth and _counts_points(scene, phrase)):
            return False
        return (starts or before in CONJUNCTIONS) and (scene.ends(phrase.last) or closes(scene, phrase.last))
    if not phrase.means or phrase.filters:
        return False
    return starts or before in PREPOSITIONS | CONJUNCTIONS or before in ("'s", "is", "not", "use", "no", "yes")


def _counts_points(scene: Scene, phrase: Phrase) -> bool:
    """`first, I want to complain`, `first of all`: an ordinal that orders what is said."""
    return scene.word(phrase.last) == "of" or (
        scene.kind(phrase.last) == "mark" and phrase.last + 2 < len(scene.tokens)
    )
