"""Whether a webhook is genuine: Standard Webhooks 1.0 (https://www.standardwebhooks.com), symmetric signatures `v1`.

The time is an argument, which the published library's is not (docs/decisions/0024).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from agentstate.errors import Refused

TOLERANCE = 300  # seconds that a message may be old, or ahead of our clock
MAX_ID = 200  # characters of a message id
MAX_SIGNATURES = 10  # in one header
PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64  # bytes of a secret, as the specification has it


class NotGenuine(Refused):
    """This webhook is unknown, or the message is not signed as it must be."""

    code = "webhook_refused"
    status = 401
    remedy = "Sign with the webhook's secret, as Standard Webhooks says, and within five minutes."


class BadSecret(Refused):
    """A webhook's secret is 24 to 64 bytes as base64, after `whsec_`."""

    code = "bad_webhook_secret"


def secret_bytes(text: str) -> bytes:
    """The key of a secret. Raises BadSecret, which does not repeat it."""
    try:
        key = base64.b64decode(text.strip().removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise BadSecret() from None
    if not SHORTEST <= len(key) <= LONGEST:
        raise BadSecret()
    return key


def sign(key: bytes, message: str, timestamp: int, body: bytes) -> str:
    """The signature of a message, `v1,` and base64."""
    signed = f"{message}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def check(keys: list[bytes], headers: dict[str, str], body: bytes, now: float) -> str:
    """The id of a genuine message. `headers` in lower case. Raises NotGenuine, always in the same words."""
    message, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not 0 < len(message) <= MAX_ID or not message.isascii() or not message.isprintable() or "." in message:
        raise NotGenuine()
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12) or abs(now - int(stamp)) > TOLERANCE:
        raise NotGenuine()
    given = headers.get("webhook-signature", "").split(" ")[:MAX_SIGNATURES]
    if not given or str(int(stamp)) != stamp:
        raise NotGenuine()
    wanted = [sign(key, message, int(stamp), body).encode() for key in keys]
    matches = [hmac.compare_digest(each.encode(), one) for each in given for one in wanted]
    if not any(matches):
        raise NotGenuine()
    return message
