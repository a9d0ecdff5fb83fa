"""Acting on what was taken in: claim a firing, judge it, act under its own key, write down how it ended.

A crash between acting and writing down repeats the act under the same key, which is then no second act: commands of a
session are known by their key, and a session that a firing opens has the firing's own id.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import Open, Signal, Triggered
from agentstate.engine.events.automation import TriggerSource
from agentstate.engine.state.session import SessionState
from agentstate.errors import AgentStateError, Broken, NotFound, Refused
from audit import keys, ledger
from sessions.agents import registry
from sessions.automation.triggers import conditions, intake, repository
from sessions.automation.triggers.conditions import Act, Passed
from sessions.automation.triggers.definition import Definition
from sessions.core import crash_points, states
from sessions.core.commit import open_session, person_command
from sessions.core.committed import Author
from sessions.core.due_work import Claim, Queue
from sessions.core.projections import Place, alias_token
from sessions.events.entries import values_of
from sessions.models.sessions import AgentSession
from sessions.models.triggers import Trigger, TriggerFiring

log = logging.getLogger(__name__)
QUEUE = Queue("agent_sessions_triggerfiring", "due_at, at, id", lease=30.0, attempts=5, pending="state = 'due'")
KEPT = 500  # ended firings of one trigger that are kept, and all of the last day that acted
KEPT_IDLE = 900  # seconds that those above KEPT are kept which did not act
TOO_LATE = timedelta(days=7)  # what could not be judged for so long is given up
MOST = 200  # firings in one go
LOOK_BACK = 200  # entries among which the cause of one is looked for


class NoSession(NotFound):
    """No open session of the trigger's team is meant."""

    code = "no_session"


class Ended(msgspec.Struct, frozen=True):
    """How a firing ended: one of TriggerFiring.State, why in a word, and the session in which it acted."""

    state: str
    why: str = ""
    session: UUID | None = None


class Later(msgspec.Struct, frozen=True):
    """That a firing waits for so many seconds. It has acted as often as it may."""

    pause: float


def fire_due(most: int = MOST) -> int:
    """Judges what is due, oldest first, up to `most`; returns how many."""
    return QUEUE.run(_one, _give_up, most)


def _one(claim: Claim) -> None:
    firing = TriggerFiring.objects.get(pk=claim.key)
    try:
        ended = _judged(firing)
    except Refused as refusal:
        ended = Ended("refused", refusal.code)
    except keys.Erased:
        ended = Ended("refused", "erased")
    crash_points.point("before_fired", str(firing.pk))
    if isinstance(ended, Later):
        QUEUE.postpone(claim, ended.pause, counts=False)
    else:
        _end(claim, ended)


def _give_up(claim: Claim, error: Exception) -> None:
    _end(claim, Ended("failed", error.code if isinstance(error, AgentStateError) else "error"))


def _judged(firing: TriggerFiring) -> Ended | Later:
    """Acts, unless it may not; returns how it ended, or that it waits longer."""
    trigger = Trigger.objects.filter(pk=firing.trigger).first()
    if trigger is None or not trigger.on:
        return Ended("refused", "switched_off")
    if repository.database_now() - firing.at > TOO_LATE:
        return Ended("refused", "too_late")
    definition = repository.version_of(trigger.pk, firing.version)
    state = _state(firing)
    cause = _cause(firing, state)
    found = conditions.judged(definition, _values(firing, state))
    if isinstance(found, Act):
        found = conditions.chained(definition, str(trigger.pk), cause) or found
    if isinstance(found, Passed):
        if found.off:
            repository.switch(trigger.pk, False, ledger.SYSTEM, found.why)
        return Ended("passed" if found.why == "condition_false" else "refused", found.why)
    held = _braked(firing, trigger, definition)
    if held is not None:
        return held
    if (pause := _over_rate(firing, trigger, definition)) is not None:
        if definition.rate.over == "drop":
            return Ended("refused", "rate_limited")
        return Later(pause)
    session = _act(firing, trigger, found, (*cause, str(trigger.pk)))
    return Ended("fired", "", session)


def _state(firing: TriggerFiring) -> SessionState | None:
    return states.load(firing.about).state if firing.about is not None else None


def _cause(firing: TriggerFiring, state: SessionState | None) -> tuple[str, ...]:
    """The chain of triggers behind what happened: the one in force at that entry, not the one in force now."""
    if firing.about is None or firing.about_seq is None or state is None:
        return ()
    rows = ledger.read_rows(firing.about, max(0, firing.about_seq + 1 - LOOK_BACK), firing.about_seq + 1)
    for row in reversed(list(rows)):
        if ledger.parse_envelope(row.envelope).kind not in ("trigger.fired", "message.added"):
            continue
        event = ev.decode(ledger.open_row(row)[1])
        if isinstance(event, ev.TriggerFired):
            return event.chain
        if isinstance(event, ev.MessageAdded) and event.role in ("customer", "staff"):
            return ()
    return state.cause if firing.about_seq >= LOOK_BACK else ()


def _values(firing: TriggerFiring, state: SessionState | None) -> dict[str, Any]:
    """What expressions read."""
    if firing.about is None or state is None or state.opened is None:
        return {"event": intake.opened(firing)}
    assert firing.about_seq is not None
    return values_of(firing.about, firing.about_seq, state)


