"""Data subjects: sealing, erasure, legal holds, retention, and the report of everything held about somebody."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit import keys
from audit.erasure import State, UnknownErasure
from audit.holds import UnknownHold
from audit.retention import Class, Rule, Schedule
from sessions.core.states import UnknownSession
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.http.values import Receipt
from sessions.privacy import commands, queries, subject_report
from sessions.privacy import schemas as forms
from sessions.proposals import api as proposals
from sessions.proposals import queries as proposal_lines
from sessions.proposals.schemas import TeamProposal

ERASURE = OpenApiParameter("erasure", UUID, OpenApiParameter.PATH)
HOLD = OpenApiParameter("hold", UUID, OpenApiParameter.PATH)


def _wanted(shape: type[forms.Strict], request: Request) -> dict[str, Any]:
    wanted = valid(shape, request)
    wanted.pop("key")
    return wanted


class Seal(APIView):
    """Seal a session."""

    @extend_schema(
        operation_id="seal_session",
        description="Nothing follows in a sealed session but the record that its words were erased or pruned.",
        parameters=[SESSION],
        request=forms.SealSession,
        responses=answers(200, Receipt, *WRITING, 410),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.SealSession, request)
        return receipt(commands.seal(request.user, identifier(session, UnknownSession), **wanted), 200)


class Erasures(APIView):
    """Ask for an erasure; list requests."""

    @extend_schema(
        operation_id="list_erasures",
        description="The erasure requests of data subjects whom your teams serve.",
        responses=answers(200, forms.ErasureList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"erasures": [shown(forms.Erasure, each) for each in queries.erasures(request.user)]})

    @extend_schema(
        operation_id="ask_erasure",
        description="Ask that a data subject be erased. Somebody else must approve it.",
        request=forms.AskErasure,
        responses=answers(201, forms.Erasure, *WRITING, 410),
    )
    def post(self, request: Request) -> Response:
        asked = commands.ask_erasure(request.user, **_wanted(forms.AskErasure, request))
        response = Response(shown(forms.Erasure, queries.line(asked, frozenset())), status=201)
        response["Location"] = f"{request.path}/{asked.pk}"
        return response


class OneErasure(APIView):
    """Read a request; approve, refuse or withdraw it."""

    @extend_schema(
        operation_id="read_erasure",
        description="A request, what an approval would erase, and what blocks it.",
        parameters=[ERASURE],
        responses=answers(200, forms.ErasureDetail, *READING),
    )
    def get(self, request: Request, erasure: str) -> Response:
        found = queries.detail(request.user, identifier(erasure, UnknownErasure))
        return Response(
            {
                "erasure": shown(forms.Erasure, found.erasure),
                "stores": dict(found.stores),
                "sessions": [session for session, _ in found.sessions],
                "holds": [shown(forms.Hold, hold) for hold in found.holds],
            }
        )

    @extend_schema(
        operation_id="rule_erasure",
        description="Approve or refuse what somebody else asked for, or withdraw your own request.",
        parameters=[ERASURE],
        request=forms.RuleErasure,
        responses=answers(200, forms.Erasure, *WRITING),
    )
    def post(self, request: Request, erasure: str) -> Response:
        wanted = _wanted(forms.RuleErasure, request)
        ruled = commands.rule_erasure(request.user, identifier(erasure, UnknownErasure), State(wanted["state"]))
        return Response(shown(forms.Erasure, queries.line(ruled, keys.closed([ruled.kid]))))


class Holds(APIView):
    """Set a legal hold; list them."""

    @extend_schema(
        operation_id="list_holds",
        description="The legal holds on data subjects whom your teams serve.",
        responses=answers(200, forms.HoldList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"holds": [shown(forms.Hold, each) for each in queries.all_holds(request.user)]})

    @extend_schema(
        operation_id="set_hold",
        description="Keep a data subject, or one session, from erasure and pruning.",
        request=forms.SetHold,
        responses=answers(201, forms.Hold, *WRITING, 410),
    )
    def post(self, request: Request) -> Response:
        wanted = _wanted(forms.SetHold, request)
        wanted["whole"] = not wanted.pop("only_session", False)
        hold = commands.set_hold(request.user, **wanted)
        return Response(shown(forms.Hold, queries.hold_line(hold, frozenset())), status=201)


class OneHold(APIView):
    """Lift a legal hold."""

    @extend_schema(
        operation_id="lift_hold",
        description="End a legal hold: what it kept back goes on.",
        parameters=[HOLD],
        responses=answers(200, forms.Hold, *WRITING),
    )
    def delete(self, request: Request, hold: str) -> Response:
        lifted = commands.lift_hold(request.user, identifier(hold, UnknownHold))
        return Response(shown(forms.Hold, queries.hold_line(lifted, keys.closed([lifted.kid]))))


class Retention(APIView):
    """For how long words are kept."""

    @extend_schema(
        operation_id="read_retention",
        description="The retention classes, and the rules by which a session of your teams belongs to one.",
        responses=answers(200, forms.Retention, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response(_schedule(commands.retention_schedule(request.user)))

    @extend_schema(
        operation_id="set_retention",
        description="Set the classes and rules of your teams anew. What shortens a term, or concerns a team in which"
        " you do not hold `retention`, is answered with 202 and the proposal that it became.",
        request=forms.Retention,
        responses={**answers(200, forms.Retention, *WRITING), (202, "application/json"): TeamProposal},
    )
    def put(self, request: Request) -> Response:
        wanted = _wanted(forms.Retention, request)
        schedule = Schedule(
            tuple(Class(each["name"], each["days"]) for each in wanted["classes"]),
            tuple(
                Rule(each["retention"], str(each.get("team", "")), each.get("agent", ""), each.get("channel", ""))
                for each in wanted["rules"]
            ),
        )
        proposal = commands.set_retention(request.user, schedule)
        if proposal is not None:
            return Response(proposals.rendered(proposal_lines.line_of(request.user, proposal)), status=202)
        return Response(_schedule(commands.retention_schedule(request.user)))


def _schedule(schedule: Schedule) -> dict[str, Any]:
    rules = [
        {name: value for name in Rule.__struct_fields__ if (value := getattr(rule, name))} for rule in schedule.rules
    ]
    return {"classes": [{"name": each.name, "days": each.days} for each in schedule.classes], "rules": rules}


class RetentionDue(APIView):
    """A dry run of pruning."""

    @extend_schema(
        operation_id="list_pruning",
        description="The closed sessions whose words the next daily run deletes, and those that a legal hold keeps.",
        responses=answers(200, forms.PruningList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"sessions": [shown(forms.PruningDue, each) for each in queries.pruning_due(request.user)]})


class SubjectReport(APIView):
    """Everything held about somebody."""

    @extend_schema(
        operation_id="report_subject",
        description="What your teams hold about one data subject, in clear. `outstanding` says that other teams hold"
        " parts. The report is on record.",
        request=forms.OfSubject,
        responses=answers(200, forms.SubjectReport, *WRITING, 410),
    )
    def post(self, request: Request) -> Response:
        return Response(subject_report.made(request.user, **_wanted(forms.OfSubject, request)))


class ReportProposals(APIView):
    """Ask other teams for their part of a report."""

    @extend_schema(
        operation_id="propose_report",
        description="Ask the other teams that serve a data subject for their part of your reports. The part of a team"
        " that agrees is in your reports for 30 days.",
        request=forms.ProposeReport,
        responses=answers(201, TeamProposal, *WRITING, 410),
    )
    def post(self, request: Request) -> Response:
        row = commands.propose_report(request.user, **_wanted(forms.ProposeReport, request))
        return Response(proposals.rendered(proposal_lines.line_of(request.user, row)), status=201)
