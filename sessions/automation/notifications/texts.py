"""What a notice says: a title, a reference and a link. Never a word of a customer, whatever way it goes: what stands in
a session is read in the session, where masks and permissions hold and reading is on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urljoin
from uuid import UUID

import msgspec
from django.conf import settings
from django.urls import reverse

from agentstate.engine.instants import stamp
from agentstate.people.models import Team
from sessions.automation.notifications.definition import TEST
from sessions.automation.notifications.subjects import ALERT, EXPORT, REQUEST
from sessions.models.alerts import Alert
from sessions.models.notifications import Notice, NoticeRule, NoticeRuleVersion
from sessions.models.sessions import ApprovalRequest, Export

TITLES = {
    "approval.requested": "Needs a decision",
    "request.escalated": "A decision was passed on",
    "request.ended": "A request ended",
    "call.withdrawn": "Approved, not done",
    "plan.round_ended": "An approved plan was not carried out whole",
    "request.undone": "A held decision was undone",
    "decision.made": "A decision was made",
    "session.human_requested": "A customer asks for a person",
    "session.taken_over": "A session was taken over",
    "session.passed_on": "A session was passed on",
    "session.handed_back": "A session was handed back",
    "session.failed": "A session failed",
    "work.assigned": "Work was assigned",
    "call.doubted": "A call is in doubt",
    "tool.failed": "A tool failed",
    "run.stopped": "A run was stopped",
    "alert.raised": "Alert",
    "alert.escalated": "An alert went on",
    "alert.closed": "An alert is over",
    "export.ready": "An export is ready",
    "export.failed": "An export failed",
    TEST: "A test, nothing more",
}
SEVERITY = {"info": "For your information", "warning": "Warning", "critical": "Critical"}


class Told(msgspec.Struct, frozen=True):
    """One notice in words. `path` leads to what it is about."""

    id: UUID
    kind: str
    title: str
    severity: str
    rule: str
    team: str
    reference: str  # the short form of the session's id that people say aloud
    path: str
    at: datetime
    count: int
    session: UUID | None = None
    seq: int | None = None
    request: UUID | None = None
    alert: UUID | None = None
    export: UUID | None = None

    @property
    def link(self) -> str:
        """Its address for who is elsewhere."""
        return absolute(self.path)


def absolute(path: str) -> str:
    """An address of this installation, as others reach it."""
    return urljoin(settings.SITE_URL, path)


def told(notices: Sequence[Notice]) -> dict[UUID, Told]:
    """Each of them in words; a handful of queries, however many there are."""
    rules = {row.pk: row for row in NoticeRule.objects.filter(pk__in={each.rule for each in notices})}
    titles = _titles(notices)
    teams = dict(Team.objects.filter(pk__in={each.team for each in notices}).values_list("pk", "slug"))
    details = _details(notices)
    return {
        each.pk: Told(
            id=each.pk,
            kind=each.kind,
            title=_line(titles.get((each.rule, each.version), "") or titled(each.kind), details.get(each.pk, "")),
            severity=each.severity or "info",
            rule=rules[each.rule].name if each.rule in rules else "",
            team=teams.get(each.team, ""),
            reference=each.about.hex[-6:].upper() if each.about else "",
            path=_path(each),
            at=each.at,
            count=each.count,
            session=each.about,
            seq=each.about_seq,
            request=each.thing_id if each.thing == REQUEST else None,
            alert=each.thing_id if each.thing == ALERT else None,
            export=each.thing_id if each.thing == EXPORT else None,
        )
        for each in notices
    }


def titled(kind: str) -> str:
    """What a kind is called."""
    return TITLES.get(kind, kind.replace(".", " ").replace("_", " ").capitalize())


def _titles(notices: Sequence[Notice]) -> dict[tuple[UUID | None, int], str]:
    """The titles that rules give themselves."""
    wanted = {(each.rule, each.version) for each in notices}
    rows = NoticeRuleVersion.objects.filter(rule__in={rule for rule, _ in wanted})
    return {(row.rule, row.version): row.definition.get("title", "") for row in rows}


def _details(notices: Sequence[Notice]) -> dict[UUID, str]:
    """What is added to a title: tier and tool of a request, the rule of an alert."""
    things = {each.thing_id for each in notices}
    of_things = {row.pk: f"tier {row.tier}, {row.tool}" for row in ApprovalRequest.objects.filter(pk__in=things)}
    of_things |= {row.pk: row.name for row in Alert.objects.filter(pk__in=things)}
    failed = Export.objects.filter(pk__in=things, state="failed")
    of_things |= {row.pk: row.problem.replace("_", " ") for row in failed}
    return {each.pk: of_things[each.thing_id] for each in notices if each.thing_id in of_things}


def _line(title: str, detail: str) -> str:
    """One line, whatever stood in it: it becomes the subject of a mail."""
    return " ".join(f"{title}: {detail}".split()) if detail else " ".join(title.split())


def _path(notice: Notice) -> str:
    if notice.thing == REQUEST and notice.thing_id:
        return reverse("decision", args=[notice.thing_id])
    if notice.about is not None:
        return reverse("session", args=[notice.about])
    if notice.thing == ALERT:
        return reverse("alerts")
    if notice.thing == EXPORT:
        return reverse("audit_exports")
    return reverse("notices")


def payload(each: Told) -> dict[str, Any]:
    """One notice as a webhook carries it: ids, names that staff gave, a link."""
    ids = {name: getattr(each, name) for name in ("session", "request", "alert", "export")}
    return {
        "notice": str(each.id),
        "kind": each.kind,
        "title": each.title,
        "severity": each.severity,
        "rule": each.rule,
        "team": each.team,
        "at": stamp(each.at),
        "count": each.count,
        "reference": each.reference,
        "seq": each.seq,
        "link": each.link,
        **{name: str(value) if value else None for name, value in ids.items()},
    }
