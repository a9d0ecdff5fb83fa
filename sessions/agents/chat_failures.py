"""What an error of the client library means to the runtime: a ModelFailed without the error and the key.

Later may help: no connection, no answer in time, 408, 409, 425, 429, any 5xx, an answer that broke off.
It will not: any other refusal, and an answer that is not a chat completion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx

from agentstate.engine.model import ModelFailed
from sessions.agents.chat_answer import storable
from sessions.agents.providers import Unusable
from sessions.outside.secret import Secret

_LATER = frozenset({408, 409, 425, 429})
_TOLD = 300  # characters of a provider's own words in an error


def failure_of(error: Exception, key: Secret) -> ModelFailed:
    """What `error` means; what it holds stays behind."""
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, Unusable):
            return not_usable(cause)
    statuses = (getattr(cause, "status_code", None) for cause in chain)
    status = next((found for found in statuses if isinstance(found, int)), 0)
    if status >= 300:
        text = f"The model's endpoint answered {status}.{_words(chain, status, key)}"
        return ModelFailed(text, transient=status in _LATER or status >= 500)
    if any("Timeout" in type(cause).__name__ for cause in chain):
        return ModelFailed("The model's endpoint did not answer in time.", transient=True)
    if any("ConnectError" in type(cause).__name__ for cause in chain):
        return ModelFailed("The model's endpoint could not be reached.", transient=True)
    if any(isinstance(cause, httpx.TransportError) for cause in chain):
        return ModelFailed("The connection to the model's endpoint broke.", transient=True)
    if any(isinstance(getattr(cause, "body", None), dict) for cause in chain):
        return ModelFailed(f"The model's endpoint failed midway.{_words(chain, status, key)}", transient=True)
    return ModelFailed("The model's endpoint answered, but not with a chat completion.", transient=False)


def not_usable(reason: Unusable) -> ModelFailed:
    """The endpoint answered, but not with what can be used."""
    return ModelFailed(f"The model's answer is not usable: {reason}.", transient=reason.transient)


def _chain(error: BaseException) -> Iterator[Any]:
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        cause = waiting.pop()
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [cause.__context__, cause.__cause__, getattr(cause, "original_exception", None)]


def _words(chain: list[Any], status: int, key: Secret) -> str:
    """The provider's own words, if they give nothing away; none about a refused key."""
    bodies = (getattr(cause, "body", None) for cause in chain)
    body = next((found for found in bodies if found), None)
    message = body.get("message") if isinstance(body, dict) else body
    if status in (401, 403) or not isinstance(message, str) or not message.strip():
        return ""
    if key.may_be_in(message):
        return " (Its words are left out: they may repeat the key.)"
    return " It says: " + " ".join(storable(message[:_TOLD]).split())
