"""The door for webhooks. Their signature says who sends them; there is no token and no browser."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from agentstate.errors import Refused
from agentstate.people.throttles import FailureThrottle
from sessions.automation.triggers import hooks
from sessions.http.parsing import TooLarge
from sessions.http.problems import instead_of
from sessions.http.rendering import encode
from sessions.outside.signature import NotGenuine


class HookFailures(FailureThrottle):
    """Of messages that are not genuine, from one address."""

    scope = "hook_failures"
    default_rate = "60/min"


class TooManyRefused(Refused):
    """Too many messages from this address were not genuine."""

    code = "throttled"
    status = 429


@csrf_exempt
@require_POST
def receive(request: HttpRequest, hook: str) -> HttpResponse:
    """POST /api/v1/hooks/{id}: 202 once the message is kept, and again for the same message id."""
    failures = HookFailures()
    try:
        if failures.spent(request):
            raise TooManyRefused()
        taken = hooks.take_in(hook, request.headers, _body(request))
    except NotGenuine as refusal:
        failures.count(request)
        return instead_of(refusal)
    except Refused as refusal:
        return instead_of(refusal)
    headers = {"Idempotency-Replayed": "true"} if taken.repeated else {}
    return HttpResponse(
        encode({"firing": str(taken.firing)}), status=202, content_type="application/json", headers=headers
    )


def _body(request: HttpRequest) -> bytes:
    length = request.headers.get("Content-Length") or "0"
    if not length.isdecimal() or int(length) > hooks.MAX_BODY:
        raise TooLarge(f"at most {hooks.MAX_BODY} bytes")
    try:
        return request.body
    except RequestDataTooBig:
        raise TooLarge(f"at most {hooks.MAX_BODY} bytes") from None
