"""Shapes of plans, saved plans and goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.plan.drawing import Edge
from sessions.http.bodies import About, Body, Chars, Command, Object, Range, Words
from sessions.http.openapi import published
from sessions.plans import queries

_CALLS = "calls in the protocol's notation: `_tool`, parameters, `_outputPath`, `_when`, `_scopes`, `_delegate`, ..."


class ProposePlan(Command, kw_only=True):
    """A plan for a session: `calls`, or the name of a saved one."""

    calls: Annotated[list[Any], About(_CALLS)] | UnsetType = UNSET
    saved: Annotated[str, Chars(120, "a saved plan: `name` or `name@version`")] | UnsetType = UNSET
    inputs: Annotated[Object, About("what it is given: `†input.<name>`")] | UnsetType = UNSET
    instances: Annotated[list[Any], About("carry it out for each of these: {name, inputs, subject?}")] | UnsetType = (
        UNSET
    )
    follow: Annotated[bool, About("the agent must follow it exactly")] | UnsetType = UNSET
    replace: (
        Annotated[
            bool,
            About(
                "take the place of the plan that is under way, which is refused otherwise "
                "(`plan_under_way`); its pending requests are withdrawn, its approved calls go on"
            ),
        ]
        | UnsetType
    ) = UNSET


class EditPlan(Command, kw_only=True):
    """The plan as it should be. What has begun stays as it is."""

    calls: Annotated[list[Any], About(_CALLS)]
    version: Annotated[int, Range(1, None, "the version that you saw")]


class CheckPlan(Body, kw_only=True):
    """A plan to check, and to work through without effects."""

    calls: Annotated[list[Any], About(_CALLS)]
    inputs: Object | UnsetType = UNSET
    fates: (
        Annotated[Object, About('call -> which alternative it takes (0, 1 ...), "failed" or "rejected"')] | UnsetType
    ) = UNSET


class SavePlan(Command, kw_only=True):
    """A plan to keep under a name. Write no customer's name, account or reference into it: declare inputs."""

    name: Annotated[str, Chars(80)]
    calls: Annotated[list[Any], About(_CALLS)]
    inputs: Annotated[Object, About("JSON Schema of what it is given")] | UnsetType = UNSET
    output: Annotated[Any, About("a structure with references: what its end gives")] | UnsetType = UNSET
    result: Annotated[Any, About("JSON Schema of that")] | UnsetType = UNSET
    conditions: Annotated[list[Any], About("what must hold at its end (CEL over state, input, output)")] | UnsetType = (
        UNSET
    )
    about: Annotated[str, Chars(2000, blank=True)] | UnsetType = UNSET
    team: Annotated[str, Chars(60)] | UnsetType = UNSET


class SetGoals(Command, kw_only=True):
    """A goal taken apart into tasks; with `inputs` it is a template."""

    tree: Annotated[Object, About("{id, title, needs, done_when, plan, tasks, status}")]
    version: Annotated[int, Range(0, None, "the version that you saw; 0: there was none")]
    inputs: Object | UnsetType = UNSET


class ChangeGoals(Command, kw_only=True):
    """One task of a goal, added, changed or removed."""

    op: Annotated[str, Words(["add", "change", "remove"])]
    task: Annotated[str, Chars(80, "the task; to add one, that above it")]
    version: Annotated[int, Range(0, None, "the version that you saw")]
    fields: (
        Annotated[Object, About("{id, title, needs, done_when, plan, tasks, status}: the new task, or what changes")]
        | UnsetType
    ) = UNSET


class PlannedCall(Struct, frozen=True):
    id: str
    tool: str
    wave: Annotated[int, About("how many calls must come before it")]
    status: Annotated[str, About("waiting, ready, asked, running, done, failed, rejected, skipped or blocked")]
    reason: str
    waits_for: Sequence[str]
    output_path: str
    when: str
    session: Annotated[str, About("the session that does it, if another one does")]


class PlanProgress(Struct, frozen=True):
    percent: int
    counts: dict[str, int]
    critical_path: Sequence[str]
    milliseconds: Annotated[int, About("how long the critical path takes")]
    remaining: int
    bottleneck: Annotated[str, About("the call that holds up the end most, or empty")]


class PlanChange(Struct, frozen=True):
    before: int
    after: int
    words: Sequence[str]


class Plan(Struct, frozen=True):
    version: Annotated[int, About("0: there is none")]
    round: str
    is_open: bool
    follow: bool
    by: str
    source: str
    saved: str
    approved: Annotated[str, About("the request by which a person let it through, or empty")]
    request: Annotated[str, About("the request of a plan that waits for a person, or empty")]
    deviations: Annotated[Sequence[str], About("what of that plan is not as the one before it was approved")]
    parent: Annotated[str, About("the session whose task this one does, or empty")]
    instance: str
    calls: Sequence[Object]
    nodes: Sequence[PlannedCall]
    edges: Sequence[Edge]
    progress: PlanProgress
    members: Annotated[int, About("instances of the round; 0: the session itself")]
    ended: Annotated[int, About("of them")]
    percent: Annotated[int, About("of all calls of all instances")]
    counts: dict[str, int]
    instances: Annotated[Sequence[queries.InstanceLine], About("at most 200, those with failures first")]
    versions: Sequence[queries.VersionLine]
    difference: PlanChange | None


class PlanDrawing(Struct, frozen=True):
    text: Annotated[str, About("a line a call: what comes after what, where it stands")]
    dot: Annotated[str, About("Graphviz DOT; a node's class is its status")]
    left_out: Annotated[int, About("edges beyond 50,000")]


class PlanFinding(Struct, frozen=True):
    severity: str
    call: str
    rule: str
    reason: str


class PlanChecked(Struct, frozen=True):
    findings: Sequence[PlanFinding]
    waves: Sequence[Sequence[str]]
    calls: Sequence[PlannedCall]
    state: Annotated[Object, About("the state after the dry run")]
    stops: Annotated[dict[str, str], About("call -> why it would stop for a person")]


class SavedPlans(Struct, frozen=True):
    plans: Sequence[queries.SavedLine]


class SavedDocument(Struct, frozen=True):
    name: str
    version: int
    about: str
    calls: Sequence[Object]
    inputs: Object
    output: Any
    result: Any
    conditions: Sequence[str]


class GoalTask(Struct, frozen=True):
    id: str
    title: str
    depth: int
    status: str
    percent: int
    reason: str
    needs: Sequence[str]


class Goals(Struct, frozen=True):
    version: Annotated[int, About("0: there are none")]
    tree: Object | None
    tasks: Sequence[GoalTask]


published(
    PlanEdge=Edge,
    PlanVersion=queries.VersionLine,
    PlanInstance=queries.InstanceLine,
    SavedPlan=queries.SavedLine,
)
