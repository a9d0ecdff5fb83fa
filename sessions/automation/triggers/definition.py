"""What a trigger is, as data: on what, when, what it does, how often at most.

The expressions are those of every rule (`rules.definition`).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from agentstate.errors import Invalid
from sessions.automation.rules import definition as rules
from sessions.automation.triggers import schedule
from sessions.automation.triggers.schedule import Schedule

MAX_RATE = 10_000  # times in one window
MAX_WINDOW = 24 * 3600  # seconds
MAX_PER_DAY = 100_000
MAX_DEPTH = 5  # triggers in one chain
OPS = ("insert", "update", "delete")

Source = Literal["entry", "row", "schedule", "hook"]
SOURCES: tuple[Source, ...] = get_args(Source)


class BadTrigger(Invalid):
    """The trigger's definition is not sound."""

    code = "bad_trigger"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of one of these kinds, in a session of the team (and of this agent)."""

    kinds: tuple[str, ...]
    agent: str = ""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change that a watch of the team reports (manage.py watch-table)."""

    watch: str
    ops: tuple[str, ...] = OPS


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook signed with the secret of this name."""

    secret: str


class On(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of these."""

    entry: Entry | None = None
    row: Row | None = None
    schedule: Schedule | None = None
    hook: Hook | None = None

    @property
    def source(self) -> Source:
        """Which of them."""
        return next(name for name in SOURCES if getattr(self, name) is not None)


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The session that is meant, by one expression: its id, its alias, or its customer's reference (then the newest one
    that is open, of this agent). None: the session in which it happened.
    """

    session: str = ""
    alias: str = ""
    customer: str = ""
    agent: str = ""


class Open(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Open a session for the customer that an expression names, and tell its agent what another one says."""

    agent: str
    customer: str
    channel: str = "chat"
    topic: str = ""
    say: str = ""


class Tell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Say something to a session's agent, as the system does; the agent acts on it."""

    say: str
    to: Target = Target()


class SendSignal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Send a signal to the session's chart."""

    name: str
    data: str = ""
    to: Target = Target()


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Start a run of the session's agent. `message`: what it is told, as the system does; `goal`: a task that it is
    given, in at most 300 characters. Without both it looks at the session as it stands.
    """

    message: str = ""
    goal: str = ""
    to: Target = Target()


class Do(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of these."""

    open: Open | None = None
    tell: Tell | None = None
    signal: SendSignal | None = None
    run: Run | None = None

    @property
    def act(self) -> Open | Tell | SendSignal | Run:
        """Which of them."""
        return next(each for each in (self.open, self.tell, self.signal, self.run) if each is not None)


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At most `count` times in `seconds`. What is over it waits, or is dropped."""

    count: int = 60
    seconds: int = 60
    over: Literal["wait", "drop"] = "wait"


class Definition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trigger. `depth`: of chains it may be a part of; `repeats`: how often it may stand in one already. `per_day` is
    a brake: a trigger that has acted so often within 24 hours is switched off.
    """

    on: On
    do: Do
    when: str = "true"
    rate: Rate = Rate()
    per_day: int = 1_000
    depth: int = 3
    repeats: int = 0


def load(data: Any) -> Definition:
    """A sound definition of decoded JSON. Raises BadTrigger, BadGuard, BadSchedule naming the field."""
    found = rules.decoded(data, Definition, BadTrigger)
    rules.must_be_one("on", found.on, BadTrigger)
    rules.must_be_one("do", found.do, BadTrigger)
    _must_be_sound(found)
    for field, text in expressions(found):
        rules.must_compile(field, text, asks=field == "when")
    return found


def dump(definition: Definition) -> dict[str, Any]:
    """Returns the definition as JSON has it, in the order of its document."""
    return rules.encoded(definition, "on", "when", "do", "rate", "per_day", "depth", "repeats")


def _must_be_sound(found: Definition) -> None:
    on = found.on
    if on.entry is not None:
        rules.must_be_kinds("on.entry.kinds", on.entry.kinds, BadTrigger)
    if on.row is not None and (not on.row.ops or not set(on.row.ops) <= set(OPS)):
        raise BadTrigger(f"want some of {', '.join(OPS)}", field="on.row.ops")
    if on.schedule is not None:
        schedule.check(on.schedule)
    bounds = (
        ("rate.count", found.rate.count, 1, MAX_RATE),
        ("rate.seconds", found.rate.seconds, 1, MAX_WINDOW),
        ("per_day", found.per_day, 1, MAX_PER_DAY),
        ("depth", found.depth, 1, MAX_DEPTH),
        ("repeats", found.repeats, 0, MAX_DEPTH),
    )
    rules.must_be_within(bounds, BadTrigger)
    _must_name_a_session(found)


def _must_name_a_session(found: Definition) -> None:
    act = found.do.act
    if isinstance(act, Open):
        if not act.customer:
            raise BadTrigger("say for which customer", field="do.open.customer")
        return
    named = [name for name in ("session", "alias", "customer") if getattr(act.to, name)]
    if len(named) > 1 or (not named and found.on.entry is None):
        raise BadTrigger("say which session, by one of session, alias and customer", field="do.to")
    if isinstance(act, Tell) and not act.say:
        raise BadTrigger("say what", field="do.tell.say")


def expressions(found: Definition) -> list[tuple[str, str]]:
    """Every expression of a definition with its field."""
    act = found.do.act
    listed = [("when", found.when)]
    if isinstance(act, Open):
        listed += [(f"do.open.{name}", getattr(act, name)) for name in ("customer", "topic", "say")]
    else:
        listed += [(f"do.to.{name}", getattr(act.to, name)) for name in ("session", "alias", "customer")]
    if isinstance(act, Tell):
        listed.append(("do.tell.say", act.say))
    if isinstance(act, Run):
        listed += [("do.run.message", act.message), ("do.run.goal", act.goal)]
    if isinstance(act, SendSignal):
        listed.append(("do.signal.data", act.data))
    return [(field, text) for field, text in listed if text]
