"""What happens to turns, topics and references beside what is heard: declared, set and corrected by hand."""

from __future__ import annotations

from agentstate.engine.events.base import Event
from agentstate.engine.understanding.ontology import Ontology


class TalkDeclared(Event, frozen=True, tag="talk.declared"):
    """What entities and topics the agent's talk is about has changed since the session was opened."""

    ontology: Ontology
    v: int = 1


class TopicOpened(Event, frozen=True, tag="topic.opened"):
    """Somebody opened a topic that had not been talked about; the newest turn is about it."""

    topic: str
    label: str
    by: str
    v: int = 1


class TopicSwitched(Event, frozen=True, tag="topic.switched"):
    """The newest turn was heard as about another topic, and is about this one."""

    topic: str
    label: str
    by: str
    v: int = 1


class TopicResumed(Event, frozen=True, tag="topic.resumed"):
    """A topic that was left or closed is talked about again."""

    topic: str
    by: str
    v: int = 1


class TopicClosed(Event, frozen=True, tag="topic.closed"):
    """A topic is done with."""

    topic: str
    by: str
    v: int = 1


class ReferenceCorrected(Event, frozen=True, tag="reference.corrected"):
    """In the message of entry `seq`, `mention` means `entities`; none: it refers to nothing that is known."""

    seq: int
    mention: str
    entities: tuple[str, ...]
    by: str
    v: int = 1
