"""Topics: recorded with a message, opened by a tool that is called, or set by hand.

A topic is opened when it is first heard, left when another is, resumed when it is heard again, and closed by hand. Each
names the turns that were about it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from agentstate.engine.understanding.held import KEPT_TOPICS, KEPT_TURNS_OF_TOPIC, Talk, Topic

LONGEST_NAME = 60  # characters of a topic's name and label


def called(talk: Talk, tools: Iterable[str]) -> Talk:
    """The talk after the agent called `tools`: a topic is opened by its tool only where none is current."""
    named = set(tools)
    if talk.topic or not named:
        return talk
    for cue in talk.ontology.topics:
        if named & set(cue.tools):
            return turned(talk, cue.name)
    return talk


def turned(talk: Talk, name: str, by: str = "", label: str = "") -> Talk:
    """The talk with its newest turn about topic `name`: opened or resumed, and the one before left."""
    if not name:
        return talk
    known = {topic.name: topic for topic in talk.topics}
    topic = known.get(name) or Topic(name, label or _label(talk, name), "open", talk.turn)
    again = topic.name in known and name != talk.topic
    turns = topic.turns if topic.turns[-1:] == (talk.turn,) or not talk.turn else (*topic.turns, talk.turn)
    if name != talk.topic and talk.topic in known and known[talk.topic].status == "open":
        known[talk.topic] = replace(known[talk.topic], status="left")
    known[name] = replace(
        topic,
        label=label or topic.label,
        status="open",
        turns=turns[-KEPT_TURNS_OF_TOPIC:],
        again=topic.again + again,
        by=by or topic.by,
    )
    return replace(_with_turn(talk, name), topics=_kept(known, name), topic=name)


def _with_turn(talk: Talk, name: str) -> Talk:
    if not talk.turns or talk.turns[-1].topic == name:
        return talk
    return replace(talk, turns=(*talk.turns[:-1], replace(talk.turns[-1], topic=name)))


def _label(talk: Talk, name: str) -> str:
    return next((cue.label or cue.name for cue in talk.ontology.topics if cue.name == name), name)


def _kept(known: dict[str, Topic], current: str) -> tuple[Topic, ...]:
    """At most KEPT_TOPICS: closed ones fall out first, then those left longest ago."""
    topics = list(known.values())
    while len(topics) > KEPT_TOPICS:
        others = [topic for topic in topics if topic.name != current]
        topics.remove(min(others, key=lambda topic: (topic.status != "closed", topic.turns[-1:] or (topic.opened,))))
    return tuple(topics)


def switched(talk: Talk, name: str, by: str, label: str = "") -> Talk:
    """The talk after somebody said that the newest turn is about `name` and was not about what was heard."""
    wrong = talk.topic
    kept = tuple(
        replace(topic, turns=topic.turns[:-1]) if topic.name == wrong and topic.turns[-1:] == (talk.turn,) else topic
        for topic in talk.topics
    )
    kept = tuple(topic for topic in kept if topic.turns or topic.name != wrong or topic.by)
    return turned(replace(talk, topics=kept), name, by, label)


def closed(talk: Talk, name: str, by: str) -> Talk:
    """The talk with topic `name` closed; when it was the current one, there is none until the next is heard."""
    topics = tuple(replace(topic, status="closed", by=by) if topic.name == name else topic for topic in talk.topics)
    return replace(talk, topics=topics, topic="" if talk.topic == name else talk.topic)
