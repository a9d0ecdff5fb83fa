"""What happened, in a supervisor's words. Pure: entries, lines and values in, sentences out; nothing is read here.

Each area tells its own kinds of entry, in a file of its own; `entry` looks among all of them. An entry that was erased
says so; a kind that is not known here is named as it is.
"""

from __future__ import annotations

from sessions.words import (
    alerts,
    approvals,
    changes,
    interventions,
    memory,
    plans,
    runs,
    session,
    supervision,
    triggers,
    versions,
)
from sessions.words.approvals import gap, groups_of_people, proposed, sent_to_deputies, too_few
from sessions.words.differences import difference
from sessions.words.sentence import Data, Sentence
from sessions.words.standing import (
    DOING,
    EXECUTIONS,
    NOT_DONE,
    OUTCOMES,
    STANDS,
    Doing,
    happening,
    speaker,
    spoken_by,
    stands,
)
from sessions.words.values import MOST_FACTS, Group, account, facts, groups, plain, result, rows, text, value

__all__ = [
    "DOING",
    "EXECUTIONS",
    "MOST_FACTS",
    "NOT_DONE",
    "OUTCOMES",
    "STANDS",
    "TELL",
    "Data",
    "Doing",
    "Group",
    "Sentence",
    "account",
    "difference",
    "entry",
    "facts",
    "gap",
    "groups",
    "groups_of_people",
    "happening",
    "plain",
    "proposed",
    "result",
    "rows",
    "sent_to_deputies",
    "speaker",
    "spoken_by",
    "stands",
    "text",
    "too_few",
    "value",
]

AREAS = (alerts, supervision, session, interventions, runs, approvals, plans, changes, versions, memory, triggers)
TELL = {kind: tell for area in AREAS for kind, tell in area.TELL.items()}


def entry(kind: str, data: Data | None, tool: str = "") -> Sentence:
    """What an entry says. `tool` is the tool of the call that it is about, when the entry itself does not name it."""
    if data is None:
        return Sentence(plain(kind), "erased with its subject, or pruned")
    tell = TELL.get(kind)
    return tell(data, plain(tool) if tool else "Step") if tell else Sentence(kind)
