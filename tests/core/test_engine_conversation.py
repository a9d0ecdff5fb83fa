"""What a model is shown of a conversation: a call and its result are never parted. How much: `test_memory_laws`."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import model_request
from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.model import ContextMessage
from agentstate.engine.state.session import SessionState
from sessions.agents import definition
from sessions.agents.registry import Agent
from tests.core import worlds
from tests.core.laws import told_well
from tests.core.worlds import AUTHORIZE, World, proposed, transfer
from tests.searching import drawn

AGENT = Agent("test", "Be kind.", (), "bank", {})
SPEAKERS = ["customer", "agent", "staff", "note"]
# A turn: somebody speaks; or the agent makes so many calls, so many of which return before anybody speaks; or one of
# the calls that are still open returns.
turns = st.lists(
    st.sampled_from(SPEAKERS) | st.tuples(st.integers(1, 4), st.integers(0, 4)) | st.just("late"),
    max_size=80,
)


def items_of(made: list[object]) -> list[Item]:
    """A conversation of such turns."""
    items: list[Item] = []
    waiting: list[str] = []
    for turn in made:
        seq = len(items)
        if turn == "late":
            if waiting:
                items.append(Item(seq, "tool", "{}", call=waiting.pop(0)))
        elif isinstance(turn, tuple):
            calls = [f"{seq}-{number}" for number in range(turn[0])]
            items.append(Item(seq, "agent", "", calls=tuple(ItemCall(call, "t", {}) for call in calls)))
            items += [Item(seq, "tool", "{}", call=call) for call in calls[: turn[1]]]
            waiting += calls[turn[1] :]
        else:
            items.append(Item(seq, turn, "words"))  # type: ignore[arg-type]
    return items


@settings(max_examples=drawn(60))
@given(turns)
def test_what_a_model_is_shown_is_well_formed_at_every_moment(made):
    items = items_of(made)
    for end in range(len(items) + 1):
        told_well(definition.build(AGENT, "model", SessionState(items=tuple(items[:end]))).messages)


def shown(world: World) -> tuple[ContextMessage, ...]:
    """What the model is shown of a world."""
    return definition.build(AGENT, "model", world.state).messages


def test_a_call_that_waits_for_a_person_is_shown_waiting():
    messages = shown(worlds.waiting())
    assert messages[-1].role == "tool"
    assert msgspec.json.decode(messages[-1].text)["status"] == "waiting"
    assert messages[-2].calls[0].tool == "transfer"


def test_what_became_of_it_is_told_where_it_became_known():
    world = worlds.waiting().asked(text="A colleague looks at it.")
    world = world.after(core.Say("customer", "How long?", "customer"))
    world = world.after(worlds.decision(world, "reject", "ann"))
    messages = shown(world)
    assert [message.role for message in messages[-4:]] == ["tool", "agent", "customer", "note"]
    assert "waiting" in messages[-4].text
    assert (messages[-1].name, messages[-1].call_id) == ("transfer", messages[-4].call_id)
    assert msgspec.json.decode(messages[-1].text)["status"] == "rejected"


def test_a_decision_before_anybody_spoke_is_the_result_of_the_call():
    world = worlds.waiting()
    world = world.after(worlds.decision(world, "respond", "ann"))
    assert msgspec.json.decode(shown(world)[-1].text) == {"status": "responded", "result": "The branch does it."}


def test_of_two_calls_one_is_shown_done_and_one_waiting_each_in_its_place():
    world = worlds.authorized().asked(AUTHORIZE, transfer(100_000), text="One moment.")
    world = world.ran(world.call("authorize"), {"allowed": True})
    *_, said, first, second = shown(world)
    assert (said.text, [call.tool for call in said.calls]) == ("One moment.", ["authorize", "transfer"])
    assert [msgspec.json.decode(message.text)["status"] for message in (first, second)] == ["ok", "waiting"]


def test_the_same_state_gives_the_same_request_and_another_another_digest():
    world = worlds.opened().asked(proposed("load_customer", "state.customer"))
    before = definition.build(AGENT, "model", world.state)
    assert model_request.digest(before) == model_request.digest(definition.build(AGENT, "model", world.state))
    after = world.ran(world.call("load_customer"), {"name": "Ada"})
    assert model_request.digest(definition.build(AGENT, "model", after.state)) != model_request.digest(before)
