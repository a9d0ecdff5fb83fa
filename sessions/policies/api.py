"""Policies: what is installed, what another version would have stopped, and what approvers let through from now on."""

from __future__ import annotations

from typing import Annotated

from agentstate.people.models import User
from sessions.http.answers import filled
from sessions.http.bodies import arguments
from sessions.http.operations import SESSION, command, get, post
from sessions.http.parameters import LAST, SessionId, Text
from sessions.policies import dry_runs, queries
from sessions.policies import schemas as forms
from sessions.standing_approvals import commands
from sessions.standing_approvals import queries as lists


@get()
def list_policies(user: User) -> forms.PolicyList:
    """The newest version of every policy, with what running its cases says."""
    return forms.PolicyList(queries.policy_lines(user))


@get()
def read_policy(
    user: User, name: Annotated[str, Text("`name`, or `name@version` for an older one", LAST)]
) -> forms.PolicyRead:
    """A version as data, its cases with their results, and what changed since the version before."""
    view = queries.policy_view(user, name)
    results = [filled(forms.CaseResult, each.said, case=each.case.name, fault=each.fault) for each in view.results]
    more = {"before": view.before, "changes": view.changes, "fails_open": view.fails_open}
    return filled(forms.PolicyRead, view.line, policy=queries.as_json(view.policy), results=results, **more)


@post(200)
def dry_run_policy(user: User, body: forms.DryRunPolicy) -> forms.DryRunTold:
    """Every call of a time judged again by another version or document, each with the state as it was then. Needs the
    permission configure. Nothing is changed; that you looked is in the access log.
    """
    wanted = arguments(body)
    policy = dry_runs.policy_given(wanted.pop("reference", ""), wanted.pop("policy", None))
    found = dry_runs.dry_run(user, policy, **{"until": None, "agent": "", **wanted})
    calls = [filled(forms.DryRunCall, call.found, session=call.session, move=call.move) for call in found.calls]
    return filled(forms.DryRunTold, found, calls=calls)


@get()
def list_session_grants(user: User, session: SessionId) -> lists.GrantsView:
    """What approvers let through for what follows."""
    return lists.grants_of(user, session)


grant_same = command(
    "grant_same",
    commands.grant_same,
    forms.GrantSame,
    "Who approved a request lets the same tool through in this session, where the rule offers it: for so long, so"
    " often, within its limit. Looked at anew at each call.",
)
revoke_session_grant = command(
    "revoke_session_grant",
    commands.revoke_grant,
    forms.RevokeGrant,
    "Ask again from now on.",
    path={**SESSION, "grant": Text(most=LAST)},
)
