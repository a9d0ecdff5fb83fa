"""Retention and the teams it concerns (C3): a change that reaches another team, or shortens a term, is a proposal."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.urls import reverse

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people import commands as people
from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Role
from audit import retention
from audit.erasure import State as Erasing
from audit.retention import Class, Rule, Schedule
from sessions.automation.alerts import commands as alert_commands
from sessions.automation.alerts import escalation
from sessions.automation.alerts import queries as alerts
from sessions.models.alerts import Alert
from sessions.models.proposals import Proposal, ProposalAnswer
from sessions.models.sessions import AgentSession
from sessions.privacy import commands, pruning
from sessions.privacy import erasure as erasing
from sessions.privacy.proposal import schedules
from sessions.proposals import commands as proposals
from sessions.proposals import workflow
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import CUSTOMER, kinds
from tests.shell.erasure_world import entries_of_staff
from tests.shell.pages import read
from tests.shell.test_retention import closed

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
TEN_YEARS = 3_650


def cora() -> User:
    return cast.person("cora", Role.PRIVACY, cast.cards())


def carl() -> User:
    return cast.person("carl", Role.ADMIN, cast.cards())


def of_retail(days: int = TEN_YEARS) -> Schedule:
    return Schedule((Class("calls", days),), (Rule("calls", team=str(cast.retail().pk)),))


def in_force() -> Schedule:
    return retention.schedule(cast.tenant().pk)


@pytest.fixture(autouse=True)
def _retail_keeps_its_words_for_ten_years(db):
    cast.petra(), cast.paul(), cora(), carl()
    retention.put(cast.tenant().pk, of_retail(), "system")


def delay_is_over() -> None:
    Proposal.objects.filter(state="agreed").update(due_at=now() - timedelta(seconds=1))


def test_an_admin_of_one_team_cannot_take_another_teams_rule_away():
    session = closed()
    AgentSession.objects.filter(pk=session).update(ended_at=now() - timedelta(days=3_000))
    house = Schedule((Class("none", 40),), (Rule("none"),))
    proposal = commands.set_retention(carl(), house)
    assert in_force() == of_retail()
    assert proposal is not None
    assert pruning.prune_due(cast.tenant().pk) == 0
    _, after = schedules(proposal)
    assert after.of(cast.retail().pk, "bank", "phone") == Class("calls", TEN_YEARS)


@pytest.mark.parametrize("days", [0, 1, 29])
def test_no_term_is_shortened_below_the_minimum(days):
    with pytest.raises(Invalid, match="below 30 days"):
        commands.set_retention(cast.petra(), of_retail(days))
    assert (in_force(), Proposal.objects.count()) == (of_retail(), 0)


def test_a_shorter_term_needs_a_second_person_and_a_day():
    proposal = commands.set_retention(cast.petra(), of_retail(60))
    assert proposal is not None
    with pytest.raises(workflow.SecondPerson):
        proposals.answer_proposal(cast.petra(), proposal.pk, agrees=True)
    assert proposals.answer_proposal(cast.paul(), proposal.pk, agrees=True).state == "agreed"
    assert workflow.carry_out_due() == 0
    assert in_force() == of_retail()
    delay_is_over()
    assert workflow.carry_out_due() == 1
    assert in_force() == of_retail(60)
    (entry,) = [each for each in entries_of_staff("retention.set") if each["teams"]]
    assert entry["teams"] == [str(cast.retail().pk)]


def test_within_the_day_anybody_entitled_may_still_reject():
    proposal = commands.set_retention(cast.petra(), of_retail(60))
    proposals.answer_proposal(cast.paul(), proposal.pk, agrees=True)
    proposals.answer_proposal(cast.adam(), proposal.pk, agrees=False, reason="a case is open")
    delay_is_over()
    assert workflow.carry_out_due() == 0
    assert in_force() == of_retail()


def test_a_longer_term_of_ones_own_team_takes_effect_at_once():
    assert commands.set_retention(cast.petra(), of_retail(TEN_YEARS + 1)) is None
    assert in_force() == of_retail(TEN_YEARS + 1)


def test_a_rule_for_all_teams_waits_for_each_of_them():
    wanted = Schedule((Class("calls", TEN_YEARS), Class("all", 90)), (*of_retail().rules, Rule("all")))
    proposal = commands.set_retention(cast.petra(), wanted)
    assert set(proposal.teams) == {cast.retail().pk, cast.cards().pk}
    proposals.answer_proposal(cast.paul(), proposal.pk, agrees=True)
    assert Proposal.objects.get().state == "open"
    proposals.answer_proposal(cora(), proposal.pk, agrees=True)
    assert Proposal.objects.get().state == "agreed"


def test_the_teams_are_told_how_many_sessions_and_words_will_go():
    session = closed()
    AgentSession.objects.filter(pk=session).update(ended_at=now() - timedelta(days=100))
    proposal = commands.set_retention(cast.petra(), of_retail(60))
    held = len(kinds(session))
    assert proposal.details["losses"] == {str(cast.retail().pk): {"sessions": 1, "entries": held, "live": 0}}


def test_a_proposal_that_no_longer_fits_changes_nothing():
    proposal = commands.set_retention(cast.petra(), of_retail(60))
    commands.set_retention(cast.petra(), of_retail(TEN_YEARS + 5))
    proposals.answer_proposal(cast.paul(), proposal.pk, agrees=True)
    delay_is_over()
    workflow.carry_out_due()
    found = Proposal.objects.get(pk=proposal.pk)
    assert (found.state, found.ended_why) == ("outdated", "schedule_changed")
    assert in_force() == of_retail(TEN_YEARS + 5)


def test_nobody_proposes_what_concerns_only_other_teams():
    foreign = Schedule((Class("a", 40),), (Rule("a", team=str(cast.retail().pk)),))
    with pytest.raises(PermissionDenied):
        commands.set_retention(carl(), foreign)
    assert in_force() == of_retail()


def test_each_team_sees_its_own_rules_and_those_of_all_teams_only():
    assert commands.retention_schedule(carl()) == Schedule()
    assert commands.retention_schedule(cast.adam()) == of_retail()
    with pytest.raises(PermissionDenied):
        commands.retention_schedule(cast.alice())


def test_an_erasure_that_a_customer_asks_for_waits_for_no_term_and_no_delay(at_once):
    session = closed()
    asked = commands.ask_erasure(cast.petra(), customer=CUSTOMER, basis="objection", reason="a letter")
    commands.rule_erasure(cast.paul(), asked.pk, Erasing.APPROVED)
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-1] == "session.sealed"


def test_over_the_api_a_shorter_term_is_a_proposal_and_the_second_person_answers_it():
    shorter = {
        "classes": [{"name": "calls", "days": 60}],
        "rules": [{"retention": "calls", "team": str(cast.retail().pk)}],
    }
    made = Api(cast.petra()).ask("PUT", "/retention", data=json.dumps(shorter).encode())
    assert made.status_code == 202
    proposal = made.json()["id"]
    listed = Api(cast.paul()).get("/proposals").json()["proposals"]
    assert [(each["id"], each["may_answer"]) for each in listed] == [(proposal, True)]
    assert Api(cast.alice()).get(f"/proposals/{proposal}").status_code == 404
    refused = Api(cast.petra()).post(f"/proposals/{proposal}/answers", {"agrees": True})
    assert (refused.status_code, refused.json()["code"]) == (403, "second_person")
    answered = Api(cast.paul()).post(f"/proposals/{proposal}/answers", {"agrees": True})
    assert (answered.status_code, answered.json()["state"]) == (200, "agreed")
    ended = Api(cast.petra()).ask("DELETE", f"/proposals/{proposal}")
    assert ended.json()["state"] == "withdrawn"


def test_the_pages_show_a_proposal_in_the_queue_and_take_the_answer():
    cast.browser(cast.petra()).post(
        reverse("retention_change"), {"name": "all", "days": "90", "team": "", "agent": "", "channel": ""}
    )
    (row,) = Proposal.objects.all()
    browser = cast.browser(cora())
    queue = read(browser.get(reverse("proposals")).content)
    assert "Waits for answers" in queue.id(f"p-{row.pk}").text()
    page = browser.get(reverse("proposal", args=[row.pk])).content.decode()
    assert "Card services: no limit becomes 90 days for all sessions." in page
    assert "Retail" not in page
    assert "1 other team has not answered" in page
    refused = browser.post(reverse("proposal_answer", args=[row.pk, "reject"]), {"reason": " "})
    assert refused.status_code == 422
    sent = browser.post(reverse("proposal_answer", args=[row.pk, "reject"]), {"reason": "we keep ours"})
    assert sent.status_code == 302
    assert Proposal.objects.get().state == "rejected"
    assert cast.browser(cast.alice()).get(reverse("proposal", args=[row.pk])).status_code == 404
    assert cast.browser(cast.vera()).get(reverse("proposals")).status_code == 200


def test_each_team_that_has_to_answer_has_an_alert_until_it_has():
    commands.set_retention(cast.petra(), Schedule((Class("all", 90),), (Rule("all"),)))
    (row,) = Proposal.objects.all()
    assert {alert.team_id for alert in open_alerts(row)} == {cast.retail().pk, cast.cards().pk}
    proposals.answer_proposal(cora(), row.pk, agrees=True)
    assert {alert.team_id for alert in open_alerts(row)} == {cast.retail().pk}
    proposals.withdraw_proposal(cast.petra(), row.pk)
    assert list(open_alerts(row)) == []


def open_alerts(row):
    return Alert.objects.filter(about=f"proposal:{row.pk}").exclude(state="closed")


def test_a_team_that_is_late_is_decided_for_by_the_privacy_officer():
    olga = cast.person("olga", Role.PRIVACY_OFFICER, cast.retail())
    proposal = commands.set_retention(cast.petra(), Schedule((Class("all", 90),), (Rule("all"),)))
    proposals.answer_proposal(cast.paul(), proposal.pk, agrees=True)
    with pytest.raises(workflow.NotOverdue):
        proposals.decide_overdue(olga, proposal.pk, agrees=True)
    with pytest.raises(PermissionDenied):
        proposals.decide_overdue(cast.paul(), proposal.pk, agrees=True)
    Proposal.objects.update(answer_by=now() - timedelta(seconds=1))
    assert proposals.decide_overdue(olga, proposal.pk, agrees=True).state == "agreed"
    answer = ProposalAnswer.objects.get(team=cast.cards())
    assert (answer.by, answer.for_team) == (olga.actor, True)
    assert [entry["for_team"] for entry in entries_of_staff("proposal.answered")] == [False, True]


def test_the_alert_of_a_late_team_leads_the_privacy_officer_to_the_buttons():
    loans = cast.commands.create_team(tenant=cast.tenant(), slug="loans", name="Loans", by=None)
    olga = cast.person("olga", Role.PRIVACY_OFFICER, loans)
    browser = cast.browser(olga)
    proposal = commands.set_retention(cast.petra(), Schedule((Class("all", 90),), (Rule("all"),)))
    page = reverse("proposal", args=[proposal.pk])
    assert [alert.team_id for alert in alerts.mine(olga)] == [loans.pk]  # nobody there answers for it
    Alert.objects.filter(about=f"proposal:{proposal.pk}").update(escalates_at=now() - timedelta(seconds=1))
    Proposal.objects.update(answer_by=now() - timedelta(seconds=1))
    escalation.escalate_due()
    assert {alert.team_id for alert in alerts.mine(olga)} == {loans.pk, cast.retail().pk, cast.cards().pk}
    assert page in browser.get(reverse("alerts")).content.decode()
    assert "Decide for absent teams" in browser.get(page).content.decode()
    browser.post(reverse("proposal_answer", args=[proposal.pk, "agree"]), {"for": "late"})
    assert Proposal.objects.get(pk=proposal.pk).state == "agreed"
    assert list(alerts.mine(olga)) == []


def test_an_alert_of_a_proposal_is_for_who_answers_it_and_has_no_link_for_others():
    proposal = commands.set_retention(cast.petra(), of_retail(60))
    page = reverse("proposal", args=[proposal.pk])
    assert [alert.about for alert in alerts.mine(cast.paul())] == [f"proposal:{proposal.pk}"]
    assert page in cast.browser(cast.paul()).get(reverse("alerts")).content.decode()
    assert list(alerts.mine(cast.alice())) == []
    assert page not in cast.browser(cast.alice()).get(reverse("alerts")).content.decode()


def test_an_alert_of_a_proposal_closes_with_the_answer_alone():
    proposal = commands.set_retention(cast.petra(), of_retail(60))
    (row,) = open_alerts(proposal)
    (line,) = alerts.lines(cast.alice(), open_alerts(proposal))
    assert not line.may_act
    with pytest.raises(alert_commands.WaitsForAnswer):
        alert_commands.acknowledge_alert(cast.alice(), row.pk)
    with pytest.raises(alert_commands.WaitsForAnswer):
        alert_commands.close_alert(cast.alice(), row.pk, "not now")
    assert open_alerts(proposal).exists()


def test_a_proposer_never_decides_for_a_late_team():
    people.grant_role(cast.petra(), cast.retail(), Role.PRIVACY_OFFICER, None)
    proposal = commands.set_retention(cast.petra(), Schedule((Class("all", 90),), (Rule("all"),)))
    Proposal.objects.update(answer_by=now() - timedelta(seconds=1))
    with pytest.raises(workflow.SecondPerson):
        proposals.decide_overdue(cast.petra(), proposal.pk, agrees=True)


def test_every_step_of_a_proposal_is_an_entry_of_the_staff_log():
    proposal = commands.set_retention(cast.petra(), of_retail(60))
    proposals.answer_proposal(cast.paul(), proposal.pk, agrees=True)
    delay_is_over()
    workflow.carry_out_due()
    for kind in ("made", "answered", "agreed", "carried_out"):
        (entry,) = entries_of_staff(f"proposal.{kind}")
        assert (entry["proposal"], entry["teams"]) == (str(proposal.pk), [str(cast.retail().pk)])
