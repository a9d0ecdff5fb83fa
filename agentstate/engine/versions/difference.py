"""How two states differ: as a JSON Patch (RFC 6902) for programs, and as changes that can be said in sentences.

What is compared is a state's `view`: all that the session has made of itself, without the log's own facts (times, seqs,
checkpoints) and without the conversation, of which only the count is told. Applying the patch to the view of one state
gives the view of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import jsonpatch
import msgspec

from agentstate.engine.merge.values import ABSENT, same, text
from agentstate.engine.money import is_amount
from agentstate.engine.schemas import bounds
from agentstate.engine.state.session import SessionState

MAX_VIEW = bounds.Bounds(depth=100, nodes=200_000, text=4_000_000)
MAX_STEPS = 2_000  # of a patch; beyond, one step replaces everything
HIDDEN = frozenset(
    {"seq", "opened", "opened_at", "last_at", "items", "memory", "versions", "run", "runs", "refused",
     "asking", "model_attempt", "model_retry_at"}
)  # fmt: skip
_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(float_hook=Decimal)
_OF_A_CALL = ("tool", "arguments", "status", "tier", "output_path")


class Change(msgspec.Struct, frozen=True):
    """One place that differs, its names from the view's root. A value is in a tuple; an empty one: there is none."""

    path: tuple[str, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]


class Difference(msgspec.Struct, frozen=True):
    """How one state became another."""

    patch: list[dict[str, Any]]
    changes: tuple[Change, ...]


class Voice(msgspec.Struct, frozen=True):
    """How names and values are said."""

    name: Callable[[str], str]
    value: Callable[[Any], str]


def view(state: SessionState) -> dict[str, Any]:
    """The state as it is compared: JSON, with calls and requests in short. Raises BreaksSchema when it is too large."""
    whole = {name: getattr(state, name) for name in SessionState.__struct_fields__ if name not in HIDDEN}
    whole["calls"] = {key: {name: getattr(call, name) for name in _OF_A_CALL} for key, call in state.calls.items()}
    whole["requests"] = {
        key: {"preview": request.asked.preview, "tier": request.asked.tier, "status": request.status}
        for key, request in state.requests.items()
    }
    plain: dict[str, Any] = _decoder.decode(_encoder.encode(whole))
    bounds.check(plain, "state", MAX_VIEW)
    return plain


def difference(before: dict[str, Any], after: dict[str, Any]) -> Difference:
    """How one view became another."""
    return Difference(patch(before, after), tuple(_changes(before, after, ())))


def patch(before: Any, after: Any) -> list[dict[str, Any]]:
    """The JSON Patch that makes `after` of `before`."""
    steps = list(jsonpatch.JsonPatch.from_diff(before, after, dumps=text))
    return steps if len(steps) <= MAX_STEPS else [{"op": "replace", "path": "", "value": after}]


def applied(steps: list[dict[str, Any]], before: Any) -> Any:
    """`before` after a patch of `difference`; itself unchanged."""
    return jsonpatch.JsonPatch(steps).apply(before)


def _changes(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict) and not (is_amount(before) and is_amount(after)):
        for name in [*before, *(name for name in after if name not in before)]:
            yield from _changes(before.get(name, ABSENT), after.get(name, ABSENT), (*path, name))
    elif not same(before, after):
        yield Change(path, () if before is ABSENT else (before,), () if after is ABSENT else (after,))


def sentences(found: Difference, voice: Voice) -> list[str]:
    """Each change, said."""
    return [said(change, voice) for change in found.changes]


def said(change: Change, voice: Voice) -> str:
    """One change as a sentence: `Transfer, amount: $400.00, was $300.00`."""
    where = voice.name(".".join(change.path))
    if not change.after:
        return f"{where}: removed, was {voice.value(change.before[0])}"
    if not change.before:
        return f"{where}: {voice.value(change.after[0])}, new"
    return f"{where}: {voice.value(change.after[0])}, was {voice.value(change.before[0])}"
