"""What a profile changes in an agent's behaviour, by the declared mapping and nothing else.

`adapt` is what a session is given of its customer: the view that the model reads, instructions, parameters of the
model, and thresholds for policy; and the names of the mappings that led there, for the record of each step. A
threshold joins what policy says (`tightened`): the higher tier, the greater quorum, the gate that asks. So a
preference may make policy stricter, and never laxer.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine import guards
from agentstate.engine.events.conversation import Adaptation, Tightening
from agentstate.engine.policy import Verdict
from agentstate.engine.profile.decide import agreed, refused
from agentstate.engine.profile.declared import PLACE, Declaration, Mapping, PreferenceKind, Threshold
from agentstate.engine.profile.happenings import at_path
from agentstate.engine.profile.learned import confidences
from agentstate.engine.profile.state import Learned, ProfileState, Record
from agentstate.engine.profile.values import key_of

SURE = Decimal(1)


class Effective(msgspec.Struct, frozen=True):
    """The value of a preference that counts now: said by the customer, or learned with this confidence."""

    name: str
    value: Any
    said: bool
    confidence: Decimal


def effective(profile: ProfileState, declared: Declaration, kind: PreferenceKind, at: str) -> Effective | None:
    """What counts of one preference: what the customer said, else the learned value that is sure enough, else None.

    Nothing counts without consent to its purpose; a value that the declaration does not know any more does not either.
    """
    if not agreed(profile, declared, kind.purpose):
        return None
    setting = profile.settings.get(kind.name)
    if setting is not None:
        return None if kind.value.fault(setting.value) else Effective(kind.name, setting.value, True, SURE)
    for item, confidence in beliefs(profile, kind, at):
        usable = not kind.value.fault(item.value) and not refused(profile, kind.name, item.value)
        if usable and confidence * 100 >= kind.threshold:
            return Effective(kind.name, item.value, False, confidence)
    return None


def beliefs(profile: ProfileState, kind: PreferenceKind, at: str) -> list[tuple[Learned, Decimal]]:
    """The learned values of one preference with the confidence in each, the surest first."""
    held = profile.preferences.get(kind.name)
    if held is None:
        return []
    pairs = list(zip(held.learned, confidences(held, at), strict=True))
    return sorted(pairs, key=lambda pair: (-pair[1], key_of(pair[0].value)))


def counting(profile: ProfileState, declared: Declaration, purposes: Iterable[str], at: str) -> dict[str, Effective]:
    """Every preference for one of these purposes that counts now, by name."""
    kinds = [kind for kind in declared.preferences if kind.purpose in set(purposes)]
    return {kind.name: found for kind in kinds if (found := effective(profile, declared, kind, at)) is not None}


def user_view(profile: ProfileState, declared: Declaration, purposes: Iterable[str], at: str) -> dict[str, Any]:
    """What a model is shown of a customer, for these purposes only. Empty when there is nothing to show."""
    return _view(profile, declared, purposes, counting(profile, declared, purposes, at))


def _view(
    profile: ProfileState, declared: Declaration, purposes: Iterable[str], counts: dict[str, Effective]
) -> dict[str, Any]:
    wanted = {purpose for purpose in purposes if agreed(profile, declared, purpose)}
    preferences = {
        name: {"value": found.value, "from": "said" if found.said else "learned"} for name, found in counts.items()
    }
    history = {
        kind.name: [_shown(record) for record in profile.histories[kind.name].records[: kind.shown]]
        for kind in declared.histories
        if kind.purpose in wanted and kind.name in profile.histories
    }
    return {name: part for name, part in (("preferences", preferences), ("history", history)) if part}


def _shown(record: Record) -> dict[str, Any]:
    """A record as a model reads it: its fields, when it was, and how often when that was more than once."""
    told = {**record.values, "at": record.source.at}
    return {**told, "times": record.count} if record.count > 1 else told


def adapt(profile: ProfileState, declared: Declaration, at: str) -> Adaptation:
    """What a session whose agent works under `declared` is given of `profile` at the instant `at`."""
    counts = counting(profile, declared, declared.uses, at)
    applied = [(mapping, found) for mapping in declared.mappings if (found := _applies(mapping, counts)) is not None]
    parameters: dict[str, int] = {}
    for mapping, _ in applied:
        for name, wanted in mapping.parameters.items():
            parameters.setdefault(name, declared.parameters[name].within(wanted))
    return Adaptation(
        profile=profile.seq,
        declared=declared.reference,
        view=_view(profile, declared, declared.uses, counts),
        instructions=tuple(_instruction(mapping, found) for mapping, found in applied if mapping.instructions),
        parameters=parameters,
        tightenings=tuple(_tightening(m.name, m.threshold, f.value) for m, f in applied if m.threshold is not None),
        mappings=tuple(mapping.name for mapping, _ in applied),
        consents=tuple(name for name in declared.uses if name in profile.consents and agreed(profile, declared, name)),
    )


def _applies(mapping: Mapping, counts: dict[str, Effective]) -> Effective | None:
    """The preference that this mapping is of, when it counts and is as wanted."""
    found = counts.get(mapping.preference)
    if found is None or (mapping.equals is not None and key_of(mapping.equals) != key_of(found.value)):
        return None
    unwanted = mapping.threshold is not None and mapping.threshold.path is None and found.value is not True
    return None if unwanted else found


def _instruction(mapping: Mapping, found: Effective) -> str:
    return mapping.instructions.replace(PLACE, _spoken(found.value))


def _spoken(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['minor'] // 100}.{value['minor'] % 100:02d} {value['currency']}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _tightening(name: str, threshold: Threshold, value: Any) -> Tightening:
    made = Tightening(name, threshold.tools, threshold.tier, threshold.quorum, threshold.why, threshold.when)
    if threshold.path is None or threshold.bound is None:
        return made
    number, currency = (value["minor"], value["currency"]) if isinstance(value, dict) else (value, "")
    return msgspec.structs.replace(made, path=threshold.path, above=threshold.bound.within(number), currency=currency)


def tightened(verdict: Verdict, own: Iterable[Tightening], tool: str, values: dict[str, Any]) -> Verdict:
    """`verdict` with every threshold of the customer's `own` that speaks of this call added to it, and their names.

    Each part of the answer asks for at least as much as `verdict` did.
    """
    for each in own:
        if tool in each.tools and _reaches(each, values):
            verdict = _joined(verdict, each)
    return verdict


def _joined(verdict: Verdict, own: Tightening) -> Verdict:
    if verdict.gate == "refuse":
        return verdict
    stricter = verdict.gate != "approve" or (own.tier, own.quorum) > (verdict.tier, verdict.quorum)
    return msgspec.structs.replace(
        verdict,
        gate="approve",
        sticky=None,  # the customer wants a person each time
        tier=max(verdict.tier, own.tier),
        quorum=max(verdict.quorum, own.quorum),
        rule=f"profile.{own.name}" if stricter else verdict.rule,
        why=own.why if stricter else verdict.why,
        adapted=(*verdict.adapted, own.name),
    )


def _reaches(tightening: Tightening, values: dict[str, Any]) -> bool:
    """Whether the call is above the customer's limit. What cannot be read or compared counts as above: it fails
    closed.
    """
    try:
        if not guards.holds(tightening.when, values):
            return False
    except (guards.BadGuard, guards.UnreadableGuard):
        return True
    return not tightening.path or _above(tightening, at_path(values, tightening.path))


def _above(tightening: Tightening, found: object) -> bool:
    money = found if isinstance(found, dict) else {"minor": found, "currency": ""}
    number, currency = money.get("minor"), money.get("currency")
    if isinstance(number, bool) or not isinstance(number, int):
        return True
    return number > tightening.above or (bool(tightening.currency) and currency != tightening.currency)
