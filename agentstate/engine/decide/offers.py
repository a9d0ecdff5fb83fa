"""What a request offers its model beside talking, and the refusal of every call that uses anything else.

A request names its tools. Plans, goals, references and the meta-properties of calls are offered only to the model of
an agent that declares them, each by name. Nothing else is read as a plan. `resolve_references` is offered to an agent
that declares entities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import references
from agentstate.engine.decide.charts import ALWAYS
from agentstate.engine.decide.commands.runs import Answer
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.plan import model
from agentstate.engine.schemas import bounds
from agentstate.engine.schemas.refusals import BreaksSchema
from agentstate.engine.state.goals import GOALS
from agentstate.engine.state.rounds import PLAN
from agentstate.engine.state.session import SessionState
from agentstate.engine.understanding.answer import RESOLVE_REFERENCES

REFERENCES = "references"
PROPERTIES = tuple(name for name in model.META if name != "_tool")  # every call of a plan names its tool
ALL = (PLAN, GOALS, REFERENCES, *PROPERTIES)
PLANNING = (PLAN, GOALS, REFERENCES, "_id", "_outputPath", "_when", "_activity")  # what most planning agents offer
MAX_CALLS = 16  # calls of one answer that are carried out
MAX_PROPOSED = 64  # calls of one answer that are recorded; an answer with more is not read
MAX_NAME = 60  # characters of a name that a refusal repeats
_PLAN_BOUNDS = bounds.Bounds(
    model.MAX_PARAMETERS.depth + 3, model.MAX_NODES + 10 * model.MAX_CALLS, model.MAX_CHARACTERS
)
_encoder = msgspec.json.Encoder(decimal_format="number")


class Refusal(msgspec.Struct, frozen=True):
    """Why a call of an answer is refused before policy judges it."""

    code: str
    reason: str


def unusable(answer: Answer) -> str:
    """Returns why nothing of an answer can be taken, as words for its record; empty: it can be."""
    if len(answer.calls) > MAX_PROPOSED:
        return f"the answer proposes more than {MAX_PROPOSED} calls"
    try:
        _encoder.encode(answer)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        return f"the answer cannot be recorded ({type(error).__name__})"
    return ""


def refusals(calls: Sequence[ev.CallProposed], state: SessionState, context: CommandContext) -> dict[int, Refusal]:
    """Returns the refused calls of an answer by their place in it. A plan that is written call by call is refused
    whole: the rest of it is not what the model proposed.
    """
    ids = Counter(call.id for call in calls)
    found = {
        place: refusal
        for place, call in enumerate(calls)
        if (refusal := _refusal(place, call, ids[call.id], state, context)) is not None
    }
    left = [(place, call) for place, call in enumerate(calls) if place not in found]
    plans = [place for place, call in left if call.tool == PLAN]
    planned = [place for place, call in left if is_planned(call, context.offers)]
    if plans:
        return found | dict.fromkeys(plans[1:], _ONE_PLAN) | dict.fromkeys(planned, _BESIDE_A_PLAN)
    if not planned:
        return found
    found |= {place: refusal for place, call in left if (refusal := _own_property(call, context)) is not None}
    if not found:
        return found
    place, first = min(found.items())
    rest = Refusal(first.code, f"the plan is refused whole, for its call {place + 1}: {first.reason}")
    return {place: found.get(place, rest) for place in range(len(calls))}


def is_planned(call: ev.CallProposed, offers: Collection[str]) -> bool:
    """Whether a call is written as part of a plan: it has meta-properties, references, or outcomes to choose from."""
    if call.tool in (PLAN, RESOLVE_REFERENCES):
        return False
    path = call.output_path or ""
    if any(key in offers for key in _properties(call.arguments)) or "||" in path or "&&" in path:
        return True
    if REFERENCES not in offers:
        return False
    try:
        return next(references.within(call.arguments), None) is not None
    except references.BadReference:
        return True


def tools_in(context: CommandContext) -> tuple[str, ...]:
    """Returns the names of all tools that a request of this agent can offer."""
    resolving = (RESOLVE_REFERENCES,) if context.ontology is not None else ()
    return (*context.tools, *(name for name in (PLAN, GOALS) if name in context.offers), *resolving)


_ONE_PLAN = Refusal(model.BadPlan.code, "an answer holds one plan at most")
_BESIDE_A_PLAN = Refusal(model.BadPlan.code, "beside a plan, a call has no properties and no references")
_TOO_MANY = Refusal("too_many_calls", f"an answer may propose {MAX_CALLS} calls: propose this one again later")
_REPEATED = Refusal("duplicate_id", "another call of the same answer has this id")


def _refusal(
    place: int, call: ev.CallProposed, same_id: int, state: SessionState, context: CommandContext
) -> Refusal | None:
    if place >= MAX_CALLS:
        return _TOO_MANY
    if same_id > 1:
        return _REPEATED
    try:
        bounds.check(call.arguments, "", _PLAN_BOUNDS if call.tool == PLAN else model.MAX_PARAMETERS)
    except BreaksSchema as broken:
        return Refusal(broken.code, f"{broken.rule}: {broken.detail}")
    reason = _tool_not_offered(call.tool, state, context) or _property_not_offered(call, state, context)
    return Refusal("not_offered", reason) if reason else None


def _tool_not_offered(tool: str, state: SessionState, context: CommandContext) -> str:
    """Returns why the tool may not be called; empty: it was offered, or the gate refuses it by a better reason: there
    is no such tool, or the session's chart does not allow it yet.
    """
    is_known = tool in context.tools or tool in (PLAN, GOALS, RESOLVE_REFERENCES)
    allowed = state.chart.tools
    is_later = allowed is not None and tool not in allowed and tool not in ALWAYS
    if tool in state.memory.offered or not is_known or is_later:
        return ""
    return f"the tool {tool} was not offered in this request"


def _property_not_offered(call: ev.CallProposed, state: SessionState, context: CommandContext) -> str:
    if call.tool == PLAN:
        return _in_plan(call.arguments, state, context)
    declared = _declared(call.tool, context)
    for name in _properties(call.arguments):
        if name not in context.offers and name not in declared:
            return _was_not_offered(name)
    return ""


def _in_plan(arguments: dict[str, Any], state: SessionState, context: CommandContext) -> str:
    """Returns what of a whole plan was not offered; empty: everything was."""
    if (other := next((name for name in arguments if name != "calls"), None)) is not None:
        return _was_not_offered(other)
    calls = arguments.get("calls")
    for number, call in enumerate(calls if isinstance(calls, list | tuple) else (), 1):
        if not isinstance(call, dict):
            continue  # no call: the plan is refused for it
        tool = call.get("_tool")
        wrong = _tool_not_offered(tool, state, context) if isinstance(tool, str) else ""
        name = next((name for name in _properties(call) if name != "_tool" and name not in context.offers), None)
        if wrong or name is not None:
            return f"call {number}: {wrong or _was_not_offered(str(name))}"
    return ""


def _own_property(call: ev.CallProposed, context: CommandContext) -> Refusal | None:
    """Returns the refusal of a call in a plan with a property that only its tool declares: a plan cannot hold it."""
    name = next((name for name in _properties(call.arguments) if name not in context.offers), None)
    return None if name is None else Refusal("not_offered", f"{_was_not_offered(name)}, in a plan")


def _properties(arguments: dict[str, Any]) -> Iterator[str]:
    return (name for name in arguments if name.startswith("_"))


def _declared(tool: str, context: CommandContext) -> Collection[str]:
    """Returns the names of the arguments that the tool's own schema declares."""
    schema = context.tools[tool].schema if tool in context.tools else None
    declared = schema.get("properties") if isinstance(schema, dict) else None
    return declared if isinstance(declared, dict) else ()


def _was_not_offered(name: str) -> str:
    return f"the property {name[:MAX_NAME]!r} was not offered"
