"""What an alert rule is, as data: on what, in which sessions, how heavy, for whom, and who next.

A condition (`when`) is in the guard language over `event` (the entry that made the rule hit; empty where time did),
`state` (the scratchpad of the session) and `session` (its facts), as a trigger's is. One that cannot be read is never
taken for a yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, get_args

import msgspec

from agentstate.engine.alerts import Names, Onward, Severity
from agentstate.errors import Invalid
from agentstate.people.roles import Role
from sessions.automation.alerts import phrases
from sessions.automation.alerts.phrases import Match
from sessions.automation.rules import definition as rules

MAX_PHRASES = 100
MAX_WORDS = 12  # of one phrase
LONGEST_PHRASE = 200  # characters
LONGEST = 30 * 24 * 3600  # seconds of any waiting
MAX_COUNT = 50
MAX_TO = 20
MAX_CHAIN = 8
MAX_NAMES = 50  # agents, channels, kinds, tiers of one rule
OWN = "alert."  # kinds that no rule hears: alerts cause no alerts
_NAME = re.compile(r"(owner|role:[a-z]+|team:[a-z0-9][a-z0-9_-]{0,59}|user:[^\s,]{1,60})")

Kind = Literal[
    "phrase",
    "silence",
    "loop",
    "stuck",
    "refused",
    "person",
    "deadline",
    "expired",
    "tool",
    "unrecovered",
    "entry",
    "level",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
Speaker = Literal["customer", "agent", "staff"]
StuckWhy = Literal["doubted", "failed", "session", "stalled"]


class BadRule(Invalid):
    """The alert rule is not sound."""

    code = "bad_alert_rule"


class Phrase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody of `by` says these words: any of them, all of them, or exactly one of them."""

    words: tuple[str, ...]
    match: Match = "any"
    by: tuple[Speaker, ...] = ("customer",)


