"""Talk: messages are resolved, topics set by hand, references put right; a new declaration of entities takes effect."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.conversation import CorrectReference, SetTopic
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.engine.talk.reading import is_declared, understood
from agentstate.engine.understanding.topics import LONGEST_NAME
from agentstate.errors import Invalid, NotFound, Refused

MOST_MEANT = 20  # entities that one reference can mean
_DECLARING = (ev.SessionOpened, ev.TalkDeclared)


class UnknownTopic(NotFound):
    """This conversation has no such topic."""

    code = "unknown_topic"


class TopicKnown(Refused):
    """The conversation has this topic already."""

    code = "topic_known"
    remedy = "Resume it, or switch to it."


class UnknownMention(NotFound):
    """The customer did not say this there."""

    code = "unknown_mention"


class UnknownEntity(NotFound):
    """Nothing of this id is known in the conversation."""

    code = "unknown_entity"


@command_handler(SetTopic)
def topic_set(command: SetTopic, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The change of topic, if the topic is one that can be changed so."""
    must_live(state)
    _named(command.topic, "topic")
    if command.label:
        _named(command.label, "label")
    known = {topic.name: topic for topic in state.talk.topics}
    if command.change == "open":
        if command.topic in known:
            raise TopicKnown(command.topic)
        return [ev.TopicOpened(command.topic, command.label, command.by)]
    if command.change == "switch":
        return [ev.TopicSwitched(command.topic, command.label, command.by)]
    if command.topic not in known:
        raise UnknownTopic(command.topic)
    if command.change == "resume":
        return [ev.TopicResumed(command.topic, command.by)]
    if known[command.topic].status == "closed":
        raise Refused(f"the topic {command.topic!r} is closed already")
    return [ev.TopicClosed(command.topic, command.by)]


def _named(text: str, field: str) -> None:
    if not text.strip() or len(text) > LONGEST_NAME:
        raise Invalid(f"got {len(text)} characters, want 1 to {LONGEST_NAME}", field=field)


@command_handler(CorrectReference)
def reference_corrected(command: CorrectReference, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What a phrase of a message that is still held in its words means."""
    must_live(state)
    said = next((item.text for item in state.items if item.seq == command.seq and item.role == "customer"), "")
    if not command.mention or command.mention not in said:
        raise UnknownMention(f"entry {command.seq}")
    if len(command.entities) > MOST_MEANT:
        raise Invalid(f"got {len(command.entities)} entities, at most {MOST_MEANT}", field="entities")
    known = {entity.id for entity in state.talk.entities}
    for entity in command.entities:
        if entity not in known:
            raise UnknownEntity(entity[:LONGEST_NAME])
    meant = tuple(dict.fromkeys(command.entities))
    return [ev.ReferenceCorrected(command.seq, command.mention, meant, command.by)]


def resolved(events: list[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """`events`, each message with what it means beside what the session knows at that point.

    An agent that declares nothing pays for a glance at the kinds of its events.
    """
    messages = [place for place, event in enumerate(events) if isinstance(event, ev.MessageAdded | ev.MessageDrafted)]
    if not messages or not (is_declared(state.talk) or any(isinstance(event, _DECLARING) for event in events)):
        return events
    found, at = list[ev.AnyEvent](), stamp(context.at)
    for place, event in enumerate(events):
        found.append(resolved_one(event, state))
        if place < messages[-1]:
            state = evolve(state, found[-1], at)
    return found


def resolved_one(event: ev.AnyEvent, state: SessionState) -> ev.AnyEvent:
    """`event`, which follows in `state`, with what it means if it is a message."""
    if not isinstance(event, ev.MessageAdded | ev.MessageDrafted):
        return event
    by = event.role if isinstance(event, ev.MessageAdded) else "agent"
    found = understood(state.talk, by, event.text)
    return replace(event, understood=msgspec.UNSET if found is None else found)


def declared_anew(state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The declaration in force, where it is not the one that the session goes by."""
    if context.ontology is None or context.ontology == state.talk.ontology:
        return []
    return [ev.TalkDeclared(context.ontology)]
