"""Who may decide what, who sees to what, who can do what: in the queue, on the forms, at the desk, over the API."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.urls import reverse

from agentstate.people.permissions import PermissionDenied
from sessions.approvals import assignment
from sessions.approvals import queries as approvals_queries
from sessions.models.sessions import AgentSession, ApprovalRequest
from sessions.supervision import assignments as working
from sessions.supervision import commands as supervision_commands
from sessions.supervision import workload
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import opened, state
from tests.shell.pages import read
from tests.shell.test_terms import asking, decide, line, session_of  # noqa: F401  (a fixture and its helpers)

pytestmark = pytest.mark.django_db(transaction=True)


def badge(user) -> int:
    return approvals_queries.decidable(user).count()


def test_whose_session_it_is_has_a_request_of_four_eyes_out_of_their_badge_and_is_told_why(asking):  # noqa: F811
    request = asking(four_eyes=True)
    cast.bob()
    assert (badge(cast.alice()), line(request).why_not) == (1, "")
    supervision_commands.take_over(cast.alice(), session_of(request))
    assert (badge(cast.alice()), badge(cast.bob())) == (0, 1)
    told = line(request)
    assert (told.may_decide, told.who_may) == (False, ["Bob"])
    assert told.why_not == "You took the session over. Another person must approve it."
    assert working.next_work(cast.alice()) is None
    supervision_commands.hand_back(cast.alice(), session_of(request))
    assert badge(cast.alice()) == 1
    call_command("rebuild", "--check")


def test_who_has_approved_already_is_told_that_another_must(asking):  # noqa: F811
    request = asking(quorum=2)
    cast.bob()
    decide(cast.alice(), request)
    told = line(request)
    assert (told.may_decide, told.why_not) == (False, "You have approved it already. Another person must approve it.")
    assert told.who_may == ["Bob"]
    assert badge(cast.bob()) == 1  # the second reviewer works from the queue when the first has finished


def test_a_request_for_others_is_in_the_queue_with_whose_it_is(asking):  # noqa: F811
    request = asking(reviewers=("user:bob",))
    cast.bob()
    page = read(cast.browser(cast.alice()).get(reverse("decision", args=[request])).content)
    assert "It is for user bob. Allowed: Bob." in page.id(f"q-{request}").text()
    assert "View only: you may not decide this request." in page.id("notes").text()
    assert page.id("queue").text().count("0 for you") == 1
    told = Api(cast.vera()).get(f"/requests/{request}").json()
    assert (told["may_decide"], told["who_may"]) == (False, ["Bob"])
    assert told["why_not"] == "Tier 2 needs the permission decide."
    assert Api(cast.alice()).get("/requests", mine="true").json()["requests"] == []


def test_a_delegation_makes_somebody_one_who_may(asking):  # noqa: F811
    from tests.shell.test_terms import lent

    request = asking(reviewers=("user:bob",))
    lent()
    assert line(request, cast.vera()).who_may == ["Alice", "Bob"]


def test_a_request_is_given_to_a_colleague_or_a_team_by_form_and_comes_to_them(asking):  # noqa: F811
    request, browser = asking(), cast.browser(cast.alice())
    cast.bob()
    page = read(browser.get(reverse("decision", args=[request])).content)
    offered = [each.attrs["value"] for each in page.id("assign-to").all("option")]
    assert offered == ["", "alice", "bob", "team:retail"]
    give = reverse("decision_act", args=[request, "assign"])
    assert browser.post(give, {"to": "bob", "holder": ""}).status_code == 302
    assert working.next_work(cast.alice()) is None
    assert browser.post(give, {"to": "alice", "holder": ""}).status_code == 409  # it is Bob's by now
    browser.post(give, {"to": "team:retail", "holder": cast.bob().actor})
    assert ApprovalRequest.objects.get(pk=request).assigned_to == "team:retail"
    found = working.next_work(cast.bob())
    assert found is not None
    assert "it is assigned to a team of yours" in found.why
    assert ApprovalRequest.objects.get(pk=request).assigned_to == cast.bob().actor
    assert "For Bob" in read(browser.get(reverse("decision", args=[request])).content).id(f"q-{request}").text()


def test_a_session_is_given_by_form_and_a_team_of_whom_nobody_may_is_refused(bank):
    session, browser = opened(), cast.browser(cast.alice())
    cast.bob()
    cast.charlie()
    give = reverse("session_supervise", args=[session, "assign"])
    assert browser.post(give, {"to": "bob"}).status_code == 302
    assert AgentSession.objects.get(pk=session).assigned_to == cast.bob().actor
    assert "Bob is assigned" in " ".join(browser.get(reverse("session", args=[session])).content.decode().split())
    with pytest.raises(PermissionDenied):
        assignment.assign(cast.alice(), session, "team:cards", holder=cast.bob().actor)
    assert cast.browser(cast.vera()).post(give, {"to": "alice"}).status_code == 403
    assert state(session).desk.assigned_to == cast.bob().actor


def test_an_admin_sets_who_can_do_what_and_which_work_wants_it_on_the_page_of_the_desk(bank):
    adam, _ = cast.browser(cast.adam()), (cast.alice(), cast.bob())
    assert read(adam.get(reverse("desk")).content).has("p-bob")
    adam.post(reverse("desk_skills"), {"of": "bob", "skills": "Spanish, large  payments"})
    rules = {"by": ["tool", "agent"], "value": ["transfer", "bank"], "skill": ["large payments", ""]}
    told = adam.post(reverse("desk_wanted"), {"team": "retail", **rules}, follow=True).content.decode()
    assert "Saved." in told
    (wanted,) = workload.wanted(cast.adam())
    assert [(rule.by, rule.value, rule.skill) for rule in wanted.rules] == [("tool", "transfer", "large payments")]
    (line_of_bob,) = [each for each in workload.desk(cast.alice()) if each.user == "bob"]
    assert line_of_bob.skills == ["large payments", "spanish"]
    alice = cast.browser(cast.alice())
    assert "needs large payments" in read(alice.get(reverse("desk")).content).id("wants-retail").text()
    assert alice.post(reverse("desk_skills"), {"of": "bob", "skills": ""}).status_code == 403
    assert cast.browser(cast.vera()).get(reverse("desk")).status_code == 403


def test_how_far_each_person_has_come_is_told_by_name(asking):  # noqa: F811
    first, second = asking(), asking()
    cast.bob()
    assignment.assign(cast.alice(), session_of(first), "bob", request=first)
    assignment.assign(cast.alice(), session_of(second), "bob", request=second)
    decide(cast.bob(), first)
    people = {each["user"]: each for each in Api(cast.alice()).get("/desk").json()["people"]}
    assert (people["bob"]["requests"], people["bob"]["decided"], people["alice"]["decided"]) == (1, 1, 0)
    assert people["bob"]["oldest"] is not None
    page = read(cast.browser(cast.alice()).get(reverse("desk")).content)
    assert "1 assigned" in page.id("p-bob").text()
