"""What happened to a customer's profile, in a supervisor's words. Pure; nothing is read here."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from agentstate.engine.profile import commands as ask
from sessions.descriptions.sentence import Data, Sentence
from sessions.descriptions.values import plain, value

_PARTS = {"preference": "What was learned", "setting": "What the customer said", "history": "The history"}


def entry(kind: str, data: Data | None) -> Sentence:
    """What an entry of a profile's log says."""
    if data is None:
        return Sentence(plain(kind), "erased with its subject")
    tell = _TELL.get(kind)
    return tell(data) if tell else Sentence(kind)


def change(command: ask.PersonsCommand) -> str:
    """Returns what a command asks of a profile, in the words of the entry that it leads to."""
    kind, data = _as_entry(command)
    sentence = entry(kind, data)
    return f"{sentence.act}: {sentence.about}."


def _as_entry(command: ask.PersonsCommand) -> tuple[str, Data]:
    match command:
        case ask.Agree(purpose=purpose, note=note):
            return "profile.consent_given", {"purpose": purpose, "note": note}
        case ask.Withdraw(purpose=purpose, note=note):
            return "profile.consent_withdrawn", {"purpose": purpose, "note": note}
        case ask.Prefer(preference=name, value=given):
            return "profile.setting_made", {"name": name, "value": given}
        case ask.Clear(preference=name):
            return "profile.setting_cleared", {"name": name}
        case ask.Rate(preference=name, value=given, fits=fits):
            return "profile.feedback_given", {"name": name, "value": given, "weight": 1 if fits else -1}
        case ask.Correct(preference=name, value=given):
            return "profile.corrected", {"name": name, "value": given}
        case ask.Refuse(preference=name, value=given):
            return "profile.refused", {"name": name, "value": given}
        case ask.Allow(preference=name, value=given):
            return "profile.allowed", {"name": name, "value": given}
        case ask.Forget(part=part, name=name):
            return "profile.forgotten", {"part": part, "name": name}


def named(name: str) -> str:
    """A declared name as words: own_limit becomes "own limit"."""
    return plain(name).lower()


def percent(confidence: Decimal) -> str:
    """A confidence as people read it, rounded down."""
    return f"{int(confidence * 100)}%"


def _learned(data: Data) -> Sentence:
    seen = [f"{named(item['name'])}: {value(item['value'])}" for item in data["observed"]]
    noted = [named(item["name"]) for item in data["noted"]]
    return Sentence("A session taught", ", ".join([*seen, *dict.fromkeys(noted)]))


def _refusal(act: str) -> Callable[[Data], Sentence]:
    def told(data: Data) -> Sentence:
        only = f", only {value(data['value'])}" if data.get("value") is not None else ""
        return Sentence(act, f"{named(data['name'])}{only}", "p")

    return told


def _feedback(data: Data) -> Sentence:
    act = "This fits the customer" if data["weight"] > 0 else "This does not fit the customer"
    return Sentence(act, f"{named(data['name'])}: {value(data['value'])}", "p")


def _forgotten(data: Data) -> Sentence:
    if data["part"] == "everything":
        return Sentence("Forgot everything", "but consents and refusals", "p")
    return Sentence(f"{_PARTS[data['part']]} was forgotten", named(data["name"]), "p")


def _made(act: str) -> Callable[[Data], Sentence]:
    return lambda data: Sentence(act, f"{named(data['name'])}: {value(data['value'])}", "p")


def _purpose(act: str) -> Callable[[Data], Sentence]:
    def told(data: Data) -> Sentence:
        note = f": {data['note']}" if data.get("note") else ""
        return Sentence(act, f"{named(data['purpose'])}{note}", "p")

    return told


_TELL: dict[str, Callable[[dict[str, Any]], Sentence]] = {
    "profile.opened": lambda data: Sentence("The profile begins", f"declaration {data['declared']}"),
    "profile.consent_given": _purpose("The customer agrees"),
    "profile.consent_withdrawn": _purpose("The customer agrees no longer"),
    "profile.setting_made": _made("The customer wants"),
    "profile.setting_cleared": lambda data: Sentence("The customer takes it back", named(data["name"]), "p"),
    "profile.learned": _learned,
    "profile.feedback_given": _feedback,
    "profile.corrected": _made("What was learned was wrong, right is"),
    "profile.refused": _refusal("Must not be learned"),
    "profile.allowed": _refusal("May be learned again"),
    "profile.forgotten": _forgotten,
}
