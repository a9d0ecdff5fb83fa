"""Pages for auditors: who read what, random samples, downtimes of the log, what staff did, and who may look how long.

All of it is plain forms and tables: it works without a script.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentstate.clock import now
from agentstate.database_roles import database_roles
from agentstate.errors import Invalid, Refused
from agentstate.people import grants, reasons
from agentstate.people.models import Membership, Team, User
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.queries import display_names
from agentstate.people.roles import GRANTABLE, Permission, Role
from audit import condition
from sessions.auditing import queries
from sessions.automation.alerts import disk_space
from sessions.core.access import Kind
from sessions.descriptions import values
from sessions.http.frame import as_id, console

PAGE = 50
SAMPLE = 20  # entries, unless the asker says otherwise
STANDING = {  # of a drawn entry that is not sound
    "altered": "Altered: these are not the bytes that the log holds",
    "missing": "Missing: the log has no such entry any more",
    "unreadable": "Unreadable: these bytes are no entry",
    "unproven": "Unproven: the entries around it do not lead to the signed head",
}
WHAT = {
    Kind.LISTED: "Saw a list",
    Kind.READ: "Read",
    Kind.LOG_READ: "Looked into a log",
    Kind.SEARCHED: "Searched",
    Kind.PROFILE_READ: "Read a customer's profile",
    Kind.UNMASKED: "Read private values",
    Kind.PROVED: "Had entries proved",
    Kind.EXPORTED: "Exported",
    Kind.OPENED: "Opened a live view",
    Kind.CLOSED: "Closed a live view",
    Kind.REFUSED: "Was refused",
}
PEOPLE, ANYBODY = "people", "anybody"
BY = {PEOPLE: "People", "programs": "Programs", "links": "By a link", ANYBODY: "All"}  # whose reading is shown
PARTS = {"sequencer": "No head was written", "signer": "No head was signed"}


@console
@require_safe
def access_log(request: HttpRequest) -> HttpResponse:
    """Who read what, newest first; narrowed by reader, session, day and kind. People's reading, unless asked for more:
    programs read all the time.
    """
    given = request.GET
    asked = {name: given.get(name, "").strip() for name in ("reader", "session", "day", "kind", "by")}
    asked["by"] = asked["by"] or (ANYBODY if asked["reader"] else PEOPLE)
    lines = queries.reads(
        request.user,
        reader=asked["reader"],
        session=as_id(asked["session"], "session") if asked["session"] else None,
        day=_day(asked["day"]),
        kind=asked["kind"],
        by="" if asked["by"] == ANYBODY else asked["by"],
        after=given.get("after", ""),
        limit=PAGE + 1,
    )
    context = {
        "here": "audit",
        "part": "access",
        "lines": [(line, WHAT[Kind(line.kind)], _spans(line)) for line in lines[:PAGE]],
        "asked": asked,
        "narrowed": any(text for name, text in asked.items() if name != "by"),
        "filters": urlencode({name: text for name, text in asked.items() if text}),
        "bys": [(value, text, _access_url(asked, value)) for value, text in BY.items()],
        "kinds": [(kind.value, text) for kind, text in WHAT.items()],
        "readers": queries.readers(request.user),
        "names": display_names({line.reader for line in lines}),
        "older": lines[PAGE - 1].cursor if len(lines) > PAGE else "",
        "newest": not given.get("after"),
    }
    return render(request, "audit/access.html", context)


def _access_url(asked: dict[str, str], by: str) -> str:
    """The same list, of another kind of readers."""
    return "?" + urlencode({name: text for name, text in {**asked, "by": by}.items() if text})


def _spans(line: queries.ReadLine) -> list[tuple[UUID, str]]:
    """The sessions that an entry is about, with the entries that were read."""
    facts = line.facts or {}
    told: dict[str, tuple[int, int]] = {}
    for part in (*facts.get("reads", ()), facts):
        for name, (first, last) in part.get("about", {}).items():
            if last >= 0 or name not in told:
                told[name] = (first, last)
    return [(each, _span(told.get(str(each), (-1, -1)))) for each in line.about]


def _span(span: tuple[int, int]) -> str:
    first, last = span
    return "" if last < 0 else f"entry {first}" if first == last else f"entries {first} to {last}"


def _day(text: str, field: str = "day") -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid(f"got {text[:40]!r}, want a day such as 2026-11-21", field=field) from None


@console
@require_safe
def samples(request: HttpRequest) -> HttpResponse:
    """Random entries: a form, and with a seed what it draws."""
    given = request.GET
    asked = {name: given.get(name, "").strip() for name in ("seed", "n", "session", "from", "to")}
    drawn = None
    if asked["seed"]:
        drawn = queries.sample(
            request.user,
            seed=asked["seed"],
            wanted=_count(asked["n"]),
            sessions=tuple(as_id(text, "session") for text in asked["session"].split()),
            opened_from=_midnight(asked["from"], "from"),
            opened_to=_midnight(asked["to"], "to"),
        )
    elif not queries.may_audit(request.user):
        raise _denied(Permission.AUDIT)
    context = {
        "here": "audit",
        "part": "samples",
        "asked": {**asked, "seed": asked["seed"] or secrets.token_hex(8), "n": asked["n"] or SAMPLE},
        "sample": drawn,
        "lines": [(line, STANDING.get(line.standing) or _kind(line.kind)) for line in drawn.entries] if drawn else [],
        "most": queries.MOST_SAMPLED,
    }
    return render(request, "audit/samples.html", context)


def _count(text: str) -> int:
    if not text:
        return SAMPLE
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise Invalid(f"got {text[:20]!r}, want a number", field="n")
    return int(text)


def _midnight(text: str, field: str) -> datetime | None:
    day = _day(text, field)
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


@console
@require_safe
def gaps(request: HttpRequest) -> HttpResponse:
    """How the log is kept up now, and when sequencer or signer did not run."""
    before = request.GET.get("before", "")
    lines = queries.gaps(request.user, before=_leaf(before) if before else None, limit=PAGE + 1)
    present, witnesses = queries.keeping(request.user)
    scrubbed, altered = queries.scrubbed(request.user)
    context = {
        "here": "audit",
        "part": "gaps",
        "scrubbed": scrubbed,
        "altered": altered,
        "names": display_names({name for line in altered for name in line.by}),
        "now": present,
        "warnings": database_roles().warnings,
        "most": condition.MOST,
        "witnesses": witnesses,
        "disks": disk_space.all_disks(),
        "lines": [(line, PARTS.get(line.part, values.plain(line.part))) for line in lines[:PAGE]],
        "older": lines[PAGE - 1].index if len(lines) > PAGE else None,
    }
    return render(request, "audit/gaps.html", context)


def _leaf(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Invalid(f"got {text[:20]!r}, want a number", field="before")
    return int(text)


@console
@require_safe
def staff_log(request: HttpRequest) -> HttpResponse:
    """What staff and accounts did on a day."""
    day = _day(request.GET.get("day", "")) or now().date()
    before = request.GET.get("before", "")
    lines = queries.staff_entries(request.user, day, before=_leaf(before) if before else None, limit=PAGE + 1)
    shown = lines[:PAGE]
    named = {str(value) for line in shown for value in (line.facts or {}).values()}
    people = {each for each in named if queries.READER.fullmatch(each)}
    names = display_names({line.actor for line in shown} | {line.subject for line in shown} | people)
    teams = {str(team.pk): team.name for team in Team.objects.filter(tenant=_person(request).tenant_id)}
    context = {
        "here": "audit",
        "part": "staff",
        "day": day,
        "earlier": _beside(day, -1),
        "later": _beside(day, 1) if day < now().date() else None,
        "lines": [(line, _kind(line.kind), _told(line, names | teams)) for line in shown],
        "names": names,
        "older": shown[-1].seq if len(lines) > PAGE else None,
    }
    return render(request, "audit/staff.html", context)


def _beside(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _kind(kind: str) -> str:
    return values.plain(kind.replace(".", " "))


def _told(line: queries.StaffLine, names: Mapping[str, str]) -> str:
    if line.facts is None:
        return "erased with its subject"
    said = {name: _value(value, names) for name, value in line.facts.items()}
    return ", ".join(f"{values.plain(name).lower()} {value}" for name, value in said.items() if value)


def _value(value: Any, names: Mapping[str, str]) -> str:
    """A fact in words: lists and objects without their punctuation, people by name."""
    if isinstance(value, dict):
        parts = ((values.plain(name).lower(), _value(each, names)) for name, each in value.items())
        return " ".join(f"{name} {text}" for name, text in parts if text)
    if isinstance(value, list):
        return "; ".join(_value(each, names) for each in value)
    return names.get(value, value) if isinstance(value, str) else str(value)


@console
@require_http_methods(["GET", "HEAD", "POST"])
def grants_page(request: HttpRequest) -> HttpResponse:
    """Who may look at what, and until when; POST gives a grant."""
    if request.method != "POST":
        return _grants(request)
    typed = {name: request.POST.get(name, "").strip() for name in ("user", "team", "until", "reason", "sessions")}
    try:
        _give(request, typed)
    except Refused as refusal:
        return _grants(request, typed, refusal)
    messages.success(request, "Audit access given. It ends automatically.")
    return redirect("audit_grants")


def _give(request: HttpRequest, typed: dict[str, str]) -> None:
    user = User.objects.filter(pk=as_id(typed["user"], "user")).first()
    team = Team.objects.filter(pk=as_id(typed["team"], "team")).first()
    until = _midnight(typed["until"], "until")
    if user is None or team is None:
        raise Invalid("choose a person and a team", field="user")
    if until is None:
        raise Invalid("say until when", field="until")
    grants.give(
        user,
        team,
        until=until,
        reason=typed["reason"],
        by=_person(request),
        kinds=request.POST.getlist("kinds"),
        sessions=[as_id(text, "sessions") for text in typed["sessions"].split()],
        opened_from=_midnight(request.POST.get("from", "").strip(), "from"),
        opened_to=_midnight(request.POST.get("to", "").strip(), "to"),
    )


def _grants(request: HttpRequest, typed: dict[str, str] | None = None, refusal: Refused | None = None) -> HttpResponse:
    user = _person(request)
    mine = teams_with(user, Permission.CONFIGURE)
    given = reasons.with_keys(grants.given(user)[:PAGE])
    if not mine and not given and not queries.may_audit(user):
        raise _denied(Permission.AUDIT)
    auditors = Membership.objects.filter(role=Role.AUDITOR, team__in=mine).select_related("user", "team")
    context = {
        "here": "audit",
        "part": "grants",
        "lines": [(grant, _standing(grant), grant.team_id in mine) for grant in given],
        "auditors": sorted({each.user for each in auditors}, key=lambda each: each.display_name),
        "teams": sorted({each.team for each in auditors}, key=lambda each: each.name),
        "kinds": [each.value for each in GRANTABLE if each is not Permission.SEE],
        "typed": typed or {},
        "refusal": refusal,
        "names": display_names({grant.given_by for grant in given}),
    }
    status = (422 if isinstance(refusal, Invalid) else refusal.status) if refusal else 200
    return render(request, "audit/grants.html", context, status=status)


def _standing(grant: grants.AccessGrant) -> str:
    if grant.revoked_at is not None:
        return "Revoked"
    if grant.until <= now():
        return "Ended"
    return "Runs" if grant.starts <= now() else "Not started"


@console
@require_POST
def grant_revoke(request: HttpRequest, grant_id: UUID) -> HttpResponse:
    """Take a grant back."""
    grants.revoke(grant_id, _person(request))
    messages.success(request, "Audit access ended.")
    return redirect("audit_grants")


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # `console` lets nobody else in
    return request.user


def _denied(permission: Permission) -> PermissionDenied:
    return PermissionDenied(f"This needs the permission {permission.value}.", permission=permission.value)
