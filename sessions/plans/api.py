"""The plan of a session, plans that are kept, and goals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agentstate.engine.plan.drawing import Drawing, dot, text
from agentstate.engine.plan.ready import Standing
from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import LAST, READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import Parameters, identifier
from sessions.plans import commands as plans_commands
from sessions.plans import queries as plans_queries
from sessions.plans import schemas as forms

_INSTANCE = OpenApiParameter("instance", str, description="show this instance of the round")
_BEFORE = OpenApiParameter("before", {"type": "integer", "minimum": 1}, description="compare this version ...")
_AFTER = OpenApiParameter("after", {"type": "integer", "minimum": 1}, description="... with this one")
_NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description="`name`, or `name@version`")


def _session(text: str) -> UUID:
    return identifier(text, UnknownSession)


class Plan(APIView):
    """The plan in force."""

    @extend_schema(
        operation_id="read_plan",
        parameters=[SESSION, _INSTANCE, _BEFORE, _AFTER],
        responses=answers(200, forms.Plan, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        given = Parameters(request, "instance", "before", "after")
        before, after = given.whole("before", 0, 1, LAST), given.whole("after", 0, 1, LAST)
        line = plans_queries.plan_of(request.user, _session(session), request.query_params.get("instance", ""))
        change = None
        if before and after:
            _, words = plans_queries.plan_difference(request.user, _session(session), before, after)
            change = {"before": before, "after": after, "words": list(words)}
        return Response(_plan(line, change))

    @extend_schema(
        operation_id="edit_plan",
        parameters=[SESSION],
        request=forms.EditPlan,
        responses=answers(200, values.Receipt, *WRITING),
    )
    def put(self, request: Request, session: str) -> Response:
        return receipt(plans_commands.edit_plan(request.user, _session(session), **valid(forms.EditPlan, request)), 200)


def _plan(line: plans_queries.PlanLine, change: dict[str, Any] | None) -> dict[str, Any]:
    found = line.progress
    body = {name: getattr(line, name) for name in forms.Plan._declared_fields if hasattr(line, name)}
    body |= {
        "nodes": _nodes(line.drawing, found.standings, line.children),
        "edges": [msgspec.structs.asdict(edge) for edge in line.drawing.edges],
        "progress": {
            "percent": found.percent,
            "counts": dict(found.counts),
            "critical_path": list(found.critical_path),
            "milliseconds": found.milliseconds,
            "remaining": found.remaining,
            "bottleneck": found.bottleneck.call if found.bottleneck else "",
        },
        "instances": [msgspec.structs.asdict(each) for each in line.instances],
        "versions": [msgspec.structs.asdict(each) for each in line.versions],
        "difference": change,
    }
    return body


def _nodes(picture: Drawing, standings: Any, children: dict[str, str]) -> list[dict[str, Any]]:
    nowhere = Standing("", "waiting")
    return [
        {
            **msgspec.structs.asdict(node),
            "status": standings.get(node.id, nowhere).status,
            "reason": standings.get(node.id, nowhere).reason,
            "waits_for": [str(path) for path in standings.get(node.id, nowhere).waits_for],
            "session": children.get(node.id, ""),
        }
        for node in picture.nodes
    ]


class PlanDrawing(APIView):
    """The plan in force as a picture."""

    @extend_schema(
        operation_id="draw_plan", parameters=[SESSION, _INSTANCE], responses=answers(200, forms.PlanDrawing, *READING)
    )
    def get(self, request: Request, session: str) -> Response:
        Parameters(request, "instance")
        picture = plans_queries.plan_of(
            request.user, _session(session), request.query_params.get("instance", "")
        ).drawing
        return Response({"text": text(picture), "dot": dot(picture), "left_out": picture.left_out})


class Plans(APIView):
    """Hand a session a plan."""

    @extend_schema(
        operation_id="propose_plan",
        description="The plan is checked before anything runs, and policy may put it before a person as a whole."
        " More instances than one session holds become sessions of their own under this one.",
        parameters=[SESSION],
        request=forms.ProposePlan,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(
            plans_commands.propose_plan(request.user, _session(session), **valid(forms.ProposePlan, request))
        )


class PlanCheck(APIView):
    """Check a plan, and work through it without effects."""

    @extend_schema(
        operation_id="check_plan",
        parameters=[SESSION],
        request=forms.CheckPlan,
        responses=answers(200, forms.PlanChecked, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.CheckPlan, request)
        found = plans_queries.check_plan(
            request.user, _session(session), wanted["calls"], wanted.get("inputs", {}), wanted.get("fates", {})
        )
        run = found.run
        return Response(
            {
                "findings": [{**msgspec.structs.asdict(each), "severity": each.severity} for each in found.findings],
                "waves": [list(wave) for wave in run.waves] if run else [],
                "calls": _nodes(found.drawing, run.standings if run else {}, {}),
                "state": run.states.get("", {}) if run else {},
                "stops": found.stops,
            }
        )


class SavedPlans(APIView):
    """The plans that your teams keep."""

    @extend_schema(operation_id="list_saved_plans", responses=answers(200, forms.SavedPlans, *READING))
    def get(self, request: Request) -> Response:
        return Response({"plans": [shown(forms.SavedPlan, line) for line in plans_queries.saved_plans(request.user)]})

    @extend_schema(
        operation_id="save_plan",
        description="A new version, unless it is the same as the one before. It is refused where a value or a word in"
        " it is the reference of a customer of the team: the plan would outlive their erasure.",
        request=forms.SavePlan,
        responses=answers(201, forms.SavedDocument, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.SavePlan, request)
        wanted.pop("key")
        return Response(msgspec.structs.asdict(plans_commands.save_plan(request.user, **wanted)), status=201)


class OneSavedPlan(APIView):
    """A plan that a team keeps."""

    @extend_schema(
        operation_id="read_saved_plan", parameters=[_NAME], responses=answers(200, forms.SavedDocument, *READING)
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(msgspec.structs.asdict(plans_queries.saved_plan(request.user, name)))


class Goals(APIView):
    """The goal of a session, taken apart."""

    @extend_schema(operation_id="read_goals", parameters=[SESSION], responses=answers(200, forms.Goals, *READING))
    def get(self, request: Request, session: str) -> Response:
        line = plans_queries.goals_of(request.user, _session(session))
        tasks = [
            {
                "id": each.task.id,
                "title": each.task.title,
                "depth": each.depth,
                "needs": list(each.task.needs),
                **msgspec.structs.asdict(each.standing),
            }
            for each in line.tasks
        ]
        return Response({"version": line.version, "tree": msgspec.to_builtins(line.tree), "tasks": tasks})

    @extend_schema(
        operation_id="set_goals",
        parameters=[SESSION],
        request=forms.SetGoals,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        return receipt(plans_commands.set_goals(request.user, _session(session), **valid(forms.SetGoals, request)))

    @extend_schema(
        operation_id="change_goals",
        description="Adds, changes or removes one task. What others need cannot go.",
        parameters=[SESSION],
        request=forms.ChangeGoals,
        responses=answers(200, values.Receipt, *WRITING),
    )
    def patch(self, request: Request, session: str) -> Response:
        return receipt(
            plans_commands.change_goals(request.user, _session(session), **valid(forms.ChangeGoals, request)), 200
        )
