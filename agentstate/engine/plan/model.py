"""A plan as data: an array of calls, wired by output paths and references.

`read` takes the notation in which agents, people and the API write plans, and `write` gives it back. What is read is
bounded, holds no floats, and every call has a name: its own `_id`, or its tool's name, numbered from the second on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import references
from agentstate.engine.references import Path, Reference
from agentstate.engine.schemas import bounds
from agentstate.engine.schemas.refusals import BreaksSchema
from agentstate.errors import Invalid

MAX_CALLS = 10_000
MAX_BYTES = 4_000_000
MAX_NODES = 300_000  # values in the parameters of all calls together
MAX_PARAMETERS = bounds.Bounds(depth=32, nodes=20_000, text=500_000)  # of one call
MAX_CHARACTERS = 4_000_000  # of the texts of all calls together
MAX_TEXT = 2_000  # characters of one meta-property
MAX_SCOPES = 50

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,120}")
_TEXTS = {  # meta-property -> field
    "_id": "id",
    "_tool": "tool",
    "_outputPath": "output_path",
    "_instance": "instance",
    "_activity": "activity",
    "_delegate": "delegate",
    "_when": "when",
}
META = (*_TEXTS, "_scopes")
_texts_of = attrgetter(*_TEXTS.values())

_decoder = msgspec.json.Decoder(float_hook=Decimal)


class BadPlan(Invalid):
    """The plan cannot be read."""

    code = "bad_plan"

    def __init__(self, call: str, rule: str, detail: str) -> None:
        super().__init__(f"{call}: {rule}: {detail}" if call else f"{rule}: {detail}", field=call, rule=rule)
        self.call, self.rule, self.why = call, rule, detail


class Call(msgspec.Struct, frozen=True, dict=True):
    """A call as it stands in a plan. `scopes` is None where none are given; an empty text is a property not given.

    What it reads and writes is read out of it once and kept with it, outside its fields.
    """

    id: str
    tool: str
    parameters: dict[str, Any] = {}
    output_path: str = ""
    scopes: tuple[str, ...] | None = None
    instance: str = ""
    activity: str = ""
    delegate: str = ""
    when: str = ""
    named: bool = False  # whether the id was given, not made

    @cached_property
    def alternatives(self) -> tuple[tuple[Path, ...], ...]:
        """The outcomes that the output path names, each with the places it writes. Raises BadReference."""
        return references.output(self.output_path).alternatives if self.output_path else ()

    @cached_property
    def outputs(self) -> tuple[Path, ...]:
        """Every path that it may write, in order. Raises BadReference."""
        return tuple([path for group in self.alternatives for path in group])

    @cached_property
    def refers(self) -> tuple[tuple[str, Reference], ...]:
        """Every reference in its parameters, with the place where it stands. Raises BadReference."""
        return tuple(references.within(self.parameters))

    @property
    def title(self) -> str:
        """The name of the call for readers: its tool, with the label that the plan's author chose."""
        return titled(self.tool, self.id)

    @property
    def has_error_path(self) -> bool:
        """Whether a failure is written somewhere: to the last of several outcomes."""
        return len(self.alternatives) > 1


def titled(tool: str, label: str) -> str:
    """The tool of a call, with its label where that is another text."""
    return tool if label == tool else f"{tool} (label {label})"


