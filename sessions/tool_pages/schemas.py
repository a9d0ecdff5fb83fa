"""Shapes of tools, and of MCP servers with what they offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from sessions.http.bodies import Body, Chars
from sessions.http.openapi import published
from sessions.tool_pages import queries


class ToolList(Struct, frozen=True):
    tools: Sequence[queries.ToolLine]


class ToolServerList(Struct, frozen=True):
    servers: Sequence[queries.ServerLine]


class LookAtServer(Body):
    """Nothing is asked: what the server says is the answer."""


class AnswerOffer(Body, kw_only=True):
    """Accept or refuse a version, as it was shown."""

    accept: bool
    digest: Annotated[str, Chars(64, "of what was shown")]


published(
    ToolSecret=queries.SecretLine, Tool=queries.ToolLine, ToolOffer=queries.OfferLine, ToolServer=queries.ServerLine
)
