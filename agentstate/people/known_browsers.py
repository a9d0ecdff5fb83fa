"""Browsers in which somebody has signed in before, by a signed cookie that names their accounts.

The cookie lets nobody in. It gives a browser a counter of wrong passwords of its own, so that a stranger who tries the
same account, or from the same address, does not slow its owner.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from agentstate.people.models import User

COOKIE = "known_browser"
SALT = "people.known_browser"
SECONDS = 180 * 24 * 3600
ACCOUNTS = 10  # of people who share a browser; the oldest is dropped first


def browser_of(request: HttpRequest, name: str) -> str:
    """The id of this browser if the account `name` has signed in with it, else ""."""
    browser, accounts = _read(request)
    user = User.objects.filter(username=name).only("pk").first() if accounts else None
    return browser if user is not None and str(user.pk) in accounts else ""


def remember(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Gives this browser the cookie, with `user` among its accounts."""
    browser, accounts = _read(request)
    accounts = [*(each for each in accounts if each != str(user.pk)), str(user.pk)][-ACCOUNTS:]
    response.set_cookie(
        COOKIE,
        signing.dumps([browser or secrets.token_hex(16), accounts], salt=SALT),
        max_age=SECONDS,
        path=reverse("people:sign_in"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    try:
        browser, accounts = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return "", []
    return browser, accounts
