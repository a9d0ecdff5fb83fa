"""What the terms of a request ask, at every door: reviewers, four eyes, reasons, typing, chains, holds, delegations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.db import connection
from django.urls import reverse

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.decide import AlreadyDecided, DecisionNotAllowed, Outdated
from agentstate.engine.policy.rules import Step
from agentstate.errors import Invalid
from agentstate.people import commands as people
from agentstate.people import delegations
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import ROLES, Permission, Role
from sessions.agents import registry
from sessions.approvals import claims, guards
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.core import authority
from sessions.descriptions import approvals
from sessions.models.sessions import ApprovalRequest
from sessions.runtime import sweeper
from sessions.supervision import commands as supervision_commands
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, state, work
from tests.shell.test_pages import paused
from tests.shell.test_pages_decisions import card, send
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
AMOUNT = "arguments.amount.minor"


@pytest.fixture
def asking(bank, monkeypatch):
    """A transfer of $1,200.00 that waits on these terms; asked again, the terms of what is still to come."""

    def on(**terms: Any) -> UUID:
        policy = registry.policy_named("bank")
        gated = {"gate": "approve", **terms}
        rules = tuple(
            msgspec.structs.replace(rule, **gated) if rule.gate == "approve" else rule for rule in policy.rules
        )
        other = msgspec.structs.replace(policy, rules=rules)
        monkeypatch.setattr(registry, "policy_named", lambda *_: other)
        return paused()[1].id

    return on


def line(request: UUID, user=None) -> approvals_queries.RequestLine:
    return approvals_queries.request_line(user or cast.alice(), request)


def decide(user, request: UUID, kind: str = "approve", **more: Any):
    return approvals_commands.decide(
        user, request, approvals_commands.Decision(kind, seen=line(request).digest, **more)
    )


def moved(bank) -> list[int]:
    return [amount for amount, _ in bank.transfers("C-1001")]


def due(request: UUID, column: str) -> None:
    """That column's instant has come, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE agent_sessions_approvalrequest SET {column} = clock_timestamp() - interval '1 ms' WHERE id = %s",
            [request],
        )


def session_of(request: UUID) -> UUID:
    return ApprovalRequest.objects.get(pk=request).session_id


def test_only_who_is_among_the_reviewers_decides_and_sees_it_in_the_queue(asking):
    request = asking(reviewers=("user:bob", "role:auditor"))
    with pytest.raises(DecisionNotAllowed, match="user:bob"):
        decide(cast.alice(), request)
    assert not line(request, cast.alice()).may_decide
    assert line(request, cast.bob()).may_decide
    assert not approvals_queries.decidable(cast.alice()).filter(pk=request).exists()
    decide(cast.bob(), request)
    assert line(request).state == "approved"


def test_four_eyes_leave_out_whose_session_it_is(asking):
    request = asking(four_eyes=True)
    supervision_commands.take_over(cast.alice(), session_of(request))
    with pytest.raises(DecisionNotAllowed, match="you took the session over"):
        decide(cast.alice(), request)
    decide(cast.bob(), request)
    assert line(request).state == "approved"


def test_under_four_eyes_an_edit_needs_the_approval_of_another(asking):
    request = asking(four_eyes=True)
    changed = {**line(request).arguments, "amount": {"minor": 80000, "currency": "USD"}}
    edited = decide(cast.alice(), request, "edit", reason="misheard", arguments=changed)
    assert line(request).state == "superseded"
    new = UUID(next(event.request for event in edited.events if isinstance(event, ev.ApprovalRequested)))
    told = line(new)
    assert (told.state, told.proposed_by, told.may_decide) == ("pending", [cast.alice().actor], False)
    assert told.why_not == "You proposed it. Another person must approve it."
    assert told.may_reject
    with pytest.raises(DecisionNotAllowed, match="you proposed it"):
        decide(cast.alice(), new)
    decide(cast.bob(), new)
    assert line(new).state == "approved"


