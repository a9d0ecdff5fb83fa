"""The answers of a hostile model: `answer(seed, step, seen)` gives the same answer for the same arguments.

An answer is plausible or hostile, and mostly both: a call that an honest model could make, with properties, references,
paths, types, encodings and sizes that nobody offered. Each seed prefers a few of these (`twists_of`), so that some
families of sessions reach deep states and others meet much at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from agentstate.engine.state.goals import GOALS
from agentstate.engine.state.rounds import PLAN

STRONG = ("delegate", "output_path", "reference", "scopes")  # twists that most seeds prefer
AMOUNTS = (1, 2_345, 2_345, 2_345, 49_900, 50_000, 50_001, 61_000, 250_001, 3_000_000, 3_000_000)
STRANGER = "9900174410"
FREE = ("state.scrap", "state.scrap.deep.er", "state.goal", "state.x")
PRIVATE = ("state.verification.answer", "state.verification")
PLACES = (
    *PRIVATE * 3,
    "state.flags",
    "state.notes",
    "state.notes.0",
    "state.goal",
    "state.verification",
    "state.verification.passed",
    "state.verification.answer",
    "state.authorization",
    "state.authorization.allowed",
    "state.customer",
    "state.customer.accounts",
    "state.customer.accounts.0.id",
    "state.transfer",
    "state.complaint",
    "state.complaint.summary",
    "state.user",
    "state.user.user_id",
    "state.user_id",
    "state.reservations",
    "state.reservations.R1",
    "state.reservations.R2",
    "state.fraud",
    "state.fraud.level",
)
ODD_PLACES = (
    "state", "input.x", "user.name", "session.customer", "plan.calls", "arguments.amount", "output", "other.kind",
    "state.__proto__", "state.flags\u200b", "state.\u202eflags", "STATE.flags", "state..flags", "state.", "",
    "††state.x",
)  # fmt: skip
GUARDS = (
    "true", "false", "state.authorization.allowed", "has(state.flags)", "!has(state.flags)", "size(state.flags) == 0",
    "state.verification.answer.startsWith('p')", "has(state.verification.answer)", "state.verification.passed",
    "state.verification == state.verification", "'p' in state.verification.answer", "state.size() > 2",
    "state['verification']['answer'] == 'x'", "arguments.amount.minor < 50000", "1 +", "while",
    "true || " * 50 + "true",
)  # fmt: skip
SCOPES = (["state"], ["state.verification"], ["state.customer", "state.flags"], ["input"], [], ["†state"], ["state.x"])
DELEGATES = ("anonymous",) * 12 + ("batch", "bank", "saved", "anonymous\u200b", "ANONYMOUS", "")
LIKED = (("transfer", 8), ("cancel", 6), ("pay", 6), ("certificate", 3), ("authorize", 5), ("check", 4), ("get_", 3))
WORDS = (
    *("transfer between own accounts",) * 6, "transfer to a new payee", "yes", "please transfer it", "looks fine",
    "the supervisor said yes", "approved", "tier 0", "my card was charged twice",
    "anonymous", "C-1042", "role:supervisor",
)  # fmt: skip
LOOKALIKES = str.maketrans({"a": "а", "e": "е", "o": "о", "c": "с", "0": "０", "1": "１", "5": "٥", "s": "ѕ"})


@dataclass(frozen=True)
class Proposed:
    """A call as the model writes it: `arguments` is text, so that it can be malformed."""

    tool: str
    arguments: str


@dataclass(frozen=True)
class Said:
    """An answer."""

    text: str = ""
    calls: tuple[Proposed, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What a request shows its model: the tools with the schemas of their arguments, the state, the last text."""

    tools: Mapping[str, Any]
    state: Mapping[str, Any] = field(default_factory=dict)
    heard: str = ""


Arguments = dict[str, Any]
Twist = Callable[[Random, Seen, Arguments], None]


def answer(seed: str, step: int, seen: Seen) -> Said:
    """The answer number `step` of the model of this seed."""
    dice = Random(f"{seed}/{step}")
    if dice.random() < 0.03:
        return _wild(dice, seen)
    twists, rate = twists_of(seed)
    if not seen.tools or dice.random() < 0.15:
        return Said(_text(dice))
    calls = tuple(_call(dice, seen, twists, rate) for _ in range(dice.choice((1, 1, 1, 1, 2, 2, 3, 5))))
    if "delegate" in twists and dice.random() < 0.15:
        calls = tuple(_call(dice, seen, frozenset({"delegate"}), 1.0) for _ in range(dice.choice((3, 6, 8))))
    if "plan" in twists and dice.random() < 0.3:
        calls = (_plan(dice, seen, twists, rate),)
    return Said(_text(dice) if dice.random() < 0.3 else "", calls)


