"""The form of the state: a session takes the newest version of its schema with its next step, what is written must fit
it, and what is read is judged before anything acts on it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import schemas
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.schema import Migrate, Prune
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.given import Given
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CALL_ENDED
from agentstate.engine.merge.paths import read, removed
from agentstate.engine.merge.values import ABSENT
from agentstate.engine.migrating import CannotMigrate, Catalogue
from agentstate.engine.migrating.pruning import prunable, read_by
from agentstate.engine.schemas import Actor, Declared
from agentstate.engine.scratchpad import Pad
from agentstate.engine.state import Call, SessionState, evolve
from agentstate.errors import Invalid, Refused

_json = msgspec.json.Encoder(decimal_format="number")


def in_force(state: SessionState, given: Given) -> Declared | None:
    """The schema that this session's state is of; None when nothing is declared."""
    catalogue = _catalogue(state, given)
    return None if catalogue is None else catalogue.versions.get(state.schema.version)


def _catalogue(state: SessionState, given: Given) -> Catalogue | None:
    """The versions of this session's schema. A state of another schema's name is left alone."""
    if given.schemas is None or state.schema.name not in ("", given.schemas.name):
        return None
    return given.schemas


def upgrade(command: Command, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The migration to the newest version that comes before anything that a command does, if one is due and the state
    can be carried. Otherwise the session goes on under the version it has.
    """
    catalogue = _catalogue(state, given)
    if catalogue is None or state.opened is None or state.ended or state.schema.held or isinstance(command, Migrate):
        return []
    if _is_under_way(state):
        return []
    newest = catalogue.current.version
    if state.schema.version >= newest:
        return []
    try:
        return _migrated(state, catalogue, newest, by="", hold=False)
    except CannotMigrate:
        return []


def after(events: list[ev.AnyEvent], state: SessionState, given: Given) -> SessionState:
    """The state after `events`."""
    for event in events:
        state = evolve(state, event, stamp(given.at))
    return state


def migrated(command: Migrate, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """The migration that was asked for. Raises CannotMigrate naming path and rule."""
    must_live(state)
    catalogue = _catalogue(state, given)
    if catalogue is None:
        raise CannotMigrate("state", "schema", "nothing is declared for this session's state")
    if command.to == state.schema.version and command.hold == state.schema.held:
        return []
    if _is_under_way(state):
        raise CannotMigrate("state", "plan", "a plan is being carried out; its references name places of this version")
    return _migrated(state, catalogue, command.to, command.by, command.hold)


def _is_under_way(state: SessionState) -> bool:
    """A plan is committed with its references and output paths, and perhaps approved with them: it ends as it began."""
    return state.plans.is_open or bool(state.plans.proposed)


def _migrated(state: SessionState, catalogue: Catalogue, to: int, by: str, hold: bool) -> list[ev.AnyEvent]:
    """The migration of every instance's scratchpad and, last, of the session's own."""
    parts = {name: part.pad for name, part in state.plans.instances.items() if part.pad}
    return [_carried(state, catalogue, to, by, hold, name, pad) for name, pad in (*parts.items(), ("", state.pad))]


def _carried(
    state: SessionState, catalogue: Catalogue, to: int, by: str, hold: bool, instance: str, pad: Pad
) -> ev.StateMigrated:
    before = state.schema.version
    carried = catalogue.carry(pad, before, to)
    return ev.StateMigrated(
        schema=catalogue.name,
        before=before,
        after=to,
        put=carried.put,
        gone=carried.gone,
        digest=carried.digest,
        lossless=carried.lossless,
        moved={} if instance else catalogue.moved(_aims(state), before, to),
        held=hold,
        by=by,
        instance=instance,
    )


def _aims(state: SessionState) -> list[str]:
    """The paths at which results of open calls and votes will be written."""
    calls = [call.output_path for call in state.calls.values() if call.output_path and call.status not in CALL_ENDED]
    return [*calls, *(conflict.path for conflict in state.changes.open)]


def pruned(command: Prune, state: SessionState, given: Given) -> list[ev.AnyEvent]:
    """What nothing reads any more goes; nothing when there is none."""
    must_live(state)
    paths = tuple(unread(state, given))
    pad = state.pad
    for path in paths:
        pad = removed(pad, path)
    return [ev.StatePruned(paths, ev.digest(pad), command.by)] if paths else []


def unread(state: SessionState, given: Given) -> list[str]:
    """The paths of the state that nothing reads any more: no schema, rule or chart, and no plan that is under way."""
    reads = given.reads
    if _is_under_way(state):
        waiting = state.calls.get(state.plans.proposed)
        written = _json.encode((state.plans.plan.calls, waiting.arguments if waiting is not None else None))
        reads = reads.also(read_by([written.decode()]))
    return prunable(in_force(state, given), state.pad, reads)


def must_have_a_place(state: SessionState, call: Call, given: Given) -> None:
    """Before the tool runs: its result may be written where the call says. Raises BreaksSchema, NotAWriter."""
    declared = in_force(state, given)
    if declared is None or call.output_path is None:
        return
    if schemas.place_of(declared, call.output_path).schema is False:
        raise schemas.BreaksSchema(call.output_path, "additionalProperties", "it has no place in the state")
    schemas.check_writer(declared, Actor("tool", (call.tool,)), call.output_path, None)


def misfit(state: SessionState, call: Call, result: Any, given: Given) -> str:
    """Why a tool's result cannot be written: path and rule. Empty when it fits."""
    if call.output_path is None:
        return ""
    try:
        actor = Actor("tool", (call.tool,))
        schemas.check_write(in_force(state, given), actor, call.output_path, result, state.pad)
    except (Invalid, Refused) as broken:
        return broken.detail
    return ""


def unfit(state: SessionState, given: Given) -> list[str]:
    """The values of the state that break its schema, by path and rule. What is missing is for the agent to ask for."""
    declared, found = in_force(state, given), []
    for name in state.pad if declared is not None else ():
        try:
            schemas.read(declared, state.pad, f"state.{name}")
        except schemas.BreaksSchema as broken:
            found.append(broken.detail)
    return found


def unreadable(state: SessionState, paths: tuple[str, ...], given: Given) -> str:
    """Why what is about to be acted on cannot be: path and rule of the first value that breaks its schema. What is
    missing is for the rules of policy to judge.
    """
    declared = in_force(state, given)
    for path in paths if declared is not None else ():
        if read(state.pad, path) is ABSENT:
            continue
        try:
            schemas.read(declared, state.pad, path)
        except schemas.BreaksSchema as broken:
            return broken.detail
    return ""
