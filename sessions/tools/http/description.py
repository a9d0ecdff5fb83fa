"""A tool over HTTP as data, checked before anything is registered.

Scheme, host and port of the address stand in it literally: what a model says can fill in a path or a query, and never
say where a call goes. Templates are RFC 6570, of the operators that encode everything (`{x}`, `{/x}`, `{?x}`, `{&x}`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
import uritemplate

from agentstate.engine import guards, schemas
from agentstate.errors import Invalid
from sessions.outside import secrets
from sessions.tools import masks
from sessions.tools.http import mapping
from sessions.tools.registry import Effect, Retry

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_SAFE_EXPRESSION = re.compile(r"[/?&]?[A-Za-z0-9_]+(,[A-Za-z0-9_]+)*")
# Set by the connection, or by `auth`: a description must not say otherwise.
_OWN_HEADERS = {
    "host", "content-length", "content-type", "transfer-encoding", "connection", "te", "upgrade", "trailer", "expect",
    "accept-encoding", "authorization", "proxy-authorization", "cookie",
}  # fmt: skip


class BadTool(Invalid):
    """The description of a tool cannot be used."""

    code = "bad_tool"


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Auth(_Form, frozen=True):
    """How a call says who calls. `secret` names one; for `basic` it holds `user:password`; `header` names a header."""

    kind: Literal["bearer", "basic", "header"]
    secret: str
    header: str = ""


class Request(_Form, frozen=True):
    """What is sent. `variables` of the template, `headers` and `body` may take values: see `mapping`."""

    url: str
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    variables: dict[str, Any] = {}
    headers: dict[str, str] = {}
    body: Any = msgspec.UNSET
    auth: Auth | None = None
    idempotency: str = ""  # the header that carries the key which stays the same over every attempt


class Answer(_Form, frozen=True):
    """What is taken. A status that stands nowhere here ends the call for good, or for now: see `transient`."""

    ok: tuple[int, ...] = (200,)
    kind: Literal["json", "text", "none"] = "json"
    result: Any = msgspec.UNSET  # the result made of the answer, see `mapping`; left out: the answer itself
    transient: tuple[int, ...] = (408, 425, 429, 500, 502, 503, 504)
    refused: dict[str, str] = {}  # words for a status, e.g. "404": "there is no such customer"
    size: Annotated[int, msgspec.Meta(ge=1, le=256_000)] = 64_000  # bytes


class Requirement(_Form, frozen=True):
    """What must be true of a call before it is sent: CEL over arguments and session."""

    that: str
    why: str


class Graver(_Form, frozen=True):
    """When a call is of at least this tier: CEL over arguments and state."""

    when: str
    tier: Annotated[int, msgspec.Meta(ge=1, le=3)]


class Undo(_Form, frozen=True):
    """The call that undoes this one, with arguments made of this one's and its result: see `mapping`."""

    tool: str
    arguments: dict[str, Any]


class Described(_Form, frozen=True):
    """One tool over HTTP."""

    name: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    description: str
    effect: Effect
    arguments: dict[str, Any]
    result: dict[str, Any]
    request: Request
    answer: Answer = Answer()
    preview: str = ""  # plain words with {arguments.amount} in them
    compensation: str = ""
    undo: Undo | None = None
    limit: Annotated[int, msgspec.Meta(ge=0)] = 0  # calls at once, over all workers; 0: any number
    requires: tuple[Requirement, ...] = ()
    risk: tuple[Graver, ...] = ()
    masked: tuple[str, ...] = ()
    payees: tuple[str, ...] = ()  # arguments that name the payee
    amounts: tuple[str, ...] | None = None  # paths of arguments that hold the money it moves; None: not declared
    scopes: tuple[str, ...] | None = None
    retry: Retry = Retry()
    connect: Annotated[float, msgspec.Meta(gt=0, le=60)] = 3.0  # seconds
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 10.0  # seconds in all

    @property
    def host(self) -> str:
        """The host that its address names."""
        return urlsplit(_before(self.request.url)).hostname or ""


def load(data: bytes) -> Described:
    """A description from its JSON. Raises BadTool, naming the field and what is wrong with it."""
    try:
        found = msgspec.json.decode(data, type=Described)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadTool(str(error)) from None
    _check(found)
    return found


