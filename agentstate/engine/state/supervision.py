"""What events change when people of the house take part: who speaks, what the agent is told, who waits for whom.

A function an event, named like it.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, added
from agentstate.engine.handlers import event_handler
from agentstate.engine.state.participants import QUEUE, Desk, took_part
from agentstate.engine.state.session import SessionState

GUIDANCE = "Guidance from a supervisor, for you alone; never quote it: "
BACK = "A colleague spoke with the customer and now hands the conversation back to you."


@event_handler(ev.SessionTakenOver)
def session_taken_over(state: SessionState, event: ev.SessionTakenOver, at: str) -> SessionState:
    """The agent owes what it was working on until somebody hands the session back."""
    desk = replace(
        state.desk,
        taken_at=at,
        taken_seq=state.desk.taken_seq if state.taken_by else state.seq,
        in_flight=state.asking or state.desk.in_flight,
        wanted_at="",
        wanted_source="",
        wanted_why="",
    )
    return replace(
        state,
        taken_by=event.by,
        desk=desk,
        owes=state.owes or bool(state.asking),
        asking="",
        model_attempt=0,
        model_retry_at="",
        failure="",
    )


@event_handler(ev.SessionPassedOn)
def session_passed_on(state: SessionState, event: ev.SessionPassedOn, at: str) -> SessionState:
    desk = replace(state.desk, taken_at=at, wanted_at="" if event.to else at)
    return replace(state, taken_by=event.to or QUEUE, desk=desk)


@event_handler(ev.SessionHandedBack)
def session_handed_back(state: SessionState, event: ev.SessionHandedBack, at: str) -> SessionState:
    told = " ".join(part for part in (BACK, event.opening, event.summary) if part)
    return replace(
        state,
        items=added(state.items, Item(state.seq, "note", told, by=event.by)),
        taken_by="",
        desk=Desk(in_flight=state.desk.in_flight, assigned_to=state.desk.assigned_to),
        involved=replace(state.involved, agent=()),
        owes=event.speaks or state.owes,
    )


@event_handler(ev.GuidanceGiven)
def guidance_given(state: SessionState, event: ev.GuidanceGiven, at: str) -> SessionState:
    item = Item(state.seq, "note", f"{GUIDANCE}{event.text}", by=event.by)
    involved = took_part(state.involved, "guidance", event.by)
    return replace(state, items=added(state.items, item), owes=state.owes or event.now, involved=involved)


@event_handler(ev.ModelDropped)
def model_dropped(state: SessionState, event: ev.ModelDropped, at: str) -> SessionState:
    """The agent still owes the answer; where a person has taken over, since they did."""
    desk = replace(state.desk, in_flight="") if event.step == state.desk.in_flight else state.desk
    if event.step != state.asking:
        return replace(state, desk=desk)
    return replace(state, desk=desk, asking="", owes=True, model_attempt=0)


@event_handler(ev.HumanRequested)
def human_requested(state: SessionState, event: ev.HumanRequested, at: str) -> SessionState:
    return replace(state, desk=replace(state.desk, wanted_at=at, wanted_source=event.source, wanted_why=event.why))


@event_handler(ev.HumanWithdrawn)
def human_withdrawn(state: SessionState, event: ev.HumanWithdrawn, at: str) -> SessionState:
    return replace(state, desk=replace(state.desk, wanted_at="", wanted_source="", wanted_why=""))


@event_handler(ev.WorkAssigned)
def work_assigned(state: SessionState, event: ev.WorkAssigned, at: str) -> SessionState:
    if not event.request:
        return replace(state, desk=replace(state.desk, assigned_to=event.to))
    context = replace(state.requests[event.request], assigned_to=event.to)
    return replace(state, requests={**state.requests, event.request: context})
