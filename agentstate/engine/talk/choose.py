"""From a noun phrase to what it means: candidates, what narrows them, and the choice among those that are left."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agentstate.engine.talk import narrow, region
from agentstate.engine.talk.narrow import Rank
from agentstate.engine.talk.phrase import Phrase
from agentstate.engine.talk.region import Narrowed
from agentstate.engine.talk.scene import Scene, focus, groups
from agentstate.engine.talk.words import PLURAL, RELATIVES, listed
from agentstate.engine.understanding.held import Group

MARGIN = 12  # by how much one must stand out beside the next to be meant
_SETS = listed("both all everything either neither none each every")


class Choice(msgspec.Struct, frozen=True):
    """`ids` are what is meant when `sure`, else the candidates; none: nothing known is. `last` ends the phrase."""

    ids: tuple[str, ...]
    sure: bool
    confidence: int
    why: tuple[str, ...]
    last: int


def choose(scene: Scene, phrase: Phrase) -> Choice:
    """What `phrase` means."""
    found = None
    for ids, where in _bases(scene, phrase):
        kept = _held(scene, phrase, ids)
        if kept:
            choice = _decided(scene, phrase, region.narrowed(scene, phrase, kept), ids, where)
            if (choice.ids and choice.sure) or not _counts(phrase):
                return choice
            found = found or choice
    if found is not None:
        return found
    return Choice((), True, 0, ("nothing known fits",), region.narrowed(scene, phrase, []).last)


def _counts(phrase: Phrase) -> bool:
    """Whether an older list may be meant, where the newest is too short: the third, the middle one, all three."""
    return phrase.types is None and bool(phrase.nth or phrase.count)


def _bases(scene: Scene, phrase: Phrase) -> list[tuple[list[str], str]]:
    """Where to look for it, in this order, and what that speaks for."""
    if phrase.types is not None:
        return [([e for e, known in scene.entities.items() if known.type in phrase.types], "type")]
    ordered = phrase.nth or phrase.quantity in ("all", "everything")
    found = _shown_lists(scene, phrase) if ordered else groups(scene)
    lists = [([e for e in group.entities if e in scene.entities], "the last list") for group in found]
    near = focus(scene)
    every = list(scene.entities)
    if phrase.quantity not in _SETS:
        lists.sort(key=lambda entry: all(scene.type(e).category == "person" for e in entry[0]))
    if near and phrase.quantity not in _SETS:
        alike = [e for e in every if scene.entities[e].type == scene.entities[near].type]
        lists = _focus_first(lists, near, (alike, "what is spoken of"))
    if phrase.means or phrase.owner or phrase.filters:
        return [*lists, (every, "all that is known")]
    touched = [e for e in every if e in scene.salience]
    return lists or ([(touched, "what is spoken of")] if phrase.head == "one" or phrase.rank else [])


def _focus_first(
    lists: list[tuple[list[str], str]], near: str, alike: tuple[list[str], str]
) -> list[tuple[list[str], str]]:
    """Lists that hold what is spoken of come first, then the others."""
    holding = [entry for entry in lists if near in entry[0]]
    return [*holding, *(entry for entry in lists if near not in entry[0]), alike]


def _held(scene: Scene, phrase: Phrase, ids: list[str]) -> list[str]:
    """The candidates that answer to all that stands before the noun."""
    for meant in phrase.means:
        ids = [entity for entity in ids if entity in meant]
    if phrase.owner:
        ids = [entity for entity in ids if region.tied(scene, entity, phrase.owner)] or ids
    for filtered in phrase.filters:
        ids = narrow.apply(scene, ids, filtered)
    unknown = [word for word in phrase.unknown if not (phrase.rank and word.endswith("ed"))]  # "the best rated one"
    if phrase.head == "one" and unknown and not phrase.means:
        return []  # "the green one", and nothing is green
    return ids


def _decided(scene: Scene, phrase: Phrase, after: Narrowed, base: list[str], where: str) -> Choice:
    ids, why = after.ids, (where, *after.why)
    if phrase.means:
        why = (*why, "description")
    if phrase.filters:
        why = (*why, *(filtered.why for filtered in phrase.filters))
    if phrase.other:
        return _others(scene, phrase, ids, after.last, why)
    step = phrase.step or after.step
    if step:
        return _neighbor(scene, ids, step, after, why)
    rank = phrase.rank or after.rank
    if rank is not None:
        return _extreme(scene, phrase, ids, rank, after.last, why)
    if phrase.nth or after.middle:
        return _counted(scene, phrase, ids, after, why)
    if phrase.quantity in _SETS or phrase.many or phrase.count:
        return _several(scene, phrase, ids, after, why)
    choice = one_of(scene, ids, after.last, why, narrowed=bool(phrase.means or phrase.filters or after.why))
    if len(ids) > 1 and not after.why and scene.word(phrase.last) in RELATIVES:
        # A clause says which, and it was not understood.
        return replace(choice, ids=tuple(ids), sure=False, confidence=0)
    return choice


def one_of(scene: Scene, ids: list[str], last: int, why: tuple[str, ...], *, narrowed: bool) -> Choice:
    """The only candidate, or the one that stands out enough; else all that could be meant."""
    if len(ids) == 1:
        known = ids[0] in scene.salience
        return Choice((ids[0],), True, (92 if narrowed else 86 if known else 80), (*why, "the only one"), last)
    ranked = sorted(ids, key=lambda entity: -scene.salience.get(entity, 0))
    best = scene.salience.get(ranked[0], 0)
    close = [entity for entity in ranked if best - scene.salience.get(entity, 0) < MARGIN]
    if len(close) == 1:
        lead = best - scene.salience.get(ranked[1], 0)
        return Choice((ranked[0],), True, min(88, 60 + lead), (*why, "spoken of last"), last)
    return Choice(tuple(sorted(close, key=scene.order.__getitem__)), False, 0, why, last)


def _others(scene: Scene, phrase: Phrase, ids: list[str], last: int, why: tuple[str, ...]) -> Choice:
    """The other one, the others: the list without what is spoken of."""
    near = focus(scene, frozenset(scene.entities[entity].type for entity in ids))
    near = near if near in ids else ""
    if phrase.types is not None:
        for group in groups(scene, phrase.types):
            if near in group.entities:
                ids = [entity for entity in group.entities if entity in ids]
                break
    rest = [entity for entity in ids if entity != near]
    why = (*why, "not the one spoken of")
    if phrase.many or phrase.count:
        fits = near and (not phrase.count or phrase.count == len(rest))
        return Choice(tuple(rest), bool(fits and rest), 85 if fits else 0, why, last)
    if len(rest) == 1:
        return Choice((rest[0],), True, 90 if near else 72, why, last)
    return Choice(tuple(rest), False, 0, why, last) if rest else Choice((), True, 0, why, last)


def _neighbor(scene: Scene, ids: list[str], step: int, after: Narrowed, why: tuple[str, ...]) -> Choice:
    """The one before or after: in time where they have one and took place, else in the list."""
    last = after.last
    near = after.anchor or focus(scene, frozenset(scene.entities[entity].type for entity in ids))
    happened = all(scene.type(entity).happened for entity in ids)
    line = narrow.by_time(scene, ids) if happened else ids
    why = (*why, "order in time" if happened else "order of the list")
    if near in line:
        place = line.index(near) + step
        return Choice((line[place],), True, 85, why, last) if 0 <= place < len(line) else Choice((), True, 0, why, last)
    if happened and step < 0:
        past = _past(scene, line)
        return Choice((past[-1],), True, 80, why, last) if past else Choice((), True, 0, why, last)
    if happened and step > 0:
        coming = [entity for entity in line if entity not in _past(scene, line)]
        return Choice((coming[0],), True, 80, why, last) if coming else Choice((), True, 0, why, last)
    return one_of(scene, ids, last, why, narrowed=False)


def _past(scene: Scene, line: list[str]) -> list[str]:
    return [
        entity
        for entity in line
        if (times := narrow.ordered(scene, [entity], Rank("time", True, "est", 0))) and times[0][0] <= scene.now
    ]


def _extreme(scene: Scene, phrase: Phrase, ids: list[str], rank: Rank, last: int, why: tuple[str, ...]) -> Choice:
    """The cheapest, the larger, the second largest, the two smallest. Equal values are ambiguous."""
    line = narrow.ordered(scene, ids, rank)
    if not line and rank.scale == "time" and rank.degree == "est" and len(ids) > 1:
        place = -1 if rank.more else 0  # nothing of it has a time: the order in which it was said
        return Choice((ids[place],), True, 75, (*why, "position in the list"), last)
    why = (*why, f"compared by {rank.attribute or rank.scale}")
    if not line:
        return Choice(tuple(ids), False, 0, why, last) if len(ids) > 1 else one_of(scene, ids, last, why, narrowed=True)
    if phrase.count > 1:
        return Choice(tuple(entity for _, entity in line[: phrase.count]), True, 85, why, last)
    place = max(phrase.nth, 1) - 1
    if place >= len(line):
        return Choice((), True, 0, why, last)
    ties = [entity for value, entity in line if value == line[place][0]]
    if phrase.many and rank.degree == "est":
        return Choice(tuple(ties), True, 75, why, last)
    if len(ties) > 1:
        return Choice(tuple(ties), False, 0, why, last)
    sure = {"est": 92, "er": 92 if len(ids) == 2 else 68, "": 78 if len(ids) == 2 else 64}[rank.degree]
    if len(line) < len(ids):
        sure -= 8
    return Choice((ties[0],), True, sure, why, last)


def _counted(scene: Scene, phrase: Phrase, ids: list[str], after: Narrowed, why: tuple[str, ...]) -> Choice:
    """The second, the last, the first two, the one in the middle; "my last ..." of what took place is by time."""
    happened = phrase.types is not None and all(scene.type(entity).happened for entity in ids)
    listed = _shown_lists(scene, phrase)
    said = [entity for entity in listed[0].entities if entity in ids] if listed else []
    in_time = happened and (phrase.ordinal in ("last", "first") or not said) and phrase.ordinal != "latter"
    if happened and phrase.ordinal == "first" and said and phrase.det == "the":
        in_time = False
    line = (narrow.by_time(scene, ids) if in_time else said) or ids
    if in_time and phrase.ordinal == "last":
        line = _past(scene, line) or line
    why = (*why, "order in time" if in_time else "position in the list")
    near = focus(scene, frozenset(scene.entities[entity].type for entity in line))
    if (
        phrase.ordinal == "last"
        and phrase.nth == -1
        and len(line) > 1
        and line[-1] == near
        and _compared(scene, phrase)
    ):
        return Choice((line[-2],), True, 72, (*why, "not the one spoken of"), after.last)
    if after.middle or phrase.ordinal == "middle":
        return _middle(line, after.last, why)
    place = phrase.nth - 1 if phrase.nth > 0 else len(line) + phrase.nth
    if phrase.count > 1:
        taken = line[: phrase.count] if phrase.nth > 0 else line[-phrase.count :]
        return Choice(tuple(taken), len(taken) == phrase.count, 90, why, after.last)
    if phrase.ordinal in ("former", "latter") and len(line) != 2:
        return Choice(tuple(line), False, 0, why, after.last)
    if not 0 <= place < len(line):
        return Choice((), True, 0, why, after.last)
    return Choice((line[place],), True, 94 if len(line) > 1 else 75, why, after.last)


def _compared(scene: Scene, phrase: Phrase) -> bool:
    """`higher than the last one`: nothing is compared with itself."""
    return scene.word(phrase.first - 1) in ("than", "as", "to", "with", "like", "versus", "vs")


def _shown_lists(scene: Scene, phrase: Phrase) -> list[Group]:
    """The lists in which places are counted: what was shown or said to the customer, before what they said."""
    lists = groups(scene, phrase.types)
    if phrase.ordinal in ("former", "latter"):
        return lists
    return [group for group in lists if group.by != "customer"] or lists


def _middle(line: list[str], last: int, why: tuple[str, ...]) -> Choice:
    if len(line) % 2 and len(line) > 1:
        return Choice((line[len(line) // 2],), True, 88, why, last)
    return Choice(tuple(line), False, 0, why, last)


def _several(scene: Scene, phrase: Phrase, ids: list[str], after: Narrowed, why: tuple[str, ...]) -> Choice:
    """Both, all three, the transfers over an amount, the accounts."""
    free = not (phrase.means or phrase.filters or after.why)
    if free and not (phrase.det or phrase.quantity or phrase.count):
        return Choice((), True, 0, why, after.last)  # "options", "flights": any of them
    if free:
        ids = _newest_set(scene, phrase, ids)
    wanted = 2 if phrase.quantity in ("both", "either", "neither") else phrase.count
    if wanted and len(ids) != wanted:
        return Choice(tuple(ids), False, 0, why, after.last) if ids else Choice((), True, 0, why, after.last)
    if phrase.quantity == "either" and phrase.head == "noun":
        return Choice(tuple(ids), True, 70, why, after.last)
    known = any(entity in scene.salience for entity in ids)
    if free and len(ids) > 1 and phrase.det and scene.word(phrase.last) in RELATIVES - {"that"}:
        return Choice(tuple(ids), False, 0, why, after.last)
    return Choice(tuple(ids), True, (88 if known or not free else 76), (*why, "all of them"), after.last)


def _newest_set(scene: Scene, phrase: Phrase, ids: list[str]) -> list[str]:
    lists = _shown_lists(scene, phrase) if phrase.quantity in ("all", "everything") else groups(scene, phrase.types)
    if phrase.quantity in ("all", "everything") and phrase.head == "noun" and phrase.det not in PLURAL:
        return ids
    wanted = 2 if phrase.quantity in ("both", "either", "neither") else phrase.count
    fitting = [
        (group.message, kept)
        for group in lists
        if (kept := [entity for entity in group.entities if entity in ids]) and len(kept) == (wanted or len(kept))
    ]
    lately = _lately(scene, ids, wanted) if wanted == 2 else []
    if lately and (not fitting or fitting[0][0] < scene.talk.messages - 6):
        return lately
    return fitting[0][1] if fitting else ids


def _lately(scene: Scene, ids: list[str], wanted: int) -> list[str]:
    """The two that were spoken of last, one after the other: "both" may be said of them."""
    spoken = dict.fromkeys(m.entity for m in reversed(scene.talk.mentions) if m.entity in ids and m.alone)
    kind = scene.entities[next(iter(spoken))].type if spoken else ""
    last = [entity for entity in spoken if scene.entities[entity].type == kind][:wanted]
    return sorted(last, key=scene.order.__getitem__) if len(last) == wanted else []
