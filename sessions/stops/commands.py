"""Stops: set by a person with a reason, effective with the next statement that would commit an intent, lifted by a
person of the same team. Each is an entry of the staff log.

A stop takes effect at once in the person's own teams. The other teams that use what was stopped get an alert, from
which they stop it themselves. With `stop_everywhere` it takes effect in every team.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.engine.decide.alerts import TooManyAlerts
from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from agentstate.people import reasons
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied, can, holds_any, teams_with
from agentstate.people.roles import Permission, roles_with
from audit import ledger, staff
from audit.keys import teams as team_keys
from sessions.agents import registry
from sessions.core import announcements, reach, stops
from sessions.core.person import Person
from sessions.events import team_alerts
from sessions.models.sessions import Stop
from sessions.tools import registry as tools

MAX_REASON = 500  # characters
PATIENCE = "3s"  # for commits that are under way; they take milliseconds
ELSEWHERE, EVERYWHERE = "stopped-elsewhere", "stopped-everywhere"  # names of the alerts
log = logging.getLogger(__name__)


class AlreadyStopped(Refused):
    """This is stopped already."""

    code = "already_stopped"


class NotStopped(Refused):
    """This stop was lifted already."""

    code = "not_stopped"


class UnknownStop(NotFound):
    """There is no such stop in your teams."""

    code = "unknown_stop"


def stop(
    user: Person, scope: str, value: str = "", *, reason: str, teams: Sequence[str] = (), everywhere: bool = False
) -> list[Stop]:
    """Sets a stop on everything, one agent, one tool, or one team (by its slug); returns its row for each team reached.

    It reaches the teams named by slug, else all of the person's own; with `everywhere` every team. A team that has
    stopped the same already is left as it is. Raises PermissionDenied, Invalid, AlreadyStopped.
    """
    person = _may_stop(user, everywhere=everywhere)
    named = _named(person, scope, value)
    _must_say("reason", reason)
    wanted = _teams_reached(person, scope, named, teams, everywhere)
    sealed = team_keys.seal_each(person.tenant_id, wanted, reason.strip())
    with transaction.atomic(durable=True):
        _after_what_is_under_way()
        held = Stop.objects.filter(team__in=wanted, scope=scope, value=named, lifted_at=None)
        fresh = sorted(wanted - set(held.values_list("team_id", flat=True)))
        if not fresh:
            raise AlreadyStopped(f"{scope} {value}".strip())
        rows = [_row(person, team, scope, named, sealed[team]) for team in fresh]
        Stop.objects.bulk_create(rows)
        facts = {"scope": scope, "value": named, "teams": [str(team) for team in fresh]}
        _record("stop.set", person, rows, facts, sealed[fresh[0]])
        _alert(person, scope, named, fresh)
    _publish(fresh)
    return list(Stop.objects.filter(pk__in=[row.pk for row in rows]).order_by("team__name"))


def lift(user: Person, stop_id: UUID, why: str) -> Stop:
    """Lifts a stop in its team: what it held goes on there. Raises PermissionDenied, Invalid, UnknownStop,
    NotStopped.
    """
    person = _may_stop(user)
    _must_say("why", why)
    with transaction.atomic(durable=True):
        row = Stop.objects.select_for_update().filter(pk=stop_id, tenant=person.tenant).first()
        if row is None or not can(person, Permission.STOP, row.team_id):
            raise UnknownStop()
        if row.lifted_at is not None:
            raise NotStopped()
        row.lifted_by, row.lifted_at = person.actor, Now()
        row.sealed_lifted_why = team_keys.seal(person.tenant_id, row.team_id, why.strip())
        row.save(update_fields=["lifted_by", "sealed_lifted_why", "lifted_at"])
        facts = {"scope": row.scope, "value": row.value, "teams": [str(row.team_id)]}
        _record("stop.lifted", person, [row], facts, row.sealed_lifted_why)
        _close_alerts(row)
    row.refresh_from_db()
    _publish([row.team_id])
    _go_on(row)
    return row


def _may_stop(user: Person, *, everywhere: bool = False) -> User:
    needed = Permission.STOP_EVERYWHERE if everywhere else Permission.STOP
    if not isinstance(user, User) or not holds_any(user, needed):
        raise PermissionDenied(f"This needs the permission {needed.value}.", permission=needed.value)
    return user


def _named(person: User, scope: str, value: str) -> str:
    """Returns what is stopped as the row names it: a team by its id. Raises Invalid."""
    match scope:
        case Stop.Scope.EVERYTHING:
            if value:
                raise Invalid("everything needs no name", field="value")
            return ""
        case Stop.Scope.AGENT:
            _must_be_one_of(value, registry.names())
            return value
        case Stop.Scope.TOOL:
            _must_be_one_of(value, tools.names())
            return value
        case Stop.Scope.TEAM:
            return str(_team(person, value, "value"))
    raise Invalid(f"got {scope[:30]!r}, want one of {Stop.Scope.values}", field="scope")


def _team(person: User, slug: str, field: str) -> UUID:
    found = Team.objects.filter(tenant=person.tenant, slug=slug).values_list("pk", flat=True).first()
    if found is None:
        raise Invalid(f"there is no team {slug[:60]!r}", field=field)
    return found


def _teams_reached(person: User, scope: str, value: str, slugs: Sequence[str], everywhere: bool) -> frozenset[UUID]:
    """Returns the teams in which the stop takes effect. Raises PermissionDenied, Invalid."""
    concerned = reach.of_stop(person.tenant_id, scope, value)
    if everywhere:
        if slugs or scope == Stop.Scope.TEAM:
            raise Invalid("a stop in every team names no team", field="everywhere")
        return concerned
    wanted = frozenset(_team(person, slug, "teams") for slug in slugs) or concerned
    may = reach.held_in(person, Permission.STOP, wanted & concerned)
    if not may or (slugs and may != wanted):
        raise PermissionDenied("This needs the permission stop in that team.", permission=Permission.STOP.value)
    return may


def _row(person: User, team: UUID, scope: str, value: str, sealed: bytes) -> Stop:
    return Stop(
        id=new_id(), tenant=person.tenant, team_id=team, scope=scope, value=value, sealed_reason=sealed, by=person.actor
    )


def _must_be_one_of(value: str, names: list[str]) -> None:
    if value not in names:
        raise Invalid(f"got {value[:60]!r}, want one of {names}", field="value")


def _must_say(field: str, text: str) -> None:
    if not text.strip():
        raise Invalid("must not be empty", field=field)
    if len(text) > MAX_REASON:
        raise Invalid(f"got {len(text)} characters, at most {MAX_REASON}", field=field)


def _after_what_is_under_way() -> None:
    """Wait for the commits that have looked at the table already, and let the next ones wait for this one: then none
    that begins an effect is later than the stop. Where they take too long, the stop counts from the next statement on.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
            cursor.execute("LOCK TABLE agent_sessions_stop IN ACCESS EXCLUSIVE MODE")
    except OperationalError:
        return


