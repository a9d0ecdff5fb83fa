"""The saved plans that a command names. The shell looks them up and passes them as `CommandContext.saved`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any

from agentstate.engine.decide.commands.approvals import Decide
from agentstate.engine.decide.commands.base import Command
from agentstate.engine.decide.commands.calls import Begin
from agentstate.engine.decide.commands.plans import EditPlan, ProposePlan, TakeTask
from agentstate.engine.decide.commands.runs import Answer
from agentstate.engine.plan.facts import ANONYMOUS
from agentstate.engine.state.session import SessionState

DELEGATE = "_delegate"


def delegates_in(command: Command, state: SessionState, offers: Collection[str] = ()) -> frozenset[str]:
    """The references, `name` or `name@version`, of all that calls in the command may be handed over to. Nothing in it
    was checked yet. An answer of a model names none where its agent `offers` none.
    """
    if isinstance(command, Answer) and DELEGATE not in offers:
        return frozenset()
    return frozenset(_named(_calls_in(command, state))) - {"", ANONYMOUS}


def _calls_in(command: Command, state: SessionState) -> Iterable[Any]:
    match command:
        case ProposePlan(calls=calls) | EditPlan(calls=calls) | TakeTask(plan=ProposePlan(calls=calls)):
            return calls
        case Answer(calls=calls):
            return chain.from_iterable((call.arguments, *_listed(call.arguments)) for call in calls)
        case Decide(arguments=arguments):
            return (*_listed(arguments), *_proposed(state))
        case Begin():
            return _proposed(state)
        case _:
            return ()


def _proposed(state: SessionState) -> Iterable[Any]:
    """The calls of the plan that waits to be let through."""
    proposal = state.calls.get(state.plans.proposed)
    return _listed(proposal.arguments) if proposal is not None else ()


def _listed(arguments: Any) -> Iterable[Any]:
    """The calls of a plan that stands whole in a call's arguments."""
    calls = arguments.get("calls") if isinstance(arguments, dict) else None
    return calls if isinstance(calls, list | tuple) else ()


def _named(calls: Iterable[Any]) -> Iterator[str]:
    for call in calls:
        name = call.get(DELEGATE) if isinstance(call, dict) else None
        if isinstance(name, str):
            yield name
