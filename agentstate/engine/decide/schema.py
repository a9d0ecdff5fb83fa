"""The form of the state: a session takes the newest version of its schema with its next step, what is written must fit
it, and what is read is judged before anything acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import schemas, scratchpad
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.scratchpad import Migrate, Prune
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.guards.kinds import Judge
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CALL_ENDED
from agentstate.engine.merge.paths import in_the_way, read, removed
from agentstate.engine.merge.values import ABSENT
from agentstate.engine.migrating import CannotMigrate, Catalogue
from agentstate.engine.migrating.pruning import prunable, read_by
from agentstate.engine.references import Path, is_reference
from agentstate.engine.schemas import Actor, Declared
from agentstate.engine.scratchpad import Pad, messages
from agentstate.engine.scratchpad.private import detail_without
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.rounds import data_instance, pad_of, planned
from agentstate.engine.state.session import Call, SessionState
from agentstate.engine.writers import BadKey, Output, WriteRules, own_place, problems
from agentstate.errors import Invalid, Refused

_json = msgspec.json.Encoder(decimal_format="number")


def in_force(state: SessionState, context: CommandContext) -> Declared | None:
    """The schema that this session's state is of; None when nothing is declared."""
    catalogue = _catalogue(state, context)
    return None if catalogue is None else catalogue.versions.get(state.schema.version)


def _catalogue(state: SessionState, context: CommandContext) -> Catalogue | None:
    """The versions of this session's schema. A state of another schema's name is left alone."""
    if context.schemas is None or state.schema.name not in ("", context.schemas.name):
        return None
    return context.schemas


