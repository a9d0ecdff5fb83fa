"""The declared changes of a state: rename, move, default, split, join, drop, function.

A step is data. `applied` makes a new state of an old one; `inverse` is the step that takes it back, or None; `carried`
says where the values of a path go. Rename, move and drop look at nothing but what they change, so they may as well be
applied to every write before it is folded: the outcome is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Annotated, Any

import msgspec

from agentstate.engine import scratchpad
from agentstate.engine.migrating import walking
from agentstate.engine.migrating.refusals import CannotMigrate
from agentstate.engine.migrating.walking import Fields

Names = tuple[str, ...]
Function = Callable[[Any], Any]  # JSON to JSON; pure: the same answer for the same value, always
Functions = Mapping[str, Function]
FieldName = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[^.*]+$")]
Separator = Annotated[str, msgspec.Meta(min_length=1, max_length=20)]
WHOLE = "state"  # as the path of a function: the whole state


class Step(msgspec.Struct, frozen=True, tag_field="op", forbid_unknown_fields=True):
    """What all steps have in common. Each has `applied(pad, functions)` too: a new state, or CannotMigrate."""

    @property
    def inverse(self) -> AnyStep | None:
        """The step that takes this one back, if there is one."""
        return None

    @property
    def reads(self) -> tuple[Names, ...]:
        """The places that must be declared before."""
        return ()

    @property
    def makes(self) -> tuple[Names, ...]:
        """The places that must not be declared before, and are there after."""
        return ()

    def carried(self, names: Names) -> Names | None:
        """Where a value at `names` stands afterwards; None when it is gone."""
        return names


class Rename(Step, frozen=True, tag="rename"):
    """The value at `path` gets another name in the same object. `path` may hold `*`."""

    path: str
    to: FieldName

    def applied(self, pad: Fields, functions: Functions) -> Fields:
        *above, name = names_of(self.path)

        def change(fields: Fields) -> Fields:
            return walking.renamed(fields, name, self.to, self.path)

        return walking.at_parents(pad, tuple(above), change)

    @property
    def inverse(self) -> AnyStep:
        *above, name = names_of(self.path)
        return Rename(path_of((*above, self.to)), name)

    @property
    def reads(self) -> tuple[Names, ...]:
        return (names_of(self.path),)

    @property
    def makes(self) -> tuple[Names, ...]:
        return ((*names_of(self.path)[:-1], self.to),)

    def carried(self, names: Names) -> Names | None:
        return _led(names, names_of(self.path), self.makes[0])


class Move(Step, frozen=True, tag="move"):
    """The value at `path` goes to `to`, which may be elsewhere; the objects that it needs there are made. `tidy`: what
    this empties is gone. No `*`.
    """

    path: str
    to: str
    tidy: bool = False

    def applied(self, pad: Fields, functions: Functions) -> Fields:
        names, to = names_of(self.path), names_of(self.to)
        if not walking.found(pad, names):
            if walking.found(pad, to):
                raise CannotMigrate(self.to, "taken", "something stands there already")
            return pad
        value = walking.value_at(pad, names)
        return walking.put_in(walking.taken_out(pad, names, self.tidy), to, value, self.to)

    @property
    def inverse(self) -> AnyStep:
        return Move(self.to, self.path, tidy=True)

    @property
    def reads(self) -> tuple[Names, ...]:
        return (names_of(self.path),)

    @property
    def makes(self) -> tuple[Names, ...]:
        return (names_of(self.to),)

    def carried(self, names: Names) -> Names | None:
        return _led(names, names_of(self.path), names_of(self.to))


class Default(Step, frozen=True, tag="default"):
    """What the old version did not know stands at `path` with this value, in every object that its parent is."""

    path: str
    value: Any

    def applied(self, pad: Fields, functions: Functions) -> Fields:
        *above, name = names_of(self.path)
        return walking.at_parents(pad, tuple(above), lambda fields: {name: self.value, **fields})

    @property
    def inverse(self) -> AnyStep:
        return Drop(self.path)

    @property
    def makes(self) -> tuple[Names, ...]:
        return (names_of(self.path),)


class Drop(Step, frozen=True, tag="drop"):
    """The value at `path` is gone. It cannot be brought back."""

    path: str

    def applied(self, pad: Fields, functions: Functions) -> Fields:
        *above, name = names_of(self.path)
        return walking.at_parents(pad, tuple(above), lambda fields: walking.without(fields, name))

    @property
    def reads(self) -> tuple[Names, ...]:
        return (names_of(self.path),)

    def carried(self, names: Names) -> Names | None:
        return None if _covers(names_of(self.path), names) else names


class Split(Step, frozen=True, tag="split"):
    """The text at `path` is cut at `by` into as many fields beside it as `to` names; the last one keeps the rest."""

    path: str
    by: Separator
    to: Annotated[tuple[FieldName, ...], msgspec.Meta(min_length=2, max_length=20)]

    def applied(self, pad: Fields, functions: Functions) -> Fields:
        *above, name = names_of(self.path)

        def change(fields: Fields) -> Fields:
            _must_be_free(fields, self.to, self.path)
            if name not in fields:
                return fields
            text = _text(fields[name], self.path)
            cut = dict(zip(self.to, text.split(self.by, len(self.to) - 1), strict=False))
            return {**walking.without(fields, name), **cut}

        return walking.at_parents(pad, tuple(above), change)

    @property
    def inverse(self) -> AnyStep:
        *above, name = names_of(self.path)
        return Join(path_of((*above, name)), self.by, self.to)

    @property
    def reads(self) -> tuple[Names, ...]:
        return (names_of(self.path),)

    @property
    def makes(self) -> tuple[Names, ...]:
        return tuple((*names_of(self.path)[:-1], name) for name in self.to)

    def carried(self, names: Names) -> Names | None:
        return None if _covers(names_of(self.path), names) else names


class Join(Step, frozen=True, tag="join"):
    """The fields that `parts` names beside `path`, as far as there are any, become one text with `by` between them."""

    path: str
    by: Separator
    parts: Annotated[tuple[FieldName, ...], msgspec.Meta(min_length=2, max_length=20)]

    def applied(self, pad: Fields, functions: Functions) -> Fields:
        *above, name = names_of(self.path)

        def change(fields: Fields) -> Fields:
            _must_be_free(fields, (name,), self.path)
            told = [_text(fields[part], self.path) for part in self.parts if part in fields]
            return {**walking.without(fields, *self.parts), name: self.by.join(told)} if told else fields

        return walking.at_parents(pad, tuple(above), change)

    @property
    def inverse(self) -> AnyStep:
        return Split(self.path, self.by, self.parts)

    @property
    def reads(self) -> tuple[Names, ...]:
        return tuple((*names_of(self.path)[:-1], part) for part in self.parts)

    @property
    def makes(self) -> tuple[Names, ...]:
        return (names_of(self.path),)

    def carried(self, names: Names) -> Names | None:
        return None if any(_covers(part, names) for part in self.reads) else names


class Convert(Step, frozen=True, tag="function"):
    """The value at `path` becomes what the registered function `name` makes of it; `inverse_name` takes it back."""

    path: str
    name: str
    inverse_name: str = ""

    def applied(self, pad: Fields, functions: Functions) -> Fields:
        if self.path == WHOLE:
            whole = self._made(pad, functions)
            if not isinstance(whole, dict):
                raise CannotMigrate(self.path, self.name, "a state is an object")
            return whole
        *above, name = names_of(self.path)

        def change(fields: Fields) -> Fields:
            return {**fields, name: self._made(fields[name], functions)} if name in fields else fields

        return walking.at_parents(pad, tuple(above), change)

    def _made(self, value: Any, functions: Functions) -> Any:
        """What the function makes of a copy. That it failed is told, not how: values stay secret."""
        try:
            return functions[self.name](deepcopy(value))
        except Exception as error:
            raise CannotMigrate(self.path, self.name, f"it failed ({type(error).__name__})") from None

    @property
    def inverse(self) -> AnyStep | None:
        return Convert(self.path, self.inverse_name, self.name) if self.inverse_name else None

    @property
    def reads(self) -> tuple[Names, ...]:
        return () if self.path == WHOLE else (names_of(self.path),)


AnyStep = Rename | Move | Default | Drop | Split | Join | Convert
STEPWISE: tuple[type[Step], ...] = (Rename, Move, Drop)  # they look at nothing but what they change


def names_of(path: str) -> Names:
    """The names of a path below `state`. Raises BadPath."""
    return tuple(scratchpad.parts(path))


def path_of(names: Names) -> str:
    """The inverse of `names_of`."""
    return ".".join(["state", *names])


def _covers(pattern: Names, names: Names) -> bool:
    """Whether `names` stands at `pattern` or below."""
    return len(names) >= len(pattern) and all(part in ("*", name) for part, name in zip(pattern, names, strict=False))


def _led(names: Names, source: Names, target: Names) -> Names:
    if not _covers(source, names):
        return names
    kept = (names[index] if part == "*" else part for index, part in enumerate(target))
    return (*kept, *names[len(source) :])


def _must_be_free(fields: Fields, names: tuple[str, ...], path: str) -> None:
    taken = [name for name in names if name in fields]
    if taken:
        raise CannotMigrate(path, "taken", f"there is a {taken[0]} already")


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise CannotMigrate(path, "type", "want text")
    return value
