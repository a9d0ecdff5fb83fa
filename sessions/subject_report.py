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

from agentstate.clock import now
from agentstate.engine.instants import stamp
from agentstate.engine.state.supervision import BACK, GUIDANCE
from agentstate.people.models import User
from agentstate.people.permissions import Permission, teams_with
from audit import keyed, keys, ledger, staff
from audit.models import ErasureRequest, LegalHold
from sessions import access
from sessions import erasure as erasing
from sessions.commands.erasure import subject
from sessions.commands.person import Person
from sessions.models import AgentSession, CustomerProfile
from sessions.queries import guidance, privacy
from sessions.triggers import intake
from sessions.triggers.tables import Trigger, TriggerFiring

_STAFF = re.compile(r"user:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def made(user: Person, *, customer: str = "", session: UUID | None = None) -> dict[str, Any]:
    """The report, as JSON has it; that it was made is an entry of the staff log, without which it is not given.

    Raises UnknownSubject, UnknownSession, PermissionDenied, keys.Erased.
    """
    kid = subject(user, Permission.SUBJECT_REPORT, customer=customer, session=session)
    keys.subject_key(kid)
    their = AgentSession.objects.filter(kid=kid).values_list("pk", "team_id")
    seen = [access.Seen(each, team) for session, team in their for each in (session, kid)]
    access.note(user, "subject report", seen)
    logs = keyed.logs_of(kid)
    found = {
        "subject": str(kid),
        "made_at": stamp(now()),
        "logs": [_log(log, kid) for log in logs],
        "waiting": [_waiting(row) for row in TriggerFiring.objects.filter(kid=kid, state="due").order_by("at", "pk")],
        "stores": erasing.preview(kid),
        "holds": [_plain(privacy.hold_line(row)) for row in LegalHold.objects.filter(kid=kid).order_by("set_at")],
        "erasures": [_plain(privacy.line(row)) for row in ErasureRequest.objects.filter(kid=kid).order_by("asked_at")],
    }
    assert isinstance(user, User)
    with transaction.atomic():
        facts = {"subject_key": str(kid), "logs": len(logs)}
        staff.record(user.tenant_id, now(), "subject.reported", user.actor, "", facts)
        access.note(user, "subject report", _seen(user, kid, logs))
    return found


def _seen(user: User, kid: UUID, logs: list[UUID]) -> list[access.Seen]:
    """The subject, and each session that says something of them, under the team that serves them there."""
    rows = AgentSession.objects.filter(pk__in=logs).values_list("pk", "team_id", "seq")
    seen = [access.Seen(session, team, 0, seq - 1) for session, team, seq in rows]
    teams = {each.team for each in seen} or set(teams_with(user, Permission.SUBJECT_REPORT))
    return [*seen, *(access.Seen(kid, team) for team in teams)]


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
    for row in ledger.read_rows(log):
        envelope = ledger.parse_envelope(row.envelope)
        if envelope.kid != str(kid):
            continue
        try:
            data = _told(msgspec.json.decode(ledger.open_row(row)[1]))
        except ledger.Pruned:
            data = None
        yield {
            "seq": envelope.seq,
            "at": envelope.at,
            "kind": envelope.kind,
            "by": masked(envelope.actor),
            "data": data,
        }


def _told(data: dict[str, Any]) -> Any:
    """What an entry says to its subject: what colleagues told the agent alone is not for them, wherever it stands."""
    for name in guidance.KINDS.get(data.get("kind", ""), ()):
        data[name] = guidance.WITHHELD
    return masked(_unguided(data))


def _unguided(value: Any) -> Any:
    """A state that an entry carries, without the agent's guidance among its items."""
    if isinstance(value, list):
        return [_unguided(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("role") == "note" and str(value.get("text", "")).startswith((GUIDANCE, BACK)):
        return {**value, "text": guidance.WITHHELD}
    return {name: _unguided(each) for name, each in value.items()}


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
