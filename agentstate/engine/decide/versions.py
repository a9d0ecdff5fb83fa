"""Checkpoints and rollbacks. What goes back and what does not is in `state.rollback`; here is who may go back where."""

from __future__ import annotations

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import grants
from agentstate.engine.decide.commands.calls import Fail, Return
from agentstate.engine.decide.commands.session import Say
from agentstate.engine.decide.commands.versions import Name, Rollback
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live, said
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.decide.withdrawals import withdrawn
from agentstate.engine.handlers import command_handler
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.rollback import carried, fingerprint
from agentstate.engine.state.session import SessionState, calls_in, pending
from agentstate.engine.versions.effects import Since
from agentstate.engine.versions.kept import KEPT_NAMED, Late
from agentstate.errors import Invalid, NotFound, Refused

MAX_NAME = 60  # characters
MAX_REASON = 500
MAX_NOTE = 4_000
TOLD = 16  # lasting effects that the agent is told one by one


class TooManyCheckpoints(Refused):
    """So many points have a name already."""

    code = "too_many_checkpoints"
    remedy = "Give one of the names again: it moves. Any point can be gone back to by its number."


class NoSuchPoint(NotFound):
    """There is no such point to go back to."""

    code = "no_such_point"


class Consequences(msgspec.Struct, frozen=True):
    """What a rollback would do, as it is shown before it is done."""

    to: int
    epoch: int  # that it would begin
    of: str  # digest of the state that is gone back to
    since: Since
    withdrawn: tuple[str, ...]  # requests
    running: tuple[str, ...]  # calls
    not_begun: tuple[str, ...] = ()  # allowed calls, by people or by policy, that will not begin

    @property
    def digest(self) -> str:
        """What a rollback names as `seen`: these consequences and no others."""
        return ev.digest(self.to, self.epoch, self.of, self.since, self.withdrawn, self.running, self.not_begun)


@command_handler(Name)
def named(command: Name, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """A name for a point. The same name given again moves."""
    must_live(state)
    name = bounded(command.name, "name", MAX_NAME)
    older = state if command.seq in (-1, state.seq) else command.older
    if older is None or older.seq != (state.seq if command.seq == -1 else command.seq) or older.opened is None:
        raise NoSuchPoint(f"got {command.seq}, want 1 to {state.seq}")
    names = {each.name for each in state.versions.checkpoints if each.name}
    if name not in names and len(names) >= KEPT_NAMED:
        raise TooManyCheckpoints(f"{KEPT_NAMED} names are taken")
    return [ev.CheckpointNamed(name, older.seq, fingerprint(older), command.by, older.last_at)]


def consequences(state: SessionState, older: SessionState, since: Since) -> Consequences:
    """What going back to `older` would do. Raises NoSuchPoint, SessionOver."""
    must_live(state)
    if not 0 < older.seq < state.seq or older.opened is None:
        raise NoSuchPoint(f"got {older.seq}, want 1 to {state.seq - 1}")
    if older.ended or (state.versions.origin is not None and older.versions.origin is None):
        raise NoSuchPoint(f"the session cannot go on from entry {older.seq}")
    withdrawn = tuple(request.asked.request for request in pending(state))
    running = tuple(call.id for call in calls_in(state, CallStatus.RUNNING))
    not_begun = (*(call.id for call in calls_in(state, CallStatus.READY)), *state.plans.ready)
    return Consequences(older.seq, state.epoch + 1, fingerprint(older), since, withdrawn, running, not_begun)


@command_handler(Rollback)
def rolled_back(command: Rollback, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """Rolls the session back to the older state, in a new epoch. Withdraws what waits, and ends the standing approvals
    given since.
    """
    found = consequences(state, command.older, command.since)
    reason = bounded(command.reason, "reason", MAX_REASON)
    if command.seen != found.digest:
        raise Outdated("what a rollback would do has changed, or was not looked at: look again")
    because = f"the session was put back to entry {command.to}"
    back = ev.SessionRolledBack(
        to=command.to,
        epoch=found.epoch,
        by=command.by,
        reason=reason,
        digest=found.of,
        restored=carried(command.older),
        lasting=command.since.lasting,
        more=command.since.more,
        note=note(f"This session was put back to how it stood at {command.older.last_at}: {reason}", command.since),
    )
    ended = grants.taken_back(found.since.approvals, command.by, grants.ROLLED_BACK)
    return [*withdrawn(state, because, "rolled_back", command.by), *ended, back]


@command_handler(Say)
def said_over(command: Say, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What somebody says. A customer who speaks during a run that is to be rolled back for it puts the session back to
    how it stood before the run, and then is heard.
    """
    words = said(command, state, context)
    back = command.back
    if back is None or not state.run or command.role != "customer" or state.taken_by:
        return words
    seen = consequences(state, back.older, back.since).digest
    return [*rolled_back(msgspec.structs.replace(back, seen=seen), state, context), *words]


def note(first: str, since: Since) -> str:
    """What the agent is told: what was done cannot be seen in its calls any more, and must not be done again."""
    lines = [f"{first}. What was said since was heard; what was looked up or planned since is gone."]
    done = [each for each in since.lasting if each.outcome != "failed"]
    if done:
        lines.append("This was done and is not undone; never do it again without asking:")
        lines += [f"- {each.what or each.tool}" + _doubt(each) for each in done[-TOLD:]]
    more = since.more + max(0, len(done) - TOLD)
    return "\n".join([*lines, *([f"- and {more} earlier effects"] if more else [])])[:MAX_NOTE]


def _doubt(effect: ev.Lasting) -> str:
    return " (began; it is not known whether it happened)" if effect.outcome == "unknown" else ""


def late_returned(command: Return, late: Late) -> list[ev.AnyEvent]:
    """A result of an older epoch is recorded. Raises Outdated for another attempt."""
    _must_be(late, command.attempt)
    return [ev.ToolReturned(command.call, command.attempt, command.result)]


def late_failed(command: Fail, late: Late) -> list[ev.AnyEvent]:
    """The same for a failure; it is not tried again."""
    _must_be(late, command.attempt)
    return [ev.ToolFailed(command.call, command.attempt, command.reason, command.transient, code=command.code)]


def _must_be(late: Late, attempt: int) -> None:
    if late.attempt != attempt:
        raise Outdated(f"attempt {late.attempt} ran when its epoch ended, got attempt {attempt}")


def bounded(text: str, field: str, most: int) -> str:
    """The text, trimmed. Raises Invalid when there is none, or too much of it."""
    trimmed = text.strip()
    if not trimmed:
        raise Invalid("must not be empty", field=field)
    if len(trimmed) > most:
        raise Invalid(f"got {len(trimmed)} characters, at most {most}", field=field)
    return trimmed
