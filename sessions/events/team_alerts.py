"""Alerts of a team that are about no session: an endpoint that nobody reaches, say.

One open alert for each name and what it is about, however often it is raised: what comes again is counted on its row.
Each alert, and what people do with it, is an entry of the staff log, written in one transaction with its row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate.engine.alerts import SEVERITIES, Names, Onward, Severity
from agentstate.engine.decide.alerts import LONGEST_REASON, PERSON, AlertOver, TooManyAlerts, UnknownAlert
from agentstate.engine.decide.refusals import HasChanged
from agentstate.errors import Invalid
from agentstate.ids import new_id
from audit import ledger, staff
from audit.server_clock import now as database_now
from sessions.core import announcements
from sessions.events import notices
from sessions.models.alerts import Alert

MAX_OPEN = 200  # alerts of one team that are about no session
NAME = re.compile(r"[a-z][a-z0-9_.-]{0,59}")
LONGEST_KEY = 200  # characters
EVERYBODY: Names = ("role:supervisor", "role:admin")
_json = msgspec.json.Encoder()


class TeamAlert(msgspec.Struct, frozen=True):
    """Something about a team that wants a person's eye. `name` says what in a word or two of code ("undeliverable"),
    `key` about which of many (an endpoint's id): never a person's name or words. `to` and `chain` as in `alert.raised`.
    """

    name: str
    key: str
    severity: Severity = "warning"
    why: str = ""
    to: Names = EVERYBODY
    chain: Sequence[Onward] = ()


def raise_for_team(tenant: UUID, team: UUID, alert: TeamAlert) -> UUID:
    """The open alert of this name and key: raised now, or found again and counted. In the caller's transaction if there
    is one. Raises Invalid, TooManyAlerts.
    """
    _must_be_sound(alert)
    with transaction.atomic():
        row, fresh = _row(tenant, team, alert)
        if fresh:
            staff.record(tenant, database_now(), "alert.raised", ledger.SYSTEM, "", _facts(team, row, alert))
            notices.noted(team, "alert.raised", f"alert:{row}", "alert", row)
    if fresh:
        transaction.on_commit(
            lambda: announcements.publish(row, team, 0)
        )  # pages that show the team's alerts look again
    return row


def _must_be_sound(alert: TeamAlert) -> None:
    if not NAME.fullmatch(alert.name):
        raise Invalid("want a lower-case word", field="name")
    if not alert.key or len(alert.key) > LONGEST_KEY:
        raise Invalid(f"want 1 to {LONGEST_KEY} characters", field="key")
    if alert.severity not in SEVERITIES:
        raise Invalid(f"want one of {', '.join(SEVERITIES)}", field="severity")


def _row(tenant: UUID, team: UUID, alert: TeamAlert) -> tuple[UUID, bool]:
    ((pk, fresh),) = ledger.run(
        "INSERT INTO agent_sessions_alert (id, tenant_id, team_id, rule, name, version, severity, why, about, seq,"
        ' state, "to", step, chain, raised_seq, raised_at, escalates_at, held_by, closed_by, cause)'
        " VALUES (%(id)s, %(tenant)s, %(team)s, '', %(name)s, 1, %(severity)s, %(why)s, %(key)s, -1, 'open',"
        " %(to)s::varchar[], 0, %(chain)s::jsonb, -1, now(), now() + make_interval(secs => %(after)s::float8),"
        " '', '', '') ON CONFLICT (team_id, name, about) WHERE session IS NULL AND NOT state = 'closed'"
        " DO UPDATE SET hits = agent_sessions_alert.hits + 1, hit_at = now() RETURNING id, xmax = 0",
        {
            "id": new_id(),
            "tenant": tenant,
            "team": team,
            "name": alert.name,
            "severity": alert.severity,
            "why": alert.why or alert.name,
            "key": alert.key,
            "to": list(alert.to),
            "chain": _json.encode(list(alert.chain)).decode(),
            "after": float(alert.chain[0].after) if alert.chain else None,
        },
    )
    if fresh and Alert.objects.filter(team_id=team, session=None).exclude(state="closed").count() > MAX_OPEN:
        raise TooManyAlerts(f"{MAX_OPEN} are open")
    return pk, bool(fresh)


def _facts(team: UUID, row: UUID, alert: TeamAlert) -> dict[str, object]:
    facts = {"alert": str(row), "name": alert.name, "about": alert.key, "severity": alert.severity}
    return {**facts, "why": alert.why or alert.name, "to": ", ".join(alert.to), "team": str(team)}


def acknowledge(alert: UUID, by: str, holder: str) -> None:
    """Somebody has it; `holder` had it when they looked. Raises UnknownAlert, AlertOver, HasChanged."""
    with transaction.atomic():
        row = _locked(alert)
        if row.held_by == by:
            return
        if row.held_by != holder:
            raise HasChanged(by=row.held_by)
        at = database_now()
        row.state, row.held_by, row.escalates_at = Alert.Standing.ACKNOWLEDGED, by, None
        row.acknowledged_at = row.acknowledged_at or at
        row.save()
        _record(row, "alert.acknowledged", by, from_whom=holder)


def close(alert: UUID, by: str, cause: str, reason: str = "") -> None:
    """It is over. Raises UnknownAlert, AlertOver, Invalid."""
    if cause == PERSON and not reason.strip():
        raise Invalid("say why it is over", field="reason")
    if len(reason) > LONGEST_REASON:
        raise Invalid(f"got {len(reason)} characters, at most {LONGEST_REASON}", field="reason")
    with transaction.atomic():
        row = _locked(alert)
        row.state, row.closed_at, row.closed_by, row.cause = Alert.Standing.CLOSED, database_now(), by, cause
        row.escalates_at = None
        row.save()
        _record(row, "alert.closed", by, cause=cause, reason=reason.strip())


def close_of_team(team: UUID, name: str, key: str, cause: str) -> bool:
    """The open alert of this name and key is over: what it was about works again. Whether there was one."""
    row = Alert.objects.filter(team_id=team, name=name, about=key, session=None).exclude(state="closed").first()
    if row is None:
        return False
    try:
        close(row.pk, ledger.SYSTEM, cause)
    except AlertOver:  # somebody was faster
        return False
    return True


def escalate(alert: UUID) -> bool:
    """It goes to the next of its chain, if its time has come by the database's clock. Whether it went."""
    with transaction.atomic():
        row = Alert.objects.select_for_update().filter(pk=alert, session=None, state="open").first()
        at = database_now()
        if row is None or row.escalates_at is None or row.escalates_at > at:
            return False
        chain = msgspec.convert(row.chain, tuple[Onward, ...])
        onward, left = chain[row.step], chain[row.step + 1 :]
        row.to = list(dict.fromkeys((*row.to, *onward.to)))
        row.step += 1
        row.escalates_at = row.raised_at + timedelta(seconds=left[0].after) if left else None
        row.save()
        _record(row, "alert.escalated", ledger.SYSTEM, step=row.step, to=", ".join(onward.to))
        notices.noted(row.team_id, "alert.escalated", f"alert:{row.pk}:{row.step}", "alert", row.pk)
    return True


def _locked(alert: UUID) -> Alert:
    row = Alert.objects.select_for_update().filter(pk=alert, session=None).first()
    if row is None:
        raise UnknownAlert()
    if row.state == Alert.Standing.CLOSED:
        raise AlertOver()
    return row


def _record(row: Alert, kind: str, by: str, **facts: object) -> None:
    known = {"alert": str(row.pk), "name": row.name, "about": row.about, "team": str(row.team_id), **facts}
    staff.record(row.tenant_id, database_now(), kind, by, "", known)
    transaction.on_commit(lambda: announcements.publish(row.pk, row.team_id, 0))
