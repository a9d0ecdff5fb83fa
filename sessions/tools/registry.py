"""The tools an agent may call: typed Python functions with what the runtime must know about each.

The registry is filled by import (`sessions.tools.human_request`, ...) and never changes afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from agentstate.engine import schemas
from agentstate.engine.plan.facts import ToolCard
from agentstate.engine.policy import DELEGATE
from agentstate.engine.schemas import bounds, compiled
from agentstate.engine.speech import SAY
from agentstate.engine.understanding import ontology
from agentstate.errors import Invalid
from sessions.outside.cancellation import Stop

Effect = Literal["pure", "idempotent", "once"]
Arguments = dict[str, Any]


class ToolContext(msgspec.Struct, frozen=True):
    """Who calls, and the idempotency key that stays the same over every attempt of one call. `view` is what the scopes
    of tool and call let through of the session's state and input, without what is private; without scopes, nothing. Of
    what is private it holds what the tool `receives`.
    """

    session: str
    call: str
    key: str
    customer: str
    attempt: int
    view: dict[str, Any] = {}
    stop: Stop = msgspec.field(default_factory=Stop)

    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more; a tool that takes long looks now and then, and ends."""
        return self.stop.is_set()


class Chosen(msgspec.Struct, frozen=True):
    """A result that says which of the alternatives of its output path it is, counted from 0."""

    outcome: int
    result: dict[str, Any]


Result = dict[str, Any] | Chosen


class Retry(msgspec.Struct, frozen=True):
    """How often a transient failure is tried again, and the base of the exponential pause in seconds. With `seconds`
    the tries go on for so long after the first try begins, however many there are.
    """

    attempts: int = 4
    base_seconds: float = 1.0
    seconds: float = 0.0


USUAL_RETRY = Retry()
USUAL_TIMEOUT = 10.0  # seconds
ANSWER_TIMEOUT = 60.0  # of a call that the model answers, sent back once included


class ToolFailed(Exception):
    """The tool did not do it. `transient`: the same call may work later, and not before `after` seconds. `code` names
    the reason for programs.
    """

    def __init__(self, message: str, *, transient: bool = False, after: float = 0.0, code: str = "") -> None:
        super().__init__(message)
        self.transient = transient
        self.after = after
        self.code = code


Run = Callable[[Arguments, ToolContext], Result]
Undo = Callable[[Arguments, Any], Arguments | None]


class Activity(msgspec.Struct, frozen=True):
    """Another function that may execute a tool's calls, with the same arguments, effect and result."""

    name: str
    description: str
    run: Run


Risk = Callable[[Arguments, dict[str, Any]], int]


def _no_risk(arguments: Arguments, state: dict[str, Any]) -> int:
    return 0


def _no_preview(arguments: Arguments, state: dict[str, Any]) -> str:
    return ""


class Tool(msgspec.Struct, frozen=True):
    """One registered tool. `effect` decides what happens to an intent whose result is unknown. Without a function of
    its own (`run`) the model answers its calls, unless they name one of its `activities`.
    """

    name: str
    version: int
    description: str
    effect: Effect
    arguments: dict[str, Any]
    run: Run | None
    validator: compiled.Validator  # of `arguments` without meta-properties
    preview: Callable[[Arguments, dict[str, Any]], str] = _no_preview
    timeout: float = USUAL_TIMEOUT
    retry: Retry = USUAL_RETRY
    compensation: str = ""  # what can be done about its effect afterwards: the name of a tool, or words
    entities: tuple[ontology.Source, ...] = ()  # where its result holds what a conversation may speak of
    scopes: tuple[str, ...] | None = None  # the only part of state and input that it may see; None: nothing
    result: dict[str, Any] | None = None  # schema of its result
    milliseconds: int = 0  # how long it usually takes
    activities: dict[str, Activity] = {}
    risk: Risk = _no_risk  # the tier that these arguments have at least; policy may say more, never less
    masked: tuple[str, ...] = ()  # paths of its result that are recorded nowhere (see sessions.tools.masks)
    secrets: tuple[str, ...] = ()  # by name, those that it is called with
    source: str = "python"  # or `http`, or `mcp:<server>`
    reaches: str = ""  # where its calls go, for people
    limit: int = 0  # calls of it that may run at once, over all workers; 0: any number. LIMITS goes before
    undone_by: str = ""  # the tool whose call undoes its effect, where one does
    undo: Undo | None = None  # that call's arguments, from this one's and its result; None: it cannot be undone
    payees: tuple[str, ...] = ()  # arguments that name the payee, compared with the customer's words
    amounts: tuple[str, ...] | None = None  # paths of arguments that hold the money it moves; None: not declared
    receives: tuple[str, ...] = ()  # private places of state and data that its `view` holds; no other tool sees them

    def misfit(self, result: object) -> str:
        """What of a result breaks the schema declared for it, by path and rule and never by value; empty if nothing."""
        if self.result is None:
            return ""
        try:
            schemas.validate(self.result, result, "result")
        except schemas.BreaksSchema as broken:
            return broken.detail
        return ""

    def check(self, arguments: object) -> None:
        """Raises Invalid naming the first argument that breaks the schema, and the rule, never the value."""
        try:
            bounds.check(arguments, "arguments")
            compiled.judge(self.validator, arguments, "arguments")
        except schemas.BreaksSchema as broken:
            raise Invalid(broken.detail.removeprefix(f"{broken.path}: "), field=broken.path) from None


