"""The model adapter over the wire: what it does with bad answers, and with none."""

from __future__ import annotations

import socket

import pytest

from agentstate.engine.model import ModelFailed
from sessions.agents.providers import MAX_WIRE_BYTES
from tests.live.chat_asking import BOTH_WAYS, SSE, ask, asking, failing, model_at, proposing
from tests.live.chat_server import Call, ChatServer, Endless, Hang, Raw, Say, events, stream


@BOTH_WAYS
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"a": 1', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1} {"a": 2}', "not JSON"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"x": {"a": 1, "a": 1}}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "fraction"),
        ('{"a": 0.1}', "fraction"),
        ('{"a": 9007199254740993}', "2^53"),
        ('{"a": ' + "9" * 100_000 + "}", "2^53"),
        ("[1]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ('{"a": "\\u0000"}', "NUL"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"\\u00fc": 1}', "ASCII"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "deep"),
    ],
    ids=range(18),
)
def test_arguments_that_could_be_read_two_ways_are_refused_with_the_reason(
    streamed: bool, arguments: str, reason: str
) -> None:
    failed = failing(proposing(arguments), streamed)
    assert reason in str(failed)
    assert not failed.transient


@BOTH_WAYS
def test_one_bad_call_spoils_the_answer(streamed: bool) -> None:
    assert "call 2" in str(failing(Say("Ok.", (Call("transfer", "{}"), Call("transfer", "[]", "b"))), streamed))


@BOTH_WAYS
@pytest.mark.parametrize("name", ["", "x" * 129, "rm -rf", "ü"])
def test_a_tool_name_that_is_no_name_is_refused(streamed: bool, name: str) -> None:
    assert "no usable tool name" in str(failing(Say(calls=(Call(name, "{}"),)), streamed))


@BOTH_WAYS
def test_a_call_in_an_answer_cut_off_at_the_length_limit_is_refused(streamed: bool) -> None:
    failed = failing(Say(calls=(Call("transfer", "{}"),), finish="length"), streamed)
    assert "cut off (length)" in str(failed)
    assert not failed.transient


@BOTH_WAYS
def test_an_empty_answer_is_asked_again_but_a_filtered_one_is_not(streamed: bool) -> None:
    assert failing(Say(""), streamed).transient
    assert not failing(Say("", finish="content_filter"), streamed).transient


@BOTH_WAYS
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_transient_and_is_asked_once(streamed: bool, status: int) -> None:
    heard = (lambda text: None) if streamed else None
    busy = Raw(status, b'{"error": {"message": "busy"}}')
    with ChatServer([busy]) as server, pytest.raises(ModelFailed, match=f"{status}. It says: busy") as failed:
        model_at(server.url).answer(asking(), on_text=heard)
    assert failed.value.transient
    assert len(server.requests) == 1


@BOTH_WAYS
@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 413, 422])
def test_a_refusal_is_final(streamed: bool, status: int) -> None:
    reply = Raw(status, b'{"error": {"message": "no"}}', (("Location", "http://127.0.0.1:1/"),))
    failed = failing(reply, streamed)
    assert f"answered {status}" in str(failed)
    assert not failed.transient


@BOTH_WAYS
def test_silence_is_transient(streamed: bool) -> None:
    failed = failing(Hang(), streamed, silence=0.3)
    assert "in time" in str(failed)
    assert failed.transient


@BOTH_WAYS
def test_an_answer_that_drips_for_ever_is_given_up(streamed: bool) -> None:
    failed = failing(Endless(b": still here\n\n", 0.05), streamed, deadline=0.5)
    assert "not complete in time" in str(failed)
    assert failed.transient


@BOTH_WAYS
def test_a_refused_connection_is_transient(streamed: bool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else gets the port
        model = model_at(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        with pytest.raises(ModelFailed, match="could not be reached") as failed:
            model.answer(asking(), on_text=(lambda text: None) if streamed else None)
    assert failed.value.transient


def test_a_connection_that_breaks_midway_is_transient() -> None:
    said = stream(events(Say("Good morning."))[:2]).replace(b"data: [DONE]\n\n", b"")
    assert failing(Raw(200, b'{"choices": [', lacking=50)).transient
    assert failing(Raw(200, said, SSE, lacking=50), streamed=True).transient


def test_a_stream_that_ends_politely_but_early_is_no_answer() -> None:
    said = stream(events(Say("I have moved"))[:2])
    failed = failing(Raw(200, said, SSE), streamed=True)
    assert "ended before it was complete" in str(failed)
    assert failed.transient


def test_an_error_in_the_midst_of_a_stream_is_transient_and_told() -> None:
    said = stream([*events(Say("I have"))[:2], {"error": {"message": "overloaded"}}])
    failed = failing(Raw(200, said, SSE), streamed=True)
    assert "overloaded" in str(failed)
    assert failed.transient


@BOTH_WAYS
def test_an_answer_above_a_megabyte_is_refused_and_below_it_is_not(streamed: bool) -> None:
    assert len(ask(Say("x" * 1_000_000), streamed)[0].text) == 1_000_000
    assert "longer than 1000000 bytes" in str(failing(Say("x" * 1_000_001), streamed))
    assert "longer than 1000000 bytes" in str(failing(proposing('"' + "x" * 1_000_000 + '"'), streamed))


@BOTH_WAYS
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_an_endless_body_is_left_after_sixteen_megabytes(streamed: bool, kind: str) -> None:
    heard = (lambda text: None) if streamed else None
    endless = Endless(b" " * 65_536, kind=kind)
    with ChatServer([endless]) as server, pytest.raises(ModelFailed, match="on the wire"):
        model_at(server.url).answer(asking(), on_text=heard)
    assert server.sent < 2 * MAX_WIRE_BYTES


@BOTH_WAYS
def test_a_compressed_body_that_nobody_asked_for_is_not_unpacked(streamed: bool) -> None:
    headers = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
    assert "compressed" in str(failing(Raw(200, b"\x1f\x8b", headers), streamed))


@BOTH_WAYS
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"<html>",
        b"\xff\xfe",
        b'{"choices": []}',
        b'{"choices": "x"}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 5}, "delta": {"content": 5}}]}',
        b'{"choices": [{"message": {"tool_calls": 7}, "delta": {"tool_calls": 7}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"function": {"name": 5, "arguments": {}}}]}}]}',
    ],
    ids=range(13),
)
def test_what_is_no_chat_completion_is_a_failure_and_nothing_else(streamed: bool, body: bytes) -> None:
    whole = Raw(200, b"data: " + body + b"\n\ndata: [DONE]\n\n", SSE) if streamed else Raw(200, body)
    assert failing(whole, streamed)


def test_what_the_listener_raises_is_not_the_models_failure() -> None:
    def broken(text: str) -> None:
        raise ConnectionError("nobody listens")

    with ChatServer([Say("Hello")]) as server, pytest.raises(ConnectionError, match="nobody listens"):
        model_at(server.url).answer(asking(), on_text=broken)
