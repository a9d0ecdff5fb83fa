"""What one message tells of its turn and topic, by its question marks and by words that the agent declares.

Words are compared as they are written, without regard to case: no language is known here.
"""

from __future__ import annotations

import re

from agentstate.engine.understanding.held import LONGEST_QUESTION, Talk, Understood
from agentstate.engine.understanding.ontology import Ontology, TopicCue
from agentstate.engine.understanding.turns import MOST_OPEN

MAX_CHARACTERS = 2_000  # of a message that are read
_UNDECLARED = Ontology()
_WORD = re.compile(r"\w+")
_SENTENCE_ENDS = re.compile(r"([.?!\n])")


def is_declared(talk: Talk) -> bool:
    """Whether the agent declares what it talks about: without that no message is read."""
    return talk.ontology != _UNDECLARED


def understood(talk: Talk, by: str, text: str) -> Understood | None:
    """Returns what `text` tells, said by `by`; None where nothing is declared or it is a note."""
    if by == "note" or not is_declared(talk):
        return None
    read = text[:MAX_CHARACTERS]
    return Understood(questions_in(read), _topic(talk, read) if by == "customer" else "")


def questions_in(text: str) -> tuple[str, ...]:
    """Returns the last questions in `text`, cut to size."""
    if "?" not in text:
        return ()
    pieces = _SENTENCE_ENDS.split(text)
    asked = (said.strip() for said, end in zip(pieces[::2], pieces[1::2], strict=False) if end == "?")
    return tuple(f"{said[-LONGEST_QUESTION:]}?" for said in asked if said)[-MOST_OPEN:]


def _topic(talk: Talk, text: str) -> str:
    """The topic with the most cues in `text`; the current one when another has no more than it."""
    cues = talk.ontology.topics
    if not cues:
        return ""
    said = f" {' '.join(_WORD.findall(text.lower()))} "
    found = {cue.name: _cues(cue, said) for cue in cues}
    best = max(found, key=lambda name: found[name])
    return best if found[best] > found.get(talk.topic, 0) else ""


def _cues(cue: TopicCue, said: str) -> int:
    return sum(f" {' '.join(_WORD.findall(word.lower()))} " in said for word in cue.words)
