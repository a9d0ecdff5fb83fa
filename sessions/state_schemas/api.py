"""The schemas of states, the three kinds of state, migrations and pruning."""

from __future__ import annotations

from agentstate.engine.migrating.report import Report
from agentstate.people.models import User
from sessions.http.answers import filled
from sessions.http.operations import command, get, post
from sessions.http.parameters import SessionId
from sessions.state_schemas import commands, queries
from sessions.state_schemas import schemas as forms


@get()
def read_agent_schema(user: User, agent: str) -> queries.SchemaLine:
    """What may stand in the states of an agent's sessions, and who may write it."""
    return queries.agent_schema(user, agent)


@get()
def read_state_kinds(user: User, session: SessionId) -> forms.StateKinds:
    """Private values are hidden from those who may not unmask."""
    line = queries.kinds_of(user, session)
    kinds = line.kinds
    return filled(forms.StateKinds, line, conversation=kinds.conversation, task=kinds.task, user=kinds.user)


migrate_state = command(
    "migrate_state",
    commands.migrate,
    forms.MigrateState,
    "A session takes a newer version by itself with its next step; this is for going back, or at once.",
)
prune_state = command("prune_state", commands.prune, forms.PruneState, "Remove what nothing reads any more.")


@post(200)
def try_migration(user: User, body: forms.TryMigration) -> Report:
    """Tried on the open sessions of the teams whose state you may change, newest first, at most 1,000. Nothing is
    written.
    """
    return queries.migration_report(user, body.agent, body.to or 0)
