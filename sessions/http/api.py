"""What the operations share: parameters as the document names them, bodies as keyword arguments, answers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from sessions.core import session_lines
from sessions.core.committed import Committed
from sessions.http import fields, problems, schemas

MOST = 500  # rows of one page
LAST = 2**53  # no log is longer
REPLAYED = "Idempotency-Replayed"
RECEIPT = "AgentState-Receipt"
SESSION = OpenApiParameter("session", UUID, OpenApiParameter.PATH)
REQUEST = OpenApiParameter("request_id", UUID, OpenApiParameter.PATH)
AFTER = OpenApiParameter("after", UUID, description="`next` of the page before")
LIMIT = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": MOST, "default": session_lines.PAGE},
    description="rows of a page",
)
ABOVE = OpenApiParameter(
    "after", {"type": "integer", "minimum": -1, "maximum": LAST, "default": -1}, description="seq above this"
)
READING = (400, 401, 403, 404, 406, 429, 503)
WRITING = (*READING, 409, 411, 413, 415)


def answers(status: int, shape: type, *codes: int) -> dict[Any, Any]:
    """The answers of an operation for the document: `shape` with `status`, and a problem for each of `codes`."""
    refusals = {(code, problems.MEDIA_TYPE): schemas.Problem for code in sorted(codes)}
    return {(status, "application/json"): shape, **refusals}


def shown(shape: type[Serializer[Any]], line: object) -> dict[str, Any]:
    """The fields of `shape` from `line`, as they are: a serializer would turn numbers into text."""
    return {name: getattr(line, name) for name in shape._declared_fields}


def page(name: str, shape: type[Serializer[Any]], lines: list[Any], limit: int, key: str = "id") -> Response:
    """A page of `lines` under `name`, with the `next` to ask after."""
    following = getattr(lines[-1], key) if len(lines) == limit else None
    return Response({name: [shown(shape, line) for line in lines], "next": following})


def valid(serializer: type[fields.Strict], request: Request) -> dict[str, Any]:
    """The body as keyword arguments of a command, its idempotency key as `key`."""
    checked = serializer(data=request.data)
    checked.is_valid(raise_exception=True)
    wanted = dict(checked.validated_data)
    key = wanted.pop("idempotency_key", "")
    return {**wanted, "key": key}


def answer(committed: Committed, body: dict[str, Any], status: int) -> Response:
    """The first answer again for a repeated command, and a header that says so. The receipt is in a header of every
    answer, whatever its body.
    """
    return Response(body, status=status, headers=receipt_headers(committed))


def receipt_headers(committed: Committed) -> dict[str, str]:
    """The receipt of a command, and whether it was repeated."""
    held = committed.receipt
    parts = f"session={held.log}; size={held.size}; root={held.root.hex()}; leaf={held.leaf.hex()}"
    return {RECEIPT: parts} | ({REPLAYED: "true"} if committed.repeated else {})


def told(committed: Committed) -> dict[str, Any]:
    """What a command wrote, with the receipt for it."""
    held = committed.receipt
    wrote = {"session": committed.session, "command": committed.command, "first": committed.first}
    return {**wrote, "seq": committed.seq, "size": held.size, "root": held.root.hex(), "leaf": held.leaf.hex()}


def receipt(committed: Committed, status: int = 201) -> Response:
    """What a command wrote."""
    return answer(committed, told(committed), status)
