"""How much an item of the conversation matters: points that declared rules give it, and what people said of it.

A rule is data. All its conditions must hold: the role, the tool, the outcome of a call, words that are said, and marks
that the text shows (money, an account, a name, a date). An item's points are the sum over its rules, and of ratings by
people, decayed with the customer's turns and with time. Texts are read up to a bound, so a rule's cost is bounded too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from agentstate.engine.conversation import Item
from agentstate.engine.memory.decay import decayed, seconds_between

READ = 4_000  # characters of an item that rules read
RATING = 60  # points of one step of a rating, up or down
Mark = Literal["money", "account", "name", "date", "question"]
Keep = Literal["", "rule", "agent"]

_MARKS: Mapping[str, re.Pattern[str]] = {
    "money": re.compile(r'[$€£¥]\s?\d|\d\s?(?:dollars|euros|pounds|usd|eur|gbp)\b|"minor":\s?\d', re.IGNORECASE),
    # What looks ahead spares most places the alternatives: the texts of all items pass here.
    "account": re.compile(
        r"(?=[acei*·])(?:\b(?:account|card|iban|ending)\b.{0,12}?\d{3}|\*{2,}\d{3}|··\d{3})", re.IGNORECASE
    ),
    "name": re.compile(r"\b[A-Z][a-z]{1,20} [A-Z][a-z]{1,20}\b"),
    "date": re.compile(
        r"\b(?=[\dmtwf])(?:\d{4}-\d\d-\d\d|monday|tuesday|wednesday|thursday|friday|tomorrow)\b", re.IGNORECASE
    ),
    "question": re.compile(r"\?"),
}
_WORD = re.compile(r"[\w']+")
_STATUS = re.compile(r'"status":\s?"([a-z_]{1,20})"')


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points for items of a kind. Conditions that are empty are not asked. `pin` keeps what matches for good: `rule`
    in the rule's own name, `agent` where calling the tool is the agent's way to say so.
    """

    name: str
    points: int
    roles: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()  # of a call: ok, edited, rejected, responded, expired, withdrawn, error
    says: tuple[str, ...] = ()  # words or phrases, in lower case
    shows: tuple[Mark, ...] = ()
    pin: Keep = ""


DEFAULT_RULES: tuple[Rule, ...] = (
    Rule("customer", 100, roles=("customer",)),
    Rule("colleague", 140, roles=("staff", "note")),
    Rule("agent", 40, roles=("agent",)),
    Rule("result", 60, roles=("tool",)),
    Rule("decision", 200, outcomes=("edited", "rejected", "responded", "withdrawn", "expired")),
    Rule("failure", 80, outcomes=("error",)),
    Rule("money", 60, shows=("money",)),
    Rule("account", 40, shows=("account",)),
    Rule("name", 20, shows=("name",)),
    Rule("date", 20, shows=("date",)),
    Rule(
        "constraint",
        160,
        roles=("customer", "staff", "note"),
        says=("never", "only", "must", "do not", "don't", "at most", "no more than", "not before", "unless"),
    ),
    Rule("remembered", 120, tools=("remember",), pin="agent"),
)


class Importance(msgspec.Struct, frozen=True):
    """How much an item matters now, and why: `points` after decay, `full` before it, the reasons with their points."""

    points: int
    full: int
    why: tuple[tuple[str, int], ...]
    pinned: bool = False


def matches(rule: Rule, item: Item) -> bool:
    """Whether every condition of the rule holds for the item."""
    return (
        (not rule.roles or item.role in rule.roles)
        and (not rule.tools or not _tools(item).isdisjoint(rule.tools))
        and (not rule.outcomes or (item.role == "tool" and outcome(item) in rule.outcomes))
        and (not rule.says or _says(item.text[:READ], rule.says))
        and (not rule.shows or _shows(item.text[:READ], rule.shows))
    )


def outcome(item: Item) -> str:
    """How the call ended whose result this item is: the status that the model is told."""
    found = _STATUS.match(item.text, 1)
    return found[1] if found else ""


def _shows(text: str, marks: tuple[Mark, ...]) -> bool:
    return any(_MARKS[mark].search(text) for mark in marks)


def _tools(item: Item) -> set[str]:
    return {item.by} if item.role == "tool" else {call.tool for call in item.calls}


def _says(text: str, phrases: tuple[str, ...]) -> bool:
    said = " ".join(["", *_WORD.findall(text.lower().replace("’", "'")), ""])
    return any(f" {phrase} " in said for phrase in phrases)


def importance(
    item: Item,
    rules: tuple[Rule, ...],
    *,
    rating: int,
    pinned: bool,
    turn: int,
    at: str,
    half_life_turns: int,
    half_life_seconds: int,
) -> Importance:
    """How much the item matters at the customer's turn `turn` and the instant `at`. A pinned one never decays."""
    why, full = _by_rules(item, rules)
    if rating:
        why, full = (*why, ("rated", rating * RATING)), full + rating * RATING
    left = full = max(0, full)
    if left and not pinned:
        left = _faded(left, item, turn, at, half_life_turns, half_life_seconds)
    return Importance(left, full, why, pinned)


def plain_points(
    item: Item, rules: tuple[Rule, ...], turn: int, at: str, half_life_turns: int, half_life_seconds: int
) -> int:
    """The `points` alone, of an item that nobody pinned or rated."""
    return _faded(max(0, _by_rules(item, rules)[1]), item, turn, at, half_life_turns, half_life_seconds)


def _faded(points: int, item: Item, turn: int, at: str, half_life_turns: int, half_life_seconds: int) -> int:
    left = decayed(points, turn - item.turn, half_life_turns)
    return decayed(left, seconds_between(item.at, at), half_life_seconds)


def _by_rules(item: Item, rules: tuple[Rule, ...]) -> tuple[tuple[tuple[str, int], ...], int]:
    """The points that rules give and their sum: asked once, for an item says the same for ever."""
    kept: tuple[tuple[Rule, ...], tuple[tuple[str, int], ...], int] | None = item.__dict__.get("points")
    if kept is None or kept[0] is not rules:
        why = tuple([(rule.name, rule.points) for rule in rules if matches(rule, item)])
        kept = item.__dict__["points"] = (rules, why, sum([points for _, points in why]))
    return kept[1:]
