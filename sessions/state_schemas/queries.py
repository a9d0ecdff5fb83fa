"""The schemas of states for those who build on them or answer for them: what is declared, what of it a session holds,
and what a migration would do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine.decide.schema import in_force, unread
from agentstate.engine.migrating import CannotMigrate, Catalogue
from agentstate.engine.migrating.in_force import InForce
from agentstate.engine.migrating.overview import PlaceLine, overview
from agentstate.engine.migrating.report import Report, tried
from agentstate.engine.schemas import Problem, missing
from agentstate.engine.state.session import SessionState
from agentstate.engine.three_states import ThreeStates, three_states
from agentstate.errors import NotFound
from agentstate.people.permissions import PermissionDenied, can, teams_with
from agentstate.people.roles import Permission
from audit import keys
from sessions.agents import registry
from sessions.core import states, visibility
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.http.bodies import About
from sessions.models.sessions import AgentSession

MOST_TRIED = 1_000  # sessions that one report looks at, newest first


class NoSchema(NotFound):
    """Nothing is declared for the state of this agent's sessions."""

    code = "no_schema"


class VersionLine(msgspec.Struct, frozen=True):
    """One version of a schema, and the migration that leads to it."""

    version: int
    digest: str
    steps: Annotated[list[dict[str, Any]], About("of the migration that leads to it")]
    reversible: bool
    why: str


class SchemaLine(msgspec.Struct, frozen=True):
    """The schema of an agent's states: the newest version as it is, its places in lines, and all versions."""

    agent: str
    name: str
    version: int
    digest: str
    schema: Annotated[dict[str, Any], About("JSON Schema 2020-12, with x-writers, x-private, x-merge and x-money")]
    places: list[PlaceLine]
    versions: Annotated[list[VersionLine], About("newest first")]


class KindsLine(msgspec.Struct, frozen=True):
    """The three kinds of state of a session, of which version of which schema they are, and what is to be done about
    them: `missing` is still to be filled in, `pending` the version that comes with the next step, `blocked` why it does
    not come, `prunable` what nothing reads.
    """

    seq: int
    schema: str
    held: bool
    kinds: ThreeStates
    missing: list[Problem]
    pending: int
    blocked: str
    prunable: list[str]
    places: list[PlaceLine]
    may_change: bool


def agent_schema(user: Person, agent: str) -> SchemaLine:
    """Raises UnknownAgent, NoSchema, PermissionDenied to those who may see no session at all."""
    if not teams_with(user, Permission.SEE):
        raise PermissionDenied(f"This needs the permission {Permission.SEE.value}.", permission=Permission.SEE.value)
    catalogue = _catalogue(agent)
    current = catalogue.current
    versions = [_version(catalogue, number) for number in sorted(catalogue.versions, reverse=True)]
    return SchemaLine(agent, current.name, current.version, current.digest, current.schema, overview(current), versions)


def _catalogue(agent: str) -> Catalogue:
    found = registry.schemas_for(registry.find(agent).schema)
    if found is None:
        raise NoSchema(f"{agent} takes whatever is written")
    return found


def _version(catalogue: Catalogue, number: int) -> VersionLine:
    there = catalogue.migrations[number - 1]
    steps = [msgspec.to_builtins(step) for step in there.steps]
    return VersionLine(number, catalogue.versions[number].digest, steps, there.reversible, there.why)


def kinds_of(user: Person, session: UUID) -> KindsLine:
    """Private values only for those who may unmask. Raises UnknownSession, PermissionDenied, BreaksSchema."""
    team = must_read(user, session)
    state = states.load(session).state
    if state.opened is None:
        raise states.UnknownSession()
    given = registry.context_for(state.opened.agent, now())
    declared = in_force(state, given)
    shown = visibility.shown_state(user, session, team, state)
    pending, blocked = _ahead(given.schemas, state)
    return KindsLine(
        seq=state.seq,
        schema=state.schema.reference,
        held=state.schema.held,
        kinds=three_states(str(session), state, declared, counter=given.counter, shown=shown),
        missing=missing(declared, state.pad),
        pending=pending,
        blocked=blocked,
        prunable=unread(state, given),
        places=overview(declared) if declared is not None else [],
        may_change=can(user, Permission.CHANGE_STATE, team) and not state.ended,
    )


def _ahead(catalogue: Catalogue | None, state: SessionState) -> tuple[int, str]:
    """The version that the next step would take (0: none), and why it would not."""
    now_at = state.schema
    if catalogue is None or state.ended or now_at.version >= catalogue.current.version:
        return 0, ""
    newest = catalogue.current.version
    try:
        catalogue.carry(state.pad, now_at.version, newest)
    except CannotMigrate as fault:
        return newest, fault.detail
    return newest, "it is held back" if now_at.held else ""


def migration_report(user: Person, agent: str, to: int = 0) -> Report:
    """What carrying the open sessions of the user's teams to version `to` (0: the newest) would do; nothing is written.

    It needs `change_state`. Raises UnknownAgent, NoSchema, CannotMigrate, PermissionDenied.
    """
    teams = teams_with(user, Permission.CHANGE_STATE)
    if not teams:
        needed = Permission.CHANGE_STATE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    catalogue = _catalogue(agent)
    rows = AgentSession.objects.filter(team__in=teams, agent=agent, ended_at__isnull=True).order_by("-opened_at")
    ids = list(rows.values_list("pk", flat=True)[:MOST_TRIED])
    return tried(catalogue, to or catalogue.current.version, stored(ids))


def stored(sessions: list[UUID]) -> Iterator[tuple[str, InForce, dict[str, Any]]]:
    """The states of these sessions as a report takes them; an erased one is passed over."""
    for session in sessions:
        try:
            state = states.load(session).state
        except keys.Erased:
            continue
        yield str(session), state.schema, state.pad
