"""Schemas compiled once, and values judged by them.

A refusal names the path of the value and the rule that it breaks, never the value: it may be personal.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from agentstate.engine import money
from agentstate.engine.schemas import bounds, keywords
from agentstate.engine.schemas.patterns import SAFE
from agentstate.engine.schemas.refusals import BreaksSchema

MAX_WANTED = 200  # characters of a schema that a refusal quotes
Validator = jsonschema_rs.Draft202012Validator

_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal)
# The words whose value says best what is wanted.
_QUOTED: tuple[str, ...] = ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_QUOTED += (
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "format",
)


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong: where in the value, by which rule, and what is wanted."""

    path: str
    rule: str
    detail: str = ""


def encode(schema: keywords.Schema) -> bytes:
    """The bytes that a schema is known by. Raises BadSchema."""
    try:
        return _encoder.encode(schema)
    except (TypeError, ValueError, RecursionError):
        keywords.check(schema)
        raise


def decode(source: bytes) -> Any:
    """The inverse of `encode`."""
    return _decoder.decode(source)


def check_schema(schema: keywords.Schema) -> None:
    """Raises BadSchema, naming place and rule, unless `schema` can be used safely (see `keywords` and `work`)."""
    keywords.check(schema)
    validator(encode(schema))


@lru_cache(maxsize=1_000)
def validator(source: bytes) -> Validator:
    """The compiled schema whose bytes these are. Raises BadSchema."""
    schema = decode(source)
    keywords.check(schema)
    return build(schema)


def matches(pattern: str, name: str) -> bool:
    """Returns whether a key matches a pattern of a schema."""
    return validator(encode({"pattern": pattern})).is_valid(name)


def build(schema: keywords.Schema) -> Validator:
    """A validator of a schema that has been checked."""
    return Validator(
        schema,
        pattern_options=SAFE,
        offline=True,
        validate_formats=True,
        keywords={money.WORD: money.Money},
        mask="the value",
    )


def validate(schema: keywords.Schema, value: Any, at: str = "value") -> None:
    """Raises BreaksSchema naming the path below `at` and the rule, or BadSchema."""
    found = validator(encode(schema))
    bounds.check(value, at)
    judge(found, value, at)


def problems(schema: keywords.Schema, value: Any, at: str = "value", limit: int = 50) -> list[Problem]:
    """What is wrong with `value`, at most `limit` things. Raises BadSchema, and BreaksSchema when it is too large."""
    found = validator(encode(schema))
    bounds.check(value, at)
    return list(islice(told(found, value, at), limit))


def judge(found: Validator, value: Any, at: str) -> None:
    """`validate` for who holds the compiled schema and has checked the bounds of what is new in `value`."""
    try:
        valid = found.is_valid(value)  # the common case, at a tenth of the cost of telling
    except (ValueError, UnicodeEncodeError):  # what was there before is no JSON
        bounds.check(value, at)
        raise BreaksSchema(at, "not_json") from None
    if not valid:
        bounds.check(value, at)
        for problem in told(found, value, at):
            raise BreaksSchema(problem.path, problem.rule, problem.detail)


def told(found: Validator, value: Any, at: str) -> Iterator[Problem]:
    """Each thing that is wrong, as it is found."""
    for error in found.iter_errors(value):
        yield _problem(error, at)


def _problem(error: jsonschema_rs.ValidationError, at: str) -> Problem:
    path = ".".join([at, *(str(step)[:50] for step in error.instance_path)])
    kind = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        return Problem(f"{path}.{kind.property[:50]}", "required")
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        return Problem(f"{path}.{kind.unexpected[0][:50]}", "additionalProperties", "it has no place here")
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.FalseSchema):
        return Problem(path, "false", "it has no place here")
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Custom):
        return Problem(path, kind.keyword, kind.message)
    return Problem(path, str(kind.name), _wanted(kind))


def _wanted(kind: jsonschema_rs.ValidationErrorKind) -> str:
    """What the schema asks for: its own words, never the value's."""
    if kind.name not in _QUOTED:
        return ""
    value = next(iter(kind.as_dict().values()), None)
    if kind.name == "type" and isinstance(value, list):
        value = " or ".join(value)
    text = value if isinstance(value, str) else _encoder.encode(value).decode()
    return f"want {text[:MAX_WANTED]}"
