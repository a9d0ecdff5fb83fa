"""`decide(command, state, declared, at) -> events` of a profile: the only place where its rules live.

Without consent for a preference's purpose nothing is learned and nothing is set; what was refused is not learned until
it is allowed; nothing is learned of what happened before the consent, or before the profile last forgot something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentstate.engine.profile import commands as ask
from agentstate.engine.profile import events as ev
from agentstate.engine.profile import happenings as seen
from agentstate.engine.profile.declared import Declaration, PreferenceKind
from agentstate.engine.profile.refusals import (
    LearningRefused,
    NoConsent,
    NothingHeld,
    PurposeRequired,
    TooManyRefusals,
    UnknownPreference,
    UnknownPurpose,
)
from agentstate.engine.profile.state import MOST_NAMES, ProfileState, Refusal
from agentstate.engine.profile.values import check, key_of
from agentstate.errors import Broken, Invalid

MAX_NOTE = 200  # characters
FEEDBACK_WEIGHT = 3  # what a customer says of themselves outweighs what they happened to do
MOST_ITEMS = 200  # that one event of learning holds

Events = list[ev.AnyProfileEvent]


def decide(command: ask.ProfileCommand, state: ProfileState, declared: Declaration, at: str) -> Events:
    """The events that `command` amounts to on `state` at the instant `at`. Raises a subclass of Refused."""
    rule = _RULES.get(type(command))
    if rule is None:
        raise Broken(f"no one decides {type(command).__name__}")
    events = rule(command, state, declared)
    first: Events = [] if state.opened_at or not events else [ev.ProfileOpened(declared.reference)]
    return [*first, *events]


def agreed(state: ProfileState, declared: Declaration, purpose: str) -> bool:
    """Whether the customer may be known for `purpose` now: the contract needs it, or there is a consent."""
    found = declared.purpose(purpose)
    if found is None:
        return False
    consent = state.consents.get(purpose)
    return found.required or (consent is not None and consent.granted)


def refused(state: ProfileState, name: str, value: Any) -> bool:
    """Whether this value, or its whole preference, must not be learned."""
    keys = (key_of(None), key_of(value))
    return any(refusal.name == name and key_of(refusal.value) in keys for refusal in state.refused)


def _agree(command: ask.Agree, state: ProfileState, declared: Declaration) -> Events:
    _consentable(declared, command.purpose)
    _noted(command.note)
    return [ev.ConsentGiven(command.purpose, command.by, declared.reference, command.note.strip())]


def _withdraw(command: ask.Withdraw, state: ProfileState, declared: Declaration) -> Events:
    """Also for a purpose that is declared no longer: a consent that was given can always be withdrawn."""
    if command.purpose not in state.consents:
        _consentable(declared, command.purpose)
    _noted(command.note)
    return [ev.ConsentWithdrawn(command.purpose, command.by, command.note.strip())]


def _consentable(declared: Declaration, name: str) -> None:
    purpose = declared.purpose(name)
    if purpose is None:
        raise UnknownPurpose(f"want one of {', '.join(item.name for item in declared.purposes)}", field="purpose")
    if purpose.required:
        raise PurposeRequired(name)


def _noted(note: str) -> None:
    if len(note) > MAX_NOTE:
        raise Invalid(f"got {len(note)} characters, at most {MAX_NOTE}", field="note")


def _prefer(command: ask.Prefer, state: ProfileState, declared: Declaration) -> Events:
    kind = _kind(declared, command.preference)
    check(kind.value, command.value)
    _must_be_agreed(state, declared, kind.purpose)
    return [ev.SettingMade(kind.name, command.value, kind.purpose, command.by)]


def _clear(command: ask.Clear, state: ProfileState, declared: Declaration) -> Events:
    if command.preference not in state.settings:
        raise NothingHeld("no such setting was made", field="preference")
    return [ev.SettingCleared(command.preference, command.by)]


def _rate(command: ask.Rate, state: ProfileState, declared: Declaration) -> Events:
    kind = _kind(declared, command.preference)
    check(kind.value, command.value)
    _must_be_agreed(state, declared, kind.purpose)
    if refused(state, kind.name, command.value):
        raise LearningRefused(kind.name)
    weight = FEEDBACK_WEIGHT if command.fits else -FEEDBACK_WEIGHT
    return [ev.FeedbackGiven(kind.name, command.value, weight, kind.purpose, kind.half_life, command.by)]


def _correct(command: ask.Correct, state: ProfileState, declared: Declaration) -> Events:
    kind = _kind(declared, command.preference)
    check(kind.value, command.value)
    if kind.name not in state.preferences:
        raise NothingHeld("nothing was learned here: say what the customer wants instead", field="preference")
    _must_be_agreed(state, declared, kind.purpose)
    return [ev.LearnedCorrected(kind.name, command.value, kind.purpose, command.by)]


def _refuse(command: ask.Refuse, state: ProfileState, declared: Declaration) -> Events:
    """Also of what is declared no longer, while the profile still holds it."""
    if command.preference not in state.preferences or command.value is not None:
        kind = _kind(declared, command.preference)
        if command.value is not None:
            check(kind.value, command.value)
    if len(state.refused) >= MOST_NAMES and not _holds(state, Refusal(command.preference, command.value)):
        raise TooManyRefusals(f"{MOST_NAMES} are held", field="preference")
    return [ev.LearningRefused(command.preference, command.by, command.value)]


def _allow(command: ask.Allow, state: ProfileState, declared: Declaration) -> Events:
    if not _holds(state, Refusal(command.preference, command.value)):
        raise NothingHeld("this was not refused", field="preference")
    return [ev.LearningAllowed(command.preference, command.by, command.value)]


def _holds(state: ProfileState, refusal: Refusal) -> bool:
    return any((held.name, key_of(held.value)) == (refusal.name, key_of(refusal.value)) for held in state.refused)


def _forget(command: ask.Forget, state: ProfileState, declared: Declaration) -> Events:
    held: dict[str, Mapping[str, Any]] = {
        "preference": state.preferences,
        "setting": state.settings,
        "history": state.histories,
    }
    if command.part == "everything":
        if command.name:
            raise Invalid("everything has no name", field="name")
    elif command.name not in held[command.part]:
        raise NothingHeld(f"no {command.part} of that name is held", field="name")
    return [ev.ProfileForgotten(command.part, command.by, command.name)]


def _learn(command: ask.Learn, state: ProfileState, declared: Declaration) -> Events:
    """Nothing at all when the entries teach nothing: then nothing needs to be remembered of them."""
    mark = state.marks.get(command.session, -1)
    fresh = [each for each in command.happenings if mark < each.seq <= command.through and each.at > state.floor]
    observed = [item for item in seen.observed(declared, fresh) if _may_learn(state, declared, item)]
    noted = [item for item in seen.noted(declared, fresh) if _since_agreed(state, declared, item)]
    if not observed and not noted:
        return []
    observed, noted = observed[:MOST_ITEMS], noted[:MOST_ITEMS]
    return [ev.ProfileLearned(command.session, command.through, tuple(observed), tuple(noted))]


def _may_learn(state: ProfileState, declared: Declaration, item: ev.Observed) -> bool:
    return _since_agreed(state, declared, item) and not refused(state, item.name, item.value)


def _since_agreed(state: ProfileState, declared: Declaration, item: ev.Observed | ev.Noted) -> bool:
    """Whether it happened while the customer agreed to be known for it."""
    consent = state.consents.get(item.purpose)
    if not agreed(state, declared, item.purpose):
        return False
    return consent is None or not consent.granted or item.at > consent.at


def _kind(declared: Declaration, name: str) -> PreferenceKind:
    kind = declared.preference(name)
    if kind is None:
        raise UnknownPreference(
            f"want one of {', '.join(item.name for item in declared.preferences)}", field="preference"
        )
    return kind


def _must_be_agreed(state: ProfileState, declared: Declaration, purpose: str) -> None:
    if not agreed(state, declared, purpose):
        raise NoConsent(f"the purpose is {purpose}", purpose=purpose)


_RULES: Mapping[type[ask.ProfileCommand], Callable[[Any, ProfileState, Declaration], Events]] = {
    ask.Agree: _agree,
    ask.Withdraw: _withdraw,
    ask.Prefer: _prefer,
    ask.Clear: _clear,
    ask.Rate: _rate,
    ask.Correct: _correct,
    ask.Refuse: _refuse,
    ask.Allow: _allow,
    ask.Forget: _forget,
    ask.Learn: _learn,
}
