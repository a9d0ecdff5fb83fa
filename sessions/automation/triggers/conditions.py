"""Whether a trigger acts on what happened, and with what. Pure: values in, an act or the reason why not out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from agentstate.engine import guards
from agentstate.engine.guards import BadGuard, UnreadableGuard
from sessions.automation.triggers.definition import NAMES, Definition, Open, Run, SendSignal, Target, Tell

MAX_NAME = 200  # characters of a reference, topic or alias that an expression gives
MAX_WORDS = 16_384
MAX_GOAL = 300  # as of the title of a task

Why = Literal["condition_false", "unreadable", "bad_value", "too_deep", "fires_on_itself"]


class Passed(msgspec.Struct, frozen=True):
    """It does not act. `off`: and is to be switched off."""

    why: Why
    off: bool = False


class Place(msgspec.Struct, frozen=True):
    """The session that is meant; all empty: the one in which it happened."""

    session: str = ""
    alias: str = ""
    customer: str = ""
    agent: str = ""


class Act(msgspec.Struct, frozen=True):
    """What it does. With `agent` it opens a session of that agent; with `signal` it signals the chart; with `run` it
    starts a run, which is told `say` and given `goal` where there are such; else it tells `say`.
    """

    to: Place = Place()
    agent: str = ""
    channel: str = ""
    customer: str = ""
    topic: str = ""
    say: str = ""
    signal: str = ""
    data: Any = None
    run: bool = False
    goal: str = ""


class _BadValue(Exception):
    """An expression gave something else than text."""


def chained(definition: Definition, trigger: str, cause: tuple[str, ...]) -> Passed | None:
    """Why a chain of triggers ends here, if it does: one that stands in it already is switched off."""
    if cause.count(trigger) > definition.repeats:
        return Passed("fires_on_itself", off=True)
    if len(cause) >= definition.depth:
        return Passed("too_deep")
    return None


def judged(definition: Definition, values: Mapping[str, Any]) -> Act | Passed:
    """The act, every expression evaluated on `values` (keys among NAMES)."""
    known = {name: values.get(name, {}) for name in NAMES}
    try:
        if not guards.answered(definition.when, NAMES, known):
            return Passed("condition_false")
        return _act(definition, known)
    except (BadGuard, UnreadableGuard):
        return Passed("unreadable")
    except _BadValue:
        return Passed("bad_value")


def customer_of(definition: Definition, values: Mapping[str, Any]) -> str:
    """The customer whom its act names by an expression on these values; empty where it names none, or not yet."""
    act = definition.do.act
    expression = act.customer if isinstance(act, Open) else act.to.customer
    try:
        return _text(expression, {name: values.get(name, {}) for name in NAMES}, MAX_NAME).strip()
    except (BadGuard, UnreadableGuard, _BadValue):
        return ""


def _act(definition: Definition, known: Mapping[str, Any]) -> Act:
    match definition.do.act:
        case Open() as act:
            return Act(
                agent=act.agent,
                channel=act.channel,
                customer=_text(act.customer, known, MAX_NAME, required=True),
                topic=_text(act.topic, known, MAX_NAME),
                say=_text(act.say, known, MAX_WORDS),
            )
        case Tell() as act:
            return Act(_place(act.to, known), say=_text(act.say, known, MAX_WORDS, required=True))
        case SendSignal() as act:
            data = guards.valued(act.data, NAMES, known) if act.data else None
            return Act(_place(act.to, known), signal=act.name, data=data)
        case Run() as act:
            return Act(
                _place(act.to, known),
                say=_text(act.message, known, MAX_WORDS),
                run=True,
                goal=_text(act.goal, known, MAX_GOAL),
            )


def _place(to: Target, known: Mapping[str, Any]) -> Place:
    for name in ("session", "alias", "customer"):
        if expression := getattr(to, name):
            return Place(**{name: _text(expression, known, MAX_NAME, required=True)}, agent=to.agent)
    return Place(agent=to.agent)


def _text(expression: str, known: Mapping[str, Any], most: int, *, required: bool = False) -> str:
    value = guards.valued(expression, NAMES, known) if expression else ""
    if not isinstance(value, str) or len(value) > most or "\x00" in value or (required and not value.strip()):
        raise _BadValue
    return value
