"""The declared schema of an agent's state: what may stand where, who may write it, and what stays private.

Beside JSON Schema's own words it knows four, on the schemas of plain properties and items:

- `x-writers`: who may write here and below, e.g. `["tool:authorize", "staff:supervisor"]`; a deeper one stands instead
  of those above it. Where none is declared nobody but the system writes.
- `x-private`: `true` keeps the value out of every model request and off every page that does not need it.
- `x-merge`: how concurrent changes of this place are merged, e.g. `"counter"` or `{"merge": "set", "clash": "vote"}`.
- `x-importance`: 0 (the default) to 100. Models see the most important parts of a state that is too large.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from agentstate.engine.events.base import digest
from agentstate.engine.money import WORD as MONEY
from agentstate.engine.schemas import compiled
from agentstate.engine.schemas.places import LIST, MAP, ONE, children
from agentstate.engine.schemas.refusals import BadSchema

ActorKind = Literal["customer", "agent", "tool", "staff", "system"]
WORDS = ("x-writers", "x-private", "x-merge", "x-importance")
MAX_IMPORTANCE = 100
MAX_WRITERS = 50
ANYBODY = "*"
# Words under which a place is one property, item or definition, and no alternative among several.
_PLAIN = ("properties", "additionalProperties", "patternProperties", "items", "prefixItems", "$defs")
# All words of JSON Schema 2020-12 that `keywords` lets through, and ours.
_KNOWN = {
    *ONE,
    *LIST,
    *MAP,
    *WORDS,
    MONEY,
    "$schema",
    "$ref",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
}
_KNOWN |= {"type", "enum", "const", "required", "pattern", "format", "minLength", "maxLength", "minimum", "maximum"}
_KNOWN |= {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minContains"}
_KNOWN |= {"maxContains", "minProperties", "maxProperties", "dependentRequired", "contentEncoding", "contentMediaType"}
_KNOWN |= {"deprecated", "readOnly", "writeOnly"}
_KINDS = ("customer", "agent", "tool", "staff", "system", ANYBODY)


class Actor(msgspec.Struct, frozen=True):
    """Who writes: what they are, and the names under which they may be declared (a tool's name, a person's roles)."""

    kind: ActorKind
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}:{'+'.join(self.names)}" if self.names else self.kind

    def among(self, writers: tuple[str, ...]) -> bool:
        """Whether one of `writers` means this actor. The system writes everywhere: it only carries out events."""
        if self.kind == "system" or ANYBODY in writers or self.kind in writers:
            return True
        return any(f"{self.kind}:{name}" in writers for name in self.names)


SYSTEM = Actor("system")


class Declared(msgspec.Struct, frozen=True):
    """A named, versioned schema of a state. `source` is its JSON; equal sources are compiled once."""

    name: str
    version: int
    source: bytes

    @property
    def reference(self) -> str:
        """How entries name it: `bank@3`."""
        return f"{self.name}@{self.version}"

    @property
    def schema(self) -> dict[str, Any]:
        """The schema itself; not to be changed."""
        schema: dict[str, Any] = schema_of(self.source)
        return schema

    @property
    def digest(self) -> str:
        """SHA-256 over the schema, in hex."""
        return digest(self.schema)


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a declared schema is written down."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,49}\Z")]
    version: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    schema: dict[str, Any]


_documents = msgspec.json.Decoder(_Document, float_hook=Decimal)


@lru_cache(maxsize=200)
def schema_of(source: bytes) -> Any:
    """The schema whose bytes these are; not to be changed."""
    return compiled.decode(source)


def declare(name: str, version: int, schema: dict[str, Any]) -> Declared:
    """A checked schema under a name and version. Raises BadSchema naming place and rule."""
    compiled.check_schema(schema)
    if schema.get("type") != "object":
        raise BadSchema("schema", "type", "a state is an object")
    _check_words(schema, "schema", plain=True)
    return Declared(name, version, compiled.encode(schema))


def load(data: bytes) -> Declared:
    """A declared schema from its document, `{"name", "version", "schema"}`. Raises BadSchema."""
    try:
        document = _documents.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadSchema("document", "form", str(error)[:200]) from None
    return declare(document.name, document.version, document.schema)


def _check_words(part: Any, path: str, plain: bool) -> None:
    """The words of a state's schema, here and below. Depth is bounded: the schema has been checked."""
    if not isinstance(part, dict):
        return
    for word in part.keys() - _KNOWN:
        raise BadSchema(
            path, word[:50], "no such word: a slip here would leave something open that was meant to be closed"
        )
    for word in WORDS:
        if word in part:
            if not plain:
                raise BadSchema(path, word, "only on plain properties and items, not under a choice")
            _CHECKS[word](part[word], path)
    if part.get("$ref") == "#":
        raise BadSchema(path, "$ref", "a state does not hold itself: name a definition")
    for word, place, inner in children(part):
        _check_words(inner, path + place, plain and word in _PLAIN)


def _check_writers(value: Any, path: str) -> None:
    if not isinstance(value, list) or len(value) > MAX_WRITERS:
        raise BadSchema(path, "x-writers", f"want a list of at most {MAX_WRITERS} actors")
    for writer in value:
        kind, _, name = writer.partition(":") if isinstance(writer, str) else ("", "", "")
        if kind not in _KINDS or (":" in str(writer) and not name) or len(str(writer)) > 100:
            raise BadSchema(path, "x-writers", f"want one of {list(_KINDS)}, or kind:name")


def _check_private(value: Any, path: str) -> None:
    if not isinstance(value, bool):
        raise BadSchema(path, "x-private", "want true or false")


def _check_merge(value: Any, path: str) -> None:
    if not isinstance(value, str | dict):
        raise BadSchema(path, "x-merge", "want the name of a merge type, or an object with merge, clash and quorum")


def _check_importance(value: Any, path: str) -> None:
    if type(value) is not int or not 0 <= value <= MAX_IMPORTANCE:
        raise BadSchema(path, "x-importance", f"want a whole number from 0 to {MAX_IMPORTANCE}")


_CHECKS = {
    "x-writers": _check_writers,
    "x-private": _check_private,
    "x-merge": _check_merge,
    "x-importance": _check_importance,
}
