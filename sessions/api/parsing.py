"""The API's parser: JSON, strictly. What two programs could read differently is refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.parsers import BaseParser

from agentstate.errors import Invalid

MAX_DEPTH = 64


class BadJson(Invalid):
    """The body is not acceptable JSON."""

    code = "bad_json"


class TooLarge(Invalid):
    """The body is too large."""

    code = "too_large"
    status = 413


class StrictJSONParser(BaseParser):
    """JSON objects in UTF-8: no NaN, no repeated keys, no NUL, no lone surrogates, bounded in size and depth."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        data = stream.read(limit + 1)
        if len(data) > limit:
            raise TooLarge(f"at most {limit} bytes")
        return loads(data)


def loads(data: bytes) -> dict[str, Any]:
    """The object that `data` holds. Raises BadJson."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=Decimal,
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
    if len(text) > 20:
        raise BadJson(f"an integer of {len(text)} digits")
    return int(text)


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
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadJson("a lone surrogate", field=path)


def _safe(key: str) -> str:
    return key[:60].encode("utf-8", "replace").decode()
