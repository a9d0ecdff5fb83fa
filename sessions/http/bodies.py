"""Bodies of requests as structs: what a request may hold, and every field of one that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType
from rest_framework.exceptions import ValidationError

from sessions.core.person import MAX_REFERENCE

MAX_NAMED = 5  # unknown fields that a refusal names
UNKNOWN = "This field is not known."
MISSING = "This field is required."
_WORDS = re.compile(r"matching regex '\^\(\?:(.*)\)\\+Z'")  # as `Words` makes it
_PLACE = re.compile(r" - at `(?:key in )?\$([^`]*)`$")


def Chars(most: int, about: str | None = None, *, blank: bool = False) -> Meta:
    """Declares text of at most `most` characters, as it was sent; not empty unless `blank`."""
    return Meta(min_length=None if blank else 1, max_length=most, description=about)


def Range(low: int | None = None, high: int | None = None, about: str | None = None) -> Meta:
    """Declares a whole number from `low` to `high`."""
    return Meta(ge=low, le=high, description=about)


def Words(allowed: Iterable[str], about: str | None = None) -> Meta:
    """Declares one of the words."""
    listed = list(allowed)
    pattern = f"^(?:{'|'.join(map(re.escape, listed))})\\Z"
    return Meta(pattern=pattern, description=about, extra_json_schema={"enum": listed})


def Items(most: int, about: str | None = None, *, least: int | None = None) -> Meta:
    """Declares a list of `least` to `most` items."""
    return Meta(min_length=least, max_length=most, description=about)


def About(told: str | None = None, *, format: str | None = None) -> Meta:  # noqa: A002  # as JSON Schema calls it
    """Declares a description, and the format of a text."""
    return Meta(description=told, extra_json_schema={"format": format} if format else None)


def Instant(about: str | None = None) -> Meta:
    """Declares an instant with its time zone."""
    return Meta(tz=True, description=about)


Object = dict[str, Any]
Key = Annotated[
    str,
    Chars(MAX_REFERENCE, "Sent again with the same key, a command gets its first answer and is not carried out again."),
]


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A body. A field that is not known is refused: a misspelt optional field must not be silently ignored."""


class Command(Body, kw_only=True):
    """The body of a command, with the client's own name for it: under the same name it is carried out once."""

    idempotency_key: Key | UnsetType = UNSET


B = TypeVar("B", bound=Body)


def read(shape: type[B], data: Mapping[str, Any]) -> B:
    """Returns the body in `data`. Raises ValidationError, which lists every field that is wrong."""
    fields = _fields(shape)
    if unknown := sorted(set(data) - set(fields))[:MAX_NAMED]:
        raise ValidationError({name[:60]: [UNKNOWN] for name in unknown})
    wrong: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name in data:
            try:
                values[field.name] = msgspec.convert(data[name], field.type)
            except msgspec.ValidationError as error:
                place, reason = _told(str(error))
                wrong[f"{name}{place}"] = [reason]
        elif field.required:
            wrong[name] = [MISSING]
    if wrong:
        raise ValidationError(wrong)
    return shape(**values)


@cache
def _fields(shape: type[Body]) -> dict[str, msgspec.structs.FieldInfo]:
    """Returns the fields by the name that clients use; the key of the command comes last."""
    found = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    if "idempotency_key" in found:
        found["idempotency_key"] = found.pop("idempotency_key")
    return found


def _told(message: str) -> tuple[str, str]:
    """Returns the place within the field as a dotted path, and what is wrong there, without what was sent."""
    place = _PLACE.search(message)
    path = re.sub(r"\[(\d+|\.\.\.)\]", r".\1", place[1]) if place else ""
    reason = message[: place.start()] if place else message
    if allowed := _WORDS.search(reason):
        listed = allowed[1].replace("\\", "").split("|")
        reason = f"Want one of {', '.join(listed)}"
    return path, f"{reason.removesuffix('.')}."


def arguments(body: Body) -> dict[str, Any]:
    """Returns the fields of the body as keyword arguments of a command, its idempotency key as `key`."""
    given = {name: value for name in body.__struct_fields__ if (value := getattr(body, name)) is not UNSET}
    if "idempotency_key" in body.__struct_fields__:
        given["key"] = given.pop("idempotency_key", "")
    return given
