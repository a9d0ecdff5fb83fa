"""The call of a tool that is described by data: what is sent, what comes back, and what that means.

Secrets are read here, put into one header, and looked for in whatever comes back. What a failure says is the
description's words or a number: never what the other side wrote.
"""

from __future__ import annotations

import base64
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uritemplate
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agentstate.clock import now
from agentstate.engine import guards
from agentstate.errors import Invalid
from sessions.outside import answers, client, refusals, secrets
from sessions.outside.secret import Secret
from sessions.tools.http import mapping
from sessions.tools.http.description import Auth, BadTool, Described, Undo, load
from sessions.tools.registry import Arguments, Tool, ToolContext, ToolFailed, add, validator_of

FOLDER = Path(__file__).resolve().parent
SLACK = 2.0  # seconds that the runtime waits longer than the call may take
HIGHEST_TIER = 3
_encoder = msgspec.json.Encoder(decimal_format="number")
_SCALARS = (str, int)


def connect() -> None:
    """Register every description of this folder and of the installation's own. Raises BadTool naming the file, and
    ImproperlyConfigured.
    """
    try:
        client.reach_of(())
    except ValueError as error:
        raise ImproperlyConfigured(f"OUTSIDE_NETWORKS: {error}") from None
    for folder in folders():
        for file in sorted(folder.glob("*.json")):
            add(tool_of(read(file)))


def folders() -> list[Path]:
    """Where descriptions are."""
    return [FOLDER, *([Path(settings.TOOL_FOLDER) / "http"] if settings.TOOL_FOLDER else [])]


def read(file: Path) -> Described:
    """The description in a file. Raises BadTool naming it."""
    try:
        return load(file.read_bytes())
    except (BadTool, OSError) as error:
        raise BadTool(f"{file.name}: {error.detail if isinstance(error, BadTool) else error.strerror}") from None


def tool_of(found: Described) -> Tool:
    """The tool that a description is."""
    auth = found.request.auth
    return Tool(
        found.name,
        found.version,
        found.description,
        found.effect,
        found.arguments,
        partial(call, found),
        validator_of(found.name, found.arguments),
        preview=partial(preview, found),
        timeout=found.timeout + SLACK,
        retry=found.retry,
        compensation=found.compensation,
        undone_by=found.undo.tool if found.undo is not None else "",
        undo=partial(undoing, found.undo) if found.undo is not None else None,
        limit=found.limit,
        scopes=found.scopes,
        result=found.result,
        risk=partial(tier_of, found),
        masked=found.masked,
        payees=found.payees,
        amounts=found.amounts,
        secrets=(auth.secret,) if auth is not None else (),
        source="http",
        reaches=f"{found.request.method} {found.request.url}",
    )


def preview(found: Described, arguments: Arguments, state: dict[str, Any]) -> str:
    """What the call will do, in the description's words."""
    told = found.preview or f"Call {found.host}: {found.description}"
    return mapping.said(told, {"arguments": arguments})


def undoing(undo: Undo, arguments: Arguments, result: Any) -> Arguments | None:
    """The arguments of the call that undoes one; None where a value that they take is missing."""
    made = mapping.filled(undo.arguments, {"arguments": arguments, "result": result})
    return made if set(made) == set(undo.arguments) else None


def tier_of(found: Described, arguments: Arguments, state: dict[str, Any]) -> int:
    """The tier that the description gives these arguments at least. What cannot be read counts as the highest."""
    try:
        given = {"arguments": arguments, "state": state}
        return max((each.tier for each in found.risk if guards.holds(each.when, given)), default=0)
    except Invalid:
        return HIGHEST_TIER


