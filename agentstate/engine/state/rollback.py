"""Which parts of an older state hold again after a rollback, and which never go back.

What a session has decided for itself goes back: scratchpad, plan, calls, the marks of what was written. What others
heard, did or decided does not: the conversation, refusals, effects, the log. A part that is placed nowhere here goes
back; a test asks for each to be placed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.charts.standing import timed_anew
from agentstate.engine.conversation import Item
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CALL_ENDED, CallStatus, RequestStatus
from agentstate.engine.scratchpad import messages
from agentstate.engine.state import scratchpad, subjects
from agentstate.engine.state.rounds import put_back
from agentstate.engine.state.runs import ended
from agentstate.engine.state.session import Call, Request, SessionState, calls_in
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.versions.kept import (
    KEPT_LATE,
    KEPT_ROLLBACKS,
    Checkpoint,
    Late,
    RolledBack,
    Versions,
    with_checkpoint,
)

STAYS: Mapping[str, str] = {
    "seq": "the log only grows",
    "status": "it follows from the rest",
    "opened": "a fact",
    "opened_at": "a fact",
    "last_at": "a fact",
    "ended_reason": "a fact",
    "ended_at": "a fact",
    "sealed": "a fact",
    "taken_by": "a person has it",
    "desk": "people see to it",
    "involved": "people took part, and still did",
    "expired_at": "a fact, and what is said next reopens it",
    "paused_at": "a person stopped it, and only a person lets it go on",
    "paused_with_parent": "a person stopped it, and only a person lets it go on",
    "messages": "they were heard",
    "memory": "it is of what was heard",
    "talk": "it is of what was heard",
    "proposed": "it counts what happened",
    "runs": "it counts what happened",
    "refused": "a person refused, and still does",
    "refusals": "a person refused, and still does",
    "tally": "it counts what happened",
    "settled": "a person answered, and it still holds",
    "user": "what is known of the customer is theirs, in all sessions",
    "versions": "checkpoints are of the log",
    "cause": "a fact",
    "alerts": "people were told of them",
}
MADE_ANEW: Mapping[str, str] = {
    "epoch": "it is raised",
    "items": "words stay, what was called since goes",
    "calls": "as they stood, the open ones withdrawn",
    "requests": "decisions stay, what waited is withdrawn",
    "grants": "they are of an older epoch",
    "run": "the run is over",
    "loop": "what was used stays used and who waits to be heard still does; the run is over",
    "owes": "the agent owes an answer if it did then, or if the customer has the last word",
    "asking": "what is answered now is of an older epoch",
    "model_attempt": "nothing is asked",
    "model_retry_at": "nothing is asked",
    "failure": "that was then",
    "changes": "marks as they were; conflicts have been withdrawn, and what arrived has arrived",
    "plans": "versions stay counted, what instances and data messages remember holds again, the round is over",
    "chart": "where it stood then, each timer with the time that it had left",
    "timers": "they are of an older epoch",
}
GOES_BACK: Mapping[str, str] = {
    "goals": "what the session has set itself",
    "pad": "the session's own memory",
    "schema": "the form that the pad has",
}
ROLLED_BACK = "the session was rolled back"
PUT_BACK = '{"status":"withdrawn","reason":"The session was put back to before this was done."}'
DONE_SINCE = '{"status":"done","reason":"It was done after this point, and the rollback does not undo it."}'
_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(float_hook=Decimal)


def fingerprint(state: SessionState) -> str:
    """SHA-256, in hex, over the snapshot of the state, without what concerns other data subjects."""
    return hashlib.sha256(to_snapshot(subjects.own(state))).hexdigest()


def carried(state: SessionState) -> dict[str, Any]:
    """A state as an event carries it: its snapshot as JSON, of the session's own data subject. Numbers keep their
    text.
    """
    found: dict[str, Any] = _decoder.decode(to_snapshot(subjects.own(state)))
    return found


def state_of(snapshot: dict[str, Any]) -> SessionState:
    """The state that an event carries."""
    return from_snapshot(_encoder.encode(snapshot))


@event_handler(ev.SessionRolledBack)
def rolled_back(state: SessionState, event: ev.SessionRolledBack, at: str) -> SessionState:
    """The state after a rollback. The event carries the older state; nothing else is read."""
    older = _with_others(state_of(event.restored), state)
    kept = {name: getattr(state, name) for name in SessionState.__struct_fields__ if name in STAYS}
    were_open = open_in(older.calls)
    calls = ended_calls(settled_since(older.calls, event, state.calls))
    back = resting(replace(older, **kept, epoch=event.epoch, calls=calls), older.last_at, at)
    return replace(
        back,
        requests=_requests(state, older, calls, at),
        changes=scratchpad.put_back(state.changes, older.changes),
        items=(*_heard(state, event.to), *told(state, were_open, calls, at), *noted(state, event, at)),
        owes=_owes(state, older, were_open),
        loop=replace(ended(state.loop, at), marks=(), noticed=()),
        versions=_versions(state, event, at),
    )


def _with_others(older: SessionState, state: SessionState) -> SessionState:
    """The older state with the instances of other data subjects as they are now: the event carries nothing of them.
    What data messages have declared private stays so, also where its instance is gone: the entries are still shown.
    """
    plans = state.plans
    others = {name: part for name, part in plans.instances.items() if part.kid}
    instances = {**older.plans.instances, **others}
    own = [plans.own, *(part for part in plans.instances.values() if not part.kid)]
    brought = dict(messages.joined(part.private_schemas for part in own))
    went_back = replace(older.plans, own=replace(older.plans.own, private_schemas=brought), instances=instances)
    return replace(older, plans=replace(went_back, erased=plans.erased, leaving=plans.leaving))


def resting(state: SessionState, then: str, at: str) -> SessionState:
    """The state with no run, no open model request and no timer."""
    chart = timed_anew(state.chart, then, at)
    plans = put_back(state.plans, state.seq)
    return replace(
        state,
        run="",
        asking="",
        model_attempt=0,
        model_retry_at="",
        failure="",
        plans=plans,
        chart=chart,
        grants={},
        timers={},
    )


def settled_since(
    calls: Mapping[str, Call], event: ev.SessionRolledBack | ev.ForkPromoted, now: Mapping[str, Call]
) -> dict[str, Call]:
    """Returns `calls` without what would let an effect happen twice. A call that was done since stays done. A failed
    call may be tried again only if it still failed: by the effects since, which are complete without `more`, and by its
    status `now`, where it is known.
    """
    outcomes = {effect.call: effect.outcome for effect in event.lasting if effect.call in calls}
    return {key: _settled(call, outcomes.get(key, ""), now.get(key), event.more) for key, call in calls.items()}


def _settled(call: Call, outcome: str, now: Call | None, more: int) -> Call:
    if outcome == "done" and call.status is not CallStatus.DONE:
        return replace(call, status=CallStatus.DONE, approved="", retry_at="", stuck="")
    has_failed = outcome in ("", "failed")
    still_failed = now.status is CallStatus.FAILED and bool(now.stuck) if now is not None else not more
    return replace(call, stuck=call.stuck if has_failed and still_failed else "") if call.stuck else call


def open_in(calls: Mapping[str, Call]) -> list[Call]:
    """The calls that have not ended."""
    return [call for call in calls.values() if call.status not in CALL_ENDED]


def ended_calls(calls: Mapping[str, Call]) -> dict[str, Call]:
    """The calls, the open ones withdrawn: their permits, intents and results are of an older epoch."""
    ended = {call.id: replace(call, status=CallStatus.WITHDRAWN, approved="", retry_at="") for call in open_in(calls)}
    return {**calls, **ended}


def told(state: SessionState, were_open: list[Call], calls: Mapping[str, Call], at: str) -> tuple[Item, ...]:
    """Returns what the agent reads about calls that were open then, by their outcome in `calls`."""
    turn = state.memory.turn
    return tuple(
        Item(state.seq, "tool", _fate(calls[call.id]), call.tool, call.id, at=at, turn=turn) for call in were_open
    )


def _fate(call: Call) -> str:
    return DONE_SINCE if call.status is CallStatus.DONE else PUT_BACK


def noted(state: SessionState, event: ev.SessionRolledBack | ev.ForkPromoted, at: str) -> tuple[Item, ...]:
    """The note of an event to the agent, as an item."""
    return (Item(state.seq, "note", event.note, at=at, turn=state.memory.turn),) if event.note else ()


def _heard(state: SessionState, to: int) -> tuple[Item, ...]:
    """The items without what was called since, and without results that came since."""
    return tuple(item for item in state.items if item.seq < to or not (item.calls or item.role == "tool"))


def _requests(state: SessionState, older: SessionState, calls: dict[str, Call], at: str) -> dict[str, Request]:
    """Returns the requests with their outcomes. Requests of calls that are gone leave the state with the next rollback.
    Requests of calls that come back come back with them, and wait for no decision.
    """
    again = {key: _over(each, at) for key, each in older.requests.items() if key not in state.requests}
    return {
        key: request
        for key, request in {**again, **state.requests}.items()
        if request.asked.call in calls or request.ended_at == at or _is_withdrawn_now(state, request)
    }


def _is_withdrawn_now(state: SessionState, request: Request) -> bool:
    """Whether this rollback took back the approved call of a request: the request is to say so."""
    return request.execution == "withdrawn" and request.asked.call in state.calls


def _over(request: Request, at: str) -> Request:
    if request.status is not RequestStatus.PENDING:
        return request
    return replace(request, status=RequestStatus.WITHDRAWN, ended_at=at, because=ROLLED_BACK, held_until="")


def _owes(state: SessionState, older: SessionState, were_open: list[Call]) -> bool:
    said = next((item.role for item in reversed(state.items) if item.role in ("customer", "agent", "staff")), "")
    return bool(were_open or older.owes or older.asking or said == "customer")


def _versions(state: SessionState, event: ev.SessionRolledBack, at: str) -> Versions:
    running = calls_in(state, CallStatus.RUNNING)
    late = state.versions.late | {
        call.id: Late(call.tool, call.attempt, call.intent, state.epoch, call.kid) for call in running
    }
    rollbacks = (*state.versions.rollbacks, RolledBack(state.seq, event.to, at, event.by))[-KEPT_ROLLBACKS:]
    kept = with_checkpoint(state.versions, Checkpoint(state.seq, "rollback", at, by=event.by))
    return replace(kept, late=dict(list(late.items())[-KEPT_LATE:]), rollbacks=rollbacks)
