"""The conversation: it is opened once, anyone may speak while it lives, and its end withdraws what waits."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.decide import looping
from agentstate.engine.decide.commands.session import End, ExpireSession, Open, Say
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.refusals import Outdated, SessionOver
from agentstate.engine.decide.withdrawals import withdrawn
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import SessionStatus
from agentstate.engine.speech import MAX_TEXT
from agentstate.engine.state.session import SessionState, expires_at
from agentstate.errors import Invalid, NotFound, Refused


@command_handler(Open)
def opened(command: Open, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The first event of a session."""
    if state.opened is not None:
        raise Refused("the session is open already")
    return [
        ev.SessionOpened(
            command.customer,
            command.team,
            command.agent,
            command.channel,
            command.topic,
            command.alias,
            context.schemas.current.reference if context.schemas is not None else "",
            context.ontology,
            context.idle,
        )
    ]


def said(command: Say, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Words, trimmed and bounded."""
    must_live(state)
    text = worded(command.text)
    reopened: list[ev.AnyEvent] = [ev.SessionReopened(command.by)] if state.expired_at else []
    if command.role != "customer":
        return [*reopened, ev.MessageAdded("note", text, command.by)]
    if state.run and not state.taken_by and not state.paused_at:
        return [*reopened, *looping.meanwhile(text, command.by, state, context)]
    return [*reopened, *looping.heard_now(state), ev.MessageAdded("customer", text, command.by)]


def worded(text: str) -> str:
    """Words, trimmed and bounded. Raises Invalid."""
    text = text.strip()
    if not text:
        raise Invalid("a message needs words", field="text")
    if len(text) > MAX_TEXT:
        raise Invalid(f"got {len(text)} characters, at most {MAX_TEXT}", field="text")
    return text


@command_handler(ExpireSession)
def expired(command: ExpireSession, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The session has waited for its customer as long as it may. Raises Outdated when it has not."""
    must_live(state)
    due = expires_at(state)
    if not due or due > stamp(context.at) or state.status is not SessionStatus.IDLE:
        raise Outdated("the session has not idled long enough")
    assert state.opened is not None
    return [ev.SessionExpired(state.opened.idle)]


@command_handler(End)
def ended(command: End, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end, and that of all that is open. Calls that are running may still return."""
    must_live(state)
    because = f"the conversation ended: {command.reason}"
    return [*withdrawn(state, because, "ended", command.by), ev.SessionEnded(command.reason, command.by)]


def must_live(state: SessionState) -> None:
    """Raises NotFound before the session is opened and SessionOver after its end."""
    if state.opened is None:
        raise NotFound("there is no such session")
    if state.ended:
        raise SessionOver(state.ended_reason)