def _record(kind: str, person: User, rows: Sequence[Stop], facts: Mapping[str, object], sealed: bytes) -> None:
    """Enters it in the staff log, with the reason sealed under the key of the first team."""
    known = {"stops": [str(row.pk) for row in rows], **facts, "sealed_reason": reasons.on_record(sealed)}
    staff.record(person.tenant_id, now(), kind, person.actor, "", known)


def alert_key(scope: str, value: str) -> str:
    """Returns what an alert about a stop is about: its scope and value."""
    return f"{scope}:{value}"


def _alert(person: User, scope: str, value: str, stopped: Iterable[UUID]) -> None:
    """Raises an alert in each team that the stop concerns and that did not set it."""
    own = set(teams_with(person, Permission.STOP))
    for team in stopped:
        team_alerts.close_of_team(team, ELSEWHERE, alert_key(scope, value), "stopped_here")
        if team not in own:
            _raise(person.tenant_id, team, EVERYWHERE, scope, value)
    stopping = Stop.objects.filter(scope=scope, value=value, lifted_at=None).values_list("team_id", flat=True)
    for team in sorted(reach.of_stop(person.tenant_id, scope, value) - set(stopping)):
        _raise(person.tenant_id, team, ELSEWHERE, scope, value)


def _raise(tenant: UUID, team: UUID, name: str, scope: str, value: str) -> None:
    to = tuple(f"role:{role}" for role in roles_with(Permission.STOP))
    alert = team_alerts.TeamAlert(name, alert_key(scope, value), "critical", name.replace("-", "_"), to)
    try:
        team_alerts.raise_for_team(tenant, team, alert)
    except TooManyAlerts:  # the stop counts all the same
        log.warning("team %s was not alerted of a stop: it has too many open alerts", team)


def _close_alerts(row: Stop) -> None:
    """Closes the alerts that the lifted stop has caused: its own team's, and the others' once no team stops this."""
    key = alert_key(row.scope, row.value)
    team_alerts.close_of_team(row.team_id, EVERYWHERE, key, "stop_lifted")
    if not Stop.objects.filter(tenant=row.tenant_id, scope=row.scope, value=row.value, lifted_at=None).exists():
        for team in reach.of_stop(row.tenant_id, row.scope, row.value):
            team_alerts.close_of_team(team, ELSEWHERE, key, "stop_lifted")


def _publish(teams: Iterable[UUID]) -> None:
    """Every page of these teams shows it; this process knows it at once, the others when they next look."""
    stops.forget()
    for team in teams:
        announcements.publish(
            new_id(), team, 0
        )  # of no session: pages look at what is stopped, and find nothing else moved


def _go_on(row: Stop) -> None:
    """Sessions that rest because of it are due now; one that waits for something else is looked at once in vain."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET ready_at = now() WHERE team_id = %(team)s AND ended_at IS NULL"
        " AND ready_at > now() AND ready_at <= now() + make_interval(secs => %(soon)s)"
        " AND (%(scope)s <> 'agent' OR agent = %(value)s)",
        {
            "team": row.team_id,
            "scope": row.scope,
            "value": row.value,
            "soon": timedelta(seconds=stops.LOOK_AGAIN + 1).total_seconds(),
        },
    )
    announcements.wake_worker()
