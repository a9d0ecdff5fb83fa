"""Every refusal of the API as a problem document (RFC 9457): what, why, which field, and what to do."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from agentstate.errors import AgentStateError, Refused

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"


def problem(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler. None for what nobody foresaw: Django answers 500 without a traceback."""
    set_rollback()
    if isinstance(error, AgentStateError):
        return _ours(error)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, RequestDataTooBig):
        return document(413, "too_large", "The body is too large.")
    if isinstance(error, exceptions.APIException):
        return _drf(error)
    return None


def _ours(error: AgentStateError) -> Response:
    if not isinstance(error, Refused):
        log.error("%s: %s", error.code, error)
    facts = {name: value for name, value in error.facts.items() if value not in ("", None)}
    detail = error.detail or error.title
    return document(error.status, error.code, error.title, detail, remedy=error.remedy, **facts)


def _drf(error: exceptions.APIException) -> Response:
    code = str(getattr(error, "default_code", "error"))
    facts: dict[str, Any] = {}
    detail = str(error.detail)
    if isinstance(error, exceptions.ValidationError):
        field, detail = _first(error.detail)
        facts["field"] = field
        facts["errors"] = error.get_full_details()
    response = document(error.status_code, code, HTTPStatus(error.status_code).phrase, detail, **facts)
    if challenge := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        response["Retry-After"] = str(int(wait) + 1)
    return response


def _first(detail: Any, path: str = "") -> tuple[str, str]:
    """The first field that is wrong, as a dotted path, and what is wrong with it."""
    if isinstance(detail, dict):
        key, value = next(iter(detail.items()))
        return _first(value, f"{path}.{key}".lstrip("."))
    if isinstance(detail, list):
        return _first(detail[0], path)
    return path, str(detail)


def document(status: int, code: str, title: str, detail: str = "", **facts: Any) -> Response:
    """A problem document. `facts` that are empty are left out."""
    body = {"type": f"urn:agentstate:problem:{code}", "title": title, "status": status, "code": code}
    if detail:
        body["detail"] = detail
    body |= {name: value for name, value in facts.items() if value not in ("", None)}
    return Response(body, status=status, content_type=MEDIA_TYPE)
