"""Alerts: a rule of the team found that something in the session wants a person's eye; who has it; that it is over.

They are told beside the conversation and change nothing in it: the agent neither sees them nor waits, and a session is
as idle after them as before. What they hold names entries, requests and calls, never words of the customer.
"""

from __future__ import annotations

from agentstate.engine.alerts import Names, Onward, Severity
from agentstate.engine.events.base import Event


class AlertRaised(Event, frozen=True, tag="alert.raised"):
    """A rule has hit. `rule` is the id of the rule, `name` and `version` what it was then. `about` names what in the
    session it is about (a request's or call's id, a tool, or empty: the session as a whole), `seq` the entry that made
    it hit (-1: time alone did). `why` is one word of ours. `to` is whom it is for: "owner" (who has the session),
    "role:...", "team:...", "user:..."; `chain` who else, after so many seconds without an acknowledgement.
    """

    alert: str
    rule: str
    name: str
    version: int
    severity: Severity
    why: str
    to: Names
    about: str = ""
    seq: int = -1
    chain: tuple[Onward, ...] = ()
    v: int = 1


class AlertAcknowledged(Event, frozen=True, tag="alert.acknowledged"):
    """Somebody has it from here on; it goes no further along its chain. `from_whom` had it before (empty: nobody)."""

    alert: str
    by: str
    from_whom: str = ""
    v: int = 1


class AlertEscalated(Event, frozen=True, tag="alert.escalated"):
    """Nobody acknowledged it in time: it is `to` these too, step `step` of its chain."""

    alert: str
    step: int
    to: Names
    by: str
    v: int = 1


class AlertClosed(Event, frozen=True, tag="alert.closed"):
    """It is over: a person says so (`cause` "person", with their `reason`), or its cause is gone and `cause` is one
    word that says how: "spoke_again", "taken_over", "decided", "settled", "ended", "rule_off" and the like.
    """

    alert: str
    by: str
    cause: str
    reason: str = ""
    v: int = 1
