"""The page of the library: what is in force of each kind, where it is from, and what waits for approval."""

from __future__ import annotations

from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions.http.frame import console
from sessions.releases import queries


@console
@require_safe
def library(request: HttpRequest) -> HttpResponse:
    """The names in force, by kind."""
    lines = queries.lines(request.user)
    kinds = [(TITLES[kind], list(found)) for kind, found in groupby(lines, lambda line: line.kind)]
    return render(request, "agent_sessions/library.html", {"here": "policies", "kinds": kinds})


TITLES = {
    "policies": "Policies",
    "charts": "Charts",
    "state_schemas": "State schemas",
    "talks": "Topics",
    "profiles": "Profiles",
    "prices": "Prices",
}
