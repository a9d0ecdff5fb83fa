"""What stands after a noun and narrows it: "from Tuesday", "to Rosa", "with the highest balance", "that expires first".

Each piece is taken only if it leaves a candidate: a sentence goes on after its noun, and most of it is not about it.
"""

from __future__ import annotations

import msgspec

from agentstate.engine.talk import narrow
from agentstate.engine.talk.narrow import Rank
from agentstate.engine.talk.phrase import Phrase
from agentstate.engine.talk.scene import Scene, focus
from agentstate.engine.talk.words import BE, DEFINITE, INDEFINITE, MODAL, NUMBERS, PLURAL, POINTING, STOP, listed

LONGEST = 12  # tokens after a noun that may belong to it
_BREAKS = listed("and or but because if when while although though unless then except besides excluding")
_GOALS = frozenset(["to", "into", "onto", "towards", "against"])
_EXTREME = {"first": False, "earliest": False, "soonest": False, "last": True, "latest": True}


class Narrowed(msgspec.Struct, frozen=True):
    """The candidates that are left, up to which token the phrase goes, an order that was asked for, and the reasons."""

    ids: list[str]
    last: int
    rank: Rank | None = None
    step: int = 0
    anchor: str = ""  # the step is from this one; empty: from what is spoken of
    middle: bool = False
    why: tuple[str, ...] = ()


def narrowed(scene: Scene, phrase: Phrase, ids: list[str]) -> Narrowed:
    """`ids` narrowed by what follows `phrase`."""
    at = _of_these(scene, phrase.last) if phrase.head != "noun" else phrase.last
    found = Narrowed(ids, at)
    while at < min(len(scene.tokens), phrase.last + LONGEST) and found.rank is None and not found.step:
        word = scene.word(at)
        if scene.ends(at) or word in _BREAKS or _own_phrase(scene, phrase, at, found.ids):
            break
        taken = _piece(scene, phrase, at, found)
        at = taken.last if taken is not None else at + 1
        found = taken or found
    return found


def _of_these(scene: Scene, at: int) -> int:
    """`the cheaper of the two`, `the last of them`: where that ends."""
    if scene.word(at) != "of":
        return at
    end = at + 1 + (scene.word(at + 1) in ("the", "these", "those", "all"))
    if scene.word(end) in NUMBERS or scene.word(end) in PLURAL or scene.word(end) in ("lot", "bunch", "list"):
        return end + 1
    return end if scene.word(end - 1) in ("these", "those", "all") else at


def _own_phrase(scene: Scene, phrase: Phrase, at: int, ids: list[str]) -> bool:
    """Whether a phrase about another thing of the same type begins at `at`: `from that account to my savings`."""
    before = scene.word(at - 1)
    if scene.word(at) in DEFINITE | POINTING and scene.noun(at + 1) is not None and at > phrase.last + 1:
        return True
    determined = before in DEFINITE | POINTING | INDEFINITE
    aimed = before in _GOALS or (before in ("from", "of", "off") and phrase.head != "one")
    if not (determined or aimed) or scene.word(at) in scene.related:
        return False
    types = {scene.entities[entity].type for entity in ids}
    if (len(ids) == 1 and ids[0] in scene.means(at)) or (ids and all(scene.type(e).happened for e in ids)):
        return False  # what took place is described so: nothing is moved from one payment to another
    word = scene.word(at)
    return any(scene.entities[each].type in types and word in scene.called[each].core for each in scene.means(at))


def _piece(scene: Scene, phrase: Phrase, at: int, found: Narrowed) -> Narrowed | None:
    word = scene.word(at)
    if word in ("before", "after") and scene.word(at + 1) in ("that", "it", "this", "those"):
        return Narrowed(found.ids, at + 2, step=-1 if word == "before" else 1, why=found.why)
    if word in ("before", "after") and (anchored := _anchored(scene, at, found)) is not None:
        return anchored
    if word == "middle" and not scene.means(at):
        return Narrowed(found.ids, at + 1, middle=True, why=(*found.why, "position in the list"))
    if word in ("ending", "ends", "end") and (ended := _ending(scene, at, found)) is not None:
        return ended
    return _filtered(scene, at, found) or _ranked(scene, at, found) or _described(scene, phrase, at, found)


