"""What a model may see of the scratchpad: everything but the paths that are private.

The result of a call is shown where the call was made, and written to the call's output path: what is private there is
left out of both.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine import scratchpad

_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal)


def visible(pad: dict[str, Any], private: tuple[str, ...]) -> dict[str, Any]:
    """The scratchpad without its private paths."""
    for path in private:
        pad = _without(pad, scratchpad.parts(path))
    return pad


def _without(node: Any, names: list[str]) -> Any:
    if isinstance(node, list):  # a path through a list means each of its members
        return [_without(item, names) for item in node]
    if not isinstance(node, dict) or names[0] not in node:
        return node
    if len(names) == 1:
        return {key: item for key, item in node.items() if key != names[0]}
    return {**node, names[0]: _without(node[names[0]], names[1:])}


def result_without(text: str, output_path: str | None, private: tuple[str, ...]) -> str:
    """The result of a call as its model is told it, without what is private where it was written."""
    if not private or not output_path:
        return text
    inside = [scratchpad.parts(path) for path in private]
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
        told = {**told, "result": _without(told["result"], names)}
    return _encoder.encode(told).decode()
