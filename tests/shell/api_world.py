"""Calling the API as somebody, with every answer held against the OpenAPI document.

An answer that the document does not describe, an error that is no problem document, a traceback: each fails the
test in which it occurs, whatever that test is about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from uuid import UUID

import jsonschema
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from agentstate import schema
from agentstate.people.models import User
from sessions.approvals import queries as approvals_queries
from tests import cast
from tests.shell.bank_world import opened, say, work

V1 = "/api/v1"
UNKNOWN = "0190163d-8694-739b-aea5-966c26f8ad91"
UNDOCUMENTED = (405, 500)  # of every address; 405 by its nature is of no operation
TABLES = (
    "audit_entry", "audit_payload", "audit_head", "audit_receipt", "audit_subjectkey",
    "agent_sessions_agentsession", "agent_sessions_approvalrequest", "agent_sessions_outbox",
)  # fmt: skip


class Api:
    """A program that calls the API with a token of `user`; with none when that is None."""

    def __init__(self, user: User | None, peer: str = "") -> None:
        self.headers = cast.bearer(user) if user else {}
        self.client = Client(REMOTE_ADDR=peer or cast.address())

    def get(self, path: str, **query: Any) -> HttpResponse:
        return self.ask("GET", path, query_params=query)

    def post(self, path: str, body: object, **more: Any) -> HttpResponse:
        """POST `body`: bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, data=data, **more)

    def ask(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str] | None = None,
        content_type: str = "application/json",
        **more: Any,
    ) -> HttpResponse:
        """Any method on an address below /api/v1, or on a whole one."""
        address = path if path.startswith("/api") else V1 + path
        answer = self.client.generic(
            method, address, headers={**self.headers, **(headers or {})}, content_type=content_type, **more
        )
        check(method, answer.wsgi_request.path, answer)
        return answer


def problem(answer: HttpResponse, status: int, code: str = "", field: str | None = None) -> dict[str, Any]:
    """The problem document of an answer, which must be of this status, code and field."""
    body = answer.json()
    assert answer.status_code == status, body
    assert not code or body["code"] == code, body
    assert field is None or body.get("field") == field, body
    return body


def check(method: str, path: str, answer: HttpResponse) -> None:
    """Fail unless the answer is one that the document describes."""
    status, kind = answer.status_code, answer.headers["Content-Type"]
    if status < 400 and kind.startswith("text/csv"):
        assert kind.split(";")[0] in documented(method, path)["responses"][str(status)]["content"]
        return
    body = json.loads(answer.content)
    assert answer.headers["Cache-Control"] == "no-store"
    if status >= 400:
        assert kind == "application/problem+json"
        assert (body["status"], body["type"]) == (status, f"urn:agentstate:problem:{body['code']}")
        assert not re.search(r"Traceback|File \"|psycopg|SELECT ", answer.content.decode())
    operation = documented(method, path)
    if operation is None or status in UNDOCUMENTED:
        assert status >= 400
        return
    described = operation["responses"][str(status)]
    if "$ref" in described:
        described = document()["components"]["responses"][described["$ref"].rpartition("/")[2]]
    jsonschema.validate(body, {**described["content"][kind]["schema"], "components": document()["components"]})


@cache
def document() -> dict[str, Any]:
    return json.loads(schema.document())


def documented(method: str, path: str) -> dict[str, Any] | None:
    """The operation that the document has for this address."""
    for template, operations in document()["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
            return operations.get(method.lower())
    return None


@contextmanager
def nothing_written() -> Iterator[None]:
    """Fail when a row was added to, or taken from, the ledger or the projections."""
    before = _counts()
    yield
    assert _counts() == before


def _counts() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in TABLES))
        return dict(cursor.fetchall())


def new_session(**wishes: Any) -> str:
    """A session that the caller has opened; nobody has worked on it."""
    return str(opened(**wishes))


def waiting_request(amount: str = "$1,200.00") -> str:
    """A pending request for a transfer that one supervisor may decide. Needs the fixture `bank`."""
    session = opened("C-1001")
    work()
    say(session, f"I want to move {amount} from savings to checking.")
    say(session, "Yes, that is right.")
    return str(next(line.id for line in approvals_queries.requests(cast.alice()) if line.session == UUID(str(session))))
