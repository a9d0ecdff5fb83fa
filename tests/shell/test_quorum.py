"""Four eyes: two supervisors stand behind a transfer, both for what they saw, or it does not run."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.core.management import call_command

from agentstate.engine.decide import DecisionNotAllowed
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, state, work
from tests.shell.test_pages import paused
from tests.shell.test_pages_decisions import card, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def of_two(monkeypatch) -> None:
    """The bank's policy with two people behind every transfer, and nothing else of it changed."""
    policy = registry.policy_named("bank")
    rules = tuple(msgspec.structs.replace(rule, quorum=2) for rule in policy.rules)
    monkeypatch.setattr(registry, "policy_named", lambda _name: msgspec.structs.replace(policy, rules=rules))


@pytest.fixture
def request_id(bank) -> UUID:
    """A transfer of $1,200.00 that waits for two people."""
    _, request = paused()
    return request.id


def line(request: UUID) -> approvals_queries.RequestLine:
    return approvals_queries.request_line(cast.alice(), request)


def moved(bank) -> list[int]:
    return [amount for amount, _ in bank.transfers("C-1001")]


def edited(request: UUID, **more: Any) -> dict[str, Any]:
    """The body of Alice's edit to $800.00."""
    arguments = {**line(request).arguments, "amount": {"minor": 80000, "currency": "USD"}, **more}
    return {"decision": "edit", "reason": "misheard", "arguments": arguments, "seen": line(request).digest}


def test_the_first_approval_moves_nothing_and_the_second_moves_it_once(bank, request_id):
    before = moved(bank)
    approvals_commands.decide(cast.alice(), request_id, approvals_commands.Decision("approve"))
    work()
    assert (line(request_id).state, line(request_id).approvals, moved(bank)) == ("pending", 1, before)
    approvals_commands.decide(cast.bob(), request_id, approvals_commands.Decision("approve"))
    work()
    assert (line(request_id).state, line(request_id).approvals) == ("approved", 2)
    assert moved(bank) == [*before, 120000]
    call_command("rebuild", "--check")


def test_the_same_person_twice_is_not_two_people(bank, request_id):
    approvals_commands.decide(cast.alice(), request_id, approvals_commands.Decision("approve"))
    session = line(request_id).session
    before = kinds(session)
    with pytest.raises(DecisionNotAllowed, match="another person"):
        approvals_commands.decide(cast.alice(), request_id, approvals_commands.Decision("approve"))
    assert kinds(session) == before
    answer = Api(cast.alice()).post(f"/requests/{request_id}/decisions", {"decision": "approve"})
    problem(answer, 403, "decision_not_allowed")
    assert line(request_id).state == "pending"


def test_one_of_two_can_stop_it_alone(bank, request_id):
    before = moved(bank)
    approvals_commands.decide(cast.alice(), request_id, approvals_commands.Decision("approve"))
    approvals_commands.decide(
        cast.bob(), request_id, approvals_commands.Decision("reject", reason="The caller sounds coached.")
    )
    work()
    assert (line(request_id).state, moved(bank)) == ("rejected", before)


def test_over_the_api_a_second_person_must_name_the_edit_they_saw(bank, request_id):
    alice, bob, path = Api(cast.alice()), Api(cast.bob()), f"/requests/{request_id}/decisions"
    before, shown = moved(bank), line(request_id).digest
    assert alice.post(path, edited(request_id)).status_code == 201
    problem(bob.post(path, {"decision": "approve"}), 409, "outdated")
    problem(bob.post(path, {"decision": "approve", "seen": shown}), 409, "outdated")
    now = bob.get(f"/requests/{request_id}").json()
    assert (now["quorum"], now["approvals"], now["state"]) == (2, 1, "pending")
    assert (now["arguments"]["amount"]["minor"], now["digest"] == shown) == (80000, False)
    assert bob.post(path, {"decision": "approve", "seen": now["digest"]}).status_code == 201
    work()
    assert (line(request_id).state, moved(bank)) == ("edited", [*before, 80000])


