"""An MCP server as data: how it is reached, and what we say of its tools.

What a tool does to the world is said here and nowhere else: annotations of the server are hints by somebody we do not
know. A tool that is not mentioned is `once`, and policy asks a person about it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from django.conf import settings

from agentstate.engine import guards, schemas
from agentstate.errors import Invalid, NotFound
from sessions.outside import secrets
from sessions.tools import masks
from sessions.tools.http import mapping
from sessions.tools.http.description import Auth, BadTool, Graver, Undo
from sessions.tools.registry import Effect, Retry

SEPARATOR = "__"  # between a server's name and its tool's
_NAME = re.compile(r"[a-z][a-z0-9]{0,19}")
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_TAKEN = {"PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH"}


class UnknownServer(NotFound):
    """There is no such MCP server."""

    code = "unknown_server"


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Known(_Form, frozen=True):
    """What we say of a tool. `result` is the schema of `data`, what it gives as structure."""

    effect: Effect = "once"
    compensation: str = ""
    undo: Undo | None = None
    limit: Annotated[int, msgspec.Meta(ge=0)] = 0  # calls at once, over all workers; 0: any number
    preview: str = ""
    risk: tuple[Graver, ...] = ()
    masked: tuple[str, ...] = ()
    amounts: tuple[str, ...] | None = None  # paths of arguments that hold the money it moves; None: not declared
    result: dict[str, Any] | None = None
    retry: Retry = Retry()


class Limits(_Form, frozen=True):
    """What the process of a server may use, and each that it starts: megabytes of memory of its own, seconds of work,
    open files, megabytes of one file that it writes.
    """

    memory: Annotated[int, msgspec.Meta(ge=16, le=65_536)] = 2_048
    work: Annotated[int, msgspec.Meta(ge=1, le=86_400)] = 600
    files: Annotated[int, msgspec.Meta(ge=16, le=65_536)] = 256
    written: Annotated[int, msgspec.Meta(ge=0, le=65_536)] = 64

    @property
    def of_process(self) -> dict[str, int]:
        """As `resource` names them. DATA counts what is the process's own, and not the address space that some
        runtimes only reserve.
        """
        return {
            "DATA": self.memory * 1_048_576,
            "CPU": self.work,
            "NOFILE": self.files,
            "FSIZE": self.written * 1_048_576,
            "CORE": 0,
        }


class Server(_Form, frozen=True):
    """One server. With `command` a process is started; with `url` it is called over streamable HTTP. After a call the
    conversation is kept for `keep` seconds for the next one, whosever that is; 0: each call has one of its own.
    `environment` is all that the process gets beside PATH: text, or `{"secret": name}`.
    """

    name: str
    command: tuple[str, ...] = ()
    environment: dict[str, str | dict[Literal["secret"], str]] = {}
    directory: str = ""
    url: str = ""
    auth: Auth | None = None
    timeout: Annotated[float, msgspec.Meta(gt=0, le=600)] = 30.0  # seconds of one call, with its beginning
    size: Annotated[int, msgspec.Meta(ge=1_000, le=1_000_000)] = 256_000  # bytes of what it says in one call
    keep: Annotated[float, msgspec.Meta(ge=0, le=300)] = 30.0  # seconds
    limits: Limits = Limits()
    tools: dict[str, Known] = {}

    @property
    def host(self) -> str:
        """The host of its address; empty for a process."""
        return urlsplit(self.url).hostname or ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets that it is given."""
        given = [value["secret"] for value in self.environment.values() if isinstance(value, dict)]
        return tuple(dict.fromkeys([*given, *([self.auth.secret] if self.auth else [])]))

    @property
    def reaches(self) -> str:
        """Where it is, for people."""
        return self.url or " ".join(self.command)

    def known(self, tool: str) -> Known:
        """What we say of its tool."""
        return self.tools.get(tool, Known())


def load(data: bytes) -> Server:
    """A server from its JSON. Raises BadTool, naming the field and what is wrong with it."""
    try:
        found = msgspec.json.decode(data, type=Server)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadTool(str(error)) from None
    _check(found)
    return found


def _check(found: Server) -> None:
    _must(_NAME.fullmatch(found.name), "name", "small letters and digits, at most 20")
    _must(bool(found.command) != bool(found.url), "command", "want a command or an url")
    parts = urlsplit(found.url)
    _must(not found.url or (parts.scheme in ("https", "http") and parts.hostname), "url", "want https://")
    _must(not (parts.username or parts.password or parts.fragment), "url", "no user and no fragment")
    _must(not (found.url and found.environment), "environment", "goes with a command")
    _must(not (found.command and found.auth), "auth", "goes with an url")
    for name, value in found.environment.items():
        _must(_VARIABLE.fullmatch(name) and name not in _TAKEN, "environment", f"not {name[:40]!r}")
        _must(isinstance(value, str) or secrets.NAME.fullmatch(value["secret"]), "environment", f"{name}: no secret")
    for name, known in found.tools.items():
        _must(_TOOL.fullmatch(name), "tools", f"{name[:40]!r} is no tool's name")
        _check_known(name, known)


def _check_known(name: str, known: Known) -> None:
    _must(all(masks.is_path(path) for path in known.masked), f"tools.{name}.masked", "want paths")
    try:
        for each in known.risk:
            guards.compiled(each.when)
        if known.undo is not None:
            mapping.check(known.undo.arguments, mapping.UNDOING, "undo.arguments", BadTool)
        if known.result is not None:
            schemas.check_schema(known.result)
    except Invalid as error:
        raise BadTool(f"tools.{name}: {error.detail}", field=f"tools.{name}") from None


def _must(holds: object, field: str, wanted: str) -> None:
    if not holds:
        raise BadTool(f"{field}: {wanted}", field=field)


def folder() -> Path | None:
    """Where servers are described."""
    return Path(settings.TOOL_FOLDER) / "mcp" if settings.TOOL_FOLDER else None


@lru_cache(maxsize=4)
def _read(folder: Path) -> dict[str, Server]:
    found: dict[str, Server] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            server = load(file.read_bytes())
        except BadTool as error:
            raise BadTool(f"{file.name}: {error.detail}") from None
        if server.name in found:
            raise BadTool(f"{file.name}: a server called {server.name!r} is described already")
        found[server.name] = server
    return found


def every() -> dict[str, Server]:
    """The servers of this installation, by name. Raises BadTool naming the file."""
    where = folder()
    return _read(where) if where is not None else {}


def named(name: str) -> Server:
    """The server of that name. Raises UnknownServer."""
    try:
        return every()[name]
    except KeyError:
        raise UnknownServer(f"got {name[:40]!r}", field="server") from None
