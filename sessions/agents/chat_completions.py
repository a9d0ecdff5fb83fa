"""The Model that asks a language model over the network, in Chat Completions or what its provider speaks.

Not the agent's loop: it asks once and never retries; whether asking again may help stands in ModelFailed. The
key is in no repr, log, error or answer, and no error holds an exception of the HTTP library, whose requests
carry it. Read next: `providers.py` (where), `chat_request.py` (what is said), `chat_answer.py` (what comes
back), `chat_failures.py` (what went wrong).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import msgspec

from agentstate.engine.model import ModelAnswer, ModelRequest, Usage
from sessions.agents.chat_answer import Assembly, storable
from sessions.agents.chat_failures import failure_of, not_usable
from sessions.agents.chat_request import chat_messages, chat_tools
from sessions.agents.providers import Endpoint, Unusable, connect
from sessions.outside.secret import Secret

if TYPE_CHECKING:
    from any_llm import AnyLLM

T = TypeVar("T")
OnText = Callable[[str], None]
# How the client library stumbles over a body that is not what it should be. Not `Exception`: a worker's time
# limit arrives as an exception in the midst of waiting, and is no failure of the model.
_STUMBLES = (httpx.HTTPError, httpx.StreamError, Unusable, ValueError, TypeError, AttributeError, LookupError)


class ChatCompletions:
    """A model at an endpoint."""

    def __init__(self, at: Endpoint) -> None:
        self.at = at
        self.name = at.model
        self._connected: tuple[int, AnyLLM] | None = None

    def __repr__(self) -> str:
        return f"ChatCompletions({self.at.model!r} at {self.at.base_url or self.at.provider})"

    def answer(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelAnswer:
        """One answer; `request.model` overrides the configured model. Raises ModelFailed.

        With `on_text` the answer is streamed, and what `on_text` raises is passed on.
        """
        body = self._body(request)
        try:
            assembly = self._whole(body) if on_text is None else self._streamed(body, on_text)
            return self._checked(assembly, request)
        except Unusable as unusable:
            failure = not_usable(unusable)
        raise failure

    def _whole(self, body: dict[str, Any]) -> Assembly:
        assembly = Assembly(body["model"])
        _take_completion(assembly, self._from_library(lambda: self._client().completion(**body)))
        return assembly

    def _streamed(self, body: dict[str, Any], on_text: OnText) -> Assembly:
        speech = Speech(on_text, self.at.key)
        assembly = Assembly(body["model"])
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        chunks: Any = self._from_library(lambda: self._client().completion(**body))
        try:
            while (chunk := self._from_library(lambda: next(chunks, None))) is not None:
                speech.add(_take_chunk(assembly, chunk))
        finally:
            chunks.close()
        speech.end()
        return assembly

    def _from_library(self, action: Callable[[], T]) -> T:
        from any_llm.exceptions import AnyLLMError

        try:
            return action()
        except (AnyLLMError, *_STUMBLES) as error:
            failure = failure_of(error, self.at.key)
        # Outside of the handler, so that the library's error is not kept as the context of ours.
        raise failure

    def _checked(self, assembly: Assembly, request: ModelRequest) -> ModelAnswer:
        answer = assembly.answer(_taken(request))
        if self.at.key.is_in(msgspec.json.encode(answer).decode()):
            raise Unusable("the answer repeats the API key")
        return answer

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": request.model or self.at.model, "messages": chat_messages(request)}
        if request.tools:
            body["tools"] = chat_tools(request.tools)
        if "max_output_tokens" in request.parameters:
            body["max_tokens"] = request.parameters["max_output_tokens"]
        return body

    def _client(self) -> AnyLLM:
        # One for each process: a forked worker must not share its parent's connections.
        if self._connected is None or self._connected[0] != os.getpid():
            self._connected = (os.getpid(), connect(self.at))
        return self._connected[1]


class Speech:
    """Passes on what is said while it arrives, but no end that may be the beginning of the key."""

    def __init__(self, on_text: OnText, key: Secret) -> None:
        self._on_text = on_text
        self._key = key
        self._held = ""

    def add(self, text: str) -> None:
        """The next piece. Raises Unusable if it completes the key."""
        self._held += text
        if self._key.is_in(self._held):
            raise Unusable("the answer repeats the API key")
        self._say(self._key.safe_length(self._held))

    def end(self) -> None:
        """No more pieces will come."""
        self._say(len(self._held))

    def _say(self, length: int) -> None:
        if length < len(self._held) or not self._held or not "\ud800" <= self._held[-1] <= "\udbff":
            ready, self._held = self._held[:length], self._held[length:]
        else:  # half of a character: its other half comes with the next piece
            ready, self._held = self._held[: length - 1], self._held[length - 1 :]
        if ready := storable(ready):
            self._on_text(ready)


def _taken(request: ModelRequest) -> set[str]:
    return {call.id for said in request.messages for call in said.calls}


def _take_completion(assembly: Assembly, completion: Any) -> None:
    if not completion.choices:
        raise Unusable("the answer holds no choice", transient=True)
    choice = completion.choices[0]
    _take_frame(assembly, completion, choice)
    assembly.add_text(choice.message.content or choice.message.refusal or "")
    for index, call in enumerate(choice.message.tool_calls or ()):
        if call.type != "function":
            raise Unusable("the answer proposes a call that is not of a function")
        assembly.add_call(index, call.id or "", call.function.name or "", call.function.arguments or "")


def _take_chunk(assembly: Assembly, chunk: Any) -> str:
    choice = chunk.choices[0] if chunk.choices else None
    _take_frame(assembly, chunk, choice)
    if choice is None:
        return ""
    text = choice.delta.content or choice.delta.refusal or ""
    assembly.add_text(text)
    for call in choice.delta.tool_calls or ():
        name, arguments = (call.function.name, call.function.arguments) if call.function else ("", "")
        assembly.add_call(call.index, call.id or "", name or "", arguments or "")
    return text


def _take_frame(assembly: Assembly, piece: Any, choice: Any) -> None:
    assembly.model = piece.model or assembly.model
    assembly.finish = (choice and choice.finish_reason) or assembly.finish
    if piece.usage:
        assembly.usage = Usage(piece.usage.prompt_tokens or 0, piece.usage.completion_tokens or 0)
