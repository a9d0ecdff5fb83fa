"""What happened, in a supervisor's words. Pure: entries, lines and values in, sentences out; nothing is read here.

Each area tells its own kinds of entry, in a file of its own; `entry` looks among all of them. An entry that was erased
says so; a kind that is not known here is named as it is.
"""

from __future__ import annotations

from sessions.descriptions import (
    alerts,
    approvals,
    interventions,
    memory,
    plans,
    runs,
    sessions,
    state,
    supervision,
    triggers,
    versions,
)
from sessions.descriptions.sentence import Data, Sentence
from sessions.descriptions.values import plain

AREAS = (alerts, supervision, sessions, interventions, runs, approvals, plans, state, versions, memory, triggers)
TELL = {kind: tell for area in AREAS for kind, tell in area.TELL.items()}


def entry(kind: str, data: Data | None, tool: str = "") -> Sentence:
    """What an entry says. `tool` is the tool of the call that it is about, when the entry itself does not name it."""
    if data is None:
        return Sentence(plain(kind), "erased with its subject, or pruned")
    tell = TELL.get(kind)
    return tell(data, plain(tool) if tool else "Step") if tell else Sentence(kind)
