"""The tools that agents may call, and the MCP servers that some of them come from.

No secret among those who may see sessions: what a tool is given and gives is in the sessions. Whether a secret is there
is told, never what it is.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from agentstate.errors import NotFound
from agentstate.people.permissions import PermissionDenied, holds_any, teams_with
from agentstate.people.roles import Permission
from sessions.agents import registry as agents
from sessions.core.session_lines import Person
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
    there: bool


class ToolLine(msgspec.Struct, frozen=True):
    """A tool as it may be called now. `agents` are those that may. `retry_seconds` bounds the tries, from the
    first on; 0: `attempts` does.
    """

    name: str
    version: int
    source: str
    effect: str
    description: str
    agents: tuple[str, ...]
    arguments: dict[str, Any]
    result: dict[str, Any] | None
    compensation: str
    reaches: str
    seconds: float
    attempts: int
    retry_seconds: float
    secrets: tuple[SecretLine, ...]
    limit: int
    undone_by: str
    masked: tuple[str, ...]
    scopes: tuple[str, ...] | None
    activities: tuple[str, ...]


class OfferLine(msgspec.Struct, frozen=True):
    """A version of a tool as its server described it. `changed` names what is otherwise in the version before that was
    accepted; `unusable` says why it cannot be accepted.
    """

    id: UUID
    tool: str
    version: int
    digest: str
    answer: str
    current: bool
    offered_at: datetime
    answered_by: str
    answered_at: datetime | None
    effect: str
    unusable: str
    changed: tuple[str, ...]
    offer: dict[str, Any]

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
    problem: str
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
