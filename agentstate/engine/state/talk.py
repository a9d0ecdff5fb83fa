"""What events change in talk: a message is what was recorded as understood, a result shows entities, people correct.

`followed` goes with every event; the other functions are named like the event they are for. No text is read here.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState
from agentstate.engine.understanding import changes, topics
from agentstate.engine.understanding.held import Talk


def followed(before: SessionState, after: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """`after`, with what `event` says or shows."""
    if isinstance(event, ev.MessageAdded | ev.MessageDrafted):
        by = event.role if isinstance(event, ev.MessageAdded) else "agent"
        return replace(after, talk=changes.said(after.talk, by, event.understood or None, before.seq, at))
    if isinstance(event, ev.ToolReturned) and event.call in before.calls:  # else: of an older epoch, and shows nothing
        tool = before.calls[event.call].tool
        return replace(after, talk=changes.shown(after.talk, tool, event.result, at, event.output_path or ""))
    if isinstance(event, ev.ModelAnswered) and event.calls:
        return replace(after, talk=topics.called(after.talk, [call.tool for call in event.calls]))
    if isinstance(event, ev.SessionOpened) and event.ontology is not None:
        talk = Talk(ontology=event.ontology)
        # Kept once: what was declared stands in the talk, and is in the ledger as it came.
        return replace(after, talk=talk, opened=replace(event, ontology=None))
    return after


def talk_declared(state: SessionState, event: ev.TalkDeclared, at: str) -> SessionState:
    return replace(state, talk=replace(state.talk, ontology=event.ontology))


def topic_opened(state: SessionState, event: ev.TopicOpened, at: str) -> SessionState:
    return replace(state, talk=topics.turned(state.talk, event.topic, event.by, event.label))


def topic_switched(state: SessionState, event: ev.TopicSwitched, at: str) -> SessionState:
    return replace(state, talk=topics.switched(state.talk, event.topic, event.by, event.label))


def topic_resumed(state: SessionState, event: ev.TopicResumed, at: str) -> SessionState:
    return replace(state, talk=topics.turned(state.talk, event.topic, event.by))


def topic_closed(state: SessionState, event: ev.TopicClosed, at: str) -> SessionState:
    return replace(state, talk=topics.closed(state.talk, event.topic, event.by))


def reference_corrected(state: SessionState, event: ev.ReferenceCorrected, at: str) -> SessionState:
    return replace(state, talk=changes.corrected(state.talk, event.seq, event.mention, event.entities))