class Plan(msgspec.Struct, frozen=True, dict=True):
    """The calls of a plan, in the order in which they were written. The order means nothing: references wire them."""

    calls: tuple[Call, ...] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Call]:
        """The calls by name."""
        return {call.id: call for call in self.calls}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan, in hex: equal plans have equal digests."""
        return ev.digest(self.calls)

    @cached_property
    def instances(self) -> tuple[str, ...]:
        """The instances that calls name."""
        return tuple(dict.fromkeys(call.instance for call in self.calls if call.instance))

    def __hash__(self) -> int:
        return hash(self.digest)


def decode(data: bytes | str) -> Plan:
    """A plan from JSON. Raises BadPlan."""
    if len(data) > MAX_BYTES:
        raise BadPlan("", "max_bytes", f"at most {MAX_BYTES} bytes")
    try:
        return read(_decoder.decode(data))
    except RecursionError:
        raise BadPlan("", "max_depth", "the JSON is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise BadPlan("", "not_json", str(error)) from None


def read(data: Any) -> Plan:
    """A plan from its notation: a list of calls. Raises BadPlan naming the call and the rule."""
    if not isinstance(data, list | tuple):
        raise BadPlan("", "array", f"a plan is an array of calls, got {type(data).__name__}")
    if len(data) > MAX_CALLS:
        raise BadPlan("", "max_calls", f"got {len(data)} calls, at most {MAX_CALLS}")
    calls = [_call(each, f"call {number}") for number, each in enumerate(data, 1)]
    _must_be_bounded(calls)
    return Plan(_named(calls))


def write(plan: Plan) -> list[dict[str, Any]]:
    """The notation of a plan; `read` is the inverse."""
    return [written(call) for call in plan.calls]


def written(call: Call) -> dict[str, Any]:
    """The notation of one call."""
    given = {prop: text for prop, field in _TEXTS.items() if (text := getattr(call, field))}
    if not call.named:
        del given["_id"]
    scopes = {} if call.scopes is None else {"_scopes": list(call.scopes)}
    return {**given, **scopes, **call.parameters}


def _call(data: Any, at: str) -> Call:
    if not isinstance(data, dict):
        raise BadPlan(at, "object", f"a call is an object, got {type(data).__name__}")
    texts = {field: _text(data[prop], prop, at) for prop, field in _TEXTS.items() if prop in data}
    named = bool(texts.get("id"))
    if not _NAME.fullmatch(texts.get("tool", "")):
        raise BadPlan(at, "_tool", "want the name of a tool: letters, digits, _.:/-")
    if named and not _NAME.fullmatch(texts["id"]):
        raise BadPlan(at, "_id", "want up to 120 letters, digits, _.:/-")
    parameters = {key: value for key, value in data.items() if not (isinstance(key, str) and key.startswith("_"))}
    if len(parameters) + len(texts) + ("_scopes" in data) < len(data):
        unknown = next(key for key in data if str(key).startswith("_") and key not in META)
        raise BadPlan(at, "unknown_property", f"{unknown[:60]!r} is none of {', '.join(META)}")
    _must_be_data(parameters, texts.get("id") or at)
    return Call(**{"id": "", **texts}, parameters=parameters, scopes=_scopes(data, at), named=named)


def _text(value: Any, prop: str, at: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise BadPlan(at, prop, f"want a text of at most {MAX_TEXT} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadPlan(at, prop, "a lone surrogate is not text") from None
    return value


def _scopes(data: dict[str, Any], at: str) -> tuple[str, ...] | None:
    scopes = data.get("_scopes")
    if scopes is None:
        return None
    if not isinstance(scopes, list | tuple) or len(scopes) > MAX_SCOPES:
        raise BadPlan(at, "_scopes", f"want a list of at most {MAX_SCOPES} scopes")
    return tuple(_text(scope, "_scopes", at) for scope in scopes)


def _must_be_data(parameters: dict[str, Any], at: str) -> None:
    try:
        bounds.check(parameters, "parameters", MAX_PARAMETERS)
    except BreaksSchema as broken:
        raise BadPlan(at, broken.rule, f"{broken.path}: {broken.detail}") from None


def _must_be_bounded(calls: Sequence[Call]) -> None:
    """What the calls amount to together: whatever is done with a plan is done to each of its references. Money is
    looked at on the way.
    """
    nodes = text = 0
    for number, call in enumerate(calls, 1):
        text += sum(map(len, _texts_of(call))) + sum(map(len, call.scopes or ()))
        found = _nodes(call.parameters)
        nodes += len(found)
        for node in found:
            kind = type(node)
            if kind is str:
                text += len(node)
            elif kind is dict and "currency" in node and isinstance(node.get("minor"), Decimal | bool):
                at = call.id or f"call {number}"
                raise BadPlan(at, "money", "an amount is an integer of minor units and a currency")
        if nodes > MAX_NODES:
            raise BadPlan("", "max_nodes", f"at most {MAX_NODES} values in the parameters of all calls")
        if text > MAX_CHARACTERS:
            raise BadPlan("", "max_text", f"at most {MAX_CHARACTERS} characters in all calls")


def _nodes(value: Any) -> list[Any]:
    """Every value in a structure: the list grows while it is walked."""
    found = [value]
    for node in found:
        if isinstance(node, dict):
            found += node.values()
        elif isinstance(node, list):
            found += node
    return found


def _named(calls: Sequence[Call]) -> tuple[Call, ...]:
    """Every call under a name of its own. Raises BadPlan when two are given the same."""
    given = Counter(call.id for call in calls if call.named)
    twice = next((name for name, count in given.items() if count > 1), None)
    if twice is not None:
        raise BadPlan(twice, "_id", "two calls have this name")
    counts: Counter[str] = Counter()
    return tuple(call if call.named else _with_name(call, counts, given) for call in calls)


def _with_name(call: Call, counts: Counter[str], taken: Counter[str]) -> Call:
    while True:
        counts[call.tool] += 1
        name = call.tool if counts[call.tool] == 1 else f"{call.tool}-{counts[call.tool]}"
        if name not in taken:
            return msgspec.structs.replace(call, id=name)
