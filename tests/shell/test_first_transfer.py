"""The whole path of a transfer over the real commands, runtime, ledger and bank."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.core.management import call_command

from agentstate.engine.decide import AlreadyDecided, DecisionNotAllowed
from agentstate.errors import Invalid
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from tests import cast
from tests.shell.bank_world import events, kinds, opened, say, state, work

pytestmark = pytest.mark.django_db(transaction=True)


def asks_for_a_transfer(amount: str = "$1,200.00") -> UUID:
    """A session in which the customer wants, and confirms, a transfer from savings to checking."""
    session = opened("C-1001")
    work()
    say(session, f"I want to move {amount} from savings to checking.")
    say(session, "Yes, that is right.")
    return session


def pending(session: UUID) -> approvals_queries.RequestLine:
    return next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)


def test_a_small_transfer_needs_nobody(bank):
    before = bank.transfers("C-1001")
    session = asks_for_a_transfer("$120.00")
    assert [row[0] for row in bank.transfers("C-1001")[len(before) :]] == [12000]
    assert "approval.requested" not in kinds(session)
    assert state(session).status == "idle"


def test_a_large_transfer_waits_and_moves_nothing(bank):
    before = bank.transfers("C-1001")
    session = asks_for_a_transfer()
    assert bank.transfers("C-1001") == before
    assert state(session).status == "waiting_feedback"
    line = pending(session)
    assert (line.tier, line.quorum, line.may_decide, line.tool) == (2, 1, True, "transfer")


def test_approved_it_is_executed_exactly_once(bank):
    session = asks_for_a_transfer()
    before = bank.transfers("C-1001")
    approvals_commands.decide(cast.alice(), pending(session).id, approvals_commands.Decision("approve"))
    work()
    work()
    assert [row[0] for row in bank.transfers("C-1001")[len(before) :]] == [120000]
    assert kinds(session).count("tool.returned") >= 2
    call_command("rebuild", "--check")


def test_edited_it_is_executed_as_edited_and_the_agent_says_so(bank):
    session = asks_for_a_transfer()
    before = bank.transfers("C-1001")
    line = pending(session)
    corrected = {**line.arguments, "amount": {"minor": 100000, "currency": "USD"}}
    approvals_commands.decide(
        cast.alice(), line.id, approvals_commands.Decision("edit", reason="Amount misheard", arguments=corrected)
    )
    work()
    assert [row[0] for row in bank.transfers("C-1001")[len(before) :]] == [100000]
    said = [event["text"] for event in events(session, "message.added") if event["role"] == "agent"]
    assert "1,000.00" in said[-1]


def test_rejected_it_never_executes_and_the_customer_is_told(bank):
    session = asks_for_a_transfer()
    before = bank.transfers("C-1001")
    approvals_commands.decide(
        cast.alice(), pending(session).id, approvals_commands.Decision("reject", reason="Caller sounds coached")
    )
    work()
    assert bank.transfers("C-1001") == before
    said = [event["text"] for event in events(session, "message.added") if event["role"] == "agent"]
    assert "coached" not in said[-1]
    assert state(session).status == "idle"


def test_the_second_decision_learns_who_was_first(bank):
    session = asks_for_a_transfer()
    line = pending(session)
    approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"))
    with pytest.raises(AlreadyDecided) as refusal:
        approvals_commands.decide(cast.bob(), line.id, approvals_commands.Decision("reject", reason="no"))
    assert refusal.value.facts["by"] == cast.alice().actor
    assert refusal.value.facts["outcome"] == "approved"


def test_the_same_key_gets_the_first_answer_and_another_command_under_it_is_refused(bank):
    session = asks_for_a_transfer()
    line = pending(session)
    first = approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"), key="k1")
    again = approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"), key="k1")
    assert (again.first, again.seq, again.repeated) == (first.first, first.seq, True)


def test_a_viewer_may_read_but_not_decide(bank):
    session = asks_for_a_transfer()
    line = pending(session)
    assert not approvals_queries.request_line(cast.vera(), line.id).may_decide
    with pytest.raises(DecisionNotAllowed):
        approvals_commands.decide(cast.vera(), line.id, approvals_commands.Decision("approve"))


def test_another_team_does_not_even_learn_that_it_exists(bank):
    session = asks_for_a_transfer()
    line = pending(session)
    with pytest.raises(Exception, match="no such"):
        approvals_commands.decide(cast.charlie(), line.id, approvals_commands.Decision("approve"))
    assert approvals_queries.requests(cast.charlie()) == []


def test_an_edit_that_breaks_the_schema_names_the_field_and_writes_nothing(bank):
    session = asks_for_a_transfer()
    line = pending(session)
    before = kinds(session)
    broken = {**line.arguments, "amount": {"minor": -5, "currency": "USD"}}
    with pytest.raises(Invalid) as refusal:
        approvals_commands.decide(
            cast.alice(), line.id, approvals_commands.Decision("edit", reason="x", arguments=broken)
        )
    assert refusal.value.facts["field"] == "arguments.amount.minor"
    assert kinds(session) == before


def test_hanging_up_withdraws_what_waits(bank):
    session = asks_for_a_transfer()
    line = pending(session)
    conversation_commands.end(cast.cleo(), session, "hung up")
    work()
    assert approvals_queries.request_line(cast.alice(), line.id).state == "withdrawn"
    assert state(session).status == "done"
    call_command("rebuild", "--check")
