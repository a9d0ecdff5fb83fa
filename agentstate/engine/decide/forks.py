"""Forks: another way a session might go. A fork reads and drafts; it speaks and acts once it is promoted."""

from __future__ import annotations

from agentstate.engine import events as ev
from agentstate.engine.charts.standing import Standing
from agentstate.engine.decide import grants
from agentstate.engine.decide.commands.versions import Fork, Promote, Supersede
from agentstate.engine.decide.context import CommandContext, ToolFacts
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.versions import MAX_REASON, NoSuchPoint, bounded, note
from agentstate.engine.decide.withdrawals import withdrawn
from agentstate.engine.handlers import command_handler
from agentstate.engine.policy import Verdict
from agentstate.engine.state.rollback import carried, fingerprint
from agentstate.engine.state.rounds import planned
from agentstate.engine.state.session import Call, SessionState
from agentstate.errors import Refused

MAX_HEARD = 60  # messages of the parent that a fork is told when it takes over


class NotAFork(Refused):
    """This session is no fork that waits to be promoted."""

    code = "not_a_fork"


@command_handler(Fork)
def forked(command: Fork, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The first two entries of a fork: it is of the same customer, and it is a copy."""
    older = command.older
    if state.opened is not None:
        raise Refused("the session is open already")
    if older.opened is None or older.seq != command.seq:
        raise NoSuchPoint(f"got {command.seq}")
    reason = bounded(command.reason, "reason", MAX_REASON)
    opened = older.opened
    return [
        ev.SessionOpened(opened.customer, opened.team, opened.agent, opened.channel, opened.topic),
        ev.SessionForked(command.parent, command.seq, fingerprint(older), carried(older), command.by, reason),
    ]


@command_handler(Promote)
def promoted(command: Promote, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The fork takes over, and is told what it missed. Standing approvals given in the parent meanwhile end."""
    must_live(state)
    origin = state.versions.origin
    if origin is None or origin.promoted:
        raise NotAFork()
    reason = bounded(command.reason, "reason", MAX_REASON)
    told = note(f"You go on with this conversation now: {reason}", command.since)
    return [
        *grants.taken_back(command.since.approvals, command.by, grants.SUPERSEDED),
        ev.ForkPromoted(
            parent=origin.parent,
            size=command.size,
            by=command.by,
            reason=reason,
            heard=command.heard[-MAX_HEARD:],
            lasting=command.since.lasting,
            more=command.since.more,
            note=told,
            remembered=command.remembered,
            chart=_held(state.chart, command.chart),
        ),
    ]


def _held(own: Standing, parents: Standing | None) -> Standing | None:
    """Returns the state of the parent's chart if it forbids what the fork's own chart would allow. Promoting a fork
    that was made before a hold does not end the hold.
    """
    if parents is None or parents.tools is None:
        return None
    return parents if own.tools is None or not set(own.tools) <= set(parents.tools) else None


@command_handler(Supersede)
def superseded(command: Supersede, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end of the parent: what waits is withdrawn, what runs may still return."""
    must_live(state)
    if state.versions.is_draft:
        raise NotAFork("its parent is a fork itself: promote that one first")
    reason = bounded(command.reason, "reason", MAX_REASON)
    because = f"the session goes on as {command.fork}"
    superseding = ev.SessionSuperseded(command.fork, command.by, reason)
    return [*withdrawn(state, because, "superseded", command.by), superseding, ev.SessionEnded(because, command.by)]


def held_back(state: SessionState, call: Call, facts: ToolFacts, verdict: Verdict) -> list[ev.AnyEvent]:
    """What becomes of a call that would act in a fork: it is refused, with what policy would have said of it. A session
    that does a call's task is no fork and would act, so nothing is handed over either.
    """
    if not state.versions.is_draft or (facts.effect == "pure" and not _is_handed_over(state, call)):
        return []
    asked = "it would have run" if verdict.gate == "allow" else f"a person would have been asked (tier {verdict.tier})"
    reason = f"this is a fork: it reads and does not act. Rule {verdict.rule}: {asked}."
    return [ev.CallRefused(call.id, "fork_does_not_act", reason)]


def _is_handed_over(state: SessionState, call: Call) -> bool:
    planned_as = planned(state.plans, call.id)
    return planned_as is not None and bool(planned_as.delegate)
