"""Turns, topics, entities and corrections: what events make of them, and that all of it stays small."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from agentstate.engine.instants import stamp
from agentstate.engine.talk.resolve import resolve
from agentstate.engine.understanding import changes, held, topics
from agentstate.engine.understanding.held import Talk
from agentstate.engine.understanding.notes import resolved_note
from agentstate.engine.understanding.ontology import BadOntology, Ontology, load
from agentstate.engine.understanding.turns import open_questions
from tests.core.references import resolved

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
BIKES = load({
    "types": [{
        "name": "bike", "nouns": ["bike"], "verbs": ["repair"],
        "attributes": [{"name": "color", "kind": "word"}, {"name": "price", "kind": "money"}],
    }],
    "topics": [
        {"name": "repair", "label": "A repair", "words": ["repair", "broken"], "tools": ["workshop"]},
        {"name": "sale", "words": ["buy"], "types": ["bike"]},
    ],
    "sources": [{
        "tool": "shop", "type": "bike", "id": "{id}", "label": "{color} bike", "path": "bikes",
        "attributes": {"price": "cost.net"},
    }],
})  # fmt: skip
SHOP = {"bikes": [
    {"id": "r", "color": "red", "cost": {"net": {"minor": 50_000, "currency": "EUR"}}},
    {"id": "g", "color": "green", "cost": {"net": {"minor": 70_000, "currency": "EUR"}}},
]}  # fmt: skip


def talked(*said: str, talk: Talk | None = None) -> Talk:
    """The talk after these messages: `A:` is the agent's."""
    talk = talk or changes.shown(Talk(ontology=BIKES), "shop", SHOP, stamp(START))
    for seq, text in enumerate(said, start=talk.turns[-1].last + 1 if talk.turns else 0):
        by, words = ("agent", text[2:]) if text.startswith("A:") else ("customer", text)
        talk = resolved(talk, by, words, seq)
    return talk


def meant(talk: Talk, text: str) -> list[tuple[str, ...]]:
    return [found.entities for found in resolve(talk, text) if found.found == "entity"]


def test_messages_of_one_side_are_one_turn():
    talk = talked("Hello.", "Anybody there?", "A:Good morning.", "I need a bike.")
    assert [(turn.by, turn.first, turn.last, turn.messages) for turn in talk.turns] == [
        ("customer", 0, 1, 2), ("agent", 2, 2, 1), ("customer", 3, 3, 1),
    ]  # fmt: skip


def test_a_question_is_open_until_the_other_side_speaks():
    talk = talked("Hello.", "A:Which one? The green one?")
    assert [question for _, question in open_questions(talk)] == ["Which one?", "The green one?"]
    assert open_questions(talked("The red.", talk=talk)) == []


def test_topics_are_opened_left_and_resumed_by_what_is_said():
    talk = talked("I want to buy something.", "A:Gladly.", "My lamp is broken.", "A:Oh.", "Anyway, I want to buy one.")
    assert [(topic.name, topic.status, topic.turns, topic.again) for topic in talk.topics] == [
        ("sale", "open", (1, 2, 5), 1), ("repair", "left", (3, 4), 0),
    ]  # fmt: skip
    assert [turn.topic for turn in talk.turns] == ["sale", "sale", "repair", "repair", "sale"]


def test_a_called_tool_opens_its_topic_where_there_is_none():
    assert topics.called(talked("Hello."), ["workshop"]).topic == "repair"
    assert topics.called(talked("I want to buy one."), ["workshop"]).topic == "sale"


def test_a_switch_takes_the_turn_from_the_topic_that_was_heard():
    talk = topics.switched(talked("I want to buy one."), "advice", "user:ann", "Advice")
    assert (talk.topic, [topic.name for topic in talk.topics]) == ("advice", ["advice"])
    assert talk.turns[-1].topic == "advice"


def test_a_closed_topic_is_current_no_longer_and_can_be_taken_up():
    talk = topics.closed(talked("I want to buy one."), "sale", "user:ann")
    assert (talk.topic, talk.topics[0].status) == ("", "closed")
    assert topics.turned(talk, "sale", "user:ann").topics[0].status == "open"


