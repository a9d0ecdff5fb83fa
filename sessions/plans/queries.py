"""The plan of a session: its graph, where every call stands, how far it has come, its versions; and its goals."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.decide.plans import DEVIATES, deviating
from agentstate.engine.decide.verdicts import verdict_on
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.plan import check, goals, model
from agentstate.engine.plan.check import Finding
from agentstate.engine.plan.difference import Difference, difference, words
from agentstate.engine.plan.drawing import Drawing, drawing
from agentstate.engine.plan.dry_run import DryRun, dry_run
from agentstate.engine.plan.goals import Goal
from agentstate.engine.plan.goals import Standing as TaskStanding
from agentstate.engine.plan.library import Saved
from agentstate.engine.plan.progress import Progress, progress
from agentstate.engine.state import rounds
from agentstate.engine.state.goals import of_plans
from agentstate.engine.state.session import Call, SessionState
from agentstate.errors import NotFound
from agentstate.people.permissions import can, teams_with
from agentstate.people.roles import Permission
from audit import ledger
from sessions.agents.registry import context_for, facts_for
from sessions.core import plan_checks, states
from sessions.core.entry_lines import must_read, state_of
from sessions.core.session_lines import ERASED_NAME, Person
from sessions.core.visibility import shown_state
from sessions.http.bodies import About
from sessions.models.sessions import SavedPlan

MOST = 200  # instances told one by one, and deviations
LONGEST = 500  # characters of a deviation


class InstanceLine(msgspec.Struct, frozen=True):
    """One instance of a round: how many of its calls ended how."""

    name: str
    counts: dict[str, int]


class VersionLine(msgspec.Struct, frozen=True):
    """One version of a session's plan, as it was committed."""

    version: int
    round: str
    seq: Annotated[int, About("its entry in the session's log")]
    at: str
    by: str
    source: str
    calls: list[dict[str, Any]]


class PlanLine(msgspec.Struct, frozen=True):
    """The plan in force. `drawing` and `progress` are of `instance`, or of the session itself; `members` counts the
    instances of the round, `ended` those of which nothing can happen any more. `request` waits for a person, and its
    plan deviates in `deviations` from the one that was approved before.
    """

    version: int
    round: str
    is_open: bool
    follow: bool
    by: str
    source: str
    saved: str
    approved: str
    request: str
    deviations: tuple[str, ...]
    parent: str
    instance: str
    calls: list[dict[str, Any]]
    drawing: Drawing
    progress: Progress
    children: dict[str, str]  # call -> the session that does it
    answered: frozenset[str]  # calls that the model answers
    members: int
    ended: int
    percent: int
    counts: dict[str, int]
    instances: tuple[InstanceLine, ...]
    versions: tuple[VersionLine, ...]
    may_change: bool


class UnknownInstance(NotFound):
    """The plan is not carried out for such an instance."""

    code = "unknown_instance"


class UnknownVersion(NotFound):
    """The plan has no such version, or it is too old to be looked up here."""

    code = "unknown_version"


def plan_of(user: Person, session: UUID, instance: str = "") -> PlanLine:
    """Raises UnknownSession, PermissionDenied (it needs `read`), UnknownInstance."""
    team = must_read(user, session, "plan")
    state = shown_state(user, session, team, states.load(session).state)
    held = state.plans
    shown = instance or next(iter(held.members), "")
    if instance and instance not in held.members:
        raise UnknownInstance(instance[:100])
    found = _progress(state, shown)
    lines = [_instance(held, name) for name in held.members] if held.many else []
    counts = _summed([line.counts for line in lines]) if held.many else dict(found.counts)
    total = len(held.plan.calls) * max(1, len(lines))
    ended = sum(counts.get(status, 0) for status in ENDED)
    return PlanLine(
        version=held.version,
        round=held.round,
        is_open=held.is_open,
        follow=held.follow,
        by=held.by,
        source=held.source,
        saved=held.saved,
        approved=held.approved.request if held.approved else "",
        request=_request(state),
        deviations=_deviations(state),
        parent=held.parent,
        instance=shown,
        calls=model.write(held.plan),
        drawing=drawing(held.plan, found.standings),
        progress=found,
        children=_children(state),
        answered=_answered(state),
        members=len(lines),
        ended=sum(sum(line.counts.get(status, 0) for status in ENDED) == len(held.plan.calls) for line in lines),
        percent=100 * ended // total if total else 0,
        counts=counts,
        instances=(*_erased(held), *sorted(lines, key=_worst_first))[:MOST],
        versions=tuple(reversed(_versions(session, held.committed))),
        may_change=can(user, Permission.CHANGE_STATE, team),
    )


