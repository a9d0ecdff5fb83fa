"""The plan of a session, plans that are kept, and goals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from agentstate.engine.plan.drawing import Drawing, dot, text
from agentstate.engine.plan.library import Saved
from agentstate.engine.plan.ready import Standing
from agentstate.people.models import User
from sessions.http.answers import filled
from sessions.http.bodies import arguments
from sessions.http.operations import command, get, post
from sessions.http.parameters import LAST, SessionId, Text, Whole
from sessions.plans import commands, queries
from sessions.plans import schemas as forms

Instance = Annotated[str, Text("show this instance of the round", LAST)]
NOWHERE = Standing("", "waiting")


@get()
def read_plan(
    user: User,
    session: SessionId,
    *,
    instance: Instance = "",
    before: Annotated[int | None, Whole(1, None, "compare this version ...")] = None,
    after: Annotated[int | None, Whole(1, None, "... with this one")] = None,
) -> forms.Plan:
    """The plan in force."""
    line = queries.plan_of(user, session, instance)
    change = None
    if before and after:
        _, words = queries.plan_difference(user, session, before, after)
        change = forms.PlanChange(before, after, words)
    found = line.progress
    bottleneck = found.bottleneck.call if found.bottleneck else ""
    return filled(
        forms.Plan,
        line,
        nodes=_nodes(line.drawing, found.standings, line.children),
        edges=line.drawing.edges,
        progress=filled(forms.PlanProgress, found, bottleneck=bottleneck),
        difference=change,
    )


def _nodes(picture: Drawing, standings: Mapping[str, Standing], children: dict[str, str]) -> list[forms.PlannedCall]:
    return [
        filled(
            forms.PlannedCall,
            node,
            status=standings.get(node.id, NOWHERE).status,
            reason=standings.get(node.id, NOWHERE).reason,
            waits_for=[str(path) for path in standings.get(node.id, NOWHERE).waits_for],
            session=children.get(node.id, ""),
        )
        for node in picture.nodes
    ]


edit_plan = command("edit_plan", commands.edit_plan, forms.EditPlan, "The plan in force.", method="put", status=200)


@get()
def draw_plan(user: User, session: SessionId, *, instance: Instance = "") -> forms.PlanDrawing:
    """The plan in force as a picture."""
    picture = queries.plan_of(user, session, instance).drawing
    return forms.PlanDrawing(text(picture), dot(picture), picture.left_out)


propose_plan = command(
    "propose_plan",
    commands.propose_plan,
    forms.ProposePlan,
    "The plan is checked before anything runs, and policy may put it before a person as a whole. More instances than"
    " one session holds become sessions of their own under this one.",
)


@post(200)
def check_plan(user: User, session: SessionId, body: forms.CheckPlan) -> forms.PlanChecked:
    """Check a plan, and work through it without effects."""
    wanted = arguments(body)
    found = queries.check_plan(user, session, body.calls, wanted.get("inputs", {}), wanted.get("fates", {}))
    run = found.run
    return forms.PlanChecked(
        findings=[filled(forms.PlanFinding, each) for each in found.findings],
        waves=run.waves if run else [],
        calls=_nodes(found.drawing, run.standings if run else {}, {}),
        state=run.states.get("", {}) if run else {},
        stops=found.stops,
    )


@get()
def list_saved_plans(user: User) -> forms.SavedPlans:
    """The plans that your teams keep."""
    return forms.SavedPlans(queries.saved_plans(user))


@post(shape=forms.SavedDocument)
def save_plan(user: User, body: forms.SavePlan) -> Saved:
    """A new version, unless it is the same as the one before. It is refused where a value or a word in it is the
    reference of a customer of the team: the plan would outlive their erasure.
    """
    wanted = arguments(body)
    wanted.pop("key")
    return commands.save_plan(user, **wanted)


@get(shape=forms.SavedDocument)
def read_saved_plan(user: User, name: Annotated[str, Text("`name`, or `name@version`", LAST)]) -> Saved:
    """A plan that a team keeps."""
    return queries.saved_plan(user, name)


@get()
def read_goals(user: User, session: SessionId) -> forms.Goals:
    """The goal of a session, taken apart."""
    line = queries.goals_of(user, session)
    tasks = [_task(each) for each in line.tasks]
    return forms.Goals(line.version, msgspec.to_builtins(line.tree), tasks)


def _task(each: Any) -> forms.GoalTask:
    task, standing = each.task, each.standing
    return filled(forms.GoalTask, standing, id=task.id, title=task.title, needs=task.needs, depth=each.depth)


set_goals = command("set_goals", commands.set_goals, forms.SetGoals, "The goal of a session, taken apart.")
change_goals = command(
    "change_goals",
    commands.change_goals,
    forms.ChangeGoals,
    "Adds, changes or removes one task. What others need cannot go.",
    method="patch",
    status=200,
)
