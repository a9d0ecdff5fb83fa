"""What the tests of the model adapter share: one question, a model at a local server, and what came of it."""

from __future__ import annotations

import pytest

from agentstate.engine.model import ContextMessage, ModelAnswer, ModelFailed, ModelRequest, ToolSpec
from sessions.agents.chat_completions import ChatCompletions
from sessions.agents.providers import Endpoint
from sessions.outside.secret import Secret
from tests.live.chat_server import Call, ChatServer, Reply, Say

KEY = "sk-live-9f8e7d6c5b4a39281706"
SSE = (("Content-Type", "text/event-stream"),)
TRANSFER = ToolSpec("transfer", "Moves money.", {"type": "object"})
BOTH_WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def asking(text: str = "Hello?", **changes: object) -> ModelRequest:
    said = (ContextMessage("customer", text),)
    return ModelRequest(
        **{  # type: ignore[arg-type]
            "model": "",
            "instructions": "Be brief.",
            "messages": said,
            "tools": (TRANSFER,),
            "state": {},
            **changes,
        }
    )


def model_at(url: str, key: str = KEY, silence: float = 5.0, deadline: float = 20.0) -> ChatCompletions:
    at = Endpoint("small", url, Secret(key), silence=silence, deadline=deadline)
    return ChatCompletions(at)


def ask(reply: Reply, streamed: bool = False, key: str = KEY, **limits: float) -> tuple[ModelAnswer, list[str]]:
    heard: list[str] = []
    with ChatServer([reply]) as server:
        answer = model_at(server.url, key, **limits).answer(asking(), on_text=heard.append if streamed else None)
    return answer, heard


def failing(reply: Reply, streamed: bool = False, key: str = KEY, **limits: float) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        ask(reply, streamed, key, **limits)
    return failed.value


def proposing(arguments: str, **more: object) -> Say:
    return Say(calls=(Call("transfer", arguments, **more),))  # type: ignore[arg-type]