def _answered(state: SessionState) -> frozenset[str]:
    """The calls of the plan that the model answers, by name."""
    tools = facts_for(state.opened.agent) if state.opened else {}
    return frozenset(
        call.id
        for call in state.plans.plan.calls
        if call.tool in tools and tools[call.tool].answered and not (call.activity or call.delegate)
    )


def _children(state: SessionState) -> dict[str, str]:
    """The sessions that do calls of the plan, by the call's name."""
    found = ((rounds.place_of(state.plans, call.id), call.delegate) for call in state.calls.values() if call.delegate)
    return {place[0]: child for place, child in found if place is not None}


ENDED = ("done", "failed", "rejected", "skipped", "blocked")


def _progress(state: SessionState, instance: str) -> Progress:
    held = state.plans
    part = rounds.round_of(held, instance) if held.round else rounds.round_of(rounds.Plans(), "")
    cards = plan_checks.cards_of(state.opened.agent if state.opened else "")
    return progress(part, rounds.views_of(held, state.pad, instance), cards, rounds.others_of(held, state.pad))


def _instance(held: rounds.Plans, name: str) -> InstanceLine:
    counts: dict[str, int] = {}
    for outcome in held.part(name).outcomes.values():
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    return InstanceLine(name, counts)


def _erased(held: rounds.Plans) -> list[InstanceLine]:
    """A line for each data subject of instances who was erased: nobody knows any more how many they were."""
    counts = {"erased": len(held.plan.calls)}
    return [InstanceLine(ERASED_NAME, counts) for _ in held.erased] if held.many else []


def _worst_first(line: InstanceLine) -> tuple[int, str]:
    return -sum(line.counts.get(status, 0) for status in ("failed", "rejected", "blocked")), line.name


