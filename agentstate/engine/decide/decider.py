"""Decides: `decide(command, state, context)` gives the events of one command, or a refusal."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide import (  # noqa: F401 (each registers the rules of its commands)
    alerts,
    approvals,
    calls,
    changes,
    charts,
    claims,
    compensation,
    conversation,
    data,
    families,
    forks,
    goals,
    grants,
    holds,
    interventions,
    looping,
    memory,
    pausing,
    plans,
    proving,
    runs,
    schema,
    sealing,
    supervision,
    talk,
    tasks,
    timers,
    triggers,
    user,
    versions,
    withdrawals,
)
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.refusals import SessionSealed
from agentstate.engine.handlers import command_handler
from agentstate.engine.state.session import SessionState


def decide(command: Command, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The events that `command` amounts to on `state`. Raises a subclass of Refused."""
    return talk.read(charts.followed(_ruled(command, state, context), state, context), state, context)


def _ruled(command: Command, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What the command's rule gives, before the session's chart has heard of it."""
    rule = command_handler.of(type(command))
    if state.sealed and not isinstance(command, sealing.TOMBSTONES):
        raise SessionSealed()
    first = schema.upgrade(command, state, context)
    state = schema.after(first, state, context)
    ruled = plans.judged(rule(command, state, context), state, context)
    told = [*ruled, *supervision.heard(ruled, state, context), *withdrawals.asked_by_tool(ruled, state)]
    return [*first, *memory.attended(plans.followed_up(told, state, context), state, context)]