def upgrade(command: Command, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The migration to the newest version that comes before anything that a command does, if one is due and the state
    can be carried. Otherwise the session goes on under the version it has.
    """
    catalogue = _catalogue(state, context)
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


def after(events: list[ev.AnyEvent], state: SessionState, context: CommandContext) -> SessionState:
    """The state after `events`."""
    for event in events:
        state = evolve(state, event, stamp(context.at))
    return state


@command_handler(Migrate)
def migrated(command: Migrate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The migration that was asked for. Raises CannotMigrate naming path and rule."""
    must_live(state)
    catalogue = _catalogue(state, context)
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


@command_handler(Prune)
def pruned(command: Prune, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """What nothing reads any more goes; nothing when there is none."""
    must_live(state)
    paths = tuple(unread(state, context))
    pad = state.pad
    for path in paths:
        pad = removed(pad, path)
    return [ev.StatePruned(paths, ev.digest(pad), command.by)] if paths else []


def unread(state: SessionState, context: CommandContext) -> list[str]:
    """The paths of the state that nothing reads any more: no schema, rule or chart, and no plan that is under way."""
    reads = context.reads
    if _is_under_way(state):
        waiting = state.calls.get(state.plans.proposed)
        written = _json.encode((state.plans.plan.calls, waiting.arguments if waiting is not None else None))
        reads = reads.also(read_by([written.decode()]))
    return prunable(in_force(state, context), state.pad, reads)


def write_rules(state: SessionState, context: CommandContext) -> WriteRules:
    """Who may write what in this session's state."""
    return WriteRules(in_force(state, context), context.output_paths, context.reads)


def output_of(state: SessionState, call: Call) -> Output | None:
    """Where a call writes, by itself or as its plan says; None: nowhere."""
    found = planned(state.plans, call.id)
    if found is not None:
        by_model = state.plans.source == "model"
        return Output(call.tool, call.arguments, found.alternatives, bool(found.delegate), by_model)
    if call.output_path is None:
        return None
    path = Path(messages.STATE, tuple(scratchpad.parts(call.output_path)))
    return Output(call.tool, call.arguments, ((path,),))


def must_have_a_place(state: SessionState, call: Call, context: CommandContext) -> None:
    """Before the tool runs: its result, and its error in a plan, may be written where the call says. Raises BadPath,
    BadKey, FixedOutput, NotAWriter, BreaksSchema.
    """
    output = output_of(state, call)
    if output is None:
        return
    rules = write_rules(state, context)
    if (problem := next(problems(output, rules), None)) is not None:
        raise problem
    pad = pad_of(state.plans, state.pad, data_instance(state.plans, call.id))
    for path in (path for group in output.alternatives for path in group if path.kind == messages.STATE):
        if rules.declared is not None and schemas.place_of(rules.declared, str(path)).schema is False:
            raise schemas.BreaksSchema(str(path), "additionalProperties", "it has no place in the state")
        _must_lead(pad, path.names)


def _must_lead(pad: Pad, names: Sequence[str]) -> None:
    """Raises BreaksSchema where a value that is no object stands above a place: a write would take it away."""
    if obstacle := in_the_way(pad, names):
        raise schemas.BreaksSchema(
            obstacle, "type", f"it is no object, so nothing is written to state.{'.'.join(names)}"
        )


def placed(call: Call, context: CommandContext) -> Call:
    """The call with the place of its tool's result, by its arguments. One that cannot be told stays as it is declared,
    and is refused.
    """
    if call.output_path is None or call.tool not in context.output_paths:
        return call
    return replace(call, output_path=place_named(call.tool, call.arguments, context))


def place_named(tool: str, arguments: dict[str, Any], context: CommandContext) -> str | None:
    """The place of a tool's result; as it is declared where the arguments do not name its key."""
    try:
        return own_place(context.output_paths, tool, arguments)
    except BadKey:
        return context.output_paths[tool]


def misfit(state: SessionState, call: Call, result: Any, context: CommandContext) -> str:
    """Why a tool's result cannot be written: path and rule. Empty when it fits."""
    if call.output_path is None:
        return ""
    return misfit_at(state.pad, call.output_path, Actor("tool", (call.tool,)), result, in_force(state, context))


def misfit_at(pad: Pad, path: str, actor: Actor, value: Any, declared: Declared | None) -> str:
    """Why a value cannot be written at a path: path and rule. Empty when it fits."""
    try:
        _must_lead(pad, scratchpad.parts(path))
        schemas.check_write(declared, actor, path, value, pad)
    except (Invalid, Refused) as broken:
        return detail_without(broken, schemas.private_paths(declared) if declared is not None else ())
    return ""


def unfit(state: SessionState, context: CommandContext) -> list[str]:
    """The values of the state that break its schema, by path and rule. What is missing is for the agent to ask for."""
    declared, found = in_force(state, context), []
    for name in state.pad if declared is not None else ():
        try:
            schemas.read(declared, state.pad, f"state.{name}")
        except schemas.BreaksSchema as broken:
            found.append(detail_without(broken, context.memory.private))
    return found


def judge_of(declared: Declared | None, arguments: Declared | None, values: Mapping[str, Any]) -> Judge:
    """Returns the judge of what rules read: the state by its schema, the arguments by the schema of their tool. An
    argument that a reference fills later is not known yet.
    """
    forms = {"state": declared and replace(declared, name="state"), "arguments": arguments}
    known: dict[tuple[str, ...], str | None] = {}

    def judge(names: tuple[str, ...], value: Any) -> str | None:
        form = forms[names[0]]
        if names[0] == "arguments" and is_reference(value):
            return f"{'.'.join(names)}: its value is not known yet"
        if form is not None and names not in known:
            known[names] = schemas.misfit_at(form, values[names[0]], names[1:])
        return known.get(names)

    return judge


def unreadable(state: SessionState, paths: tuple[str, ...], context: CommandContext) -> str:
    """Why what is about to be acted on cannot be: path and rule of the first value that breaks its schema. What is
    missing is for the rules of policy to judge.
    """
    declared = in_force(state, context)
    for path in paths if declared is not None else ():
        if read(state.pad, path) is ABSENT:
            continue
        try:
            schemas.read(declared, state.pad, path)
        except schemas.BreaksSchema as broken:
            return detail_without(broken, context.memory.private)
    return ""
