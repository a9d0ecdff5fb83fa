"""Writes each sign-in, sign-out and failure into the trail, by whichever way it happened.

Django's own signals are the one place that every way passes (form, link, test client), so nothing can forget
it. A failure names the account only if there is one: people type passwords into the wrong field. While an
account is locked for an address its attempts are refused unread and leave nothing but the one entry of the
lock.
"""

from __future__ import annotations

from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from agentstate.people import trail


def connect() -> None:
    user_logged_in.connect(signed_in, dispatch_uid="people.signed_in")
    user_logged_out.connect(signed_out, dispatch_uid="people.signed_out")
    user_login_failed.connect(sign_in_failed, dispatch_uid="people.sign_in_failed")
    user_locked_out.connect(locked_out, dispatch_uid="people.locked_out")


def signed_in(*, user: Any, request: HttpRequest | None, **_: Any) -> None:
    trail.record("person.signed_in", user, user, address=address_of(request), by=way_of(request))


def signed_out(*, user: Any, request: HttpRequest | None, **_: Any) -> None:
    if user is not None:
        trail.record("person.signed_out", user, user, address=address_of(request))


def sign_in_failed(*, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    if not _refused_unread(request):
        known = _known(credentials.get("username"))
        trail.record("person.sign_in_failed", None, known, address=address_of(request))


def locked_out(*, request: HttpRequest, username: str | None, **_: Any) -> None:
    if not _refused_unread(request):
        trail.record("person.sign_in_throttled", None, _known(username), address=address_of(request))


def _known(username: object) -> Any:
    from agentstate.people.models import User

    return User.objects.filter(username=User.normalize_username(username or "")).first()


def _refused_unread(request: HttpRequest | None) -> bool:
    # axes counts an attempt only when the password was looked at
    locked = getattr(request, "axes_locked_out", False)
    return bool(locked) and not getattr(request, "axes_failures_since_start", None)


def address_of(request: HttpRequest | None) -> str:
    """The peer's network address; empty where there is no request."""
    return str(request.META.get("REMOTE_ADDR", "")) if request is not None else ""


def way_of(request: HttpRequest | None) -> str:
    """`link` for a one-time link, else `password`."""
    match = getattr(request, "resolver_match", None)
    return "link" if match is not None and match.view_name == "people:by_link" else "password"