def test_what_an_edit_changed_is_in_its_entry_value_by_value(asking):
    request = asking()
    changed = {**line(request).arguments, "amount": {"minor": 80000, "currency": "USD"}}
    decide(cast.alice(), request, "edit", reason="misheard", arguments=changed)
    (made,) = events(session_of(request), "decision.made")
    was, new = ({"minor": minor, "currency": "USD"} for minor in (120000, 80000))
    assert made["changed"] == [{"path": "arguments.amount", "old": was, "new": new}]


def test_a_reason_is_chosen_where_the_rule_names_some_also_over_the_api(asking):
    request = asking(reasons=("asked.twice", "identified"))
    path, body = f"/requests/{request}/decisions", {"decision": "approve", "seen": line(request).digest}
    problem(Api(cast.alice()).post(path, body), 400, field="code")
    problem(Api(cast.alice()).post(path, {**body, "code": "whim"}), 400, field="code")
    assert Api(cast.alice()).post(path, {**body, "code": "identified"}).status_code == 201
    assert events(session_of(request), "decision.made")[0]["code"] == "identified"


def test_a_program_is_told_what_is_asked_of_those_who_decide(asking):
    request = asking(reasons=("identified",), retype=(AMOUNT,), four_eyes=True, hold=30)
    told = Api(cast.alice()).get(f"/requests/{request}").json()["terms"]
    assert (told["four_eyes"], told["hold"], told["gate"]) == (True, 30, "approve")
    assert (told["reasons"], told["retype"]) == (["identified"], [AMOUNT])


def test_the_page_offers_the_reasons_and_says_what_is_missing_beside_the_field(asking):
    request, alice = asking(reasons=("asked.twice", "identified")), cast.browser(cast.alice())
    page = send(alice, request, "approve")
    assert page.status_code == 422
    assert "Choose one of" in page.content.decode()
    send(alice, request, "approve", code="identified")
    assert line(request).state == "approved"


def test_what_is_to_be_typed_is_typed_and_right_or_nothing_is_decided(asking):
    request = asking(retype=(AMOUNT,))
    with pytest.raises(Invalid, match="type it"):
        decide(cast.alice(), request)
    with pytest.raises(Invalid, match="not what would be done"):
        decide(cast.alice(), request, retyped={AMOUNT: 12000})
    decide(cast.alice(), request, retyped={AMOUNT: 120000})
    assert events(session_of(request), "decision.made")[0]["retyped"] == [AMOUNT]


def test_on_the_page_the_amount_is_typed_as_people_write_it(asking):
    request, alice = asking(retype=(AMOUNT,)), cast.browser(cast.alice())
    assert card(alice, request).id(f"retype.{AMOUNT}").attrs["value"] == ""
    wrong = send(alice, request, "approve", **{f"retype.{AMOUNT}": "1,100.00"})
    assert (wrong.status_code, line(request).state) == (422, "pending")
    send(alice, request, "approve", **{f"retype.{AMOUNT}": "1,200.00"})
    assert line(request).state == "approved"


def test_a_request_goes_along_its_chain_by_the_clock_and_then_expires_and_is_never_approved(asking, bank):
    before = moved(bank)
    request = asking(reviewers=("user:alice",), chain=(Step(60, ("user:bob",)),), expires_in=120)
    assert sweeper.escalate_due() == 0
    due(request, "escalates_at")
    assert sweeper.escalate_due() == 1
    assert sweeper.escalate_due() == 0
    assert line(request).reviewers == [["user:bob"]]
    with pytest.raises(DecisionNotAllowed):
        decide(cast.alice(), request)
    due(request, "expires_at")
    assert sweeper.expire_due() == 1
    work()
    assert (line(request).state, moved(bank)) == ("expired", before)


