"""The tools of MCP servers as the registry knows tools: `crm__lookup` is what `lookup` of the server `crm` was accepted
as.

What a server gives is put into one form, `{text, data, other}`, checked like any result, and is data: nothing in it is
looked at for calls, decisions or instructions.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from agentstate.engine import guards, schemas
from agentstate.errors import Invalid
from sessions.outside import refusals
from sessions.tools.http import mapping
from sessions.tools.http.calls import undoing
from sessions.tools.mcp import offers, servers
from sessions.tools.mcp.results import Changed, Offer
from sessions.tools.mcp.servers import SEPARATOR, Known, Server
from sessions.tools.registry import Arguments, Source, Tool, ToolContext, ToolFailed, add_source, validator_of

HIGHEST_TIER = 3
SLACK = 5.0  # seconds that a process may need to end
MOST_QUOTED = 300  # characters of what a server says went wrong
MOST_DESCRIBED = 4_000  # characters
MOST_REMEMBERED = 512
_tools: dict[tuple[str, int, str], Tool] = {}
_USABLE = re.compile(r"[A-Za-z0-9_-]{1,40}")


def connect() -> None:
    """Let the registry ask here too. Raises BadTool where a server's file is wrong."""
    servers.every()
    add_source(Source(owns, find, names))


def owns(name: str) -> bool:
    """Whether a tool of that name would come from an MCP server that is described."""
    server, separator, _ = name.partition(SEPARATOR)
    return bool(separator) and server in servers.every()


def find(name: str) -> Tool | None:
    """The tool of that name, if its server offers now what somebody accepted."""
    server, separator, tool = name.partition(SEPARATOR)
    if not separator or server not in servers.every():
        return None
    found = offers.accepted(server).get(tool)
    return _tool(server, *found) if found else None


def names() -> list[str]:
    """The names of all that may be called."""
    return [f"{server}{SEPARATOR}{tool}" for server in servers.every() for tool in offers.accepted(server)]


def unusable(offer: Offer) -> str:
    """Why an offer cannot be accepted, in words; empty if it can."""
    if not _USABLE.fullmatch(offer.name):
        return "its name is one that models cannot call"
    if len(offer.description) > MOST_DESCRIBED:
        return f"its description is longer than {MOST_DESCRIBED} characters"
    try:
        if not isinstance(offer.arguments, dict) or offer.arguments.get("type") != "object":
            return "its arguments are no object"
        schemas.check_schema(offer.arguments)
        if offer.result is not None:
            schemas.check_schema(offer.result)
    except Invalid as error:
        return f"its schema is refused: {error.detail}"[:300]
    return ""


def _tool(name: str, version: int, offer: Offer) -> Tool:
    """The tool of a version, made once: compiled schemas stand in it."""
    key = (name, version, offers.digest_of(offer))
    if key not in _tools:
        if len(_tools) >= MOST_REMEMBERED:
            _tools.clear()
        _tools[key] = _made(name, version, offer)
    return _tools[key]


def _made(name: str, version: int, offer: Offer) -> Tool:
    server = servers.named(name)
    known = server.known(offer.name)
    full = f"{name}{SEPARATOR}{offer.name}"
    return Tool(
        full,
        version,
        offer.description,
        known.effect,
        offer.arguments,
        partial(call, server, offer),
        validator_of(full, offer.arguments),
        preview=partial(preview, server, offer.name, known),
        timeout=server.timeout + SLACK,
        retry=known.retry,
        compensation=known.compensation,
        undone_by=known.undo.tool if known.undo is not None else "",
        undo=partial(undoing, known.undo) if known.undo is not None else None,
        limit=known.limit,
        result=result_schema(known, offer),
        risk=partial(tier_of, known),
        masked=known.masked,
        amounts=known.amounts,
        secrets=server.secrets,
        source=f"mcp:{name}",
        reaches=server.reaches,
    )


def result_schema(known: Known, offer: Offer) -> dict[str, Any]:
    """Of what a call gives: our own word on the structure before the server's."""
    declared = known.result or offer.result
    return {
        "type": "object",
        "properties": {"text": {"type": "string"}, "data": declared or True, "other": {"type": "array"}},
        "required": ["text", "data"] if declared else ["text"],
        "additionalProperties": False,
    }


def preview(server: Server, tool: str, known: Known, arguments: Arguments, state: dict[str, Any]) -> str:
    """What the call will do, in our words; the server's own are not taken for it."""
    if known.preview:
        return mapping.said(known.preview, {"arguments": arguments})
    return f"Call {tool} of the MCP server {server.name}. What it does there is the server's own business."


def tier_of(known: Known, arguments: Arguments, state: dict[str, Any]) -> int:
    """As for a tool over HTTP."""
    try:
        given = {"arguments": arguments, "state": state}
        return max((each.tier for each in known.risk if guards.holds(each.when, given)), default=0)
    except Invalid:
        return HIGHEST_TIER


def call(server: Server, offer: Offer, arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """The result of one call. Raises ToolFailed."""
    from sessions.tools.mcp import requests  # not before it is needed: see offered.py

    try:
        said = requests.call(server, offer, arguments, f"{context.session}.{context.key}", context.stop)
    except Changed as changed:
        offers.note(server.name, changed.offers)
        raise ToolFailed(
            f"{server.name} describes {offer.name} otherwise than was accepted", code="tool_changed"
        ) from None
    except refusals.NotReached as error:
        raise ToolFailed(f"{server.name}: {error}", transient=error.transient, code=error.code) from None
    if said.failed:
        raise ToolFailed(f"{server.name} says that it did not work: {said.text[:MOST_QUOTED]!r}", code="tool_error")
    given: dict[str, Any] = {"text": said.text}
    if said.data is not None:
        given["data"] = said.data
    return {**given, **({"other": list(said.other)} if said.other else {})}
