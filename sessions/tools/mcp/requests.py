"""What is said to an MCP server: what it offers, and one call. A call's time begins when it is asked, in a
conversation that is begun for it or was kept from the one before (`connections`): nothing of it is open for a call
while people think.

A server is told that we are asked nothing (no sampling, no forms, no roots): what it wants from people or models it
does not get. What it says is data: text, and a structure if it gives one.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar, cast

import anyio
import mcp_types
import msgspec
from django.conf import settings
from mcp.client import Client
from mcp.client._transport import TransportStreams
from mcp.shared.exceptions import MCPError

from sessions.outside import client as door
from sessions.outside import refusals, secrets
from sessions.outside.cancellation import Stop
from sessions.outside.secret import Secret
from sessions.tools.mcp.allowance import Allowance, Trouble
from sessions.tools.mcp.connections import kept
from sessions.tools.mcp.results import Changed, NoProtocol, Offer, Said, ServerError, WantsMore
from sessions.tools.mcp.servers import Server
from sessions.tools.mcp.transports import http, process

MOST_TOOLS = 200
MOST_PAGES = 20
CONNECT = 5.0  # seconds
KEY = "agentstate.dev/idempotency-key"  # in the call's _meta, the same over every attempt
_T = TypeVar("_T")


def offers(server: Server) -> list[Offer]:
    """What the server offers now. Raises NotReached."""
    return _talk(msgspec.structs.replace(server, keep=0.0), _listed, min(server.timeout, 15.0))


def call(server: Server, accepted: Offer, arguments: dict[str, Any], key: str, stop: Stop | None = None) -> Said:
    """One call of the tool that was accepted, if the server describes it now, in this same conversation, just so.
    Raises NotReached, Changed; Cancelled once `stop` is set.
    """
    answered = False

    async def called(client: Client) -> Said:
        nonlocal answered
        offered = await _listed(client)
        answered = True
        if accepted not in offered or [each.name for each in offered].count(accepted.name) > 1:
            raise Changed(offered)
        meta = cast(mcp_types.RequestParamsMeta, {KEY: key})
        return _said(await client.session.call_tool(accepted.name, _plain(arguments), meta=meta))

    return _talk(server, called, server.timeout, stop, lambda: not answered)


def _talk(
    server: Server,
    ask: Callable[[Client], Awaitable[_T]],
    seconds: float,
    stop: Stop | None = None,
    repeatable: Callable[[], bool] = lambda: False,
) -> _T:
    sent = {name: secrets.named(name) for name in server.secrets}

    def begin(trouble: Trouble, allowance: Allowance) -> Client:
        return Client(_Way(server, sent, trouble, allowance), client_info=_WE, cache=None)  # what it says now counts

    found, trouble = kept.ask(server, sent, begin, ask, seconds, stop or Stop(), repeatable)
    if isinstance(found, BaseException):
        raise _reason(found, trouble) from None
    if any(_repeats(secret, found) for secret in sent.values()):
        raise refusals.RepeatsSecret()
    return found


_WE = mcp_types.Implementation(name="agentstate", version="1")


class _Way(AbstractAsyncContextManager[TransportStreams]):
    """The transport of one conversation, as the package wants it."""

    def __init__(self, server: Server, sent: dict[str, Secret], trouble: Trouble, allowance: Allowance) -> None:
        self._entered = _way(server, sent, trouble, allowance)

    async def __aenter__(self) -> TransportStreams:
        return await self._entered.__aenter__()

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._entered.__aexit__(*error)


@asynccontextmanager
async def _way(
    server: Server, sent: dict[str, Secret], trouble: Trouble, allowance: Allowance
) -> AsyncGenerator[TransportStreams]:
    if server.command:
        given = {
            name: value if isinstance(value, str) else sent[value["secret"]].reveal()
            for name, value in server.environment.items()
        }
        limits = server.limits.of_process
        async with process(server.command, given, server.directory, limits, allowance, trouble) as streams:
            yield streams
        return
    bounds = door.Bounds(CONNECT, server.timeout, server.size)
    context = door.trusted(settings.OUTSIDE_CA_FILE)
    headers = _credentials(server, sent)
    reach = door.reach_of((server.host,))
    async with http(server.url, headers, reach, bounds, context, allowance, trouble) as streams:
        yield streams


def _credentials(server: Server, sent: dict[str, Secret]) -> dict[str, str]:
    auth = server.auth
    if auth is None:
        return {}
    secret = sent[auth.secret].reveal()
    match auth.kind:
        case "bearer":
            return {"Authorization": f"Bearer {secret}"}
        case "basic":
            return {"Authorization": f"Basic {base64.b64encode(secret.encode()).decode()}"}
        case "header":
            return {auth.header: secret}


def _reason(error: BaseException, trouble: Trouble) -> BaseException:
    """What to say of an error: what we noted first, or what it is; never its own words."""
    if trouble.reason is not None:
        return trouble.reason
    for each in _leaves(error):
        if isinstance(each, refusals.NotReached | Changed):
            return each
        if isinstance(each, TimeoutError):
            return refusals.TooSlow()
        if isinstance(each, RuntimeError) and "input" in str(each).lower():
            return WantsMore()
        if isinstance(each, MCPError):
            return refusals.NoConnection() if each.code == mcp_types.CONNECTION_CLOSED else ServerError()
        if isinstance(each, RuntimeError | ValueError | OSError | anyio.BrokenResourceError):
            return NoProtocol()
    return error


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]


async def _listed(client: Client) -> list[Offer]:
    found: list[Offer] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [_offer(tool) for tool in page.tools]
        if len(found) > MOST_TOOLS:
            raise refusals.TooLarge(f"it offers more than {MOST_TOOLS} tools.")
        cursor = page.next_cursor
        if not cursor:
            return found
    raise refusals.TooLarge(f"its tools fill more than {MOST_PAGES} pages.")


def _offer(tool: mcp_types.Tool) -> Offer:
    hints = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else None
    return Offer(tool.name, tool.description or "", tool.input_schema, tool.output_schema, tool.title or "", hints)


def _said(result: Any) -> Said:
    if not isinstance(result, mcp_types.CallToolResult):
        raise WantsMore()
    texts = [each.text for each in result.content if isinstance(each, mcp_types.TextContent)]
    other = tuple(each.type for each in result.content if not isinstance(each, mcp_types.TextContent))
    return Said("\n".join(texts), result.structured_content, other, bool(result.is_error))


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    """As JSON that the package can write: a Decimal keeps its value as a number."""
    written: dict[str, Any] = msgspec.json.decode(msgspec.json.Encoder(decimal_format="number").encode(arguments))
    return written


def _repeats(secret: Secret, found: Any) -> bool:
    text = msgspec.json.encode(msgspec.to_builtins(found)).decode()
    return secret.is_in(text)