def test_a_person_passes_it_on_with_a_reason_and_it_stays_pending(asking):
    request = asking(chain=(Step(60, ("user:bob",)),), expires_in=120)
    with pytest.raises(Invalid):
        decide(cast.alice(), request, "escalate")
    alice = cast.browser(cast.alice())
    assert "Escalated" in send(alice, request, "escalate", reason="above my head").content.decode()
    assert (line(request).state, line(request).reviewers) == ("pending", [["user:bob"]])
    assert kinds(session_of(request))[-1] != "request.ended"
    with pytest.raises(DecisionNotAllowed):
        decide(cast.bob(), request, "escalate", reason="nobody is left")


def test_who_leaves_it_alone_gives_no_reason_and_nothing_is_done(asking, bank):
    before, request = moved(bank), asking()
    decide(cast.alice(), request, "ignore")
    work()
    assert (line(request).state, moved(bank)) == ("ignored", before)


def test_what_policy_holds_is_done_when_its_time_is_over_by_the_databases_clock(asking, bank):
    before, request = moved(bank), asking(gate="hold", hold=3600)
    assert sweeper.end_holds() == 0
    work()
    assert moved(bank) == before
    due(request, "held_until")
    assert sweeper.end_holds() == 1
    work()
    assert (line(request).state, moved(bank)) == ("unopposed", [*before, 120000])
    assert rebuild.check(session_of(request)) == []


def test_the_worker_that_wakes_for_a_hold_ends_it_by_itself(asking, bank):
    before, request = moved(bank), asking(gate="hold", hold=1)
    for _ in range(60):
        work()
        if line(request).state != "pending":
            break
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.1)")
    assert (line(request).state, moved(bank)) == ("unopposed", [*before, 120000])


def test_what_is_held_shows_its_countdown_and_an_objection_makes_it_wait_for_a_decision(asking, bank):
    before, request = moved(bank), asking(gate="hold", hold=3600)
    alice = cast.browser(cast.alice())
    page = card(alice, request)
    assert "Runs at" in page.id("held").text()
    assert page.has("q-held")
    assert not approvals_queries.decidable(cast.alice()).filter(pk=request).exists()
    alice.post(reverse("decision_act", args=[request, "undo"]))
    assert line(request).held_until is None
    assert approvals_queries.decidable(cast.alice()).filter(pk=request).exists()
    due(request, "expires_at")
    sweeper.end_holds()
    sweeper.expire_due()
    work()
    assert (line(request).state, moved(bank)) == ("expired", before)


def test_what_policy_holds_is_rejected_or_approved_at_once_like_any_other(asking, bank):
    before, request = moved(bank), asking(gate="hold", hold=3600)
    decide(cast.alice(), request)
    work()
    assert (line(request).state, moved(bank)) == ("approved", [*before, 120000])


def test_an_approval_is_held_and_can_be_undone_until_it_runs(asking, bank):
    before, request = moved(bank), asking(hold=3600)
    decide(cast.alice(), request)
    work()
    assert (line(request).state, moved(bank)) == ("pending", before)
    approvals_commands.undo(cast.alice(), request, reason="wrong account")
    assert (line(request).approvals, line(request).held_until) == (0, None)
    decide(cast.bob(), request)
    due(request, "held_until")
    assert sweeper.end_holds() == 1
    work()
    assert (line(request).state, moved(bank)) == ("approved", [*before, 120000])
    with pytest.raises(AlreadyDecided):
        approvals_commands.undo(cast.alice(), request)


def test_of_an_objection_and_the_end_of_the_hold_exactly_one_counts(asking):
    request = asking(gate="hold", hold=3600)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_sessions_approvalrequest SET held_until = clock_timestamp() + interval '30 ms' WHERE id = %s",
            [request],
        )
    session = session_of(request)

    def objects() -> bool:
        try:
            approvals_commands.undo(cast.alice(), request)
        except (guards.HoldIsOver, AlreadyDecided):
            return False
        return True

    def over() -> bool:
        while not sweeper.end_hold(session, request):
            if "request.undone" in kinds(session):
                return False
        return True

    assert sorted(at_once(objects, over)) == [False, True]


