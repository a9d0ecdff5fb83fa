"""Sessions that somebody altered in the database: what readers are told, the alert, and the banner.

The scrubber (audit.scrub) finds; here is what follows from it for people. A reader that meets an altered entry first
refuses by the same name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from django.db import DatabaseError
from django.db.models import Exists, OuterRef, Q, QuerySet

from agentstate.engine.decide.alerts import TooManyAlerts
from agentstate.errors import AgentStateError, NotFound, Refused
from agentstate.people.models import Membership, Team, User
from agentstate.people.roles import Role
from audit import condition, ledger
from audit.models import Alteration
from audit.scrub import altered, entries, schedule
from audit.scrub.altered import Found
from sessions.alerts import raising
from sessions.alerts.tables import Alert
from sessions.models import AgentSession, ApprovalRequest

ALERT = "altered"
TOLD = (Role.SUPERVISOR, Role.AUDITOR, Role.ADMIN)  # who sees the alert and the banner
RIGHT_AGAIN = "right_again"
log = logging.getLogger(__name__)


class SessionAltered(Refused):
    """This session was altered in the database."""

    code = "session_altered"
    status = 409
    remedy = "Compare it with its last export and with a backup of the database."


class Altered(msgspec.Struct, frozen=True):
    """What the banner says: how many open alerts there are, and the first session that one of them is about."""

    count: int
    session: UUID | None


def standing_in(session: str) -> Exists:
    """Whether an alteration about the session stands, as a part of a query; `session` is the column with its id."""
    return Exists(Alteration.objects.filter(log=OuterRef(session), right_at=None))


def refusal(session: UUID, found: Sequence[Found] = ()) -> SessionAltered:
    """The refusal of a session that was altered: by what was found now, else by what the scrubber found."""
    if not found and (row := altered.of_log(session)) is not None:
        found = [Found(row.log, row.what, row.seq, row.detail)]
    if not found:
        return SessionAltered()
    first = found[0]
    more = f" And {len(found) - 1} more." if len(found) > 1 else ""
    return SessionAltered(f"{_place(first)}{_said(first)}{more}")


def instead_of(error: Exception, address: Mapping[str, Any]) -> SessionAltered | None:
    """The refusal to answer with where `error` came of an altered session, which `address` names; else None."""
    if isinstance(error, SessionAltered) or (isinstance(error, Refused) and not isinstance(error, NotFound)):
        return None
    try:
        session = _named(address)
        if session is None:
            return None
        if isinstance(error, ledger.UnknownLog) and AgentSession.objects.filter(pk=session).exists():
            return refusal(session, [Found(session, "log_missing")])
        if isinstance(error, NotFound):
            return _deleted(session)
        found = entries.look(session)
        return refusal(session, found) if found or altered.of_log(session) is not None else None
    except (AgentStateError, DatabaseError):
        return None


def _named(address: Mapping[str, Any]) -> UUID | None:
    try:
        for name in ("session", "session_id"):
            if name in address:
                return UUID(str(address[name]))
        if "request_id" in address:
            rows = ApprovalRequest.objects.filter(pk=UUID(str(address["request_id"])))
            return rows.values_list("session_id", flat=True).first()
    except ValueError:
        pass
    return None


def _deleted(session: UUID) -> SessionAltered | None:
    """The public log names every session that there was, so this tells nobody of one that they may not see."""
    if AgentSession.objects.filter(pk=session).exists():
        return None
    row = altered.of_log(session)
    return None if row is None or row.what not in altered.HEADS else refusal(session)


def must_be_whole(session: UUID, rows: Sequence[ledger.Row], start: int, stop: int) -> None:
    """Returns if `rows` are the entries from `start` up to `stop`, each with its content or a reason for its absence.
    Raises SessionAltered.
    """
    one = entries.LogReading(session, stop, None, seq=start)
    found = entries.judge(one, ((row.seq, row.envelope, row.ciphertext) for row in rows), {})
    if found:
        raise refusal(session, found)


def remarks(session: UUID) -> list[str]:
    """What an export of the session says first: that it was altered, and where; that the ledger was."""
    found = entries.look(session)
    row = altered.of_log(session)
    if row is not None and not found:
        found = [Found(row.log, row.what, row.seq, row.detail)]
    said = [f"{_place(each)}{_said(each)}" for each in found]
    trouble = condition.read(ledger.read_head(session).tenant).told
    if trouble is not None and trouble.code in condition.TAMPERED:
        said.append(f"{trouble.title} {trouble.detail}".strip())
    return [SessionAltered().title, *said] if found else said


def _place(found: Found) -> str:
    return f"Entry {found.seq}: " if found.seq >= 0 else ""


def _said(found: Found) -> str:
    return f"{altered.WORDS.get(found.what, '')} {found.detail}".strip()


# --- what the scrubber finds leads to --------------------------------------------------------------------------------


def scrub(tenant: UUID) -> None:
    """Lets the scrubber work for its share, and tells people what it found."""
    _watch_the_ledger(tenant)
    schedule.work(tenant, lambda found, right: tell(tenant, found, right), sessions_without_rows)


def _watch_the_ledger(tenant: UUID) -> None:
    """What the signer or the sequencer found altered is an alteration as well, for as long as they say so."""
    present = condition.read(tenant)
    trouble = present.told
    if trouble is not None and trouble.code in condition.TAMPERED:
        tell(tenant, altered.report(tenant, [Found(altered.LEDGER, trouble.code, detail=trouble.detail)]), set())
    elif trouble is None and present.sequencing:
        tell(tenant, [], altered.right_again(tenant, condition.TAMPERED, present.read_at))


_WITHOUT_ROWS = """
SELECT e.log FROM audit_entry e WHERE e.log = ANY(%(logs)s) AND e.seq = 0
  AND position(convert_to('"kind":"session.opened"', 'UTF8') IN e.envelope) > 0
  AND NOT EXISTS (SELECT 1 FROM agent_sessions_agentsession s WHERE s.id = e.log)"""


def sessions_without_rows(logs: Sequence[UUID]) -> Iterable[Found]:
    """Of these logs the sessions that no page can show, since their row is gone."""
    return [Found(each, "session_missing") for (each,) in ledger.run(_WITHOUT_ROWS, {"logs": list(logs)})]


def tell(tenant: UUID, found: Sequence[Found], right: set[UUID]) -> None:
    """Raises an alert in the teams concerned for each log with new alterations, and closes those that are over."""
    for each in {each.log: each for each in reversed(found)}.values():
        for team in _teams(tenant, each.log):
            alert = raising.TeamAlert(
                ALERT, _key(each.log), "critical", each.what, tuple(f"role:{role.value}" for role in TOLD)
            )
            try:
                raising.raise_for_team(tenant, team, alert)
            except TooManyAlerts:  # the health of the ledger counts it all the same
                log.error("team %s was not alerted of %s: it has too many open alerts", team, each)
    for each_log in right:
        for team in Alert.objects.filter(_about(each_log)).exclude(state="closed").values_list("team_id", flat=True):
            raising.close_of_team(team, ALERT, _key(each_log), RIGHT_AGAIN)


def _key(about: UUID) -> str:
    return "ledger" if about == altered.LEDGER else str(about)


def _about(about: UUID) -> Q:
    return Q(name=ALERT, about=_key(about), session=None)


def _teams(tenant: UUID, about: UUID) -> list[UUID]:
    """The team of the session; of what is no session that is there, all."""
    rows: QuerySet[Any] = AgentSession.objects.filter(pk=about).values_list("team_id", flat=True)
    return list(rows) or list(Team.objects.filter(tenant=tenant).order_by("pk").values_list("pk", flat=True))


def banner(user: User) -> Altered | None:
    """What a supervisor, auditor or admin of a team is told on every page, until somebody of the team acknowledges it.
    What the ledger's health tells them anyway is left out.
    """
    teams = Membership.objects.filter(user=user, role__in=[role.value for role in TOLD]).values("team")
    rows = Alert.objects.filter(team__in=teams, session=None, name=ALERT, state="open")
    keys = list(rows.exclude(why__in=condition.TAMPERED).order_by("raised_at").values_list("about", flat=True)[:100])
    if not keys:
        return None
    return Altered(len(set(keys)), None if keys[0] == "ledger" else UUID(keys[0]))


def is_told(user: User) -> bool:
    """Whether the person is told when the ledger was altered."""
    return Membership.objects.filter(user=user, role__in=[role.value for role in TOLD]).exists()


_OPEN = """
SELECT count(*) FROM audit_alteration f WHERE f.tenant = %(tenant)s AND f.right_at IS NULL AND (
  NOT EXISTS (SELECT 1 FROM agent_sessions_alert a WHERE a.session IS NULL AND a.name = %(name)s
    AND a.about = CASE WHEN f.log = %(ledger)s THEN 'ledger' ELSE f.log::text END)
  OR EXISTS (SELECT 1 FROM agent_sessions_alert a WHERE a.session IS NULL AND a.name = %(name)s AND a.state = 'open'
    AND a.about = CASE WHEN f.log = %(ledger)s THEN 'ledger' ELSE f.log::text END))"""


def open_count(tenant: UUID) -> int:
    """How many alterations stand that nobody has acknowledged."""
    return int(ledger.run(_OPEN, {"tenant": tenant, "name": ALERT, "ledger": altered.LEDGER})[0][0])


class AlterationLine(msgspec.Struct, frozen=True):
    """An alteration as the page of the ledger's health lists it. `by`: who acknowledged or closed the alert of it."""

    place: Alteration
    words: str
    session: bool
    by: tuple[str, ...]


def lines(user: User, teams: Sequence[UUID]) -> list[AlterationLine]:
    """The alterations that stand, as somebody who audits these teams may see them: those of their sessions, and of all
    that belongs to no team.
    """
    rows = altered.standing(user.tenant_id)
    known = dict(AgentSession.objects.filter(pk__in=[row.log for row in rows]).values_list("pk", "team_id"))
    alerts = Alert.objects.filter(session=None, name=ALERT, about__in=[_key(row.log) for row in rows])
    by: dict[str, list[str]] = {}
    for about, holder, closer in alerts.filter(team__in=teams).values_list("about", "held_by", "closed_by"):
        by.setdefault(about, []).extend(name for name in (closer or holder,) if name)
    return [
        AlterationLine(row, _words(row), row.log in known, tuple(dict.fromkeys(by.get(_key(row.log), ()))))
        for row in rows
        if row.log not in known or known[row.log] in teams
    ]


def _words(row: Alteration) -> str:
    title = altered.WORDS.get(row.what) or condition.TITLES.get(row.what, row.what)
    return f"{title} {row.detail}".strip()
