"""Advancing a session: commit an intent, do it, commit its result together with the next intent, until it rests.

What is next is a pure function of the state (`engine.advance`). Waiting holds nothing: a session that rests has no
lease, no thread and no connection. A crash anywhere leaves either no intent (somebody commits it) or an open one
(somebody settles it).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from agentstate.clock import now
from agentstate.engine import advance as core
from agentstate.engine import events as ev
from agentstate.engine.decide import Ask, Begin, Command, Given, Outdated, Rest, SessionOver, decide
from agentstate.engine.instants import stamp
from agentstate.engine.state import SessionState
from agentstate.ids import new_id
from sessions.agents import context, registry
from sessions.commit import Committed, Lease, LeaseLost, Step, run_commands, step
from sessions.runtime import crash, execute, leases

log = logging.getLogger(__name__)
MAX_COMMITS = 200  # in one go; then the session is due again and another may have its turn
PAUSE_AFTER_ERROR = 5.0  # seconds


def advance_ready() -> int:
    """Advance sessions that have work until there are none. Gives how many."""
    count = 0
    while (lease := leases.claim()) is not None:
        advance(lease)
        count += 1
    return count


def advance(lease: Lease) -> None:
    """Advance one session until it rests, or until the lease is lost."""
    with leases.heartbeat.keeping(lease):
        try:
            _advance(lease)
        except LeaseLost:
            log.info("session %s was taken over", lease.session)
        except Exception:  # one session that cannot go on must not stop the others
            log.exception("session %s could not be advanced", lease.session)
            leases.give_up(lease, PAUSE_AFTER_ERROR)


def _advance(lease: Lease) -> None:
    """Commit by commit until there is nothing to do and the run is recorded as resting."""
    outcome: Command | None = None
    for _ in range(MAX_COMMITS):
        crash.point("before_intent")
        committed = _record(lease, outcome)
        outcome = _do(lease, committed)
        action = core.next_action(committed.state, stamp(now()))
        if outcome is None and not committed.state.run and isinstance(action, core.Nothing):
            leases.release(lease, committed.seq, action.until)
            return
    if outcome is not None:
        run_commands(lease, [step(outcome)])
    leases.give_up(lease, 0.0)  # still at work: due again at once, and others may have their turn before


def _record(lease: Lease, outcome: Command | None) -> Committed:
    """Commit `outcome` with the next intent. An outcome that nobody waits for any more is dropped, by name."""
    steps: list[Step] = [] if outcome is None else [step(outcome)]
    try:
        return run_commands(lease, [*steps, intend_next])
    except (Outdated, SessionOver) as refused:
        log.info("session %s: dropped %s: %s", lease.session, type(outcome).__name__, refused)
        return run_commands(lease, [intend_next])


def intend_next(state: SessionState, given: Given) -> Sequence[ev.AnyEvent]:
    """The events that commit to what is next: an intent, a model request, or that the run rests."""
    match core.next_action(state, stamp(given.at)):
        case core.RunCall(call=call):
            return decide(Begin(call), state, given)
        case core.AskModel():
            return decide(_ask(state), state, given)
        case core.Nothing(waiting_for=waiting_for):
            return decide(Rest(waiting_for), state, given)


def _ask(state: SessionState) -> Ask:
    assert state.opened is not None
    agent = registry.find(state.opened.agent)
    model = execute.model_name(agent)
    request = context.build(agent, model, state)
    return Ask(
        step=str(new_id()),
        model=model,
        first=state.items[0].seq if state.items else state.seq,
        last=state.seq - 1,
        tools=agent.tools,
        digest=context.digest(request),
        trigger=state.items[-1].role if state.items else "opened",
    )


def _do(lease: Lease, committed: Committed) -> Command | None:
    """Carry out the intent that this commit recorded, if it recorded one; the command that says how it went."""
    state = committed.state
    for event in committed.events:
        if isinstance(event, ev.ToolIntended):
            crash.point("after_intent", event.tool)
            return execute.run_call(str(lease.session), state, state.calls[event.call])
        if isinstance(event, ev.ModelRequested):
            assert state.opened is not None
            return execute.ask_model(registry.find(state.opened.agent), state, event.step)
        if isinstance(event, ev.ToolReturned):
            crash.point("after_result", state.calls[event.call].tool)
    return None
