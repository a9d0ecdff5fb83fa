"""Tools, and the MCP servers that some of them come from."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.http.api import READING, WRITING, answers, shown, valid
from sessions.http.parameters import identifier
from sessions.tool_pages import commands, queries
from sessions.tool_pages import schemas as forms
from sessions.tools.mcp.offers import UnknownOffer

_NAME = OpenApiParameter("name", str, OpenApiParameter.PATH)
_OFFER = OpenApiParameter("offer", UUID, OpenApiParameter.PATH)


class Tools(APIView):
    """Every tool."""

    @extend_schema(
        operation_id="list_tools",
        description="Every tool that agents may call now: schemas, effect, where it comes from, who may call it.",
        responses=answers(200, forms.ToolList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"tools": [_tool(line) for line in queries.tool_lines(request.user)]})


class OneTool(APIView):
    """One tool."""

    @extend_schema(operation_id="read_tool", parameters=[_NAME], responses=answers(200, forms.Tool, *READING))
    def get(self, request: Request, name: str) -> Response:
        return Response(_tool(queries.tool_line(request.user, name)))


class ToolServers(APIView):
    """Every MCP server."""

    @extend_schema(
        operation_id="list_tool_servers",
        description="MCP servers, when each was last asked, and every version of a tool that it offered.",
        responses=answers(200, forms.ToolServerList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"servers": [_server(line) for line in queries.server_lines(request.user)]})


class ToolServerLook(APIView):
    """Ask a server."""

    @extend_schema(
        operation_id="look_at_tool_server",
        description="Ask the server what it offers now; `problem` of the answer says what is wrong with it.",
        parameters=[_NAME],
        request=forms.LookAtServer,
        responses=answers(200, forms.ToolServer, *WRITING),
    )
    def post(self, request: Request, name: str) -> Response:
        valid(forms.LookAtServer, request)
        commands.look(request.user, name)
        return Response(_server(queries.server_line(request.user, name)))


class ToolOfferAnswer(APIView):
    """Accept or refuse."""

    @extend_schema(
        operation_id="answer_tool_offer",
        description="Accept or refuse a version of a server's tool, named by the digest of what was shown.",
        parameters=[_OFFER],
        request=forms.AnswerOffer,
        responses=answers(200, forms.ToolServer, *WRITING),
    )
    def post(self, request: Request, offer: str) -> Response:
        wanted = valid(forms.AnswerOffer, request)
        found = identifier(offer, UnknownOffer)
        row = commands.answer(request.user, found, accept=wanted["accept"], digest=wanted["digest"])
        return Response(_server(queries.server_line(request.user, row.server)))


def _tool(line: queries.ToolLine) -> dict[str, Any]:
    return {**shown(forms.Tool, line), "secrets": msgspec.to_builtins(line.secrets)}


def _server(line: queries.ServerLine) -> dict[str, Any]:
    offers = [shown(forms.ToolOffer, each) for each in line.offers]
    return {**shown(forms.ToolServer, line), "secrets": msgspec.to_builtins(line.secrets), "offers": offers}
