"""A customer's profile: what they set, what was learned of them, their consents, and the history across sessions.

A profile is a log of its own, one a data subject, and its state the fold of that log; sessions only teach it, by rules
that are declared as data, and are given back what the declared mapping makes of it. Read in this order: `declared`
(what may be known, and what may come of it), `events`, `state`, `changes` (what each event changes), `learned` (how
what was learned is kept and fades), `happenings` (what a session's entries teach), `commands` and `decide` (the
rules), `mapping` (what it changes in an agent's behaviour).
"""

from __future__ import annotations

from agentstate.engine.events.conversation import Adaptation, Tightening
from agentstate.engine.profile.changes import evolve, fold
from agentstate.engine.profile.decide import agreed, decide
from agentstate.engine.profile.declared import Declaration, load
from agentstate.engine.profile.happenings import Happening
from agentstate.engine.profile.mapping import adapt, beliefs, effective, tightened, user_view
from agentstate.engine.profile.state import ProfileState, from_snapshot, to_snapshot

__all__ = [
    "Adaptation",
    "Declaration",
    "Happening",
    "ProfileState",
    "Tightening",
    "adapt",
    "agreed",
    "beliefs",
    "decide",
    "effective",
    "evolve",
    "fold",
    "from_snapshot",
    "load",
    "tightened",
    "to_snapshot",
    "user_view",
]
