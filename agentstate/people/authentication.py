"""Who calls the API: `Authorization: Bearer ags_…`. Browsers use Django's session with CSRF beside it.

Revoked tokens and disabled users are refused at the next request, because nothing is remembered between two.
"""

from __future__ import annotations

from typing import NoReturn

from django.db.models import Q
from django.db.models.functions import Now
from rest_framework.authentication import (
    BaseAuthentication,
    SessionAuthentication,
    get_authorization_header,
)
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from agentstate.people import trail
from agentstate.people.models import ApiToken, User
from agentstate.people.queries import A_MINUTE, live_token
from agentstate.people.sign_ins import address_of
from agentstate.people.throttles import TokenFailures


class BearerAuthentication(BaseAuthentication):
    """DRF authentication by API token; `request.auth` is the ApiToken. List it first: refusals are 401."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, text = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = live_token(text.strip())
        if token is None:
            self._refuse(request)
        mark_used(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'

    def _refuse(self, request: Request) -> NoReturn:
        failures = TokenFailures()
        if not failures.count(request):
            raise Throttled(failures.wait(), "Too many refused tokens from this address.")
        trail.record("token.refused", None, None, address=address_of(request))
        raise AuthenticationFailed("This token is unknown, revoked, or its user is disabled.", "token_refused")


class BrowserAuthentication(SessionAuthentication):
    """DRF authentication by the browser's session. Every method that writes needs the CSRF token."""


def mark_used(token: ApiToken) -> None:
    """Write `last_used`, at most once a minute however many requests there are."""
    if getattr(token, "stale", False):
        due = Q(last_used=None) | Q(last_used__lt=Now() - A_MINUTE)
        ApiToken.objects.filter(due, pk=token.pk).update(last_used=Now())
