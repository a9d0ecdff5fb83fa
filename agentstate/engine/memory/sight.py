"""What a model is told of the result of a call: everything but what is private where the result was written."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from agentstate.engine.references import output, path
from agentstate.engine.scratchpad.private import below, without
from agentstate.errors import AgentStateError

NOT_SHOWN = "not shown"
_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal)


def result_without(text: str, output_path: str | None, private: tuple[str, ...]) -> str:
    """The result of a call as its model is told it, without what is private where it was written."""
    hidden = _hidden(output_path, private) if private and output_path else ()
    if not hidden:
        return text
    return with_result(text, lambda result: NOT_SHOWN if () in hidden else _without(result, hidden))


def with_result(text: str, change: Callable[[Any], Any]) -> str:
    """What is told of a call, with `change` made to its result. Raises MsgspecError where the text is no JSON."""
    told = _decoder.decode(text)
    if isinstance(told, dict) and isinstance(told.get("later"), dict):
        return _changed(told, {**told, "later": _with_result(told["later"], change)}, text)
    return _changed(told, _with_result(told, change), text)


def _changed(told: Any, after: Any, text: str) -> str:
    return text if after == told else _encoder.encode(after).decode()


def _with_result(told: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(told, dict) or "result" not in told:
        return told
    return {**told, "result": change(told["result"])}


@lru_cache(maxsize=500)
def _hidden(output_path: str, private: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The private places within a result that was written there, as names below it; no names: all of it."""
    try:
        written = output(output_path).paths
    except AgentStateError:
        return ((),)
    return tuple({names for each in private for place in written if (names := below(place, path(each))) is not None})


def _without(result: Any, hidden: tuple[tuple[str, ...], ...]) -> Any:
    for names in hidden:
        result = without(result, names)
    return result
