"""Which model to ask, and a bounded connection to it: AGENT_MODEL, AGENT_BASE_URL, AGENT_API_KEY.

With AGENT_BASE_URL any endpoint that speaks Chat Completions, and AGENT_MODEL is passed on as it is. Without
it, `AGENT_MODEL=provider:name` picks a provider that the client library knows ("anthropic:..."), and a bare
name OpenAI. Retrying is the runtime's work, so the client never retries by itself.

What is said to the model is `chat_request.py`, what it says `chat_answer.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from agentstate.errors import Refused
from sessions.outside.secret import Secret

if TYPE_CHECKING:
    from any_llm import AnyLLM

COMPATIBLE = "compatible"
OPENAI = "https://api.openai.com/v1"
MAX_WIRE_BYTES = 16 * 1024 * 1024
# These loggers write requests, that is, what customers said, when someone turns on debug logging for all.
_TALKATIVE = ("any_llm", "anthropic", "httpcore", "httpcore2", "httpx", "httpx2", "openai")


class ModelMisconfigured(Refused):
    """The settings of the model are not usable."""

    code = "model_misconfigured"
    remedy = "Set AGENT_MODEL, and AGENT_BASE_URL and AGENT_API_KEY as its provider asks."


class Unusable(Exception):
    """The endpoint answers, but not with what can be used. `transient`: asking again may help."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


@dataclass(frozen=True)
class Endpoint:
    """Where a model is; `base_url` may be empty for a provider that the library knows.

    `silence`: seconds without a byte, after which it is given up; `deadline`: seconds for a whole body.
    """

    model: str
    base_url: str = OPENAI
    key: Secret = field(default_factory=lambda: Secret(""))
    provider: str = COMPATIBLE
    silence: float = 60.0
    deadline: float = 300.0


def endpoint(environ: Mapping[str, str]) -> Endpoint | None:
    """The endpoint that the environment names, None if it names none. Raises ModelMisconfigured."""
    model, base_url = environ.get("AGENT_MODEL", "").strip(), environ.get("AGENT_BASE_URL", "").strip()
    key = Secret(_checked_key(environ.get("AGENT_API_KEY", "").strip()))
    if not model:
        if base_url:
            raise ModelMisconfigured("AGENT_BASE_URL is set, AGENT_MODEL is not.")
        return None
    if base_url:
        return Endpoint(model=model, base_url=_checked_url(base_url), key=key)
    if not key:
        raise ModelMisconfigured("AGENT_MODEL is a provider's, and AGENT_API_KEY is not set.")
    provider, colon, name = model.partition(":")
    if colon and name:
        return Endpoint(model=name, base_url="", key=key, provider=_checked_provider(provider))
    return Endpoint(model=model, key=key)


def connect(to: Endpoint) -> AnyLLM:
    """A client for one process; it may be used by several threads. Opens no connection yet."""
    from any_llm import AnyLLM  # takes a second to import: only for those who use it

    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    options: dict[str, Any] = {
        "api_key": to.key.reveal() or "none",
        "max_retries": 0,
        "unified_exceptions": True,
        "http_client": _http_client(to),
    }
    if to.provider == COMPATIBLE:
        return AnyLLM.create_openai_compatible(COMPATIBLE, to.base_url, **options)
    return AnyLLM.create(to.provider, api_base=to.base_url or None, **options)


def _http_client(to: Endpoint) -> httpx.AsyncClient:
    async def bound(response: httpx.Response) -> None:
        # Unpacking could turn a small body into a huge one; it was asked for as it is.
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise Unusable("the endpoint sends compressed answers though asked not to")
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Bounded(response.stream, to.deadline)

    return httpx.AsyncClient(
        timeout=httpx.Timeout(to.silence, connect=min(10.0, to.silence)),
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound]},
        follow_redirects=False,  # a redirect would carry the conversation to a host nobody chose
    )


class _Bounded(httpx.AsyncByteStream):
    """A body that ends with an error once it is too long, or drips for too long."""

    def __init__(self, inner: httpx.AsyncByteStream, seconds: float) -> None:
        self._inner = inner
        self._until = time.monotonic() + seconds
        self._left = MAX_WIRE_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._inner:
            self._left -= len(data)
            if self._left < 0:
                raise Unusable(f"the answer is longer than {MAX_WIRE_BYTES} bytes on the wire")
            if time.monotonic() > self._until:
                raise Unusable("the answer was not complete in time", transient=True)
            yield data

    async def aclose(self) -> None:
        await self._inner.aclose()


def _checked_key(key: str) -> str:
    # The HTTP library would put a key it cannot send into its error message.
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ModelMisconfigured("AGENT_API_KEY holds characters that cannot stand in a header.")
    return key


def _checked_url(url: str) -> str:
    try:
        at = urlsplit(url)
        usable = at.scheme in ("http", "https") and bool(at.hostname) and at.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelMisconfigured("AGENT_BASE_URL is not an http or https address.")
    if at.username is not None or at.query or at.fragment:
        raise ModelMisconfigured("AGENT_BASE_URL holds a user, a query or a fragment; keys go in AGENT_API_KEY.")
    return url


def _checked_provider(name: str) -> str:
    """Providers whose client takes our bounded connection. For any other an endpoint of its own serves."""
    from any_llm import AnyLLM
    from any_llm.exceptions import AnyLLMError
    from any_llm.providers.anthropic.base import BaseAnthropicProvider
    from any_llm.providers.openai.base import BaseOpenAIProvider

    try:
        found = issubclass(AnyLLM.get_provider_class(name), (BaseOpenAIProvider, BaseAnthropicProvider))
    except (AnyLLMError, ImportError):
        found = False
    if not found:
        raise ModelMisconfigured(f"Provider {name[:40]!r} is unknown; set AGENT_BASE_URL to its address.")
    return name
