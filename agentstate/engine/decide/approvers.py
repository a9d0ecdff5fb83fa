"""Counts how many people can approve a request. The caller passes the people of the team in.

The same facts exclude people here as when they decide (`reviewing`). Of people who share a right, one counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

import msgspec
from msgspec.structs import replace

from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.decide.reviewing import left_out, needed
from agentstate.engine.policy import Rule
from agentstate.engine.policy.terms import Names, Terms, may_review
from agentstate.engine.state.session import Request, SessionState

Groups = tuple[Names, ...]  # of reviewers, as Terms has them


class Approver(msgspec.Struct, frozen=True):
    """A person who may decide in a team: their own authority, those delegated to them, and the actors who share a right
    with them.
    """

    actor: str
    held: tuple[Authority, ...]
    sharing: frozenset[str] = frozenset()


class Gap(msgspec.Struct, frozen=True):
    """What rules ask of more people than can approve it: `able` can, and together give `count` approvals."""

    tier: int
    quorum: int
    able: tuple[str, ...]
    count: int
    rules: tuple[str, ...] = ()


def approvers_missing(request: Request, state: SessionState, people: Iterable[Approver]) -> int:
    """Returns how many people the quorum of a request lacks; 0: enough people can approve it."""
    asked = request.asked
    able = who_can_approve(people, asked.tier, reviewers_of(request.terms), left_out(state, request, asked.tier))
    return asked.quorum - most_approvals(able, asked.quorum)


def gaps(rules: Iterable[Rule], people: Sequence[Approver]) -> list[Gap]:
    """Returns what rules ask of more people than can approve it, the highest tier first; rules that ask the same of the
    same people as one.
    """
    found: dict[tuple[int, int, tuple[str, ...]], Gap] = {}
    for rule in rules:
        if rule.gate != "approve":
            continue
        steps = [rule.reviewers, *(step.reviewers for step in rule.chain)]
        able = who_can_approve(people, rule.tier, [(names,) if names else () for names in steps])
        count, actors = most_approvals(able, rule.quorum), tuple(each.actor for each in able)
        if count < rule.quorum:
            key = rule.tier, rule.quorum, actors
            before = found.get(key, Gap(rule.tier, rule.quorum, actors, count))
            found[key] = replace(before, rules=(*before.rules, rule.name))
    return sorted(found.values(), key=lambda gap: (-gap.tier, -gap.quorum))


def reviewers_of(terms: Terms) -> list[Groups]:
    """Returns the reviewers of each step at which a request may be approved: at first, and along its chain."""
    return [terms.reviewers, *(step.reviewers for step in terms.chain)]


def who_can_approve(
    people: Iterable[Approver], tier: int, reviewers: Sequence[Groups], left: Collection[str] = ()
) -> list[Approver]:
    """Returns the people who can approve at this tier, at one of the steps with these reviewers, each with the
    authorities that entitle them. `left`: the actors who are left out.
    """
    found = (replace(each, held=_usable(each, tier, reviewers, frozenset(left))) for each in people)
    return [each for each in found if each.held]


def _usable(person: Approver, tier: int, reviewers: Sequence[Groups], left: frozenset[str]) -> tuple[Authority, ...]:
    return tuple(
        each
        for each in person.held
        if needed(tier) in each.may
        and any(may_review(groups, each.names) for groups in reviewers)
        and not {person.actor, each.of, *person.sharing, *each.shares} & left
    )


def most_approvals(able: Iterable[Approver], enough: int) -> int:
    """Returns how many approvals these people can give together, at most `enough`. Two who share a right, or use one
    person's authority, give one. The count is exact unless delegations form long circles; then it may be too low.
    """
    people = list(able)
    alone = [each for each in people if _is_alone(each)]
    others = (each for each in people if not _is_alone(each))
    pairs = list(chain.from_iterable(((each, authority) for authority in each.held) for each in others))
    count = min(len(alone), enough)
    while pairs and count < enough:
        freest = min(pairs, key=lambda pair: sum(_clash(pair, other) for other in pairs))
        pairs = [pair for pair in pairs if not _clash(freest, pair)]
        count += 1
    return count


def _is_alone(person: Approver) -> bool:
    return not person.sharing and not any(each.of for each in person.held)


def _clash(one: tuple[Approver, Authority], other: tuple[Approver, Authority]) -> bool:
    """Whether the approvals of two people on these authorities count as one: `why_not` refuses the second. The
    `sharing` of a person contains everybody who delegated a right to them.
    """
    (first, under), (second, also_under) = one, other
    behind, also_behind = {first.actor, under.of} - {""}, {second.actor, also_under.of}
    return bool(behind & (also_behind | second.sharing) or also_behind & first.sharing)
