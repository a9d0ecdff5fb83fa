"""`The same as last time`, `as before`, `the usual`: what took place last, of that kind, with those people."""

from __future__ import annotations

from agentstate.engine.talk import narrow
from agentstate.engine.talk.choose import Choice
from agentstate.engine.talk.narrow import Rank
from agentstate.engine.talk.region import tied
from agentstate.engine.talk.scene import LISTED, Scene
from agentstate.engine.talk.words import PRONOUNS, listed

_LIKE = listed("same like as than from usual again did was were repeat what")


def last_time(scene: Scene, at: int) -> Choice | None:
    """What the phrase at `at` means, if it is one of these."""
    length = _length(scene, at)
    if not length:
        return None
    repeated = scene.word(at) in ("the", "same") and "again" in {scene.word(at + step) for step in range(length)}
    if repeated and (near := _near(scene)):
        return Choice((near,), True, 84, ("spoken of", "again"), at + length)
    line = _line(scene)
    if not line:
        return Choice((), True, 0, ("nothing took place before",), at + length)
    tie = [entity for value, entity in line if value == line[0][0]]
    if len(tie) > 1:
        return Choice(tuple(tie), False, 0, ("took place last",), at + length)
    kinds = {scene.entities[entity].type for _, entity in line}
    return Choice((line[0][1],), True, 88 if len(kinds) == 1 else 70, ("took place last",), at + length)


def _length(scene: Scene, at: int) -> int:
    """Tokens of the phrase, 0 where none begins. `last time I called ...` is about the call."""
    words = [scene.word(at + step) for step in range(6)]
    skip = 1 if words[0] == "the" else 0
    if words[skip : skip + 2] == ["usual", words[skip + 1]] and words[skip] == "usual" and words[0] == "the":
        return 2 if scene.ends(at + 2) or words[2] in ("please", "thanks", "again") else 0
    if words[skip] == "same":
        return _same(scene, at, skip)
    if words[:2] == ["last", "time"]:
        earlier = {scene.word(back) for back in range(max(0, at - 8), at)}
        stated = words[2] in PRONOUNS and not earlier & _LIKE
        return 2 if earlier & _LIKE and not stated else 0
    if words[0] in ("as", "like") and words[1] in ("before", "usual", "always") and scene.ends(at + 2):
        return 2
    return 0


def _same(scene: Scene, at: int, skip: int) -> int:
    """`the same as last time`, `same again`, `the same thing as before`; not `the same account`."""
    place = at + skip + 1
    if scene.word(place) in ("thing", "way"):
        place += 1
    if scene.word(place) in ("again", "once") and scene.word(place) != "":
        return place + 1 - at
    if scene.word(place) not in ("as", "like"):
        return 0
    pair = (scene.word(place + 1), scene.word(place + 2))
    if pair == ("last", "time"):
        return place + 3 - at
    if pair[0] in ("before", "usual", "always") or (
        pair == ("the", "last") and scene.word(place + 3) in ("one", "time")
    ):
        return place + (2 if pair[0] != "the" else 4) - at
    return 0


def _near(scene: Scene) -> str:
    """The event that was spoken of last."""
    events = {e: v for e, v in scene.salience.items() if scene.type(e).happened and v > LISTED - 10}
    return max(events, key=lambda entity: events[entity]) if events else ""


def _line(scene: Scene) -> list[tuple[object, str]]:
    """What took place, the latest first: of a kind the sentence names, then of those tied to who is spoken of."""
    happened = [e for e in scene.entities if scene.type(e).happened]
    line = narrow.ordered(scene, happened, Rank("time", True, "est", 0))
    line = [pair for pair in line if pair[0] <= scene.now]
    named = {kind for index in range(len(scene.tokens)) for kind in _kinds(scene, index)}
    line = [pair for pair in line if scene.entities[pair[1]].type in named] or line
    near = frozenset(e for e, value in scene.salience.items() if value > LISTED and not scene.type(e).happened)
    return [pair for pair in line if near and tied(scene, pair[1], near)] or line


def _kinds(scene: Scene, index: int) -> frozenset[str]:
    noun = scene.noun(index)
    verbs = scene.words.verbs.get(scene.word(index), frozenset())
    return verbs | (noun[0] if noun is not None else frozenset())


__all__ = ["last_time"]
