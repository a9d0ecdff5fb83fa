"""Turns, topics, entities and corrections: what events make of them, and that all of it stays small."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from agentstate.engine.decide import cues
from agentstate.engine.instants import stamp
from agentstate.engine.understanding import changes, held, topics
from agentstate.engine.understanding.held import Reference, Talk
from agentstate.engine.understanding.ontology import BadOntology, Ontology, load
from agentstate.engine.understanding.turns import open_questions

START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
BIKES = load({
    "types": [{
        "name": "bike", "attributes": ["color", "price"],
    }],
    "topics": [
        {"name": "repair", "label": "A repair", "words": ["repair", "broken"], "tools": ["workshop"]},
        {"name": "sale", "words": ["buy", "how much is it"]},
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
    talk = talk or changes.shown(Talk(ontology=BIKES), "shop", SHOP)
    for seq, text in enumerate(said, start=talk.turns[-1].last + 1 if talk.turns else 0):
        by, words = ("agent", text[2:]) if text.startswith("A:") else ("customer", text)
        talk = changes.said(talk, by, cues.understood(talk, by, words), seq, stamp(START))
    return talk


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
    talk = changes.shown(Talk(ontology=BIKES), "shop", SHOP)
    assert [(entity.id, entity.label) for entity in talk.entities] == [("r", "red bike"), ("g", "green bike")]
    assert talk.entities[1].attributes["price"] == {"minor": 70_000, "currency": "EUR"}


@pytest.mark.parametrize("result", [None, [], "bikes", {"bikes": 3}, {"bikes": [3, None, {}]}, {"bikes": {"id": {}}}])
def test_a_result_of_another_form_holds_no_entities(result):
    assert changes.shown(Talk(ontology=BIKES), "shop", result).entities == ()


def test_a_correction_stands_in_place_of_what_the_model_said():
    talk = changes.resolved(talked("The red one. Is it cheap?"), (Reference("The red one", ("g",), "model"),))
    talk = changes.corrected(talk, talk.heard_seq, Reference("The red one", ("r",), "user:ann"))
    assert [(each.entities, each.by) for each in talk.heard] == [(("r",), "user:ann")]
    assert [mention.entity for mention in talk.mentions] == ["r"]
    talk = changes.corrected(talk, talk.heard_seq, Reference("it", (), "user:ann"))
    assert [each.mention for each in talk.heard] == ["The red one", "it"]


def test_a_correction_of_an_older_message_changes_no_reference_of_the_newest():
    talk = talked("The red one.", "And the green one?")
    talk = changes.resolved(talk, (Reference("the green one", ("g",), "model"),))
    later = changes.corrected(talk, 0, Reference("The red one", ("r",), "user:ann"))
    assert (later.heard, later.heard_seq) == (talk.heard, talk.heard_seq)
    assert [mention.entity for mention in later.mentions] == ["g", "r"]


@pytest.mark.parametrize(
    ("text", "topic"),
    [("I want to BUY it", "sale"), ("How much, is it?", "sale"), ("buyer", ""), ("how much was it", ""), ("", "")],
)
def test_a_cue_is_a_whole_word_or_phrase_without_regard_to_case_and_marks(text, topic):
    assert talked(text).topic == topic


def test_a_message_is_not_read_where_nothing_is_declared():
    assert cues.understood(Talk(), "customer", "Do you buy?") is None
    assert cues.understood(Talk(ontology=BIKES), "note", "Do you buy?") is None
    assert cues.understood(Talk(ontology=BIKES), "customer", "Do you buy?").topic == "sale"


def test_only_the_first_part_of_a_long_message_is_read():
    assert talked("x " * cues.MAX_CHARACTERS + "buy").topic == ""


def test_everything_is_capped_and_the_latest_stays():
    talk = Talk(ontology=BIKES)
    for number in range(300):
        bikes = {"bikes": [{"id": f"{number}-{i}", "color": f"color{number}"} for i in range(3)]}
        talk = changes.shown(talk, "shop", bikes)
        talk = talked(f"{number}-1? A question?", f"A:There is {number}-0 and {number}-2.", talk=talk)
        said = (Reference("it", (f"{number}-0", f"{number}-1"), "model"),)
        talk = changes.asked(changes.resolved(talk, said), None)
        talk = topics.turned(talk, f"topic {number}", "user:ann")
    assert len(talk.entities) == held.KEPT_ENTITIES
    assert len(talk.mentions) <= held.KEPT_MENTIONS
    assert len(talk.shown) <= held.KEPT_ENTITIES
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
        ({"types": [{"name": "a", "attributes": ["x", "x"]}]}, "same name"),
        ({"types": [{"name": ""}]}, "empty"),
        ({"sources": [{"type": "ghost", "id": "{id}", "label": "x"}]}, "ghost"),
        ({"types": [{"name": "a", "attributes": ["x" * 500]}]}, "500"),
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
