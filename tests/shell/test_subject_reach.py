"""Customers whom several teams serve (H6, L6): to open a session for a reference opens nothing of another team's."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agentstate.clock import now
from agentstate.engine.instants import stamp
from agentstate.engine.profile.refusals import UnknownPreference
from agentstate.engine.profile.values import BadValue
from agentstate.errors import Invalid
from agentstate.people import commands as people
from agentstate.people.models import User
from agentstate.people.roles import Role
from audit import erasure as audit_erasure
from audit import holds, ledger
from audit.erasure import State
from audit.models import ErasureRequest, LegalHold
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.models.proposals import Proposal
from sessions.models.sessions import AccessLine, AgentSession
from sessions.privacy import commands, subject_proposals, subject_report
from sessions.privacy import erasure as erasing
from sessions.privacy import queries as privacy
from sessions.privacy.stores import STORES
from sessions.profiles import adaptation, logs
from sessions.profiles import commands as keep
from sessions.profiles import queries as profiles
from sessions.profiles.partial import seen_from
from sessions.proposals import commands as proposals
from sessions.proposals import queries, workflow
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import CUSTOMER, kinds, opened
from tests.shell.erasure_world import entries_of_staff
from tests.shell.test_profiles import agreed_customer, swept, transferred

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
SECRET = "I moved to 12 Quokka Lane."


def cora() -> User:
    return cast.person("cora", Role.PRIVACY, cast.cards())


def conrad() -> User:
    return cast.person("conrad", Role.PRIVACY, cast.cards())


def carla() -> User:
    return cast.person("carla", Role.CALLER, cast.cards())


@pytest.fixture
def retails(db):
    """The session in which the customer has spoken to retail; then cards opens an empty one for the same reference."""
    cast.petra(), cast.paul(), cora(), conrad()
    session = opened()
    conversation_commands.say(cast.cleo(), session, SECRET)
    return session


@pytest.fixture
def cards(retails):
    return conversation_commands.start(carla(), customer=CUSTOMER, agent="bank", channel="phone").session


def told(user: User) -> str:
    return json.dumps(subject_report.made(user, customer=CUSTOMER))


def test_a_report_has_the_parts_of_ones_own_teams_and_says_that_others_are_outstanding(retails, cards):
    found = subject_report.made(cora(), customer=CUSTOMER)
    assert [log["log"] for log in found["logs"]] == [str(cards)]
    assert (found["outstanding"], found["stores"]) == (True, {})
    text = json.dumps(found)
    for hidden in ("Quokka", str(retails), str(cast.retail().pk), "Retail"):
        assert hidden not in text


def test_a_report_by_the_only_team_that_serves_somebody_is_whole(retails):
    found = subject_report.made(cast.petra(), customer=CUSTOMER)
    assert (found["outstanding"], "Quokka" in json.dumps(found)) == (False, True)


def test_what_other_teams_agree_to_is_in_the_report_for_thirty_days(retails, cards, monkeypatch):
    proposal = commands.propose_report(cora(), "the customer asked both of us", customer=CUSTOMER)
    assert "Quokka" not in told(cora())
    assert proposals.answer_proposal(cast.petra(), proposal.pk, agrees=True).state == "carried_out"
    assert "Quokka" in told(cora())
    assert "Quokka" not in told(conrad())
    with pytest.raises(commands.NothingOutstanding):
        commands.propose_report(cora(), "again", customer=CUSTOMER)
    monkeypatch.setattr(subject_proposals, "now", lambda: now() + timedelta(days=31))
    assert "Quokka" not in told(cora())


def test_a_longer_list_of_proposals_takes_no_more_queries(retails, cards):
    def counted() -> list[int]:
        found = []
        for read in (queries.proposals, queries.waiting_count):
            with CaptureQueriesContext(connection) as captured:
                read(cast.petra())
            found.append(len(captured))
        return found

    commands.propose_report(cora(), "the customer asked", customer=CUSTOMER)
    first = counted()
    for colleague in (cora(), conrad()):
        commands.propose_report(colleague, "the customer asked again", customer=CUSTOMER)
    assert queries.waiting_count(cast.petra()) == 3
    assert counted() == first


def test_a_team_that_rejects_shows_nothing(retails, cards):
    proposal = commands.propose_report(cora(), "curious", customer=CUSTOMER)
    proposals.answer_proposal(cast.petra(), proposal.pk, agrees=False, reason="not your customer")
    assert "Quokka" not in told(cora())


def test_a_proposal_that_was_carried_out_is_answered_and_withdrawn_no_more(retails, cards):
    proposal = commands.propose_report(cora(), "the customer asked both of us", customer=CUSTOMER)
    proposals.answer_proposal(cast.petra(), proposal.pk, agrees=True)
    for again in (
        lambda: proposals.answer_proposal(cast.petra(), proposal.pk, agrees=False, reason="it was a mistake"),
        lambda: proposals.withdraw_proposal(cora(), proposal.pk),
    ):
        with pytest.raises(workflow.ProposalOver, match="carried out"):
            again()
    assert Proposal.objects.get(pk=proposal.pk).state == "carried_out"


def test_the_proposer_of_a_report_is_never_told_which_teams_are_asked(retails, cards):
    proposal = commands.propose_report(cora(), "the customer asked", customer=CUSTOMER)
    line = queries.proposal(cora(), proposal.pk)
    assert (line.answers, line.others_outstanding, line.may_answer) == ((), 1, False)
    assert queries.proposal(cast.petra(), proposal.pk).reason == "the customer asked"


def test_an_erasure_waits_for_every_team_that_serves_the_subject(retails, cards, at_once):
    asked = commands.ask_erasure(cora(), customer=CUSTOMER, basis="objection", reason="a letter")
    assert commands.rule_erasure(conrad(), asked.pk, State.APPROVED).state == State.ASKED
    assert erasing.carry_out_due() == 0
    assert kinds(retails)[-1] != "session.sealed"
    (proposal,) = Proposal.objects.all()
    with pytest.raises(audit_erasure.NotOpen):
        commands.rule_erasure(conrad(), asked.pk, State.APPROVED)
    assert proposals.answer_proposal(cast.petra(), proposal.pk, agrees=True).state == "carried_out"
    assert erasing.carry_out_due() == 1
    assert kinds(retails)[-1] == "session.sealed"


def test_a_team_sees_which_of_its_sessions_a_proposal_is_about(retails, cards):
    asked = commands.ask_erasure(cora(), customer=CUSTOMER, basis="objection", reason="a letter")
    commands.rule_erasure(conrad(), asked.pk, State.APPROVED)
    (proposal,) = Proposal.objects.all()
    page = cast.browser(cast.petra()).get(reverse("proposal", args=[proposal.pk])).content.decode()
    assert f"{retails.hex[-6:].upper()}</span>" in page
    assert reverse("erasure", args=[asked.pk]) in page
    assert queries.proposal(cora(), proposal.pk).sessions == (cards,)
    waiting = cast.browser(cora()).get(reverse("erasure", args=[asked.pk])).content.decode()
    assert "Waiting for other teams" in waiting
    assert "Members of all these teams can see the amount" in waiting


def test_a_team_that_rejects_an_erasure_refuses_it(retails, cards):
    asked = commands.ask_erasure(cora(), customer=CUSTOMER, basis="objection", reason="a letter")
    commands.rule_erasure(conrad(), asked.pk, State.APPROVED)
    (proposal,) = Proposal.objects.all()
    proposals.answer_proposal(cast.petra(), proposal.pk, agrees=False, reason="a case is open")
    row = ErasureRequest.objects.get(pk=asked.pk)
    assert (row.state, row.ruled_by) == (State.REFUSED, cast.petra().actor)


def test_who_asked_for_an_erasure_cannot_agree_to_it_for_another_team(retails, cards):
    people.grant_role(cora(), cast.retail(), Role.PRIVACY, None)
    asked = commands.ask_erasure(cora(), customer=CUSTOMER, basis="objection", reason="a letter")
    commands.rule_erasure(conrad(), asked.pk, State.APPROVED)
    (proposal,) = Proposal.objects.all()
    with pytest.raises(workflow.SecondPerson):
        proposals.answer_proposal(cora(), proposal.pk, agrees=True)


def test_a_team_that_begins_to_serve_the_subject_is_asked_too(retails, cards):
    asked = commands.ask_erasure(cast.petra(), customer=CUSTOMER, basis="objection", reason="a letter")
    commands.rule_erasure(cast.paul(), asked.pk, State.APPROVED)
    (proposal,) = Proposal.objects.all()
    third = cast.commands.create_team(tenant=cast.tenant(), slug="loans", name="Loans", by=None)
    caller = cast.person("luca", Role.CALLER, third)
    conversation_commands.start(caller, customer=CUSTOMER, agent="bank", channel="phone")
    assert proposals.answer_proposal(cora(), proposal.pk, agrees=True).state == "open"
    assert third.pk in Proposal.objects.get(pk=proposal.pk).teams


def test_a_legal_hold_is_set_at_once_and_lifted_with_the_other_teams(retails, cards):
    hold = commands.set_hold(cora(), customer=CUSTOMER, reason="a case at court")
    assert privacy.all_holds(cora())[0].in_force
    commands.lift_hold(cora(), hold.pk)
    assert LegalHold.objects.get().lifted_at is None
    (proposal,) = Proposal.objects.all()
    proposals.answer_proposal(cast.petra(), proposal.pk, agrees=True)
    assert LegalHold.objects.get().lifted_at is not None


def test_a_hold_on_ones_own_session_is_lifted_at_once(retails, cards):
    hold = commands.set_hold(cora(), session=cards, whole=False, reason="a case at court")
    commands.lift_hold(cora(), hold.pk)
    assert LegalHold.objects.get().lifted_at is not None
    theirs = commands.set_hold(cast.petra(), session=retails, whole=False, reason="a case at court")
    assert str(retails) not in str(privacy.all_holds(cora()))
    with pytest.raises(holds.UnknownHold):
        commands.lift_hold(cora(), theirs.pk)


def test_reasons_of_another_team_are_not_shown(retails, cards):
    commands.set_hold(cast.petra(), customer=CUSTOMER, reason="fraud by Quokka")
    asked = commands.ask_erasure(cast.petra(), customer=CUSTOMER, basis="objection", reason="letter of Quokka")
    assert [hold.reason for hold in privacy.all_holds(cora())] == [""]
    assert privacy.detail(cora(), asked.pk).erasure.reason == ""
    assert [session for session, _ in privacy.detail(cora(), asked.pk).sessions] == [cards]
    assert "Quokka" not in cast.browser(cora()).get(reverse("privacy")).content.decode()
    assert "Quokka" not in cast.browser(cora()).get(reverse("erasure", args=[asked.pk])).content.decode()
    assert [hold.reason for hold in privacy.all_holds(cast.paul())] == ["fraud by Quokka"]


def test_the_report_page_asks_the_other_teams(retails, cards):
    browser = cast.browser(cora())
    sent = {"who": CUSTOMER, "form": "page"}
    assert "Some parts are missing" in browser.post(reverse("privacy_change", args=["report"]), sent).content.decode()
    asked = browser.post(reverse("privacy_change", args=["propose-report"]), {"who": CUSTOMER, "reason": "a letter"})
    (proposal,) = Proposal.objects.all()
    assert asked["Location"] == reverse("proposal", args=[proposal.pk])
    made = Api(conrad()).post("/subjects/report/proposals", {"customer": CUSTOMER, "reason": "a letter"})
    assert (made.status_code, made.json()["kind"]) == (201, "report")


def test_reports_and_erasures_are_on_record_with_their_teams(retails, cards):
    told(cora())
    (entry,) = entries_of_staff("subject.reported")
    assert entry["teams"] == [str(cast.cards().pk)]
    assert AgentSession.objects.count() == 2


def test_a_profile_shows_what_ones_own_sessions_have_taught_and_no_more(bank):
    _, customer = agreed_customer()
    keep.prefer(cast.alice(), customer, "own_limit", {"minor": 90_000, "currency": "USD"})
    session = transferred()
    swept()
    conversation_commands.start(carla(), customer=CUSTOMER, agent="bank", channel="phone")
    found = profiles.profile(cast.charlie(), customer)
    assert found.outstanding
    assert [each for each in found.preferences if each.learned or each.setting or each.refused] == []
    assert [history.records for history in found.histories if history.records] == []
    assert [(each.by, each.note) for each in found.purposes if each.by or each.note] == []
    assert found.adapted == ()
    entries = profiles.profile_entries(cast.charlie(), customer)
    assert [(entry.actor, entry.data) for entry in entries] == [("", None)] * len(entries)
    page = cast.browser(cast.charlie()).get(reverse("customer", args=[customer])).content.decode()
    assert "Some values come from sessions that you may not read" in page
    own = seen_from(logs.read(logs.Subject(customer, cast.tenant().pk)), {str(session)})
    assert [record.source.session for record in own.histories["transfers"].records] == [str(session)]
    whole = profiles.profile(cast.alice(), customer)
    assert (whole.outstanding, whole.preferences != found.preferences) == (True, True)


def test_a_reader_of_all_of_a_customers_sessions_sees_the_whole_profile(bank):
    _, customer = agreed_customer()
    transferred()
    swept()
    found = profiles.profile(cast.alice(), customer)
    assert not found.outstanding
    assert any(each.learned for each in found.preferences)


# A profile that several teams share.

TWO_HUNDRED = {"minor": 20_000, "currency": "USD"}


@pytest.fixture
def shared(bank):
    """The customer of a session with retail, who has agreed to personalisation; then cards opens an empty one."""
    _, customer = agreed_customer()
    cast.alice(), cast.charlie()
    conversation_commands.start(carla(), customer=CUSTOMER, agent="bank", channel="phone")
    return customer


def profile_of(customer):
    return logs.read(logs.Subject(customer, cast.tenant().pk))


def settings(customer):
    return {name: each.value for name, each in profile_of(customer).settings.items()}


CHANGES = {
    "agree": lambda user, customer: keep.consent(user, customer, "analytics", True),
    "prefer": lambda user, customer: keep.prefer(user, customer, "own_limit", TWO_HUNDRED),
    "clear": lambda user, customer: keep.prefer(user, customer, "answers", None),
    "rate": lambda user, customer: keep.rate(user, customer, "answers", "brief", True),
    "refuse": lambda user, customer: keep.refuse(user, customer, "answers"),
    "allow": lambda user, customer: keep.refuse(user, customer, "answers", allowed=True),
    "correct": lambda user, customer: keep.correct(user, customer, "usual_source", "A-1001-C"),
    "forget": lambda user, customer: keep.forget(user, customer, "everything"),
}


@pytest.mark.parametrize("who", [cast.charlie, carla], ids=["staff", "caller"])
def test_one_team_changes_nothing_of_a_profile_that_another_team_shares(shared, who):
    before = profile_of(shared)
    for change in CHANGES.values():
        proposal = change(who(), shared)
        assert isinstance(proposal, Proposal)
        assert profile_of(shared) == before
        assert change(who(), shared).pk == proposal.pk


def test_a_change_of_a_shared_profile_takes_effect_when_the_other_team_agrees(shared):
    proposal = keep.prefer(carla(), shared, "own_limit", TWO_HUNDRED, key="k")
    assert proposals.answer_proposal(cast.alice(), proposal.pk, agrees=True).state == "carried_out"
    assert profile_of(shared).settings["own_limit"].by == "customer"
    entries = list(ledger.read_rows(logs.Subject(shared, cast.tenant().pk).log))
    assert ledger.open_row(entries[-1])[0].actor == carla().actor
    assert keep.prefer(carla(), shared, "own_limit", TWO_HUNDRED, key="k").repeated


def test_a_change_of_a_shared_profile_is_rejected_by_either_team(shared):
    proposal = keep.prefer(cast.alice(), shared, "own_limit", TWO_HUNDRED)
    assert proposals.answer_proposal(cast.charlie(), proposal.pk, agrees=False, reason="unknown").state == "rejected"
    assert settings(shared) == {}


def test_a_withdrawn_consent_takes_effect_at_once_in_every_team(shared):
    keep.consent(carla(), shared, "personalisation", False, note="said so")
    assert not profile_of(shared).consents["personalisation"].granted


def test_a_person_of_every_team_changes_a_shared_profile_alone(shared):
    people.grant_role(cast.alice(), cast.cards(), Role.SUPERVISOR, None)
    keep.prefer(cast.alice(), shared, "own_limit", TWO_HUNDRED)
    assert settings(shared) == {"own_limit": TWO_HUNDRED}


def test_a_change_that_no_profile_takes_is_refused_before_a_team_is_asked(shared):
    with pytest.raises(BadValue):
        keep.prefer(cast.charlie(), shared, "own_limit", "much")
    with pytest.raises(UnknownPreference):
        keep.rate(cast.charlie(), shared, "nothing_such", "brief", True)
    with pytest.raises(Invalid):
        keep.refuse(cast.charlie(), shared, "answers", value="x" * 5_000, allowed=True)
    assert not Proposal.objects.exists()


def test_a_change_that_has_become_impossible_is_outdated(shared):
    proposal = keep.prefer(cast.charlie(), shared, "answers", "brief")
    keep.consent(cast.alice(), shared, "personalisation", False)
    row = proposals.answer_proposal(cast.alice(), proposal.pk, agrees=True)
    assert (row.state, row.ended_why) == ("outdated", "no_consent")


def test_one_idempotency_key_proposes_one_change(shared):
    keep.prefer(carla(), shared, "answers", "brief", key="k")
    with pytest.raises(ledger.SameKeyOtherCommand):
        keep.prefer(carla(), shared, "answers", "full", key="k")


def test_the_pages_say_that_a_change_waits_and_never_for_which_team(shared):
    browser, theirs = cast.browser(cast.charlie()), cast.browser(cast.alice())
    sent = {"preference": "own_limit", "value": "200.00"}
    shown = browser.post(reverse("customer_change", args=[shared, "settings"]), sent, follow=True).content.decode()
    for text in (
        "Waiting for other teams that serve this customer",
        "Waiting for another team",
        "own limit: $200.00",
        "takes effect when they",
    ):
        assert text in shown
    (proposal,) = Proposal.objects.all()
    page = reverse("proposal", args=[proposal.pk])
    own = browser.get(page).content.decode()
    assert "1 other team has not answered" in own
    assert [hidden for hidden in ("Retail", "Alice", str(cast.retail().pk)) if hidden in shown + own] == []
    assert "Waiting for your team" in theirs.get(reverse("customer", args=[shared])).content.decode()
    assert "own limit: $200.00" in theirs.get(page).content.decode()
    assert "$200.00" not in theirs.get(reverse("proposals")).content.decode()
    theirs.post(reverse("proposal_answer", args=[proposal.pk, "agree"]))
    assert settings(shared) == {"own_limit": TWO_HUNDRED}


def test_the_api_answers_202_with_the_proposal_that_a_change_became(shared):
    made = Api(carla()).post(f"/customers/{shared}/profile/settings", {"preference": "answers", "value": "brief"})
    assert (made.status_code, made.json()["kind"], made.json()["customer"]) == (202, "profile", str(shared))
    assert made.json()["others_outstanding"] == 1
    assert Api(cast.charlie()).get(f"/customers/{shared}/profile").json()["needs_others"]
    answered = Api(cast.alice()).post(f"/proposals/{made.json()['id']}/answers", {"agrees": True})
    assert answered.json()["state"] == "carried_out"


def test_a_reader_of_what_a_proposal_changes_of_a_profile_is_on_record(shared):
    proposal = keep.prefer(carla(), shared, "answers", "brief")
    cast.browser(cast.alice()).get(reverse("proposals"))
    assert not read_by(cast.alice()).exists()
    cast.browser(cast.alice()).get(reverse("proposal", args=[proposal.pk]))
    (read,) = read_by(cast.alice())
    assert read.about == [shared]


def read_by(user):
    return AccessLine.objects.filter(reader=user.actor, kind="access.profile_read")


def test_what_is_proposed_of_a_profile_goes_with_its_customer(shared):
    proposal = keep.prefer(carla(), shared, "answers", "brief")
    store = next(each for each in STORES if each.name == "profile_proposals")
    assert store.count(shared) == 1
    store.sweep(shared)
    assert store.count(shared) == 0
    row = proposals.answer_proposal(cast.alice(), proposal.pk, agrees=True)
    assert (row.state, row.ended_why) == ("outdated", "erased")
    assert len(queries.proposal(cast.alice(), proposal.pk).changes) == 1


def test_an_agent_is_given_what_its_own_team_learned_and_what_the_customer_said(bank):
    _, customer = agreed_customer()
    keep.prefer(cast.cleo(), customer, "own_limit", TWO_HUNDRED)
    ours = transferred("$100.00")
    swept()
    theirs = conversation_commands.start(carla(), customer=CUSTOMER, agent="bank", channel="phone").session
    assert given(ours)["history"]["transfers"]
    assert given(theirs) == {"preferences": {"own_limit": {"value": TWO_HUNDRED, "from": "said"}}}


def given(session):
    """What the agent of a session is given of its customer."""
    return adaptation.adapting(session, states.load(session).state, stamp(now())).adaptation.view
