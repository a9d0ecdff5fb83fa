"""How far a stop reaches (H9): one's own teams at once; the other teams get an alert and stop by themselves."""

from __future__ import annotations

import pytest
from django.urls import reverse

from agentstate.people import commands as people
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Role
from sessions.approvals import commands as approvals_commands
from sessions.core import stops
from sessions.models.alerts import Alert
from sessions.stops import commands as stops_commands
from sessions.stops.commands import AlreadyStopped, UnknownStop
from sessions.stops.queries import stops_of
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import work
from tests.shell.erasure_world import entries_of_staff
from tests.shell.pages import Node, read
from tests.shell.test_first_transfer import asks_for_a_transfer, pending

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])


@pytest.fixture(autouse=True)
def _nothing_remembered():
    cast.retail(), cast.cards()
    stops.forget()
    yield
    stops.forget()


def ines() -> User:
    """The incident manager of the organization; a member of the team cards."""
    return cast.person("ines", Role.INCIDENT_MANAGER, cast.cards())


def every_team() -> set[str]:
    return {str(team) for team in Team.objects.values_list("pk", flat=True)}


def open_alerts(team) -> list[tuple[str, str]]:
    rows = Alert.objects.filter(team=team, session=None).exclude(state="closed").order_by("raised_at")
    return [(row.name, row.about) for row in rows]


def stop_forms(page: Node) -> list[Node]:
    return [form for form in page.all("form") if form.attrs.get("action") == reverse("stops")]


@pytest.mark.parametrize(("scope", "value"), [("everything", ""), ("agent", "bank"), ("tool", "transfer")])
def test_a_stop_by_another_team_does_not_reach_this_team(bank, scope, value):
    session = asks_for_a_transfer()
    before = len(bank.transfers("C-1001"))
    approvals_commands.decide(cast.alice(), pending(session).id, approvals_commands.Decision("approve"))
    stops_commands.stop(cast.charlie(), scope, value, reason="drill")
    work()
    assert len(bank.transfers("C-1001")) == before + 1
    assert [line.team for line in stops.in_force(cast.tenant().pk)] == [cast.cards().pk]


def test_the_other_team_gets_an_alert_and_stops_with_its_own_button(bank):
    stops_commands.stop(cast.charlie(), "tool", "transfer", reason="wrong amounts")
    assert (open_alerts(cast.cards()), open_alerts(cast.retail())) == ([], [("stopped-elsewhere", "tool:transfer")])
    browser = cast.browser(cast.alice())
    page = read(browser.get(reverse("alerts")).content)
    (form,) = stop_forms(page)
    told = page.id("alerts").text()
    assert "Charlie" in told
    assert "wrong amounts" in told
    assert "Card services" in told
    sent = {field.attrs["name"]: field.attrs["value"] for field in form.all("input")}
    assert browser.post(form.attrs["action"], sent).status_code == 302
    assert {line.team for line in stops.in_force(cast.tenant().pk)} == {cast.cards().pk, cast.retail().pk}
    assert open_alerts(cast.retail()) == []


def test_the_alert_ends_when_the_team_that_stopped_lifts_its_stop():
    (row,) = stops_commands.stop(cast.charlie(), "everything", reason="drill")
    assert open_alerts(cast.retail()) == [("stopped-elsewhere", "everything:")]
    stops_commands.lift(cast.charlie(), row.pk, "over")
    assert open_alerts(cast.retail()) == []


def test_a_viewer_sees_the_alert_without_a_button():
    stops_commands.stop(cast.charlie(), "everything", reason="drill")
    page = read(cast.browser(cast.vera()).get(reverse("alerts")).content)
    assert "drill" in page.id("alerts").text()
    assert stop_forms(page) == []


def test_a_stop_in_every_team_needs_its_own_permission():
    for user in (cast.alice(), cast.charlie(), cast.adam()):
        with pytest.raises(PermissionDenied, match="stop_everywhere"):
            stops_commands.stop(user, "everything", reason="drill", everywhere=True)
    assert stops.in_force(cast.tenant().pk) == ()


