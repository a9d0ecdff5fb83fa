"""The check of a plan: everything that can be known to be wrong with it before anything runs.

Each finding names the call, the rule and the reason. Errors refuse the plan; warnings are shown to whoever approves it.
The cost grows with the plan's size, near linearly: a plan of 10,000 calls takes about a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from agentstate.engine import schemas
from agentstate.engine.plan.check import calls, outputs, sources
from agentstate.engine.plan.check.findings import (
    ERRORS,
    MAX_FINDINGS,
    MAX_REASON,
    RULES,
    WARNINGS,
    Finding,
    PlanRefused,
)
from agentstate.engine.plan.facts import Facts, completed
from agentstate.engine.plan.model import BadPlan, Plan
from agentstate.engine.plan.order import graph

__all__ = ["ERRORS", "RULES", "WARNINGS", "Finding", "PlanRefused", "accepted", "check"]


_UNREADABLE = ("bad_reference", "bad_guard")


def check(plan: Plan, facts: Facts) -> tuple[Finding, ...]:
    """What is wrong with a plan, errors first, at most MAX_FINDINGS. Raises BadPlan when a tool fixes a meta-property
    to what cannot be read.
    """
    found = [_short(each) for each in islice(_findings(completed(plan, facts), facts), MAX_FINDINGS)]
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: finding.severity))


def accepted(plan: Plan, facts: Facts) -> Plan:
    """The plan, completed with what its tools fix, if it has no errors. Raises PlanRefused with its findings."""
    errors = [finding for finding in check(plan, facts) if finding.severity == "error"]
    if errors:
        raise PlanRefused(errors)
    return completed(plan, facts)


def _findings(plan: Plan, facts: Facts) -> Iterator[Finding]:
    unusable = dict(_unusable_schemas(plan, facts))
    yield from unusable.values()
    unreadable = bool(unusable)
    for call in plan.calls:
        for finding in calls.findings(call, facts, call.tool not in unusable):
            unreadable = unreadable or finding.rule in _UNREADABLE
            yield finding
    if unreadable:
        return  # what cannot be read cannot be wired
    try:
        wiring = graph(plan)
    except BadPlan as error:
        yield Finding(error.rule, error.call, error.why)
        return
    yield from sources.findings(plan, facts, wiring)
    yield from outputs.findings(plan, facts, wiring)


def _unusable_schemas(plan: Plan, facts: Facts) -> Iterator[tuple[str, Finding]]:
    """Of each tool, of the form and of what is declared: what is wrong with its schemas, at the first call."""
    for name, schema in (("the form of the state", facts.form), *facts.declared.items()):
        yield from _unusable(name, "", schema)
    first = {call.tool: call.id for call in reversed(plan.calls)}
    for tool, call in first.items():
        card = facts.tools.get(tool)
        if card is not None:
            yield from _unusable(tool, call, card.arguments)
            yield from _unusable(tool, call, card.result)


def _unusable(name: str, call: str, schema: schemas.Schema | None) -> Iterator[tuple[str, Finding]]:
    try:
        schemas.check_schema(True if schema is None else schema)
    except schemas.BadSchema as error:
        yield name, Finding("bad_schema", call, f"{name}: {error.detail}")


def _short(finding: Finding) -> Finding:
    if len(finding.reason) <= MAX_REASON:
        return finding
    return Finding(finding.rule, finding.call, f"{finding.reason[: MAX_REASON - 3]}...")
