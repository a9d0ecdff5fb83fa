"""Tools, and the MCP servers that some of them come from."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from agentstate.people.models import User
from sessions.http.operations import get, post
from sessions.http.parameters import Id
from sessions.tool_pages import commands, queries
from sessions.tool_pages import schemas as forms
from sessions.tools.mcp.offers import UnknownOffer


@get()
def list_tools(user: User) -> forms.ToolList:
    """Every tool that agents may call now: schemas, effect, where it comes from, who may call it."""
    return forms.ToolList(queries.tool_lines(user))


@get()
def read_tool(user: User, name: str) -> queries.ToolLine:
    """One tool."""
    return queries.tool_line(user, name)


@get()
def list_tool_servers(user: User) -> forms.ToolServerList:
    """MCP servers, when each was last asked, and every version of a tool that it offered."""
    return forms.ToolServerList(queries.server_lines(user))


@post(200)
def look_at_tool_server(user: User, name: str, body: forms.LookAtServer) -> queries.ServerLine:
    """Ask the server what it offers now; `problem` of the answer says what is wrong with it."""
    commands.look(user, name)
    return queries.server_line(user, name)


@post(200)
def answer_tool_offer(
    user: User, offer: Annotated[UUID, Id(UnknownOffer)], body: forms.AnswerOffer
) -> queries.ServerLine:
    """Accept or refuse a version of a server's tool, named by the digest of what was shown."""
    row = commands.answer(user, offer, accept=body.accept, digest=body.digest)
    return queries.server_line(user, row.server)
