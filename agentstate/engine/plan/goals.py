"""A goal taken apart into subtasks: a tree, made by hand, from a template or from a model's answer.

A task is done by its own status, or, when it has subtasks, by theirs; one with a criterion (`done_when`, CEL over the
state) is done only while that holds. A task waits for those that it `needs`, wherever in the tree they stand. The tree
is bounded in size and depth, and it is data: what changes it gives a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from agentstate.engine import guards, references
from agentstate.engine.references import Found, Never
from agentstate.engine.schemas import bounds
from agentstate.engine.schemas.refusals import BreaksSchema
from agentstate.errors import Invalid, NotFound

MAX_TASKS = 1_000
MAX_DEPTH = 8
MAX_BYTES = 1_000_000
_BOUNDS = bounds.Bounds(depth=3 * MAX_DEPTH, nodes=20 * MAX_TASKS, text=MAX_BYTES)

TaskStatus = Literal["open", "running", "done", "failed", "dropped"]
Stage = Literal["waiting", "ready", "running", "done", "failed", "dropped"]
# What a model's answer is validated against; the same form is taken from people.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_.-]{0,79}$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 300},
        "needs": {"type": "array", "items": {"type": "string"}, "maxItems": 100},
        "done_when": {"type": "string", "maxLength": 2000},
        "plan": {"type": "string", "maxLength": 100},
        "tasks": {"type": "array", "items": {"$ref": "#"}, "maxItems": 200},
    },
    "required": ["id", "title"],
    "additionalProperties": False,
}


class BadGoal(Invalid):
    """The goal cannot be taken apart like this."""

    code = "bad_goal"

    def __init__(self, task: str, rule: str, detail: str) -> None:
        super().__init__(f"{task}: {rule}: {detail}" if task else f"{rule}: {detail}", field=task, rule=rule)
        self.task, self.rule = task, rule


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task and what it is made of. `plan` names a saved plan that does it."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_.-]{0,79}\Z")]
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
    needs: Annotated[tuple[str, ...], msgspec.Meta(max_length=100)] = ()
    done_when: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    plan: Annotated[str, msgspec.Meta(max_length=100)] = ""
    tasks: Annotated[tuple[Goal, ...], msgspec.Meta(max_length=200)] = ()
    status: TaskStatus = "open"  # of a task without subtasks


class Standing(msgspec.Struct, frozen=True):
    """Where a task stands; `percent` is rolled up, every task below counting alike, those that were dropped not."""

    status: Stage
    percent: int
    reason: str = ""


NO_PLANS: Mapping[str, Standing] = {}


def read(data: Any) -> Goal:
    """A tree from its notation. Raises BadGoal naming the task and the rule."""
    return checked(_part(data))


def _part(data: Any) -> Goal:
    """A task from its notation, and what it is made of; whether it fits its tree is not known yet."""
    try:
        bounds.check(data, "goal", _BOUNDS)
        return msgspec.convert(data, Goal)
    except BreaksSchema as broken:
        raise BadGoal("", broken.rule, broken.detail) from None
    except msgspec.ValidationError as error:
        raise BadGoal("", "schema", str(error)[:300]) from None


def from_template(template: Any, inputs: Mapping[str, Any]) -> Goal:
    """A tree from a template: its notation with references to `input`. Raises BadGoal, BadReference."""
    answer = references.filled(
        template, lambda path: references.read({"input": inputs}, path) or Never(f"there is no {path}")
    )
    if not isinstance(answer, Found):
        raise BadGoal("", "no_input", answer.why if isinstance(answer, Never) else "")
    return read(answer.value)


def checked(goal: Goal) -> Goal:
    """The tree, if its tasks have names of their own, need what exists, wait in no circle, and can be judged."""
    names: set[str] = set()
    for depth, task in walk(goal):
        if depth >= MAX_DEPTH:
            raise BadGoal(task.id, "max_depth", f"at most {MAX_DEPTH} levels")
        if task.id in names:
            raise BadGoal(task.id, "id", "two tasks have this name")
        names.add(task.id)
        if len(names) > MAX_TASKS:
            raise BadGoal(task.id, "max_tasks", f"at most {MAX_TASKS} tasks")
        if task.done_when:
            try:
                guards.compiled(task.done_when)
            except guards.BadGuard as error:
                raise BadGoal(task.id, "done_when", error.detail) from None
    _must_be_possible(goal, names)
    return goal


def walk(goal: Goal) -> Iterator[tuple[int, Goal]]:
    """Every task with its depth, from the top, in order. Stops going down at MAX_DEPTH."""
    waiting = [(0, goal)]
    while waiting:
        depth, task = waiting.pop()
        yield depth, task
        if depth < MAX_DEPTH:
            waiting += [(depth + 1, each) for each in reversed(task.tasks)]


def added(goal: Goal, parent: str, task: Any) -> Goal:
    """The tree with one task more, in its notation, below `parent`. Raises NotFound, BadGoal."""
    new = _part(task)
    return checked(_at(goal, parent, lambda found: replace(found, tasks=(*found.tasks, new))))


def changed(goal: Goal, task: str, fields: Mapping[str, Any]) -> Goal:
    """The tree with other `fields` (of Goal) at one task. Raises NotFound, BadGoal."""
    return checked(_at(goal, task, lambda found: _part({**msgspec.to_builtins(found), **fields})))


def removed(goal: Goal, task: str) -> Goal:
    """The tree without a task and all below it. Raises NotFound, and BadGoal when others need it."""
    if task == goal.id:
        raise BadGoal(task, "top", "the goal itself cannot be removed")
    _find(goal, task)
    return checked(_without(goal, task))


def standings(goal: Goal, state: Mapping[str, Any], plans: Mapping[str, Standing] = NO_PLANS) -> dict[str, Standing]:
    """Where every task of a checked tree stands, given the state, and of saved plans how far they have come."""
    tasks = {task.id: task for _, task in walk(goal)}
    found: dict[str, Standing] = {}
    for name in _order(goal):
        task = tasks[name]
        below = [found[each.id] for each in task.tasks]
        found[name] = _judged(task, _rolled(below) if below else _own(task, plans), state)
    return _with_waits(goal, found)


def _own(task: Goal, plans: Mapping[str, Standing]) -> Standing:
    """A task that a plan does stands where that plan stands, until somebody says otherwise."""
    if task.status == "open":
        return plans.get(task.plan, Standing("ready", 0))
    return Standing(task.status, 100 if task.status == "done" else 0)


def _rolled(below: list[Standing]) -> Standing:
    counted = [each for each in below if each.status != "dropped"]
    percent = sum(each.percent for each in counted) // len(counted) if counted else 100
    statuses = {each.status for each in counted}
    if not statuses:
        return Standing("dropped", 0)
    if statuses == {"done"}:
        return Standing("done", 100)
    if "failed" in statuses and not statuses & {"ready", "running", "waiting"}:
        return Standing("failed", percent, "a task below has failed")
    return Standing("running" if statuses & {"running", "done", "failed"} else "ready", percent)


def _judged(task: Goal, standing: Standing, state: Mapping[str, Any]) -> Standing:
    """A criterion has the last word on what claims to be done."""
    if standing.status != "done" or not task.done_when:
        return standing
    try:
        holds, why = guards.holds(task.done_when, {"state": state}), f"not yet: {task.done_when}"
    except guards.UnreadableGuard as error:
        holds, why = False, f"cannot be read: {error.detail}"
    return standing if holds else Standing("running", min(standing.percent, 99), why)


def _with_waits(goal: Goal, found: dict[str, Standing]) -> dict[str, Standing]:
    """Tasks that could begin wait while what they, or a task above them, need is not done."""
    given: dict[str, Standing] = {}
    waiting: list[tuple[Goal, str]] = [(goal, "")]
    while waiting:
        task, above = waiting.pop()
        lacking = above or next((name for name in task.needs if found[name].status != "done"), "")
        standing = found[task.id]
        if lacking and standing.status == "ready":
            standing = Standing("waiting", standing.percent, f"needs {lacking}")
        given[task.id] = standing
        waiting += [(each, lacking) for each in reversed(task.tasks)]
    return given


def _order(goal: Goal) -> tuple[str, ...]:
    """Every task after those below it."""
    return tuple(task.id for _, task in reversed(list(walk(goal))))


def _must_be_possible(goal: Goal, names: set[str]) -> None:
    """What is needed exists, and no task waits for itself: a task is begun after its needs and those of all above it,
    and done after all below it.
    """
    sorter: TopologicalSorter[tuple[str, str]] = TopologicalSorter()
    for _, task in walk(goal):
        sorter.add(("done", task.id), ("begun", task.id))
        for below in task.tasks:
            sorter.add(("begun", below.id), ("begun", task.id))
            sorter.add(("done", task.id), ("done", below.id))
        for name in task.needs:
            if name not in names:
                raise BadGoal(task.id, "needs", f"there is no task {name[:80]!r}")
            sorter.add(("begun", task.id), ("done", name))
    try:
        sorter.prepare()
    except CycleError as error:
        around = list(dict.fromkeys(name for _, name in error.args[1]))
        raise BadGoal(around[0], "cycle", f"{' and '.join(around[:10])} wait for each other") from None


def _find(goal: Goal, task: str) -> Goal:
    found = next((each for _, each in walk(goal) if each.id == task), None)
    if found is None:
        raise NotFound(f"there is no task {task!r}")
    return found


def _at(goal: Goal, task: str, change: Callable[[Goal], Goal]) -> Goal:
    _find(goal, task)
    return _changed(goal, task, change)


def _changed(goal: Goal, task: str, change: Callable[[Goal], Goal]) -> Goal:
    if goal.id == task:
        return change(goal)
    return replace(goal, tasks=tuple(_changed(each, task, change) for each in goal.tasks))


def _without(goal: Goal, task: str) -> Goal:
    kept = tuple(_without(each, task) for each in goal.tasks if each.id != task)
    return replace(goal, tasks=kept)
