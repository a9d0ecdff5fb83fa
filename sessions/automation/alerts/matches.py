"""What in a session makes a rule hit, whether what an alert was raised for is over, and when to look again. Pure.

A hit has an *anchor*: the entry, or the instant, that this episode began with. The alert's id follows from it, so that
the same episode is alerted of once, however often and from wherever it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item
from agentstate.engine.decide.interventions import is_blocked
from agentstate.engine.instants import parse
from agentstate.engine.lifecycle import CallStatus, RequestStatus, SessionStatus
from agentstate.engine.state.participants import QUEUE
from agentstate.engine.state.session import Call, Request, SessionState, pending
from sessions.automation.alerts import definition as rules
from sessions.automation.alerts import phrases
from sessions.automation.alerts.definition import Definition
from sessions.automation.alerts.view import Level, Told, View
from sessions.automation.rules.matching import matched


class Hit(msgspec.Struct, frozen=True):
    """A rule has hit: about what, since which entry or instant, by which entry (-1: time alone), and why in a word."""

    about: str
    anchor: str
    why: str
    seq: int = -1
    told: Told | None = None


def found(rule: Definition, view: View) -> list[Hit]:
    """Every hit of the rule in the view, its condition included."""
    if not concerns(rule, view.state):
        return []
    return [hit for hit in _FOUND[rule.on.kind](rule.on.part, view) if _condition(rule, view, hit)]


def over(rule: Definition, about: str, seq: int, view: View) -> str:
    """What has ended the cause of an alert about this, raised for entry `seq`; empty: it lasts, or only people say
    so.
    """
    if not rule.closes:
        return ""
    if view.state.ended:
        return "ended"
    ends = _OVER.get(rule.on.kind)
    return ends(rule.on.part, about, view) if ends is not None else ""


def next_due(rule: Definition, view: View) -> datetime | None:
    """When the rule may hit although nothing happens until then; None: it cannot."""
    if view.state.ended or not concerns(rule, view.state):
        return None
    waits = _DUE.get(rule.on.kind)
    times = [at for at in waits(rule.on.part, view) if at > view.now] if waits is not None else []
    return min(times, default=None)


def concerns(rule: Definition, state: SessionState) -> bool:
    """Whether the session is one of those that the rule is about."""
    opened = state.opened
    if opened is None or state.versions.is_draft or state.sealed:
        return False
    return (not rule.agents or opened.agent in rule.agents) and (not rule.channels or opened.channel in rule.channels)


def kinds_of(rule: Definition) -> frozenset[str]:
    """The kinds of entries that the rule has to have read."""
    match rule.on.part:
        case rules.Phrase():
            return frozenset(("message.added", "message.queued"))
        case rules.Loop():
            return frozenset(("circle.noticed", "run.stopped"))
        case rules.Refused():
            return frozenset(("call.refused", "decision.made"))
        case rules.Tool():
            return frozenset(("tool.failed",))
        case rules.Expired():
            return frozenset(("request.ended",))
        case rules.Entry(kinds=kinds):
            return frozenset(kinds)
        case _:
            return frozenset()


def _condition(rule: Definition, view: View, hit: Hit) -> bool:
    if rule.when == "true":
        return True
    event: dict[str, Any] = {}
    if hit.told is not None:
        told = hit.told
        data = msgspec.json.decode(ev.encode(told.event))
        event = {"kind": told.kind, "seq": told.seq, "at": told.at, "actor": told.actor, "data": data}
    values = {"event": event, "state": view.state.pad, "session": view.facts}
    return matched(rule.when, values, lambda _: True) is True


def _by(told: Told, about: str, why: str) -> Hit:
    return Hit(about, str(told.seq), why, told.seq, told)


# --- what entries say ---------------------------------------------------------------------------------------------


def _phrase(part: rules.Phrase, view: View) -> Iterator[Hit]:
    for told in view.fresh:
        match told.event:
            case ev.MessageAdded(role=role, text=text, queued=-1) if role in part.by:
                pass
            case ev.MessageQueued(text=text) if "customer" in part.by:
                pass
            case _:
                continue
        if phrases.heard(text, part.words, part.match):
            yield _by(told, "", "phrase")


def _loop(part: rules.Loop, view: View) -> Iterator[Hit]:
    for told in view.fresh:
        match told.event:
            case ev.CircleNoticed(run=run) if part.circles:
                yield _by(told, run, "loop")
            case ev.RunStopped(run=run, code=code) if part.stops:
                yield _by(told, code if code == "refusals" else run, "loop")


def _refused(part: rules.Refused, view: View) -> Iterator[Hit]:
    def is_refusal(told: Told) -> bool:
        match told.event:
            case ev.CallRefused(code=code):
                return not part.codes or code in part.codes
            case ev.DecisionMade(decision="reject"):
                return not part.codes
            case _:
                return False

    yield from _often(view, part.count, part.seconds, is_refusal, lambda told: "", "refused_often")


def _tool(part: rules.Tool, view: View) -> Iterator[Hit]:
    def is_failure(told: Told) -> bool:
        return isinstance(told.event, ev.ToolFailed) and (not part.tool or tool_of(told) == part.tool)

    def tool_of(told: Told) -> str:
        call = view.state.calls.get(told.event.call) if isinstance(told.event, ev.ToolFailed) else None
        return call.tool if call is not None else ""

    yield from _often(view, part.count, part.seconds, is_failure, tool_of, "tool_failed")


def _often(
    view: View,
    count: int,
    seconds: int,
    is_one: Callable[[Told], bool],
    about: Callable[[Told], str],
    why: str,
) -> Iterator[Hit]:
    """A fresh entry that is the `count`th of its like, or a later one, within so many seconds."""
    ones = [told for told in view.counted if is_one(told)]
    fresh = {told.seq for told in view.fresh}
    for told in ones:
        since = told.instant - timedelta(seconds=seconds)
        like = [each for each in ones if since <= each.instant and each.seq <= told.seq and about(each) == about(told)]
        if told.seq in fresh and len(like) >= count:
            yield _by(told, about(told), why)


def _expired(part: rules.Expired, view: View) -> Iterator[Hit]:
    for told in view.fresh:
        if isinstance(told.event, ev.RequestEnded) and told.event.outcome == "expired":
            request = view.state.requests.get(told.event.request)
            if not part.tiers or (request is not None and request.asked.tier in part.tiers):
                yield _by(told, told.event.request, "expired")


def _entry(part: rules.Entry, view: View) -> Iterator[Hit]:
    for told in view.fresh:
        if told.kind in part.kinds:
            yield _by(told, "", "condition")


# --- what the state says ------------------------------------------------------------------------------------------


def _turn(state: SessionState) -> tuple[str, Item] | None:
    """Whose turn it is to speak, and what was said last; None: nobody's."""
    if state.ended or state.expired_at or state.paused_at:
        return None
    said = next((item for item in reversed(state.items) if item.role in ("customer", "agent", "staff")), None)
    if said is None or not said.at or said.seq < 0:
        return None
    ours = said.role == "customer" or state.owes or bool(state.asking) or bool(state.run)
    return ("ours" if ours else "customer"), said


