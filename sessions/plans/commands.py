"""Plans and goals: proposing and editing a plan, saving one and using it again, taking a goal apart.

What changes a session's plan or goals needs `change_state`; saving a plan needs it in the team that keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID, uuid5

import msgspec

from agentstate.engine.decide import Open
from agentstate.engine.decide.commands.plans import (
    ChangeGoals,
    EditPlan,
    InstanceGiven,
    ProposePlan,
    SetGoals,
    TakeTask,
)
from agentstate.engine.decide.plans.wishes import must_be_free
from agentstate.engine.plan import library, model
from agentstate.engine.plan.library import Saved
from agentstate.engine.plan.model import BadPlan
from agentstate.engine.state.rounds import MAX_INSTANCES
from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from audit import erasure, keys
from sessions.agents.registry import BATCH
from sessions.conversation.commands import KEYS
from sessions.core import plan_checks, states
from sessions.core.commit import open_session, person_command
from sessions.core.committed import Author, Committed
from sessions.core.guards import Guard
from sessions.core.person import Person, author_of, must_may
from sessions.core.projections import Place
from sessions.core.states import Loaded
from sessions.models.sessions import AgentSession

MAX_BATCH = 100_000  # instances of one plan, over all sessions
MAX_TEXT = 200  # characters of a data subject's reference


class SubjectLeaves(Refused):
    """The data subject of an instance is being erased."""

    code = "subject_leaves"
    remedy = "Ask again: the subject then counts as a new one."


def propose_plan(
    user: Person,
    session: UUID,
    *,
    calls: list[Any] | None = None,
    saved: str = "",
    inputs: dict[str, Any] | None = None,
    instances: Sequence[dict[str, Any]] = (),
    follow: bool = False,
    replace: bool = False,
    key: str = "",
) -> Committed:
    """Hand the session a plan: `calls` in the protocol's notation, or the name of a saved one (`name`, `name@version`).
    With `replace` it takes the place of the plan that is under way; approved calls of that one go on beside it.
    More instances than one session holds are shared out to sessions of their own, whose parts the parent waits for.
    Raises BadPlan, PlanRefused, BreaksSchema, SessionOver, UnknownPlan, PlanUnderWay.
    """
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    members = _members(session, instances)
    command = _proposal(session, calls, saved, inputs or {}, follow, author)
    command = msgspec.structs.replace(command, replace=replace)
    if len(members) <= MAX_INSTANCES:
        command = msgspec.structs.replace(command, instances=members)
        return person_command(session, command, author, guard=_living(members))
    return _shared_out(session, command, members, author)


def _living(members: Sequence[InstanceGiven]) -> Guard | None:
    """Returns the guard that nobody of these is being erased; none for a plan of the session's own customer."""
    kids = {UUID(each.kid) for each in members if each.kid}
    return Guard(erasure.living(kids), SubjectLeaves()) if kids else None


class Member(msgspec.Struct, frozen=True):
    """An instance as it is asked for. `subject` names whose data it is; empty: the session's customer."""

    name: str
    inputs: dict[str, Any] = {}
    subject: str = ""


def _members(session: UUID, instances: Sequence[dict[str, Any]]) -> tuple[InstanceGiven, ...]:
    if len(instances) > MAX_BATCH:
        raise Invalid(f"got {len(instances)} instances, at most {MAX_BATCH}", field="instances")
    try:
        members = msgspec.convert(list(instances), list[Member])
    except msgspec.ValidationError as error:
        raise Invalid(str(error)[:300], field="instances") from None
    if any(len(member.subject) > MAX_TEXT for member in members):
        raise Invalid(f"a subject has at most {MAX_TEXT} characters", field="instances")
    return _with_keys(session, members)


def _with_keys(session: UUID, members: list[Member]) -> tuple[InstanceGiven, ...]:
    """Each with the key of its data subject; the session's own subject needs none."""
    named = {member.subject for member in members if member.subject}
    found: dict[str, str] = {}
    if named:
        place = states.load(session).place
        kids = keys.subject_kids(place.tenant, named)
        found = {subject: str(kid) for subject, kid in kids.items() if kid != place.kid}
    return tuple(
        InstanceGiven(
            each.name, each.inputs, each.subject if each.subject in found else "", found.get(each.subject, "")
        )
        for each in members
    )


def _proposal(
    session: UUID, calls: list[Any] | None, saved: str, inputs: dict[str, Any], follow: bool, author: Author
) -> ProposePlan:
    if (calls is None) == (not saved):
        raise Invalid("want calls, or the name of a saved plan", field="calls")
    if calls is not None:
        model.read(calls)  # refused here, before it is hashed as a command
        return ProposePlan(tuple(calls), author.actor, follow, inputs)
    team = states.load(session).place.team
    found = plan_checks.saved_plan(team, saved)
    library.instantiate(found, inputs, plan_checks.facts_of(session))
    saved_by = plan_checks.authors_of(team, found)
    return ProposePlan(
        found.calls, author.actor, follow, inputs, saved=found.reference, source="saved", saved_by=saved_by
    )