def test_a_stop_in_every_team_works_at_once_and_each_team_lifts_its_own(bank):
    session = asks_for_a_transfer()
    approvals_commands.decide(cast.alice(), pending(session).id, approvals_commands.Decision("approve"))
    before = len(bank.transfers("C-1001"))
    stops_commands.stop(ines(), "everything", reason="wrong amounts", everywhere=True)
    work()
    assert len(bank.transfers("C-1001")) == before
    assert open_alerts(cast.retail()) == [("stopped-everywhere", "everything:")]
    told = read(cast.browser(cast.alice()).get(reverse("alerts")).content).id("alerts").text()
    assert "Ines" in told
    assert "wrong amounts" in told
    mine = {row.team_id: row for row in stops_of(cast.alice())}
    assert set(mine) == {cast.retail().pk}
    with pytest.raises(UnknownStop):
        stops_commands.lift(ines(), mine[cast.retail().pk].pk, "over")
    stops_commands.lift(cast.bob(), mine[cast.retail().pk].pk, "ours are right")
    work()
    assert len(bank.transfers("C-1001")) == before + 1
    assert {str(line.team) for line in stops.in_force(cast.tenant().pk)} == every_team() - {str(cast.retail().pk)}
    assert open_alerts(cast.retail()) == []


def test_who_may_stop_in_two_teams_stops_in_both_or_in_the_one_they_name():
    people.grant_role(cast.alice(), cast.cards(), Role.SUPERVISOR, None)
    (one,) = stops_commands.stop(cast.alice(), "tool", "transfer", reason="drill", teams=["cards"])
    assert one.team == cast.cards()
    (other,) = stops_commands.stop(cast.alice(), "tool", "transfer", reason="drill")
    assert other.team == cast.retail()
    with pytest.raises(AlreadyStopped):
        stops_commands.stop(cast.alice(), "tool", "transfer", reason="drill")
    assert len(stops_commands.stop(cast.alice(), "everything", reason="drill")) == 2
    with pytest.raises(PermissionDenied):
        stops_commands.stop(cast.charlie(), "tool", "transfer", reason="drill", teams=["retail"])


def test_the_stops_of_other_teams_are_on_no_page_and_in_no_list():
    stops_commands.stop(cast.charlie(), "team", "cards", reason="of no concern to retail")
    assert stops_of(cast.alice()) == []
    assert open_alerts(cast.retail()) == []
    page = cast.browser(cast.alice()).get(reverse("live")).content.decode()
    assert "of no concern to retail" not in page


def test_each_stop_is_one_entry_of_the_staff_log_that_names_its_teams():
    stops_commands.stop(ines(), "everything", reason="drill", everywhere=True)
    (entry,) = entries_of_staff("stop.set")
    assert set(entry["teams"]) == every_team()


def test_over_the_api_a_stop_lists_the_teams_it_reached():
    api = Api(ines())
    made = api.post("/stops", {"scope": "everything", "reason": "drill", "everywhere": True})
    assert made.status_code == 201
    assert {row["team"] for row in made.json()["stops"]} == every_team()
    refused = Api(cast.charlie()).post("/stops", {"scope": "agent", "value": "bank", "reason": "x", "everywhere": True})
    assert (refused.status_code, refused.json()["permission"]) == (403, "stop_everywhere")


def test_the_page_offers_every_team_only_to_who_may():
    assert "everywhere" not in cast.browser(cast.alice()).get(reverse("stops")).content.decode()
    browser = cast.browser(ines())
    assert 'name="everywhere"' in browser.get(reverse("stops")).content.decode()
    sent = {"what": "everything", "reason": "drill", "sure": "yes", "everywhere": "yes"}
    assert browser.post(reverse("stops"), sent).status_code == 302
    assert {str(line.team) for line in stops.in_force(cast.tenant().pk)} == every_team()
