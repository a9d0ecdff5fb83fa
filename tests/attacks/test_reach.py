"""Attacks on the reach of a team: what one team's people do to another team's sessions and customers."""

from __future__ import annotations

import json
import time

import pytest

from tests.attacks.client import Person, Talk, eventually
from tests.attacks.stack import Stack

SECRET = "my mother's name is Wisteria"


def spoken(stack: Stack, agent: str = "hunt") -> Talk:
    """A conversation with retail that is over; the customer has said something of their own."""
    talk = stack.talk(agent=agent)
    talk.say(SECRET).must()
    talk.rests()
    talk.end().must()
    eventually(lambda: talk.view["ended_at"], "it is over")
    return talk


def words_stand(talk: Talk) -> bool:
    """Whether retail still reads what was said."""
    return SECRET in json.dumps([each["data"] for each in talk.entries()])


# C3: retention.


@pytest.mark.alone
def test_c3_an_admin_of_one_team_does_not_delete_the_words_of_another(stack: Stack):
    keeper, intruder, talk = stack.people("retail:admin"), stack.people("cards:admin"), spoken(stack)
    ours = {
        "classes": [{"name": "long", "days": 3650}],
        "rules": [{"retention": "long", "team": keeper.teams["retail"]}],
    }
    keeper.put("/retention", **ours)
    intruder.put("/retention", classes=[{"name": "none", "days": 0}], rules=[{"retention": "none"}])
    stack.at_the_machine("task", "prune")
    assert words_stand(talk), "an admin of cards deleted what was said to retail"


@pytest.mark.alone
def test_c3_a_privacy_person_of_one_team_does_not_shorten_the_term_of_another(stack: Stack):
    keeper, intruder, talk = stack.people("retail:privacy"), stack.people("cards:privacy"), spoken(stack)
    long = {"retention": "long", "team": keeper.teams["retail"]}
    keeper.put("/retention", classes=[{"name": "long", "days": 3650}], rules=[long])
    intruder.put("/retention", classes=[{"name": "long", "days": 0}], rules=[long])
    stack.at_the_machine("task", "prune")
    assert words_stand(talk), "the class that retail's rule names was made shorter by cards"


@pytest.mark.alone
def test_c3_one_person_does_not_delete_the_words_of_their_own_team_at_once(stack: Stack):
    keeper, talk = stack.people("retail:privacy"), spoken(stack)
    rule = {"retention": "none", "team": keeper.teams["retail"]}
    keeper.put("/retention", classes=[{"name": "none", "days": 0}], rules=[rule])
    stack.at_the_machine("task", "prune")
    assert words_stand(talk), "no floor, no second person, no day's delay"


# H6, L6: a session opened for another team's customer.


def opened_by_cards(stack: Stack, talk: Talk) -> Talk:
    """A session that a caller of cards opens for retail's customer."""
    return stack.talk(agent=talk.view["agent"], customer=talk.customer, caller=stack.people("cards:caller"))


def test_h6_a_report_holds_nothing_of_a_team_that_was_not_asked(stack: Stack):
    talk = spoken(stack)
    opened_by_cards(stack, talk)
    report = stack.people("cards:privacy").post("/subjects/report", customer=talk.customer["id"])
    assert SECRET not in report.text, "cards reads what was said to retail"


def test_h6_an_erasure_by_one_team_leaves_what_another_team_keeps(stack: Stack):
    talk = spoken(stack)
    opened_by_cards(stack, talk).end()
    first, second = stack.people("cards:privacy"), stack.people("cards:privacy")
    asked = first.post("/erasures", customer=talk.customer["id"], basis="consent_withdrawn", reason="letter")
    if asked.ok:
        second.post(f"/erasures/{asked.body['id']}", state="approved")
        eventually(lambda: _ruled(second, asked.body["id"]) or not words_stand(talk), "it is ruled")
        still_stands(talk)


def _ruled(person: Person, erasure: str) -> bool:
    """Whether the erasure has gone as far as it goes without another team."""
    body = person.get(f"/erasures/{erasure}").body
    return bool(body) and body["erasure"]["state"] not in ("approved", "running")


def still_stands(talk: Talk) -> None:
    """Retail's words stand; looked at until a task of erasure would have run."""
    began = time.monotonic()
    eventually(lambda: not words_stand(talk) or time.monotonic() - began > 4, "a while is over")
    assert words_stand(talk), "cards erased what was said to retail, and retail was not asked"


def test_h6_an_erasure_by_a_session_of_the_other_team_leaves_it_too(stack: Stack):
    talk = spoken(stack)
    theirs = opened_by_cards(stack, talk)
    theirs.end()
    first, second = stack.people("cards:privacy"), stack.people("cards:privacy")
    asked = first.post("/erasures", session=theirs.id, basis="consent_withdrawn", reason="letter")
    if asked.ok:
        second.post(f"/erasures/{asked.body['id']}", state="approved")
        still_stands(talk)


def test_l6_a_reference_opens_no_profile_of_another_team(stack: Stack):
    talk, keeper = spoken(stack, "bank"), stack.supervisor()
    profile = talk.view["customer"]
    keeper.post(f"/customers/{profile}/profile/consent", purpose="personalisation", agreed=True).must()
    theirs = opened_by_cards(stack, talk)
    intruder = stack.people("cards:supervisor")
    seen = intruder.get(f"/sessions/{theirs.id}").must()["customer"]
    read = [
        intruder.get(f"/customers/{each}/profile{part}").text for each in (profile, seen) for part in ("", "/entries")
    ]
    assert talk.id not in "".join(read), "the profile names sessions of retail"


