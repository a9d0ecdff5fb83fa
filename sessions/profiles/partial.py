"""The part of a profile that is known from some of the customer's sessions: for a reader who may not read the others,
and for the agents of one team. Pure.
"""

from __future__ import annotations

from collections.abc import Set

import msgspec

from agentstate.engine.profile import ProfileState
from agentstate.engine.profile.state import History, Learned, Preference


def seen_from(state: ProfileState, sessions: Set[str]) -> ProfileState:
    """Returns the state as it is known from these sessions alone.

    The customer's own settings and the reasons of consents name no session: they are left out. The consents themselves
    stay, because every team that serves the customer must follow them.
    """
    return msgspec.structs.replace(
        taught_by(state, sessions),
        consents={name: msgspec.structs.replace(each, by="", note="") for name, each in state.consents.items()},
        settings={},
        refused=(),
        marks={},
    )


def taught_by(state: ProfileState, sessions: Set[str]) -> ProfileState:
    """Returns the state with only what these sessions taught; what the customer said themselves stays."""
    preferences = {name: _preference(each, sessions) for name, each in state.preferences.items()}
    histories = {name: _history(each, sessions) for name, each in state.histories.items()}
    return msgspec.structs.replace(
        state,
        preferences={name: each for name, each in preferences.items() if each.learned},
        histories={name: each for name, each in histories.items() if each.records},
    )


def teachers(state: ProfileState) -> frozenset[str]:
    """Returns the sessions that anything in the state was learned from."""
    learned = (source for each in state.preferences.values() for item in each.learned for source in item.sources)
    noted = (record.source for each in state.histories.values() for record in each.records)
    return frozenset(source.session for source in (*learned, *noted) if source.session)


def _preference(preference: Preference, sessions: Set[str]) -> Preference:
    known = (_learned(each, sessions) for each in preference.learned)
    return msgspec.structs.replace(preference, learned=tuple(each for each in known if each.sources))


def _learned(item: Learned, sessions: Set[str]) -> Learned:
    sources = tuple(each for each in item.sources if each.session in sessions)
    return Learned(item.value, len(sources), sources)


def _history(history: History, sessions: Set[str]) -> History:
    records = (each for each in history.records if each.source.session in sessions)
    return msgspec.structs.replace(history, records=tuple(msgspec.structs.replace(each, count=1) for each in records))
