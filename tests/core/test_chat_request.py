"""A ModelRequest as chat messages: who said what, and no call parted from its result."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.agents.chat_request import NO_RESULT, chat_messages
from sessions.agents.model import ContextMessage, ModelRequest, ProposedCall


def told(*said: ContextMessage, state: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return chat_messages(ModelRequest("m", "", said, (), state or {}))


def call(call_id: str) -> ProposedCall:
    return ProposedCall(call_id, "transfer", {"b": 2, "a": "é"})


def proposal(*ids: str) -> ContextMessage:
    return ContextMessage("agent", "", calls=tuple(call(call_id) for call_id in ids))


def result(call_id: str, text: str) -> ContextMessage:
    return ContextMessage("tool", text, name="transfer", call_id=call_id)


CUSTOMER = ContextMessage("customer", "Hello")


@pytest.mark.parametrize(
    ("role", "sent"), [("customer", "user"), ("agent", "assistant"), ("note", "system"), ("staff", "system")]
)
def test_each_role_is_told_as_what_it_is(role: Any, sent: str) -> None:
    (message,) = told(ContextMessage(role, "words"))
    assert message["role"] == sent
    assert "words" in message["content"]


def test_a_call_is_followed_by_its_result() -> None:
    first, second = told(proposal("a"), result("a", "done"))
    assert first["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "transfer", "arguments": '{"a":"é","b":2}'}}
    ]
    assert second == {"role": "tool", "tool_call_id": "a", "content": "done"}


def test_what_came_between_a_call_and_its_result_is_told_after_both() -> None:
    told_now = told(proposal("a", "b"), result("b", "two"), CUSTOMER, result("a", "one"))
    assert [message["role"] for message in told_now] == ["assistant", "tool", "tool", "user"]
    assert [(m["tool_call_id"], m["content"]) for m in told_now[1:3]] == [("a", "one"), ("b", "two")]


def test_a_call_without_result_is_answered_with_the_word_that_there_is_none() -> None:
    assert told(proposal("a"), CUSTOMER)[1] == {"role": "tool", "tool_call_id": "a", "content": NO_RESULT}


def test_a_result_whose_call_fell_out_of_the_context_is_a_note() -> None:
    (message,) = told(result("gone", "receipt 7"))
    assert message == {"role": "system", "content": "Result of an earlier call (transfer): receipt 7"}


def test_a_second_result_of_one_call_is_a_note() -> None:
    assert [m["role"] for m in told(proposal("a"), result("a", "1"), result("a", "2"))] == [
        "assistant",
        "tool",
        "system",
    ]


def test_an_id_given_twice_answers_the_call_before_it() -> None:
    told_now = told(proposal("a"), result("a", "first"), proposal("a"), result("a", "second"))
    assert [message.get("content") for message in told_now] == [None, "first", None, "second"]


def test_instructions_come_first_and_the_scratchpad_last() -> None:
    messages = chat_messages(ModelRequest("m", "Be kind.", (CUSTOMER,), (), {"b": 1, "a": {"n": "é"}}))
    assert messages[0] == {"role": "system", "content": "Be kind."}
    assert messages[-1]["role"] == "system"
    assert messages[-1]["content"].endswith('{"a":{"n":"é"},"b":1}')


def test_the_same_state_is_the_same_prompt_whatever_the_order_of_its_keys() -> None:
    assert told(state={"a": 1, "b": 2}) == told(state={"b": 2, "a": 1})
