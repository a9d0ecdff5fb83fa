"""Which JSON Schemas (2020-12) are taken: closed over themselves, bounded, and cheap on any value.

A schema refers to nothing but its own `#/$defs/<name>` (or `#`, itself), so nothing is ever fetched. It is bounded in
depth, size and patterns, and the work that it can cause is bounded too (`work`), because a short schema whose parts
name each other twice would cost 2^n.
"""

from __future__ import annotations

import re
from typing import Any

import jsonschema_rs

from agentstate.engine import money
from agentstate.engine.schemas import bounds, patterns, work
from agentstate.engine.schemas.places import parts
from agentstate.engine.schemas.refusals import BadSchema, BreaksSchema

Schema = dict[str, Any] | bool

DIALECT = "https://json-schema.org/draft/2020-12/schema"
LIMITS = bounds.Bounds(depth=40, nodes=10_000, text=200_000)
MAX_PATTERNS = 100
MAX_DEFS = 200
# Words that make a schema mean something else depending on where it is read.
_ELSEWHERE = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary")
_LOCAL = re.compile(r"#(/\$defs/([A-Za-z0-9_.-]+))?")


def check(schema: Any, at: str = "schema") -> None:
    """Raises BadSchema, naming the place and the rule, unless `schema` can be used safely."""
    try:
        bounds.check(schema, at, LIMITS)
    except BreaksSchema as broken:
        raise BadSchema(broken.path, broken.rule, broken.detail.rpartition(": ")[2]) from None
    definitions = schema.get("$defs") if isinstance(schema, dict) else None
    if isinstance(definitions, dict) and len(definitions) > MAX_DEFS:
        raise BadSchema(at, "max_defs", f"at most {MAX_DEFS} definitions")
    found = dict(parts(schema, at))
    for path, part in found.items():
        if isinstance(part, dict):
            _check_part(schema, path, part)
    _check_patterns(found)
    _must_follow_the_dialect(schema, at)
    work.check(schema, at)


def _check_part(root: Any, path: str, part: dict[str, Any]) -> None:
    for word in _ELSEWHERE:
        if word in part:
            raise BadSchema(path, word, "a schema here refers to its own $defs and to nothing else")
    if part.get("$schema", DIALECT) != DIALECT:
        raise BadSchema(path, "$schema", f"want {DIALECT}")
    if "$ref" in part:
        _check_reference(root, path, part["$ref"])
    if money.WORD in part:
        _check_money(path, part)


def _check_money(path: str, part: dict[str, Any]) -> None:
    if not isinstance(part[money.WORD], bool):
        raise BadSchema(path, money.WORD, "want true or false")
    if part[money.WORD] and part.get("type", "object") != "object":
        raise BadSchema(path, money.WORD, f"money is never a {part['type']}: {money.WANTED}")


def _check_reference(root: Any, path: str, reference: Any) -> None:
    found = _LOCAL.fullmatch(reference) if isinstance(reference, str) else None
    if found is None:
        raise BadSchema(path, "$ref", "want # or #/$defs/<name>: nothing is fetched from elsewhere")
    if found[2] is not None and found[2] not in (root.get("$defs") or {}):
        raise BadSchema(path, "$ref", f"there is no {reference}")


def _check_patterns(found: dict[str, Any]) -> None:
    held = []
    for path, part in found.items():
        if isinstance(part, dict):
            held += [(f"{path}/pattern", part["pattern"])] if "pattern" in part else []
            named = part.get("patternProperties")
            held += [(f"{path}/patternProperties", name) for name in named] if isinstance(named, dict) else []
    if len(held) > MAX_PATTERNS:
        raise BadSchema("schema", "max_patterns", f"at most {MAX_PATTERNS}")
    for path, pattern in held:
        if isinstance(pattern, str):
            patterns.check(pattern, path)


def _must_follow_the_dialect(schema: Any, at: str) -> None:
    if not isinstance(schema, dict | bool):
        raise BadSchema(at, "type", "a schema is an object, true or false")
    try:
        jsonschema_rs.meta.validate({"$schema": DIALECT, **schema} if isinstance(schema, dict) else schema)
    except jsonschema_rs.ValidationError as broken:
        place = "/".join([at, *(str(step)[:50] for step in broken.instance_path)])
        raise BadSchema(place, str(broken.kind.name), "it is no JSON Schema 2020-12") from None