def test_entities_come_from_where_the_result_was_declared_to_hold_them():
    talk = changes.shown(Talk(ontology=BIKES), "shop", SHOP, stamp(START))
    assert [(entity.id, entity.label) for entity in talk.entities] == [("r", "red bike"), ("g", "green bike")]
    assert talk.entities[1].attributes["price"] == {"minor": 70_000, "currency": "EUR"}


@pytest.mark.parametrize("result", [None, [], "bikes", {"bikes": 3}, {"bikes": [3, None, {}]}, {"bikes": {"id": {}}}])
def test_a_result_of_another_form_holds_no_entities(result):
    assert changes.shown(Talk(ontology=BIKES), "shop", result, stamp(START)).entities == ()


def test_a_correction_is_what_the_next_pronoun_goes_by():
    talk = talked("A:There is a red bike and a green bike.", "The red bike, please.")
    talk = changes.corrected(talk, talk.heard_seq, "The red bike", ("g",))
    assert resolved_note(talk)[0]["means"] == [{"id": "g", "label": "green bike"}]
    assert meant(talk, "repair it") == [("g",)]


def test_a_correction_can_say_that_nothing_was_meant():
    talk = talked("The red bike, please.")
    talk = changes.corrected(talk, talk.heard_seq, "The red bike", ())
    assert resolved_note(talk) == []


def test_the_note_says_what_is_meant_and_what_must_be_asked():
    talk = talked("A:There is a red bike and a green bike.", "How much is that bike?")
    (fact,) = resolved_note(talk)
    assert fact["ask"] == "Which do you mean: red bike or green bike?"
    assert resolved_note(talked("The red bike, please.")) == [
        {"said": "The red bike", "means": [{"id": "r", "label": "red bike"}]}
    ]


def test_an_agent_without_declarations_is_told_nothing():
    assert resolved_note(talked("Cancel it.", talk=Talk())) == []


def test_everything_is_capped_and_the_latest_stays():
    talk = Talk(ontology=BIKES)
    for number in range(300):
        bikes = {"bikes": [{"id": f"{number}-{i}", "color": f"color{number}"} for i in range(3)]}
        talk = changes.shown(talk, "shop", bikes, stamp(START))
        talk = talked(f"{number}-1? A question?", f"A:There is {number}-0 and {number}-2.", talk=talk)
        talk = topics.turned(talk, f"topic {number}", "user:ann")
    assert len(talk.entities) == held.KEPT_ENTITIES
    assert len(talk.mentions) <= held.KEPT_MENTIONS
    assert len(talk.groups) == held.KEPT_GROUPS
    assert (len(talk.turns), len(talk.topics)) == (held.KEPT_TURNS, held.KEPT_TOPICS)
    assert {"299-0", "299-1", "299-2"} <= {entity.id for entity in talk.entities}
    assert len(msgspec.json.encode(talk)) < 60_000


def test_a_talk_is_read_back_from_its_bytes_as_it_was():
    talk = talked("A:There is a red bike and a green bike.", "How much is it?", "A:Which one?", "The green one.")
    assert msgspec.json.decode(msgspec.json.encode(talk), type=Talk) == talk


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"types": [{"name": "a"}, {"name": "a"}]}, "same name"),
        ({"types": [{"name": "a", "happened": "at"}]}, "no instant"),
        ({"types": [{"name": ""}]}, "empty"),
        ({"topics": [{"name": "t", "types": ["ghost"]}]}, "ghost"),
        ({"sources": [{"type": "ghost", "id": "{id}", "label": "x"}]}, "ghost"),
        ({"types": [{"name": "a", "nouns": ["x" * 500]}]}, "500"),
        ({"types": [{"name": str(n)} for n in range(100)]}, "100"),
        ({"types": [{"name": "a", "colour": 1}]}, "colour"),
        (3, "int"),
        ("types", "str"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_refused_with_the_reason(data, word):
    with pytest.raises(BadOntology, match=word):
        load(data)


def test_an_empty_declaration_is_one():
    assert load({}) == Ontology()
