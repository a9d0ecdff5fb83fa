"""Proposals about a data subject whom several teams serve: an erasure, the end of a legal hold, a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from uuid import UUID

from agentstate.clock import now
from agentstate.people.roles import Permission
from audit import erasure, holds
from audit.models import ErasureRequest
from sessions.core import reach
from sessions.models.proposals import Proposal, ProposalAnswer
from sessions.proposals.kinds import Kind, register

RELEASED_FOR = timedelta(days=30)  # after its answer a team's part is in the proposer's reports


def _serving(row: Proposal) -> frozenset[UUID]:
    return reach.of_subject(row.kid)


def _approve(row: Proposal) -> None:
    erasure.rule(_request(row), erasure.State.APPROVED, row.by)


def _refuse(row: Proposal, by: str) -> None:
    erasure.rule(_request(row), erasure.State.REFUSED, by)


def _asker(row: Proposal) -> frozenset[str]:
    return frozenset(ErasureRequest.objects.filter(pk=_request(row)).values_list("asked_by", flat=True))


def _request(row: Proposal) -> UUID:
    return UUID(row.details["request"])


def _lift(row: Proposal) -> None:
    holds.lift(UUID(row.details["hold"]), row.by)


def _asked(row: Proposal) -> frozenset[UUID]:
    """Returns the teams that were asked: a report's proposal does not grow, a new report asks anew."""
    return frozenset(row.teams)


def _nothing(_: Proposal) -> None:
    """A report needs no further act: `released` reads the answers."""


def _said(text: str) -> Callable[[Proposal, Mapping[UUID, str]], list[str]]:
    return lambda _row, _names: [text]


ERASURE = Kind(
    "erasure",
    Permission.ERASE_APPROVE,
    "Erasure of a data subject",
    _said("Erases everything that your teams hold about one data subject, for good."),
    _serving,
    _approve,
    _refuse,
    _asker,
    is_erasure=True,
)
LIFT = Kind(
    "lift_hold",
    Permission.HOLD,
    "End of a legal hold",
    _said("Ends a legal hold. What it kept can then be erased or deleted."),
    _serving,
    _lift,
)
REPORT = Kind(
    "report",
    Permission.SUBJECT_REPORT,
    "Report on a data subject",
    _said("Shows the proposer what your teams hold about one data subject, for 30 days."),
    _asked,
    _nothing,
    each_team=True,
)
register(ERASURE, LIFT, REPORT)


def released(kid: UUID, by: str) -> frozenset[UUID]:
    """Returns the teams that have agreed lately that this person's reports on the subject have their part."""
    rows = ProposalAnswer.objects.filter(proposal__kid=kid, proposal__kind=REPORT.name, proposal__by=by)
    rows = rows.exclude(proposal__state=Proposal.State.WITHDRAWN).order_by("at", "pk")
    newest = {team: (agrees, at) for team, agrees, at in rows.values_list("team_id", "agrees", "at")}
    since = now() - RELEASED_FOR
    return frozenset(team for team, (agrees, at) in newest.items() if agrees and at > since)


def erasure_waits(request: UUID) -> Proposal | None:
    """Returns the open proposal by which an erasure waits for other teams."""
    going = (Proposal.State.OPEN, Proposal.State.AGREED)
    return Proposal.objects.filter(kind=ERASURE.name, details__request=str(request), state__in=going).first()