def _check(found: Described) -> None:
    _must(_NAME.fullmatch(found.name), "name", "small letters, digits and _")
    _check_schemas(found)
    _check_request(found.request)
    _must(found.effect != "pure" or found.request.method in ("GET", "HEAD", "POST"), "effect", "this method changes")
    _must(
        found.effect != "idempotent" or found.request.idempotency or found.request.method in ("PUT", "DELETE", "GET"),
        "effect",
        "an idempotent call needs `idempotency`, the header for its key, or a method that is idempotent by itself",
    )
    for path in found.masked:
        _must(masks.is_path(path), "masked", f"{path[:40]!r} is no path")
    for name in found.payees:
        _must(name in found.arguments.get("properties", {}), "payees", f"{name[:40]!r} is no argument")
    for path in found.amounts or ():
        name = path.partition(".")[0]
        _must(name in found.arguments.get("properties", {}), "amounts", f"{name[:40]!r} is no argument")
    for number, each in enumerate(found.requires):
        _check_guard(each.that, f"requires[{number}]")
    for number, graver in enumerate(found.risk):
        _check_guard(graver.when, f"risk[{number}]")
    for status in found.answer.refused:
        _must(re.fullmatch(r"[1-5][0-9]{2}", status), "answer.refused", f"{status[:20]!r} is no status")
    for place, template in (("variables", found.request.variables), ("body", found.request.body)):
        mapping.check(template, mapping.SENDING, f"request.{place}", BadTool)
    mapping.check(found.answer.result, mapping.TAKING, "answer.result", BadTool)
    if found.undo is not None:
        mapping.check(found.undo.arguments, mapping.UNDOING, "undo.arguments", BadTool)
    mapping.check_text(found.preview, "preview", BadTool)


def _check_schemas(found: Described) -> None:
    for name, schema in (("arguments", found.arguments), ("result", found.result)):
        try:
            schemas.check_schema(schema)
        except Invalid as error:
            raise BadTool(f"{name}: {error.detail}", field=name) from None
    _must(found.arguments.get("type") == "object", "arguments", "want the schema of an object")
    _must(found.arguments.get("additionalProperties") is False, "arguments", "want additionalProperties: false")


def _check_request(request: Request) -> None:
    parts = urlsplit(_before(request.url))
    _must(parts.scheme in ("https", "http"), "request.url", "want https:// (or http://)")
    _must(parts.hostname and not parts.username and not parts.password, "request.url", "want a host, and no user")
    _must("/" in parts.path, "request.url", "the host ends with / before the first variable")
    _must("#" not in request.url and request.url.isascii() and request.url.isprintable(), "request.url", "no fragment")
    for expression in _EXPRESSION.findall(request.url):
        _must(_SAFE_EXPRESSION.fullmatch(expression), "request.url", f"{{{expression[:40]}}} may say too much")
    names = set(uritemplate.variables(request.url))
    _must(names == set(request.variables), "request.variables", f"the address names {sorted(names)}")
    for name, value in request.headers.items():
        _must(_TOKEN.fullmatch(name) and name.lower() not in _OWN_HEADERS, "request.headers", f"not {name[:40]!r}")
        _must(value.isascii() and value.isprintable(), "request.headers", f"{name}: want printable ASCII")
    _must(not request.idempotency or _TOKEN.fullmatch(request.idempotency), "request.idempotency", "want a header")
    if request.auth is not None:
        header = request.auth.header
        _must(secrets.NAME.fullmatch(request.auth.secret), "request.auth.secret", "want the name of a secret")
        _must((request.auth.kind == "header") == bool(header), "request.auth.header", "goes with the kind `header`")
        _must(not header or (_TOKEN.fullmatch(header) and header.lower() not in _OWN_HEADERS), "request.auth.header",
              "want the name of a header")  # fmt: skip


def _check_guard(expression: str, field: str) -> None:
    try:
        guards.compiled(expression)
    except Invalid as error:
        raise BadTool(f"{field}: {error.detail}", field=field) from None


def _before(url: str) -> str:
    """What of an address stands before its first variable."""
    return url.partition("{")[0]


def _must(holds: object, field: str, wanted: str) -> None:
    if not holds:
        raise BadTool(f"{field}: {wanted}", field=field)
