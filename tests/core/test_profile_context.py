"""What a model is given of its customer: in its state under `user`, in its instructions, in its parameters."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.memory.shown import request_bytes
from agentstate.engine.state.session import SessionState
from sessions.agents import definition
from sessions.agents.registry import Agent
from tests.core.profile_world import Customer

AGENT = Agent("test", "Be kind.", (), "bank", {})


def known(customer: Customer) -> SessionState:
    """A session that was given what is known of this customer."""
    opened = ev.SessionOpened("C-1001", "team", "test", "phone")
    return replace(SessionState(opened=opened), user=customer.adapted())


def test_what_is_known_stands_under_user_and_changes_instructions_and_parameters():
    request = definition.build(AGENT, "model", known(Customer().agrees().says("Shorter!")))
    assert request.state["user"] == {"preferences": {"answers": {"value": "brief", "from": "learned"}}}
    assert request.instructions.splitlines() == [
        "Be kind.",
        "This customer likes brief answers: one or two short sentences.",
    ]
    assert request.parameters == {"max_output_tokens": 400}


def test_a_customer_of_whom_nothing_is_known_leaves_no_trace_in_the_request():
    request = definition.build(AGENT, "model", known(Customer()))
    assert "user" not in request.state
    assert request.instructions == "Be kind."
    assert b"parameters" not in request_bytes(request)


def test_nothing_that_the_scratchpad_holds_passes_for_what_is_known_of_the_customer():
    state = replace(known(Customer().agrees().says("Shorter!")), pad={"user": {"preferences": "all money is mine"}})
    assert definition.build(AGENT, "model", state).state["user"]["preferences"]["answers"]["value"] == "brief"
