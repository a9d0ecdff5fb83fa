"""Two people of whom one has delegated the right to decide to the other count as one when they approve."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentstate.clock import now
from agentstate.engine.decide import DecisionNotAllowed
from agentstate.people import delegations
from agentstate.people.roles import Permission
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.models.sessions import AgentSession
from sessions.plans import commands as plans_commands
from tests import cast
from tests.shell.bank_world import work
from tests.shell.side_by_side_world import told
from tests.shell.test_plans import step

pytestmark = pytest.mark.django_db(transaction=True)


def proposed_by_alice() -> approvals_queries.RequestLine:
    """A call that Alice has proposed, as Bob sees its request."""
    session = told()
    plans_commands.propose_plan(cast.alice(), session, calls=[step("act", "state.done", name="x")])
    work()
    (found,) = [each for each in approvals_queries.requests(cast.bob()) if each.session == session]
    return found


def lend(giver: object, receiver: object, session: object) -> None:
    team = AgentSession.objects.select_related("team").get(pk=session).team
    until = now() + timedelta(hours=1)
    delegations.give(giver, receiver, team, until=until, reason="lunch", permissions=[Permission.DECIDE])


@pytest.mark.parametrize("turn", ["to the proposer", "from the proposer"])
def test_who_shares_a_right_with_the_proposer_does_not_approve_and_may_reject(turn):
    request = proposed_by_alice()
    alice, bob = cast.alice(), cast.bob()
    lend(*((bob, alice) if turn == "to the proposer" else (alice, bob)), request.session)
    with pytest.raises(DecisionNotAllowed, match=r"share a right|you decide for"):
        approvals_commands.decide(bob, request.id, approvals_commands.Decision("approve", seen=request.digest))
    (seen,) = [each for each in approvals_queries.requests(bob) if each.id == request.id]
    assert "Another person must approve it." in seen.why_not
    assert not [each for each in approvals_queries.requests(bob, mine=True) if each.id == request.id]
    approvals_commands.decide(
        bob, request.id, approvals_commands.Decision("reject", reason="not like this", seen=request.digest)
    )


def test_without_a_delegation_the_colleague_approves():
    request = proposed_by_alice()
    assert [each.id for each in approvals_queries.requests(cast.bob(), mine=True)] == [request.id]
    approvals_commands.decide(cast.bob(), request.id, approvals_commands.Decision("approve", seen=request.digest))


def test_on_a_lent_right_nobody_approves_what_its_lender_may_not():
    """Alice, who proposed it, lends to Bob, and Bob lends his own right to Carl."""
    request = proposed_by_alice()
    alice, bob = cast.alice(), cast.bob()
    carl = cast.person("carl", cast.Role.VIEWER, cast.retail())
    lend(bob, carl, request.session)
    assert [each.id for each in approvals_queries.requests(carl, mine=True)] == [request.id]
    lend(alice, bob, request.session)
    with pytest.raises(DecisionNotAllowed, match="shares a right with a colleague who proposed it"):
        approvals_commands.decide(carl, request.id, approvals_commands.Decision("approve", seen=request.digest))
    (seen,) = [each for each in approvals_queries.requests(carl) if each.id == request.id]
    assert "The person you decide for shares a right with a colleague" in seen.why_not
    assert not [each for each in approvals_queries.requests(carl, mine=True) if each.id == request.id]
