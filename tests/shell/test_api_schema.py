"""The OpenAPI document: made without a warning, valid, committed, and what is served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from django.core.management import call_command
from django.test import Client

from agentstate.engine import events as ev
from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from tests.shell.api_world import document

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "schema" / "openapi.json"
REQUEST_FIELDS = {
    "id", "session", "state", "tier", "quorum", "may_decide", "tool", "arguments", "expires_at",
}  # fmt: skip


def operations() -> Iterator[dict[str, Any]]:
    return (operation for path in document()["paths"].values() for operation in path.values())


def served(client: Client) -> Any:
    answer = client.get("/api/v1/schema")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    return answer.json()


def test_the_document_is_made_without_a_warning_and_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    call_command("spectacular", "--format", "openapi-json", "--validate", "--fail-on-warn", "--file", str(file))
    assert json.loads(file.read_text())["openapi"].startswith("3.1.")


def test_the_served_document_is_the_committed_one(client: Client) -> None:
    assert served(client) == json.loads(COMMITTED.read_text()), "make schema writes docs/schema/openapi.json anew"


def test_the_document_needs_no_token_and_can_only_be_read(client: Client) -> None:
    served(client)
    assert client.post("/api/v1/schema").status_code == 405
    assert client.post("/api/v1/schema").headers["Content-Type"] == "application/problem+json"


def test_every_operation_takes_a_bearer_token_or_a_browsers_session() -> None:
    schemes = document()["components"]["securitySchemes"]
    assert (schemes["token"]["type"], schemes["token"]["scheme"]) == ("http", "bearer")
    assert all(operation["security"] == [{"token": []}, {"browser": []}] for operation in operations())


def test_every_operation_documents_its_refusals_as_problem_documents() -> None:
    for operation in operations():
        refusals = {code for code in operation["responses"] if int(code) >= 400}
        assert {"400", "401", "403", "404", "429", "503"} <= refusals
        if "requestBody" in operation:
            assert {"409", "413", "415"} <= refusals
    for response in document()["components"]["responses"].values():
        assert list(response["content"]) == ["application/problem+json"]
        assert response["description"]


def test_status_and_state_are_enums_with_names_and_all_their_words() -> None:
    schemas = document()["components"]["schemas"]
    assert schemas["SessionStatus"]["enum"] == [status.value for status in SessionStatus]
    assert schemas["RequestState"]["enum"] == [status.value for status in RequestStatus]
    assert schemas["DecisionKind"]["enum"] == list(get_args(ev.DecisionKind))
    assert schemas["EntryKind"]["enum"] == list(ev.KINDS)
    assert schemas["Session"]["properties"]["status"] == {"$ref": "#/components/schemas/SessionStatus"}
    assert schemas["Request"]["properties"]["state"] == {"$ref": "#/components/schemas/RequestState"}


def test_the_names_that_stay_fixed_are_there() -> None:
    schemas = document()["components"]["schemas"]
    assert set(schemas["Request"]["required"]) >= REQUEST_FIELDS
    assert set(schemas["Decision"]["properties"]) >= {"decision", "reason", "arguments", "idempotency_key"}
    assert schemas["Decision"]["required"] == ["decision"]


@pytest.mark.parametrize("name", ["OpenSession", "PostMessage", "EndSession", "Decision"])
def test_bodies_allow_no_unknown_fields(name: str) -> None:
    assert document()["components"]["schemas"][name]["additionalProperties"] is False
