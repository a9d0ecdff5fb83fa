"""What every page shares: the frame around it, who may open it, and how a refusal is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agentstate import clock
from agentstate.errors import Invalid, Refused
from agentstate.people.models import User
from agentstate.people.permissions import holds_any, teams_with
from agentstate.people.roles import Permission
from audit import condition
from audit.keys import Erased
from sessions import alterations, disk_space, queries
from sessions import stops as stopping
from sessions.queries import alerts as alerting
from sessions.queries import notifications as notified
from sessions.queries import privacy as subjects
from sessions.queries import proposals as proposing
from sessions.queries import stops as stop_lines
from sessions.queries import work
from sessions.visibility import may_export

View = Callable[..., HttpResponseBase]
INSIDE = (Permission.CONFIGURE, Permission.CHANGE_STATE)


class Shell:
    """The frame's facts, asked for only when a template shows them: most fragments show none."""

    def __init__(self, request: HttpRequest) -> None:
        self._user = getattr(request, "user", None)
        self.at = clock.now()

    @property
    def person(self) -> User | None:
        """Who is signed in."""
        return self._user if isinstance(self._user, User) else None

    @cached_property
    def open_decisions(self) -> int:
        """The badge: what waits for this person, counted by the query that lists it."""
        return queries.decidable(self.person).count() if self.person else 0

    @cached_property
    def bell(self) -> notified.Bell:
        """The notices that this person has not read."""
        return notified.bell(self.person, 0) if self.person else notified.SILENT

    @cached_property
    def stops(self) -> tuple[stopping.StopLine, ...]:
        """What is stopped now in the person's teams."""
        return stop_lines.in_force_for(self.person) if self.person else ()

    @cached_property
    def may_stop(self) -> bool:
        """Whether the page of stops is theirs."""
        return holds_any(self.person, Permission.STOP) if self.person else False

    @cached_property
    def may_take_over(self) -> bool:
        """Whether work is handed to them, and the page of handover is theirs."""
        return bool(teams_with(self.person, Permission.TAKE_OVER)) if self.person else False

    @cached_property
    def wanted(self) -> int:
        """How many customers wait for a person."""
        return work.wanted_count(self.person) if self.person else 0

    @cached_property
    def may_answer_proposals(self) -> bool:
        """Whether the page of proposals is theirs."""
        return proposing.may_open(self.person) if self.person else False

    @cached_property
    def proposals(self) -> int:
        """Proposals that wait for this person's answer."""
        return proposing.waiting_count(self.person) if self.person else 0

    @cached_property
    def stuck(self) -> int:
        """Sessions in which somebody must step in, counted by the query that lists them."""
        return queries.stuck_sessions(self.person).count() if self.person else 0

    @cached_property
    def alerts(self) -> int:
        """What wants this person's eye, counted by the query that lists it."""
        return alerting.mine(self.person).count() if self.person else 0

    @cached_property
    def may_look_inside(self) -> bool:
        """Whether how agents are made concerns this person: who sets them up, or changes what their sessions hold."""
        return any(teams_with(self.person, each) for each in INSIDE) if self.person else False

    @cached_property
    def may_configure(self) -> bool:
        """Whether this person sets a team up."""
        return bool(teams_with(self.person, Permission.CONFIGURE)) if self.person else False

    @cached_property
    def may_serve_subjects(self) -> bool:
        """Whether the page about erasures, legal holds and retention is theirs."""
        return subjects.may_open(self.person) if self.person else False

    @cached_property
    def trouble(self) -> condition.Trouble | None:
        """What is wrong with the ledger, for admins; that somebody altered it, for supervisors and auditors as well."""
        if self.person is None:
            return None
        told = condition.read(self.person.tenant_id).told
        if told is None:
            return None
        if told.code in condition.TAMPERED:
            return told if alterations.is_told(self.person) else None
        return told if teams_with(self.person, Permission.CONFIGURE) else None

    @cached_property
    def altered(self) -> alterations.Altered | None:
        """What was altered in the database, for supervisors, auditors and admins, until it is acknowledged."""
        return alterations.banner(self.person) if self.person is not None else None

    @cached_property
    def disk(self) -> condition.Trouble | None:
        """Which disk is full or nearly so, for admins."""
        if self.person is None or not teams_with(self.person, Permission.CONFIGURE):
            return None
        return disk_space.trouble()

    @cached_property
    def may_play_caller(self) -> bool:
        """Whether the page that plays a caller is theirs."""
        if self.person is None:
            return False
        opens = teams_with(self.person, Permission.OPEN_SESSION)
        return bool(set(opens) & set(teams_with(self.person, Permission.SPEAK_AS_CUSTOMER)))


def shell(request: HttpRequest) -> dict[str, Any]:
    """The context processor of every template: `frame` and the instant that ages are counted from."""
    frame = Shell(request)
    return {"frame": frame, "at": frame.at}


def console(view: View) -> View:
    """A page for signed-in people. What a query or command refuses becomes a page that says so."""

    @never_cache
    @login_required
    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            _must_be_text(request)
            return view(request, *args, **kwargs)
        except Exception as error:
            altered = alterations.instead_of(error, kwargs)
            if altered is not None or isinstance(error, alterations.SessionAltered):
                return _altered(request, altered or error, kwargs.get("session_id"))
            if isinstance(error, Refused | Erased):
                return refused(request, error)
            raise

    return shown


def _must_be_text(request: HttpRequest) -> None:
    """No form of ours sends NUL, and PostgreSQL keeps none in text."""
    for sent in (request.GET, request.POST):
        for name, values in sent.lists():
            if any("\x00" in value for value in values):
                raise Invalid("NUL is not text", field=name.replace("\x00", "")[:50])


def refused(request: HttpRequest, refusal: Refused | Erased) -> HttpResponse:
    """The page of a refusal that has no better place to be shown."""
    if refusal.status == 404:
        raise Http404(str(refusal))
    return render(request, "agent_sessions/refused.html", {"refusal": refusal}, status=refusal.status)


def _altered(request: HttpRequest, refusal: Exception, session: UUID | None) -> HttpResponse:
    """The page of an altered session, with the export for those who may take it out: it says so first."""
    try:
        if session is not None:
            may_export(me(request), session)
    except Refused:
        session = None
    context = {"refusal": refusal, "export": session}
    return render(request, "agent_sessions/refused.html", context, status=alterations.SessionAltered.status)


def as_id(text: str, field: str) -> UUID:
    """An id out of a query string. Raises Invalid."""
    try:
        return UUID(text)
    except ValueError:
        raise Invalid(f"got {text[:50]!r}, want an id", field=field) from None


def me(request: HttpRequest) -> User:
    """The person who is signed in."""
    assert isinstance(request.user, User)  # `console` requires it
    return request.user


@console
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The front door leads to the wall."""
    return redirect("live")