def lent(until: int = 60) -> Any:
    """Bob lends Alice his right to decide, for so many minutes."""
    return delegations.give(
        cast.bob(),
        cast.alice(),
        cast.retail(),
        until=now() + timedelta(minutes=until),
        reason="on holiday",
        permissions=["decide", "decide_tier3"],
    )


def test_a_decision_under_a_delegation_names_both(asking):
    request, _ = asking(reviewers=("user:bob",)), lent()
    assert approvals_queries.decidable(cast.alice()).filter(pk=request).exists()
    decide(cast.alice(), request)
    (made,) = events(session_of(request), "decision.made")
    assert (made["by"], made["under"]) == (cast.alice().actor, cast.bob().actor)


def test_a_delegation_ends_at_once_when_taken_back_or_when_its_giver_loses_the_right(asking):
    request, given = asking(reviewers=("user:bob",)), lent()
    delegations.revoke(given.pk, cast.bob())
    with pytest.raises(DecisionNotAllowed):
        decide(cast.alice(), request)
    lent()
    people.remove_role(cast.bob(), cast.retail(), cast.Role.SUPERVISOR, None)
    with pytest.raises(DecisionNotAllowed):
        decide(cast.alice(), request)


def test_what_was_lent_cannot_be_lent_on_and_nobody_lends_what_they_have_not(bank):
    with pytest.raises(PermissionDenied):
        delegations.give(
            cast.vera(),
            cast.alice(),
            cast.retail(),
            until=now() + timedelta(hours=1),
            reason="so",
            permissions=["decide"],
        )


def test_who_stands_in_and_whom_they_stand_for_are_one_of_a_quorum(asking):
    request, _ = asking(quorum=2), lent()
    sue = cast.person("sue", cast.Role.SUPERVISOR, cast.retail())
    decide(cast.bob(), request)
    with pytest.raises(DecisionNotAllowed, match="with whom you share a right"):
        decide(cast.alice(), request)
    decide(sue, request)
    assert line(request).state == "approved"


def test_an_approver_who_has_lost_the_right_before_it_runs_means_a_new_request(asking, bank):
    before, request = moved(bank), asking()
    decide(cast.bob(), request)
    people.remove_role(cast.bob(), cast.retail(), cast.Role.SUPERVISOR, None)
    work()
    assert moved(bank) == before
    again = [each for each in state(session_of(request)).requests.values() if each.asked.supersedes == str(request)]
    assert "may not decide it any more" in again[0].asked.why


def test_a_stricter_gate_before_it_runs_means_a_new_request(asking, bank, monkeypatch):
    before, request = moved(bank), asking()
    decide(cast.alice(), request)
    policy = registry.policy_named("bank")
    rules = tuple(msgspec.structs.replace(rule, reviewers=("user:bob",)) for rule in policy.rules)
    monkeypatch.setattr(registry, "policy_named", lambda *_: msgspec.structs.replace(policy, rules=rules))
    work()
    assert moved(bank) == before
    assert events(session_of(request), "approval.requested")[-1]["supersedes"] == str(request)


def test_a_page_that_does_not_say_what_it_showed_decides_nothing(asking):
    request, alice = asking(), cast.browser(cast.alice())
    answer = send(alice, request, "approve", seen="")
    assert (answer.status_code, line(request).state) == (409, "pending")
    assert Outdated.code == "outdated"


