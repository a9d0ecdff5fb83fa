"""The schemas of states, the three kinds of state, migrations and pruning."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.state_schemas import commands, queries
from sessions.state_schemas import schemas as forms

_AGENT = OpenApiParameter("agent", str, OpenApiParameter.PATH)


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


class AgentSchema(APIView):
    """What may stand in the states of an agent's sessions, and who may write it."""

    @extend_schema(
        operation_id="read_agent_schema", parameters=[_AGENT], responses=answers(200, forms.AgentSchema, *READING)
    )
    def get(self, request: Request, agent: str) -> Response:
        line = queries.agent_schema(request.user, agent)
        body = shown(forms.AgentSchema, line)
        body["places"] = [shown(forms.Place, each) for each in line.places]
        body["versions"] = [shown(forms.SchemaVersion, each) for each in line.versions]
        return Response(body)


class Kinds(APIView):
    """The three kinds of state of a session."""

    @extend_schema(
        operation_id="read_state_kinds",
        description="Private values are hidden from those who may not unmask.",
        parameters=[SESSION],
        responses=answers(200, forms.StateKinds, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        line = queries.kinds_of(request.user, _session(session))
        kinds: dict[str, Any] = {
            name: msgspec.structs.asdict(getattr(line.kinds, name)) for name in ("conversation", "task", "user")
        }
        kinds["conversation"]["messages"] = [msgspec.structs.asdict(each) for each in line.kinds.conversation.messages]
        kinds["task"]["steps"] = [msgspec.structs.asdict(each) for each in line.kinds.task.steps]
        plain = {name: getattr(line, name) for name in ("seq", "schema", "held", "pending", "blocked", "prunable")}
        return Response({**plain, **kinds, "missing": [shown(forms.Missing, each) for each in line.missing]})


class Migration(APIView):
    """Carry one session's state to another version."""

    @extend_schema(
        operation_id="migrate_state",
        description="A session takes a newer version by itself with its next step; this is for going back, or at once.",
        parameters=[SESSION],
        request=forms.MigrateState,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(commands.migrate(request.user, _session(session), **valid(forms.MigrateState, request)))


class Pruning(APIView):
    """Remove what nothing reads any more."""

    @extend_schema(
        operation_id="prune_state",
        parameters=[SESSION],
        request=forms.PruneState,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(commands.prune(request.user, _session(session), **valid(forms.PruneState, request)))


class DryRun(APIView):
    """What a migration would do."""

    @extend_schema(
        operation_id="try_migration",
        description="Tried on the open sessions of the teams whose state you may change, newest first, at most 1,000."
        " Nothing is written.",
        request=forms.TryMigration,
        responses=answers(200, forms.MigrationReport, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.TryMigration, request)
        report = queries.migration_report(request.user, wanted["agent"], wanted.get("to", 0))
        body = shown(forms.MigrationReport, report)
        body["blocked"] = [shown(forms.Stuck, each) for each in report.blocked]
        return Response(body)
