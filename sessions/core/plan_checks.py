"""Saved plans as rows, and what a plan is checked against in the shell.

A saved plan's document is sealed under the key of the team's own subject: literals in it may be personal. Every version
is a row of its own, and none is ever changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Max
from msgspec.structs import replace

from agentstate.clock import now
from agentstate.engine.decide import Command, CommandContext
from agentstate.engine.decide.plans import card_of, delegates_in, facts_for
from agentstate.engine.plan import library
from agentstate.engine.plan.facts import ANONYMOUS, Facts, ToolCard
from agentstate.engine.plan.library import Saved
from agentstate.engine.plan.model import Plan
from agentstate.engine.state.participants import MAX_PEOPLE, people
from agentstate.engine.state.session import SessionState
from agentstate.errors import NotFound, Refused
from agentstate.ids import new_id
from audit import keys
from audit.keys import teams
from audit.models import KeyedLog
from sessions.agents.registry import context_for
from sessions.core import states
from sessions.models.sessions import AgentSession, SavedPlan

PURPOSE = "agent_sessions/saved_plan"
TRIES = 5


class UnknownPlan(NotFound):
    """There is no such saved plan, or you may not see it."""

    code = "unknown_plan"


class NamesCustomer(Refused):
    """The plan names a customer, and it would keep the name after their erasure."""

    code = "names_customer"
    remedy = "Declare an input in its place, and give the customer when the plan is used."


class SavedMeanwhile(Refused):
    """Others save under this name all the time."""

    code = "saved_meanwhile"


def keep(tenant: UUID, team: UUID, by: str, name: str, plan: Plan, more: dict[str, Any]) -> Saved:
    """The next version of a saved plan. Raises BadPlan, BadSchema, BadGuard, BadReference, NamesCustomer."""
    inputs = more.pop("inputs", None) or dict(library.NO_INPUTS)
    kid = teams.kids_of(tenant, [team])[team]
    for _ in range(TRIES):
        before = _newest(team, name)
        made = library.saved(name, plan, inputs, before, **more)
        if made is before:
            return made
        if _names_customer(tenant, team, library.texts(made)):
            raise NamesCustomer(name)
        row = SavedPlan(id=new_id(), tenant_id=tenant, team_id=team, name=name, version=made.version, by=by, at=now())
        row.kid, row.sealed = kid, keys.seal(kid, f"{PURPOSE}/{row.id}", library.dump(made))
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:  # somebody saved this version just now
            continue
        return made
    raise SavedMeanwhile(name)


def _names_customer(tenant: UUID, team: UUID, texts: Iterable[str]) -> bool:
    """Whether one of the texts is the reference of a data subject of the team's sessions."""
    known = keys.known_kids(tenant, texts).values()
    logs = KeyedLog.objects.filter(kid__in=list(known)).values("log")
    return AgentSession.objects.filter(team=team, pk__in=logs).exists()


def saved_plan(team: UUID, reference: str) -> Saved:
    """The saved plan `name` (its newest version) or `name@version` of a team. Raises UnknownPlan."""
    name, version = _parts(reference)
    rows = SavedPlan.objects.filter(team=team, name=name)
    row = (rows if version is None else rows.filter(version=version)).order_by("-version").first()
    if row is None:
        raise UnknownPlan(reference[:100])
    return opened(row)


def authors_of(team: UUID, saved: Saved) -> tuple[str, ...]:
    """Returns the actors of the people who saved this version of a plan or an earlier one, the latest last: an edit
    keeps the authors of what it edits.
    """
    versions = SavedPlan.objects.filter(team=team, name=saved.name, version__lte=saved.version)
    rows = versions.values("by").annotate(last=Max("version")).order_by("-last")[:MAX_PEOPLE]
    return people(row["by"] for row in reversed(rows))


def _parts(reference: str) -> tuple[str, int | None]:
    """Name and version of a reference; None: the newest, 0, which no plan has: not a version at all."""
    name, at, version = reference.partition("@")
    if not at:
        return name[:80], None
    return name[:80], int(version) if version.isascii() and version.isdigit() and len(version) < 9 else 0


def kept_among(team: UUID, references: Iterable[str]) -> frozenset[str]:
    """Those of the references, `name` or `name@version`, under which the team keeps a plan. One query."""
    wanted = {reference: _parts(reference) for reference in references}
    names = {name for name, _ in wanted.values()}
    rows = SavedPlan.objects.filter(team=team, name__in=names).values_list("name", "version")
    kept = {(name, number) for name, version in rows for number in (version, None)}
    return frozenset(reference for reference, parts in wanted.items() if parts in kept)


def informed(command: Command, state: SessionState, context: CommandContext) -> CommandContext:
    """`context` with the saved plans that calls in the command may be handed over to: `decide` itself looks nothing up.
    Costs nothing where no call names a delegate.
    """
    return _with_saved(context, state, delegates_in(command, state, context.offers))


def _with_saved(context: CommandContext, state: SessionState, named: Iterable[str]) -> CommandContext:
    wanted = frozenset(named) - context.saved
    if not wanted or state.opened is None:
        return context
    return replace(context, saved=context.saved | kept_among(UUID(state.opened.team), wanted))


def opened(row: SavedPlan) -> Saved:
    """The document of a row."""
    return library.load(keys.unseal(row.kid, f"{PURPOSE}/{row.pk}", bytes(row.sealed)))


def _newest(team: UUID, name: str) -> Saved | None:
    row = SavedPlan.objects.filter(team=team, name=name).order_by("-version").first()
    return opened(row) if row is not None else None


def cards_of(agent: str) -> dict[str, ToolCard]:
    """The tools of an agent as plans know them."""
    return {name: card_of(tool) for name, tool in context_for(agent, now()).tools.items()} if agent else {}


def facts_of(session: UUID, plan: Plan | None = None, inputs: dict[str, Any] | None = None) -> Facts:
    """What a plan of this session is checked against."""
    state = states.load(session).state
    plan = plan or Plan()
    context = context_for(state.opened.agent if state.opened else "", now())
    named = {call.delegate for call in plan.calls} - {"", ANONYMOUS}
    return facts_for(state, plan, inputs or {}, _with_saved(context, state, named))
