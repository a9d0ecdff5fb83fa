"""The pages of notifications: the bell, one's own notices and wishes, rules, endpoints with each delivery."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from agentstate.people import commands as people
from agentstate.people.roles import Role
from sessions.automation.notifications import endpoints, preferences, retries
from sessions.automation.notifications import queries as told
from sessions.models.notifications import NoticeDelivery, NoticeEndpoint, NoticeRule
from tests import cast
from tests.shell.bank_world import opened, say, work
from tests.shell.notice_world import SECRET, SUPERVISORS, Receiver, due, rule, send, tell
from tests.shell.pages import read

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>"
DEFINITION = {"on": {"kinds": ["session.opened"]}, "steps": [SUPERVISORS]}


def text(answer) -> str:
    return read(answer.content.decode()).text()


def endpoint(url: str = "https://hooks.example.com/desk") -> NoticeEndpoint:
    team = cast.retail()
    return endpoints.keep(team.tenant_id, team.pk, cast.adam().actor, "desk", url, "desk")


def test_the_bell_counts_what_is_new_and_so_does_the_title(bank):
    alice = cast.alice()
    rule(severity="critical")
    opened()
    tell()
    browser = cast.browser(alice)
    page = read(browser.get(reverse("live")).content.decode())
    assert "Notifications: 1 new" in page.text()
    assert next(page.all("title")).text().startswith("(1 new) ")
    fragment = browser.get(reverse("notices_bell")).content.decode()
    assert 'data-severity="critical"' in fragment
    assert "Session opened" in fragment


def test_a_notice_leads_to_what_it_is_about_and_is_read_by_that(bank):
    alice = cast.alice()
    rule()
    session = opened()
    tell()
    browser = cast.browser(alice)
    assert "Mark as read" in text(browser.get(reverse("notices")))
    row = NoticeDelivery.objects.get()
    answer = browser.post(reverse("notices_read"), {"notice": row.pk, "open": "1"})
    assert answer.url == reverse("session", args=[session])
    assert told.bell(alice).count == 0
    assert "No new notifications" in text(browser.get(reverse("notices") + "?view=unread"))


def test_all_are_marked_as_read_at_once_and_only_ones_own(bank):
    alice, bob = cast.alice(), cast.bob()
    rule(window=0)
    for n in range(1, 4):
        opened(f"C-100{n}")
    tell()
    cast.browser(alice).post(reverse("notices_read"), {"all": "1"})
    assert (told.bell(alice).count, told.bell(bob).count) == (0, 3)
    theirs = NoticeDelivery.objects.filter(person=bob.pk).first()
    cast.browser(alice).post(reverse("notices_read"), {"notice": theirs.pk})
    assert told.bell(bob).count == 3


def test_what_one_wants_is_kept_by_a_form_and_what_is_wrong_is_said_beside_it():
    alice = cast.alice()
    browser = cast.browser(alice)
    form = {"email": "alice@example.com", "in_app": "1", "start": "22:00", "end": "07:00", "zone": "Europe/Berlin"}
    assert browser.post(reverse("notice_wishes"), {**form, "days": ["1", "2"], "sound": "1"}).status_code == 302
    kept = preferences.of([alice.pk])[alice.pk]
    assert (kept.email, kept.off, kept.sound, kept.quiet.days) == ("alice@example.com", ("email",), True, (1, 2))
    wrong = browser.post(reverse("notice_wishes"), {**form, "email": HOSTILE, "days": ["1"]})
    assert wrong.status_code == 400
    assert HOSTILE.encode() not in wrong.content
    assert browser.post(reverse("notice_wishes"), {**form, "zone": "Mars/Olympus", "days": ["1"]}).status_code == 400


def test_a_rule_is_made_changed_and_switched_by_forms_alone():
    browser = cast.browser(cast.adam())
    made = browser.post(reverse("notice_rule_keep"), {"name": "look", "definition": json.dumps(DEFINITION)})
    row = NoticeRule.objects.get()
    assert made.url == reverse("notice_rule", args=[row.pk])
    changed = {"rule": row.pk, "name": "look", "seen": "1", "definition": json.dumps({**DEFINITION, "window": 1})}
    assert browser.post(reverse("notice_rule_keep"), changed).status_code == 302
    browser.post(reverse("notice_rule_switch", args=[row.pk]), {"on": "0"})
    page = text(browser.get(reverse("notice_rule", args=[row.pk])))
    assert "Off." in page
    assert "at once: role supervisor, in the app" in page
    assert "look" in text(browser.get(reverse("notice_rules")))


def test_what_is_refused_is_told_beside_what_was_typed():
    browser = cast.browser(cast.adam())
    for wrong in ("{", '{"on": {}, "steps": []}', json.dumps({**DEFINITION, "when": HOSTILE})):
        answer = browser.post(reverse("notice_rule_keep"), {"name": "look", "definition": wrong})
        assert answer.status_code == 400
        assert HOSTILE.encode() not in answer.content
    form = {"name": "desk", "url": f"ftp://{HOSTILE}", "secret": "desk"}
    answer = browser.post(reverse("notice_endpoint_keep"), form)
    assert answer.status_code == 400
    assert HOSTILE.encode() not in answer.content


def test_a_team_takes_the_shipped_rules_and_sets_its_quiet_hours_by_forms():
    browser = cast.browser(cast.adam())
    browser.post(reverse("notice_team", args=["shipped"]), {"team": "retail"})
    assert "tier-three" in text(browser.get(reverse("notice_rules")))
    days = {"days": ["6", "7"]}
    browser.post(reverse("notice_team", args=["quiet"]), {"team": "retail", "start": "00:00", "end": "23:59", **days})
    assert preferences.of_team(cast.retail().pk).days == (6, 7)
    browser.post(reverse("notice_team", args=["quiet"]), {"team": "retail", "start": "", "end": ""})
    assert preferences.of_team(cast.retail().pk) is None


def test_the_history_of_a_rule_says_what_became_of_each_and_why(bank):
    cast.alice()
    row = rule(when="session.agent == 'other'")
    opened()
    tell()
    page = text(cast.browser(cast.adam()).get(reverse("notice_rule", args=[row.pk])))
    assert "the condition was false" in page


def test_the_page_of_an_endpoint_shows_each_try_and_sends_again(bank, settings, monkeypatch):
    settings.OUTSIDE_NETWORKS, settings.OUTSIDE_SECRETS = ["127.0.0.1"], "environment"
    monkeypatch.setenv("TOOL_SECRET_DESK", SECRET)
    receiver = Receiver()
    row = endpoint(receiver.url)
    rule(steps=[{"by": ["webhook:desk"]}])
    opened()
    tell()
    receiver.status, receiver.body = 500, b"out of paper"
    for _ in retries.WEBHOOK:
        due()
        send()
    due()
    send()
    browser = cast.browser(cast.adam())

    def page() -> str:
        return text(browser.get(reverse("notice_endpoint", args=[row.pk])))

    tries = len(receiver.requests)
    assert tries == len(retries.WEBHOOK) + 1
    assert (page().count("status 500"), page().count("Answered: out of paper")) == (tries, tries)
    receiver.status, receiver.body = 200, b"ok"
    browser.post(reverse("notice_endpoint_act", args=[row.pk, "again"]))
    send()
    assert (NoticeDelivery.objects.get().state, len(receiver.requests)) == ("sent", tries + 1)
    assert len({headers["webhook-id"] for headers, _ in receiver.requests}) == 1
    assert page().count("status 200") == 1
    browser.post(reverse("notice_endpoint_act", args=[row.pk, "test"]))
    send()
    assert receiver.genuine()["type"] != "session.opened"
    assert page().count("status 200") == 2
    browser.post(reverse("notice_endpoint_act", args=[row.pk, "switch"]), {"on": "0"})
    assert "Off: by hand." in page()
    assert "desk" in text(browser.get(reverse("notice_endpoints")))
    receiver.stop()


@pytest.mark.parametrize("person", [cast.alice, cast.vera, cast.cleo, cast.anna, cast.charlie])
def test_only_who_configures_the_team_sees_or_changes_rules_and_endpoints(person):
    row, out = rule(), endpoint()
    browser = cast.browser(person())
    answers = [
        browser.get(reverse("notice_rules")),
        browser.get(reverse("notice_rule", args=[row.pk])),
        browser.get(reverse("notice_endpoints")),
        browser.get(reverse("notice_endpoint", args=[out.pk])),
        browser.post(reverse("notice_rule_switch", args=[row.pk]), {"on": "0"}),
        browser.post(reverse("notice_rule_keep"), {"name": "b", "definition": json.dumps(DEFINITION)}),
        browser.post(reverse("notice_team", args=["shipped"]), {"team": "retail"}),
        browser.post(reverse("notice_team", args=["quiet"]), {"team": "retail"}),
        browser.post(reverse("notice_endpoint_keep"), {"name": "b", "url": "https://example.com/", "secret": "b"}),
        *(browser.post(reverse("notice_endpoint_act", args=[out.pk, act])) for act in ("switch", "test", "again")),
    ]
    assert {answer.status_code for answer in answers} <= {403, 404}
    assert (NoticeRule.objects.count(), NoticeEndpoint.objects.count(), NoticeDelivery.objects.count()) == (1, 1, 0)


def test_a_notice_of_who_asks_for_a_person_leads_to_a_session_that_says_since_when(bank):
    bob = cast.bob()
    rule(kinds=("session.human_requested",))
    session = opened()
    work()
    say(session, "Let me speak to a real person, please.")
    tell()
    row = NoticeDelivery.objects.get(person=bob.pk)
    page = cast.browser(bob).post(reverse("notices_read"), {"notice": row.pk, "open": "1"}, follow=True)
    assert page.redirect_chain[0][0] == reverse("session", args=[session])
    assert "asks for a person" in text(page)


def test_shipped_rules_are_offered_while_one_of_ones_teams_lacks_some():
    adam = cast.adam()
    people.grant_role(adam, cast.cards(), Role.ADMIN, None)
    browser = cast.browser(adam)
    for team in ("retail", "cards"):
        assert "Add default rules" in text(browser.get(reverse("notice_rules")))
        browser.post(reverse("notice_team", args=["shipped"]), {"team": team})
    assert "Add default rules" not in text(browser.get(reverse("notice_rules")))
