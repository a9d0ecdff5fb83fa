"""Global stops: set by a person with a reason, effective with the next statement that would commit an intent, lifted by
a person. Each is an entry of the staff log.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models.functions import Now

from agentstate.clock import now
from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from agentstate.people.models import Team, User
from agentstate.people.permissions import Permission, PermissionDenied, can, holds_any
from audit import ledger, staff
from sessions import live, stops
from sessions.agents import registry
from sessions.commands.person import Person
from sessions.models import Stop
from sessions.tools import registry as tools

MAX_REASON = 500  # characters
PATIENCE = "3s"  # for commits that are under way; they take milliseconds


class AlreadyStopped(Refused):
    """This is stopped already."""

    code = "already_stopped"


class NotStopped(Refused):
    """This stop was lifted already."""

    code = "not_stopped"


class UnknownStop(NotFound):
    """There is no such stop."""

    code = "unknown_stop"


def stop(user: Person, scope: str, value: str = "", *, reason: str) -> Stop:
    """Nothing new begins: everywhere, by one agent, with one tool, or in one team (by its slug). Raises
    PermissionDenied, Invalid, AlreadyStopped.
    """
    person = _who(user)
    named = _named(person, scope, value)
    _must_say("reason", reason)
    row = Stop(id=new_id(), tenant=person.tenant, scope=scope, value=named, reason=reason.strip(), by=person.actor)
    try:
        with transaction.atomic(durable=True):
            _after_what_is_under_way()
            row.save(force_insert=True)
            _record("stop.set", person, row, row.reason)
    except IntegrityError:
        raise AlreadyStopped(f"{scope} {value}".strip()) from None
    _tell(row)
    return row


def lift(user: Person, stop_id: UUID, why: str) -> Stop:
    """What was stopped goes on. Raises PermissionDenied, Invalid, UnknownStop, NotStopped."""
    person = _who(user)
    _must_say("why", why)
    with transaction.atomic(durable=True):
        row = Stop.objects.select_for_update().filter(pk=stop_id, tenant=person.tenant).first()
        if row is None:
            raise UnknownStop()
        if row.scope == Stop.Scope.TEAM and not can(person, Permission.STOP, UUID(row.value)):
            raise PermissionDenied("This needs the permission stop in that team.", permission="stop")
        if row.lifted_at is not None:
            raise NotStopped()
        row.lifted_by, row.lifted_why, row.lifted_at = person.actor, why.strip(), Now()
        row.save(update_fields=["lifted_by", "lifted_why", "lifted_at"])
        _record("stop.lifted", person, row, why.strip())
    row.refresh_from_db()
    _tell(row)
    _go_on(row)
    return row


def _who(user: Person) -> User:
    if not isinstance(user, User) or not holds_any(user, Permission.STOP):
        raise PermissionDenied("This needs the permission stop.", permission=Permission.STOP.value)
    return user


def _named(person: User, scope: str, value: str) -> str:
    """What is stopped, as the row names it: a team by its id. Raises Invalid, PermissionDenied."""
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
            team = Team.objects.filter(tenant=person.tenant, slug=value).first()
            if team is None:
                raise Invalid(f"there is no team {value[:60]!r}", field="value")
            if not can(person, Permission.STOP, team):
                raise PermissionDenied("This needs the permission stop in that team.", permission="stop")
            return str(team.pk)
    raise Invalid(f"got {scope[:30]!r}, want one of {Stop.Scope.values}", field="scope")


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


def _record(kind: str, person: User, row: Stop, reason: str) -> None:
    facts = {"stop": str(row.pk), "scope": row.scope, "value": row.value, "reason": reason}
    staff.record(person.tenant_id, now(), kind, person.actor, "", facts)


def _tell(row: Stop) -> None:
    """Every page of every team shows it; this process knows it at once, the others when they next look."""
    stops.forget()
    for team in Team.objects.filter(tenant=row.tenant_id).values_list("pk", flat=True):
        live.publish(new_id(), team, 0)  # of no session: pages look at what is stopped, and find nothing else moved


def _go_on(row: Stop) -> None:
    """Sessions that rest because of it are due now; one that waits for something else is looked at once in vain."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET ready_at = now() WHERE tenant_id = %(tenant)s AND ended_at IS NULL"
        " AND ready_at > now() AND ready_at <= now() + make_interval(secs => %(soon)s)"
        " AND (%(scope)s IN ('everything', 'tool') OR agent = %(value)s OR team_id::text = %(value)s)",
        {
            "tenant": row.tenant_id,
            "scope": row.scope,
            "value": row.value,
            "soon": timedelta(seconds=stops.LOOK_AGAIN + 1).total_seconds(),
        },
    )
    live.wake_worker()
