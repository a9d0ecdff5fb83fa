"""JSON objects, read strictly: what two programs could read differently is refused, with the reason. No framework."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, NoReturn

from agentstate.errors import Invalid

MAX_DEPTH = 64
MAX_DIGITS = 20  # of an integer, its sign included
MAX_NUMBER = 64  # characters of any other number
MAX_EXPONENT = 400  # beyond it no double reaches, and arithmetic on the number could take for ever
_EXPONENT = re.compile(r"[eE][+-]?0*(\d+)$")


class BadJson(Invalid):
    """The body is not acceptable JSON."""

    code = "bad_json"


def loads(data: bytes) -> dict[str, Any]:
    """The object that `data` holds: no NaN, no repeated keys, no NUL, no lone surrogates, nothing deep or huge.

    Numbers other than integers become `Decimal`. Raises BadJson.
    """
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_decimal,
            parse_int=_integer,
        )
    except UnicodeDecodeError as error:
        raise BadJson(f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise BadJson(f"nested deeper than {MAX_DEPTH}") from None
    except json.JSONDecodeError as error:
        raise BadJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    if not isinstance(value, dict):
        raise BadJson(f"got {type(value).__name__}, want an object")
    _check(value, "", 0)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise BadJson(f"the key {key[:60]!r} stands twice", field=_safe(key))
        seen[key] = value
    return seen


def _no_constant(text: str) -> NoReturn:
    raise BadJson(f"{text} is not JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise BadJson(f"an integer of {len(text)} digits")
    return int(text)


def _decimal(text: str) -> Decimal:
    exponent = _EXPONENT.search(text)
    if len(text) > MAX_NUMBER or (exponent and (len(exponent[1]) > 3 or int(exponent[1]) > MAX_EXPONENT)):
        raise BadJson(f"the number {text[:20]} is out of bounds")
    return Decimal(text)


def _check(value: Any, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadJson(f"nested deeper than {MAX_DEPTH}", field=path)
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, path)
            _check(item, f"{path}.{_safe(key)}".lstrip("."), depth + 1)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check(item, f"{path}.{number}", depth + 1)


def _check_text(text: str, path: str) -> None:
    if "\x00" in text:
        raise BadJson("a NUL character", field=path)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadJson("a lone surrogate", field=path) from None


def _safe(key: str) -> str:
    return key[:60].encode("utf-8", "replace").decode()
