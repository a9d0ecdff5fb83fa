"""Operations of the API: a function with typed arguments is the handler and its part of the OpenAPI document.

    @get()
    def list_entries(user: User, session: SessionId, *, limit: Limit = PAGE) -> EntryPage:
        \"\"\"The description in the document.\"\"\"

The first argument is the user. The next arguments are the parts of the path. `body` is the body, and keyword arguments
are parameters of the query. The name of the function is the operation's id. It returns the answer: a struct, or what a
command committed, which becomes a receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from agentstate.people.models import User
from sessions.core.committed import Committed
from sessions.core.states import UnknownSession
from sessions.http import bodies
from sessions.http.answers import Problem, Receipt, answer, receipt_headers, receipt_of
from sessions.http.parameters import LAST, Id, Kind, Parameters, Text
from sessions.http.problems import MEDIA_TYPE

READING = (400, 401, 403, 404, 406, 429, 503)
JSON = "application/json"
WRITING = (*READING, 409, 411, 413, 415)
SESSION: Mapping[str, Kind] = {"session": Id(UnknownSession)}
_NAME = Text(most=LAST)  # in a path: the query says whether it names anything
_UNDOCUMENTED = (None, "", False)  # defaults


class Operation:
    """One method of one address: its function, its parameters, its body and its answers."""

    def __init__(
        self,
        method: str,
        name: str,
        run: Callable[..., Any],
        *,
        about: str,
        path: Mapping[str, Kind],
        query: Mapping[str, tuple[Kind, Any]],
        body: type[bodies.Body] | None,
        wants: frozenset[str],
        status: int,
        responses: dict[Any, Any],
    ) -> None:
        self.method, self.name, self.run, self.about = method, name, run, about
        self.path, self.query, self.body, self.wants = path, query, body, wants
        self.status, self.responses = status, responses

    def handler(self) -> Any:
        """Returns the method of a view, documented."""

        def handle(view: APIView, request: Request, **path: str) -> HttpResponseBase:
            place = [kind.read(name, path[name]) for name, kind in self.path.items()]
            return self._answer(self.run(user_of(request), *place, **self._arguments(request)))

        extended = extend_schema(
            operation_id=self.name,
            description=self.about,
            parameters=self._documented(),
            request=self.body,
            responses=self.responses,
        )
        handled: Any = extended(handle)
        handled.operation = self
        return handled

    def _arguments(self, request: Request) -> dict[str, Any]:
        found: dict[str, Any] = {"request": request} if "request" in self.wants else {}
        if self.body is not None:
            body = bodies.read(self.body, request.data)
            found |= {"body": body} if "body" in self.wants else bodies.arguments(body)
        if self.method == "get":
            given = Parameters(request, *self.query)
            found |= {_argument(name): _value(given, name, *how) for name, how in self.query.items()}
        return found

    def _answer(self, found: Any) -> HttpResponseBase:
        if isinstance(found, HttpResponseBase):
            return found
        if isinstance(found, Committed):
            return answer(receipt_of(found), self.status, receipt_headers(found))
        return answer(found, self.status)

    def _documented(self) -> list[OpenApiParameter]:
        in_path = [
            OpenApiParameter(name, kind.schema, OpenApiParameter.PATH, description=kind.about)
            for name, kind in self.path.items()
        ]
        return in_path + [_in_query(name, *how) for name, how in self.query.items()]


def _in_query(name: str, kind: Kind, default: Any) -> OpenApiParameter:
    """Documents a parameter of the query. The query itself refuses a required one that is missing: visibility first."""
    required = getattr(kind, "required", False)
    schema = kind.schema if required or default in _UNDOCUMENTED else {**kind.schema, "default": default}
    return OpenApiParameter(name, schema, description=kind.about, required=required)


def _value(given: Parameters, name: str, kind: Kind, default: Any) -> Any:
    text = given.get(name)
    return default if text is None else kind.read(name, text)


def _argument(name: str) -> str:
    return "from_" if name == "from" else name


def user_of(request: Request) -> User:
    """Returns the user who asks."""
    assert isinstance(request.user, User)  # no operation is reached without a token or a signed-in browser
    return request.user


Decorator = Callable[[Callable[..., Any]], Operation]


def _decorator(
    method: str, status: int, codes: tuple[int, ...], shape: Any, also: Mapping[int, Any] | None, media: str = JSON
) -> Decorator:
    def decorate(run: Callable[..., Any]) -> Operation:
        hints, arguments = get_type_hints(run, include_extras=True), signature(run).parameters
        special = {"user", "body", "request"}
        named = {name: each for name, each in arguments.items() if name not in special}
        first = next(iter(arguments))
        assert first == "user", f"{run.__name__}: the first argument is {first}"
        return Operation(
            method,
            run.__name__,
            run,
            about=" ".join((run.__doc__ or "").split()),
            path={name: _kind(hints[name]) for name, each in named.items() if each.kind is not Parameter.KEYWORD_ONLY},
            query={
                name.removesuffix("_"): (_kind(hints[name]), each.default)
                for name, each in named.items()
                if each.kind is Parameter.KEYWORD_ONLY
            },
            body=hints.get("body"),
            wants=frozenset(special & set(arguments)),
            status=status,
            responses=_responses({status: shape or hints["return"], **(also or {})}, codes, media),
        )

    return decorate


def _kind(declared: Any) -> Kind:
    """Returns the kind of parameter that an annotation names."""
    if get_origin(declared) is Annotated:
        kind: Kind = get_args(declared)[1]
        return kind
    return _NAME


def _responses(shapes: Mapping[int, Any], codes: tuple[int, ...], media: str = JSON) -> dict[Any, Any]:
    """Returns the documented answers: a shape for each status, a problem for each refusal."""
    found = {(status, media): Receipt if shape is Committed else shape for status, shape in shapes.items()}
    return found | {(code, MEDIA_TYPE): Problem for code in sorted(codes)}


def get(codes: tuple[int, ...] = READING, *, shape: Any = None, media: str = JSON) -> Decorator:
    """Makes an operation that reads. `shape` is the documented answer of a function that makes the response itself."""
    return _decorator("get", 200, codes, shape, None, media)


def post(
    status: int = 201, codes: tuple[int, ...] = WRITING, *, shape: Any = None, also: Mapping[int, Any] | None = None
) -> Decorator:
    """Makes an operation that creates or acts. `also` holds the answers with another status."""
    return _decorator("post", status, codes, shape, also)


def put(codes: tuple[int, ...] = WRITING, *, shape: Any = None, also: Mapping[int, Any] | None = None) -> Decorator:
    """Makes an operation that replaces something."""
    return _decorator("put", 200, codes, shape, also)


def delete(status: int = 200, codes: tuple[int, ...] = WRITING) -> Decorator:
    """Makes an operation that ends something."""
    return _decorator("delete", status, codes, None, None)


def command(
    name: str,
    run: Callable[..., Any],
    body: type[bodies.Body] | None,
    about: str,
    *,
    path: Mapping[str, Kind] = SESSION,
    method: str = "post",
    status: int = 201,
    codes: tuple[int, ...] = WRITING,
    shape: Any = Receipt,
    also: Mapping[int, Any] | None = None,
) -> Operation:
    """Makes an operation of a command. Parts of the path and fields of the body are its arguments, the answer is its
    receipt.
    """
    return Operation(
        method,
        name,
        run,
        about=about,
        path=path,
        query={},
        body=body,
        wants=frozenset(),
        status=status,
        responses=_responses({status: shape, **(also or {})}, codes),
    )


def address(*operations: Operation) -> Callable[..., HttpResponseBase]:
    """Returns the view of one address, with an operation for each method."""
    view: Any = type("Address", (APIView,), {each.method: each.handler() for each in operations})
    made: Callable[..., HttpResponseBase] = view.as_view()
    return made
