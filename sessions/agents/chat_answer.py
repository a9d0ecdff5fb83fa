"""What a chat model says: pieces of a Chat Completion become one ModelAnswer, strictly. No network here.

A model's output is input from outside. Arguments that two programs could read differently, or that the ledger
could not record, are refused with a reason; they are never mended. An answer that was cut off in the midst of
a call is refused too, since half a call is not what the model meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from agentstate.engine.decide import MAX_PROPOSED
from agentstate.engine.model import ModelAnswer, ProposedCall, Usage
from agentstate.ids import new_id
from audit.tlog import canonical
from sessions.agents.providers import Unusable

MAX_ANSWER_BYTES = 1_000_000
FINISHES = frozenset({"stop", "length", "tool_calls", "content_filter"})
_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


class CallPieces:
    """A call while its pieces arrive."""

    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.name = ""
        self.arguments: list[str] = []


class Assembly:
    """Collects the pieces of one answer; `answer()` checks the whole."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.usage = Usage()
        self.finish = ""
        self._text: list[str] = []
        self._calls: list[CallPieces] = []
        self._by_index: dict[int, CallPieces] = {}
        self._bytes = 0

    def add_text(self, text: str) -> None:
        """A piece of what is said to the customer."""
        self._count(text)
        self._text.append(text)

    def add_call(self, index: int, call_id: str, name: str, arguments: str) -> None:
        """A piece of the call at `index`. Some endpoints number every call 0: then a new id is a new call."""
        self._count(call_id + name + arguments)
        call = self._by_index.get(index)
        if call is None or (call_id and call.id and call_id != call.id):
            call = self._by_index[index] = CallPieces(call_id)
            self._calls.append(call)
        if len(self._calls) > MAX_PROPOSED:
            raise Unusable(f"the answer proposes more than {MAX_PROPOSED} calls")
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments.append(arguments)

    def answer(self, taken: Iterable[str]) -> ModelAnswer:
        """The whole answer. `taken`: call ids of this conversation, not to be used again. Raises Unusable."""
        text = storable("".join(self._text))
        self._check_whole(text)
        earlier = set(taken)
        calls = tuple(_proposed(place, call, earlier) for place, call in enumerate(self._calls, 1))
        finish = self.finish if self.finish in FINISHES else "other"
        return ModelAnswer(text, calls, self.usage, finish, storable(self.model)[:200])

    def _check_whole(self, text: str) -> None:
        if not self.finish:
            raise Unusable("the answer ended before it was complete", transient=True)
        if self._calls and self.finish in ("length", "content_filter"):
            raise Unusable(f"the answer was cut off ({self.finish}) while it proposed calls")
        if not text.strip() and not self._calls:
            raise Unusable("the answer is empty", transient=self.finish != "content_filter")

    def _count(self, piece: str) -> None:
        self._bytes += len(piece.encode("utf-8", "surrogatepass"))
        if self._bytes > MAX_ANSWER_BYTES:
            raise Unusable(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")


def arguments_of(text: str) -> dict[str, Any]:
    """The arguments of a call as written by a model. Raises Unusable with the reason.

    Nothing at all counts as no arguments. The number 4300.0 is the integer 4300 (RFC 8785, section 3.2.2.3);
    other fractions, NaN, repeated keys, NUL, lone surrogates and anything but an object are refused.
    """
    try:
        value = json.loads(
            text.strip() or "{}",
            object_pairs_hook=_object,
            parse_float=_whole_number,
            parse_int=_integer,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError) as error:
        raise Unusable(_reason(error)) from None
    if not isinstance(value, dict):
        raise Unusable("the arguments are not a JSON object")
    try:
        recorded = canonical.dumps(value)
    except (canonical.NotCanonical, RecursionError) as error:
        raise Unusable(f"the arguments cannot be recorded: {error}") from None
    if b"\\u0000" in recorded:
        raise Unusable("the arguments hold a NUL character")
    return value


def storable(text: str) -> str:
    """`text` without what no store takes: lone surrogates become U+FFFD (pairs that came in two pieces one
    character), NUL goes."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "")


def _proposed(place: int, call: CallPieces, earlier: set[str]) -> ProposedCall:
    # Reasons name a call by its place: its name comes from outside and may be anything.
    if not _TOOL_NAME.fullmatch(call.name):
        raise Unusable(f"call {place}: no usable tool name")
    try:
        arguments = arguments_of("".join(call.arguments))
    except Unusable as refused:
        raise Unusable(f"call {place}: {refused}") from None
    return ProposedCall(_call_id(call.id, earlier), call.name, arguments)


def _call_id(proposed: str, earlier: set[str]) -> str:
    """The provider's id where it is safe and no earlier answer used it (some number every answer's calls from 0)."""
    return proposed if _SAFE_ID.fullmatch(proposed) and proposed not in earlier else f"call_{new_id().hex}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unusable("the arguments name a key twice")
    return found


def _integer(text: str) -> int:
    if len(text) > 17:  # before converting: a million digits take quadratic time
        raise Unusable("the arguments hold an integer not below 2^53")
    return int(text)


def _whole_number(text: str) -> int:
    number = float(text)
    if not number.is_integer() or abs(number) > canonical.MAX_INTEGER:
        raise Unusable("the arguments hold a number with a fraction, or one too large")
    return int(number)


def _no_constant(text: str) -> NoReturn:
    raise Unusable(f"the arguments hold {text}, which is not JSON")


def _reason(error: Exception) -> str:
    deep = isinstance(error, RecursionError)
    return "the arguments are nested too deep" if deep else "the arguments are not JSON"
