"""What people may do with the tools of MCP servers: look at what they offer, and accept or refuse a version."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from agentstate.clock import now
from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied, holds_any
from agentstate.people.roles import Permission
from audit import staff
from sessions.core.person import Person
from sessions.models.tools import OfferedTool
from sessions.tools.mcp import offers, servers, source


def look(user: Person, server: str) -> str:
    """Ask a server what it offers now. Gives what is wrong, or an empty text. Raises UnknownServer and
    PermissionDenied.
    """
    _must_configure(user)
    return offers.look(servers.named(server))


@transaction.atomic
def answer(user: Person, offer_id: UUID, *, accept: bool, digest: str) -> OfferedTool:
    """Accept or refuse a version of a tool as `user` saw it: `digest` is that of what was shown. On record in the staff
    log. Raises UnknownOffer, NotOffered, PermissionDenied.
    """
    by = _must_configure(user)
    row = OfferedTool.objects.select_for_update().filter(pk=offer_id).first()
    if row is None or row.server not in servers.every():
        raise offers.UnknownOffer(str(offer_id))
    if row.digest != digest:
        raise offers.NotOffered("what was shown is not what is kept", field="digest")
    if accept and not row.current:
        raise offers.NotOffered(f"{row.server} {row.tool}")
    if accept and (why := source.unusable(offers.read(row))):
        raise offers.NotOffered(why)
    row.answer = offers.Answer.ACCEPTED if accept else offers.Answer.REFUSED
    row.answered_by, row.answered_at = by.actor, now()
    row.save(update_fields=["answer", "answered_by", "answered_at"])
    facts = {"server": row.server, "tool": row.tool, "version": row.version, "digest": row.digest}
    staff.record(by.tenant_id, now(), f"tool.{row.answer}", by.actor, "", facts)
    transaction.on_commit(offers.forget)
    return row


def _must_configure(user: Person) -> User:
    if not isinstance(user, User) or not holds_any(user, Permission.CONFIGURE):
        needed = Permission.CONFIGURE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    return user
