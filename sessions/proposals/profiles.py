"""A change of a customer's profile that every team that serves the customer agrees to."""

from __future__ import annotations

from uuid import UUID

import msgspec
from django.db.models import QuerySet

from agentstate.engine.profile.commands import PersonsCommand
from agentstate.errors import Invalid, Refused
from agentstate.people.roles import Permission
from audit import keys
from sessions import reach
from sessions.commit import Author
from sessions.profiles import access, logs
from sessions.profiles.logs import Subject
from sessions.proposals.kinds import Kind
from sessions.proposals.tables import Proposal

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


KIND = Kind("profile", Permission.KEEP_PROFILE, _teams, _carry_out)
