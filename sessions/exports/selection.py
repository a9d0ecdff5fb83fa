"""Which sessions an export is of, who may ask for it, and the record that they did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.engine.lifecycle import SessionStatus
from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from agentstate.people.models import Tenant, User
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from audit import keys, staff
from sessions.core import access, visibility
from sessions.core.session_lines import Person
from sessions.exports import storage
from sessions.exports.session import checked
from sessions.models.sessions import AgentSession, Export, ExportPart

MOST = 20_000  # sessions in one export
UNDER_WAY = (Export.State.WAITING, Export.State.BUILDING)
MOST_UNDER_WAY = 3  # exports of one person at a time
BATCH = 500  # sessions in one entry of the access log


class UnknownExport(NotFound):
    """There is no such export, or it is not yours."""

    code = "unknown_export"


class TooManyExports(Refused):
    """You have as many exports under way as one person may have."""

    code = "too_many_exports"
    status = 409
    remedy = "Wait until one is done, or cancel one."


class Filter(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which sessions; empty fields do not narrow. A customer stands here by the id of their key."""

    team: str = ""
    agent: str = ""
    status: str = ""
    customer: str = ""
    opened_from: str = ""
    opened_to: str = ""

    def rows(self) -> Q:
        """As a condition on sessions."""
        exact = {"team": self.team, "agent": self.agent, "status": self.status, "kid": self.customer}
        found = Q(**{name: value for name, value in exact.items() if value})
        if self.opened_from:
            found &= Q(opened_at__gte=self.opened_from)
        return found & Q(opened_at__lt=self.opened_to) if self.opened_to else found


def filtered(
    tenant: UUID,
    *,
    team: UUID | None = None,
    agent: str = "",
    status: str = "",
    customer: str = "",
    opened_from: datetime | None = None,
    opened_to: datetime | None = None,
) -> Filter:
    """A checked filter; `customer` is a reference, found by its blind index. Raises Invalid."""
    if status and status not in set(SessionStatus):
        raise Invalid(f"got {status[:40]!r}, which is no status", field="status")
    for name, at in (("opened_from", opened_from), ("opened_to", opened_to)):
        if at is not None and at.tzinfo is None:
            raise Invalid("want an instant with its time zone", field=name)
    kid = keys.known_kid(tenant, customer) if customer else None
    if customer and kid is None:
        raise Invalid("no customer of that reference is known", field="customer")
    return Filter(
        team=str(team or ""),
        agent=agent[:60],
        status=status,
        customer=str(kid or ""),
        opened_from=opened_from.isoformat() if opened_from else "",
        opened_to=opened_to.isoformat() if opened_to else "",
    )


def ask(user: User, wanted: Filter, *, unmask: bool = False, reason: str = "") -> Export:
    """Begin an export of the sessions that `user` may export among those wanted; recorded before anything is built.

    Raises PermissionDenied when they may export none at all, or with `unmask` not see them all in clear; Invalid when
    no session fits, there are more than MOST, or a reason for unmasking is missing; TooManyExports.
    """
    said = checked(reason) if unmask else ""
    rows = AgentSession.objects.filter(access.within(user, Permission.EXPORT))
    if not rows.exists():
        needed = Permission.EXPORT.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    chosen = _bounded(rows.filter(wanted.rows()))
    if unmask:
        _must_open(user, chosen)
    with transaction.atomic():
        User.objects.select_for_update(of=("self",)).get(pk=user.pk)  # two clicks at once are counted one by one
        if Export.objects.filter(user=user, state__in=UNDER_WAY).count() >= MOST_UNDER_WAY:
            raise TooManyExports()
        made = _made(user.tenant_id, user, wanted, chosen, masked=not unmask)
        _note(user, made.pk, chosen, said)
    return made


def ask_as_system(tenant: Tenant, wanted: Filter, reason: str = "") -> Export:
    """The same for whoever runs commands on this machine, recorded in the staff log. With a reason, unmasked."""
    chosen = _bounded(AgentSession.objects.filter(wanted.rows(), tenant=tenant))
    facts = {"sessions": len(chosen), "filter": msgspec.to_builtins(wanted)} | ({"unmasked": reason} if reason else {})
    with transaction.atomic():
        made = _made(tenant.pk, None, wanted, chosen, masked=not reason)
        staff.record(tenant.pk, now(), "export.made", "system", "", {"export": str(made.pk), **facts})
    return made


