"""Which places of the state a call may write: its tool's own place, and places that have no other writer.

An agent names the place of a tool's result in its `output_paths`. The result goes there and nowhere else, and no other
call writes at, above or below it. A name in braces is an argument of the call: the result of a call about reservation
R1 goes to `state.reservations.R1` where the place is `state.reservations.{reservation_id}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from agentstate.engine import references, schemas
from agentstate.engine.migrating.pruning import Reads
from agentstate.engine.references import Path
from agentstate.engine.schemas import Actor, Declared
from agentstate.engine.scratchpad import messages
from agentstate.errors import Invalid, Refused

_FROM_ARGUMENT = re.compile(r"\{([A-Za-z][A-Za-z0-9_]{0,99})\}")
_KEY = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
# What a failed call of a plan leaves at the last of its outcomes.
ERROR: dict[str, Any] = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
# The writer of what is not the result of the tool itself: it has no name, and writes only where any tool may.
WORDS = Actor("tool")


class FixedOutput(Refused):
    """The result of this tool has a fixed place."""

    code = "fixed_output"


class BadKey(Invalid):
    """The call does not say under which key its result belongs."""

    code = "bad_key"


class WriteRules(msgspec.Struct, frozen=True):
    """What decides who may write: the declared schema of the state, the place of each tool that has one of its own, and
    what rules read.
    """

    declared: Declared | None = None
    own: Mapping[str, str] = {}
    reads: Reads = Reads()


class Output(msgspec.Struct, frozen=True):
    """Where a call writes. `by_model`: a model wrote the path; `delegated`: another session gives the result."""

    tool: str
    arguments: Mapping[str, Any]
    alternatives: tuple[tuple[Path, ...], ...]
    delegated: bool = False
    by_model: bool = False

    @property
    def actor(self) -> Actor:
        """The writer of the result."""
        return writer_of(self.tool, self.delegated)


def writer_of(tool: str, delegated: bool) -> Actor:
    """Returns the writer of a call's result. What a delegate gives is not the result of the tool itself."""
    return WORDS if delegated else Actor("tool", (tool,))


def own_place(own: Mapping[str, str], tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Returns the place of the tool's result, with the call's arguments filled in; None where it has no place of its
    own. Raises BadKey.
    """
    place = own.get(tool)
    if place is None or "{" not in place:
        return place
    return ".".join(_filled(name, tool, arguments) for name in place.split("."))


def keys_in(place: str) -> list[str]:
    """Returns the names of the arguments that a place is made of."""
    return [found[1] for name in place.split(".") if (found := _FROM_ARGUMENT.fullmatch(name))]


def _filled(name: str, tool: str, arguments: Mapping[str, Any]) -> str:
    found = _FROM_ARGUMENT.fullmatch(name)
    if found is None:
        return name
    key = arguments.get(found[1])
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise BadKey(f"{tool}: want letters, digits, - and _, not a reference", field=found[1])
    return key


def problems(output: Output, rules: WriteRules) -> Iterator[Refused]:
    """Yields why a call may not write where it says, before it runs: FixedOutput, BadKey, NotAWriter."""
    groups = output.alternatives
    try:
        own = None if output.delegated else own_place(rules.own, output.tool, output.arguments)
    except BadKey as error:
        if groups or output.by_model:
            yield error
        return
    if own is not None and (groups or output.by_model):
        if not groups or [str(path) for path in groups[0]] != [own]:
            yield FixedOutput(f"the result of {output.tool} goes to {own}", field="_outputPath")
            return
        yield from _of_schema(groups[0][0], output.actor, rules)
        groups = groups[1:]
    refused = {path: problem for path in _of_state(groups) if (problem := _of_result(path, output, rules)) is not None}
    yield from refused.values()
    if len(output.alternatives) > 1:
        yield from (
            problem
            for path in _of_state(output.alternatives[-1:])
            if path not in refused and (problem := of_words(path, rules)) is not None
        )


def of_words(path: Path, rules: WriteRules) -> Refused | None:
    """Returns why words that are not a tool's result, an error or a person's, may not be written at a path of the
    state; None: they may.
    """
    if tool := _owner(path, rules):
        return schemas.NotAWriter(str(path), WORDS.kind, (f"tool:{tool}",))
    if _is_read(path, rules):
        return schemas.NotAWriter(str(path), "an error or an answer, where rules read", ())
    return next(_of_schema(path, WORDS, rules), None)


def _of_result(path: Path, output: Output, rules: WriteRules) -> Refused | None:
    """Returns why a call may not write at a path that is not its tool's own place."""
    if tool := _owner(path, rules):
        return schemas.NotAWriter(str(path), str(output.actor), (f"tool:{tool}",))
    if refused := next(_of_schema(path, output.actor, rules), None):
        return refused
    by_name = f"tool:{output.tool}" in _declared(path, rules) and not output.delegated
    if output.by_model and not by_name and _is_read(path, rules):
        return schemas.NotAWriter(str(path), f"{output.actor}, by a path of the model", _declared(path, rules))
    return None


def _of_schema(path: Path, actor: Actor, rules: WriteRules) -> Iterator[Refused]:
    if rules.declared is not None and not actor.among(_declared(path, rules)):
        yield schemas.NotAWriter(str(path), str(actor), _declared(path, rules))


def _declared(path: Path, rules: WriteRules) -> tuple[str, ...]:
    return (schemas.place_of(rules.declared, str(path)).writers or ()) if rules.declared is not None else ()


def _of_state(groups: Iterable[tuple[Path, ...]]) -> list[Path]:
    return list(dict.fromkeys(path for group in groups for path in group if path.kind == messages.STATE))


def _owner(path: Path, rules: WriteRules) -> str:
    """Returns the tool whose own place is at, above or below a path; empty: there is none."""
    for tool, place in rules.own.items():
        if _overlap(path.names, references.path(place).names):
            return tool
    return ""


def _is_read(path: Path, rules: WriteRules) -> bool:
    return rules.reads.everything or any(_overlap(path.names, names) for names in rules.reads.paths)


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Returns whether one path leads to the other or through it. A name in braces is any name."""
    return all(a == b or _FROM_ARGUMENT.fullmatch(b) for a, b in zip(one, other, strict=False))