def _shared_out(session: UUID, command: ProposePlan, members: tuple[InstanceGiven, ...], author: Author) -> Committed:
    """Sessions for parts of the instances, and in the parent a plan that waits for each. Their ids follow from the key,
    so asking again opens none twice; the parent's plan comes first, so a part that was never opened is seen.
    """
    names = [member.name for member in members]
    if len(set(names)) < len(names):
        raise Invalid("two instances have the same name", field="instances")
    seed = uuid5(KEYS, f"{author.actor}/batch/{session}/{author.key}") if author.key else new_id()
    parts = [members[start : start + MAX_INSTANCES] for start in range(0, len(members), MAX_INSTANCES)]
    children = [uuid5(seed, str(number)) for number in range(len(parts))]
    parent = states.load(session)
    if not command.replace and not AgentSession.objects.filter(pk=children[0]).exists():
        must_be_free(parent.state)  # before the parts begin; asked again, they have begun
    for child, part in zip(children, parts, strict=True):
        _open_part(parent, child, msgspec.structs.replace(command, instances=part), author)
    waits = tuple(
        {
            "_id": f"part-{number}",
            "_tool": BATCH.name,
            "_delegate": BATCH.name,
            "_scopes": [],
            "session": str(child),
            "count": len(part),
        }
        for number, (child, part) in enumerate(zip(children, parts, strict=True), 1)
    )
    waiting = ProposePlan(waits, author.actor, saved=command.saved, replace=command.replace, saved_by=command.saved_by)
    return person_command(session, waiting, author)


def _open_part(parent: Loaded, child: UUID, plan: ProposePlan, author: Author) -> None:
    opened, place = parent.state.opened, parent.place
    assert opened is not None
    opening = Open(opened.customer, opened.team, opened.agent, opened.channel, opened.topic)
    open_session(Place(child, place.tenant, place.team, place.kid), opening, Author(author.actor))
    if not states.load(child).state.plans.parent:
        authors, customers = parent.state.plans.parent_authors, parent.state.involved.customer
        task = TakeTask(str(place.id), "", author.actor, plan=plan, authors=authors, customers=customers)
        guard = _living(plan.instances)
        person_command(child, task, Author(author.actor), guard=guard, under=place.id)


def edit_plan(user: Person, session: UUID, calls: list[Any], *, version: int, key: str = "") -> Committed:
    """Change the plan that is being carried out; `version` is the one that was seen. Raises NoPlan, PlanChanged,
    AlreadyBegun, BadPlan, PlanRefused.
    """
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    model.read(calls)
    return person_command(session, EditPlan(tuple(calls), author.actor, version), author)


def set_goals(
    user: Person,
    session: UUID,
    tree: dict[str, Any],
    *,
    version: int,
    inputs: dict[str, Any] | None = None,
    key: str = "",
) -> Committed:
    """Take the session's goal apart, or change how it was; with `inputs` the tree is a template. Raises BadGoal,
    GoalsChanged, BadReference.
    """
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    return person_command(session, SetGoals(tree, author.actor, version, inputs=inputs), author)


def change_goals(
    user: Person,
    session: UUID,
    *,
    op: Literal["add", "change", "remove"],
    task: str,
    version: int,
    fields: dict[str, Any] | None = None,
    key: str = "",
) -> Committed:
    """Change one task of the session's goal. Raises BadGoal, GoalsChanged, NotFound."""
    must_may(user, session, Permission.CHANGE_STATE)
    author = author_of(user, key)
    return person_command(session, ChangeGoals(op, task, author.actor, version, fields or {}), author)


def save_plan(user: Person, name: str, calls: list[Any], *, team: str = "", **more: Any) -> Saved:
    """Keep a plan under a name, as its next version; the same as before is no new version. `more` are fields of Saved:
    inputs, output, result, conditions, about. Raises BadPlan, BadSchema, BadGuard, BadReference, NamesCustomer.
    """
    chosen = _keeping_team(user, team)
    author = author_of(user)
    plan = model.read(calls)
    if not plan.calls:
        raise BadPlan("", "empty", "a plan has at least one call")
    return plan_checks.keep(chosen.tenant_id, chosen.pk, author.actor, name, plan, more)


def _keeping_team(user: Person, slug: str) -> Team:
    allowed = Team.objects.filter(pk__in=teams_with(user, Permission.CHANGE_STATE))
    found = list((allowed.filter(slug=slug) if slug else allowed)[:2])
    if not found:
        needed = Permission.CHANGE_STATE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    if len(found) > 1:
        raise Invalid("you belong to several teams: say which", field="team")
    return found[0]
