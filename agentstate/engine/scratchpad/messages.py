"""Data messages: JSON values in a session's context, each a patch of the object of its kind and instance.

The newest message that holds a path provides its value: objects merge by key, arrays and scalars replace. A schema that
came with a message holds for its object from then on: a later patch that breaks it is refused, and one that brings a
schema of its own must leave the object so that it follows that. The kinds `state` and `input` have doors of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from agentstate.engine import schemas
from agentstate.engine.references import GIVEN, Path
from agentstate.engine.schemas import bounds
from agentstate.engine.schemas.compiled import decode, encode
from agentstate.engine.schemas.places import parts
from agentstate.engine.scratchpad.paths import Pad, merge, put
from agentstate.errors import Invalid, Refused

MAX_KINDS = 20  # of one session, or of one of its instances
MAX_TOTAL = 2_000_000  # bytes of all objects of one session and their schemas, as JSON
MAX_SCHEMA = 32_000  # bytes of one schema
MAX_PRIVATE = 256_000  # bytes of all schemas with private fields that messages of one session have brought
MAX_VALUE = bounds.Bounds(depth=32, nodes=10_000, text=64_000)  # of one object, all its patches together
STATE = "state"
RESERVED = GIVEN | {STATE}  # what the context holds under these names has a door of its own, or none
_KIND = re.compile(r"[a-z][a-z0-9_]{0,40}")
_PROPERTIES = ("type", "kind", "data", "schema", "_instance")
_OF_A_FORM = ("x-writers", "x-merge")  # words that mean something in the schema of the state only
_json = msgspec.json.Encoder(decimal_format="number")


class BadMessage(Invalid):
    """The data message cannot be taken."""

    code = "bad_message"


class TooMuchData(Refused):
    """The session holds as much data as it may."""

    code = "too_much_data"


class Data(msgspec.Struct, frozen=True):
    """A data message. `schema` is None where it brings none; `instance` is empty for the session itself."""

    data: Any
    kind: str = "data"
    schema: schemas.Schema | None = None
    instance: str = ""


class Held(msgspec.Struct, frozen=True):
    """The object that messages of one kind have made, the schema that holds for it, who sent the latest message, and
    the bytes that both take as JSON.
    """

    value: Any
    schema: Any = None
    by: str = ""
    size: int = 0


Board = Mapping[str, Held]  # kind -> object, of one session or instance
# By kind, every schema with private fields that a message has brought, also one that no longer holds: an entry, an
# entity or a result keeps what was private when it came.
PrivateSchemas = Mapping[str, tuple[schemas.Schema, ...]]


def read(message: Any) -> Data:
    """A data message from its notation, `{type: "data", kind?, schema?, data, _instance?}`. Raises BadMessage."""
    if not isinstance(message, dict) or message.get("type") != "data" or "data" not in message:
        raise BadMessage('want {"type": "data", "data": ...}', field="type")
    unknown = next((str(key) for key in message if key not in _PROPERTIES), None)
    if unknown is not None:
        raise BadMessage(f"{unknown[:60]!r} is none of {', '.join(_PROPERTIES)}", field="message")
    kind, instance, schema = message.get("kind", "data"), message.get("_instance", ""), message.get("schema")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise BadMessage("want a lower-case word of at most 41 letters, digits and _", field="kind")
    if kind in RESERVED:
        raise BadMessage(f"{kind!r} is written in other ways, as are {', '.join(sorted(RESERVED))}", field="kind")
    if not isinstance(instance, str) or len(instance) > 120:
        raise BadMessage("want the name of an instance, at most 120 characters", field="_instance")
    if schema is not None and not isinstance(schema, dict | bool):
        raise BadMessage("want a JSON Schema", field="schema")
    return Data(message["data"], kind, schema, instance)


def write(message: Data) -> dict[str, Any]:
    """The notation of a data message; `read` is the inverse."""
    schema = {} if message.schema is None else {"schema": message.schema}
    instance = {"_instance": message.instance} if message.instance else {}
    return {"type": "data", "kind": message.kind, **schema, "data": message.data, **instance}


def patched(before: Held | None, data: Any, schema: schemas.Schema | None = None, by: str = "") -> Held:
    """The object with one message more. Nothing is judged: what comes here was accepted before."""
    value = data if before is None else merge(before.value, data)
    wanted = schema if schema is not None else before.schema if before is not None else None
    size = len(_json.encode(value)) + (len(_json.encode(wanted)) if wanted is not None else 0)
    return Held(value, wanted, by, size)


def judged(before: Held | None, message: Data) -> Held:
    """The object with one message more. Raises BadMessage, BadSchema, or BreaksSchema naming path and rule."""
    bounds.check(message.data, message.kind, MAX_VALUE)
    if message.schema is not None:
        _must_be_a_schema(message.schema)
    after = patched(before, message.data, message.schema)
    bounds.check(after.value, message.kind, MAX_VALUE)
    must_follow(after, message.kind)
    return after


def written(board: Board, path: Path, value: Any) -> Held:
    """The object of `path` with an output merged in there. Raises BreaksSchema naming path and rule."""
    before = board.get(path.kind)
    found = put({"": before.value} if before is not None else {}, ("", *path.names), value)[""]
    after = patched(None, found, before.schema if before is not None else None)
    bounds.check(found, path.kind, MAX_VALUE)
    must_follow(after, path.kind)
    return after


def must_follow(held: Held, kind: str) -> None:
    """Raises BreaksSchema naming path and rule, where the object breaks the schema that holds for it."""
    if held.schema is not None:
        schemas.validate(held.schema, held.value, kind)


def must_have_room(boards: Iterable[Board], board: Board, kind: str, after: Held) -> None:
    """Raises TooMuchData. `boards` are all of the session, `board` the one among them that `after` will stand in."""
    if kind not in board and len(board) >= MAX_KINDS:
        raise TooMuchData(f"at most {MAX_KINDS} kinds for the session, and for each instance", field="kind")
    before = board[kind].size if kind in board else 0
    total = sum(held.size for each in boards for held in each.values()) - before + after.size
    if total > MAX_TOTAL:
        raise TooMuchData(f"it would come to {total} bytes, at most {MAX_TOTAL}", field="data")


def values(board: Board) -> dict[str, Any]:
    """The objects by kind, as references read them."""
    return {kind: held.value for kind, held in board.items()}


def declared(board: Board) -> dict[str, schemas.Schema]:
    """The schemas that hold, by kind."""
    return {kind: held.schema for kind, held in board.items() if held.schema is not None}


def words_of(schema: schemas.Schema) -> schemas.Declared | None:
    """Returns the schema of an object with its private fields; None where it has none."""
    return _words_of(encode(schema))


def shown(board: Board, brought: PrivateSchemas) -> dict[str, Any]:
    """The objects without what any schema of their kind calls private."""
    return {kind: _open(held.value, brought.get(kind, ())) for kind, held in board.items()}


def _open(value: Any, brought: Iterable[schemas.Schema]) -> Any:
    for words in filter(None, map(words_of, brought)):
        value = schemas.without_private_at(words, (), value, None)
    return value


def private_paths(brought: PrivateSchemas) -> tuple[str, ...]:
    """The places that these schemas call private, as paths: `notes.pin`."""
    declared = [(kind, words) for kind, each in brought.items() for schema in each if (words := words_of(schema))]
    found = (kind + path.removeprefix(STATE) for kind, words in declared for path in schemas.private_paths(words))
    return tuple(dict.fromkeys(found))


def with_schema(brought: PrivateSchemas, kind: str, schema: schemas.Schema | None) -> PrivateSchemas:
    """The schemas with private fields after a message of a kind came with this one."""
    if schema is None or words_of(schema) is None or schema in brought.get(kind, ()):
        return brought
    return {**brought, kind: (*brought.get(kind, ()), schema)}


def joined(every: Iterable[PrivateSchemas]) -> PrivateSchemas:
    """All of these together, each schema once."""
    found: PrivateSchemas = {}
    for brought in every:
        for kind, each in brought.items():
            for schema in each:
                found = with_schema(found, kind, schema)
    return found


def must_keep_few(brought: PrivateSchemas) -> None:
    """Raises TooMuchData where the schemas with private fields are too large to be kept."""
    total = sum(len(encode(schema)) for each in brought.values() for schema in each)
    if total > MAX_PRIVATE:
        raise TooMuchData(f"schemas with private fields come to {total} bytes, at most {MAX_PRIVATE}", field="schema")


def _must_be_a_schema(schema: schemas.Schema) -> None:
    schemas.check_schema(schema)
    source = encode(schema)
    if len(source) > MAX_SCHEMA:
        raise schemas.BadSchema("schema", "max_bytes", f"at most {MAX_SCHEMA} bytes")
    for place, part in parts(schema):
        word = next((word for word in _OF_A_FORM if isinstance(part, dict) and word in part), None)
        if word is not None:
            raise schemas.BadSchema(place, word, "only in the schema of the state")
    _words_of(source)


@lru_cache(maxsize=500)
def _words_of(source: bytes) -> schemas.Declared | None:
    """The schema with its private fields, or None where it has none. Raises BadSchema where one stands under a choice,
    since then nobody could tell what is private.
    """
    schema = decode(source)
    if not any(isinstance(part, dict) and part.get("x-private") for _, part in parts(schema)):
        return None
    return schemas.declare("data", 1, schema)


def whole(pad: Pad, board: Board) -> Pad:
    """The scratchpad and the objects beside it as one, for whoever writes by path: see `name_of`."""
    if not board:
        return pad
    return {**pad, **{name_of(kind): held.value for kind, held in board.items()}}


def parted(before: Pad, after: Pad, board: Board, wrote: Iterable[Path], by: str) -> tuple[Pad, dict[str, Held]]:
    """What `whole` put together and outputs at `wrote` have changed, apart again. `before` is the scratchpad then."""
    kinds = {path.kind for path in wrote if path.kind != STATE}
    names = {name_of(kind) for kind in (*board, *kinds)}
    if not names:
        return after, {}
    pad = dict(after)
    for name in names:
        pad.pop(name, None)
        if name in before:
            pad[name] = before[name]
    made = {kind: _replaced(board.get(kind), after[name_of(kind)], by) for kind in kinds}
    return pad, {**board, **made}


def _replaced(before: Held | None, value: Any, by: str) -> Held:
    schema = before.schema if before is not None else None
    return patched(None, value, schema, by)


def name_of(kind: str) -> str:
    """The name under which the object of a kind stands beside the scratchpad's. No path of the state has this name."""
    return f"†{kind}"
