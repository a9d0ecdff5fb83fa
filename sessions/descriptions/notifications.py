"""What pages say of notifications: why, how it stands, by which way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STATES = {
    "new": ("clock", "Pending"),
    "open": ("right", "Resumed"),
    "ended": ("check", "Ended"),
    "due": ("clock", "Waits"),
    "sent": ("check", "Sent"),
    "failed": ("warn", "Not delivered"),
    "passed": ("right", "Cancelled"),
}
WHY = {
    "told": "everyone was notified",
    "seen": "seen",
    "acted": "acknowledged",
    "merged": "merged with an earlier notification",
    "condition_false": "the condition was false",
    "unreadable": "an expression failed on this event",
    "bad_value": "the key returned no text",
    "switched_off": "the rule was off",
    "queue_full": "the queue was full",
    "erased": "the text was erased",
    "nobody": "no recipients",
    "not_entitled": "the person lost access",
    "forgotten": "the source was deleted",
    "no_address": "the person has no address",
    "recipient_refused": "the mail server refused the address",
    "mail_refused": "the mail server refused the message",
    "mail_server": "the mail server could not be used",
    "http_status": "the endpoint returned an error status",
    "gone": "the endpoint returned 410 (gone)",
    "failing": "the endpoint failed for five days",
    "endpoint_off": "the endpoint was off",
    "by_hand": "by hand",
    "bad_webhook_secret": "the secret is not a webhook secret",
    "no_secret": "the secret is missing",
    "address_refused": "the address is private",
    "host_refused": "the host is not allowed",
    "no_such_host": "host not found",
    "no_connection": "no connection",
    "not_trusted": "the certificate is not trusted",
    "too_slow": "timeout",
    "too_large": "the response was too large",
    "no_http": "the response is not HTTP",
    "redirected": "the endpoint sent a redirect",
    "more": "over the hourly limit",
}
WAYS = {"in_app": "in the app", "email": "by email"}
PARTS = {
    "owner": "its owner",
    "reviewers": "its approvers",
    "deputies": "the team's deputies",
    "approvers": "the people who approved it",
    "alert": "the recipients of the alert",
    "asker": "the person who requested it",
}
UNTIL = {
    "told": "until all steps are done",
    "seen": "until someone has seen it",
    "acted": "until someone acknowledges it",
}


def why(code: str) -> str:
    """A reason in words; a code of ours that has none, as it is."""
    return WHY.get(code, code.replace("_", " "))


def step(one: Mapping[str, Any]) -> str:
    """A step of a rule as a sentence: when, whom, how."""
    when = f"after {_span(one['after'])}" if one["after"] else "at once"
    ways = _joined([_way(each) for each in one["by"]], "or else" if one["how"] == "first" else "and")
    people = _joined([PARTS.get(each, each.replace(":", " ")) for each in one["to"]], "and")
    return f"{when}: {f'{people}, ' if people else ''}{ways}"


def _way(way: str) -> str:
    return WAYS.get(way) or f"webhook {way.partition(':')[2]}"


def _span(seconds: int) -> str:
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {word}{'s' if seconds != size else ''}"
    return f"{seconds} seconds"


def _joined(words: Sequence[str], last: str) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