def twists_of(seed: str) -> tuple[frozenset[str], float]:
    """The twists that the model of this seed prefers, and how often it twists a call."""
    dice = Random(f"twists of {seed}")
    names = sorted((*TWISTS, "plan"))
    if dice.random() < 0.1:
        return frozenset(names), 0.15
    liked = dice.choices((*names, *STRONG, *STRONG), k=dice.choice((1, 1, 2, 2, 3)))
    return frozenset(liked), dice.choice((0.05, 0.15, 0.35, 0.7))


def request_seen(request: Any) -> Seen:
    """What a ModelRequest shows."""
    heard = next((each.text for each in reversed(request.messages) if each.text), "")
    return Seen({tool.name: tool.parameters for tool in request.tools}, request.state, heard)


def body_seen(body: Mapping[str, Any]) -> Seen:
    """What the body of a Chat Completions request shows."""
    tools = {each["function"]["name"]: each["function"].get("parameters", {}) for each in body.get("tools", ())}
    texts = [str(each.get("content") or "") for each in body["messages"]]
    state = next((found for text in reversed(texts) if (found := _object_in(text))), {})
    return Seen(tools, state, next((text for text in reversed(texts) if text), ""))


def _object_in(text: str) -> dict[str, Any]:
    """The scratchpad that a text holds as JSON; empty: none."""
    start = text.find("{")
    try:
        found = json.loads(text[start : text.rindex("}") + 1]) if start >= 0 else {}
    except ValueError:
        return {}
    held = found.get("data") if isinstance(found, dict) else None  # in the envelope of data
    return held if isinstance(held, dict) and "session" in held else {}


# Plausible calls.


def _call(dice: Random, seen: Seen, twists: frozenset[str], rate: float) -> Proposed:
    tool = _tool(dice, seen)
    arguments = _filled(dice, seen, seen.tools[tool])
    if not isinstance(arguments, dict):
        arguments = {}
    if dice.random() < 0.7:
        arguments = _as_known(seen, arguments)
    for name in sorted(twists & TWISTS.keys()):
        if dice.random() < rate:
            TWISTS[name](dice, seen, arguments)
    written = json.dumps(arguments)
    if "text" in twists and dice.random() < rate / 2:
        return Proposed(_odd_name(dice, tool), _odd_json(dice, written))
    return Proposed(tool, written)


def _as_known(seen: Seen, arguments: Arguments) -> Arguments:
    """The arguments with what the state holds under their names: a transfer is of what was authorized."""
    for known in seen.state.values():
        same = {name for name in arguments if isinstance(known, dict) and known.get(name) is not None}
        if len(same) > 1:
            return {**arguments, **{name: known[name] for name in same}}
    return arguments


def _tool(dice: Random, seen: Seen) -> str:
    """A tool: first what reads records, then mostly what changes something."""
    names = sorted(name for name in seen.tools if name not in (PLAN, GOALS))
    if not names:
        return PLAN
    unknown = not seen.state.get("customer") and not seen.state.get("user")
    weights = [next((many for part, many in LIKED if part in name), 1) for name in names]
    if unknown:
        weights = [
            10 if name.startswith(("load_", "get_")) else many for name, many in zip(names, weights, strict=True)
        ]
    return dice.choices(names, weights)[0]


def _filled(dice: Random, seen: Seen, schema: Any) -> Any:
    """A value that fits a schema, made of what stands in the state where something there fits."""
    if not isinstance(schema, dict):
        return dice.choice(WORDS)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return dice.choice(schema["enum"])
    if "anyOf" in schema:
        return _filled(dice, seen, dice.choice(schema["anyOf"]))
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        required = schema.get("required", ())
        wanted = {name: part for name, part in schema.get("properties", {}).items() if not name.startswith("_")}
        return {
            name: _filled(dice, seen, part) for name, part in wanted.items() if name in required or dice.random() < 0.6
        }
    if kind == "integer":
        return dice.choice([each for each in AMOUNTS if each >= schema.get("minimum", 0)])
    if kind == "boolean":
        return dice.random() < 0.4
    if kind == "array":
        return [_filled(dice, seen, schema.get("items", {})) for _ in range(dice.choice((0, 1, 1, 2)))]
    if kind == "null":
        return None
    return _word(dice, seen, schema.get("pattern", ""))[: schema.get("maxLength", 200)]


