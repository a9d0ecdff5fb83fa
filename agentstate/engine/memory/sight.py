"""What a model is told of the result of a call: everything but what is private where the result was written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine import scratchpad
from agentstate.engine.scratchpad.private import without

_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal)


def result_without(text: str, output_path: str | None, private: tuple[str, ...]) -> str:
    """The result of a call as its model is told it, without what is private where it was written."""
    if not private or not output_path:
        return text
    inside = [path.split(".")[1:] for path in private]
    written = scratchpad.parts(output_path)
    hidden = [path[len(written) :] for path in inside if path[: len(written)] == written]
    hides_all = any(written[: len(path)] == path for path in inside)
    if not hidden and not hides_all:
        return text
    told = _decoder.decode(text)
    if "result" not in told:
        return text
    if hides_all:
        return _encoder.encode({**told, "result": "not shown"}).decode()
    for names in hidden:
        told = {**told, "result": without(told["result"], names)}
    return _encoder.encode(told).decode()
