"""Proving that profiles' rows are the fold of their logs, and making them so again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import QuerySet

from agentstate.engine import profile as core
from agentstate.engine.instants import stamp
from agentstate.engine.profile.events import ProfileOpened
from audit import keys, ledger
from sessions.models.sessions import CustomerProfile
from sessions.profiles import logs
from sessions.profiles.logs import Subject

Found = tuple[str, str, str]  # what, got, want
_OPENED = ProfileOpened.__struct_config__.tag


def subjects() -> list[Subject]:
    """Every data subject of whose profile the ledger has a log."""
    opened = ledger.run(
        "SELECT e.envelope, h.tenant FROM audit_entry e JOIN audit_head h USING (log) WHERE e.seq = 0"
        " AND position(convert_to(%(opened)s, 'UTF8') IN e.envelope) > 0",
        {"opened": f'"kind":"{_OPENED}"'},
    )
    known = {Subject(UUID(ledger.parse_envelope(bytes(data)).kid), tenant) for data, tenant in opened}
    return sorted(known, key=lambda subject: subject.kid)


def strays() -> QuerySet[CustomerProfile]:
    """Rows that no log stands behind."""
    return CustomerProfile.objects.exclude(pk__in=[subject.log for subject in subjects()])


def ahead() -> list[UUID]:
    """Sessions that are said to have taught more entries than they have: what they say next would not be heard."""
    rows = ledger.run(
        "SELECT t.session FROM agent_sessions_taught t LEFT JOIN audit_head h ON h.log = t.session"
        " WHERE t.seq > coalesce(h.size, 0)",
        {},
    )
    return [row[0] for row in rows]


def check(subject: Subject) -> list[Found]:
    """Every way in which a profile's row differs from the fold of its log; none for who was erased."""
    with transaction.atomic():
        return list(_differences(subject))


def _differences(subject: Subject) -> Iterator[Found]:
    row = CustomerProfile.objects.filter(pk=subject.log).first()
    try:
        state = logs.folded(subject, ledger.read_head(subject.log, lock=True).size)
    except keys.Erased:
        return
    except Exception as error:
        yield "profile entries", f"{type(error).__name__}: {error}", "a foldable log"
        return
    for key in ledger.false_receipts(subject.log):
        yield f"profile receipt {key.hex()}", "another command", "the one its entries name"
    if row is None:
        yield "profile", "no row", "a row"
        return
    yield from _columns(row, subject, state)
    if _sealed(subject, row) != core.to_snapshot(state):
        yield "profile state", "another state", "the fold's"


def _columns(row: CustomerProfile, subject: Subject, state: core.ProfileState) -> Iterator[Found]:
    pairs: dict[str, tuple[Any, Any]] = {
        "kid": (row.kid, subject.kid),
        "tenant": (row.tenant_id, subject.tenant),
        "seq": (row.seq, state.seq),
        "opened_at": (stamp(row.opened_at), state.opened_at),
        "last_at": (stamp(row.last_at), state.last_at),
    }
    for name, (got, want) in pairs.items():
        if got != want:
            yield f"profile.{name}", repr(got), repr(want)


def _sealed(subject: Subject, row: CustomerProfile) -> bytes:
    try:
        return core.to_snapshot(logs.unsealed(subject, row.seq, bytes(row.sealed)))
    except (keys.Unreadable, msgspec.MsgspecError):
        return b""


def rebuild(subject: Subject) -> None:
    """Write the row of one profile anew from its entries; a profile that was erased, or has none, is left alone."""
    with transaction.atomic():
        try:
            state = logs.folded(subject, ledger.read_head(subject.log, lock=True).size)
        except (keys.Erased, ledger.UnknownLog):
            return
        columns = logs.row(subject, state)
        columns["tenant_id"] = columns.pop("tenant")
        CustomerProfile.objects.update_or_create(log=subject.log, defaults=columns)
