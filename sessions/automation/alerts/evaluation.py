"""Looking at sessions: what was committed, and what has become due, is judged by the team's rules, off the hot path.

A session that something was committed in, or that an instant is awaited in, has a row with how far it was looked at.
The row moves on once the alerts are raised; a crash in between repeats the look, and alerts, whose ids follow from what
they are about, are not raised twice; nor do the clocks of service levels move twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID, uuid5

import msgspec
from django.db import transaction
from django.db.models import F

from agentstate.engine import events as ev
from agentstate.engine.alerts import Alert as Raised
from agentstate.engine.alerts import open_alerts, standing_for
from audit import keys, ledger
from audit.server_clock import now as database_now
from sessions.automation.alerts import matches, repository, session_alerts
from sessions.automation.alerts.matches import Hit
from sessions.automation.alerts.repository import Kept, Setting
from sessions.automation.alerts.view import COUNTED, Told, View
from sessions.automation.service_levels import clocks as levels
from sessions.automation.service_levels import repository as level_rows
from sessions.core import crash_points, states
from sessions.core.announcements import Announced
from sessions.core.due_work import Claim, Queue
from sessions.core.states import Loaded
from sessions.events import team_alerts
from sessions.models.alerts import Alert, AlertWatch
from sessions.models.sessions import AgentSession

log = logging.getLogger(__name__)
ALERTS = UUID("0d2f8a1c-5f0e-5f6b-8a55-5b2c3a1e9d40")  # namespace of alerts' ids
QUEUE = Queue("agent_sessions_alertwatch", "due_at", key="session", lease=30.0, attempts=8)
MOST = 200  # sessions in one go
MOST_ENTRIES = 2_000  # of one session in one look
LOOK_BACK = 300  # entries among which several of a kind are counted
FAILED = "alert-rules-failed"  # the alert of a team about a session that could not be looked at


# --- taking in ----------------------------------------------------------------------------------------------


def take_in(announced: Sequence[Announced]) -> int:
    """Let the sessions of these commits be looked at. Gives how many. Forks are left out: nothing happens there."""
    teams = repository.teams_at_work({each.team for each in announced})
    spans: dict[UUID, tuple[int, int]] = {}
    for each in announced:
        if each.team in teams:
            first, upto = spans.get(each.session, (each.seq, 0))
            spans[each.session] = (min(first, each.first if each.first >= 0 else each.seq - 1), max(upto, each.seq))
    if not spans:
        return 0
    found = ledger.run(
        "INSERT INTO agent_sessions_alertwatch AS w (session, tenant, team, seen, upto, due_at, attempts)"
        " SELECT s.id, s.tenant_id, s.team_id, r.first, r.upto, now(), 0"
        " FROM unnest(%(sessions)s::uuid[], %(firsts)s::int8[], %(uptos)s::int8[]) AS r(session, first, upto)"
        " JOIN agent_sessions_agentsession s ON s.id = r.session WHERE s.fork_of IS NULL"
        " ON CONFLICT (session) DO UPDATE SET upto = greatest(w.upto, EXCLUDED.upto), due_at = least(w.due_at, now())"
        " RETURNING 1",
        {
            "sessions": list(spans),
            "firsts": [first for first, _ in spans.values()],
            "uptos": [upto for _, upto in spans.values()],
        },
    )
    return len(found)


# --- looking ------------------------------------------------------------------------------------------------


class Looked(msgspec.Struct, frozen=True):
    """What a look has come to: entries looked at, and when to look again."""

    seen: int
    due_at: datetime | None


def look_at_due(most: int = MOST) -> int:
    """Judges sessions that are due, the longest first, up to `most`; returns how many."""
    settings = lru_cache(maxsize=None)(repository.setting_of)
    return QUEUE.run(lambda claim: _one(claim, settings), _give_up, most)


def _one(claim: Claim, setting_of: Callable[[UUID], Setting]) -> None:
    row = AlertWatch.objects.filter(pk=claim.key).first()
    if row is None:
        return
    try:
        looked = look(row.session, row.seen, setting_of(row.team))
    except (keys.Erased, states.UnknownSession, ledger.UnknownLog):
        AlertWatch.objects.filter(pk=row.session).delete()
        return
    _finish(claim, looked)


def _give_up(claim: Claim, _: Exception) -> None:
    """Passes over what was committed, and tells the team."""
    row = AlertWatch.objects.filter(pk=claim.key).first()
    if row is not None:
        team_alerts.raise_for_team(row.tenant, row.team, team_alerts.TeamAlert(FAILED, str(row.session), "critical"))
        _finish(claim, Looked(row.upto, None))


def look(session: UUID, seen: int, setting: Setting) -> Looked:
    """Judge what is new in a session since `seen` entries, and what time has brought. Raises keys.Erased."""
    loaded = states.load(session)
    told = _entries(loaded, seen, setting)
    now = database_now()
    moved = level_rows.moved(loaded, seen, told, setting.measures)
    view = _view(loaded, told, now, level_rows.running(moved.clocks))
    later = [_judged(view, rule) for rule in setting.rules]
    _close_what_is_over(view, setting.rules)
    crash_points.point("after_alerts", str(session))
    with transaction.atomic():  # all of them or none: where the entries were gone through to is told by the newest
        level_rows.keep(loaded, moved.changed)
    return Looked(loaded.state.seq, min((at for at in later if at is not None), default=None))


def _finish(claim: Claim, looked: Looked) -> None:
    QUEUE.finish(
        claim,
        "seen = greatest(seen, %(seen)s), attempts = 0,"
        " due_at = CASE WHEN upto > %(seen)s THEN now() ELSE %(due)s::timestamptz END",
        seen=looked.seen,
        due=looked.due_at,
    )
    ledger.run(
        "DELETE FROM agent_sessions_alertwatch WHERE session = %(session)s AND due_at IS NULL AND upto <= seen",
        {"session": claim.key},
    )


# --- what there is to see -----------------------------------------------------------------------------------


def _entries(loaded: Loaded, seen: int, setting: Setting) -> list[Told]:
    """The entries since `seen` of kinds that something asks for, opened."""
    kinds = frozenset[str]().union(*(matches.kinds_of(rule.definition) for rule in setting.rules))
    if setting.measures:
        kinds |= levels.KINDS
    start = max(seen, loaded.state.seq - MOST_ENTRIES)
    return list(told_between(loaded.place.id, start, loaded.state.seq, kinds))


def told_between(session: UUID, start: int, stop: int, kinds: frozenset[str]) -> Iterable[Told]:
    """The entries of these kinds, opened; without those whose words are gone."""
    for row in ledger.read_rows(session, start, stop) if kinds else ():
        envelope = ledger.parse_envelope(row.envelope)
        if envelope.kind not in kinds:
            continue
        try:
            _, payload = ledger.open_row(row)
        except keys.Erased:  # of another data subject, or pruned
            continue
        yield Told(row.seq, envelope.at, envelope.kind, envelope.actor, ev.decode(payload))


def _view(loaded: Loaded, told: Sequence[Told], now: datetime, running: Sequence[levels.Clock]) -> View:
    state, session = loaded.state, loaded.place.id
    counted = [each for each in told if each.kind in COUNTED]
    if counted:
        first = max(0, state.seq - LOOK_BACK)
        counted = list(told_between(session, first, state.seq, frozenset(COUNTED)))
    rest = AgentSession.objects.filter(pk=session).values_list("stalled", "stalled_at").first() or ("", None)
    return View(str(session), state, now, tuple(told), tuple(counted), rest[0], rest[1], level_rows.shown(running))


# --- what comes of it ---------------------------------------------------------------------------------------


def _judged(view: View, rule: Kept) -> datetime | None:
    """Raise what the rule finds; when it is to be asked again."""
    later = matches.next_due(rule.definition, view)
    for hit in matches.found(rule.definition, view):
        if hit.told is not None and hit.told.instant < rule.since:
            continue
        cool = _taken_up(view, rule, hit)
        later = min((at for at in (later, cool) if at is not None), default=None)
    return later


def alert_id(rule: UUID, session: str, hit: Hit) -> UUID:
    """The id of the alert about this episode."""
    return uuid5(ALERTS, f"{rule}/{session}/{hit.about}/{hit.anchor}")


def _taken_up(view: View, rule: Kept, hit: Hit) -> datetime | None:
    """The hit as a new alert, or counted on the one that is open; while the rule cools down, when that is over."""
    alert, session = alert_id(rule.id, view.session, hit), UUID(view.session)
    standing = standing_for(view.state.alerts, str(rule.id), hit.about)
    if standing is not None:
        if standing.id != str(alert):
            _counted(UUID(standing.id), hit)
        return None
    if Alert.objects.filter(pk=alert).exists():
        return None
    cools = _cools_until(rule, session, hit.about)
    if cools is not None and cools > view.now:
        return cools if hit.told is None else None
    session_alerts.raise_alert(session, alert, rule.raising, hit.why, hit.about, hit.seq)
    return None


def _counted(alert: UUID, hit: Hit) -> None:
    """Once for each entry, however often it is looked at; time alone is no new hit."""
    if hit.told is not None:
        Alert.objects.filter(pk=alert, hit_seq__lt=hit.seq, seq__lt=hit.seq).update(
            hits=F("hits") + 1, hit_at=hit.told.instant, hit_seq=hit.seq
        )


def _cools_until(rule: Kept, session: UUID, about: str) -> datetime | None:
    found = Alert.objects.filter(session=session, rule=str(rule.id), about=about)
    last = found.order_by("-raised_at").values_list("raised_at", flat=True).first()
    return last + timedelta(seconds=rule.definition.cool_down) if last is not None else None


def _close_what_is_over(view: View, rules: Sequence[Kept]) -> None:
    """Close the alerts whose cause is gone, or whose rule is. Raised a moment ago, they are looked at next time."""
    known = {str(rule.id): rule for rule in rules}
    for alert in open_alerts(view.state.alerts):
        if alert.rule and (cause := _over(alert, known, view)):
            session_alerts.close_alert(UUID(view.session), UUID(alert.id), cause)


def _over(alert: Raised, known: dict[str, Kept], view: View) -> str:
    rule = known.get(alert.rule)
    if rule is None:
        return "rule_off"
    return matches.over(rule.definition, alert.about, alert.seq, view)
