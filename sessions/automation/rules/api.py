"""The API of rules: list, keep, read and switch, with the same rules for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from sessions.automation.rules import commands
from sessions.automation.rules.store import RuleStore
from sessions.core.person import Person
from sessions.http.api import READING, WRITING, answers, shown, valid
from sessions.http.fields import Strict
from sessions.http.parameters import identifier

Form = type[Serializer[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleApi:
    """What the operations of one kind are called and answer. `name` is in their ids, `path` is the parameter of one
    rule, `key` holds the list. `listed`, `kept` and `switched` describe the operations. Fields of the form named in
    `of_definition` make the definition together.
    """

    store: RuleStore[Any]
    name: str
    path: str
    key: str
    line: Callable[[Person, UUID], Any]
    lines: Callable[[Request], Sequence[Any]]
    form: Form
    list_form: Form
    keep_form: type[Strict]
    switch_form: type[Strict]
    listed: str
    kept: str
    read: str
    switched: str
    parameters: tuple[OpenApiParameter, ...] = ()
    of_definition: tuple[str, ...] = ()

    def views(self) -> tuple[type[APIView], type[APIView], type[APIView]]:
        """Returns the views of the list, of one rule, and of its switch."""
        return _list_view(self), _one_view(self), _switch_view(self)

    def answered(self, request: Request, pk: UUID, status: int = 200) -> Response:
        """Returns a rule as the reader sees it."""
        return Response(shown(self.form, self.line(request.user, pk)), status=status)

    def identified(self, path: dict[str, str]) -> UUID:
        """Returns the id in the address. Raises the store's `unknown`."""
        return identifier(path[self.path], self.store.unknown)

    def wanted(self, request: Request) -> dict[str, Any]:
        """Returns what is to be kept, as arguments of the command."""
        found = valid(self.keep_form, request)
        found.pop("key")
        if self.of_definition:
            found["definition"] = {name: found.pop(name) for name in self.of_definition}
        return found


def _list_view(kind: RuleApi) -> type[APIView]:
    class Rules(APIView):
        @extend_schema(
            operation_id=f"list_{kind.name}s",
            description=kind.listed,
            parameters=[*kind.parameters],
            responses=answers(200, kind.list_form, *READING),
        )
        def get(self, request: Request) -> Response:
            return Response({kind.key: [shown(kind.form, each) for each in kind.lines(request)]})

        @extend_schema(
            operation_id=f"keep_{kind.name}",
            description=kind.kept,
            request=kind.keep_form,
            responses=answers(201, kind.form, *WRITING),
        )
        def post(self, request: Request) -> Response:
            row = commands.keep(kind.store, request.user, **kind.wanted(request))
            return kind.answered(request, row.pk, 201)

    return Rules


def _one_view(kind: RuleApi) -> type[APIView]:
    class OneRule(APIView):
        @extend_schema(
            operation_id=f"read_{kind.name}",
            description=kind.read,
            parameters=[OpenApiParameter(kind.path, UUID, OpenApiParameter.PATH)],
            responses=answers(200, kind.form, *READING),
        )
        def get(self, request: Request, **path: str) -> Response:
            return kind.answered(request, kind.identified(path))

    return OneRule


def _switch_view(kind: RuleApi) -> type[APIView]:
    class RuleSwitch(APIView):
        @extend_schema(
            operation_id=f"switch_{kind.name}",
            description=kind.switched,
            parameters=[OpenApiParameter(kind.path, UUID, OpenApiParameter.PATH)],
            request=kind.switch_form,
            responses=answers(200, kind.form, *WRITING),
        )
        def post(self, request: Request, **path: str) -> Response:
            on = valid(kind.switch_form, request)["on"]
            return kind.answered(request, commands.switch(kind.store, request.user, kind.identified(path), on).pk)

    return RuleSwitch