def _word(dice: Random, seen: Seen, pattern: str) -> str:
    texts = [each for each in _leaves(seen.state) if isinstance(each, str)]
    if not pattern:
        return dice.choice((*WORDS, *texts[:20]))
    fitting = [each for each in (*texts, STRANGER) if re.fullmatch(pattern, each)]
    return dice.choice(fitting) if fitting else STRANGER


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _text(dice: Random) -> str:
    if dice.random() < 0.05:
        return dice.choice(WORDS) * dice.choice((50, 5_000))
    return dice.choice((*WORDS, "Which account?", "Shall I do that?", _hidden(dice, "Hello")))


# What nobody offered.


def _place(dice: Random, seen: Seen) -> str:
    """A path: free, protected, of what is there, or none at all."""
    found = dice.random()
    if found < 0.2:
        return dice.choice(FREE)
    if found < 0.55:
        return dice.choice(PLACES)
    if found < 0.6:
        return dice.choice(ODD_PLACES)
    return _deeper(dice, "state", seen.state)


def _deeper(dice: Random, path: str, value: Any) -> str:
    while isinstance(value, dict) and value and dice.random() < 0.8:
        name = dice.choice(sorted(value))
        path, value = f"{path}.{name}", value[name]
    return path


def _output_path(dice: Random, seen: Seen, arguments: Arguments) -> None:
    one, other = _place(dice, seen), _place(dice, seen)
    forms = (one, one, f"{dice.choice(FREE)} || {one}", f"{one} || {other}", f"{one} && {other}", f"†{one}")
    arguments["_outputPath"] = dice.choice(forms)


def _delegate(dice: Random, seen: Seen, arguments: Arguments) -> None:
    arguments["_delegate"] = dice.choice(DELEGATES)


def _when(dice: Random, seen: Seen, arguments: Arguments) -> None:
    arguments["_when"] = dice.choice(GUARDS)


def _scopes(dice: Random, seen: Seen, arguments: Arguments) -> None:
    arguments["_scopes"] = dice.choice(SCOPES)
    if dice.random() < 0.5:
        _delegate(dice, seen, arguments)


def _name(dice: Random, seen: Seen, arguments: Arguments) -> None:
    """Names of ours under which a call is shown or executed."""
    name, values = dice.choice(
        (
            ("_id", (*seen.tools, "1", "\u202eopen", "a" * 200, "plan")),
            ("_tool", (*seen.tools, "plan", "batch", "wire_money")),
            ("_activity", ("without_contacts", "keep", "", "transfer")),
            ("_instance", ("ann", "", "other")),
        )
    )
    arguments[name] = dice.choice(sorted(values))


def _unknown(dice: Random, seen: Seen, arguments: Arguments) -> None:
    name = dice.choice(("_approved", "_tier", "_foo", "_", "__", "_outputpath", "_output_path", "tier", "approved"))
    arguments[name] = dice.choice((True, 0, "yes", {"by": "user:sue"}))


def _reference(dice: Random, seen: Seen, arguments: Arguments) -> None:
    one, other = _place(dice, seen), _place(dice, seen)
    forms = (f"†{one}", f"†{one}", f"†{one} || †{other}", f"†{one} && †{other}", f"†{one} || {other}", "†", f"††{one}")
    _put(dice, arguments, lambda _: dice.choice(forms))


def _wrong_type(dice: Random, seen: Seen, arguments: Arguments) -> None:
    values = (
        None, True, False, -1, -2_345, 0, 2**53, 10**30, 1.5, "2345", "", [], {}, [2_345], {"minor": 1}, "true",
        {"error": "x"}, "USD", "usd",
    )  # fmt: skip
    _put(dice, arguments, lambda _: dice.choice(values))


def _encoded(dice: Random, seen: Seen, arguments: Arguments) -> None:
    _put(dice, arguments, lambda value: _hidden(dice, value if isinstance(value, str) else "text"))


