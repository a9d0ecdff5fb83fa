"""What people do with proposals: they answer for their teams, withdraw their own, and answer for a team that is late.

A person answers for the teams in which they hold the proposal's permission. With `decide_overdue` a person answers for
the teams that have not answered in seven days, or in which nobody holds the permission.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied, holds_any
from agentstate.people.roles import Permission
from audit.server_clock import now
from sessions.core import reach
from sessions.core.person import Person
from sessions.models.proposals import Proposal
from sessions.proposals import workflow
from sessions.proposals.workflow import NotOverdue, UnknownProposal


def answer_proposal(user: Person, proposal: UUID, *, agrees: bool, reason: str = "") -> Proposal:
    """Agrees or rejects for every team in which the person may. Raises UnknownProposal, ProposalOver, SecondPerson,
    PermissionDenied, Invalid.
    """
    row = proposal_of(user, proposal)
    teams = reach.held_in(user, Permission(row.permission), set(row.teams))
    if not teams:
        raise PermissionDenied(f"This needs the permission {row.permission}.", permission=row.permission)
    return workflow.answer(row.pk, teams, _actor(user), agrees=agrees, reason=reason)


def decide_overdue(user: Person, proposal: UUID, *, agrees: bool, reason: str = "") -> Proposal:
    """Agrees or rejects for the teams that are late. Raises UnknownProposal, NotOverdue, ProposalOver, SecondPerson,
    PermissionDenied, Invalid.
    """
    row = proposal_of(user, proposal)
    if not may_decide_overdue(user, row):
        needed = Permission.DECIDE_OVERDUE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    teams = overdue_teams(row, workflow.standing_of(row).outstanding)
    if not teams:
        raise NotOverdue(f"They have time until {row.answer_by:%Y-%m-%d %H:%M} UTC.")
    return workflow.answer(row.pk, teams, _actor(user), agrees=agrees, reason=reason, for_team=True)


def withdraw_proposal(user: Person, proposal: UUID) -> Proposal:
    """Ends the person's own proposal. Raises UnknownProposal, ProposalOver, PermissionDenied."""
    row = proposal_of(user, proposal)
    return workflow.withdraw(row.pk, _actor(user))


def proposal_of(user: Person, proposal: UUID) -> Proposal:
    """Returns a proposal that the person made, may answer, or may decide when it is late. Raises UnknownProposal."""
    row = Proposal.objects.filter(pk=proposal).first()
    if row is None or not _concerns(user, row):
        raise UnknownProposal()
    return row


def may_decide_overdue(user: Person, row: Proposal) -> bool:
    """Whether the person answers for teams that are late, anywhere in the organization."""
    same = isinstance(user, User) and user.tenant_id == row.tenant_id
    return same and holds_any(user, Permission.DECIDE_OVERDUE)


def overdue_teams(row: Proposal, outstanding: frozenset[UUID]) -> frozenset[UUID]:
    """Returns those of the `outstanding` teams that have not answered in time, or in which nobody can."""
    if row.answer_by <= now():
        return outstanding
    return outstanding - reach.answering(outstanding, Permission(row.permission))


def _concerns(user: Person, row: Proposal) -> bool:
    own = row.by == getattr(user, "actor", "")
    return own or bool(reach.held_in(user, Permission(row.permission), set(row.teams))) or may_decide_overdue(user, row)


def _actor(user: Person) -> str:
    if not isinstance(user, User):
        raise PermissionDenied("Sign in first.")
    return user.actor
