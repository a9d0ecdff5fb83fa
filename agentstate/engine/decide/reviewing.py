"""Says which people may decide a request: permission and tier, the reviewers that its terms name, and the people
excluded from approving.

Nobody approves their own proposal, whatever the rule says: the session's entries name the proposers. A person acts on
their own authority or on one that a colleague delegated to them. Then both are named, and neither counts twice. Every
person with the right may reject.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.refusals import AlreadyDecided, DecisionNotAllowed, UnknownRequest
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.plan import model
from agentstate.engine.policy import HIGHEST_TIER
from agentstate.engine.policy.terms import Names, may_review
from agentstate.engine.state.participants import QUEUE, is_person, people
from agentstate.engine.state.rounds import PLAN, offered_by
from agentstate.engine.state.session import Call, Request, SessionState
from agentstate.engine.state.value_authors import authors_read_by, has_authors

PROPOSED = "proposed it"
WROTE = "wrote a value that it reads"
SPOKE_AS_CUSTOMER = "spoke as the customer in this session"
SPOKE_AS_AGENT = "spoke to the customer for the agent since the last hand-back"
HAS_SESSION = "took the session over"
WHISPERED = "whispered to the agent in this session"
ASSIGNED = "got the session assigned"


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


class Approving(ByPerson, Protocol):
    """A command that approves: its author, their authority, and the actors who share a right with them."""

    @property
    def sharing(self) -> frozenset[str]: ...


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


class Acting(Protocol):
    """A person, and the actors who share a right with them."""

    @property
    def by(self) -> str: ...
    @property
    def sharing(self) -> frozenset[str]: ...


def entitles(authority: Authority, tier: int, reviewers: Iterable[Names], approvers_missing: int) -> bool:
    """Returns whether an authority entitles its holder to decide a request: it holds the permission of the tier and one
    name of each group of reviewers. That of a deputy counts only where too few people can approve.
    """
    counts = approvers_missing > 0 or not authority.deputy
    return counts and needed(tier) in authority.may and may_review(reviewers, authority.names)


def one_person(person: Acting, authority: Authority) -> frozenset[str]:
    """Returns the actors who count as one person when somebody acts on an authority: the two who act, and the people
    who share a right with one of them.
    """
    return (person.sharing | authority.shares | {person.by, authority.of}) - {""}


def approves(
    person: Acting,
    authority: Authority,
    tier: int,
    reviewers: Iterable[Names],
    approvers_missing: int,
    excluded: Collection[str],
) -> bool:
    """Returns whether a person may approve a request on an authority. `excluded`: the actors who had a part in it, and
    those who have approved it. `sessions.core.entitled` says the same in SQL.
    """
    entitled = entitles(authority, tier, reviewers, approvers_missing)
    return entitled and one_person(person, authority).isdisjoint(excluded)


def must_be_entitled(command: ByPerson, request: Request, tier: int) -> Authority:
    """Returns the first authority on which the person may decide a request of this tier. Raises DecisionNotAllowed."""
    return entitling(command, request, tier)[0]


def entitling(command: ByPerson, request: Request, tier: int) -> list[Authority]:
    """Returns every authority on which the person may decide a request of this tier: their own, and those delegated to
    them. Raises DecisionNotAllowed naming what their own lacks.
    """
    own = Authority(command.may, command.names)
    missing = request.asked.approvers_missing
    found = [each for each in (own, *command.lent) if entitles(each, tier, request.reviewers, missing)]
    if found:
        return found
    if needed(tier) not in own.may:
        raise DecisionNotAllowed(f"tier {tier} needs the permission {needed(tier)}", permission=needed(tier))
    raise DecisionNotAllowed(f"it is for {in_words(request.reviewers)}", reviewers=in_words(request.reviewers))


def approving(command: Approving, state: SessionState, request: Request, tier: int) -> Authority:
    """Returns the authority on which the person may approve a request of this tier. It entitles them, no approval rests
    on it yet, and its holder is not excluded. Raises DecisionNotAllowed saying why there is none.
    """
    whys: list[str] = []
    for authority in entitling(command, request, tier):
        why = why_not(command.by, authority, state, request, tier, command.sharing)
        if not why:
            return authority
        whys.append(why)
    raise DecisionNotAllowed(whys[0])


def in_words(groups: tuple[Names, ...]) -> str:
    """Groups of reviewers as a sentence has them: one of each."""
    return ", and ".join(" or ".join(group) for group in groups)


def approved_by(request: Request) -> frozenset[str]:
    """Returns the people on whose right an approval of the request rests."""
    return frozenset({*request.approvals, *request.behalf} - {""})


def why_not(
    by: str, authority: Authority, state: SessionState, request: Request, tier: int, sharing: frozenset[str]
) -> str:
    """Returns why the person may not approve the request on this authority; empty: they may. Two people who share a
    right count as one person; `sharing` names the people who share a right with this one.
    """
    behind = approved_by(request)
    if {by, authority.of} & behind:
        return "you have approved it already; another person must"
    if (sharing | authority.shares) & behind:
        return "a colleague with whom you share a right has approved it already; another person must"
    return why_left_out(by, authority, left_out(state, request, tier), sharing)


def why_left_out(by: str, authority: Authority, left: Mapping[str, str], sharing: frozenset[str]) -> str:
    """Returns why the person is excluded from approving on this authority; empty: they are not. `left`: the people who
    had a part, each with what they did. `sharing`: the people who share a right with this one. On a delegated authority
    a person may do no more than the person who delegated it.
    """
    if by in left:
        return f"you {left[by]}: another person must approve it"
    if authority.of in left:
        return f"the person you decide for {left[authority.of]}: another person must approve it"
    if shared := sorted(authority.shares & left.keys()):
        return f"the person you decide for shares a right with a colleague who {left[shared[0]]}: another person must"
    if shared := sorted(sharing & left.keys()):
        return f"a colleague with whom you share a right {left[shared[0]]}: another person must approve it"
    return ""


def left_out(state: SessionState, request: Request, tier: int) -> dict[str, str]:
    """Returns the actors who may not approve a request at this tier, each with what they did. A rule without four eyes
    may let proposers approve below the highest tier.
    """
    terms = request.terms
    if terms.proposer_may_approve and tier < HIGHEST_TIER and not terms.four_eyes:
        return {}
    return concerned(state, request, tier, terms.four_eyes)


def concerned(state: SessionState, request: Request, tier: int, four_eyes: bool) -> dict[str, str]:
    """Returns the people who had a part in what a request is about, each with what they did."""
    call = state.calls.get(request.asked.call)
    return had_a_part(state, call, request.asked.proposed_by, tier, four_eyes)


def had_a_part(
    state: SessionState, call: Call | None, proposed_by: tuple[str, ...], tier: int, four_eyes: bool
) -> dict[str, str]:
    """Returns the people who had a part in a call, each with what they did, by recorded facts alone. Four eyes add the
    person to whom the session is assigned.
    """
    found = [(actor, PROPOSED) for actor in (authors_of(state, call) if call is not None else ())]
    found += [(actor, PROPOSED if all(map(is_person, proposed_by)) else WROTE) for actor in proposed_by]
    found += [(actor, SPOKE_AS_CUSTOMER) for actor in state.involved.customer]
    found += [(actor, SPOKE_AS_AGENT) for actor in state.involved.agent]
    if state.taken_by != QUEUE:
        found.append((state.taken_by, HAS_SESSION))
    if tier >= HIGHEST_TIER:
        found += [(actor, WHISPERED) for actor in state.involved.guidance]
    if four_eyes:
        found.append((state.desk.assigned_to, ASSIGNED))
    return {actor: why for actor, why in reversed(found) if is_person(actor)}


def authors_of(state: SessionState, call: Call) -> tuple[str, ...]:
    """Returns the people who proposed the call: by an edit, by a plan or its edit, by an order to undo, or in the
    parent of this session.
    """
    of_plan = state.plans.authors if call.round and call.round == state.plans.round else ()
    return people((*call.authors, *of_plan, *state.plans.parent_authors))


def proposers_of(state: SessionState, call: Call) -> tuple[str, ...]:
    """Returns the proposers of the call: people or the agent, and the people who wrote a value that it reads. Where the
    agent is among them, the people wrote only such values.
    """
    assert state.opened is not None
    agent = f"agent:{state.opened.agent}"
    return tuple(dict.fromkeys((*(authors_of(state, call) or (agent,)), *_input_authors(state, call))))


def _input_authors(state: SessionState, call: Call) -> tuple[str, ...]:
    """Returns the people who wrote a value that the call reads; of a plan, that any of its calls reads now."""
    if call.tool != PLAN or not has_authors(state.plans):
        return call.inputs_by
    members = tuple(offered_by(state.plans, call.id)) or ("",)
    return authors_read_by(state.plans, model.read(list(call.arguments["calls"])).calls, members)
