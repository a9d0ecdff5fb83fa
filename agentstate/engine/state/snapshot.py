"""A session's state as bytes and back, so that it need not be folded from its first event.

A state of many instances is kept in parts, one an instance beside the rest, so that a snapshot writes only what has
changed since the one before, and everything under the key of its own data subject.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from agentstate.engine.conversation import Item
from agentstate.engine.scratchpad.messages import PrivateSchemas, declared, with_schema
from agentstate.engine.state.participants import Involvement, heard, took_part
from agentstate.engine.state.rounds import Instance, Plans, boards, private_schemas
from agentstate.engine.state.session import Call, Request, SessionState
from agentstate.engine.state.subjects import kid_of_call, own
from agentstate.engine.state.supervision import BACK, GUIDANCE
from agentstate.engine.versions.kept import Late

T = TypeVar("T")
MEANING = 1  # to be raised when a field comes to mean something else and keeps its name and type
_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(SessionState, float_hook=Decimal)


@cache
def form() -> str:
    """The form that snapshots have now, 16 hex digits. One of another form is not read, but folded anew: a field that
    it lacks would be filled in with what is true of a fresh session only.
    """
    shape = msgspec.json.schema_components([SessionState, Part])
    told = msgspec.json.encode([MEANING, _undescribed(shape)], order="sorted")
    return hashlib.sha256(told).hexdigest()[:16]


def _undescribed(shape: Any) -> Any:
    """A schema without what is said of it in words."""
    if isinstance(shape, dict):
        return {key: _undescribed(value) for key, value in shape.items() if key != "description"}
    return [_undescribed(each) for each in shape] if isinstance(shape, list | tuple) else shape


def to_snapshot(state: SessionState) -> bytes:
    """The state as bytes; `from_snapshot` is the inverse."""
    return _encoder.encode(state)


def from_snapshot(data: bytes) -> SessionState:
    """A state read back, validated. Raises msgspec.ValidationError."""
    return _carried_over(_decoder.decode(data))


def _carried_over(state: SessionState) -> SessionState:
    """Returns a state from before it recorded the people who took part, the step of each approval and the calls of the
    session, or the schemas that its data messages brought. The people come from its items, each approval counts for the
    first step, the calls were counted, and of the schemas those are known that still hold.
    """
    if not private_schemas(state.plans):
        state = replace(state, plans=_with_schemas(state.plans))
    if state.involved == Involvement():
        state = replace(state, involved=_involved(state.items))
    if state.proposed and not state.loop.session.calls and state.versions.origin is None:  # a fork counts its own
        counted = replace(state.loop.session, calls=state.proposed)
        state = replace(state, loop=replace(state.loop, session=counted))
    older = {key: each for key, each in state.requests.items() if len(each.steps) != len(each.approvals)}
    if not older:
        return state
    filled = {
        key: replace(each, steps=(0,) * len(each.approvals), codes=("",) * len(each.approvals))
        for key, each in older.items()
    }
    return replace(state, requests={**state.requests, **filled})


def _with_schemas(plans: Plans) -> Plans:
    """Returns the plans with the schemas with private fields that hold for the objects of the session."""
    brought: PrivateSchemas = {}
    for board in boards(plans):
        for kind, schema in declared(board).items():
            brought = with_schema(brought, kind, schema)
    return replace(plans, own=replace(plans.own, private_schemas=dict(brought))) if brought else plans


def _involved(items: Iterable[Item]) -> Involvement:
    found = Involvement()
    for item in items:
        if item.role == "note" and item.text.startswith(GUIDANCE):
            found = took_part(found, "guidance", item.by)
        elif item.role == "note" and item.text.startswith(BACK):
            found = replace(found, agent=())
        else:
            found = heard(found, item.role, item.by)
    return found


class Held(msgspec.Struct, frozen=True):
    """What a state holds of the data of one subject beside their instances: each by its place among the others."""

    calls: dict[int, Call] = {}
    requests: dict[int, Request] = {}
    ready: dict[int, str] = {}
    late: dict[int, tuple[str, Late]] = {}


class Part(msgspec.Struct, frozen=True):
    """One instance of a state, by name; or, without a name, what is held beside the instances of one data subject."""

    name: str
    instance: Instance = Instance()
    held: Held | None = None


class Parts(msgspec.Struct, frozen=True):
    """A state in parts: `rest` without its instances, `bodies` by number those that are to be written, `kids` the keys
    of those that are another data subject's; `count` of all there are.
    """

    rest: bytes
    bodies: dict[int, bytes]
    kids: dict[int, str]
    count: int


_part_decoder = msgspec.json.Decoder(Part, float_hook=Decimal)


def to_parts(state: SessionState, since: int) -> Parts:
    """The state without its instances, the instances changed by entry `since` or later, and what else is of other data
    subjects. `from_parts` is the inverse, given all of them.
    """
    every = list(state.plans.instances.items())
    bodies = {
        number: _encoder.encode(Part(name, instance))
        for number, (name, instance) in enumerate(every)
        if instance.seq >= since
    }
    others = {number: instance.kid for number, (_, instance) in enumerate(every) if instance.kid}
    beside = _beside(state) if others else {}
    for number, (kid, held) in enumerate(beside.items(), len(every)):
        bodies[number], others[number] = _encoder.encode(Part("", held=held)), kid
    rest = own(state)
    rest = replace(rest, plans=replace(rest.plans, instances={})) if every else rest
    return Parts(_encoder.encode(rest), bodies, others, len(every) + len(beside))


def _beside(state: SessionState) -> dict[str, Held]:
    """What is held of other data subjects beside their instances, by key."""
    found: dict[str, Held] = {}
    for place, call in enumerate(state.calls.values()):
        if call.kid:
            found.setdefault(call.kid, _none()).calls[place] = call
    for place, request in enumerate(state.requests.values()):
        if request.kid:
            found.setdefault(request.kid, _none()).requests[place] = request
    for place, key in enumerate(state.plans.ready):
        if kid := kid_of_call(state, key):
            found.setdefault(kid, _none()).ready[place] = key
    for place, (key, late) in enumerate(state.versions.late.items()):
        if late.kid:
            found.setdefault(late.kid, _none()).late[place] = (key, late)
    return found


def _none() -> Held:
    return Held({}, {}, {}, {})


def from_parts(data: bytes, parts: dict[int, bytes]) -> SessionState:
    """A state read back from its parts. Raises msgspec.ValidationError."""
    state = _decoder.decode(data)
    found = [_part_decoder.decode(parts[number]) for number in sorted(parts)]
    if not found:
        return state
    instances = {part.name: part.instance for part in found if part.held is None}
    state = replace(state, plans=replace(state.plans, instances=instances))
    held = [part.held for part in found if part.held is not None]
    return _with_beside(state, held) if held else state


def _with_beside(state: SessionState, held: list[Held]) -> SessionState:
    """The state with everything at the place it had."""
    calls = [(place, (call.id, call)) for each in held for place, call in each.calls.items()]
    requests = [(place, (each.asked.request, each)) for one in held for place, each in one.requests.items()]
    ready = [(place, key) for each in held for place, key in each.ready.items()]
    late = [(place, entry) for each in held for place, entry in each.late.items()]
    return replace(
        state,
        calls=dict(_placed(state.calls.items(), calls)),
        requests=dict(_placed(state.requests.items(), requests)),
        plans=replace(state.plans, ready=tuple(_placed(state.plans.ready, ready))),
        versions=replace(state.versions, late=dict(_placed(state.versions.late.items(), late))),
    )


def _placed(others: Iterable[T], each: list[tuple[int, T]]) -> list[T]:
    placed = list(others)
    for place, item in sorted(each, key=lambda pair: pair[0]):
        placed.insert(place, item)
    return placed