def cancel(user: Person, export: UUID) -> Export:
    """Stop an export of one's own, and delete what was built of it. Raises UnknownExport; again, nothing happens."""
    found = own(user, export)
    changed = Export.objects.filter(pk=found.pk, state__in=(*UNDER_WAY, Export.State.DONE))
    if changed.update(state=Export.State.CANCELLED, ended_at=Now(), lease_until=None):
        storage.discard(found.pk)
    return own(user, export)


def own(user: Person, export: UUID) -> Export:
    """An export that `user` asked for. Raises UnknownExport."""
    found = Export.objects.filter(pk=export, user=user.pk).first() if isinstance(user, User) else None
    if found is None:
        raise UnknownExport()
    return found


def asked_for(user: Person, limit: int = 50) -> list[Export]:
    """The exports that `user` asked for, newest first. Raises PermissionDenied to those who may export nothing."""
    if not isinstance(user, User) or not may_ask(user):
        needed = Permission.EXPORT.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    return list(Export.objects.filter(user=user).order_by("-asked_at")[:limit])


def may_ask(user: Person) -> bool:
    """Whether there is a session that `user` may export."""
    return AgentSession.objects.filter(access.within(user, Permission.EXPORT)).exists()


def _must_cover(user: User, permission: Permission, chosen: Sequence[tuple[UUID, UUID]]) -> None:
    held = AgentSession.objects.filter(access.within(user, permission), pk__in=[session for session, _ in chosen])
    if held.count() != len(chosen):
        raise PermissionDenied(f"This needs the permission {permission.value}.", permission=permission.value)


def _must_open(user: User, chosen: Sequence[tuple[UUID, UUID]]) -> None:
    _must_cover(user, Permission.UNMASK, chosen)
    for team in {team for _, team in chosen}:
        visibility.must_see_guidance(user, team)


def _bounded(rows: QuerySet[AgentSession]) -> list[tuple[UUID, UUID]]:
    """(session, team) of these, oldest first."""
    found = list(rows.order_by("opened_at", "pk").values_list("pk", "team_id")[: MOST + 1])
    if not found:
        raise Invalid("no session fits", field="filter")
    if len(found) > MOST:
        raise Invalid(f"more than {MOST} sessions fit; narrow the time", field="filter")
    return found


def _made(
    tenant: UUID, user: User | None, wanted: Filter, chosen: Sequence[tuple[UUID, UUID]], *, masked: bool
) -> Export:
    made = Export.objects.create(
        id=new_id(),
        tenant_id=tenant,
        user=user,
        filter=msgspec.to_builtins(wanted),
        masked=masked,
        total=len(chosen),
        asked_at=now(),
    )
    sizes = dict(AgentSession.objects.filter(pk__in=[session for session, _ in chosen]).values_list("pk", "seq"))
    ExportPart.objects.bulk_create(
        (
            ExportPart(export=made.pk, position=at, session=session, team=team, entries=sizes[session])
            for at, (session, team) in enumerate(chosen)
        ),
        batch_size=2_000,
    )
    return made


def _note(user: User, export: UUID, chosen: Sequence[tuple[UUID, UUID]], reason: str) -> None:
    facts: dict[str, Any] = {"export": str(export)}
    for some in batches(chosen):
        seen = [access.Seen(session, team) for session, team in some]
        if reason:
            access.note(user, "export unmasked", seen, reason=reason, **facts)
        access.note(user, "export", seen, **facts)


def must_still(user: Person, export: Export, chosen: Sequence[tuple[UUID, UUID]]) -> None:
    """Raises PermissionDenied when `user` may not have all of these sessions any more."""
    assert isinstance(user, User)
    _must_cover(user, Permission.EXPORT, chosen)
    if not export.masked:
        _must_open(user, chosen)


def batches(chosen: Sequence[tuple[UUID, UUID]]) -> Iterator[Sequence[tuple[UUID, UUID]]]:
    """So many as one entry of the access log names."""
    for start in range(0, len(chosen), BATCH):
        yield chosen[start : start + BATCH]