def call(found: Described, arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """The result of one call. Raises ToolFailed."""
    values = {
        "arguments": arguments,
        "session": {"id": context.session, "customer": context.customer},
        "call": {"id": context.call, "key": _key(context), "attempt": context.attempt},
        "view": context.view,
    }
    _must_hold(found, values)
    try:
        sent = _secrets(found)
        answer = client.ask(_wanted(found, values, sent), _reach(found), _bounds(found), context.stop)
        return _result(found, answer, values, sent)
    except refusals.NotReached as error:
        raise ToolFailed(f"{found.host}: {error}", transient=error.transient, code=error.code) from None


def _must_hold(found: Described, values: dict[str, Any]) -> None:
    given = {name: values[name] for name in ("arguments", "session")}
    for each in found.requires:
        try:
            holds = guards.holds(each.that, given)
        except Invalid:
            holds = False
        if not holds:
            raise ToolFailed(each.why, code="requirement")


def _wanted(found: Described, values: dict[str, Any], sent: tuple[Secret, ...]) -> client.Wanted:
    request = found.request
    headers = [("Accept", "application/json" if found.answer.kind == "json" else "text/plain")]
    headers += list(request.headers.items())
    if request.auth is not None:
        headers.append(_credentials(request.auth, sent[0]))
    if request.idempotency:
        headers.append((request.idempotency, values["call"]["key"]))
    body = b""
    if request.body is not msgspec.UNSET:
        body = _encoder.encode(mapping.filled(request.body, values))
        headers.append(("Content-Type", "application/json"))
    return client.Wanted(request.method, _address(found, values), tuple(headers), body)


def _address(found: Described, values: dict[str, Any]) -> str:
    """The template filled in. A value can be no path of its own: `..` would be one."""
    filled = mapping.filled(found.request.variables, values)
    for name, value in filled.items():
        if isinstance(value, bool) or not isinstance(value, _SCALARS):
            raise ToolFailed(f"{name} is no text and no whole number", code="bad_argument")
        if str(value) in ("", ".", ".."):
            raise ToolFailed(f"{name} cannot stand in an address", code="bad_argument")
    return uritemplate.expand(found.request.url, {name: str(value) for name, value in filled.items()})


def _secrets(found: Described) -> tuple[Secret, ...]:
    auth = found.request.auth
    return (secrets.named(auth.secret),) if auth is not None else ()


def _credentials(auth: Auth, secret: Secret) -> tuple[str, str]:
    match auth.kind:
        case "bearer":
            return "Authorization", f"Bearer {secret.reveal()}"
        case "basic":
            return "Authorization", f"Basic {base64.b64encode(secret.reveal().encode()).decode()}"
        case "header":
            return auth.header, secret.reveal()


def _reach(found: Described) -> client.Reach:
    return client.reach_of((found.host,))


def _bounds(found: Described) -> client.Bounds:
    return client.Bounds(connect=found.connect, seconds=found.timeout, size=found.answer.size)


def _result(
    found: Described, answer: client.Answered, values: dict[str, Any], sent: tuple[Secret, ...]
) -> dict[str, Any]:
    if answer.status not in found.answer.ok:
        raise _refused(found, answer)
    read = _read(found, answer)
    if any(repeats(secret, answer.body) for secret in sent):
        raise refusals.RepeatsSecret()
    if found.answer.result is msgspec.UNSET:
        taken = read
    else:
        taken = mapping.filled(found.answer.result, {"answer": read, "arguments": values["arguments"]})
    return taken if isinstance(taken, dict) else {"value": None if taken is mapping.NOTHING else taken}


def repeats(secret: Secret, body: bytes) -> bool:
    """Whether an answer holds a secret, plain, as JSON text, or as base64."""
    value = secret.reveal().encode()
    text = body.decode("utf-8", "replace")
    return secret.is_in(text) or (len(value) >= 8 and base64.b64encode(value) in body)


def _read(found: Described, answer: client.Answered) -> Any:
    match found.answer.kind:
        case "json":
            return answers.json_of(answer)
        case "text":
            return answers.text_of(answer)
        case "none":
            return {}


def _refused(found: Described, answer: client.Answered) -> ToolFailed:
    """A failure by its status: in the description's words, or a number."""
    words = found.answer.refused.get(str(answer.status), f"{found.host} answered with status {answer.status}")
    if answer.status in found.answer.transient:
        wait = answers.patience(answer, now())
        return ToolFailed(words, transient=True, after=wait, code=f"status_{answer.status}")
    return ToolFailed(words, code=f"status_{answer.status}")


def _key(context: ToolContext) -> str:
    """A model may give its calls the same ids in every session."""
    return f"{context.session}.{context.key}"