def _anchored(scene: Scene, at: int, found: Narrowed) -> Narrowed | None:
    """`the one after`, `the transfer before the rent`: one step from what is spoken of, or from what is named."""
    step = -1 if scene.word(at) == "before" else 1
    if scene.ends(at + 1):
        return Narrowed(found.ids, at + 1, step=step, why=found.why)
    if narrow.read(scene, at) is not None or scene.word(at + 1) not in DEFINITE:
        return None
    for place in range(at + 2, min(at + 5, len(scene.tokens))):
        meant = scene.means(place) | scene.related.get(scene.word(place), frozenset())
        named = [entity for entity in found.ids if entity in meant]
        if len(named) == 1:
            return Narrowed(found.ids, place + 1, step=step, anchor=named[0], why=found.why)
    return None


def _ending(scene: Scene, at: int, found: Narrowed) -> Narrowed | None:
    """`ending in 31`: codes by their last figures."""
    place = at + 1 + (scene.word(at + 1) in ("in", "with", "on"))
    figures = scene.word(place)
    if scene.kind(place) != "number" or not figures.isdecimal():
        return None
    kept = [entity for entity in found.ids if any(code.endswith(figures) for code in _codes(scene, entity))]
    return Narrowed(kept, place + 1, found.rank, why=(*found.why, "code")) if kept else None


def _codes(scene: Scene, entity: str) -> list[str]:
    known = scene.entities[entity]
    named = (a.name for a in narrow.attributes_of(scene, known) if a.kind == "code")
    return [str(known.attributes.get(name, "")) for name in named]


def _filtered(scene: Scene, at: int, found: Narrowed) -> Narrowed | None:
    filtered = narrow.read(scene, at, bare=scene.word(at - 1) in ("for", "of", "over", "under", "costs", "at"))
    kept = narrow.apply(scene, found.ids, filtered) if filtered is not None else []
    if filtered is None or not kept:
        return None
    return Narrowed(kept, at + filtered.length, found.rank, why=(*found.why, filtered.why))


def _ranked(scene: Scene, at: int, found: Narrowed) -> Narrowed | None:
    word = scene.word(at)
    rank = narrow.rank(scene, at)
    if rank is not None and rank.length == 2 and (rank.attribute or rank.scale == "amount"):
        return Narrowed(found.ids, at + rank.length, rank, why=found.why)
    named = scene.words.attributes.get(word) or scene.words.attributes.get(word.removesuffix("s"))
    if named and word not in STOP and scene.word(at + 1) in _EXTREME:
        rank = Rank("time", _EXTREME[scene.word(at + 1)], "est", 2, named[0][1].name)
        return Narrowed(found.ids, at + 2, rank, why=found.why)
    if word in _EXTREME and scene.ends(at + 1) and scene.word(at - 1) not in DEFINITE | BE | MODAL and at > 0:
        return Narrowed(found.ids, at + 1, Rank("time", _EXTREME[word], "est", 1), why=found.why)
    return None


def _described(scene: Scene, phrase: Phrase, at: int, found: Narrowed) -> Narrowed | None:
    word = scene.word(at)
    if word in STOP:
        return _person(scene, at, found)
    meant = scene.means(at) | scene.related.get(word, frozenset())
    kept = [entity for entity in found.ids if entity in meant]
    if not kept or (len(kept) == len(found.ids) and scene.noun(at) is not None):
        return None
    if phrase.many and scene.word(at + 1) == "and":
        joined = scene.means(at + 2) | scene.related.get(scene.word(at + 2), frozenset())
        more = [entity for entity in found.ids if entity in kept or entity in joined]
        if len(more) > len(kept):
            return Narrowed(more, at + 3, found.rank, why=(*found.why, "description"))
    return Narrowed(kept, at + 1, found.rank, why=(*found.why, "description"))


def _person(scene: Scene, at: int, found: Narrowed) -> Narrowed | None:
    """`the transfer to her`: what is tied to the person who is spoken of."""
    if scene.word(at) not in ("her", "him", "them") or scene.noun(at + 1) is not None:
        return None
    person = focus(scene, frozenset(kind.name for kind in scene.talk.ontology.types if kind.category == "person"))
    kept = [entity for entity in found.ids if person and person in ties(scene, entity)]
    return Narrowed(kept, at + 1, found.rank, why=(*found.why, "whom it concerns")) if kept else None


def ties(scene: Scene, entity: str) -> set[str]:
    """The ids that the entity's attributes name."""
    known = scene.entities[entity]
    return {
        str(known.attributes.get(attribute.name))
        for attribute in narrow.attributes_of(scene, known)
        if attribute.kind == "entity"
    }


def tied(scene: Scene, entity: str, to: frozenset[str]) -> bool:
    """Whether `entity` has an attribute that is one of `to`, or one of them has it."""
    return bool(ties(scene, entity) & to) or any(
        entity in ties(scene, other) for other in to if other in scene.entities
    )
