"""Which pages may open a socket: our own, to the port, and those of CSRF_TRUSTED_ORIGINS. The rule of Django's forms.

Cookies do not know ports: a page of another server on this host would otherwise open a socket as whoever is signed in.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.middleware.csrf import CsrfViewMiddleware


class SameOrigin:
    """ASGI middleware: denies a WebSocket whose Origin is absent, or is not its own host, scheme and port."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        allowed = is_same_origin(scope)
        return await (self.application if allowed else WebsocketDenier())(scope, receive, send)


def is_same_origin(scope: Any) -> bool:
    """Whether Django would take a form from the page that opens this socket."""
    scheme = "https" if scope.get("scheme") == "wss" else "http"
    request = ASGIRequest({**scope, "type": "http", "method": "GET", "scheme": scheme}, BytesIO())
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return "HTTP_ORIGIN" in request.META and bool(_forms()._origin_verified(request))  # type: ignore[attr-defined]


def _forms() -> CsrfViewMiddleware:
    """Django's rule, which reads the settings once."""
    return CsrfViewMiddleware(lambda request: HttpResponse())
