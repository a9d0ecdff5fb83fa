"""Policies: what is installed, what another version would have stopped, and what approvers let through from now on."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.core.states import UnknownSession
from sessions.http import values
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.policies import dry_runs, queries
from sessions.policies import schemas as forms
from sessions.standing_approvals import commands
from sessions.standing_approvals import queries as lists

NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description="`name`, or `name@version` for an older one")
GRANT = OpenApiParameter("grant", str, OpenApiParameter.PATH)


class Policies(APIView):
    """The policies of this installation."""

    @extend_schema(
        operation_id="list_policies",
        description="The newest version of every policy, with what running its cases says.",
        responses=answers(200, forms.PolicyList, *READING),
    )
    def get(self, request: Request) -> Response:
        lines = queries.policy_lines(request.user)
        return Response({"policies": [shown(forms.PolicySummary, line) for line in lines]})


class OnePolicy(APIView):
    """One policy."""

    @extend_schema(
        operation_id="read_policy",
        description="A version as data, its cases with their results, and what changed since the version before.",
        parameters=[NAME],
        responses=answers(200, forms.PolicyRead, *READING),
    )
    def get(self, request: Request, name: str) -> Response:
        view = queries.policy_view(request.user, name)
        results = [
            {
                "case": each.case.name,
                "gate": each.said.gate,
                "tier": each.said.tier,
                "rule": each.said.rule,
                "fault": each.fault,
            }
            for each in view.results
        ]
        return Response(
            {
                **shown(forms.PolicySummary, view.line),
                "policy": queries.as_json(view.policy),
                "results": results,
                "before": view.before,
                "changes": [{"rule": each.rule, "how": each.how, "fields": each.fields} for each in view.changes],
                "fails_open": view.fails_open,
            }
        )


class PolicyDryRun(APIView):
    """What would have stopped."""

    @extend_schema(
        operation_id="dry_run_policy",
        description="Every call of a time judged again by another version or document, each with the state as it was"
        " then. Needs the permission configure. Nothing is changed; that you looked is in the access log.",
        request=forms.DryRunPolicy,
        responses=answers(200, forms.DryRunTold, *WRITING),
    )
    def post(self, request: Request) -> Response:
        wanted = valid(forms.DryRunPolicy, request)
        policy = dry_runs.policy_given(wanted.get("reference", ""), wanted.get("policy"))
        found = dry_runs.dry_run(
            request.user, policy, since=wanted["since"], until=wanted.get("until"), agent=wanted.get("agent", "")
        )
        body = shown(forms.DryRunTold, found)
        body["calls"] = [_call(call) for call in found.calls]
        body["left_out"] = [shown(forms.LeftOutLine, each) for each in found.left_out]
        return Response(body)


def _call(call: dry_runs.DryCall) -> dict[str, Any]:
    found = call.found
    return {
        "session": call.session,
        "seq": found.seq,
        "at": found.at,
        "tool": found.tool,
        "move": call.move,
        "was": shown(forms.SaidThen, found.was),
        "would": shown(forms.SaidThen, found.would) if found.would is not None else None,
    }


class SessionGrants(APIView):
    """What approvers let through for what follows."""

    @extend_schema(
        operation_id="list_session_grants",
        parameters=[SESSION],
        responses=answers(200, forms.SessionGrants, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        view = lists.grants_of(request.user, identifier(session, UnknownSession))
        return Response(
            {
                "grants": [shown(forms.SessionGrant, each) for each in view.grants],
                "offers": [shown(forms.GrantOffer, each) for each in view.offers],
            }
        )

    @extend_schema(
        operation_id="grant_same",
        description="Who approved a request lets the same tool through in this session, where the rule offers it: for"
        " so long, so often, within its limit. Looked at anew at each call.",
        parameters=[SESSION],
        request=forms.GrantSame,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.GrantSame, request)
        return receipt(commands.grant_same(request.user, identifier(session, UnknownSession), **wanted))


class RevokeGrant(APIView):
    """Ask again from now on."""

    @extend_schema(
        operation_id="revoke_session_grant",
        parameters=[SESSION, GRANT],
        request=forms.RevokeGrant,
        responses=answers(201, values.Receipt, *WRITING),
    )
    def post(self, request: Request, session: str, grant: str) -> Response:
        wanted = valid(forms.RevokeGrant, request)
        return receipt(commands.revoke_grant(request.user, identifier(session, UnknownSession), grant, **wanted))
