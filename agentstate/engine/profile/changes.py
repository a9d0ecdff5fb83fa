"""What each event changes in a profile: `evolve`, a function an event, named like it. The profile is the fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from agentstate.engine.events import kind_of
from agentstate.engine.profile import events as ev
from agentstate.engine.profile.learned import dropped, kept
from agentstate.engine.profile.state import (
    MOST_MARKS,
    MOST_NAMES,
    MOST_RECORDS,
    Consent,
    History,
    Preference,
    ProfileState,
    Record,
    Refusal,
    Setting,
    Source,
)
from agentstate.engine.profile.values import key_of
from agentstate.errors import Broken

Held = TypeVar("Held")
FEEDBACK = "feedback"  # the rule that sources of feedback name


def fold(stored: Iterable[tuple[ev.AnyProfileEvent, str]], state: ProfileState | None = None) -> ProfileState:
    """The profile after `stored`: pairs of an event and its envelope's time."""
    state = state or ProfileState()
    for event, at in stored:
        state = evolve(state, event, at)
    return state


def evolve(state: ProfileState, event: ev.AnyProfileEvent, at: str) -> ProfileState:
    """The profile after `event`, which happened at `at`."""
    change = _CHANGES.get(type(event))
    if change is None:
        raise Broken(f"no one knows how {kind_of(event)} changes a profile")
    return replace(change(state, event, at), seq=state.seq + 1, last_at=at)


def _opened(state: ProfileState, event: ev.ProfileOpened, at: str) -> ProfileState:
    return replace(state, declared=event.declared, opened_at=at)


def _consent_given(state: ProfileState, event: ev.ConsentGiven, at: str) -> ProfileState:
    consent = Consent(True, at, event.by, event.declared, event.note)
    return replace(state, consents=_put(state.consents, event.purpose, consent))


def _consent_withdrawn(state: ProfileState, event: ev.ConsentWithdrawn, at: str) -> ProfileState:
    """Nothing that is held for the purpose stays."""
    consent = Consent(False, at, event.by, note=event.note)
    return replace(
        state,
        consents=_put(state.consents, event.purpose, consent),
        settings=_without(state.settings, event.purpose),
        preferences=_without(state.preferences, event.purpose),
        histories=_without(state.histories, event.purpose),
    )


def _setting_made(state: ProfileState, event: ev.SettingMade, at: str) -> ProfileState:
    made = Setting(event.value, event.purpose, at, event.by)
    return replace(state, settings=_put(state.settings, event.name, made))


def _setting_cleared(state: ProfileState, event: ev.SettingCleared, at: str) -> ProfileState:
    return replace(state, settings=_less(state.settings, event.name))


def _learned(state: ProfileState, event: ev.ProfileLearned, at: str) -> ProfileState:
    for seen in event.observed:
        source = Source(event.session, seen.seq, seen.at, seen.rule, seen.weight)
        state = _observed(state, seen.name, seen.value, seen.purpose, seen.half_life, source)
    for note in event.noted:
        state = _noted(state, note, Source(event.session, note.seq, note.at, note.rule))
    return _marked(state, event.session, event.through, at)


def _feedback_given(state: ProfileState, event: ev.FeedbackGiven, at: str) -> ProfileState:
    source = Source("", state.seq, at, FEEDBACK, event.weight)
    return _observed(state, event.name, event.value, event.purpose, event.half_life, source)


def _observed(state: ProfileState, name: str, value: Any, purpose: str, half_life: int, source: Source) -> ProfileState:
    before = state.preferences.get(name)
    learned = kept(before.learned if before else (), value, source)
    return replace(state, preferences=_put(state.preferences, name, Preference(purpose, half_life, learned)))


def _noted(state: ProfileState, note: ev.Noted, source: Source) -> ProfileState:
    before = state.histories.get(note.name, History(note.purpose)).records
    put = _tallied if note.form == "tally" else _listed
    records = put(before, Record(note.values, source))[: min(note.keep, MOST_RECORDS)]
    return replace(state, histories=_put(state.histories, note.name, History(note.purpose, records)))


