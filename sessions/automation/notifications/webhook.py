"""Webhooks out, as Standard Webhooks 1.0 has them: `webhook-id`, `webhook-timestamp`, `webhook-signature` over a JSON
body, under the secret that the endpoint names. While a secret changes two stand in it, and both sign.

Called through the guarded door (`sessions.outside.client`): public addresses or allowed networks only, looked up once,
no redirect, bounded in time and size. Whatever is answered with 2xx has arrived; 410 says that nothing is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from agentstate.engine.instants import stamp
from sessions.automation.notifications.outcome import Outcome, plain
from sessions.automation.notifications.texts import Told, payload
from sessions.models.notifications import NoticeEndpoint
from sessions.outside import answers, client, secrets, signature
from sessions.outside.refusals import NotReached
from sessions.outside.signature import BadSecret

BOUNDS = client.Bounds(connect=3.0, seconds=10.0, size=64_000)
LISTED = 100  # notices of one message; the others are counted
COLLECTED = "notices.collected"  # the type of a message that carries several
_json = msgspec.json.Encoder()


def body_of(told: Sequence[Told], more: int = 0) -> bytes:
    """The message of one notice, of its kind; of several, as a list. The same again for each try."""
    at = max(each.at for each in told)
    listed = [payload(each) for each in told[:LISTED]]
    if len(told) == 1 and not more:
        return _json.encode({"type": told[0].kind, "timestamp": stamp(at), "data": listed[0]})
    data = {"notices": listed, "more": more + len(told) - len(listed)}
    return _json.encode({"type": COLLECTED, "timestamp": stamp(at), "data": data})


def send(endpoint: NoticeEndpoint, message: UUID, body: bytes, now: datetime) -> Outcome:
    """Send it, signed at this instant."""
    try:
        signed = _signed(endpoint.secret, str(message), int(now.timestamp()), body)
        host = urlsplit(endpoint.url).hostname or ""
        answer = client.ask(client.Wanted("POST", endpoint.url, signed, body), client.reach_of([host]), BOUNDS)
    except BadSecret:
        return Outcome(why="bad_webhook_secret")
    except NotReached as error:
        return Outcome(why=error.code)
    if 200 <= answer.status < 300:
        return Outcome(status=answer.status, answer=plain(answer.body))
    asked = answers.patience(answer, now) if answer.status in (429, 502, 503, 504) else 0.0
    gone = answer.status == 410
    why = "gone" if gone else "http_status"
    return Outcome(why, answer.status, plain(answer.body), asked=asked, gone=gone)


def _signed(secret: str, message: str, timestamp: int, body: bytes) -> tuple[tuple[str, str], ...]:
    keys = [signature.secret_bytes(each) for each in secrets.named(secret).reveal().split()]
    return (
        ("Content-Type", "application/json"),
        ("User-Agent", "AgentState"),
        ("webhook-id", message),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", " ".join(signature.sign(key, message, timestamp, body) for key in keys)),
    )