def _braked(firing: TriggerFiring, trigger: Trigger, definition: Definition) -> Ended | None:
    """A trigger that has acted too often within a day is switched off: chains through other systems carry no name."""
    if _fired(trigger.pk, firing.pk, 24 * 3600) < definition.per_day:
        return None
    repository.switch(trigger.pk, False, ledger.SYSTEM, "too_often")
    return Ended("refused", "too_often")


def _over_rate(firing: TriggerFiring, trigger: Trigger, definition: Definition) -> float | None:
    """Seconds to wait when it has acted as often as it may; None when it may act."""
    rate = definition.rate
    if _fired(trigger.pk, firing.pk, rate.seconds) < rate.count:
        return None
    return max(1.0, rate.seconds / rate.count)


def _fired(trigger: UUID, apart_from: UUID, seconds: float) -> int:
    """How often it has acted lately, with those that others are just acting on."""
    rows = ledger.run(
        "SELECT count(*) FROM agent_sessions_triggerfiring WHERE trigger = %(trigger)s AND id <> %(id)s AND ("
        " (state = 'fired' AND ended_at > now() - make_interval(secs => %(seconds)s))"
        " OR (state = 'due' AND lease_until > now()))",
        {"trigger": trigger, "id": apart_from, "seconds": seconds},
    )
    return int(rows[0][0])


def _act(firing: TriggerFiring, trigger: Trigger, act: Act, chain: tuple[str, ...]) -> UUID:
    """Carry it out; the session in which it acted. Raises NoSession, UnknownAgent and what the session refuses."""
    author = Author(f"trigger:{trigger.pk}", str(firing.pk))
    if act.agent:
        return _opened(firing, trigger, act, chain, author)
    session = _meant(firing, trigger, act)
    command = _command(firing, trigger, act, chain)
    person_command(session, command, author)
    return session


def _command(firing: TriggerFiring, trigger: Trigger, act: Act, chain: tuple[str, ...]) -> Triggered:
    then: Open | Signal | None = None
    if act.agent:
        then = Open(act.customer, str(trigger.team_id), act.agent, act.channel, act.topic)
    elif act.signal:
        then = Signal(act.signal, f"trigger:{trigger.pk}", act.data)
    source = _source(trigger)
    return Triggered(
        str(trigger.pk),
        trigger.name,
        firing.version,
        str(firing.pk),
        source,
        chain,
        note=act.say,
        run=act.run,
        goal=act.goal,
        then=then,
    )


def _source(trigger: Trigger) -> TriggerSource:
    source: TriggerSource = trigger.source  # type: ignore[assignment]
    return source


def _opened(firing: TriggerFiring, trigger: Trigger, act: Act, chain: tuple[str, ...], author: Author) -> UUID:
    """The session that a firing opens has the firing's own id: there is one, however often it is tried."""
    registry.find(act.agent)
    if AgentSession.objects.filter(pk=firing.pk).exists():
        return firing.pk
    command = _command(firing, trigger, act, chain)
    try:
        open_session(_place(firing.pk, trigger, act.customer), command, Author(author.actor))
    except keys.Erased:  # between the look for the key and the commit: the next look finds a new one
        open_session(_place(firing.pk, trigger, act.customer), command, Author(author.actor))
    return firing.pk


def _place(session: UUID, trigger: Trigger, customer: str) -> Place:
    return Place(session, trigger.tenant_id, trigger.team_id, keys.subject_kid(trigger.tenant_id, customer))


def _meant(firing: TriggerFiring, trigger: Trigger, act: Act) -> UUID:
    """The session that an act is for: of the trigger's team, open, no draft."""
    to = act.to
    found = AgentSession.objects.filter(team=trigger.team_id, ended_at__isnull=True, fork_of__isnull=True)
    if to.agent:
        found = found.filter(agent=to.agent)
    if to.session:
        found = found.filter(pk=_as_id(to.session))
    elif to.alias:
        found = found.filter(alias_token=alias_token(trigger.tenant_id, to.alias))
    elif to.customer:
        found = found.filter(kid=keys.subject_kid(trigger.tenant_id, to.customer))
    elif firing.about is not None:
        found = found.filter(pk=firing.about)
    else:
        raise Broken("a trigger that names no session")
    session = found.order_by("-opened_at").values_list("pk", flat=True).first()
    if session is None:
        raise NoSession()
    return session


def _as_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NoSession() from None


def _end(claim: Claim, ended: Ended) -> None:
    QUEUE.finish(
        claim,
        "state = %(state)s, why = %(why)s, session = %(session)s, ended_at = clock_timestamp(), sealed = ''",
        state=ended.state,
        why=ended.why[:60],
        session=ended.session,
    )


def forget_old() -> int:
    """Keep the history bounded: the newest KEPT of each trigger, and a day of acts. Gives how many went."""
    rows = ledger.run(
        "DELETE FROM agent_sessions_triggerfiring f USING (SELECT id, row_number() OVER"
        "  (PARTITION BY trigger ORDER BY at DESC) AS number FROM agent_sessions_triggerfiring WHERE state <> 'due') n"
        " WHERE f.id = n.id AND n.number > %(kept)s AND (f.ended_at < now() - interval '1 day'"
        "  OR (f.state <> 'fired' AND f.ended_at < now() - make_interval(secs => %(idle)s))) RETURNING 1",
        {"kept": KEPT, "idle": KEPT_IDLE},
    )
    return len(rows)