def test_l6_a_reference_opens_no_consent_of_another_team(stack: Stack):
    talk, keeper = spoken(stack, "bank"), stack.supervisor()
    keeper.post(f"/customers/{talk.view['customer']}/profile/consent", purpose="personalisation", agreed=True).must()
    theirs = opened_by_cards(stack, talk)
    intruder = stack.people("cards:supervisor")
    seen = intruder.get(f"/sessions/{theirs.id}").must()["customer"]
    entries = intruder.get(f"/customers/{seen}/profile/entries")
    assert keeper.id not in entries.text, "cards reads who of retail recorded what"


def test_l6_a_reference_lets_nobody_change_what_another_team_knows(stack: Stack):
    talk = spoken(stack, "bank")
    profile = talk.view["customer"]
    opened_by_cards(stack, talk)
    reader = stack.people("retail:viewer", "cards:viewer")
    before = _counts(reader, profile)
    for intruder in (stack.people("cards:supervisor"), stack.people("cards:caller")):
        intruder.post(f"/customers/{profile}/profile/settings", preference="careful_with_payees", value=True)
        assert _counts(reader, profile) == before, "cards changed what retail's agents go by"


def test_l6_a_reference_lets_nobody_forget_what_another_team_knows(stack: Stack):
    talk, keeper = spoken(stack, "bank"), stack.supervisor()
    profile = talk.view["customer"]
    keeper.post(f"/customers/{profile}/profile/settings", preference="careful_with_payees", value=True).must()
    opened_by_cards(stack, talk)
    reader = stack.people("retail:viewer", "cards:viewer")
    before = _counts(reader, profile)
    assert before["careful_with_payees"] is True
    for intruder in (stack.people("cards:supervisor"), stack.people("cards:caller")):
        intruder.post(f"/customers/{profile}/profile/forget", part="everything")
        intruder.post(f"/customers/{profile}/profile/settings", preference="careful_with_payees", value=None)
        assert _counts(reader, profile) == before, "cards made retail's agents careless"


def _counts(person: Person, profile: str) -> dict[str, object]:
    """By preference the value that the customer's agents go by, as this person reads it."""
    found = person.get(f"/customers/{profile}/profile").must()["preferences"]
    return {each["name"]: (each["setting"] or {}).get("value") for each in found}


# H9: stops.


def retail_goes_on(stack: Stack, agent: str, tool: str = "note") -> None:
    """An agent of retail does what nobody of retail has stopped."""
    talk = stack.talk(agent=agent)
    talk.wants({"_tool": tool, "subject": talk.id})
    eventually(talk.effects, lambda: f"retail goes on: {talk.view}", 12)


@pytest.mark.alone
def test_h9_a_supervisor_of_one_team_does_not_stop_everything(stack: Stack):
    intruder = stack.people("cards:supervisor")
    intruder.post("/stops", scope="everything", reason="drill")
    try:
        retail_goes_on(stack, "hunt")
    finally:
        lifted(intruder)


def lifted(person: Person) -> None:
    """Every stop that this person may lift."""
    for each in person.get("/stops").must()["stops"]:
        if not each["lifted_at"]:
            person.post(f"/stops/{each['id']}/lift", why="over")


def test_h9_a_supervisor_of_one_team_does_not_stop_anothers_agent(stack: Stack):
    stack.people("cards:supervisor").post("/stops", scope="agent", value="hunt-10", reason="drill")
    retail_goes_on(stack, "hunt-10")


def test_h9_one_team_does_not_lift_for_another(stack: Stack):
    keeper, intruder, talk = stack.supervisor(), stack.people("cards:supervisor"), stack.talk(agent="hunt-11")
    keeper.post("/stops", scope="agent", value="hunt-11", reason="drill").must()
    lifted_of(intruder, "hunt-11")
    talk.wants({"_tool": "note", "subject": talk.id})
    found = [each for each in keeper.get("/stops").must()["stops"] if each["value"] == "hunt-11"]
    assert any(not each["lifted_at"] for each in found), "cards lifted what retail has stopped"
    assert talk.effects() == []


def lifted_of(person: Person, value: str) -> None:
    """The stops of that value that this person is shown are lifted, as far as they may be."""
    for each in person.get("/stops").must()["stops"]:
        if each["value"] == value:
            person.post(f"/stops/{each['id']}/lift", why="over")


# L2: what concerns other teams.


def retention_shown(stack: Stack, person: Person) -> str:
    """What somebody reads of retention once retail has a rule of its own."""
    keeper = stack.people("retail:admin")
    before = keeper.get("/retention").must()
    name = f"kept-{person.name}"
    rule = {"retention": name, "team": keeper.teams["retail"]}
    classes = [*before["classes"], {"name": name, "days": 3650}]
    keeper.put("/retention", classes=classes, rules=[rule, *before["rules"]])
    return person.get("/retention").text


@pytest.mark.alone
def test_l2_the_retention_of_a_team_is_shown_to_its_own_admins(stack: Stack):
    admin = stack.people("cards:admin")
    shown = retention_shown(stack, admin)
    assert admin.teams["retail"] not in shown, "an admin of cards reads retail's rules"


@pytest.mark.alone
def test_l2_the_retention_of_a_team_is_shown_to_its_own_privacy_people(stack: Stack):
    person = stack.people("cards:privacy")
    assert person.teams["retail"] not in retention_shown(stack, person), "privacy of cards reads retail's rules"


def test_l2_staff_entries_about_another_team_are_not_shown(stack: Stack):
    keeper, admin = stack.supervisor(), stack.people("cards:admin")
    keeper.post("/stops", scope="agent", value="hunt-12", reason="only retail knows why").must()
    lifted_of(keeper, "hunt-12")
    assert "only retail knows why" not in admin.get("/audit/staff?limit=200").text
