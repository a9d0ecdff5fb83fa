"""What pages say of notifications: why, how it stands, by which way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STATES = {
    "new": ("clock", "Waits to be judged"),
    "open": ("right", "Goes on"),
    "ended": ("check", "Ended"),
    "due": ("clock", "Waits"),
    "sent": ("check", "Sent"),
    "failed": ("warn", "Not delivered"),
    "passed": ("right", "Not wanted any more"),
}
WHY = {
    "told": "everybody was told",
    "seen": "somebody has seen it",
    "acted": "somebody has acted",
    "merged": "counted on an earlier one",
    "condition_false": "its condition was not true",
    "unreadable": "an expression could not be read on this",
    "bad_value": "its key gave no text",
    "switched_off": "the rule was off by then",
    "queue_full": "as much was waiting as may",
    "erased": "its words were erased",
    "nobody": "it reached nobody",
    "not_entitled": "the person may not see it any more",
    "forgotten": "what it was about is gone",
    "no_address": "the person has no address",
    "recipient_refused": "the mail server refused the address",
    "mail_refused": "the mail server refused the message",
    "mail_server": "the mail server could not be used",
    "http_status": "it answered with a refusal",
    "gone": "it answered 410: it wants nothing more",
    "failing": "it had failed for five days",
    "endpoint_off": "the endpoint was off by then",
    "by_hand": "by hand",
    "bad_webhook_secret": "its secret is no webhook secret",
    "no_secret": "its secret is not there",
    "address_refused": "it leads to a private address",
    "host_refused": "this installation does not call that host",
    "no_such_host": "there is no such host",
    "no_connection": "nobody answered",
    "not_trusted": "its certificate is not trusted",
    "too_slow": "it took too long",
    "too_large": "it answered too much",
    "no_http": "it does not speak HTTP",
    "redirected": "it wanted to redirect us",
    "more": "more than is shown in an hour",
}
WAYS = {"in_app": "in the app", "email": "by e-mail"}
PARTS = {
    "owner": "who has it",
    "reviewers": "who may decide it",
    "deputies": "the team's deputies who may decide it",
    "approvers": "who approved it",
    "alert": "whom the alert is for",
    "asker": "who asked for it",
}
UNTIL = {
    "told": "all steps are taken",
    "seen": "until somebody has seen it",
    "acted": "until somebody has acted",
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
