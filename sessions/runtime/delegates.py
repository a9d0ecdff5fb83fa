"""Calls that sessions of their own carry out: handing a task over, and bringing its output back as the call's result.

A call that is handed over runs without a worker. When the other session has come to its end, its output is appended to
the session that asked: by whoever finished it, or by the sweeper, who looks for what was not delivered.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.advance import is_task_done
from agentstate.engine.decide import Command, CommandContext, End, Fail, Open, Outdated, Return, SessionOver, decide
from agentstate.engine.decide.commands.plans import (
    Delegated,
    Deliver,
    EndDelegate,
    OpenDelegate,
    ProposePlan,
    TakeTask,
)
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.families import share_of
from agentstate.engine.decide.reviewing import proposers_of
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.looping.held import Used
from agentstate.engine.plan import library, model
from agentstate.engine.plan.facts import ANONYMOUS
from agentstate.engine.plan.progress import completion
from agentstate.engine.scratchpad import scopes
from agentstate.engine.state import rounds
from agentstate.engine.state.participants import people
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.state.value_authors import authors_of_values
from agentstate.errors import Invalid, NotFound, Refused
from audit import keys, ledger
from sessions.agents import registry
from sessions.agents.registry import BATCH
from sessions.core import families, plan_checks, states
from sessions.core.commit import open_session, person_command, run_commands, together
from sessions.core.committed import Author, Lease
from sessions.core.projections import Place
from sessions.core.states import Loaded
from sessions.models.sessions import AgentSession
from sessions.runtime.views import shown_views

log = logging.getLogger(__name__)
TASKS = UUID("3f0f9a52-9a36-5b27-8d2c-54a1d7a1b6c3")  # namespace: the session of a call follows from its key
MAX_NESTING = 4  # sessions that wait for each other
LIMIT = 100
MAX_REASON = 200  # characters
DONE = "its task is done"  # why such a session ends, when all went well
_json = msgspec.json.Encoder(decimal_format="number")


def hand_over(session: UUID, state: SessionState, call: Call) -> Command | None:
    """Give the call's task to a session of its own, which is opened once however often this is tried. What is left to
    record of that, or why it cannot be; None: nothing, it is recorded with the task.
    """
    planned = rounds.planned(state.plans, call.id)
    assert planned is not None
    try:
        if planned.delegate == BATCH.name:
            return Delegated(call.id, str(_part(session, call)))
        if _nesting(state) >= MAX_NESTING:
            raise Invalid(f"more than {MAX_NESTING} sessions would wait for each other")
        _open(session, state, call, planned.delegate, planned.scopes or ())
    except Outdated as refused:  # another worker was faster
        log.info("session %s: call %s is not handed over: %s", session, call.id, refused)
    except Refused as error:
        return Fail(call.id, call.attempt, f"{error.title} {error.detail}"[:500], transient=False, code=error.code)
    return None


def _part(session: UUID, call: Call) -> UUID:
    """The session that carries out a part for this one. No other is waited for: it would never answer."""
    try:
        child = UUID(str(call.arguments.get("session")))
    except ValueError:
        raise Invalid("want the id of a session", field="session") from None
    if states.load(child).state.plans.parent != str(session):
        raise states.UnknownSession()
    # It may have ended before this session had the plan that waits for it: its output is due from now on.
    AgentSession.objects.filter(pk=child, delivered=True).update(delivered=False)
    return child


def _nesting(state: SessionState) -> int:
    depth, parent = 0, state.plans.parent
    while parent and depth < MAX_NESTING:
        depth, parent = depth + 1, states.load(UUID(parent)).state.plans.parent
    return depth


def _open(session: UUID, state: SessionState, call: Call, delegate: str, allowed: tuple[str, ...]) -> None:
    """Open the session that does the call, and give it its task. In one transaction it has the task and the call is its
    own, so whatever stops the session that asked either comes before, and is seen, or finds it.
    """
    opened, place = state.opened, states.load(session).place
    assert opened is not None
    child = uuid5(TASKS, f"{session}/{call.id}/{state.epoch}")
    task = _task(session, state, call, delegate, allowed)
    author = Author(f"agent:{opened.agent}")
    part = state.plans.instances.get(call.instance) if call.kid else None
    customer, kid = (part.subject, UUID(part.kid)) if part is not None else (opened.customer, place.kid)
    opening = Open(customer, opened.team, opened.agent, opened.channel, f"for {call.tool}"[:200])
    open_session(Place(child, place.tenant, place.team, kid), opening, author)

    def handed(loaded: Mapping[UUID, Loaded]) -> Command:
        now = loaded[session].state
        must_live(now)
        if now.epoch != state.epoch:
            raise NobodyWaits()
        return Delegated(call.id, str(child))

    top = families.top_of(state.plans.parent) or session

    def taken(loaded: Mapping[UUID, Loaded]) -> Command:
        now, budget = loaded[session].state, loaded[top].state
        bounds = registry.find(budget.opened.agent if budget.opened else "").loop
        paused_by = now.taken_by or ("system" if now.paused_at else "")
        return msgspec.structs.replace(
            task, customers=now.involved.customer, paused_by=paused_by, share=share_of(budget.loop, bounds)
        )

    above = {top: lambda loaded: OpenDelegate(str(child))} if top != session else {}
    together(session, {**above, session: handed, child: taken}, author)


def _task(session: UUID, state: SessionState, call: Call, delegate: str, allowed: tuple[str, ...]) -> TakeTask:
    """What the other session is given: the call's arguments and what its scopes hand over of what is not private, and
    nothing else.
    """
    agent = f"agent:{state.opened.agent if state.opened else ''}"
    view = scopes.narrowed(shown_views(state, rounds.data_instance(state.plans, call.id)), allowed)
    authors = people(proposers_of(state, call))
    if delegate == ANONYMOUS:
        asked = {"task": call.tool, "arguments": call.arguments, "given": view}
        return TakeTask(str(session), call.id, agent, _json.encode(asked).decode(), authors=authors)
    team = states.load(session).place.team
    saved = plan_checks.saved_plan(team, delegate)
    inputs = {**view.get("input", {}), **({"state": view["state"]} if "state" in view else {}), **call.arguments}
    inputs = {name: value for name, value in inputs.items() if name in saved.inputs.get("properties", {})}
    library.instantiate(saved, inputs, plan_checks.facts_of(session, model.read(list(saved.calls))))
    saved_by = plan_checks.authors_of(team, saved)
    proposal = ProposePlan(
        saved.calls, agent, True, inputs, saved=saved.reference, source="delegate", saved_by=saved_by
    )
    return TakeTask(str(session), call.id, agent, plan=proposal, authors=authors)


def finish(lease: Lease) -> None:
    """End a session whose task is done. Its output is delivered once it has ended."""
    run_commands(lease, [_end])


def _end(state: SessionState, context: CommandContext) -> Sequence[ev.AnyEvent]:
    if not is_task_done(state):
        return ()
    reason = f"its task failed: {state.failure}"[:MAX_REASON] if state.failure else DONE
    return decide(End(reason, "system"), state, context)


def deliver_due() -> int:
    """Deliver the outputs of sessions that have ended and were not delivered. Gives how many were looked at."""
    rows = ledger.run(
        "SELECT id, parent FROM agent_sessions_agentsession"
        " WHERE parent IS NOT NULL AND NOT delivered AND ended_at IS NOT NULL LIMIT %(limit)s",
        {"limit": LIMIT},
    )
    for child, parent in rows:
        try:
            deliver(child)
        except keys.Erased:  # with its data subject, and so is the call that asked for it
            _settle(child, str(parent), Used())
            AgentSession.objects.filter(pk=child).update(delivered=True)
        except Exception:  # one session that cannot be read must not keep the others waiting
            log.exception("the output of session %s could not be delivered", child)
    return len(rows)


def deliver(child: UUID) -> None:
    """Append the output of an ended session to the one that asked for it. Nobody may wait for it any more: that too is
    the end of it.
    """
    state = states.load(child).state
    parent = UUID(state.plans.parent)
    _settle(child, state.plans.parent, state.loop.session)

    def result(loaded: Loaded) -> Command:
        call, attempt = _waiting(loaded.state, child, state.plans.parent_call)
        problem = _problem(state) if state.ended_reason == DONE else state.ended_reason
        if problem:
            outcome: Return | Fail = Fail(call, attempt, f"session {child}: {problem}"[:500], transient=False)
        else:
            outcome = Return(call, attempt, output_of(child, state), authors=authors_of_values(state.plans))
        return Deliver(outcome, str(child))

    try:
        person_command(parent, result, Author(ledger.SYSTEM))
    except (Outdated, SessionOver, NotFound) as refused:
        log.info("session %s: nobody waits for its output: %s", child, refused)
        if isinstance(refused, NotYet):
            return
    AgentSession.objects.filter(pk=child).update(delivered=True)


def _settle(child: UUID, parent: str, used: Used) -> None:
    """Count what an ended delegate has used, in place of its share, in the session above all others."""
    top = families.top_of(parent)
    if top is None:
        return
    with contextlib.suppress(SessionOver):  # sealed: nothing is bounded any more
        person_command(
            top, EndDelegate(str(child), used.tokens, used.micros, used.steps, used.calls), Author(ledger.SYSTEM)
        )


class NobodyWaits(Refused):
    """The session was rolled back before the call was handed over."""

    code = "nobody_waits"


class NotYet(NotFound):
    """The call that waits for this session is not handed over yet."""

    code = "not_yet"


def _waiting(state: SessionState, child: UUID, key: str) -> tuple[str, int]:
    """The running call that this session does and its attempt, also one of an older epoch. Raises Outdated, NotYet."""
    if key in state.versions.late:
        return key, state.versions.late[key].attempt
    call = state.calls.get(key) if key else None
    found = call or next((each for each in state.calls.values() if each.delegate == str(child)), None)
    if found is None and state.plans.is_open and not key:
        raise NotYet()
    if found is None or found.status is not CallStatus.RUNNING:
        raise Outdated()
    return found.id, found.attempt


def output_of(child: UUID, state: SessionState) -> dict[str, Any]:
    """What the session gives, without what is private: its plan's output where one is declared, what its agent said
    last, how its plan ended.
    """
    held = state.plans
    if held.many:
        ended = {name: part.outcomes for name, part in held.instances.items() if part.round == held.round}
        well = sum(all(each.status in ("done", "skipped") for each in outcomes.values()) for outcomes in ended.values())
        return {"session": str(child), "instances": len(ended), "well": well, "calls": dict(held.counts)}
    if held.saved:
        return {"session": str(child), "output": _completion(state).output}
    said = next((item.text for item in reversed(state.items) if item.role == "agent" and item.text), "")
    return {"session": str(child), "output": said, "state": shown_views(state)["state"]}


def _problem(state: SessionState) -> str:
    """Why the end is not a good one, or an empty text."""
    if not state.plans.saved or state.plans.many:
        return ""
    found = _completion(state)
    wrong = [str(problem) for problem in found.problems]
    return "; ".join([*wrong, *(f"{each.expression} does not hold" for each in found.conditions if not each.holds)])


def _completion(state: SessionState) -> Any:
    opened = state.opened
    assert opened is not None
    saved = plan_checks.saved_plan(UUID(opened.team), state.plans.saved)
    return completion(shown_views(state), saved.output, saved.result, saved.conditions)
