"""Names: entities that are called by a word of their label, a value, a code, or a shape of code nobody declared yet."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from agentstate.engine.talk import region
from agentstate.engine.talk.phrase import closes
from agentstate.engine.talk.scene import Scene
from agentstate.engine.talk.words import BE, CONJUNCTIONS, DEFINITE, KIN, OWN, POINTING, PREPOSITIONS, STOP, listed
from agentstate.engine.understanding.entities import Entity, entity
from agentstate.engine.understanding.ontology import Ontology

SHARE = 3  # a name must be at least one of so many words of the label
_ANSWERS = listed("yes no ok okay and or not use sorry mean meant actually please the")


class Named(NamedTuple):
    """The entities that are called so, the tokens it took, and whether it can be nothing but a name."""

    ids: tuple[str, ...]
    length: int
    strong: bool


def name(scene: Scene, at: int) -> Named | None:
    """The name that begins at `at`."""
    code = _code(scene, at)
    if code is not None:
        return code
    ids, length = _run(scene, at)
    if not ids:
        return None
    matched = {scene.word(at + step) for step in range(length)}
    shares = {e: len(matched & set(scene.called[e].core)) / max(len(scene.called[e].core), 1) for e in ids}
    best = max(shares.values())
    if best * SHARE < 1:
        return None
    strong = length > 1 or (scene.tokens[at].capital and at > 0 and scene.kind(at - 1) != "mark")
    called = [e for e in scene.order if shares.get(e) == best]
    return Named(tuple(_not_by_others(scene, called)), length, bool(strong))


def _not_by_others(scene: Scene, ids: list[str]) -> list[str]:
    """Without what is only called so after one of the others: a transfer to Rosa is not Rosa."""
    others = [e for e in ids if not any(region.tied(scene, e, frozenset({other})) for other in ids if other != e)]
    bearers = [e for e in ids if any(e in region.ties(scene, other) for other in ids if other != e)]
    return bearers or others or ids


def _run(scene: Scene, at: int) -> tuple[frozenset[str], int]:
    """The longest run of words that some label holds all of."""
    ids, length = _called(scene, at), 0
    found = ids
    while found:
        ids, length = found, length + 1
        if at + length >= len(scene.tokens) or length == 6:
            break
        found = ids & _called(scene, at + length)
    return ids, length


def _called(scene: Scene, at: int) -> frozenset[str]:
    word = scene.word(at)
    if word in STOP and not scene.tokens[at].capital:
        return frozenset()
    return frozenset(e for e in scene.means(at) if _in_core(scene, e, at))


def _in_core(scene: Scene, entity_id: str, at: int) -> bool:
    core = scene.called[entity_id].core
    return scene.word(at) in core or any(part in core for part in _spoken(scene, at))


def _spoken(scene: Scene, at: int) -> set[str]:
    word = scene.word(at)
    translated = {part for _, value in scene.words.values.get(word, ()) for part in value.split()}
    return translated | {word.removesuffix("s")}


def _code(scene: Scene, at: int) -> Named | None:
    word = scene.word(at)
    if len(word) < 3 or not any(character.isdecimal() for character in word):
        return None
    ids = [e for e in scene.by_word.get(word, ()) if _has_code(scene, scene.entities[e], word)]
    return Named(tuple(sorted(ids, key=scene.order.__getitem__)), 1, True) if ids else None


def _has_code(scene: Scene, known: Entity, word: str) -> bool:
    kind = scene.words.types.get(known.type)
    codes = [str(known.attributes.get(a.name, "")).lower() for a in kind.attributes if a.kind == "code"] if kind else []
    return word in codes or word == known.id.lower() or known.label.lower() == word


def stands(scene: Scene, at: int, named: Named) -> bool:
    """Whether a bare name at `at` speaks of its entity: codes and proper names do; a value ("savings", "home") only
    where a noun phrase may stand, with nothing after it that it could belong to.
    """
    if named.strong:
        return True
    before, last = scene.word(at - 1), at + named.length
    if not closes(scene, last):
        return False
    starts = at == 0 or scene.kind(at - 1) == "mark"
    if before in DEFINITE | POINTING | OWN | PREPOSITIONS:
        return True
    return before in CONJUNCTIONS | _ANSWERS | BE or (starts and (scene.ends(last) or len(scene.tokens) <= 4))


@lru_cache(maxsize=64)
def _shapes(ontology: Ontology) -> tuple[tuple[str, str], ...]:
    return tuple((shape, kind.name) for kind in ontology.types for shape in kind.shapes)


def shaped(scene: Scene, at: int) -> Entity | None:
    """The entity that a code of a declared shape names for the first time, at `at`."""
    token = scene.tokens[at]
    raw = scene.text[token.start : token.end]
    for shape, kind in _shapes(scene.talk.ontology):
        if len(raw) == len(shape) and all(_fits(mark, character) for mark, character in zip(shape, raw, strict=True)):
            code = raw.upper()
            return entity(f"{kind}:{code}", kind, code, {})
    return None


def _fits(mark: str, character: str) -> bool:
    if mark == "#" and character == "#":
        return True
    if mark == "#":
        return character.isdecimal()
    return character.isalpha() if mark == "@" else character.lower() == mark.lower()


def kin(scene: Scene, at: int) -> Entity | None:
    """`my sister`: a person known by what they are to the speaker."""
    word = scene.word(at + 1)
    if scene.word(at) not in OWN or word not in KIN:
        return None
    return entity(f"person:{word}", "person", word, {}, KIN[word])
