"""What a notice is about: which thing, who has it, who may decide it, whether somebody has acted on it.

Everything is read when it is asked for, from the rows of sessions, requests, alerts and exports; a notice holds ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from agentstate.engine.instants import stamp
from agentstate.people.models import User
from audit import keys
from sessions.approvals.queries import decidable
from sessions.core import authority, states
from sessions.events import entries
from sessions.models.alerts import Alert
from sessions.models.notifications import Notice
from sessions.models.sessions import AgentSession, ApprovalRequest, Export

NOBODY = UUID(int=0)
REQUEST, ALERT, EXPORT = "request", "alert", "export"
_NAMED = (("alert", ALERT), ("request", REQUEST))  # fields of entries that name a thing


def _id(notice: Notice) -> UUID:
    """Of the thing; of none, an id that nothing has."""
    return notice.thing_id or NOBODY


def values_of(notice: Notice) -> dict[str, Any]:
    """What a rule's expressions read. Raises audit.keys.Erased."""
    if notice.about is not None and notice.about_seq is not None:
        state = states.load(notice.about).state
        if state.opened is None:
            raise keys.Erased()
        return entries.values_of(notice.about, notice.about_seq, state)
    event = {"kind": notice.kind, "seq": -1, "at": stamp(notice.at), "actor": "system", "data": _data(notice)}
    return {"event": event}


def named_by(data: Mapping[str, Any]) -> tuple[str, UUID | None]:
    """The thing that an entry names, alert before request; its session else."""
    for field, thing in _NAMED:
        try:
            return thing, UUID(str(data[field]))
        except (KeyError, ValueError):
            continue
    return "", None


def _data(notice: Notice) -> dict[str, Any]:
    if notice.thing == ALERT:
        alert = Alert.objects.filter(pk=_id(notice)).first()
        names = ("rule", "name", "severity", "why", "about", "step")
        return {"alert": str(alert.pk), **{name: getattr(alert, name) for name in names}} if alert else {}
    if notice.thing == EXPORT:
        row = Export.objects.filter(pk=_id(notice)).first()
        return {"export": str(notice.thing_id), "state": row.state, "problem": row.problem} if row else {}
    return {}


def acted(notice: Notice) -> bool:
    """Whether somebody has seen to it since."""
    if notice.thing == REQUEST:
        row = ApprovalRequest.objects.filter(pk=_id(notice))
        waiting = row.filter(state="pending").exclude(claimed_until__gt=Now(), claimed_by__gt="")
        return not waiting.exists()
    if notice.thing == ALERT:
        return not Alert.objects.filter(pk=_id(notice), state=Alert.Standing.OPEN).exists()
    if notice.kind == "session.human_requested":
        return not AgentSession.objects.filter(pk=notice.about or NOBODY, wanted_at__isnull=False, taken_by="").exists()
    return False


def owners(notice: Notice) -> set[str]:
    """The actors who have it."""
    found: set[str] = set()
    if notice.thing == REQUEST:
        for both in ApprovalRequest.objects.filter(pk=_id(notice)).values_list("claimed_by", "assigned_to"):
            found |= set(both)
    if notice.thing == ALERT:
        found |= set(Alert.objects.filter(pk=_id(notice)).values_list("held_by", flat=True))
    if notice.about is not None:
        for both in AgentSession.objects.filter(pk=notice.about).values_list("taken_by", "assigned_to"):
            found |= set(both)
    return {actor for actor in found if actor.startswith("user:")}


def alerted(notice: Notice) -> tuple[set[str], set[str]]:
    """Whom the alert is for: the names of its rule, and the actors that "owner" means."""
    if notice.thing != ALERT:
        return set(), set()
    named = {name for to in Alert.objects.filter(pk=_id(notice)).values_list("to", flat=True) for name in to}
    return named - {"owner"}, owners(notice) if "owner" in named else set()


def deciding(notice: Notice, candidates: list[User]) -> tuple[set[UUID], set[UUID]]:
    """Those of them who may decide the request now: on a right that they have in its team, and as its deputies."""
    if notice.thing != REQUEST:
        return set(), set()
    able = [user for user in candidates if decidable(user).filter(pk=_id(notice)).exists()]
    if not ApprovalRequest.objects.filter(pk=_id(notice), approvers_missing__gt=0).exists():
        return {user.pk for user in able}, set()
    as_deputies = {user.pk for user in able if authority.reviewer(user, notice.team, too_few=True).own.deputy}
    return {user.pk for user in able} - as_deputies, as_deputies


def approvers(notice: Notice) -> set[str]:
    """Who approved the call, or the plan, that the entry says is not done."""
    if notice.about is None:
        return set()
    return set(values_of(notice)["event"]["data"].get("approved_by", ()))


def asker(notice: Notice) -> set[str]:
    """Who asked for the export."""
    if notice.thing != EXPORT:
        return set()
    askers = Export.objects.filter(pk=_id(notice), user__isnull=False).values_list("user", flat=True)
    return {f"user:{pk}" for pk in askers}
