"""What was understood of a message: references, its questions and its topic."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentstate.engine.talk.resolve import read
from agentstate.engine.talk.tokens import MOST_CHARACTERS, singular, tokens
from agentstate.engine.understanding.held import LONGEST_QUESTION, Talk, Understood
from agentstate.engine.understanding.ontology import Ontology, TopicCue
from agentstate.engine.understanding.turns import MOST_OPEN

WORD, TYPE = 3, 1  # what a cue of each kind counts
_UNDECLARED = Ontology()
_SENTENCE_ENDS = re.compile(r"([.?!\n])")


def is_declared(talk: Talk) -> bool:
    """Whether there is anything to resolve: without a declaration no message is read."""
    return talk.ontology != _UNDECLARED


def understood(talk: Talk, by: str, text: str) -> Understood | None:
    """Returns what `text` means, said by `by`; None where nothing is declared or it is a note."""
    if by == "note" or not is_declared(talk):
        return None
    found = read(talk, text, by)
    types = {entity.id: entity.type for entity in talk.entities}
    mentioned = {types[entity] for ids in found.mentioned for entity in ids}
    return Understood(
        references=found.references if by == "customer" else (),
        mentioned=found.mentioned,
        questions=questions_in(text),
        topic=_topic(talk, text, mentioned) if by == "customer" else "",
    )


def questions_in(text: str) -> tuple[str, ...]:
    """The questions in `text`, the last few, cut to size."""
    if "?" not in text:
        return ()
    pieces = _SENTENCE_ENDS.split(text[:MOST_CHARACTERS])
    asked = (said.strip() for said, end in zip(pieces[::2], pieces[1::2], strict=False) if end == "?")
    return tuple(f"{said[-LONGEST_QUESTION:]}?" for said in asked if said)[-MOST_OPEN:]


def _topic(talk: Talk, text: str, types: Iterable[str]) -> str:
    """The topic with the most cues in `text`; the current one when another has no more than it."""
    cues = talk.ontology.topics
    if not cues:
        return ""
    spoken = {token.text for token in tokens(text)}
    spoken |= {singular(word) for word in spoken}
    found = {cue.name: _cues(cue, spoken, text) + TYPE * len(set(types) & set(cue.types)) for cue in cues}
    best = max(found, key=lambda name: found[name])
    return best if found[best] > found.get(talk.topic, 0) else ""


def _cues(cue: TopicCue, spoken: set[str], text: str) -> int:
    words = [word.lower() for word in cue.words]
    return WORD * sum(word in spoken or (" " in word and word in text[:MOST_CHARACTERS].lower()) for word in words)
