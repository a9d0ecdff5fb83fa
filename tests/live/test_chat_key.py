"""The model adapter and its key: in no error, trace, log, repr or answer, whatever comes back."""

from __future__ import annotations

import base64
import json
import logging
import pickle
import traceback
from collections.abc import Callable

import pytest

from agentstate.engine.model import ModelFailed
from tests.live.chat_asking import BOTH_WAYS, KEY, ask, asking, failing, model_at
from tests.live.chat_server import Call, ChatServer, Hang, Raw, Reply, Say

ECHOES: list[Callable[[str], str]] = [
    lambda key: f"Incorrect API key {key}",
    lambda key: f"got Authorization: Bearer {key}",
    lambda key: f"key starts with {key[:12]}",
    lambda key: f"key ends with {key[-7:]}",
    lambda key: key.upper(),
    lambda key: " ".join(key),
    lambda key: key.encode().hex(),
    lambda key: base64.b64encode(key.encode()).decode(),
    lambda key: "x" * 290 + key,
]


@BOTH_WAYS
@pytest.mark.parametrize("echo", range(len(ECHOES)))
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_server_that_repeats_the_key_is_not_quoted(streamed: bool, echo: int, status: int) -> None:
    said = ECHOES[echo](KEY)
    failed = failing(Raw(status, json.dumps({"error": {"message": said, "code": said}}).encode()), streamed)
    assert said[:200] not in str(failed)
    assert KEY[-7:] not in str(failed)
    assert str(status) in str(failed)


@BOTH_WAYS
@pytest.mark.parametrize(
    "reply",
    [
        Raw(400, json.dumps({"error": {"message": KEY}}).encode()),
        Raw(500, KEY.encode(), (("X-Echo", KEY), ("Content-Type", "text/plain"))),
        Raw(200, KEY.encode()),
        Say(f"Your key is {KEY}."),
        Say(calls=(Call(KEY, "{}"),)),
        Say(calls=(Call("transfer", json.dumps({"memo": KEY})),)),
        Say(calls=(Call("transfer", "{}", id=KEY),)),
        Say("Hello", model=KEY),
        Say("Hello", finish=KEY, calls=(Call("transfer", "[]"),)),
        Hang(),
    ],
)
def test_the_key_is_in_no_error_trace_or_log(streamed: bool, reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failed = failing(reply, streamed, silence=0.3)
    assert failed.__context__ is None
    assert failed.__cause__ is None
    assert KEY not in "".join(traceback.format_exception(failed)) + repr(failed) + caplog.text


def test_a_key_in_the_stream_is_not_passed_on_however_it_is_cut() -> None:
    for at in range(1, len(KEY)):
        heard: list[str] = []
        said = Say("k", pieces=("The key: ", KEY[:at], KEY[at:], "!"))
        with ChatServer([said]) as server, pytest.raises(ModelFailed, match="repeats the API key"):
            model_at(server.url).answer(asking(), on_text=heard.append)
        assert heard == ["The key: "]


def test_text_that_only_begins_like_the_key_is_passed_on_whole() -> None:
    answer, heard = ask(Say("s", pieces=("task", " s", "k", "-l", "ist", " sk-live")), streamed=True)
    assert "".join(heard) == answer.text == "task sk-list sk-live"


def test_a_placeholder_key_hides_nothing_from_the_customer() -> None:
    answer, _ = ask(Say("It is none of my business."), streamed=True, key="none")
    assert answer.text == "It is none of my business."


def test_a_good_answer_leaves_no_customer_words_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ChatServer([Say("Yes.")]) as server:
        model_at(server.url).answer(asking("My mother's maiden name is Quux."))
    assert "Quux" not in caplog.text
    assert KEY not in caplog.text


def test_the_key_is_in_no_repr_and_is_not_pickled() -> None:
    model = model_at("http://127.0.0.1:1/v1")
    assert KEY not in repr(model) + str(model) + repr(model.at) + repr(vars(model))
    with pytest.raises(TypeError):
        pickle.dumps(model)
