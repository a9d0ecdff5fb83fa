"""Legal holds: what must be kept, of a subject or of one log, blocks its erasure and its pruning until it is lifted.

Setting one and beginning an erasure take turns, so that one of them sees the other.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from agentstate.clock import now
from agentstate.engine.instants import stamp
from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from audit import keys, ledger, staff
from audit.models import LegalHold

REASON = "audit/hold"


class UnknownHold(NotFound):
    """There is no such legal hold, or you may not see it."""

    code = "unknown_hold"


class TooLate(Refused):
    """The erasure of this data subject has begun."""

    code = "erasure_begun"


class AlreadyLifted(Refused):
    """This legal hold was lifted already."""

    code = "hold_lifted"


def take_turns() -> None:
    """Until this transaction ends nobody else sets a hold, prunes or begins an erasure."""
    ledger.run("SELECT pg_advisory_xact_lock(hashtextextended('audit/holds', 9))", {})


def put(tenant: UUID, kid: UUID, log: UUID | None, reason: str, until: datetime | None, by: str) -> LegalHold:
    """A new hold on the subject `kid`, or on its `log` only. Raises TooLate, Invalid, keys.Erased."""
    if until is not None and until <= now():
        raise Invalid("it lies in the past", field="until")
    sealed = keys.seal(kid, REASON, reason.encode())
    with transaction.atomic():
        take_turns()
        if ledger.run("SELECT 1 FROM audit_subjectkey WHERE kid = %(kid)s AND closing_at IS NOT NULL", {"kid": kid}):
            raise TooLate()
        hold = LegalHold.objects.create(
            id=new_id(), tenant=tenant, kid=kid, log=log, reason=sealed, until=until, set_by=by, set_at=now()
        )
        _record(hold, "hold.set", by)
    return hold


def lift(hold_id: UUID, by: str) -> LegalHold:
    """End a hold. Raises UnknownHold, AlreadyLifted."""
    with transaction.atomic():
        take_turns()
        hold = LegalHold.objects.filter(pk=hold_id).first()
        if hold is None:
            raise UnknownHold()
        if hold.lifted_at is not None:
            raise AlreadyLifted()
        hold.lifted_by, hold.lifted_at = by, now()
        hold.save(update_fields=["lifted_by", "lifted_at"])
        _record(hold, "hold.lifted", by)
    return hold


def in_force() -> QuerySet[LegalHold]:
    """The holds that neither were lifted nor ran out."""
    return LegalHold.objects.filter(Q(until__isnull=True) | Q(until__gt=now()), lifted_at__isnull=True)


def blocking(kid: UUID, logs: Iterable[UUID]) -> list[LegalHold]:
    """The holds that keep this subject from being erased: on it, or on a log that says something of it."""
    return list(in_force().filter(Q(kid=kid, log__isnull=True) | Q(log__in=list(logs))).order_by("set_at"))


def reason_of(hold: LegalHold, closed: Container[UUID]) -> str:
    """Returns the reason; empty once the subject's key is among the `closed` ones or destroyed, as an erasure's is."""
    if hold.kid in closed or not hold.reason:
        return ""
    try:
        return keys.unseal(hold.kid, REASON, bytes(hold.reason)).decode()
    except keys.Erased:
        return ""


def _record(hold: LegalHold, kind: str, by: str) -> None:
    facts = {"hold": str(hold.pk), "subject_key": str(hold.kid)}
    if hold.log is not None:
        facts["log"] = str(hold.log)
    if hold.until is not None:
        facts["until"] = stamp(hold.until)
    staff.record(hold.tenant, now(), kind, by, "", facts)
