"""What an answer holds: JSON or text, of the type that was asked for, as deep and as large as can be handled."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from agentstate.engine import schemas
from agentstate.engine.schemas import bounds
from sessions.outside import refusals
from sessions.outside.client import Answered

MOST_PATIENCE = 3_600.0  # seconds that we wait because somebody says so
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=Decimal)


def json_of(answer: Answered) -> Any:
    """The JSON value. Raises WrongType, NotText, NotJson, TooDeep."""
    media = _media(answer)
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        raise refusals.WrongType("want JSON.")
    text_of(answer, media)
    try:
        found = _decoder.decode(answer.body)
    except RecursionError:
        raise refusals.TooDeep() from None
    except (msgspec.DecodeError, ValueError):
        raise refusals.NotJson() from None
    try:
        bounds.check(found, "answer")
    except schemas.BreaksSchema:
        raise refusals.TooDeep() from None
    return found


def text_of(answer: Answered, media: str = "text/plain") -> str:
    """The text. Raises WrongType unless it is of type `media`, and NotText."""
    if _media(answer) != media:
        raise refusals.WrongType(f"want {media}.")
    try:
        return answer.body.decode("utf-8")
    except UnicodeDecodeError:
        raise refusals.NotText() from None


def patience(answer: Answered, now: datetime) -> float:
    """The seconds that Retry-After asks to wait (RFC 9110 section 10.2.3), at most MOST_PATIENCE; 0 without it."""
    said = answer.headers.get("retry-after", "").strip()
    try:
        seconds = float(int(said)) if said.isascii() and said.isdigit() else _until(said, now)
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), MOST_PATIENCE)


def _until(said: str, now: datetime) -> float:
    then = parsedate_to_datetime(said)
    return (then.replace(tzinfo=then.tzinfo or UTC) - now).total_seconds()


def _media(answer: Answered) -> str:
    return answer.headers.get("content-type", "").split(";")[0].strip().lower()
