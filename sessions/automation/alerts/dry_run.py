"""A rule tried on what is past: which alerts it would have raised in a session, entry by entry and instant by instant.
Pure: the entries come in, the alerts come out, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.instants import parse
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from sessions.automation.alerts import matches
from sessions.automation.alerts.definition import Definition
from sessions.automation.alerts.matches import Hit
from sessions.automation.alerts.view import COUNTED, Level, Told, View
from sessions.automation.service_levels import clocks as levels
from sessions.automation.service_levels.clocks import Clock, Measure

MOST_LOOKS = 5  # at instants between two entries
COUNTED_KEPT = 300
Entry = tuple[int, ev.AnyEvent, str]


class Would(msgspec.Struct, frozen=True):
    """An alert that would have been raised, and when."""

    at: datetime
    why: str
    about: str
    seq: int


class _Trial:
    def __init__(self, rule: Definition, session: levels.Session, measures: list[Measure], since: datetime) -> None:
        self.rule, self.session, self.since = rule, session, since
        self.measures = measures if rule.on.kind == "level" else []
        self.state = SessionState()
        self.counted: list[Told] = []
        self.clocks: list[Clock] = []
        self.open: dict[str, tuple[str, datetime]] = {}  # by what they are about: the episode, and since when
        self.raised_at: dict[str, datetime] = {}
        self.known: set[tuple[str, str]] = set()
        self.found: list[Would] = []

    def view(self, now: datetime, fresh: tuple[Told, ...] = ()) -> View:
        shown = tuple(
            Level(str(each.id), each.measure.name, each.about, each.seq, each.risk_at, each.missed_at)
            for each in self.clocks
            if each.ended_at is None
        )
        return View(str(self.session.id), self.state, now, fresh, tuple(self.counted[-COUNTED_KEPT:]), levels=shown)

    def wait(self, last: datetime, until: datetime) -> None:
        """What time alone brings between two entries."""
        for _ in range(MOST_LOOKS):
            due = matches.next_due(self.rule, self.view(last))
            if due is None or due > until:
                return
            last = due + timedelta(microseconds=1)
            self.judge(self.view(last))

    def take(self, told: Told) -> None:
        self.state = evolve(self.state, told.event, told.at)
        if told.kind in COUNTED:
            self.counted.append(told)
        if self.measures:
            self.clocks = levels.moved(self.clocks, [told], self.measures, self.session)
        self.judge(self.view(told.instant, (told,)))

    def judge(self, view: View) -> None:
        for about in [about for about in self.open if matches.over(self.rule, about, -1, view)]:
            del self.open[about]
        for hit in matches.found(self.rule, view):
            self.raise_it(hit, view.now)

    def raise_it(self, hit: Hit, now: datetime) -> None:
        last = self.raised_at.get(hit.about)
        cools = last is not None and last + timedelta(seconds=self.rule.cool_down) > now
        if hit.about in self.open or (hit.about, hit.anchor) in self.known or cools:
            return
        self.known.add((hit.about, hit.anchor))
        self.open[hit.about] = (hit.anchor, now)
        self.raised_at[hit.about] = now
        if now >= self.since:
            self.found.append(Would(now, hit.why, hit.about, hit.seq))


def tried(
    rule: Definition,
    entries: Iterable[Entry],
    session: levels.Session,
    measures: list[Measure],
    since: datetime,
    until: datetime,
) -> list[Would]:
    """The alerts of `rule` in a session between two instants, nobody having closed any."""
    trial = _Trial(rule, session, measures, since)
    last: datetime | None = None
    for seq, event, at in entries:
        instant = parse(at)
        if last is not None:
            trial.wait(last, instant)
        trial.take(Told(seq, at, ev.kind_of(event), "", event))
        last = instant
    if last is not None:
        trial.wait(last, until)
    return trial.found
