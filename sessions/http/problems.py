"""Every refusal of the API as a problem document (RFC 9457): what, why, which field, and what to do.

`problem` turns what the operations raise into one; `everywhere` does it for what never reaches an operation (unknown
addresses, a bad Host header, an error nobody foresaw). No document holds a traceback, a path or a statement.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from agentstate.errors import AgentStateError, NotFound, Refused
from agentstate.outages import OUTAGES
from sessions.core import alterations
from sessions.http.rendering import encode

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
PREFIX = "/api/"
WORDS = 500  # characters of a detail: what is quoted in one may be as long as a body
WRONG = 100  # fields of one body that a refusal names


def problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler. None for what nobody foresaw: Django logs it, and `everywhere` answers 500."""
    set_rollback()
    error = alterations.instead_of(error, context.get("kwargs") or {}) or error
    if isinstance(error, AgentStateError):
        return _ours(error, context.get("kwargs") or {})
    if isinstance(error, OUTAGES):
        log.error("a server does not answer: %s", error)
        return _response(503, "unavailable", detail="A server behind this one does not answer. Try again.", wait=1)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, RequestDataTooBig):
        return _response(413, "too_large", "The body is too large.")
    return _drf(error) if isinstance(error, exceptions.APIException) else None


def _ours(error: AgentStateError, address: dict[str, Any]) -> Response:
    """A refusal of our own. What is not found was named by the address; what is broken is told to the log alone."""
    if not isinstance(error, Refused):
        log.error("%s: %s", error.code, error)
        return _response(error.status, error.code, error.title)
    facts = dict(error.facts)
    if isinstance(error, NotFound):
        named = error.code.removeprefix("unknown_") if len(address) > 1 else next(iter(address), "")
        if named in address:
            facts.setdefault("field", named)
    return _response(error.status, error.code, error.title, error.detail or error.title, remedy=error.remedy, **facts)


def _drf(error: exceptions.APIException) -> Response:
    facts: dict[str, Any] = {}
    codes, detail = error.get_codes(), str(error.detail)
    code = codes if isinstance(codes, str) else error.default_code
    if isinstance(error, exceptions.ValidationError):
        wrong = list(islice(_fields(error.detail), WRONG))
        facts = {"field": wrong[0]["field"], "errors": wrong}
        code, detail = "invalid", wrong[0]["detail"]
    response = _response(error.status_code, code, detail=detail, wait=getattr(error, "wait", None), **facts)
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    return response


def _fields(detail: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Every field that is wrong, as a dotted path, with what is wrong with it."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            yield from _fields(value, f"{path}.{key}".lstrip("."))
    elif isinstance(detail, list):
        for value in detail:
            yield from _fields(value, path)
    else:
        yield {"field": path, "detail": str(detail)[:WORDS]}


def _response(status: int, code: str, title: str = "", detail: str = "", **facts: Any) -> Response:
    wait = facts.pop("wait", None)
    response = Response(document(status, code, title, detail, **facts), status=status, content_type=MEDIA_TYPE)
    if wait is not None:
        response["Retry-After"] = str(int(wait) + 1)
    return response


def document(status: int, code: str, title: str = "", detail: str = "", **facts: Any) -> dict[str, Any]:
    """A problem document. `facts` that are empty are left out."""
    title = title or HTTPStatus(status).phrase
    body = {"type": f"urn:agentstate:problem:{code}", "title": title, "status": status, "code": code}
    if detail:
        body["detail"] = detail[:WORDS]
    return body | {name: value for name, value in facts.items() if value not in ("", None)}


def everywhere(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware, the outermost: below /api/ every error is a problem document, and no answer is kept by a cache."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        if not f"{request.path_info}/".startswith(PREFIX):
            return get_response(request)
        response = _unreadable(request) or get_response(request)
        if response.status_code >= 400 and "json" not in response.headers.get("Content-Type", ""):
            response = _instead(response)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return answer


def _unreadable(request: HttpRequest) -> HttpResponse | None:
    """The answer to what no operation must see: a body in chunks, which Django takes for an empty one, and an address
    with NUL, which PostgreSQL does not take at all.
    """
    if "Transfer-Encoding" in request.headers:
        return HttpResponse(status=411)
    return HttpResponse(status=404) if "\x00" in request.path_info else None


def instead_of(refusal: Refused) -> HttpResponse:
    """The problem document of a refusal that comes when the operation is over."""
    body = document(refusal.status, refusal.code, refusal.title, refusal.detail or refusal.title, remedy=refusal.remedy)
    return HttpResponse(encode(body), status=refusal.status, content_type=MEDIA_TYPE)


_PAGES = {
    400: ("bad_request", ""),
    404: ("unknown_address", "There is no such address; addresses end without a slash."),
    405: ("method_not_allowed", ""),
    411: ("length_required", "Send the body with its Content-Length, not in chunks."),
    413: ("too_large", ""),
}


def _instead(page: HttpResponseBase) -> HttpResponse:
    """The problem document in place of an error page of Django."""
    status = page.status_code
    code, detail = _PAGES.get(status, ("error", ""))
    response = HttpResponse(encode(document(status, code, detail=detail)), status=status, content_type=MEDIA_TYPE)
    for name in ("Allow", "Retry-After", "WWW-Authenticate"):
        if name in page.headers:
            response.headers[name] = page.headers[name]
    response.headers["Content-Length"] = str(len(response.content))  # outside of the middleware that would set it
    return response
