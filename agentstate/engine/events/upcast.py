"""Old forms of events, read as today's: stored bytes are never rewritten, so every form ever written stays readable.

A kind's form has a version, `v`. When a form changes so that the old one could be misread, its `v` is raised and an
upcaster is added from the old version to the next; v1 reaches v3 over v2. An upcaster is a pure function from the old
form, as JSON, to the next one. The usual event is of today's form and is decoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Generic, TypeVar, get_args

import msgspec

from agentstate.engine.events.base import Event

Form = dict[str, Any]
Upcaster = Callable[[Form], Form]
Upcasters = Mapping[tuple[str, int], Upcaster]
Known = TypeVar("Known")


class Vocabulary(Generic[Known]):
    """The kinds of events that are known, each in its newest form, and how older forms become newer ones."""

    def __init__(self, union: Any, upcasters: Upcasters) -> None:
        members = get_args(union) or (union,)
        self.newest: Mapping[str, int] = {_kind(member): _version(member) for member in members}
        self._upcasters = upcasters
        self._union = union
        self._decoder: msgspec.json.Decoder[Known] = msgspec.json.Decoder(union, float_hook=Decimal)
        self._forms = msgspec.json.Decoder(float_hook=Decimal)
        for kind, version in upcasters:
            if not 1 <= version < self.newest.get(kind, 0):
                raise ValueError(f"the upcaster of {kind} from {version} leads to nothing")

    def decode(self, data: bytes) -> Known:
        """The event that was stored, in today's form. Raises msgspec.ValidationError on anything that is none."""
        try:
            event: Known = self._decoder.decode(data)
        except msgspec.ValidationError:
            return self._upcast(data)
        if event.v == self.newest[_kind(event)]:  # type: ignore[attr-defined]
            return event
        return self._upcast(data)

    def _upcast(self, data: bytes) -> Known:
        form = self._forms.decode(data)
        kind, version = (form.get("kind"), form.get("v", 1)) if isinstance(form, dict) else (None, 1)
        if not isinstance(kind, str) or kind not in self.newest:
            raise msgspec.ValidationError("it is of no known kind")
        newest = self.newest[kind]
        if type(version) is not int or not 1 <= version <= newest:
            raise msgspec.ValidationError(f"{kind} is known up to version {newest}")
        for step in range(version, newest):
            form = {**self._raised(kind, step, form), "kind": kind, "v": step + 1}
        event: Known = msgspec.convert(form, self._union)
        return event

    def _raised(self, kind: str, version: int, form: Form) -> Form:
        """`form` in the next version's form. Raises msgspec.ValidationError, also when the upcaster cannot read it."""
        upcaster = self._upcasters.get((kind, version))
        if upcaster is None:
            raise msgspec.ValidationError(f"nothing leads from {kind} version {version} to the next")
        try:
            return upcaster(form)
        except Exception as error:
            raise msgspec.ValidationError(f"{kind} version {version} is malformed ({type(error).__name__})") from None


def _kind(member: Any) -> str:
    return str(member.__struct_config__.tag)


def _version(member: type[Event]) -> int:
    """The version of the form that is written today: the default of `v`."""
    return next(int(field.default) for field in msgspec.structs.fields(member) if field.name == "v")
