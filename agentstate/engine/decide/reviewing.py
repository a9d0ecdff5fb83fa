"""Who may decide a request: permission and tier, the reviewers that its terms name, and whom four eyes leave out.

Somebody acts on their own authority or on one that another has delegated to them; then both are named, and neither
counts twice. Nobody is above this: an admin without the permission decides nothing, with it no request of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from agentstate.engine.decide.commands import Authority
from agentstate.engine.decide.refusals import AlreadyDecided, DecisionNotAllowed, UnknownRequest
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.policy import HIGHEST_TIER
from agentstate.engine.policy.terms import Names, may_review
from agentstate.engine.state import Request, SessionState
from agentstate.engine.state.desk import QUEUE
from agentstate.engine.state.rounds import PLAN


class ByPerson(Protocol):
    """A command that rests on somebody's authority."""

    @property
    def by(self) -> str: ...
    @property
    def may(self) -> frozenset[str]: ...
    @property
    def names(self) -> frozenset[str]: ...
    @property
    def lent(self) -> tuple[Authority, ...]: ...


def open_request(state: SessionState, request_id: str) -> Request:
    """The request while it is pending. Raises UnknownRequest, AlreadyDecided (with who and when)."""
    request = state.requests.get(request_id)
    if request is None:
        raise UnknownRequest()
    if request.status is not RequestStatus.PENDING:
        raise AlreadyDecided(
            f"{request.status.value} at {request.ended_at}",
            outcome=request.status.value,
            by=request.decided_by,
            at=request.ended_at,
        )
    return request


def needed(tier: int) -> str:
    """The permission that a request of this tier needs."""
    return "decide_tier3" if tier >= HIGHEST_TIER else "decide"


def must_be_entitled(command: ByPerson, request: Request, tier: int) -> Authority:
    """The authority on which somebody may decide a request of this tier: their own, or else one that was delegated to
    them. Raises DecisionNotAllowed naming what is missing of their own.
    """
    own = Authority(command.may, command.names)
    for authority in (own, *command.lent):
        if needed(tier) in authority.may and may_review(request.reviewers, authority.names):
            return authority
    if needed(tier) not in own.may:
        raise DecisionNotAllowed(f"tier {tier} needs the permission {needed(tier)}", permission=needed(tier))
    raise DecisionNotAllowed(f"it is for {in_words(request.reviewers)}", reviewers=in_words(request.reviewers))


def in_words(groups: tuple[Names, ...]) -> str:
    """Groups of reviewers as a sentence has them: one of each."""
    return ", and ".join(" or ".join(group) for group in groups)


def must_be_another(command: ByPerson, authority: Authority, state: SessionState, request: Request) -> None:
    """Refuse an approval of somebody whom four eyes leave out, or who stands behind it already. Raises
    DecisionNotAllowed.
    """
    if {command.by, authority.of} & {*request.approvals, *request.behalf} - {""}:
        raise DecisionNotAllowed("you have approved it already; another person must")
    if {command.by, authority.of} & set(left_out(state, request)):
        raise DecisionNotAllowed("four eyes: who asked for it or has the session may not approve it")


def left_out(state: SessionState, request: Request) -> tuple[str, ...]:
    """The actors who may not approve a request of four eyes: who asked for it, and whose session it is."""
    return concerned(state, request) if request.terms.four_eyes else ()


def concerned(state: SessionState, request: Request) -> tuple[str, ...]:
    """The people who asked for what a request is about, or whose session it is."""
    return tuple(dict.fromkeys(_concerned(state, request)))


def _concerned(state: SessionState, request: Request) -> Iterator[str]:
    call = state.calls.get(request.asked.call)
    if request.asked.tool == PLAN:
        yield from _person(str(request.asked.arguments.get("by", "")))
    elif call is not None and call.round and call.round == state.plans.round:
        yield from _person(state.plans.by)
    if state.taken_by != QUEUE:
        yield from _person(state.taken_by)
    yield from _person(state.desk.assigned_to)


def _person(actor: str) -> Iterator[str]:
    if actor and not actor.startswith("agent"):
        yield actor