def test_a_claim_is_made_taken_and_given_back_on_the_page_without_a_script(asking):
    request, alice, bob = asking(), cast.browser(cast.alice()), cast.browser(cast.bob())
    alice.post(reverse("decision_act", args=[request, "claim"]))
    assert "Claimed by you" in card(alice, request).id("claimed").text()
    assert "Alice has claimed this" in card(bob, request).id("claimed").text()
    assert "Alice" in card(bob, request).id(f"q-{request}").text()
    bob.post(reverse("decision_act", args=[request, "take"]))
    assert "took over your claim" in card(alice, request).id("claimed").text()
    bob.post(reverse("decision_act", args=[request, "release"]))
    assert "Unclaimed" in card(alice, request).id("claimed").text()


def test_a_script_keeps_a_claim_and_is_told_when_it_is_lost(asking):
    request, alice = asking(), cast.browser(cast.alice())
    claims.claim(cast.alice(), request)
    keep, json = reverse("decision_act", args=[request, "keep"]), {"Accept": "application/json"}
    assert alice.post(keep, headers=json).status_code == 200
    claims.claim(cast.bob(), request, take=True)
    answer = alice.post(keep, headers=json)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_yours")


def test_an_edited_payee_is_decided_by_another_on_the_terms_of_its_own_rule(bank):
    """C2: an edit turned a transfer between own accounts into one to a stranger, past delay, code and typing."""
    _, found = paused()
    session = session_of(found.id)
    stranger = {**line(found.id).arguments, "to_account": "2000000009", "new_payee": True}
    edited = decide(cast.alice(), found.id, "edit", reason="x", arguments=stranger)
    new = UUID(next(event.request for event in edited.events if isinstance(event, ev.ApprovalRequested)))
    told = line(new)
    assert (told.tier, told.terms.hold, told.terms.retype) == (3, 60, (AMOUNT,))
    work()
    assert "transfer" not in [event["tool"] for event in events(session, "tool.intended")]
    with pytest.raises(DecisionNotAllowed, match="you proposed it"):
        decide(cast.alice(), new, code="payee_known", retyped={AMOUNT: stranger["amount"]["minor"]})


def test_a_program_decides_nothing_whatever_it_is_given(asking):
    request = asking()
    bob, team = cast.bob(), cast.retail()
    assert approvals_queries.decidable(bob).count() == 1
    people.grant_role(bob, team, Role.PROGRAM, None)
    assert approvals_queries.decidable(bob).count() == 0
    with pytest.raises(DecisionNotAllowed):
        decide(bob, request)
    until = now() + timedelta(hours=1)
    delegations.give(cast.alice(), bob, team, until=until, reason="away", permissions=[Permission.DECIDE])
    with pytest.raises(DecisionNotAllowed):
        decide(bob, request)
    held = authority.reviewer(bob, team.pk)
    assert (held.may, held.lent) == (frozenset(), ())
    assert not line(request, bob).may_reject
    assert ROLES[Role.PROGRAM] & {Permission.DECIDE, Permission.DECIDE_TIER3, Permission.TAKE_OVER} == set()


def test_page_and_api_say_who_proposed_it(asking, client):
    request = asking(four_eyes=True)
    assert line(request).proposed_by == ["agent:bank"]
    changed = {**line(request).arguments, "amount": {"minor": 80000, "currency": "USD"}}
    edited = decide(cast.alice(), request, "edit", reason="misheard", arguments=changed)
    new = UUID(next(event.request for event in edited.events if isinstance(event, ev.ApprovalRequested)))
    client.force_login(cast.bob())
    page = client.get(reverse("decision", args=[new])).content.decode()
    assert f"Proposed by {cast.alice().display_name}, not by the agent." in page
    body = Api(cast.bob()).get(f"/requests/{new}").json()
    assert body["proposed_by"] == [cast.alice().actor]
    assert approvals.proposed(["agent:bank"], {}) == "Proposed by the agent."
    assert approvals.proposed([], {}) == ""
    client.force_login(cast.alice())
    page = client.get(reverse("decision", args=[new])).content.decode()
    assert "You may reject this request but not approve it." in page
    assert 'value="reject"' in page
    assert 'value="approve"' not in page
