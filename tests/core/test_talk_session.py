"""Talk in a session: declared when it is opened, recorded with messages, set and corrected by commands."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from msgspec import UNSET

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.decide import cues, offers
from agentstate.engine.decide.talk import TopicKnown, UnknownEntity, UnknownMention, UnknownTopic
from agentstate.engine.instants import parse
from agentstate.engine.looping.held import Loop, Waiting
from agentstate.engine.looping.settings import Looping
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.understanding.ontology import load
from agentstate.engine.versions.replay import Input, replay
from agentstate.engine.versions.rerun import rerun
from agentstate.errors import Invalid, Refused
from tests.core.talk_world import ACCOUNTS, World, loaded


def test_what_is_talked_about_is_declared_with_the_opening_and_kept_once():
    world = loaded()
    assert world.events(ev.SessionOpened)[0].ontology == ACCOUNTS
    assert world.state.talk.ontology == ACCOUNTS
    assert world.state.opened.ontology is None


def test_a_message_is_recorded_with_what_it_tells_and_the_state_copies_it():
    world = loaded()
    first, second = (event.understood for event in world.events(ev.MessageAdded) if event.role == "customer")
    assert (first.topic, first.questions) == ("move", ())
    assert (second.topic, second.questions) == ("", ("What is in my savings?", "And is it open?"))
    assert world.state.talk.topic == "move"
    assert [turn.asks for turn in world.state.talk.turns] == [second.questions]


def test_the_fold_never_reads_a_text(monkeypatch):
    world = loaded()
    monkeypatch.setattr(cues, "questions_in", _raises)
    monkeypatch.setattr(cues, "_topic", _raises)
    with pytest.raises(AssertionError, match="read"):
        world.after(core.Say("customer", "And my checking?", "customer"))
    assert fold(world.history) == world.state


def _raises(*_: object, **__: object) -> None:
    raise AssertionError("a text was read")


def test_an_edit_of_the_declared_words_changes_no_state_that_was_recorded():
    world = loaded()
    other = load({**msgspec.to_builtins(ACCOUNTS), "topics": [{"name": "savings", "words": ["savings"]}]})
    newer = replace(world, ontology=other).asked().after(core.Say("customer", "My savings.", "customer"))
    assert newer.events(ev.MessageAdded)[-1].understood.topic == "savings"
    assert fold(newer.history[: len(world.history)]) == world.state


def test_messages_of_one_command_are_read_each_beside_what_came_before_it():
    waits = Loop(waiting=(Waiting(9, "My card.", "customer"),))
    state = msgspec.structs.replace(loaded().state, loop=waits, run="")
    said = core.decide(core.Say("customer", "Move it with my card.", "customer"), state, World().given)
    assert [event.understood.topic for event in said] == ["card", ""]  # the topic is that already


def test_a_message_that_waited_is_read_when_it_is_heard():
    world = replace(loaded(), loop=Looping(meanwhile="enqueue"))
    asked = world.after(core.Ask("s", "model", 0, 0, offers.tools_in(world.given), "digest"))
    waited = asked.after(core.Say("customer", "My card.", "customer"))
    assert waited.events(ev.MessageQueued)
    rested = waited.after(core.Answer("s", "model", "Well.", ()), core.Rest("customer"))
    heard = rested.events(ev.MessageAdded)[-1]
    assert (heard.queued, heard.understood.topic) == (waited.state.loop.waiting[0].seq, "card")


def test_the_state_is_the_fold_in_two_parts_and_read_back_from_its_bytes():
    world = loaded().after(core.SetTopic("card", "open", "user:ann"))
    for cut in range(len(world.history)):
        assert fold(world.history[cut:], fold(world.history[:cut])) == world.state
    assert from_snapshot(to_snapshot(world.state)) == world.state


def test_a_declaration_that_changed_takes_effect_before_the_model_is_asked_again():
    newer = load({**msgspec.to_builtins(ACCOUNTS), "topics": []})
    world = replace(loaded(), ontology=newer).asked()
    assert [event.ontology for event in world.events(ev.TalkDeclared)] == [newer]
    assert world.asked().events(ev.TalkDeclared) == world.events(ev.TalkDeclared)
    assert len(world.state.talk.entities) == 2


def test_a_session_of_before_is_told_of_the_declaration_too():
    old = replace(loaded(), ontology=None)
    assert replace(old, ontology=ACCOUNTS).asked().events(ev.TalkDeclared) == []
    bare = World(ontology=None).after(
        core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Hi.", "customer")
    )
    assert len(replace(bare, ontology=ACCOUNTS).asked().events(ev.TalkDeclared)) == 1


@pytest.mark.parametrize(
    ("change", "topic", "event"),
    [("open", "loan", ev.TopicOpened), ("switch", "card", ev.TopicSwitched), ("close", "move", ev.TopicClosed)],
)
def test_a_topic_is_set_by_hand(change, topic, event):
    world = loaded().after(core.SetTopic(topic, change, "user:ann"))
    assert len(world.events(event)) == 1
    assert world.state.talk.topic == ("" if change == "close" else topic)


def test_a_topic_that_was_left_is_resumed():
    world = loaded().after(core.SetTopic("loan", "open", "user:ann"), core.SetTopic("move", "resume", "user:ann"))
    assert [(topic.name, topic.status) for topic in world.state.talk.topics] == [("move", "open"), ("loan", "left")]


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        (core.SetTopic("move", "open", "user:ann"), TopicKnown),
        (core.SetTopic("ghost", "close", "user:ann"), UnknownTopic),
        (core.SetTopic("ghost", "resume", "user:ann"), UnknownTopic),
        (core.SetTopic("", "open", "user:ann"), Invalid),
        (core.SetTopic("x" * 100, "open", "user:ann"), Invalid),
        (core.SetTopic("x", "open", "user:ann", "y" * 100), Invalid),
        (core.CorrectReference(1, "my savings", ("a",), "user:ann"), UnknownMention),
        (core.CorrectReference(7, "", ("a",), "user:ann"), UnknownMention),
        (core.CorrectReference(999, "my savings", ("a",), "user:ann"), UnknownMention),
    ],
)
def test_what_cannot_be_set_is_refused_by_name_and_changes_nothing(command, refusal):
    world = loaded()
    with pytest.raises(refusal):
        world.after(command)


def test_a_reference_is_put_right_and_only_to_what_is_known():
    world = loaded()
    seq = world.state.talk.heard_seq
    right = world.after(core.CorrectReference(seq, "my savings", ("b",), "user:ann"))
    assert right.state.talk.heard[0].entities == ("b",)
    with pytest.raises(UnknownEntity):
        world.after(core.CorrectReference(seq, "my savings", ("ghost",), "user:ann"))
    with pytest.raises(Invalid):
        world.after(core.CorrectReference(seq, "my savings", ("a",) * 21, "user:ann"))


def test_nothing_is_set_once_the_conversation_is_over():
    over = loaded().after(core.End("hung up", "user:ann"))
    with pytest.raises(Refused):
        over.after(core.SetTopic("loan", "open", "user:ann"))


def test_an_agent_without_a_declaration_records_nothing_and_reads_nothing(monkeypatch):
    monkeypatch.setattr(cues, "questions_in", _raises)
    world = World(ontology=None).after(core.Open("C-1", "t", "bank", "phone"), core.Say("customer", "my card?", "c"))
    (said,) = world.events(ev.MessageAdded)
    assert b"understood" not in ev.encode(said)
    assert world.state.talk.entities == world.state.talk.heard == ()
    assert SessionState().talk == fold([]).talk


def test_notes_to_the_agent_are_not_read():
    note = loaded().after(core.Say("note", "Ask about the card.", "c")).events(ev.MessageAdded)[-1]
    assert note.understood is UNSET


def test_a_replayed_message_with_other_words_is_read_anew():
    world = loaded()
    history = [(seq, event, at) for seq, (event, at) in enumerate(world.history)]
    given = lambda at: msgspec.structs.replace(world.given, at=parse(at))  # noqa: E731
    seq = world.state.talk.heard_seq
    assert replay(history, given, [Input(seq, text="My card?")]).state.talk.topic == "card"


def test_a_message_said_again_to_another_model_is_read_beside_what_is_known_then():
    world = loaded()
    history = [(seq, event, at) for seq, (event, at) in enumerate(world.history)]
    given = lambda at: msgspec.structs.replace(world.given, at=parse(at))  # noqa: E731
    silent = rerun(history, given, lambda state, step: core.Answer(step, "m", "Well.", ()))
    assert silent.state.talk.topic == "move"
    assert silent.state.talk.entities == ()
