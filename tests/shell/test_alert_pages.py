"""The pages and operations of alerts, their rules, and service levels."""

from __future__ import annotations

import csv
import io
import json
from uuid import UUID

import pytest
from django.urls import reverse

from agentstate.ids import new_id
from sessions.automation.alert_rules import dry_runs as alert_trials
from sessions.automation.alerts import commands as handling
from sessions.automation.alerts import repository as keeping
from sessions.automation.alerts import session_alerts
from sessions.automation.service_levels import queries as service_levels
from sessions.conversation import commands as conversation_commands
from sessions.core import session_lines
from sessions.events import team_alerts
from sessions.models.alerts import Alert, TeamRule
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import opened, say
from tests.shell.pages import read
from tests.shell.test_alert_watching import HELLO, look, on

pytestmark = pytest.mark.django_db(transaction=True)
RULE = session_alerts.Raising("", "asks-for-a-person", 1, "critical", ("owner", "role:supervisor"))
SECRET = "Zebrafinch"


def raised(text: str = f"My cat is called {SECRET}") -> tuple[UUID, UUID]:
    session, alert = opened(), new_id()
    conversation_commands.say(cast.cleo(), session, text)
    assert session_alerts.raise_alert(session, alert, RULE, "wants_person")
    return session, alert


def page(name: str, user=None, *args: object, **query: str):
    return cast.browser(user or cast.alice()).get(reverse(name, args=args), query)


def text_of(answer) -> str:
    return read(answer.content).text()


def test_the_page_tells_of_each_alert_what_where_since_when_and_whose_without_the_customers_words():
    session, _ = raised()
    shown = text_of(page("alerts"))
    for words in (
        "Critical",
        "Asks for a person",
        session.hex[-6:].upper(),
        "Unassigned",
        "Acknowledge",
        "Take over",
    ):
        assert words in shown
    assert SECRET not in shown
    assert "Jane" not in shown


def test_the_session_says_that_there_is_an_alert():
    session, _ = raised()
    assert "1 alert" in text_of(page("session", None, session))


def test_the_badge_counts_what_the_page_lists_for_me():
    raised()
    assert "For you 1" in text_of(page("alerts"))
    assert 'id="alert-badge">1' in page("live").content.decode()
    assert 'id="alert-badge">1' not in page("live", cast.vera()).content.decode()


def test_an_alert_is_acknowledged_taken_and_closed_without_script():
    _, alert = raised()
    alice, bob = cast.browser(cast.alice()), cast.browser(cast.bob())
    assert alice.post(reverse("alert_act", args=[alert, "acknowledge"])).status_code == 302
    assert "Alice" in text_of(bob.get(reverse("alerts")))
    late = bob.post(reverse("alert_act", args=[alert, "acknowledge"]))
    assert (late.status_code, "another's by now" in text_of(late)) == (409, True)
    assert bob.post(reverse("alert_act", args=[alert, "take"]), {"holder": cast.alice().actor}).status_code == 302
    nothing = bob.post(reverse("alert_act", args=[alert, "close"]), {"reason": " "})
    assert (nothing.status_code, "say why it is over" in text_of(nothing)) == (422, True)
    assert bob.post(reverse("alert_act", args=[alert, "close"]), {"reason": "called back"}).status_code == 302
    assert Alert.objects.get(pk=alert).closed_by == cast.bob().actor
    assert "No open alerts" in text_of(bob.get(reverse("alerts")))
    assert "Asks for a person" in text_of(bob.get(reverse("alerts"), {"view": "closed"}))


def test_who_may_not_handle_alerts_sees_them_and_is_offered_nothing():
    _, alert = raised()
    assert "Acknowledge" not in text_of(page("alerts", cast.vera()))
    refused = cast.browser(cast.vera()).post(reverse("alert_act", args=[alert, "acknowledge"]))
    assert refused.status_code == 403
    assert cast.browser(cast.charlie()).post(reverse("alert_act", args=[alert, "close"])).status_code == 404


def test_an_alert_of_the_team_itself_is_on_the_page_of_who_sets_it_up():
    team = cast.retail()
    team_alerts.raise_for_team(team.tenant_id, team.pk, team_alerts.TeamAlert("undeliverable", "endpoint-7"))
    shown = text_of(page("alerts", cast.adam()))
    assert "Undeliverable" in shown
    assert "Acknowledge" in shown


def test_a_team_sees_what_is_shipped_and_an_admin_changes_switches_and_adds():
    shown = text_of(page("alert_rules"))
    assert "asks-for-a-person" in shown
    assert "New rule" not in shown
    adam = cast.browser(cast.adam())
    made = adam.post(reverse("alert_rule_keep"), {"what": "rule", "name": "cats", "definition": json.dumps(HELLO)})
    row = TeamRule.objects.get(name="cats")
    assert made["Location"] == reverse("alert_rule", args=[row.pk])
    changed = {"rule": row.pk, "what": "rule", "name": "cats", "seen": "1", "definition": json.dumps(HELLO)}
    assert adam.post(reverse("alert_rule_keep"), changed).status_code == 302
    outdated = adam.post(reverse("alert_rule_keep"), changed)
    assert (outdated.status_code, "it is of version 2" in text_of(outdated)) == (409, True)
    adam.post(reverse("alert_rule_switch", args=[row.pk]), {"on": "0"})
    assert "Off." in text_of(adam.get(reverse("alert_rule", args=[row.pk])))


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "{}",
        '{"on": {"entry": {"kinds": ["alert.raised"]}}}',
        '{"on": {"loop": {}}, "x": 1}',
        '{"on": {"phrase": {"words": ["a\\u0000b"]}}}',
        "[" * 500,
    ],
)
def test_a_hostile_rule_is_refused_beside_what_was_typed(bad):
    sent = {"what": "rule", "name": "bad", "definition": bad}
    answer = cast.browser(cast.adam()).post(reverse("alert_rule_keep"), sent)
    assert answer.status_code == 400
    assert not TeamRule.objects.filter(name="bad").exists()


