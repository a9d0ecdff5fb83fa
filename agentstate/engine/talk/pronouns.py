"""Pronouns: "it", "that", "her", "them", "there". The candidates are what was spoken of, by salience, and what the rest
of the sentence wants: a verb that is done to such a thing, a noun that it has.
"""

from __future__ import annotations

from agentstate.engine.talk.choose import MARGIN, Choice
from agentstate.engine.talk.scene import LISTED, Scene, groups
from agentstate.engine.talk.words import BE, DEFINITE
from agentstate.engine.understanding.entities import Entity

WANTED = 30  # what a fitting verb or noun adds to salience
APART = 25  # what a place loses where a thing is meant
_SURE = 45  # confidence with no salience at all
_NOT_PERSONS = ("thing", "event", "place")
_BEFORE_A_NOUN = DEFINITE | BE | {"what", "how", "much"}


def thing(scene: Scene, at: int, last: int) -> Choice:
    """The one thing that "it", "its", "that" or "this" at `at` means."""
    wanted = _wanted(scene, at)
    scored = {
        entity: value + (WANTED if scene.entities[entity].type in wanted else 0) - _apart(scene, entity)
        for entity, value in scene.salience.items()
        if scene.type(entity).category in _NOT_PERSONS and not _is_person(scene, entity)
    }
    fits = {entity: value for entity, value in scored.items() if scene.entities[entity].type in wanted}
    return _best(scene, fits or scored, last, ("spoken of",) if not fits else ("spoken of", "fits the verb or noun"))


def _apart(scene: Scene, entity: str) -> int:
    """A place is seldom "it", unless it is all that was spoken of last."""
    if scene.type(entity).category != "place":
        return 0
    things = [m for m in scene.talk.mentions if m.entity in scene.entities and not _is_person(scene, m.entity)]
    newest = {m.entity for m in things if m.message == things[-1].message}
    return 0 if newest == {entity} else APART


def _is_person(scene: Scene, entity: str) -> bool:
    return scene.type(entity).category == "person" and scene.called[entity].gender != "neuter"


def _wanted(scene: Scene, at: int) -> frozenset[str]:
    """The types that the sentence asks for: by a verb, or by a noun that stands by "it" or "of it"."""
    found: frozenset[str] = frozenset()
    if not scene.salience:  # nothing was spoken of: no type is asked for
        return found
    for index in range(max(0, at - 8), min(len(scene.tokens), at + 6)):
        if scene.kind(index) == "mark":
            if index > at:
                break
            found = frozenset()
            continue
        pair = f"{scene.word(index)} {scene.word(index + 1)}"
        found |= scene.words.verbs.get(pair, frozenset()) | scene.words.verbs.get(scene.word(index), frozenset())
        named = scene.words.attributes.get(scene.word(index), ())
        if _belongs(scene, index, at):
            found |= {kind for kind, _ in named}
    return frozenset(kind for kind in found if any(scene.entities[e].type == kind for e in scene.salience))


def _belongs(scene: Scene, index: int, at: int) -> bool:
    """`its limit`, `the balance on it`, `is it the total`."""
    return index == at + 1 or (at - 4 <= index < at and scene.word(index - 1) in _BEFORE_A_NOUN)


def _best(scene: Scene, scored: dict[str, int], last: int, why: tuple[str, ...]) -> Choice:
    """The candidate that stands out by MARGIN, or those that do not stand apart."""
    if not scored:
        return Choice((), True, 0, ("nothing was spoken of",), last)
    ranked = sorted(scored, key=lambda entity: -scored[entity])
    best = scored[ranked[0]]
    close = [entity for entity in ranked if best - scored[entity] < MARGIN]
    if len(close) > 1:
        return Choice(tuple(sorted(close, key=scene.order.__getitem__)), False, 0, why, last)
    lead = best - scored[ranked[1]] if len(ranked) > 1 else best
    return Choice((ranked[0],), True, max(20, min(92, _SURE + best // 2 + min(lead, 30) // 2)), why, last)


def person(scene: Scene, gender: str, last: int) -> Choice:
    """The person "she" or "him" means: of that gender, or of one that is not known."""
    people = {e: scene.salience.get(e, 1) for e in scene.entities if _is_person(scene, e)}
    known = {e: value for e, value in people.items() if scene.called[e].gender == gender}
    if len(known) == 1:
        (only,) = known
        return Choice((only,), True, min(90, 66 + known[only] // 2), ("person", gender, "the only one"), last)
    if known:
        return _best(scene, known, last, ("person", gender))
    return _best(
        scene,
        {e: v - 15 for e, v in people.items() if not scene.called[e].gender},
        last,
        ("person", "gender unknown"),
    )


def several(scene: Scene, at: int, last: int) -> Choice:
    """The set that "they", "them" or "those" means: the newest list, of a type that the verb fits; else one
    organisation or unknown person that was spoken of alone.
    """
    wanted = _wanted(scene, at)
    single = _single(scene, last)
    lists = [group for group in groups(scene) if all(entity in scene.entities for entity in group.entities)]
    chosen = [group for group in lists if group.type in wanted] or lists
    chosen = [group for group in chosen if scene.type(group.entities[0]).category != "place"] or chosen
    if not chosen:
        return single or Choice((), True, 0, ("nothing was spoken of",), last)
    newest = [group for group in chosen if (group.message, group.said) == (chosen[0].message, chosen[0].said)]
    if single is not None and chosen[0].message < scene.talk.messages - 1:
        return single
    if len(newest) > 1 and not wanted:
        newest = _persons_first(scene, newest, scene.word(at))
    if len(newest) > 1:
        return Choice(tuple(e for group in newest for e in group.entities), False, 0, ("several lists",), last)
    if scene.word(at - 1) == "of" and scene.word(at - 2) in ("one", "any", "some"):
        return Choice(newest[0].entities, False, 0, ("one of several",), last)
    said = newest[0].said
    distance = max(0, scene.talk.messages - newest[0].message)
    return Choice(newest[0].entities, True, max(62, (86 if said else 76) - 6 * distance), ("spoken of together",), last)


def _persons_first(scene: Scene, lists: list, word: str) -> list:  # type: ignore[type-arg]
    people = [group for group in lists if scene.type(group.entities[0]).category == "person"]
    things = [group for group in lists if group not in people]
    return (people or things) if word == "they" else (things if word in ("those", "these") and things else lists)


def _single(scene: Scene, last: int) -> Choice | None:
    """`they` of one organisation, or of one whose gender nobody said."""
    fits = {
        entity: value
        for entity, value in scene.salience.items()
        if scene.type(entity).category == "person" and scene.called[entity].gender in ("neuter", "") and value > LISTED
    }
    return _best(scene, fits, last, ("spoken of",)) if fits else None


def place(scene: Scene, last: int) -> Choice:
    """The place "there" means."""
    places = {e: value for e, value in scene.salience.items() if scene.type(e).category == "place"}
    spoken = {mention.entity for mention in scene.talk.mentions} | set(scene.just)
    if len(places) > 1 and not spoken & set(places):
        return Choice((), True, 0, ("no place was spoken of",), last)
    return _best(scene, places, last, ("place",))


def label(known: Entity) -> str:
    """What an entity is called when somebody is asked about it."""
    return known.label or known.id