def _silence(part: rules.Silence, view: View) -> Iterator[Hit]:
    turn = _turn(view.state)
    if turn is not None and turn[0] == part.whose:
        said = turn[1]
        if parse(said.at) + timedelta(seconds=part.seconds) <= view.now:
            yield Hit("", str(said.seq), "silence")


def _silence_due(part: rules.Silence, view: View) -> Iterator[datetime]:
    turn = _turn(view.state)
    if turn is not None and turn[0] == part.whose:
        yield parse(turn[1].at) + timedelta(seconds=part.seconds)


def _silence_over(part: rules.Silence, about: str, view: View) -> str:
    return "" if any(_silence(part, view)) else "spoke_again"


class _Standstill(msgspec.Struct, frozen=True):
    about: str
    anchor: str
    since: datetime


def _standstills(part: rules.Stuck, view: View) -> Iterator[_Standstill]:
    """What waits for somebody to step in, as the page of what is stuck says."""
    state = view.state
    last = parse(state.last_at) if state.last_at else view.now
    for call in state.calls.values():
        reason = {"unknown": "doubted", "failed": "failed"}.get(call.stuck)
        if reason in part.reasons and is_blocked(state, call):
            yield _Standstill(call.id, f"{call.id}/{call.attempt}", last)
    if state.failure and not state.ended and "session" in part.reasons:
        yield _Standstill("session", f"failure/{state.failure[:80]}/{state.runs}", last)
    waits = view.stalled.startswith("limit ")
    if view.stalled and not waits and view.stalled_at is not None and "stalled" in part.reasons:
        yield _Standstill("stalled", f"stalled/{view.stalled_at.isoformat()}", view.stalled_at)


def _stuck(part: rules.Stuck, view: View) -> Iterator[Hit]:
    for each in _standstills(part, view):
        if each.since + timedelta(seconds=part.seconds) <= view.now:
            yield Hit(each.about, each.anchor, "stuck")


def _stuck_due(part: rules.Stuck, view: View) -> Iterator[datetime]:
    for each in _standstills(part, view):
        yield each.since + timedelta(seconds=part.seconds)


def _stuck_over(part: rules.Stuck, about: str, view: View) -> str:
    return "" if any(each.about == about for each in _standstills(part, view)) else "went_on"


def _wanted(state: SessionState) -> datetime | None:
    wanted = state.desk.wanted_at
    return parse(wanted) if wanted and state.taken_by in ("", QUEUE) and not state.ended else None


def _person(part: rules.Person, view: View) -> Iterator[Hit]:
    since = _wanted(view.state)
    if since is not None and since + timedelta(seconds=part.seconds) <= view.now:
        yield Hit("", view.state.desk.wanted_at, "wants_person")


def _person_due(part: rules.Person, view: View) -> Iterator[datetime]:
    since = _wanted(view.state)
    if since is not None:
        yield since + timedelta(seconds=part.seconds)