def _listed(records: tuple[Record, ...], new: Record) -> tuple[Record, ...]:
    return tuple(sorted((*records, new), key=lambda record: record.source.place, reverse=True))


def _tallied(records: tuple[Record, ...], new: Record) -> tuple[Record, ...]:
    key = key_of(new.values)
    same = [record for record in records if key_of(record.values) == key]
    if same:
        newest = max(same[0].source, new.source, key=lambda source: source.place)
        new = Record(same[0].values, newest, same[0].count + 1)
    others = (record for record in records if key_of(record.values) != key)
    return tuple(sorted((*others, new), key=lambda record: (record.count, record.source.place), reverse=True))


def _marked(state: ProfileState, session: str, through: int, at: str) -> ProfileState:
    """The mark of a session moved on. A mark that is let go leaves the floor behind: nothing is learned twice."""
    marks = _less(state.marks, session)
    floor = state.floor
    while len(marks) >= MOST_MARKS:
        marks = _less(marks, next(iter(marks)))
        floor = max(floor, state.last_at)
    return replace(state, marks={**marks, session: max(through, state.marks.get(session, -1))}, floor=floor)


def _corrected(state: ProfileState, event: ev.LearnedCorrected, at: str) -> ProfileState:
    right = Setting(event.value, event.purpose, at, event.by, corrects=True)
    return replace(
        state,
        settings=_put(state.settings, event.name, right),
        preferences=_less(state.preferences, event.name),
    )


def _refused(state: ProfileState, event: ev.LearningRefused, at: str) -> ProfileState:
    refusal = Refusal(event.name, event.value)
    others = [
        held for held in state.refused if held != refusal and (event.value is not None or held.name != event.name)
    ]
    refused = (*others, refusal)[-MOST_NAMES:]
    preferences = dict(state.preferences)
    if event.name in preferences:
        left = dropped(preferences[event.name].learned, event.value)
        preferences[event.name] = replace(preferences[event.name], learned=left)
        if not left:
            del preferences[event.name]
    return replace(state, refused=refused, preferences=preferences)


def _allowed(state: ProfileState, event: ev.LearningAllowed, at: str) -> ProfileState:
    """Allowed from now on: what happened while it was refused stays unlearned."""
    key = key_of(event.value)
    left = tuple(held for held in state.refused if (held.name, key_of(held.value)) != (event.name, key))
    return replace(state, refused=left, floor=at)


def _forgotten(state: ProfileState, event: ev.ProfileForgotten, at: str) -> ProfileState:
    everything = event.part == "everything"
    changed = {
        name: ({} if everything else _less(getattr(state, name), event.name))
        for part, name in _PARTS.items()
        if everything or part == event.part
    }
    return replace(state, **changed, floor=at)


_PARTS = {"preference": "preferences", "setting": "settings", "history": "histories"}


def _put(held: dict[str, Held], name: str, item: Held) -> dict[str, Held]:
    """`held` with `item` as its newest; the oldest go first."""
    changed = {**_less(held, name), name: item}
    return dict(list(changed.items())[-MOST_NAMES:])


def _less(held: dict[str, Held], name: str) -> dict[str, Held]:
    return {key: item for key, item in held.items() if key != name}


def _without(held: dict[str, Any], purpose: str) -> dict[str, Any]:
    return {name: item for name, item in held.items() if item.purpose != purpose}


_CHANGES: Mapping[type, Callable[[ProfileState, Any, str], ProfileState]] = {
    ev.ProfileOpened: _opened,
    ev.ConsentGiven: _consent_given,
    ev.ConsentWithdrawn: _consent_withdrawn,
    ev.SettingMade: _setting_made,
    ev.SettingCleared: _setting_cleared,
    ev.ProfileLearned: _learned,
    ev.FeedbackGiven: _feedback_given,
    ev.LearnedCorrected: _corrected,
    ev.LearningRefused: _refused,
    ev.LearningAllowed: _allowed,
    ev.ProfileForgotten: _forgotten,
}
