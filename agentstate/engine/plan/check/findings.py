"""What the check of a plan can find, each by the name of its rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from agentstate.errors import Invalid

Severity = Literal["error", "warning"]
MAX_FINDINGS = 500  # that are told of one plan
MAX_REASON = 300  # characters

ERRORS = {
    "unknown_tool": "no tool has this name",
    "bad_schema": "the tool's schema, or the form of the state, cannot be used",
    "bad_parameters": "a parameter breaks the tool's schema",
    "fixed_property": "the tool's schema, or the agent's output_paths, fixes this meta-property to something else",
    "bad_reference": "a reference, an output path or a scope cannot be read",
    "unknown_kind": "a reference names a kind of message that does not exist",
    "no_source": "a reference has no writer, no input, no state value and no alternative",
    "no_such_output": "a reference names a part that the writer's result cannot have",
    "wrong_type": "what is written has another type than what is wanted there",
    "two_writers": "two calls write one path, whatever happens; or in a model's plan a tool's own place, on any branch",
    "not_in_form": "the form of the state has no place for this output",
    "not_a_writer": "this place has another writer, or rules read it",
    "cycle": "calls wait for each other in a circle",
    "max_writers": "too many calls aim at one path",
    "unknown_scope": "a scope names nothing that exists or is written",
    "outside_scopes": "a parameter reads what the call's scopes do not allow",
    "unknown_instance": "no instance has this name",
    "names_instance": "a plan for many instances names one",
    "unknown_delegate": "no saved request has this name",
    "unknown_activity": "the tool has no activity of this name",
    "private_parameter": "a parameter reads what is private",
    "private_guard": "the guard reads what is private",
    "bad_guard": "the guard is no yes-or-no question over the state and the arguments",
}
WARNINGS = {
    "several_writers": "several calls may write one path: the first result appended wins",
    "new_kind": "an output goes to a kind of data that is not there, and that no call reads",
    "overlapping_outputs": "one call writes a part of what another writes, in no order",
    "dead_alternative": "an alternative of a reference has no source: it is never taken",
    "undeclared_output": "a reference names a part that the writer's schema does not declare",
    "guard_without_source": "the guard reads what nothing writes and is not there: it cannot be read",
    "reads_all": "the guard reads the state as a whole: it waits for nothing",
    "scope_not_waited_for": "a scope shows what another call writes, but no reference waits for it",
    "sees_nothing": "a delegate without scopes sees nothing but its parameters",
}
RULES = {**ERRORS, **WARNINGS}


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong with a plan, or doubtful: by which rule, at which call, and why."""

    rule: str
    call: str
    reason: str

    @property
    def severity(self) -> Severity:
        """Errors stop the plan before anything runs; warnings are shown."""
        return "error" if self.rule in ERRORS else "warning"

    def __str__(self) -> str:
        return f"{self.severity}: {self.call}: {self.rule}: {self.reason}"


class PlanRefused(Invalid):
    """The plan was refused."""

    code = "plan_refused"

    def __init__(self, findings: Sequence[Finding]) -> None:
        first = findings[0]
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        super().__init__(f"{first.call}: {first.rule}: {first.reason}{more}", field=first.call, rule=first.rule)
        self.findings = tuple(findings)
