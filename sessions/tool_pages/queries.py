"""The tools that agents may call, and the MCP servers that some of them come from.

No secret among those who may see sessions: what a tool is given and gives is in the sessions. Whether a secret is there
is told, never what it is.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.errors import NotFound
from agentstate.people.permissions import PermissionDenied, holds_any, teams_with
from agentstate.people.roles import Permission
from sessions.agents import registry as agents
from sessions.core.session_lines import Person
from sessions.http.bodies import About
from sessions.models.tools import OfferedTool, ServerLook
from sessions.outside import secrets
from sessions.runtime import limits
from sessions.tools import registry
from sessions.tools.mcp import offers, servers, source
from sessions.tools.registry import Tool

SHOWN = ("title", "description", "arguments", "result", "hints")  # of an offer, in which order


class UnknownTool(NotFound):
    """There is no such tool."""

    code = "unknown_tool"


class SecretLine(msgspec.Struct, frozen=True):
    """A secret by name, and whether it can be read now."""

    name: str
    there: Annotated[bool, About("whether it can be read now; what it is, is told nowhere")]


class ToolLine(msgspec.Struct, frozen=True):
    """A tool as it may be called now. `agents` are those that may. `retry_seconds` bounds the tries, from the
    first on; 0: `attempts` does.
    """

    name: str
    version: int
    source: Annotated[str, About("`python`, `http`, `model`, `mcp:<server>`")]
    effect: Annotated[str, About("`pure`, `idempotent` or `once`")]
    description: str
    agents: Annotated[tuple[str, ...], About("those that may call it")]
    arguments: Annotated[dict[str, Any], About("JSON Schema")]
    result: Annotated[dict[str, Any] | None, About("JSON Schema; null: none is declared")]
    compensation: Annotated[str, About("what can be done about its effect; empty: nothing is declared")]
    reaches: Annotated[str, About("where its calls go; empty: they stay in the process")]
    seconds: Annotated[float, About("that one call may take")]
    attempts: Annotated[int, About("at most, where `retry_seconds` is 0")]
    retry_seconds: Annotated[float, About("it is tried again for so long after its first try; 0: by attempts")]
    secrets: tuple[SecretLine, ...]
    limit: Annotated[int, About("calls at once, over all workers; 0: any number")]
    undone_by: Annotated[str, About("the tool whose call undoes its effect; empty: none does")]
    masked: Annotated[tuple[str, ...], About("paths of its result recorded nowhere")]
    scopes: Annotated[tuple[str, ...] | None, About("what it sees of a state")]
    activities: tuple[str, ...]


class OfferLine(msgspec.Struct, frozen=True):
    """A version of a tool as its server described it. `changed` names what is otherwise in the version before that was
    accepted; `unusable` says why it cannot be accepted.
    """

    id: UUID
    tool: str
    version: int
    digest: Annotated[str, About("SHA-256 of what the server says of it")]
    answer: Annotated[str, About("`waiting`, `accepted` or `refused`")]
    current: Annotated[bool, About("whether the server said so when it was last asked")]
    offered_at: datetime
    answered_by: Annotated[str, About("`user:<id>`; empty: nobody")]
    answered_at: datetime | None
    effect: Annotated[str, About("by our own description of the server")]
    unusable: Annotated[str, About("why it cannot be accepted; empty: it can")]
    changed: Annotated[tuple[str, ...], About("parts, since what was accepted before")]
    offer: Annotated[dict[str, Any], About("the server's own words and schemas")]

    @property
    def waits(self) -> bool:
        """Whether somebody should answer."""
        return self.current and self.answer == OfferedTool.Answer.WAITING


class ServerLine(msgspec.Struct, frozen=True):
    """An MCP server, when it was last looked at, and what it offered: what it offers now before the rest."""

    name: str
    reaches: str
    seconds: float
    secrets: tuple[SecretLine, ...]
    looked_at: datetime | None
    problem: Annotated[str, About("of the last look; empty: none")]
    offers: tuple[OfferLine, ...]

    @property
    def waiting(self) -> int:
        """How many versions wait for an answer."""
        return sum(each.waits for each in self.offers)


def must_see_tools(user: Person) -> None:
    """Raises PermissionDenied to those who see sessions nowhere."""
    if not teams_with(user, Permission.SEE):
        needed = Permission.SEE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)


def may_accept(user: Person) -> bool:
    """Whether `user` may say what is accepted of servers."""
    return holds_any(user, Permission.CONFIGURE)


def tool_lines(user: Person) -> list[ToolLine]:
    """Every tool, by name. Raises PermissionDenied."""
    must_see_tools(user)
    return [_line(tool) for name in registry.names() if (tool := registry.find(name)) is not None]


def tool_line(user: Person, name: str) -> ToolLine:
    """One tool. Raises UnknownTool, PermissionDenied."""
    must_see_tools(user)
    tool = registry.find(name)
    if tool is None:
        raise UnknownTool(f"got {name[:100]!r}")
    return _line(tool)


def _line(tool: Tool) -> ToolLine:
    return ToolLine(
        name=tool.name,
        version=tool.version,
        source=tool.source if tool.run is not None else "model",
        effect=tool.effect,
        description=tool.description,
        agents=tuple(name for name in agents.names() if tool.name in agents.find(name).tools),
        arguments=tool.arguments,
        result=tool.result,
        compensation=tool.compensation,
        reaches=tool.reaches,
        seconds=tool.timeout,
        attempts=1 if tool.effect == "once" else tool.retry.attempts,
        retry_seconds=0.0 if tool.effect == "once" else tool.retry.seconds,
        secrets=_secrets(tool.secrets),
        limit=limits.limit_of_tool(tool.name),
        undone_by=tool.undone_by,
        masked=tool.masked,
        scopes=tool.scopes,
        activities=tuple(tool.activities),
    )


def _secrets(names: tuple[str, ...]) -> tuple[SecretLine, ...]:
    return tuple(SecretLine(name, secrets.is_there(name)) for name in names)


def server_lines(user: Person) -> list[ServerLine]:
    """Every MCP server, by name. Raises PermissionDenied."""
    must_see_tools(user)
    looks = {look.server: look for look in ServerLook.objects.all()}
    rows = list(OfferedTool.objects.filter(server__in=list(servers.every())).order_by("-current", "tool", "-version"))
    return [
        _server(server, looks.get(name), [row for row in rows if row.server == name])
        for name, server in sorted(servers.every().items())
    ]


def server_line(user: Person, name: str) -> ServerLine:
    """One MCP server. Raises UnknownServer, PermissionDenied."""
    server = servers.named(name)
    return next(line for line in server_lines(user) if line.name == server.name)


def _server(server: servers.Server, look: ServerLook | None, rows: list[OfferedTool]) -> ServerLine:
    return ServerLine(
        name=server.name,
        reaches=server.reaches,
        seconds=server.timeout,
        secrets=_secrets(server.secrets),
        looked_at=look.at if look else None,
        problem=look.problem if look else "",
        offers=tuple(offer_line(server, row, rows) for row in rows),
    )


def offer_line(server: servers.Server, row: OfferedTool, rows: list[OfferedTool]) -> OfferLine:
    """The line of a version, beside the other `rows` of its server."""
    return OfferLine(
        id=row.pk,
        tool=row.tool,
        version=row.version,
        digest=row.digest,
        answer=row.answer,
        current=row.current,
        offered_at=row.offered_at,
        answered_by=row.answered_by,
        answered_at=row.answered_at,
        effect=server.known(row.tool).effect,
        unusable=source.unusable(offers.read(row)),
        changed=_changed(row, rows),
        offer={name: row.offer[name] for name in SHOWN if row.offer.get(name)},
    )


def _changed(row: OfferedTool, rows: list[OfferedTool]) -> tuple[str, ...]:
    before = [
        each
        for each in rows
        if each.tool == row.tool and each.version < row.version and each.answer == OfferedTool.Answer.ACCEPTED
    ]
    if not before:
        return ()
    last = max(before, key=lambda each: each.version)
    return tuple(name for name in SHOWN if row.offer.get(name) != last.offer.get(name))
