"""Alerts as rows: of sessions they are the fold of the log, of the team the staff log has them; people handle both."""

from __future__ import annotations

from uuid import UUID

import pytest

from agentstate.engine.alerts import Onward
from agentstate.engine.decide.alerts import AlertOver, TooManyAlerts
from agentstate.engine.decide.refusals import HasChanged
from agentstate.ids import new_id
from agentstate.people.permissions import PermissionDenied
from audit.server_clock import now
from sessions.auditing import queries as auditing
from sessions.automation.alerts import commands, escalation, queries, session_alerts
from sessions.conversation import commands as conversation
from sessions.events import team_alerts
from sessions.events.team_alerts import TeamAlert
from sessions.models.alerts import Alert
from sessions.privacy import commands as erasure
from sessions.supervision import commands as supervision
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import kinds, opened, state

pytestmark = pytest.mark.django_db(transaction=True)
RULE = session_alerts.Raising("", "loop", 1, "warning", ("role:supervisor",), (Onward(0, ("role:admin",)),))


def raised(session: UUID, about: str = "") -> UUID:
    alert = new_id()
    assert session_alerts.raise_alert(session, alert, RULE, "loop", about)
    return alert


def of_team(key: str = "endpoint-1", **more: object) -> UUID:
    team = cast.retail()
    return team_alerts.raise_for_team(team.tenant_id, team.pk, TeamAlert("undeliverable", key, **more))


def staff_kinds() -> list[str]:
    return [line.kind for line in auditing.staff_entries(cast.adam(), now().date())]


def test_an_alert_of_a_session_is_a_row_that_is_the_fold_of_its_entries():
    session = opened()
    alert = raised(session)
    commands.acknowledge_alert(cast.alice(), alert)
    commands.close_alert(cast.alice(), alert, "a drill")
    row = Alert.objects.get(pk=alert)
    assert (row.state, row.cause, row.closed_by) == ("closed", "person", cast.alice().actor)
    assert rebuild.check(session) == []
    rebuild.rebuild(session)
    assert rebuild.check(session) == []
    assert Alert.objects.get(pk=alert).acknowledged_at == row.acknowledged_at


def test_a_forged_row_of_an_alert_is_found():
    session = opened()
    Alert.objects.filter(pk=raised(session)).update(severity="info")
    assert [each.what.rpartition(".")[2] for each in rebuild.check(session)] == ["severity"]


def test_the_same_alert_raised_again_after_a_crash_is_one():
    session, alert = opened(), new_id()
    assert session_alerts.raise_alert(session, alert, RULE, "loop")
    assert not session_alerts.raise_alert(session, alert, RULE, "loop")
    commands.close_alert(cast.alice(), alert, "seen")
    assert not session_alerts.raise_alert(session, alert, RULE, "loop")
    assert kinds(session).count("alert.raised") == 1


def test_an_alert_that_nobody_has_goes_on_along_its_chain_by_the_databases_clock():
    session = opened()
    alert = raised(session)
    assert escalation.escalate_due() == 1
    assert escalation.escalate_due() == 0
    assert Alert.objects.get(pk=alert).to == ["role:supervisor", "role:admin"]
    assert state(session).alerts[str(alert)].step == 1


def test_a_later_step_of_the_chain_waits_for_its_time():
    session, alert = opened(), new_id()
    later = session_alerts.Raising("", "loop", 1, "warning", ("role:supervisor",), (Onward(600, ("role:admin",)),))
    session_alerts.raise_alert(session, alert, later, "loop")
    assert escalation.escalate_due() == 0
    assert not session_alerts.escalate(session, alert, 0)


def test_an_alert_of_a_team_is_one_however_often_it_is_raised_and_the_staff_log_tells_it():
    first = of_team()
    assert [of_team(), of_team("endpoint-2")][0] == first
    assert Alert.objects.get(pk=first).hits == 2
    assert staff_kinds().count("alert.raised") == 2


def test_an_alert_of_a_team_is_acknowledged_taken_and_closed_by_those_who_may():
    alert = of_team(chain=(Onward(0, ("role:admin",)),))
    assert escalation.escalate_due() == 1
    commands.acknowledge_alert(cast.alice(), alert)
    with pytest.raises(HasChanged):
        commands.acknowledge_alert(cast.bob(), alert)
    commands.acknowledge_alert(cast.bob(), alert, holder=cast.alice().actor)
    commands.close_alert(cast.adam(), alert, "the endpoint is back")
    with pytest.raises(AlertOver):
        commands.close_alert(cast.alice(), alert, "again")
    assert {"alert.raised", "alert.escalated", "alert.acknowledged", "alert.closed"} <= set(staff_kinds())
    assert of_team() != alert


def test_an_alert_of_a_team_ends_by_itself_when_what_it_was_about_works_again():
    of_team()
    assert team_alerts.close_of_team(cast.retail().pk, "undeliverable", "endpoint-1", "works_again")
    assert not team_alerts.close_of_team(cast.retail().pk, "undeliverable", "endpoint-1", "works_again")


def test_a_storm_of_alerts_of_a_team_has_an_end(monkeypatch):
    monkeypatch.setattr(team_alerts, "MAX_OPEN", 2)
    of_team("a"), of_team("b")
    with pytest.raises(TooManyAlerts):
        of_team("c")
    assert Alert.objects.count() == 2


def test_who_may_not_take_over_handles_no_alert_of_a_session_and_strangers_see_none():
    alert = raised(opened())
    for viewer in (cast.vera(), cast.adam()):
        with pytest.raises(PermissionDenied):
            commands.acknowledge_alert(viewer, alert)
    assert queries.alerts(cast.charlie()) == []


def test_what_is_mine_is_what_i_have_and_what_is_for_me_and_nobody_has():
    session = opened()
    alert = raised(session)
    assert [row.pk for row in queries.mine(cast.alice())] == [alert]
    commands.acknowledge_alert(cast.bob(), alert)
    assert (list(queries.mine(cast.alice())), [row.pk for row in queries.mine(cast.bob())]) == ([], [alert])


def test_what_is_for_the_owner_is_for_who_has_the_session_and_for_all_while_nobody_has():
    session, alert = opened(), new_id()
    owners = session_alerts.Raising("", "silence", 1, "info", ("owner",))
    session_alerts.raise_alert(session, alert, owners, "silence")
    assert queries.mine(cast.alice()).count() == queries.mine(cast.bob()).count() == 1
    supervision.take_over(cast.bob(), session)
    assert (queries.mine(cast.alice()).count(), queries.mine(cast.bob()).count()) == (0, 1)


def test_a_sealed_session_has_no_open_alert():
    session = opened()
    alert = raised(session)
    conversation.end(cast.cleo(), session, "hung up")
    erasure.seal(cast.alice(), session)
    assert Alert.objects.get(pk=alert).cause == "sealed"
    assert rebuild.check(session) == []
    assert not session_alerts.raise_alert(session, new_id(), RULE, "loop")