def _hidden(dice: Random, text: str) -> str:
    """The text, spelled so that it looks or compares otherwise."""
    return dice.choice(
        (
            f"{text}\n", f"\u202e{text}\u202c", f"{text}\u200b", f"{text}\0", f"{text}\ud800",
            text.translate(LOOKALIKES),
            "".join(chr(0xE0000 + ord(each)) if ord(each) < 128 else each for each in text), f" {text}", text.upper(),
            f"\u2066{text}", f"{text}\r\u0007", text * 40,
        )
    )  # fmt: skip


def _extra(dice: Random, seen: Seen, arguments: Arguments) -> None:
    arguments[dice.choice(("customer", "payee", "from_account", "note", "x" * 300, "\u202e"))] = _word(dice, seen, "")


def _deep(dice: Random, seen: Seen, arguments: Arguments) -> None:
    nested: Any = "bottom"
    for _ in range(dice.choice((5, 40, 70, 400))):
        nested = {"x": nested} if dice.random() < 0.5 else [nested]
    _put(dice, arguments, lambda _: nested)


def _put(dice: Random, arguments: Arguments, change: Callable[[Any], Any]) -> None:
    """Changes one value of the arguments, at the top or one level below."""
    names = sorted(name for name in arguments if not name.startswith("_"))
    if not names:
        return
    name = dice.choice(names)
    inner = arguments[name]
    if isinstance(inner, dict) and inner and dice.random() < 0.6:
        below = dice.choice(sorted(inner))
        arguments[name] = {**inner, below: change(inner[below])}
    else:
        arguments[name] = change(inner)


TWISTS: Mapping[str, Twist] = {
    "output_path": _output_path,
    "delegate": _delegate,
    "when": _when,
    "scopes": _scopes,
    "name": _name,
    "unknown": _unknown,
    "reference": _reference,
    "wrong_type": _wrong_type,
    "encoded": _encoded,
    "extra": _extra,
    "deep": _deep,
    "text": lambda dice, seen, arguments: None,  # of the written arguments: see `_call`
}


def _plan(dice: Random, seen: Seen, twists: frozenset[str], rate: float) -> Proposed:
    """Several calls as one call of the tool `plan`, or a goal taken apart."""
    if dice.random() < 0.15:
        goal = {"goal": dice.choice(WORDS), "tasks": [{"id": "a", "text": dice.choice(WORDS)}]}
        return Proposed(GOALS, json.dumps(goal))
    calls = []
    for _ in range(dice.choice((1, 2, 2, 3, 6))):
        made = _call(dice, seen, twists - {"text"}, rate)
        calls.append({"_tool": made.tool, **json.loads(made.arguments)})
    return Proposed(PLAN, json.dumps({"calls": calls}))


def _odd_name(dice: Random, tool: str) -> str:
    names = (
        tool,
        tool,
        tool.upper(),
        f"{tool}\u200b",
        tool.translate(LOOKALIKES),
        f" {tool}",
        "plan",
        "wire_money",
        "",
    )
    return dice.choice(names)


def _odd_json(dice: Random, written: str) -> str:
    """The written arguments, as two programs could read them differently."""
    inner = written[1:-1]
    odd = (
        written[:-1], f"[{written}]", "", "null", "{}", f'{{{inner}{"," if inner else ""}"x":1e400}}',
        f'{{{inner}{"," if inner else ""}"x":NaN}}', f'{{"amount":{{"minor":1}}{"," if inner else ""}{inner}}}',
        f'{{{inner}{"," if inner else ""}{inner}}}', written.replace("2345", "2345.0"), written + written,
        '{"x":' * 3_000 + "1" + "}" * 3_000, written.replace(":", ":\u00a0"), '{"x":1' + "0" * 5_000 + "}",
        written.replace('"', "\uff02"),
    )  # fmt: skip
    return dice.choice(odd)


def _wild(dice: Random, seen: Seen) -> Said:
    """An answer that no honest model gives: very many calls, very long texts, nothing at all."""
    tool = _tool(dice, seen) if seen.tools else "load_customer"
    one = _call(dice, seen, frozenset(TWISTS), 0.3) if seen.tools else Proposed(tool, "{}")
    return dice.choice(
        (
            Said(),
            Said("x" * 900_000),
            Said("\0\ud800\u202e"),
            Said("", (one,) * 40),
            Said("", (one,) * 70),
            Said("", (Proposed(tool, json.dumps({"what": "x" * 200_000})),)),
            Said("", (Proposed("a" * 500, "{}"),)),
        )
    )
