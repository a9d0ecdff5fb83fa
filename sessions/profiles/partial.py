"""What of a profile a reader sees who may read only some of the customer's sessions: pure."""

from __future__ import annotations

from collections.abc import Set

import msgspec

from agentstate.engine.profile import ProfileState
from agentstate.engine.profile.state import History, Learned, Preference


def seen_from(state: ProfileState, sessions: Set[str]) -> ProfileState:
    """Returns the state as it is known from these sessions alone.

    What the customer said they want, and why they agree or refuse, names no session: it is left out. Whether they agree
    stays, since whoever serves them must heed it.
    """
    return msgspec.structs.replace(
        state,
        consents={name: msgspec.structs.replace(each, by="", note="") for name, each in state.consents.items()},
        settings={},
        refused=(),
        preferences={name: _preference(each, sessions) for name, each in state.preferences.items()},
        histories={name: _history(each, sessions) for name, each in state.histories.items()},
        marks={},
    )


def _preference(preference: Preference, sessions: Set[str]) -> Preference:
    known = (_learned(each, sessions) for each in preference.learned)
    return msgspec.structs.replace(preference, learned=tuple(each for each in known if each.sources))


def _learned(item: Learned, sessions: Set[str]) -> Learned:
    sources = tuple(each for each in item.sources if each.session in sessions)
    return Learned(item.value, len(sources), sources)


def _history(history: History, sessions: Set[str]) -> History:
    records = (each for each in history.records if each.source.session in sessions)
    return msgspec.structs.replace(history, records=tuple(msgspec.structs.replace(each, count=1) for each in records))