def _person_over(part: rules.Person, about: str, view: View) -> str:
    if view.state.taken_by not in ("", QUEUE):
        return "taken_over"
    return "" if view.state.desk.wanted_at else "withdrawn"


def near_at(part: rules.Deadline, request: Request) -> datetime:
    """From when on a request is near its deadline."""
    asked, expires = parse(request.at), parse(request.expires_at)
    times = [expires - timedelta(seconds=part.seconds)] if part.seconds else []
    if part.percent:
        times.append(expires - (expires - asked) * part.percent / 100)
    return max(asked, min(times))


def _watched(part: rules.Deadline, view: View) -> Iterable[Request]:
    for request in pending(view.state):
        if not request.held_until and (not part.tiers or request.asked.tier in part.tiers):
            yield request


def _deadline(part: rules.Deadline, view: View) -> Iterator[Hit]:
    for request in _watched(part, view):
        if near_at(part, request) <= view.now < parse(request.expires_at):
            yield Hit(request.asked.request, str(request.seq), "deadline_near")


def _deadline_due(part: rules.Deadline, view: View) -> Iterator[datetime]:
    for request in _watched(part, view):
        yield near_at(part, request)


def _decided(part: Any, about: str, view: View) -> str:
    request = view.state.requests.get(about)
    if request is not None and request.status is RequestStatus.PENDING and not request.held_until:
        return ""
    return "ended" if request is not None and request.status is RequestStatus.EXPIRED else "decided"


def _lost_calls(part: rules.Unrecovered, view: View) -> Iterator[Call]:
    """Calls that failed for good, none of whose tool has worked since."""
    calls = list(view.state.calls.values())
    for number, call in enumerate(calls):
        if call.status is not CallStatus.FAILED or (part.tool and call.tool != part.tool):
            continue
        later = (each for each in calls[number + 1 :] if each.tool == call.tool)
        if not any(each.status is not CallStatus.WITHDRAWN for each in later):
            yield call


def _at_rest(state: SessionState) -> bool:
    return not state.ended and not state.run and not state.asking and state.status is SessionStatus.IDLE


def _unrecovered(part: rules.Unrecovered, view: View) -> Iterator[Hit]:
    if _at_rest(view.state) and parse(view.state.last_at) + timedelta(seconds=part.seconds) <= view.now:
        for call in _lost_calls(part, view):
            yield Hit(call.id, f"{call.id}/{call.attempt}", "not_recovered", call.intent)


def _unrecovered_due(part: rules.Unrecovered, view: View) -> Iterator[datetime]:
    if _at_rest(view.state) and any(_lost_calls(part, view)):
        yield parse(view.state.last_at) + timedelta(seconds=part.seconds)


def _unrecovered_over(part: rules.Unrecovered, about: str, view: View) -> str:
    return "" if any(call.id == about for call in _lost_calls(part, view)) else "went_on"


def _levels(part: rules.Level, view: View) -> Iterator[tuple[Level, datetime]]:
    for level in view.levels:
        at = level.risk_at if part.at == "risk" else level.missed_at
        if at is not None and (not part.target or level.target == part.target):
            yield level, at


def _level(part: rules.Level, view: View) -> Iterator[Hit]:
    for level, at in _levels(part, view):
        if at <= view.now:
            yield Hit(level.id, level.id, f"sla_{'at_risk' if part.at == 'risk' else 'missed'}")


def _level_due(part: rules.Level, view: View) -> Iterator[datetime]:
    for _, at in _levels(part, view):
        yield at


def _level_over(part: rules.Level, about: str, view: View) -> str:
    return "" if any(level.id == about for level in view.levels) else "settled"


def _taken(part: Any, about: str, view: View) -> str:
    """What was said and done is not undone; but once a person has the session, somebody looks."""
    return "taken_over" if view.state.taken_by not in ("", QUEUE) else ""


_FOUND: dict[str, Callable[[Any, View], Iterable[Hit]]] = {
    "phrase": _phrase,
    "silence": _silence,
    "loop": _loop,
    "stuck": _stuck,
    "refused": _refused,
    "person": _person,
    "deadline": _deadline,
    "expired": _expired,
    "tool": _tool,
    "unrecovered": _unrecovered,
    "entry": _entry,
    "level": _level,
}
_OVER: dict[str, Callable[[Any, str, View], str]] = {
    "phrase": _taken,
    "loop": _taken,
    "refused": _taken,
    "tool": _taken,
    "expired": _taken,
    "silence": _silence_over,
    "stuck": _stuck_over,
    "person": _person_over,
    "deadline": _decided,
    "unrecovered": _unrecovered_over,
    "level": _level_over,
}
_DUE: dict[str, Callable[[Any, View], Iterable[datetime]]] = {
    "silence": _silence_due,
    "stuck": _stuck_due,
    "person": _person_due,
    "deadline": _deadline_due,
    "unrecovered": _unrecovered_due,
    "level": _level_due,
}
