"""What every page shares: who may open it, and how a refusal is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from agentstate.errors import Invalid, Refused
from agentstate.people.models import User
from audit.keys import Erased
from sessions.core import alterations
from sessions.core.visibility import may_export

View = Callable[..., HttpResponseBase]


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
