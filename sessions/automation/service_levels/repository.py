"""The rows of clocks: read, moved by what was committed, written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec
from django.db.models import Max, Q, QuerySet

from agentstate.engine.instants import parse
from audit import ledger
from sessions.automation.alerts.view import Level, Told
from sessions.automation.service_levels import clocks as levels
from sessions.automation.service_levels.clocks import Clock, Measure, Session
from sessions.core.states import Loaded
from sessions.models.alerts import LevelClock

KEPT_DAYS = 400  # after their end
MOST_FORGOTTEN = 50_000  # in one go
_MICROSECOND = timedelta(microseconds=1)


class Moved(msgspec.Struct, frozen=True):
    """The clocks of a session after a look: all that run or have just ended, and which of them the look has changed."""

    clocks: list[Clock] = []
    changed: list[Clock] = []


def moved(loaded: Loaded, seen: int, told: Sequence[Told], measures: Sequence[Measure]) -> Moved:
    """The session's clocks after these entries: those that ran before, and new ones. A clock of a target that has
    changed since goes on as it began, one whose target is off stands as it is.
    """
    opened = loaded.state.opened
    if not measures or opened is None:
        return Moved()
    known = {measure.id: measure for measure in measures}
    rows = LevelClock.objects.filter(session=loaded.place.id, target__in=known)
    held = [_clock(row, known[row.target]) for row in rows.filter(Q(ended_at=None) | Q(seq__gte=seen))]
    telling = [each for each in told if each.kind in levels.KINDS]
    if not telling:
        return Moved(held)
    clocks = levels.moved(held, telling, measures, _session(loaded, rows))
    before = {clock.id: clock for clock in held}
    return Moved(clocks, [clock for clock in clocks if before.get(clock.id) != clock])


def _session(loaded: Loaded, rows: QuerySet[LevelClock]) -> Session:
    opened = loaded.state.opened
    assert opened is not None
    known = dict(rows.values_list("target").annotate(last=Max("upto")))
    began = parse(loaded.state.opened_at)
    upto = max(known.values(), default=-1)
    return Session(loaded.place.id, opened.agent, opened.channel, began, frozenset(known), upto)


def _clock(row: LevelClock, measure: Measure) -> Clock:
    target = msgspec.structs.replace(measure.target, seconds=row.allowed)
    return Clock(
        row.pk,
        msgspec.structs.replace(measure, version=row.version, target=target),
        row.about,
        row.seq,
        row.upto,
        row.started_at,
        row.since,
        timedelta(microseconds=row.spent),
        row.ended_at,
        msgspec.convert(row.outcome, levels.Outcome),
    )


def running(clocks: Sequence[Clock]) -> list[Clock]:
    """Those that have not ended."""
    return [clock for clock in clocks if clock.ended_at is None]


def shown(clocks: Sequence[Clock]) -> tuple[Level, ...]:
    """Clocks as rules see them."""
    return tuple(
        Level(str(each.id), each.measure.name, each.about, each.seq, each.risk_at, each.missed_at) for each in clocks
    )


def forget_old() -> int:
    """Let go of measurements that ended long ago: figures of a year can still be told. Gives how many."""
    rows = ledger.run(
        "DELETE FROM agent_sessions_levelclock WHERE id IN (SELECT id FROM agent_sessions_levelclock"
        " WHERE ended_at < now() - make_interval(days => %(days)s) LIMIT %(most)s) RETURNING 1",
        {"days": KEPT_DAYS, "most": MOST_FORGOTTEN},
    )
    return len(rows)


def keep(loaded: Loaded, clocks: Sequence[Clock]) -> None:
    """Write them."""
    opened = loaded.state.opened
    assert opened is not None or not clocks
    for clock in clocks:
        assert opened is not None
        row = {
            "tenant": loaded.place.tenant,
            "team": loaded.place.team,
            "session": loaded.place.id,
            "agent": opened.agent,
            "target": clock.measure.id,
            "version": clock.measure.version,
            "name": clock.measure.name,
            "what": clock.measure.target.what,
            "about": clock.about,
            "seq": clock.seq,
            "upto": clock.upto,
            "allowed": clock.measure.target.seconds,
            "started_at": clock.started_at,
            "since": clock.since,
            "spent": clock.used // _MICROSECOND,
            "risk_at": clock.risk_at,
            "missed_at": clock.missed_at,
            "ended_at": clock.ended_at,
            "outcome": clock.outcome,
        }
        LevelClock.objects.update_or_create(id=clock.id, defaults=row)
