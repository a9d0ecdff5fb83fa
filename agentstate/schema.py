"""The OpenAPI 3.1 document of the API: how it is made, and where it is served.

`docs/schema/openapi.json` is the same document, committed, so that a change of the API shows in review
(`make schema` writes it). What the operations take and give is said where they are, in `sessions.api`.
"""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

from sessions.http import openapi  # noqa: F401  # drf-spectacular finds the extension by its import
from sessions.http.rendering import encode


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """API tokens, as programs send them."""

    target_class = "agentstate.people.authentication.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "An API token: `manage.py token USER` prints one."}


class BrowserScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A signed-in browser's session; what writes needs the CSRF token too."""

    target_class = "agentstate.people.authentication.BrowserAuthentication"
    name = "browser"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "A browser that has signed in."}


def finish(result: dict[str, Any], generator: object, request: object, public: bool) -> dict[str, Any]:
    """The last hook: bodies allow no unknown fields, and each refusal is described once for all operations."""
    shared = result["components"].setdefault("responses", {})
    for operation in _of_sessions(result["paths"]):
        operation["responses"].setdefault("409", _problem(operation["responses"]["404"]))  # the session was altered
    for operation in [each for path in result["paths"].values() for each in path.values()]:
        if body := operation.get("requestBody"):
            name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            result["components"]["schemas"][name]["additionalProperties"] = False
        for code, answer in operation["responses"].items():
            answer["description"] = HTTPStatus(int(code)).phrase
            if int(code) >= 400:
                shared[code] = answer
                operation["responses"][code] = {"$ref": f"#/components/responses/{code}"}
    return result


def _of_sessions(paths: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        each
        for path, operations in paths.items()
        if "{session}" in path or "{request_id}" in path
        for each in operations.values()
    ]


def _problem(answer: dict[str, Any]) -> dict[str, Any]:
    return {"content": answer["content"], "description": ""}


@cache
def document() -> bytes:
    """The document as JSON. Made once a process: it depends on the code alone."""
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return encode(made)


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """GET /api/v1/schema."""
    return HttpResponse(document(), content_type="application/json")