def _summed(every: list[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in every:
        for status, count in counts.items():
            total[status] = total.get(status, 0) + count
    return total


def _request(state: SessionState) -> str:
    """The request that waits for a person to let the plan through as a whole, if one does."""
    call = state.calls.get(state.plans.proposed)
    return call.request if call is not None and call.status is CallStatus.WAITING else ""


def _deviations(state: SessionState) -> tuple[str, ...]:
    """What of the agent's plan that waits for a person is not as the plan before it was approved."""
    call = state.calls.get(state.plans.proposed)
    request = state.requests.get(call.request) if call is not None else None
    if call is None or request is None or not request.asked.why.startswith(DEVIATES):
        return ()
    return tuple(str(each)[:LONGEST] for each in deviating(state, call.arguments["calls"])[:MOST])


def _versions(session: UUID, seqs: tuple[int, ...]) -> list[VersionLine]:
    found = []
    for seq in seqs:
        row = next(ledger.read_rows(session, seq, seq + 1))
        envelope, payload = ledger.open_row(row)
        event = ev.decode(payload)
        if isinstance(event, ev.PlanCommitted):
            line = VersionLine(event.version, event.round, seq, envelope.at, event.by, event.source, list(event.calls))
            found.append(line)
    return found


def plan_difference(user: Person, session: UUID, before: int, after: int) -> tuple[Difference, tuple[str, ...]]:
    """How two versions of a session's plan differ, as data and in words. Raises UnknownVersion."""
    must_read(user, session, "plan")
    kept = {line.version: line for line in _versions(session, states.load(session).state.plans.committed)}
    for version in (before, after):
        if version not in kept:
            raise UnknownVersion(f"got {version}, want one of {sorted(kept)}")
    older, newer = model.read(kept[before].calls), model.read(kept[after].calls)
    found = difference(older, newer)
    return found, words(found, older, newer)


class Checked(msgspec.Struct, frozen=True):
    """What a check and a dry run say of a plan; without `run` it has errors."""

    findings: tuple[Finding, ...]
    drawing: Drawing
    run: DryRun | None
    stops: dict[str, str]  # call -> why it would stop for a person


def check_plan(user: Person, session: UUID, calls: list[Any], inputs: dict[str, Any], fates: dict[str, Any]) -> Checked:
    """Check a plan against this session, and work through it with its effects simulated. Raises BadPlan."""
    must_read(user, session, "plan")
    state = states.load(session).state
    plan = model.read(calls)
    facts = plan_checks.facts_of(session, plan, inputs)
    findings = check.check(plan, facts)
    if any(finding.severity == "error" for finding in findings):
        return Checked(findings, Drawing((), ()), None, {})
    stops: dict[str, str] = {}

    def gate(call: str, arguments: dict[str, Any], views: Any) -> str:
        why = _why_it_stops(state, plan.by_id[call], arguments)
        if why:
            stops[call] = why
        return why

    return Checked(findings, drawing(plan), dry_run(plan, facts, fates, gate), stops)


def _why_it_stops(state: SessionState, call: model.Call, arguments: dict[str, Any]) -> str:
    """What policy would say of the call on these values, if it would stop for a person."""
    agent = state.opened.agent if state.opened else ""
    tool = facts_for(agent).get(call.tool)
    if tool is None:
        return ""
    asked = Call(call.id, call.tool, arguments, None, CallStatus.PROPOSED)
    verdict = verdict_on(state, asked, tool, context_for(agent, now()))
    return f"{verdict.rule}: {verdict.why}" if verdict.gate != "allow" else ""


class GoalLine(msgspec.Struct, frozen=True):
    """A task with where it stands, and how deep in the tree."""

    depth: int
    task: Goal
    standing: TaskStanding


class GoalsLine(msgspec.Struct, frozen=True):
    """The goal of a session, and its tasks from the top."""

    version: int
    tree: Goal | None
    tasks: list[GoalLine]


def goals_of(user: Person, session: UUID) -> GoalsLine:
    """Raises UnknownSession, PermissionDenied (it needs `read`)."""
    state = state_of(user, session, "plan")
    tree = state.goals.tree
    if tree is None:
        return GoalsLine(state.goals.version, None, [])
    found = goals.standings(tree, state.pad, of_plans(state))
    return GoalsLine(
        state.goals.version, tree, [GoalLine(depth, task, found[task.id]) for depth, task in goals.walk(tree)]
    )


class SavedLine(msgspec.Struct, frozen=True):
    """One version of a saved plan."""

    name: str
    version: int
    team: UUID
    by: str
    at: datetime


def saved_plans(user: Person) -> list[SavedLine]:
    """The newest version of each saved plan of the teams that `user` may read in."""
    rows = (
        SavedPlan.objects.filter(team__in=teams_with(user, Permission.READ))
        .order_by("team", "name", "-version")
        .distinct("team", "name")[:500]
    )
    return [SavedLine(row.name, row.version, row.team_id, row.by, row.at) for row in rows]


def saved_plan(user: Person, reference: str) -> Saved:
    """A saved plan by `name` or `name@version`. Raises UnknownPlan."""
    name = reference.partition("@")[0][:80]
    row = SavedPlan.objects.filter(team__in=teams_with(user, Permission.READ), name=name).first()
    if row is None:
        raise plan_checks.UnknownPlan(reference[:100])
    return plan_checks.saved_plan(row.team_id, reference)
