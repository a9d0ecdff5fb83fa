"""Whether a trigger acts on what happened, and with what. Pure: values in, an act or the reason why not out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentstate.engine import guards
from agentstate.engine.guards import BadGuard, UnreadableGuard
from sessions.automation.rules.definition import NAMES
from sessions.automation.rules.matching import BadValue, Passed, matched, text_of
from sessions.automation.triggers.definition import Definition, Open, Run, SendSignal, Target, Tell

MAX_NAME = 200  # characters of a reference, topic or alias that an expression gives
MAX_WORDS = 16_384
MAX_GOAL = 300  # as of the title of a task


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


def chained(definition: Definition, trigger: str, cause: tuple[str, ...]) -> Passed | None:
    """Why a chain of triggers ends here, if it does: one that stands in it already is switched off."""
    if cause.count(trigger) > definition.repeats:
        return Passed("fires_on_itself", off=True)
    if len(cause) >= definition.depth:
        return Passed("too_deep")
    return None


def judged(definition: Definition, values: Mapping[str, Any]) -> Act | Passed:
    """The act, every expression evaluated on `values` (keys among NAMES)."""
    return matched(definition.when, values, lambda known: _act(definition, known))


def customer_of(definition: Definition, values: Mapping[str, Any]) -> str:
    """The customer whom its act names by an expression on these values; empty where it names none, or not yet."""
    act = definition.do.act
    expression = act.customer if isinstance(act, Open) else act.to.customer
    try:
        return text_of(expression, {name: values.get(name, {}) for name in NAMES}, MAX_NAME).strip()
    except (BadGuard, UnreadableGuard, BadValue):
        return ""


def _act(definition: Definition, known: Mapping[str, Any]) -> Act:
    match definition.do.act:
        case Open() as act:
            return Act(
                agent=act.agent,
                channel=act.channel,
                customer=text_of(act.customer, known, MAX_NAME, required=True),
                topic=text_of(act.topic, known, MAX_NAME),
                say=text_of(act.say, known, MAX_WORDS),
            )
        case Tell() as act:
            return Act(_place(act.to, known), say=text_of(act.say, known, MAX_WORDS, required=True))
        case SendSignal() as act:
            data = guards.valued(act.data, NAMES, known) if act.data else None
            return Act(_place(act.to, known), signal=act.name, data=data)
        case Run() as act:
            return Act(
                _place(act.to, known),
                say=text_of(act.message, known, MAX_WORDS),
                run=True,
                goal=text_of(act.goal, known, MAX_GOAL),
            )


def _place(to: Target, known: Mapping[str, Any]) -> Place:
    for name in ("session", "alias", "customer"):
        if expression := getattr(to, name):
            return Place(**{name: text_of(expression, known, MAX_NAME, required=True)}, agent=to.agent)
    return Place(agent=to.agent)
