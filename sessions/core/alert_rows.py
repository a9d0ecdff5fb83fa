"""What a session's alerts amount to as rows: pure functions of the fold, and the fragments that write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.alerts import Alert
from agentstate.engine.state.session import SessionState
from audit.ledger import Fragment

_json = msgspec.json.Encoder()
OF_ALERTS = (ev.AlertRaised, ev.AlertAcknowledged, ev.AlertEscalated, ev.AlertClosed)


def alert_row(alert: Alert) -> dict[str, Any]:
    """The columns of an alert's row, without ids and how often it was found."""
    return {
        "rule": alert.rule,
        "name": alert.name,
        "version": alert.version,
        "severity": alert.severity,
        "why": alert.why,
        "about": alert.about,
        "seq": alert.seq,
        "state": alert.standing,
        "to": list(alert.for_whom),
        "step": alert.step,
        "chain": [{"after": each.after, "to": list(each.to)} for each in alert.chain],
        "raised_seq": alert.raised_seq,
        "raised_at": alert.raised_at,
        "escalates_at": alert.escalates_at or None,
        "held_by": alert.held_by,
        "acknowledged_at": alert.acknowledged_at or None,
        "closed_at": alert.closed_at or None,
        "closed_by": alert.closed_by,
        "cause": alert.cause,
    }


def changed_alerts(state: SessionState, events: Iterable[ev.AnyEvent]) -> list[Alert]:
    """The alerts that `events` touched, as they stand in `state`, the state after them. A seal closes all of them."""
    touched: dict[str, None] = {}
    for event in events:
        if isinstance(event, OF_ALERTS):
            touched[event.alert] = None
        elif isinstance(event, ev.SessionSealed):
            touched |= dict.fromkeys(state.alerts)
    return [state.alerts[alert] for alert in touched if alert in state.alerts]


_ALERT = """INSERT INTO agent_sessions_alert
  (id, tenant_id, team_id, session, rule, name, version, severity, why, about, seq, state, "to", step, chain,
   raised_seq, raised_at, escalates_at, held_by, acknowledged_at, closed_at, closed_by, cause)
  SELECT %(a{n}_id)s, %(a{n}_tenant)s, %(a{n}_team)s, head.log, %(a{n}_rule)s, %(a{n}_name)s, %(a{n}_version)s,
   %(a{n}_severity)s, %(a{n}_why)s, %(a{n}_about)s, %(a{n}_seq)s, %(a{n}_state)s, %(a{n}_to)s::varchar[],
   %(a{n}_step)s, %(a{n}_chain)s::jsonb, %(a{n}_raised_seq)s, %(a{n}_raised_at)s::timestamptz,
   %(a{n}_escalates_at)s::timestamptz, %(a{n}_held_by)s, %(a{n}_acknowledged_at)s::timestamptz,
   %(a{n}_closed_at)s::timestamptz, %(a{n}_closed_by)s, %(a{n}_cause)s
  FROM head ON CONFLICT (id) DO UPDATE SET
   state = EXCLUDED.state, "to" = EXCLUDED."to", step = EXCLUDED.step, escalates_at = EXCLUDED.escalates_at,
   held_by = EXCLUDED.held_by, acknowledged_at = EXCLUDED.acknowledged_at, closed_at = EXCLUDED.closed_at,
   closed_by = EXCLUDED.closed_by, cause = EXCLUDED.cause"""


def fragment(tenant: UUID, team: UUID, alert: Alert, number: int) -> Fragment:
    """The row of one alert, written with the entries of its commit."""
    row = {**alert_row(alert), "id": UUID(alert.id), "tenant": tenant, "team": team}
    row["chain"] = _json.encode(row["chain"]).decode()
    return Fragment(_ALERT.format(n=number), {f"a{number}_{name}": value for name, value in row.items()})