class Silence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nobody has spoken for so long while it was our turn (the agent's, or that of the person who has taken over), or
    the customer's.
    """

    seconds: int
    whose: Literal["ours", "customer"] = "ours"


class Loop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The engine has noticed that the agent goes round in circles, or has stopped a run at a bound."""

    circles: bool = True
    stops: bool = True


class Stuck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing goes on until somebody steps in, for one of these reasons, and that for `seconds`."""

    reasons: tuple[StuckWhy, ...] = ("doubted", "failed", "session", "stalled")
    seconds: int = 0


class Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many calls were refused, or rejected by people, within so many seconds. With `codes` only refusals of these
    codes count (`not_offered`).
    """

    count: int = 3
    seconds: int = 600
    codes: tuple[str, ...] = ()


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The customer asks for a person, and nobody has come for `seconds`."""

    seconds: int = 0


class Deadline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request is `seconds` from its deadline, or has `percent` of its time left: whichever comes first of those that
    are given. `tiers` empty: of any.
    """

    seconds: int = 0
    percent: int = 0
    tiers: tuple[int, ...] = ()


class Expired(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nobody decided a request in time."""

    tiers: tuple[int, ...] = ()


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool (empty: whichever) failed so often within so many seconds, in one session."""

    tool: str = ""
    count: int = 3
    seconds: int = 600


class Unrecovered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call failed for good, no call of that tool has worked since, and the agent does nothing more about it for
    `seconds`. `tool` empty: whichever.
    """

    tool: str = ""
    seconds: int = 30


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of one of these kinds; with the rule's condition the general form of all others."""

    kinds: tuple[str, ...]


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A service level (its target by name; empty: any) is at risk, or was missed."""

    target: str = ""
    at: Literal["risk", "missed"] = "missed"


class On(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of these."""

    phrase: Phrase | None = None
    silence: Silence | None = None
    loop: Loop | None = None
    stuck: Stuck | None = None
    refused: Refused | None = None
    person: Person | None = None
    deadline: Deadline | None = None
    expired: Expired | None = None
    tool: Tool | None = None
    unrecovered: Unrecovered | None = None
    entry: Entry | None = None
    level: Level | None = None

    @property
    def kind(self) -> Kind:
        """Which of them."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def part(self) -> Any:
        """What it asks for."""
        return getattr(self, self.kind)


class Definition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An alert rule. `agents` and `channels` empty: all. `cool_down`: seconds after one of its alerts was raised before
    there is another about the same. `closes`: its alerts end by themselves when their cause is over.
    """

    on: On
    when: str = "true"
    agents: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    severity: Severity = "warning"
    to: Names = ("owner", "role:supervisor")
    chain: tuple[Onward, ...] = ()
    cool_down: int = 300
    closes: bool = True


def load(data: Any) -> Definition:
    """A sound definition of decoded JSON. Raises BadRule, BadGuard naming the field."""
    found = rules.decoded(data, Definition, BadRule)
    rules.must_be_one("on", found.on, BadRule)
    _must_be_sound(found)
    _must_be_addressed(found)
    rules.must_compile("when", found.when, asks=True)
    return found


def dump(definition: Definition) -> dict[str, Any]:
    """Returns the definition as JSON has it."""
    return rules.encoded(definition)


def _must_be_sound(found: Definition) -> None:
    kind, part = found.on.kind, found.on.part
    numbers: list[tuple[str, int, int, int]] = [("cool_down", found.cool_down, 0, LONGEST)]
    if hasattr(part, "seconds"):
        least = 0 if kind in ("stuck", "person", "deadline", "unrecovered") else 1
        numbers.append((f"on.{kind}.seconds", part.seconds, least, LONGEST))
    if hasattr(part, "count"):
        numbers.append((f"on.{kind}.count", part.count, 1, MAX_COUNT))
    if hasattr(part, "percent"):
        numbers.append((f"on.{kind}.percent", part.percent, 0, 99))
    rules.must_be_within(numbers, BadRule)
    for field, values in (("agents", found.agents), ("channels", found.channels)):
        rules.must_be_names(field, values, MAX_NAMES, BadRule)
    if isinstance(part, Phrase):
        _must_be_phrases(part)
    if isinstance(part, Entry):
        _must_be_kinds(part.kinds)
    if isinstance(part, Deadline) and not part.seconds and not part.percent:
        raise BadRule("say how near: seconds or percent", field="on.deadline")
    if isinstance(part, Loop) and not (part.circles or part.stops):
        raise BadRule("want circles, stops or both", field="on.loop")
    if isinstance(part, Stuck) and not part.reasons:
        raise BadRule("want reasons", field="on.stuck.reasons")
    if isinstance(part, Refused):
        rules.must_be_names("on.refused.codes", part.codes, MAX_NAMES, BadRule)
    if isinstance(part, Deadline | Expired):
        _must_be_tiers(f"on.{kind}.tiers", part.tiers)


def _must_be_tiers(field: str, tiers: tuple[int, ...]) -> None:
    if not set(tiers) <= set(range(4)):
        raise BadRule("tiers are 0 to 3", field=field)


def _must_be_phrases(part: Phrase) -> None:
    if not part.words or len(part.words) > MAX_PHRASES:
        raise BadRule(f"want 1 to {MAX_PHRASES} phrases", field="on.phrase.words")
    if not part.by:
        raise BadRule("say whose words", field="on.phrase.by")
    for phrase in part.words:
        if len(phrase) > LONGEST_PHRASE or not 0 < len(phrases.folded(phrase)) <= MAX_WORDS:
            raise BadRule(f"want 1 to {MAX_WORDS} words, got {phrase[:60]!r}", field="on.phrase.words")


def _must_be_kinds(kinds: tuple[str, ...]) -> None:
    rules.must_be_kinds("on.entry.kinds", kinds, BadRule, MAX_NAMES)
    if any(kind.startswith(OWN) for kind in kinds):
        raise BadRule("an alert causes no alert", field="on.entry.kinds")


def _must_be_addressed(found: Definition) -> None:
    if not found.to:
        raise BadRule("say whom it is for", field="to")
    _must_be_names("to", found.to)
    if len(found.chain) > MAX_CHAIN:
        raise BadRule(f"at most {MAX_CHAIN} steps", field="chain")
    last = 0
    for step in found.chain:
        if not last < step.after <= LONGEST or not step.to:
            raise BadRule("each step is later than the one before, and for somebody", field="chain")
        _must_be_names("chain", step.to)
        last = step.after


def _must_be_names(field: str, names: Iterable[str]) -> None:
    listed = list(names)
    if len(listed) > MAX_TO:
        raise BadRule(f"at most {MAX_TO}", field=field)
    for name in listed:
        known = _NAME.fullmatch(name) and (not name.startswith("role:") or name[5:] in set(Role))
        if not known:
            raise BadRule(f"want owner, role:..., team:... or user:..., got {name[:60]!r}", field=field)
