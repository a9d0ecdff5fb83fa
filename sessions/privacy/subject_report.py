"""The report of everything held about one data subject: the mirror image of erasing them.

It opens what is encrypted under the subject's key, wherever it lies, and nothing else: what concerns others in the same
logs is under their keys and stays shut. People of the house appear as "staff", not by their ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Q

from agentstate.clock import now
from agentstate.engine.instants import stamp
from agentstate.people.models import User
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from audit import keyed, keys, ledger, staff
from audit.models import ErasureRequest, LegalHold
from sessions.automation.triggers import intake
from sessions.core import access, reach, visibility
from sessions.core.person import Person
from sessions.models.sessions import AgentSession, CustomerProfile
from sessions.models.triggers import Trigger, TriggerFiring
from sessions.privacy import erasure as erasing
from sessions.privacy import queries, subject_proposals
from sessions.privacy.commands import subject

_STAFF = re.compile(r"user:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def made(user: Person, *, customer: str = "", session: UUID | None = None) -> dict[str, Any]:
    """Returns the report, as JSON has it; that it was made is an entry of the staff log, without which it is not given.

    It has what the teams hold in which the person has the permission, or that agreed to a proposal of theirs. Of the
    rest it says only that parts are outstanding. Raises UnknownSubject, UnknownSession, PermissionDenied, keys.Erased.
    """
    kid = subject(user, Permission.SUBJECT_REPORT, customer=customer, session=session)
    assert isinstance(user, User)
    keys.subject_key(kid)
    scope = _scope(user, kid)
    access.note(user, "subject report", _seen(user, kid, scope))
    closed = keys.closed([kid])
    logs = [log for log in keyed.logs_of(kid) if scope.holds(log)]
    found = {
        "subject": str(kid),
        "made_at": stamp(now()),
        "outstanding": not scope.whole,
        "logs": [_log(log, kid) for log in logs],
        "waiting": [_waiting(row) for row in _firings(kid, scope)],
        "stores": erasing.preview(kid) if scope.whole else {},
        "holds": [_plain(queries.hold_line(row, closed)) for row in _holds(kid, scope)],
        "erasures": [_plain(queries.line(row, closed)) for row in _erasures(kid, scope)],
    }
    with transaction.atomic():
        facts = {"subject_key": str(kid), "logs": len(logs), "teams": [str(team) for team in sorted(scope.teams)]}
        staff.record(user.tenant_id, now(), "subject.reported", user.actor, "", facts)
        access.note(user, "subject report", _seen(user, kid, scope, ranges=True))
    return found


class _Scope(msgspec.Struct, frozen=True):
    """What a report covers: the teams, their sessions, and whether that is all."""

    teams: frozenset[UUID]
    sessions: frozenset[UUID]
    whole: bool

    def holds(self, log: UUID) -> bool:
        """Whether the report has this log. One of no session belongs to all teams."""
        return self.whole or log in self.sessions


def _scope(user: User, kid: UUID) -> _Scope:
    serving = reach.of_subject(kid)
    teams = reach.held_in(user, Permission.SUBJECT_REPORT, serving) | (
        subject_proposals.released(kid, user.actor) & serving
    )
    theirs = Q(kid=kid) | Q(pk__in=keyed.logs_of(kid))
    sessions = AgentSession.objects.filter(theirs, team__in=teams).values_list("pk", flat=True)
    return _Scope(teams, frozenset(sessions), serving <= teams)


def _firings(kid: UUID, scope: _Scope) -> list[TriggerFiring]:
    rows = TriggerFiring.objects.filter(kid=kid, state="due").order_by("at", "pk")
    own = set(Trigger.objects.filter(team__in=scope.teams).values_list("pk", flat=True))
    return [row for row in rows if scope.whole or row.trigger in own]


def _holds(kid: UUID, scope: _Scope) -> list[LegalHold]:
    rows = LegalHold.objects.filter(kid=kid).order_by("set_at")
    return [row for row in rows if scope.whole or reach.of_actor(row.set_by) & scope.teams]


def _erasures(kid: UUID, scope: _Scope) -> list[ErasureRequest]:
    rows = ErasureRequest.objects.filter(kid=kid).order_by("asked_at")
    return [row for row in rows if scope.whole or reach.of_actor(row.asked_by) & scope.teams]


def _seen(user: User, kid: UUID, scope: _Scope, *, ranges: bool = False) -> list[access.Seen]:
    """The subject, and each session of the report, under the team that serves them there."""
    rows = AgentSession.objects.filter(pk__in=scope.sessions).order_by("pk").values_list("pk", "team_id", "seq")
    seen = [access.Seen(pk, team, 0, seq - 1) if ranges else access.Seen(pk, team) for pk, team, seq in rows]
    teams = {each.team for each in seen} or set(teams_with(user, Permission.SUBJECT_REPORT))
    return [*seen, *(access.Seen(kid, team) for team in sorted(teams))]


def _log(log: UUID, kid: UUID) -> dict[str, Any]:
    entries = list(_entries(log, kid))
    others = ledger.read_head(log).size - len(entries)
    return {"log": str(log), "what": _what(log, kid), "entries": entries, "entries_of_others": others}


def _what(log: UUID, kid: UUID) -> str:
    own = AgentSession.objects.filter(pk=log).values_list("kid", flat=True).first()
    if own is not None:
        return "session" if own == kid else "part of somebody else's session"
    return "profile" if CustomerProfile.objects.filter(log=log).exists() else "record of staff"


def _entries(log: UUID, kid: UUID) -> Iterator[dict[str, Any]]:
    seen = visibility.of_subject(log)
    for row in ledger.read_rows(log):
        envelope = ledger.parse_envelope(row.envelope)
        if envelope.kid != str(kid):
            continue
        try:
            data = masked(seen.entry(envelope.kind, msgspec.json.decode(ledger.open_row(row)[1])))
        except ledger.Pruned:
            data = None
        yield {
            "seq": envelope.seq,
            "at": envelope.at,
            "kind": envelope.kind,
            "by": masked(envelope.actor),
            "data": data,
        }


def masked(value: Any) -> Any:
    """`value` with "staff" for the ids of the people of the house."""
    if isinstance(value, str):
        return _STAFF.sub("staff", value)
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, dict):
        return {masked(name): masked(each) for name, each in value.items()}
    return value


def _waiting(row: TriggerFiring) -> dict[str, Any]:
    """What was heard of the subject and is not judged yet."""
    name = Trigger.objects.filter(pk=row.trigger).values_list("name", flat=True).first()
    return {"trigger": name or str(row.trigger), "at": stamp(row.at), "event": masked(intake.opened(row))}


def _plain(line: Any) -> dict[str, Any]:
    return masked(msgspec.to_builtins(line))  # type: ignore[no-any-return]
