"""Where "it", "that" and "there" stand for nothing: the weather, "that's fine", "got it", "there is"."""

from __future__ import annotations

from agentstate.engine.talk.scene import Scene
from agentstate.engine.talk.words import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    EMPTY_IT,
    GRADED,
    IDIOM_VERBS,
    IT_VERBS,
    MODAL,
    PLAIN_SCALES,
    PREPOSITIONS,
    PRONOUNS,
    VERBS,
    VERBS_OF_ACTION,
    listed,
)  # fmt: skip

_SKIPPED = listed(
    "so too really very quite pretty just only not 't been be getting all still already also have n't rather"
)
_COMPARABLE = frozenset({"price", "amount", "weight", "distance"})
_THANKS = listed("thank thanks appreciate grateful help helping helped assist assisting assistance")
_ASKED = listed("how what when where why who which")
_AFTER = listed("like after at of than by given besides")


def empty_it(scene: Scene, at: int) -> bool:
    """Whether the "it" at `at` is about nothing that was spoken of."""
    before, after = scene.word(at - 1), scene.word(at + 1)
    if _idiom(scene, at) or _tag(scene, at) or before == "be":
        return True
    if after in ("took", "takes", "take") and scene.word(at + 2) in (
        "me",
        "us",
        "a",
        "ages",
        "forever",
        "time",
        "long",
    ):
        return True
    if after in ("has", "had") and scene.word(at + 2) == "been":
        return _empty_complement(scene, at + 3, "it")
    if after in BE and not scene.ends(at + 1):
        return _empty_complement(scene, at + 2, "it")
    if after in MODAL:
        return _empty_after_modal(scene, at + 1)
    if after in IT_VERBS:
        return (
            after in ("depends", "happens", "hurts")
            or _empty_complement(scene, at + 2, "it")
            or scene.word(at + 2) in ("that", "like", "as", "i", "you", "we", "to")
        )
    if before in BE | MODAL:  # a question: is it possible, does it matter
        if after in ("matter", "hurt", "happen") or scene.word(at - 2) in ("time", "day", "date"):
            return True
        if before in BE and after == "going":
            return scene.ends(at + 2)
        return before in BE and not scene.ends(at + 1) and _empty_complement(scene, at + 1, "it")
    return after in ("matters", "helps") or (before in ("when", "if") and after in ("comes", "helps"))


def _empty_after_modal(scene: Scene, at: int) -> bool:
    """`it would be great if`, `it doesn't matter`, `it will be fine`."""
    while scene.word(at) in MODAL | {"'t", "not", "n't"}:
        at += 1
    if scene.word(at) in ("matter", "depend", "help", "hurt", "seem", "happen"):
        return True
    return scene.word(at) == "be" and _empty_complement(scene, at + 1, "it")


def _empty_complement(scene: Scene, at: int, pronoun: str) -> bool:
    """Whether what is said of it is what is said of nothing. A comparison by value is about something."""
    while scene.word(at) in _SKIPPED and not scene.ends(at):
        at += 1
    word = scene.word(at)
    if scene.ends(at):
        return False
    if word in EMPTY_IT:
        return True
    if PLAIN_SCALES.get(word, GRADED.get(word, ("",)))[0] in _COMPARABLE:
        return False
    named = bool(scene.by_word.get(word)) or scene.tokens[at].capital
    return pronoun == "it" and (named or scene.kind(at) in ("number", "money", "clock"))


def _idiom(scene: Scene, at: int) -> bool:
    """`got it`, `do that`, `forget it`, `make it there`, `take it easy`."""
    before, after = scene.word(at - 1), scene.word(at + 1)
    if before in VERBS_OF_ACTION:
        return after != "cost" and not (before in ("do", "does", "did") and after not in ADVERBS and _asks(scene, at))
    if before in IDIOM_VERBS and (scene.ends(at + 1) or after in ADVERBS | PREPOSITIONS | CONJUNCTIONS):
        return before != "got" or scene.ends(at + 1) or after in ("thanks", "thank", "now")
    if before == "about" and scene.word(at - 2) in ("think", "thinking", "thought", "sorry", "worry", "wondering"):
        return True
    if before in ("make", "call", "say") and not scene.ends(at + 1):
        named = bool(scene.by_word.get(after)) or scene.kind(at + 1) in ("number", "money", "clock")
        if named or scene.noun(at + 2) is not None:
            return True
    return (before == "take" and after == "easy") or (before == "worth" or after == "goes")


def _asks(scene: Scene, at: int) -> bool:
    """`does it arrive`: the verb only asks."""
    return not scene.ends(at + 1)


def _tag(scene: Scene, at: int) -> bool:
    """`..., isn't it?`"""
    return (
        scene.ends(at + 1)
        and scene.word(at - 1) == "'t"
        and scene.word(at - 2)[:-1] in ("is", "was", "does", "did", "ca")
    )


def empty_that(scene: Scene, at: int) -> bool:
    """Whether the "that" or "this" at `at`, standing alone, is a conjunction or about nothing in particular."""
    before, after = scene.word(at - 1), scene.word(at + 1)
    if _idiom(scene, at) or before in _AFTER or (before, scene.word(at - 2)) in (("about", "sorry"), ("for", "thanks")):
        return True
    if before in ("with", "for", "on", "about") and any(
        scene.word(back) in _THANKS for back in range(max(0, at - 6), at)
    ):
        return True  # "thank you for that", "can you help me with this"
    if after in BE:
        return _empty_statement(scene, at + 2)
    if before in BE:
        return _empty_complement(scene, at + 1, "that") or (scene.ends(at + 1) and not _asked_before(scene, at))
    if after in MODAL | VERBS:
        return True
    return not (scene.ends(at + 1) or after in PREPOSITIONS or after in ADVERBS or after in CONJUNCTIONS) or (
        before in ("so", "such", "now", "given", "provided", "except")
    )


def _empty_statement(scene: Scene, at: int) -> bool:
    """`that's fine`, `that is what I meant`; not `that's too expensive`, `that was declined`."""
    if _empty_complement(scene, at, "that"):
        return True
    while scene.word(at) in _SKIPPED:
        at += 1
    word = scene.word(at)
    scale = PLAIN_SCALES.get(word, GRADED.get(word, ("",)))[0]
    return not (scale in _COMPARABLE or word.endswith("ed"))


def _asked_before(scene: Scene, at: int) -> bool:
    return any(scene.word(back) in _ASKED for back in range(max(0, at - 4), at))


def empty_there(scene: Scene, at: int) -> bool:
    """Whether the "there" at `at` names no place: "there is", "is there", "hi there", "there you go"."""
    before, after = scene.word(at - 1), scene.word(at + 1)
    if (
        after in BE
        or (after in MODAL and scene.word(at + 2) in ("be", "'t", "have"))
        or after in ("seems", "seem", "appears")
    ):
        return before not in PREPOSITIONS or at == 0
    if before == "'t" and scene.word(at - 2) in BE:
        return True
    if before in ("be", "been"):
        return scene.word(at - 2) == "to" and after in ("a", "an", "no", "any")
    if before in BE and not scene.ends(at):
        subject = scene.word(at - 2)
        return not (subject in PRONOUNS or (subject and subject not in _ASKED and scene.kind(at - 2) == "word"))
    return before in ("hi", "hello", "hey") or (after in ("you", "we") and scene.word(at + 2) in ("go", "are"))


__all__ = ["empty_it", "empty_that", "empty_there"]
