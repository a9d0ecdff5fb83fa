"""The model adapter over the wire: what it asks, and what it makes of good answers."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentstate.engine.model import ContextMessage, ModelAnswer, ModelFailed, Usage
from sessions.agents.chat_completions import ChatCompletions
from sessions.agents.providers import Endpoint, endpoint
from sessions.outside.secret import Secret
from tests.live.chat_asking import BOTH_WAYS, KEY, SSE, ask, asking, model_at, proposing
from tests.live.chat_server import Call, ChatServer, Endless, Raw, Say, events, stream


@BOTH_WAYS
def test_an_answer_arrives_with_text_usage_finish_and_model(streamed: bool) -> None:
    answer, _ = ask(Say("Good morning."), streamed)
    assert answer == ModelAnswer("Good morning.", (), Usage(19, 7), "stop", "local-model-0001")


def test_a_streamed_answer_is_heard_piece_by_piece_and_is_the_sum_of_its_pieces() -> None:
    answer, heard = ask(Say("Grüß Gott, 😀", pieces=("Grü", "ß Gott", ", 😀")), streamed=True)
    assert heard == ["Grü", "ß Gott", ", 😀"]
    assert answer.text == "".join(heard)


def test_pieces_are_heard_while_the_rest_is_still_to_come() -> None:
    first = stream(events(Say("One moment. "))[:2]).replace(b"data: [DONE]\n\n", b"")
    heard = threading.Event()
    with ChatServer([Endless(b": waiting\n\n", 0.05, before=first)]) as server, ThreadPoolExecutor(1) as pool:
        model = model_at(server.url, deadline=5.0)
        asked = pool.submit(model.answer, asking(), on_text=lambda text: heard.set())
        assert heard.wait(4)
        assert not asked.done()
        server.closing.set()
        assert isinstance(asked.exception(10), ModelFailed)


@BOTH_WAYS
def test_a_call_is_proposed_with_its_arguments(streamed: bool) -> None:
    (call,) = ask(proposing('{"amount": {"minor": 430000, "currency": "USD"}}'), streamed)[0].calls
    assert (call.id, call.tool, call.output_path) == ("call_1", "transfer", None)
    assert call.arguments == {"amount": {"minor": 430000, "currency": "USD"}}


@BOTH_WAYS
def test_parallel_calls_keep_their_order(streamed: bool) -> None:
    calls = (
        Call("transfer", '{"n": 1}', "a"),
        Call("load_customer", "", "b"),
        Call("transfer", '{"n": 3}', "c"),
    )
    answer, _ = ask(Say("Moving.", calls), streamed)
    assert [(call.id, call.arguments) for call in answer.calls] == [
        ("a", {"n": 1}),
        ("b", {}),
        ("c", {"n": 3}),
    ]


def test_streamed_arguments_may_be_cut_at_any_place() -> None:
    text = '{"to": "Müller 😀 \\u20ac \\"x\\"", "minor": -12}'
    cuts = [proposing(text, pieces=(text[:at], text[at:])) for at in range(len(text) + 1)]
    with ChatServer(cuts) as server:
        model = model_at(server.url)
        answers = [model.answer(asking(), on_text=lambda text: None) for _ in cuts]
    assert {json.dumps(answer.calls[0].arguments) for answer in answers} == {json.dumps(json.loads(text))}


def test_the_stream_may_be_cut_at_every_byte() -> None:
    calls = (
        Call("transfer", '{"to": "Müller 😀"}', "a", pieces=('{"to": "Mü', 'ller 😀"}')),
        Call("other", "{}", "b"),
    )
    answer, heard = ask(Say("Ça va 😀", calls, bytewise=True), streamed=True)
    assert ("".join(heard), answer.text) == ("Ça va 😀", "Ça va 😀")
    assert [call.arguments for call in answer.calls] == [{"to": "Müller 😀"}, {}]


def test_calls_that_an_endpoint_numbers_all_zero_are_told_apart_by_id() -> None:
    said = events(Say(calls=(Call("transfer", '{"n": 1}', "a"), Call("transfer", '{"n": 2}', "b"))))
    for call in (
        call for event in said for choice in event["choices"] for call in choice["delta"].get("tool_calls", ())
    ):
        call["index"] = 0
    answer, _ = ask(Raw(200, stream(said), SSE), streamed=True)
    assert [(call.id, call.arguments) for call in answer.calls] == [("a", {"n": 1}), ("b", {"n": 2})]


@pytest.mark.parametrize("bad", ["", "x" * 65, "a b", "../../etc", "ü", "a\n", "call_0"])
def test_an_unsafe_or_already_used_call_id_is_replaced(bad: str) -> None:
    earlier = ContextMessage("agent", "", calls=(*ask(proposing("{}", id="call_0"))[0].calls,))
    with ChatServer([Say(calls=(Call("transfer", "{}", bad), Call("transfer", "{}", "fine-1_A")))]) as server:
        first, second = model_at(server.url).answer(asking(messages=(earlier,))).calls
    assert first.id != bad
    assert first.id.startswith("call_")
    assert len(first.id) <= 64
    assert second.id == "fine-1_A"


def test_two_calls_with_one_id_keep_it_so_that_the_session_refuses_both_by_name() -> None:
    first, second = ask(Say(calls=(Call("transfer", "{}", "same"), Call("transfer", "{}", "same"))))[0].calls
    assert (first.id, second.id) == ("same", "same")


@BOTH_WAYS
def test_text_that_was_cut_off_at_the_length_limit_says_so(streamed: bool) -> None:
    answer, _ = ask(Say("Once upon a", finish="length"), streamed)
    assert (answer.text, answer.finish) == ("Once upon a", "length")


@BOTH_WAYS
def test_what_no_store_takes_does_not_come_through(streamed: bool) -> None:
    answer, heard = ask(Say("a\0b\ud800c"), streamed)
    assert "\0" not in answer.text + "".join(heard)
    (answer.text + "".join(heard)).encode()


# --- what is asked


def test_a_character_whose_halves_come_in_two_pieces_is_whole() -> None:
    answer, heard = ask(Say("x", pieces=("Fine \ud83d", "\ude00!")), streamed=True)
    assert (answer.text, "".join(heard)) == ("Fine 😀!", "Fine 😀!")


def test_the_request_carries_conversation_tools_state_model_and_key() -> None:
    with ChatServer([Say("Yes."), Say("Yes.")]) as server:
        model = model_at(server.url)
        model.answer(asking("Is it done?", state={"customer": {"name": "Ada"}}))
        model.answer(asking(model="large", tools=()), on_text=lambda text: None)
    body, other = server.requests
    assert [message["role"] for message in body["messages"]] == ["system", "user", "user"]
    assert '{"customer":{"name":"Ada"}}' in body["messages"][-1]["content"]
    assert body["tools"][0]["function"] == {
        "name": "transfer",
        "description": "Moves money.",
        "parameters": {"type": "object"},
    }
    assert (body["model"], other["model"], "tools" in other) == ("small", "large", False)
    assert other["stream_options"] == {"include_usage": True}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_no_key_sends_no_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_COMPATIBLE_API_KEY", "COMPATIBLE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with ChatServer([Say("Yes.")]) as server:
        model_at(server.url, key="").answer(asking())
    assert KEY not in str(server.headers)


def test_the_environment_names_the_endpoint() -> None:
    with ChatServer([Say("Yes.")]) as server:
        environment = {"AGENT_MODEL": "llama3.2:3b", "AGENT_BASE_URL": server.url, "AGENT_API_KEY": KEY}
        at = endpoint(environment)
        assert at is not None
        model = ChatCompletions(at)
        assert model.name == "llama3.2:3b"
        assert model.answer(asking(model=model.name)).text == "Yes."
    assert server.requests[0]["model"] == "llama3.2:3b"


def test_threads_share_a_model_and_each_gets_its_own_answer() -> None:
    def echo(body: dict[str, list[dict[str, str]]]) -> Say:
        return Say(json.loads(body["messages"][1]["content"])["text"])

    with ChatServer(echo) as server, ThreadPoolExecutor(8) as pool:  # type: ignore[arg-type]
        model = model_at(server.url)
        asked = [str(number) for number in range(24)]
        answers = pool.map(lambda text: model.answer(asking(text), on_text=lambda part: None).text, asked)
        assert list(answers) == asked


def test_a_forked_worker_asks_over_a_connection_of_its_own() -> None:
    with ChatServer([Say("parent"), Say("child"), Say("parent again")]) as server:
        model = model_at(server.url)
        assert model.answer(asking()).text == "parent"
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = int(model.answer(asking()).text != "child")
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert model.answer(asking()).text == "parent again"


def test_another_provider_speaks_its_own_protocol_behind_the_same_model() -> None:
    body = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "tool_use",
        "content": [
            {"type": "text", "text": "Moving."},
            {"type": "tool_use", "id": "toolu_1", "name": "transfer", "input": {"minor": 5}},
        ],
        "usage": {"input_tokens": 11, "output_tokens": 3},
    }  # fmt: skip
    with ChatServer([Raw(200, json.dumps(body).encode()), Raw(529, b'{"error": {"message": "overloaded"}}')]) as server:
        at = Endpoint("claude-x", server.url.removesuffix("/v1"), Secret(KEY), provider="anthropic")
        model = ChatCompletions(at)
        answer = model.answer(asking())
        with pytest.raises(ModelFailed, match="529") as failed:
            model.answer(asking())
    assert (answer.text, answer.calls[0].arguments, answer.usage) == ("Moving.", {"minor": 5}, Usage(11, 3))
    assert server.headers[0]["x-api-key"] == KEY
    assert failed.value.transient


def test_how_long_an_answer_may_be_is_told_to_the_provider_when_the_customer_wants_it_brief() -> None:
    with ChatServer([Say("Yes."), Say("Yes, and here is why.")]) as server:
        model = model_at(server.url)
        model.answer(asking(parameters={"max_output_tokens": 400}))
        model.answer(asking())
    assert [asked.get("max_completion_tokens") for asked in server.requests] == [400, None]