def test_only_who_configures_the_team_changes_rules():
    sent = {"what": "rule", "name": "mine", "definition": json.dumps(HELLO)}
    assert cast.browser(cast.alice()).post(reverse("alert_rule_keep"), sent).status_code == 403
    row = on("complaint", HELLO)
    assert cast.browser(cast.alice()).post(reverse("alert_rule_switch", args=[row.pk]), {"on": "0"}).status_code == 403


def test_a_rule_tried_on_the_last_days_says_what_it_would_have_raised_and_raises_nothing():
    for _ in range(2):
        session = opened()
        say(session, "I have a complaint")
        say(session, "a complaint, I said")
    opened()
    found = alert_trials.trial(cast.adam(), HELLO, 7)
    assert (found.alerts, found.in_sessions, found.sessions) == (2, 2, 3)
    assert Alert.objects.count() == 0
    sent = {"what": "rule", "name": "", "definition": json.dumps(HELLO), "try": "7"}
    shown = text_of(cast.browser(cast.adam()).post(reverse("alert_rule_keep"), sent))
    assert "would have raised 2 alerts in 2 of 3 sessions" in " ".join(shown.split())


def test_a_trial_agrees_with_what_was_raised():
    on("complaint", HELLO)
    session = opened()
    for text in ("a complaint", "hello", "another complaint"):
        say(session, text)
        look()
    assert alert_trials.trial(cast.adam(), HELLO, 1).alerts == Alert.objects.count() == 1


def test_figures_of_service_levels_and_alerts_are_on_the_page_in_json_and_in_a_table():
    on("first", {"what": "first_response", "seconds": 60}, "target")
    on("complaint", HELLO)
    session = opened()
    say(session, "I have a complaint")
    look()
    handling.acknowledge_alert(cast.alice(), Alert.objects.get().pk)
    found = service_levels.figures(cast.alice())
    (level,), (alert,) = found.levels, found.alerts
    assert (level.target, level.met, level.share) == ("first", 1, 1000)
    assert (alert.rule, alert.raised, alert.acknowledged) == ("complaint", 1, 1)
    assert "100.0 %" in text_of(page("levels"))
    body = Api(cast.alice()).get("/service-levels").json()
    assert (body["levels"][0]["met"], body["alerts"][0]["acknowledged"]) == (1, 1)
    (line,) = csv.DictReader(io.StringIO(Api(cast.alice()).get("/service-levels/levels.csv").content.decode()))
    assert (line["target"], line["met"]) == ("first", "1")
    assert page("levels_table", None, "alerts").content.decode().count("complaint") == 1
    assert service_levels.figures(cast.charlie()).levels == []


def test_the_wall_shows_the_service_level_that_is_missed_first():
    on("first", {"what": "first_response", "seconds": 600}, "target")
    on("settle", {"what": "resolution", "seconds": 60}, "target")
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello?")
    look()
    (line,) = session_lines.live_sessions(cast.alice())
    assert (line.missed_at - line.measured_from).total_seconds() == 60
    assert f'data-until="{line.missed_at.isoformat()}"' in page("live").content.decode()


@pytest.mark.parametrize(
    "query",
    [
        "since=x",
        "until=9999-12-31",
        "until=0001-01-01",
        "since=2026-02-30",
        "since=2020-01-01&until=2026-01-01",
        "until=1",
    ],
)
def test_days_that_are_none_are_refused(query):
    answer = Api(cast.alice()).get(f"/service-levels?{query}")
    assert answer.status_code == 400


def test_rules_are_kept_switched_and_tried_over_the_api():
    adam = Api(cast.adam())
    made = adam.post("/alert-rules", {"what": "rule", "name": "cats", "definition": HELLO})
    assert (made.status_code, made.json()["version"], made.json()["definition"]["cool_down"]) == (201, 1, 0)
    off = adam.post(f"/alert-rules/{made.json()['id']}/switch", {"on": False})
    assert off.json()["on"] is False
    assert adam.post("/alert-rules/dry-run", {"definition": HELLO}).json()["alerts"] == 0
    listed = Api(cast.alice()).get("/alert-rules?what=rule").json()["rules"]
    assert "cats" in [each["name"] for each in listed]
    assert Api(cast.alice()).post("/alert-rules", {"what": "rule", "name": "x", "definition": HELLO}).status_code == 403
    assert keeping.setting_of(cast.retail().pk).rules
