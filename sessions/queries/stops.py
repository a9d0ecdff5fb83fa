"""The stops that a person may know of: all of their installation, since each concerns everybody."""

from __future__ import annotations

from agentstate.people.models import User
from agentstate.people.permissions import Permission, PermissionDenied, holds_any
from sessions.models import Stop
from sessions.queries.session_lines import Person

LATELY = 50  # that were lifted


def stops_of(user: Person) -> list[Stop]:
    """Those in force, oldest first, then those lifted lately, newest first. Raises PermissionDenied to who sees no
    session.
    """
    if not isinstance(user, User) or not holds_any(user, Permission.SEE, Permission.STOP):
        raise PermissionDenied("This needs the permission see.", permission=Permission.SEE.value)
    rows = Stop.objects.filter(tenant=user.tenant_id)
    now = rows.filter(lifted_at=None).order_by("at", "pk")
    return [*now, *rows.filter(lifted_at__isnull=False).order_by("-lifted_at", "pk")[:LATELY]]
