"""The middleware that records what a reader was shown before the answer leaves."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from audit import access as log
from sessions.core import access
from sessions.http import problems

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")  # of a route


def recorded(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware, the innermost: what the answer was made of is in the reader's log before its first byte leaves."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        with access.collecting() as reads:
            response = get_response(request)
        try:
            access.settle(reads, _door(request))
        except log.NotRecorded as refusal:
            response.close()
            return _instead(request, refusal)
        return response

    return answer


def _door(request: HttpRequest) -> str:
    """As `GET /api/v1/sessions/{session}`: the address as documents write it, without whose session it was."""
    route = request.resolver_match.route if request.resolver_match else request.path.lstrip("/")
    return f"{request.method} /" + _PARAMETER.sub(r"{\1}", route)


def _instead(request: HttpRequest, refusal: log.NotRecorded) -> HttpResponse:
    if f"{request.path_info}/".startswith(problems.PREFIX):
        return problems.instead_of(refusal)
    return render(request, "agent_sessions/refused.html", {"refusal": refusal}, status=refusal.status)
