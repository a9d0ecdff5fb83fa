"""Canonical JSON: the one way to write a value as bytes, in a strict profile of RFC 8785.

The profile leaves out what two programs could read differently: keys are ASCII, numbers are integers below
2^53 in magnitude (no floats, so also no -0 and no exponent), strings hold no lone surrogates, keys do not
repeat. NUL and other control characters appear only as escapes, as RFC 8785 section 3.2.2.2 writes them.
Because keys are ASCII, sorting them by code point is the order by UTF-16 code units that the RFC asks for.

What is hashed is always the stored bytes; so `loads` refuses bytes that `dumps` would not have written.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 100

_encode = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


class NotCanonical(ValueError):
    """The value or the bytes lie outside the canonical JSON profile."""


def dumps(value: Any) -> bytes:
    """`value` (dict, list, str, int, bool, None, nested) as canonical UTF-8 bytes; else NotCanonical."""
    _check(value, 0)
    try:
        return _encode(value).encode("utf-8")
    except UnicodeEncodeError:
        raise NotCanonical("a string holds a lone surrogate") from None


def loads(data: bytes) -> Any:
    """The value that `data` writes canonically; NotCanonical if `dumps` would write it differently."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except NotCanonical:
        raise
    except UnicodeDecodeError:
        raise NotCanonical("not UTF-8") from None
    except (ValueError, RecursionError):
        raise NotCanonical("not JSON") from None
    if dumps(value) != data:
        raise NotCanonical("JSON, but not written canonically")
    return value


def _check(value: Any, depth: int) -> None:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise NotCanonical("an integer is not below 2^53")
        return
    if depth >= MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH}")
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise NotCanonical("a key is not an ASCII string")
            _check(item, depth + 1)
    elif kind is list:
        for item in value:
            _check(item, depth + 1)
    else:
        raise NotCanonical(f"{kind.__name__} has no place in canonical JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise NotCanonical("a key appears twice")
    return result


def _integer(text: str) -> int:
    # The length check comes first: converting a million digits costs quadratic time.
    if len(text) > 17:
        raise NotCanonical("an integer is not below 2^53")
    return int(text)


def _no_float(text: str) -> NoReturn:
    raise NotCanonical(f"{text[:20]!r} is not an integer")
