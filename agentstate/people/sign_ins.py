"""Writes each sign-in, sign-out and failure into the trail, by whichever way it happened.

Django's own signals are the one place that every way passes (form, link, test client), so nothing can forget
it. A failure names the account only if there is one: people type passwords into the wrong field. Attempts that
have to wait are refused unread and leave nothing but the one entry of the beginning. Of names that no account has
an address leaves so many entries a minute, and the others are not recorded: anybody could fill the log with them.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from agentstate.people import trail
from agentstate.people.throttles import UnknownNames


def connect() -> None:
    user_logged_in.connect(signed_in, dispatch_uid="people.signed_in")
    user_logged_out.connect(signed_out, dispatch_uid="people.signed_out")
    user_login_failed.connect(sign_in_failed, dispatch_uid="people.sign_in_failed")


def signed_in(*, user: Any, request: HttpRequest | None, **_: Any) -> None:
    trail.record("person.signed_in", user, user, address=address_of(request), by=way_of(request))


def signed_out(*, user: Any, request: HttpRequest | None, **_: Any) -> None:
    if user is not None:
        trail.record("person.signed_out", user, user, address=address_of(request))


def sign_in_failed(*, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    _failure("person.sign_in_failed", _known(credentials.get("username")), request)


def slowed(request: HttpRequest, account: Any) -> None:
    """Wrong passwords have made attempts at this account, or from this address, wait."""
    _failure("person.sign_in_throttled", account, request)


def _failure(kind: str, account: Any, request: HttpRequest | None) -> None:
    if account is not None or request is None or UnknownNames().count(request):
        trail.record(kind, None, account, address=address_of(request))


def _known(username: object) -> Any:
    from agentstate.people.models import User

    return User.objects.filter(username=User.normalize_username(username or "")).first()


def address_of(request: HttpRequest | None) -> str:
    """The peer's network address; empty where there is no request."""
    return str(request.META.get("REMOTE_ADDR", "")) if request is not None else ""


def way_of(request: HttpRequest | None) -> str:
    """`link` for a one-time link, else `password`."""
    match = getattr(request, "resolver_match", None)
    return "link" if match is not None and match.view_name == "people:by_link" else "password"
