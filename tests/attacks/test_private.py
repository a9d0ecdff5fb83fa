"""Attacks on private values, over the shipped agent of the bank: what a model may read of the answer that staff keep to
verify a customer. The model proposes; the engine, the tools' views and the delegates answer, without an installation.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentstate.engine import events as ev
from tests.shell.private_world import AGENT, BANK, MARK, Flow


def proposed(agent: Any = BANK, **call: Any) -> Flow:
    """The session after a model's answer with this call: nothing that comes out of it may hold the private value."""
    flow = Flow(MARK, agent)
    flow.answer([call])
    flow.answer([{"_tool": agent.tools[0], "customer": "C-1001", "text": "again"}])
    assert len(flow.out) > 6
    assert not [each for each in flow.out if MARK.encode() in each]
    return flow


def refusals(flow: Flow) -> set[str]:
    return {event.code for event in flow.events if isinstance(event, ev.CallRefused)}


def same_whatever(**call: Any) -> None:
    """All that comes out does not depend on the private value, nor on whether there is one."""
    told = []
    for private in (MARK, "another", None):
        flow = Flow(private, BANK)
        flow.answer([call])
        told.append(flow.out)
    assert told[0] == told[1] == told[2]


def test_r5_a_reference_to_a_private_value_is_refused_and_not_quoted():
    for text in ("†state.verification.answer", "†state.verification", "†state.verification.answer || †state.none"):
        flow = proposed(_tool="remember", what=text)
        assert "plan_refused" in refusals(flow)
        assert not any(isinstance(event, ev.ToolIntended) for event in flow.events)


def test_r5_a_delegate_is_given_no_private_value_by_reference_or_scope():
    proposed(_tool="remember", what="†state.verification.answer", _delegate="anonymous")
    flow = proposed(_tool="remember", what="x", _delegate="anonymous", _scopes=["state"])
    assert any(isinstance(event, ev.ToolIntended) and event.effect == "delegate" for event in flow.events)


def test_r5_what_a_delegate_gives_back_and_what_a_reviewer_previews_hold_no_private_value():
    flow = proposed(AGENT, _tool="flow_remember", text="x", _delegate="anonymous")
    (given,) = [event.result for event in flow.events if isinstance(event, ev.ToolReturned)][:1]
    assert given["state"]["people"] == [{"name": "Bo"}, {}]
    assert any(isinstance(event, ev.ApprovalRequested) for event in proposed(AGENT, _tool="flow_pay", text="x").events)


@pytest.mark.parametrize("guess", ["b", "Z", "ZQ7"])
def test_r6_a_guard_does_not_tell_how_a_private_value_begins(guess: str):
    same_whatever(_tool="remember", what="x", _when=f"state.verification.answer.startsWith('{guess}')")


def test_r6_a_guard_does_not_tell_whether_a_private_value_is_there_or_how_long_it_is():
    for guard in ("has(state.verification)", "size(state.verification.answer) == 10", "size(state) == 1"):
        same_whatever(_tool="remember", what="x", _when=guard)


def test_r6_a_guard_that_hides_what_it_reads_is_refused_too():
    for guard in ("[state].exists(s, s.verification.answer == 'x')", "state['verifi' + 'cation'].answer == 'x'"):
        same_whatever(_tool="remember", what="x", _when=guard)


def test_r7_a_service_outside_is_called_with_no_private_value():
    amount = {"minor": 1, "currency": "USD"}
    flow = proposed(_tool="authorize", customer="C-1001", purpose="†state.verification.answer", amount=amount)
    assert not any(isinstance(event, ev.ToolIntended) and event.tool == "authorize" for event in flow.events)


def test_r7_no_alternative_list_or_member_hides_a_private_value_in_an_argument():
    for text in ("†state.nothing || †state.people.0.pin", "†state.n && †state.people", "†state.deep.a.b", "†letters"):
        flow = proposed(AGENT, _tool="flow_remember", text=[{"deep": text}])
        assert "plan_refused" in refusals(flow)


def test_r7_a_tool_sees_no_private_value_in_its_view_whatever_the_call_scopes():
    flow = proposed(AGENT, _tool="flow_look", text="x", _scopes=["state", "notes"])
    assert flow.state.pad["seen"]["view"] == {
        "state": {"customer": {"name": "Ada"}, "people": [{"name": "Bo"}, {}], "deep": {"a": {}}, "n": 7, "key": "pin"},
        "notes": {"n": 7},
    }
