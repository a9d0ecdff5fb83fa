"""Alerts in a session's log: raised, passed on and closed by the system. Each command has a key of its own, so that one
that is given again after a crash is no second one.
"""

from __future__ import annotations

from uuid import UUID

import msgspec

from agentstate.engine import decide as core
from agentstate.engine.alerts import Names, Onward, Severity
from agentstate.engine.decide import Outdated, SessionSealed
from agentstate.engine.decide.alerts import AlertOver, ForkHasNoAlerts, TooManyAlerts, UnknownAlert
from audit import keys, ledger
from sessions.core.commit import person_command
from sessions.core.committed import Author, NotDue
from sessions.core.guards import Guard

GONE = (SessionSealed, ForkHasNoAlerts, keys.Erased)  # nothing is told in such a session any more
_DUE = (
    "SELECT 1 FROM agent_sessions_alert WHERE id = %(g_alert)s AND escalates_at <= clock_timestamp() AND state = 'open'"
    " FOR UPDATE"
)


class Raising(msgspec.Struct, frozen=True):
    """What a rule says of every alert that it raises. `rule` is its id; the rest as in `alert.raised`."""

    rule: str
    name: str
    version: int
    severity: Severity
    to: Names
    chain: tuple[Onward, ...] = ()


def raise_alert(session: UUID, alert: UUID, rule: Raising, why: str, about: str = "", seq: int = -1) -> bool:
    """Raise `alert`, an id that follows from what it is about. Whether it is a new one: perhaps one of this rule about
    this is open, the session has as many as it may, or it is sealed, erased or a fork.
    """
    command = core.RaiseAlert(
        str(alert), rule.rule, rule.name, rule.version, rule.severity, why, rule.to, about, seq, rule.chain
    )
    try:
        committed = person_command(session, command, Author(ledger.SYSTEM, f"raise {alert}"))
    except (*GONE, TooManyAlerts):
        return False
    return bool(committed.events)


def close_alert(session: UUID, alert: UUID, cause: str) -> bool:
    """Its cause is over. Whether it was open."""
    command = core.CloseAlert(str(alert), ledger.SYSTEM, cause)
    try:
        committed = person_command(session, command, Author(ledger.SYSTEM, f"close {alert}"))
    except (*GONE, AlertOver, UnknownAlert):
        return False
    return bool(committed.events)


def escalate(session: UUID, alert: UUID, step: int) -> bool:
    """It goes on from `step` of its chain, unless somebody was faster or its time is still to come."""
    due = Guard(ledger.Fragment(_DUE, {"g_alert": alert}), NotDue())
    command = core.EscalateAlert(str(alert), step + 1)
    try:
        person_command(session, command, Author(ledger.SYSTEM), guard=due)
    except (*GONE, NotDue, Outdated, AlertOver, UnknownAlert):
        return False
    return True