_registry: dict[str, Tool] = {}
_RULES_NAME = {SAY: "what an agent says", DELEGATE: "calls that a session of its own does"}


def tool(
    *,
    name: str,
    version: int,
    description: str,
    effect: Effect,
    arguments: dict[str, Any],
    preview: Callable[[Arguments, dict[str, Any]], str] = _no_preview,
    timeout: float = USUAL_TIMEOUT,
    retry: Retry = USUAL_RETRY,
    compensation: str = "",
    scopes: tuple[str, ...] | None = None,
    result: dict[str, Any] | None = None,
    milliseconds: int = 0,
    entities: tuple[ontology.Source, ...] = (),
    risk: Risk = _no_risk,
    masked: tuple[str, ...] = (),
    limit: int = 0,
    undone_by: str = "",
    undo: Undo | None = None,
    payees: tuple[str, ...] = (),
    amounts: tuple[str, ...] | None = None,
    receives: tuple[str, ...] = (),
) -> Callable[[Callable[[Arguments, ToolContext], Any]], Callable[[Arguments, ToolContext], Any]]:
    """Register the decorated function under `name`. A name is taken once."""
    if result is not None:
        schemas.check_schema(result)

    def register(run: Callable[[Arguments, ToolContext], Any]) -> Callable[..., Any]:
        add(
            Tool(
                name,
                version,
                description,
                effect,
                arguments,
                run,
                validator_of(name, arguments),
                preview=preview,
                timeout=timeout,
                retry=retry,
                compensation=compensation,
                entities=entities,
                scopes=scopes,
                result=result,
                milliseconds=milliseconds,
                risk=risk,
                masked=masked,
                limit=limit,
                undone_by=undone_by,
                undo=undo,
                payees=payees,
                amounts=amounts,
                receives=receives,
            )
        )
        return run

    return register


def activity(
    *, of: str, name: str, description: str
) -> Callable[[Callable[[Arguments, ToolContext], Any]], Callable[[Arguments, ToolContext], Any]]:
    """Register the decorated function as another way to execute calls of the tool `of`, which is there already. A name
    is taken once for each tool.
    """

    def register(run: Callable[[Arguments, ToolContext], Any]) -> Callable[..., Any]:
        held = _registry[of]
        if name in held.activities:
            raise ValueError(f"{of!r} has an activity called {name!r} already")
        activities = {**held.activities, name: Activity(name, description, run)}
        _registry[of] = msgspec.structs.replace(held, activities=activities)
        return run

    return register


def answered_by_model(
    *,
    name: str,
    version: int,
    description: str,
    arguments: dict[str, Any],
    result: dict[str, Any],
    scopes: tuple[str, ...] | None = None,
    timeout: float = ANSWER_TIMEOUT,
    retry: Retry = USUAL_RETRY,
    milliseconds: int = 0,
) -> None:
    """Register a tool without a function: the model answers its calls. It is told `description` and must give what
    `result`, the schema of an object, allows. Its effect is pure: it may be asked again.
    """
    schemas.check_schema(result)
    if result.get("type") != "object":
        raise ValueError(f"{name!r}: the result of a call that the model answers is an object")
    validator = validator_of(name, arguments)
    add(
        Tool(
            name,
            version,
            description,
            "pure",
            arguments,
            None,
            validator,
            timeout=timeout,
            retry=retry,
            scopes=scopes,
            result=result,
            milliseconds=milliseconds,
        )
    )


def validator_of(name: str, arguments: dict[str, Any]) -> compiled.Validator:
    """Returns the validator of a tool's parameters alone. Raises BadSchema."""
    return compiled.validator(compiled.encode(ToolCard(name, arguments).parameters))


def add(tool: Tool) -> None:
    """Register a tool. A name is taken once, and rules judge speech and delegates under names of their own."""
    if tool.name in _RULES_NAME:
        raise ValueError(f"no tool is called {tool.name!r}: rules judge {_RULES_NAME[tool.name]} under this name")
    if tool.name in _registry:
        raise ValueError(f"a tool called {tool.name!r} is registered already")
    _registry[tool.name] = tool


class Source(msgspec.Struct, frozen=True):
    """Where tools come from that change while we run. `owns` says whether a name would be one of its; `find` gives the
    tool that it is now, `names` all that there are.
    """

    owns: Callable[[str], bool]
    find: Callable[[str], Tool | None]
    names: Callable[[], list[str]]


_sources: list[Source] = []


def add_source(source: Source) -> None:
    """Ask `source` too."""
    _sources.append(source)


def changes(name: str) -> bool:
    """Whether the tool of that name is of a source: it may be another tomorrow, or gone."""
    return name not in _registry and any(source.owns(name) for source in _sources)


def find(name: str) -> Tool | None:
    """The tool of that name, or None."""
    held = _registry.get(name)
    if held is not None or not _sources:
        return held
    return next((tool for source in _sources if (tool := source.find(name)) is not None), None)


def names() -> list[str]:
    """Every name that a tool has now, sorted."""
    return sorted({*_registry, *(name for source in _sources for name in source.names())})
