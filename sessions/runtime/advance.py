"""Advancing a session: commit the intents of all that is ready, run it side by side, commit each result as it arrives
together with the next intents, until the session rests.

What is next is a pure function of the state (`engine.advance`). Waiting holds nothing: a session that rests has no
lease, no thread and no connection. A crash anywhere leaves either no intent (somebody commits it) or open ones
(somebody settles them).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from uuid import UUID

import msgspec

from agentstate.engine import advance as core
from agentstate.engine import events as ev
from agentstate.engine.decide import (
    Begin,
    Command,
    CommandContext,
    ExpireSession,
    GiveUp,
    Outdated,
    Rest,
    Ring,
    SessionOver,
    Wind,
)
from agentstate.engine.halting import left
from agentstate.engine.instants import stamp
from agentstate.engine.memory.budget import ContextTooSmall
from agentstate.engine.speech import SAY
from agentstate.engine.state.session import SessionState, pending
from agentstate.outages import OUTAGES
from audit import keys
from audit.server_clock import now
from sessions.agents import registry
from sessions.core import crash_points, stops
from sessions.core.commit import Step, decided, run_commands
from sessions.core.committed import Committed, Lease, LeaseLost
from sessions.profiles import adaptation
from sessions.runtime import delegates, leases, limits, model_requests, parked, sweeper
from sessions.runtime.compatibility import NotKnownHere
from sessions.runtime.drain import drain
from sessions.runtime.running_calls import Flights
from sessions.runtime.slots import Places

log = logging.getLogger(__name__)
MAX_COMMITS = 200  # in one go; then the session is due again and another may have its turn
PAUSE_AFTER_OUTAGE = 1.0  # seconds
LOOK_SECONDS = 0.2  # while results are awaited: how often to look for what a person has decided meanwhile
Wanted = Callable[[SessionState], Command | None]  # what carries out an action, on the state that those before led to


def advance_ready() -> int:
    """Advance sessions that have work until there are none, or this process is to stop. Gives how many."""
    count = 0
    while not drain.asked() and (lease := leases.claim()) is not None:
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
        except keys.Erased:
            log.info("session %s was erased", lease.session)
            leases.drop(lease)
        except NotKnownHere as unknown:
            log.warning("session %s is left to other workers: %s", lease.session, unknown)
            parked.leave_to_others(lease, str(unknown))
        except (registry.UnknownAgent, msgspec.ValidationError) as unknown:
            log.warning("session %s is left to other workers: %s", lease.session, type(unknown).__name__)
            of = "agent" if isinstance(unknown, registry.UnknownAgent) else "entry"
            parked.leave_to_others(lease, f"unknown_{of}")
        except OUTAGES as outage:
            log.warning("session %s could not be advanced: %s", lease.session, type(outage).__name__)
            leases.give_up(lease, PAUSE_AFTER_OUTAGE)  # no fault of the session's
        except Exception as error:  # one session that cannot go on must not stop the others
            log.exception("session %s could not be advanced", lease.session)
            if parked.failing(lease, type(error).__name__):
                log.error("session %s is parked: it failed %d times in a row", lease.session, parked.MAX_STALLS)
        finally:
            limits.leave(lease.session)


def _advance(lease: Lease) -> None:
    """Commit by commit until there is nothing to do and the run is recorded as resting."""
    flights, places = Flights(), Places(lease.session)
    try:
        _go_on(lease, flights, places)
    finally:
        flights.abandon()
        places.keep_only(())


def _go_on(lease: Lease, flights: Flights, places: Places) -> None:
    outcomes: list[Command] = []
    for _ in range(MAX_COMMITS):
        if drain.asked():
            break
        crash_points.point("before_intent")
        committed = _record(lease, outcomes, flights, places)
        flights.tell(committed.state)
        outcomes = _do(lease, committed, flights)
        places.keep_only(flights.calls)
        if outcomes or flights.calls:
            continue
        halt = stops.halt_for(committed.place, committed.state)
        held = halt.held_calls(committed.state)
        action = core.next_actions(committed.state, stamp(now()), held=held)[0]
        if places.missing:
            parked.wait_for_place(lease, places.missing, limits.LOOK_AGAIN)
            return
        if committed.state.run:
            continue
        if halt.holds(action) or (held and isinstance(action, core.Nothing)):
            _wait_for_lift(lease, committed, action.until if isinstance(action, core.Nothing) else "")
            return
        if isinstance(action, core.Nothing):
            _rest(lease, committed, action.until)
            return
    _come_to_an_end(lease, outcomes, flights)


def _wait_for_lift(lease: Lease, committed: Committed, until: str) -> None:
    """Give the lease back until the stop is lifted: a lift makes the session due. One that was lifted while this worker
    still remembered the stop has done so already, so the database is asked once more behind the release.
    """
    again = stops.look_again()
    leases.release(lease, committed.seq, min(until or again, again))
    halt = stops.halted_now(committed.place, committed.state)
    if not halt.everything and not halt.held_calls(committed.state):
        leases.due_now(lease.session)


def _rest(lease: Lease, committed: Committed, until: str) -> None:
    """Nothing to do: give the lease back. A session that did another's task ends, and hands its output over. What was
    held and whose time is over goes on.
    """
    if any(each.held_until for each in pending(committed.state)) and sweeper.end_holds(session=lease.session):
        leases.give_up(lease, 0.0)
        return
    if not core.is_task_done(committed.state):
        if not _gave_back(committed):
            leases.release(lease, committed.seq, until)
        return
    delegates.finish(lease)
    leases.give_up(lease, 0.0)
    delegates.deliver(lease.session)


def _gave_back(committed: Committed) -> bool:
    """Whether the commit itself gave the lease back, as one does after which nothing is to be done."""
    state = committed.state
    return bool(committed.events) and isinstance(core.next_action(state, state.last_at), core.Nothing)


def _come_to_an_end(lease: Lease, outcomes: list[Command], flights: Flights) -> None:
    """Record what is still under way and begin nothing: due again at once, and others may have their turn before."""
    while outcomes or (flights.calls and not drain.over()):
        if outcomes:
            run_commands(lease, [settled(lease, outcome) for outcome in outcomes])
        outcomes = list(flights.landed(LOOK_SECONDS))
    leases.give_up(lease, 0.0)


def _record(lease: Lease, outcomes: list[Command], flights: Flights, places: Places) -> Committed:
    """Commit `outcomes`, each under its own call, with the intents of all that is ready then."""
    return run_commands(
        lease, [*(settled(lease, outcome) for outcome in outcomes), intend(lease.session, flights.calls, places)]
    )


def settled(lease: Lease, outcome: Command) -> Step:
    """The step that records an outcome. One that nobody waits for any more is dropped, by name, and alone: what came
    with it is recorded.
    """

    def recorded(state: SessionState, context: CommandContext) -> Sequence[ev.AnyEvent]:
        try:
            return decided(outcome, state, context)
        except (Outdated, SessionOver) as refused:
            log.info("session %s: dropped %s: %s", lease.session, type(outcome).__name__, refused)
            return ()

    return recorded


def intend(session: UUID, flying: Set[str], places: Places | None = None) -> Step:
    """The step that commits to what is next beside the calls of `flying`: intents, a model request, or that the run
    rests; before it acts, what is known of the customer is brought up to date. Raises NotKnownHere.
    """

    def intended(state: SessionState, context: CommandContext) -> Sequence[Step]:
        at = stamp(context.at)
        actions = (places or Places(session)).allowed(state, at, flying, context.halt.held_calls(state))
        return [partial(_made, wanted) for wanted in _commands(session, left(actions, context.halt, flying), at)]

    return intended


def _made(wanted: Wanted, state: SessionState, context: CommandContext) -> Sequence[ev.AnyEvent]:
    command = wanted(state)
    return _decided(command, state, context) if command is not None else ()


def _decided(command: Command, state: SessionState, context: CommandContext) -> Sequence[ev.AnyEvent]:
    """What the command amounts to. A context that cannot be made to fit is a failure that people see."""
    try:
        return decided(command, state, context)
    except ContextTooSmall as refused:
        return decided(GiveUp(str(refused)), state, context)


def _commands(session: UUID, actions: Sequence[core.Action], at: str) -> Iterator[Wanted]:
    """What carries out the actions, each a function of the state that those before it led to."""
    if any(isinstance(action, core.RunCall | core.AskModel) for action in actions):
        yield lambda state: adaptation.adapting(session, state, at)
    for action in actions:
        if isinstance(action, core.AskModel):
            request = model_requests.Asking()
            yield from (request.noticing, request.fitting, request.asking)
        else:
            yield partial(_command, action)


def _command(
    action: core.RunCall | core.MoveChart | core.RingTimer | core.LetExpire | core.Nothing, state: SessionState
) -> Command:
    match action:
        case core.RunCall(call=call):
            return Begin(call)
        case core.LetExpire():
            return ExpireSession()
        case core.MoveChart():
            return Wind()
        case core.RingTimer():
            return Ring(stamp(now()))
        case core.Nothing(waiting_for=waiting_for):
            return Rest(waiting_for)


def _do(lease: Lease, committed: Committed, flights: Flights) -> list[Command]:
    """Carry out the intents that this commit recorded; the commands that say how it went, of those that are known."""
    state, known = committed.state, list[Command]()
    for event in committed.events:
        if isinstance(event, ev.ToolIntended) and event.tool != SAY:  # words were said by the commit itself
            crash_points.point("after_intent", event.tool)
            if event.effect == "delegate":
                left_over = delegates.hand_over(lease.session, state, state.calls[event.call])
                known += [left_over] if left_over is not None else []
            else:
                flights.start(str(lease.session), state, state.calls[event.call])
        elif isinstance(event, ev.ModelRequested):
            return [model_requests.heard(committed, event.step)]
        elif isinstance(event, ev.SummaryRequested):
            return [model_requests.summarise(state, event.step)]
        elif isinstance(event, ev.ToolReturned):
            crash_points.point("after_result", state.calls[event.call].tool if event.call in state.calls else "")
    return [*known, *flights.landed(0.0 if known else LOOK_SECONDS)] if flights.calls else known
