"""Data messages: JSON values in a session's context, each a patch of the object of its kind and instance.

The newest message that holds a path provides its value: objects merge by key, arrays and scalars replace. The state
is the object of kind `state`. A schema that came with a message holds for its object from then on, and every later
patch must leave it so that no value breaks the schema; what the schema still requires may be missing in a state, which
is a form to be filled in, and in nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import schemas
from agentstate.engine.references import Views
from agentstate.engine.schemas import bounds
from agentstate.engine.schemas.compiled import decode, encode
from agentstate.engine.schemas.places import parts
from agentstate.engine.scratchpad.paths import merge
from agentstate.engine.scratchpad.scopes import narrowed
from agentstate.errors import Invalid

MAX_OBJECTS = 4_000  # in one session: up to 1,000 instances with a few kinds each
_KIND = re.compile(r"[a-z][a-z0-9_]{0,40}")
_PROPERTIES = ("type", "kind", "data", "schema", "_instance")
STATE = "state"
INPUT = "input"


class BadMessage(Invalid):
    """The data message cannot be taken."""

    code = "bad_message"


class Data(msgspec.Struct, frozen=True):
    """A data message. `instance` is empty for what is everybody's."""

    data: Any
    kind: str = "data"
    schema: schemas.Schema | None = None
    instance: str = ""


class Held(msgspec.Struct, frozen=True):
    """An object that messages have made, and the schema that holds for it."""

    value: Any
    schema: schemas.Schema | None = None


class Board(msgspec.Struct, frozen=True):
    """All objects of a session: kind -> instance -> object."""

    objects: Mapping[str, Mapping[str, Held]] = {}


def read(message: Any) -> Data:
    """A data message from its notation, `{type: "data", kind?, schema?, data, _instance?}`. Raises BadMessage."""
    if not isinstance(message, dict) or message.get("type") != "data" or "data" not in message:
        raise BadMessage('want {"type": "data", "data": ...}', field="message")
    unknown = next((str(key) for key in message if key not in _PROPERTIES), None)
    if unknown is not None:
        raise BadMessage(f"{unknown[:60]!r} is none of {', '.join(_PROPERTIES)}", field="message")
    kind, instance = message.get("kind", "data"), message.get("_instance", "")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise BadMessage("want a lower-case word", field="kind")
    if not isinstance(instance, str) or len(instance) > 200:
        raise BadMessage("want the name of an instance", field="_instance")
    return Data(message["data"], kind, message.get("schema"), instance)


def write(message: Data) -> dict[str, Any]:
    """The notation of a data message; `read` is the inverse."""
    schema = {} if message.schema is None else {"schema": message.schema}
    instance = {"_instance": message.instance} if message.instance else {}
    return {"type": "data", "kind": message.kind, **schema, "data": message.data, **instance}


def put(board: Board, message: Data) -> Board:
    """The board with one message more; `board` itself is unchanged. Raises BadSchema, BreaksSchema naming path and
    rule, or BadMessage.
    """
    bounds.check(message.data, message.kind)
    of_kind = board.objects.get(message.kind, {})
    if message.instance not in of_kind and sum(map(len, board.objects.values())) >= MAX_OBJECTS:
        raise BadMessage(f"at most {MAX_OBJECTS} objects in one session", field="_instance")
    before = of_kind.get(message.instance)
    value = message.data if before is None else merge(before.value, message.data)
    schema = message.schema if message.schema is not None else before.schema if before else None
    _must_follow(schema, value, message.kind)
    held = {**of_kind, message.instance: Held(value, schema)}
    return replace(board, objects={**board.objects, message.kind: held})


def folded(messages: Iterable[Data]) -> Board:
    """The objects that these messages make, in this order."""
    board = Board()
    for message in messages:
        board = put(board, message)
    return board


def views(board: Board, instance: str = "") -> Views:
    """What calls of an instance can read: its own objects. The input for everybody shows through where the instance's
    own has nothing else to say; nothing of another instance does.
    """
    shown = {kind: held[instance].value for kind, held in board.objects.items() if instance in held}
    everybody = board.objects.get(INPUT, {}).get("")
    if instance and everybody is not None:
        shown[INPUT] = merge(everybody.value, shown[INPUT]) if INPUT in shown else everybody.value
    return shown


def for_model(board: Board, scopes: Iterable[str], instance: str = "") -> dict[str, Any]:
    """What a model request may hold: what `scopes` let through, without what any schema calls private. Raises
    BadReference.
    """
    shown = views(board, instance)
    for kind, objects in board.objects.items():
        held = [objects[name] for name in ("", instance) if name in objects]
        for schema in (each.schema for each in held if each.schema is not None and kind in shown):
            shown = {**shown, kind: schemas.without_private(_words_of(encode(schema)), shown[kind])}
    return narrowed(shown, scopes)


@lru_cache(maxsize=500)
def _words_of(source: bytes) -> schemas.Declared | None:
    """The schema with its private fields, or None where it has none. Raises BadSchema where one stands under a choice,
    since then nobody could tell what is private.
    """
    schema = decode(source)
    if not any(isinstance(part, dict) and "x-private" in part for _, part in parts(schema)):
        return None
    return schemas.declare("data", 1, schema)


def _must_follow(schema: schemas.Schema | None, value: Any, kind: str) -> None:
    if schema is None:
        return
    found = schemas.problems(schema, value, kind)
    _words_of(encode(schema))
    for problem in found:
        if kind != STATE or problem.rule != "required":
            raise schemas.BreaksSchema(problem.path, problem.rule, problem.detail)
