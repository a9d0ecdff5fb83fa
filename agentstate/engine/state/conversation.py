"""What events change in a session's conversation: messages, topics, data, its profile and chart, and how it ends."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.charts.standing import Standing
from agentstate.engine.conversation import Item, added
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CallMove, CallStatus
from agentstate.engine.migrating.in_force import referred
from agentstate.engine.remembered import Settled
from agentstate.engine.scratchpad import messages
from agentstate.engine.state import participants
from agentstate.engine.state.automation import all_closed
from agentstate.engine.state.calls import moved
from agentstate.engine.state.participants import Desk
from agentstate.engine.state.rounds import Instance
from agentstate.engine.state.runs import ended, heard
from agentstate.engine.state.session import SessionState, calls_in
from agentstate.engine.understanding import changes, topics
from agentstate.engine.understanding.answer import RESOLVE_REFERENCES
from agentstate.engine.understanding.held import Reference, Talk


@event_handler(ev.SessionOpened)
def session_opened(state: SessionState, event: ev.SessionOpened, at: str) -> SessionState:
    return replace(state, opened=event, opened_at=at, schema=referred(event.schema))


@event_handler(ev.MessageAdded)
def message_added(state: SessionState, event: ev.MessageAdded, at: str) -> SessionState:
    said = Item(seq=state.seq, role=event.role, text=event.text, by=event.by)
    asks = event.role in ("customer", "note")
    return replace(
        state,
        items=added(state.items, said),
        messages=state.messages + 1,
        involved=participants.heard(state.involved, event.role, event.by),
        cause=() if event.role in ("customer", "staff") else state.cause,
        owes=(state.owes and not (state.taken_by and event.role == "staff")) or asks,
        failure="" if asks else state.failure,
        model_attempt=0 if asks else state.model_attempt,
        model_retry_at="" if asks else state.model_retry_at,
        loop=heard(state.loop, event.queued) if asks else state.loop,
        settled=_asked_anew(state.settled) if asks and state.settled else state.settled,
    )


def _asked_anew(settled: tuple[Settled, ...]) -> tuple[Settled, ...]:
    """What nobody decided in time may be asked again once somebody has spoken; what was answered stays answered."""
    return tuple(each for each in settled if each.how != "expired")


@event_handler(ev.SessionCancelled, ev.SessionEnded)
def session_ended(state: SessionState, event: ev.SessionEnded | ev.SessionCancelled, at: str) -> SessionState:
    for call in calls_in(state, CallStatus.READY):
        state = moved(state, call.id, CallMove.WITHDRAW)
    state = session_left(state)
    state = replace(state, loop=replace(ended(state.loop, at), waiting=()))
    return replace(
        state,
        ended_reason=event.reason,
        ended_at=at,
        owes=False,
        asking="",
        run="",
        failure="",
        paused_at="",
        timers={},
    )


def session_left(state: SessionState) -> SessionState:
    """Nobody has it, is waited for or is to see to anything: the session is over."""
    return replace(state, taken_by="", desk=Desk(in_flight=state.desk.in_flight))


@event_handler(ev.SessionPaused)
def session_paused(state: SessionState, event: ev.SessionPaused, at: str) -> SessionState:
    return replace(state, paused_at=at, paused_with_parent=event.with_parent)


@event_handler(ev.SessionResumed)
def session_resumed(state: SessionState, event: ev.SessionResumed, at: str) -> SessionState:
    return replace(state, paused_at="", paused_with_parent=False)


@event_handler(ev.PayloadPruned)
def payload_pruned(state: SessionState, event: ev.PayloadPruned, at: str) -> SessionState:
    return state  # who loads the session sees by its seal, or where a recorded state begins, that words are gone


@event_handler(ev.SnapshotRecorded)
def snapshot_recorded(state: SessionState, event: ev.SnapshotRecorded, at: str) -> SessionState:
    return state  # it says of the state what the state itself would be no better for knowing


@event_handler(ev.SessionSealed)
def session_sealed(state: SessionState, event: ev.SessionSealed, at: str) -> SessionState:
    return replace(all_closed(state, at), sealed=event.why)


@event_handler(ev.SessionExpired)
def session_expired(state: SessionState, event: ev.SessionExpired, at: str) -> SessionState:
    return replace(state, expired_at=at)


@event_handler(ev.SessionReopened)
def session_reopened(state: SessionState, event: ev.SessionReopened, at: str) -> SessionState:
    return replace(state, expired_at="")


@event_handler(ev.SessionFailed)
def session_failed(state: SessionState, event: ev.SessionFailed, at: str) -> SessionState:
    # The run is over with it: the next one has a budget of its own.
    return replace(state, failure=event.reason, owes=False, asking="", run="", loop=ended(state.loop, at))


def followed(before: SessionState, after: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """`after`, with what `event` says or shows."""
    if isinstance(event, ev.MessageAdded | ev.MessageDrafted):
        by = event.role if isinstance(event, ev.MessageAdded) else "agent"
        return replace(after, talk=changes.said(after.talk, by, event.understood or None, before.seq, at))
    if isinstance(event, ev.ToolReturned):
        return _shown(before, after, event)
    if isinstance(event, ev.ModelAnswered) and event.calls:
        return replace(after, talk=topics.called(after.talk, [call.tool for call in event.calls]))
    if isinstance(event, ev.ModelRequested):
        return replace(after, talk=changes.asked(after.talk, event.shown.entities if event.shown else None))
    if isinstance(event, ev.SessionOpened) and event.ontology is not None:
        talk = Talk(ontology=event.ontology)
        # Kept once: what was declared stands in the talk, and is in the ledger as it came.
        return replace(after, talk=talk, opened=replace(event, ontology=None))
    return after


def _shown(before: SessionState, after: SessionState, event: ev.ToolReturned) -> SessionState:
    """`after` with the entities of a result. One of an older epoch shows nothing; nor does another data subject's,
    which would outlast the erasure of that subject.
    """
    call = before.calls.get(event.call)
    if call is None or call.kid:
        return after
    return replace(after, talk=changes.shown(after.talk, call.tool, event.result, event.output_path or ""))


@event_handler(ev.TalkDeclared)
def talk_declared(state: SessionState, event: ev.TalkDeclared, at: str) -> SessionState:
    return replace(state, talk=replace(state.talk, ontology=event.ontology))


@event_handler(ev.TopicOpened)
def topic_opened(state: SessionState, event: ev.TopicOpened, at: str) -> SessionState:
    return replace(state, talk=topics.turned(state.talk, event.topic, event.by, event.label))


@event_handler(ev.TopicSwitched)
def topic_switched(state: SessionState, event: ev.TopicSwitched, at: str) -> SessionState:
    return replace(state, talk=topics.switched(state.talk, event.topic, event.by, event.label))


@event_handler(ev.TopicResumed)
def topic_resumed(state: SessionState, event: ev.TopicResumed, at: str) -> SessionState:
    return replace(state, talk=topics.turned(state.talk, event.topic, event.by))


@event_handler(ev.TopicClosed)
def topic_closed(state: SessionState, event: ev.TopicClosed, at: str) -> SessionState:
    return replace(state, talk=topics.closed(state.talk, event.topic, event.by))


@event_handler(ev.ReferenceCorrected)
def reference_corrected(state: SessionState, event: ev.ReferenceCorrected, at: str) -> SessionState:
    reference = Reference(event.mention, event.entities, event.by)
    return replace(state, talk=changes.corrected(state.talk, event.seq, reference))


@event_handler(ev.ReferencesResolved)
def references_resolved(state: SessionState, event: ev.ReferencesResolved, at: str) -> SessionState:
    """What the model said, copied. Its call has ended, and it is told so."""
    calls = {key: call for key, call in state.calls.items() if key != event.call}
    item = Item(state.seq, "tool", '{"status":"ok"}', by=RESOLVE_REFERENCES, call=event.call)
    talk = changes.resolved(state.talk, event.references)
    return replace(state, calls=calls, items=added(state.items, item), owes=not state.ended, talk=talk)


@event_handler(ev.DataAdded)
def data_added(state: SessionState, event: ev.DataAdded, at: str) -> SessionState:
    plans = state.plans
    part = plans.instances.get(event.instance, Instance()) if event.instance else plans.own
    held = messages.patched(part.data.get(event.of), event.data, event.schema, event.by)
    brought = dict(messages.with_schema(part.private_schemas, event.of, event.schema))
    part = replace(part, data={**part.data, event.of: held}, seq=state.seq, private_schemas=brought)
    if not event.instance:
        return replace(state, plans=replace(plans, own=part))
    return replace(state, plans=replace(plans, instances={**plans.instances, event.instance: part}))


@event_handler(ev.UserAdapted)
def user_adapted(state: SessionState, event: ev.UserAdapted, at: str) -> SessionState:
    return replace(state, user=event.adaptation)


@event_handler(ev.ChartMoved)
def chart_moved(state: SessionState, event: ev.ChartMoved, at: str) -> SessionState:
    """The chart stands where the event says; a state that prompts makes the agent owe an answer."""
    before = state.chart.inside
    same = before is not None and before.chart == event.after.chart and bool(event.event)
    data = {**before.data, **event.changed} if before is not None and same else event.changed
    standing = Standing(
        inside=replace(event.after, data=data),
        instructions=event.instructions,
        tools=event.tools,
        stopped=event.stopped,
        at=at,
    )
    return replace(state, chart=standing, owes=state.owes or (event.prompt and not state.ended))
