"""A change of a customer's profile that every team that serves the customer agrees to."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import msgspec
from django.db.models import QuerySet

from agentstate.engine.profile.commands import PersonsCommand
from agentstate.errors import Invalid, Refused
from agentstate.people.models import User
from agentstate.people.roles import Permission
from audit import keys
from sessions.core import access as reading
from sessions.core import reach
from sessions.core.committed import Author
from sessions.core.session_lines import Person
from sessions.models.proposals import Proposal
from sessions.models.sessions import AgentSession
from sessions.profiles import access, descriptions, logs
from sessions.profiles.logs import Subject
from sessions.proposals import queries as lines
from sessions.proposals.kinds import Kind, ProfileChange, register
from sessions.proposals.queries import ProposalLine

CONTENT = "sessions/proposal/profile"
MAX_CONTENT = 4_000  # bytes


class CustomerErased(Refused):
    """The customer was erased."""

    code = "erased"


class Change(msgspec.Struct, frozen=True):
    """What is asked of a profile, and under which idempotency key."""

    command: PersonsCommand
    key: str = ""


def sealed(kid: UUID, change: Change) -> bytes:
    """Returns the content of a proposal. Raises Invalid, keys.Erased."""
    data = msgspec.json.encode(change)
    if len(data) > MAX_CONTENT:
        raise Invalid(f"got {len(data)} bytes, at most {MAX_CONTENT}", field="value")
    return keys.seal(kid, CONTENT, data)


def change_of(row: Proposal) -> Change | None:
    """Returns what a proposal asks of a profile; None once the customer is erased."""
    if not row.content:
        return None
    try:
        return msgspec.json.decode(keys.unseal(row.kid, CONTENT, bytes(row.content)), type=Change)
    except keys.Erased:
        return None


def going(customer: UUID) -> QuerySet[Proposal]:
    """Returns the proposals that wait to change this profile, oldest first."""
    states = (Proposal.State.OPEN, Proposal.State.AGREED)
    return Proposal.objects.filter(kid=customer, kind=KIND.name, state__in=states).order_by("at", "pk")


def _teams(row: Proposal) -> frozenset[UUID]:
    return reach.of_profile(row.kid)


def _carry_out(row: Proposal) -> None:
    change = change_of(row)
    if change is None:
        raise CustomerErased()
    subject = Subject(row.kid, row.tenant_id)
    logs.write(subject, access.declaration_of(row.kid), change.command, Author(row.by, change.key))


def _changes(_: Proposal, __: Mapping[UUID, str]) -> list[str]:
    return ["Changes what the agents of your teams know about one customer."]


def _profile_change(user: User, row: Proposal) -> ProfileChange | None:
    """Returns what the proposal changes. Reading it is an entry of the access log."""
    change = change_of(row)
    if change is None:
        return None
    reading.note(user, "profile", [reading.Seen(row.kid, team) for team in row.teams])
    readable = AgentSession.objects.filter(reading.within(user, Permission.READ), kid=row.kid).exists()
    return ProfileChange(descriptions.change(change.command), row.kid if readable else None)


def of_profile(user: Person, customer: UUID) -> list[ProposalLine]:
    """Returns the proposals that wait to change a customer's profile, of those that the person sees, oldest first."""
    return [lines.line_of(user, row) for row in going(customer) & lines.visible(user)]


KIND = Kind(
    "profile",
    Permission.KEEP_PROFILE,
    "Change of a customer's profile",
    _changes,
    _teams,
    _carry_out,
    profile_change=_profile_change,
)
register(KIND)
