"""Answers as structs: those of commands, pages, and fields that only the pages of the console show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_type_hints
from uuid import UUID

import msgspec
from msgspec import Meta
from rest_framework.response import Response

from sessions.core.committed import Committed

REPLAYED = "Idempotency-Replayed"
RECEIPT = "AgentState-Receipt"
_PAGE_ONLY = "x-page-only"
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
PageOnly = Annotated[T, Meta(extra_json_schema={_PAGE_ONLY: True})]  # a field that the API leaves out


class Receipt(msgspec.Struct, frozen=True):
    """What a command wrote, with the receipt for it."""

    session: UUID
    command: UUID
    first: Annotated[int, Meta(description="seq of the first entry that the command wrote")]
    seq: Annotated[int, Meta(description="entries of the session after the command")]
    size: Annotated[int, Meta(description="the same, as a receipt calls it")]
    root: Annotated[str, Meta(description="RFC 6962 root over these entries, in hexadecimal")]
    leaf: Annotated[str, Meta(description="leaf hash of the last of them")]


class Wrong(msgspec.Struct, frozen=True):
    """A field that is wrong."""

    field: str
    detail: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A refusal (RFC 9457). Some carry more: `permission`, or `outcome`, `by`, `by_name`, `at` of a decision."""

    type: Annotated[str, Meta(description="urn:agentstate:problem: and the code")]
    title: str
    status: int
    code: Annotated[str, Meta(description="the same for every refusal of this kind; for programs")]
    detail: str = ""
    field: Annotated[str, Meta(description="dotted path of the field or parameter that is wrong")] = ""
    remedy: str = ""
    errors: Annotated[tuple[Wrong, ...], Meta(description="every field that is wrong, where there may be several")] = ()


def filled(shape: type[S], source: object = None, **more: Any) -> S:
    """Returns a `shape` made of `more` and of the attributes of `source` that it names, structs within it likewise."""
    hints = _hints(shape)
    return shape(**{name: _fitted(hints[name], _value(source, name, more)) for name in shape.__struct_fields__})


def _value(source: object, name: str, more: dict[str, Any]) -> Any:
    if name in more:
        return more[name]
    return source[name] if isinstance(source, dict) else getattr(source, name)


def _fitted(declared: Any, value: Any) -> Any:
    """Returns the value as a field is declared: other structs, rows and objects become the structs that it names."""
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return value if value is None or isinstance(value, declared) else filled(declared, value)
    parts = get_args(declared)
    if parts and isinstance(value, list | tuple):
        return [_fitted(parts[0], each) for each in value]
    return _fitted(parts[0], value) if type(None) in parts else value


@cache
def _hints(shape: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(shape)


def following(lines: Sequence[Any], limit: int, key: str = "id") -> Any:
    """Returns the `next` of a page: what to ask after, or None on the last."""
    return getattr(lines[-1], key) if len(lines) == limit else None


def receipt_of(committed: Committed) -> Receipt:
    """Returns what a command wrote."""
    held = committed.receipt
    wrote = committed.session, committed.command, committed.first, committed.seq
    return Receipt(*wrote, held.size, held.root.hex(), held.leaf.hex())


def receipt_headers(committed: Committed) -> dict[str, str]:
    """Returns the headers of every answer to a command: its receipt, and whether it was repeated."""
    held = committed.receipt
    parts = f"session={held.log}; size={held.size}; root={held.root.hex()}; leaf={held.leaf.hex()}"
    return {RECEIPT: parts} | ({REPLAYED: "true"} if committed.repeated else {})


def answer(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Returns an answer with that body: a struct, or an object of structs."""
    if isinstance(body, dict):
        body = {name: without_page_only(each) for name, each in body.items()}
    return Response(without_page_only(body), status=status, headers=headers)


def without_page_only(value: Any) -> Any:
    """Returns `value` without the fields that only pages show, down through structs and lists of them."""
    if isinstance(value, msgspec.Struct):
        names = _public(type(value))
        return {name: without_page_only(getattr(value, name)) for name in names} if names else value
    if isinstance(value, list | tuple):
        return [without_page_only(each) for each in value]
    return value


@cache
def _public(shape: type[msgspec.Struct]) -> tuple[str, ...]:
    """Returns the fields of a struct that the API shows; none: it is encoded as it is."""
    if shape.__module__.startswith("agentstate.") or shape.__struct_config__.omit_defaults:
        return ()
    return tuple(field.name for field in msgspec.structs.fields(shape) if not is_page_only(field.type))


def is_page_only(declared: Any) -> bool:
    """Returns whether a field is declared as PageOnly."""
    metas = [part for part in get_args(declared) if isinstance(part, Meta)]
    return any(_PAGE_ONLY in (part.extra_json_schema or {}) for part in metas)
