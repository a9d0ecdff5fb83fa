"""Events of timers, triggers and alerts.

Alerts are recorded beside the conversation and change nothing in it: the agent does not see them, and a session is as
idle after them as before. They name entries, requests and calls, never the customer's words.
"""

from __future__ import annotations

from typing import Literal

from agentstate.engine.alerts import Names, Onward, Severity
from agentstate.engine.events.base import Event
from agentstate.engine.timers import TimerKind


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


TimerOutcome = Literal["told", "expired", "passed"]


class TimerSet(Event, frozen=True, tag="timer.set"):
    """At `due` the agent is reminded of `text` (remind), or only if the customer has said nothing until then
    (follow_up), or the session expires if it idles then (expire).
    """

    timer: str
    what: TimerKind
    due: str
    by: str
    text: str = ""
    v: int = 1


class TimerCancelled(Event, frozen=True, tag="timer.cancelled"):
    """Somebody does not want it any more. A rollback cancels all timers without saying it of each."""

    timer: str
    by: str
    v: int = 1


class TimerFired(Event, frozen=True, tag="timer.fired"):
    """Its instant has come. `told`: the agent is told next; `expired`: the session expires next; `passed`: what it was
    set for did not apply any more.
    """

    timer: str
    outcome: TimerOutcome
    v: int = 1


TriggerSource = Literal["entry", "row", "schedule", "hook"]


class TriggerFired(Event, frozen=True, tag="trigger.fired"):
    """Trigger `trigger`, in this `version`, acts here. What it acts with follows in the same commit; with `run` a
    run of the agent begins, unless one is under way. `chain` are the triggers that led here, this one last.
    """

    trigger: str
    name: str
    version: int
    firing: str
    source: TriggerSource
    chain: tuple[str, ...]
    run: bool = False
    v: int = 1