def test_an_edit_takes_back_the_approvals_of_what_it_changed(bank, request_id):
    before = moved(bank)
    approvals_commands.decide(cast.bob(), request_id, approvals_commands.Decision("approve"))
    assert Api(cast.alice()).post(f"/requests/{request_id}/decisions", edited(request_id)).status_code == 201
    work()
    assert (line(request_id).approvals, line(request_id).state, moved(bank)) == (1, "pending", before)
    approvals_commands.decide(
        cast.bob(), request_id, approvals_commands.Decision("approve", seen=line(request_id).digest)
    )
    work()
    assert moved(bank) == [*before, 80000]


def test_what_was_seen_and_what_was_approved_is_in_the_log_of_each_decision(bank, request_id):
    session, shown = line(request_id).session, line(request_id).digest
    Api(cast.alice()).post(f"/requests/{request_id}/decisions", edited(request_id))
    new = line(request_id).digest
    approvals_commands.decide(cast.bob(), request_id, approvals_commands.Decision("approve", seen=new))
    work()
    made = events(session, "decision.made")
    assert [(one["seen"], one["digest"]) for one in made] == [(shown, new), (new, new)]
    assert events(session, "tool.intended")[-1]["digest"] == new


def test_pages_count_who_stands_behind_it(bank, request_id):
    alice, bob = cast.browser(cast.alice()), cast.browser(cast.bob())
    assert "0 of 2" in card(bob, request_id).id("card-h").text()
    answer = send(alice, request_id, "approve")
    assert "Your approval counts, 1 of 2" in answer.content.decode()
    page = card(bob, request_id)
    assert "1 of 2" in page.id("card-h").text()
    assert "1 of 2 approved" in page.id(f"q-{request_id}").text()
    assert "1 of 2 people approved A Alice" in page.id("rule").text()
    send(bob, request_id, "approve")
    assert line(request_id).state == "approved"


def test_the_second_person_sees_what_the_agent_proposed_and_what_a_colleague_made_of_it(bank, request_id):
    before = moved(bank)
    send(cast.browser(cast.alice()), request_id, "approve", **{"arg.amount": "800.00"}, reason="misheard")
    bob = cast.browser(cast.bob())
    page = card(bob, request_id)
    assert page.id("arg.amount").attrs["value"] == "800.00"
    assert "$1,200.00 $ $400.00 less" in page.id("fields").text()
    assert "Alice edited this call." in page.id("notes").text()
    send(bob, request_id, "approve")
    work()
    assert (line(request_id).state, moved(bank)) == ("edited", [*before, 80000])


def test_an_argument_that_a_colleague_added_is_asked_about_anew(bank, request_id):
    body = edited(request_id, new_payee=False)
    assert Api(cast.alice()).post(f"/requests/{request_id}/decisions", body).status_code == 201
    assert line(request_id).state == "superseded"
    (asked,) = [each for each in approvals_queries.requests(cast.bob()) if each.session == line(request_id).session]
    assert asked.arguments["new_payee"] is False
    assert Api(cast.bob()).get(f"/requests/{asked.id}").json()["proposed_by"] == [cast.alice().actor]
    assert card(cast.browser(cast.bob()), asked.id).id("fields").text()


def test_an_edit_that_a_second_person_rejects_was_not_sent(bank, request_id):
    before = moved(bank)
    send(cast.browser(cast.alice()), request_id, "approve", **{"arg.amount": "800.00"}, reason="misheard")
    bob = cast.browser(cast.bob())
    send(bob, request_id, "reject", reason="Call back first.")
    work()
    settled = card(bob, request_id).id("settled").text()
    assert "Your text" not in settled
    assert "Edited" in settled
    assert (state(line(request_id).session).status, moved(bank)) == ("idle", before)
