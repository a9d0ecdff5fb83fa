"""Conversation, task and user: three views of one session, with the names that agent developers know."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import schemas
from agentstate.engine.schemas import BreaksSchema
from agentstate.engine.three_states import SCHEMAS, three_states
from sessions.library import state_schemas
from tests.core import worlds

BANK = state_schemas.named("bank").current


def seen(world: worlds.World, **wishes):
    return three_states("session-1", world.state, BANK, **wishes)


def test_a_conversation_is_messages_turns_and_tokens():
    found = seen(worlds.opened()).conversation
    assert [(each.role, each.content) for each in found.messages] == [("customer", "Move money, please.")]
    assert found.turns == 1
    assert 3 <= found.context_tokens <= 12


def test_a_task_counts_its_steps_and_names_the_current_one():
    world = worlds.authorized()
    assert (seen(world).task.steps_completed, seen(world).task.steps_remaining) == (1, 0)
    waits = seen(worlds.waiting()).task
    assert (waits.status, waits.current_step, waits.steps_completed, waits.steps_remaining) == (
        "waiting",
        "transfer",
        1,
        1,
    )
    assert waits.data["authorization"] == {"allowed": True}


def test_a_task_is_done_when_its_session_is():
    world = worlds.opened()
    assert seen(world).task.status == "in_progress"
    assert seen(world.after(core.End("all said", "customer"))).task.status == "done"


def test_the_goal_is_what_the_state_says_else_the_topic():
    world = worlds.World().after(core.Open("C-1", "team", "bank", "phone", "a card"))
    assert seen(world).task.goal == "a card"
    named = replace(world.state, pad={"goal": "block the card"})
    assert three_states("s", named, BANK).task.goal == "block the card"


def test_what_is_known_of_the_user_comes_from_the_profile():
    view = {"preferences": {"channel": {"value": "phone", "from": "said"}}, "history": {"payees": [{"to": "9931"}]}}
    state = replace(worlds.opened().state, user=ev.Adaptation(profile=7, view=view))
    user = three_states("s", state, BANK).user
    assert (user.user_id, user.profile) == ("C-1", 7)
    assert user.preferences["channel"]["value"] == "phone"
    assert user.history["payees"] == [{"to": "9931"}]


def test_a_state_that_breaks_its_schema_does_not_leave():
    state = replace(worlds.opened().state, pad={"authorization": {"allowed": "yes"}})
    with pytest.raises(BreaksSchema) as refusal:
        three_states("s", state, BANK)
    assert refusal.value.path == "state.authorization.allowed"


def test_each_kind_keeps_to_the_schema_that_documents_it():
    found = seen(worlds.waiting())
    for name, schema in SCHEMAS.items():
        schemas.check_schema(schema)
        schemas.validate(schema, msgspec.to_builtins(getattr(found, name)))
    with pytest.raises(BreaksSchema):
        schemas.validate(SCHEMAS["task"], {"goal": "x"})
