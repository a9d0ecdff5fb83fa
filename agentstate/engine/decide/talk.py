"""Talk: messages are read for cues, topics set by hand, references said by the model and corrected by staff; a new
declaration of entities takes effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.conversation import CorrectReference, SetTopic
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.cues import is_declared, understood
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.rounds import private_places
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.understanding import answer
from agentstate.engine.understanding.answer import MAX_MEANT
from agentstate.engine.understanding.held import Reference
from agentstate.engine.understanding.private import visible_talk
from agentstate.engine.understanding.topics import LONGEST_NAME
from agentstate.errors import Invalid, NotFound, Refused

MODEL = "model"  # who said what a phrase means, where no person did
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


class NotNewestMessage(Refused):
    """This is not the customer's newest message."""

    code = "not_newest_message"


class ReferencesKnown(Refused):
    """What this message refers to was said already."""

    code = "references_known"


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
    if len(command.entities) > MAX_MEANT:
        raise Invalid(f"got {len(command.entities)} entities, at most {MAX_MEANT}", field="entities")
    _must_be_said(command.mention, command.seq, state)
    _must_be_known(command.entities, {entity.id for entity in state.talk.entities})
    meant = tuple(dict.fromkeys(command.entities))
    return [ev.ReferenceCorrected(command.seq, command.mention, meant, command.by)]


def _must_be_said(mention: str, seq: int, state: SessionState) -> None:
    said = next((item.text for item in state.items if item.seq == seq and item.role == "customer"), "")
    if not mention or mention not in said:
        raise UnknownMention(f"entry {seq}")


def _must_be_known(entities: Iterable[str], known: Collection[str]) -> None:
    for entity in entities:
        if entity not in known:
            raise UnknownEntity(entity[:LONGEST_NAME])


def of_model(state: SessionState, call: Call, step: str, context: CommandContext) -> ev.AnyEvent:
    """What becomes of a model's call of the tool `resolve_references`. It is recorded as the model's word: its form is
    checked, and its truth is not.
    """
    try:
        said = answer.read(call.arguments)
        _must_fit(said, state, context)
    except (Invalid, NotFound, Refused) as error:
        return ev.CallRefused(call.id, error.code, f"{error.title} {error.detail}"[:1000])
    references = tuple(Reference(each.mention, tuple(dict.fromkeys(each.entities)), MODEL) for each in said.references)
    return ev.ReferencesResolved(said.message, references, step, call.id)


def _must_fit(said: answer.Answer, state: SessionState, context: CommandContext) -> None:
    """Raises what is wrong with an answer beside the message that it is about and the entities that were shown."""
    talk = state.talk
    if said.message != talk.heard_seq:
        raise NotNewestMessage(f"got entry {said.message}, the newest is entry {talk.heard_seq}")
    if talk.answered:
        raise ReferencesKnown(f"entry {said.message}")
    private = private_places(state.plans, context.memory.private)
    may_see = {each.id for each in visible_talk(talk, private).entities}
    shown = [each for each in talk.shown if each in may_see][: talk.named]
    for each in said.references:
        _must_be_said(each.mention, said.message, state)
        _must_be_known(each.entities, shown)


def read(events: list[ev.AnyEvent], state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """`events`, each message with what it tells of its turn and topic at that point.

    An agent that declares nothing pays for a glance at the kinds of its events.
    """
    messages = [place for place, event in enumerate(events) if isinstance(event, ev.MessageAdded | ev.MessageDrafted)]
    if not messages or not (is_declared(state.talk) or any(isinstance(event, _DECLARING) for event in events)):
        return events
    found, at = list[ev.AnyEvent](), stamp(context.at)
    for place, event in enumerate(events):
        found.append(read_one(event, state))
        if place < messages[-1]:
            state = evolve(state, found[-1], at)
    return found


def read_one(event: ev.AnyEvent, state: SessionState) -> ev.AnyEvent:
    """`event`, which follows in `state`, with what it tells if it is a message."""
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
