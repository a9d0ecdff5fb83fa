"""Reading the definition of a rule: JSON that becomes a typed value, or a refusal that names the field. Pure.

Expressions are in the guard language over `event` (what happened), `state` (the scratchpad of the session in which it
did) and `session` (its facts). An expression that cannot be read is never taken for a yes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import guards
from agentstate.engine.guards import BadGuard
from agentstate.errors import Invalid

NAMES = ("event", "state", "session")
MAX_BYTES = 16_384  # of a definition
D = TypeVar("D", bound=msgspec.Struct)


def decoded(data: Any, form: type[D], bad: type[Invalid], most: int = MAX_BYTES) -> D:
    """Returns decoded JSON as a `form`. Raises `bad`."""
    if len(msgspec.json.encode(data)) > most:
        raise bad(f"at most {most} bytes", field="definition")
    try:
        return msgspec.convert(data, form)
    except msgspec.ValidationError as error:
        raise bad(str(error)[:300], field="definition") from None


def encoded(definition: msgspec.Struct, *first: str) -> dict[str, Any]:
    """Returns the definition as JSON has it, defaults included and parts that are None left out: the fields `first`,
    then the others by name; without `first` in the order of the form.
    """
    built: dict[str, Any] = _without_none(msgspec.to_builtins(definition))
    order = (*first, *sorted(built.keys() - set(first))) if first else tuple(built)
    return {name: built[name] for name in order}


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(each) for name, each in value.items() if each is not None}
    return value


def chosen(part: msgspec.Struct) -> list[str]:
    """Returns the names of the fields that are not None, of a form of which one is meant."""
    return [name for name in part.__struct_fields__ if getattr(part, name) is not None]


def must_be_one(field: str, part: msgspec.Struct, bad: type[Invalid]) -> None:
    """Raises `bad` unless exactly one field of the form is there."""
    if len(chosen(part)) != 1:
        raise bad(f"want one of {', '.join(part.__struct_fields__)}", field=field)


def must_be_within(bounds: Iterable[tuple[str, int, int, int]], bad: type[Invalid], unit: str = "") -> None:
    """Raises `bad` for the first (field, value, least, most) whose value is out of bounds."""
    for field, value, least, most in bounds:
        if not least <= value <= most:
            raise bad(f"want {least} to {most}{unit}", field=field)


def must_be_names(field: str, values: tuple[str, ...], most: int, bad: type[Invalid]) -> None:
    """Raises `bad` unless these are at most `most` names of at most 60 characters."""
    if len(values) > most or any(not value or len(value) > 60 for value in values):
        raise bad(f"want at most {most} names", field=field)


def must_be_kinds(field: str, kinds: tuple[str, ...], bad: type[Invalid], most: int | None = None) -> None:
    """Raises `bad` unless these are kinds of entries."""
    if not kinds or (most is not None and len(kinds) > most) or not set(kinds) <= set(ev.KINDS):
        raise bad("want kinds of entries", field=field)


def must_compile(field: str, text: str, *, asks: bool = False) -> None:
    """Raises BadGuard unless the expression compiles, and with `asks` answers yes or no."""
    try:
        made = guards.expressed(text, NAMES)
        if asks:
            guards.must_ask(made)
    except BadGuard as error:
        raise BadGuard(error.detail, field=field) from None
