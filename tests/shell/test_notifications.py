"""Notifications in the app: who is told of what, once, and who is next if nobody looks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from agentstate.clock import now
from audit import ledger, staff
from sessions import tasks
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.automation.notifications import commands as own
from sessions.automation.notifications import definition, dispatch, plan, preferences
from sessions.automation.notifications import queries as told
from sessions.automation.notifications import repository as keeping
from sessions.automation.notifications import retention as forgetting
from sessions.core import announcements
from sessions.events import notices, team_alerts
from sessions.events.team_alerts import TeamAlert
from sessions.exports import builder, selection
from sessions.library.versions import ChangedMeanwhile
from sessions.models.alerts import Alert
from sessions.models.notifications import Notice, NoticeDelivery
from sessions.supervision import commands as supervision_commands
from tests import cast
from tests.shell.bank_world import opened, say, work
from tests.shell.notice_world import SUPERVISORS, later, rule, shown_to, take_in, tell

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[2]


def ends() -> list[tuple[str, str]]:
    """How notices stand and why, oldest first."""
    return list(Notice.objects.order_by("at", "id").values_list("state", "why"))


def killed(call: str, point: str) -> None:
    """A process that makes this call and is killed at that point."""
    code = f"import django; django.setup(); from sessions.automation.notifications import delivery, dispatch; {call}"
    command, env = [sys.executable, "-c", code], {**os.environ, "CRASH_AT": point}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def waiting_transfer():
    """A request of tier 2 or 3 that waits, and its session."""
    session = opened("C-1001")
    work()
    say(session, "I want to move $1,200.00 from savings to checking.")
    say(session, "Yes, that is right.")
    return session, next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)


def test_an_entry_is_told_to_the_people_that_the_rule_names_and_to_nobody_else(bank):
    everybody = [cast.alice(), cast.bob(), cast.vera(), cast.charlie()]
    rule()
    session = opened()
    tell()
    assert [shown_to(user) for user in everybody] == [[session], [session], [], []]
    assert ends() == [("ended", "told")]


def test_who_did_it_themselves_is_not_told(bank):
    cast.bob()
    rule(kinds=("session.taken_over",))
    session = opened()
    work()
    supervision_commands.take_over(cast.alice(), session)
    tell()
    assert (shown_to(cast.alice()), shown_to(cast.bob())) == ([], [session])


def test_taking_in_twice_or_dying_between_tells_once(bank):
    cast.alice()
    rule()
    opened()
    rows = ledger.run("SELECT session, team, first, seq, at FROM agent_sessions_outbox", {})
    announced = [announcements.Announced(*row) for row in rows]
    for _ in range(2):
        tasks.followed(announced)
        dispatch.tell_due()
    assert len(shown_to(cast.alice())) == 1


def test_what_was_committed_while_nobody_worked_is_told_afterwards(bank):
    cast.alice()
    rule()
    sessions = [opened(f"C-100{n}") for n in range(1, 4)]
    assert Notice.objects.count() == 0
    tell()
    assert set(shown_to(cast.alice())) == set(sessions)


def test_what_happened_before_a_rule_is_none_of_its_business(bank):
    cast.alice()
    opened()
    rule()
    tell()
    assert Notice.objects.count() == 0


def test_a_worker_that_dies_while_it_tells_leaves_everything_to_the_next(bank):
    """Killed at the last instant before the commit: neither half a notice nor a lost one."""
    alice = cast.alice()
    rule()
    opened()
    take_in()
    killed("dispatch.tell_due()", "before_told")
    assert NoticeDelivery.objects.count() == 0
    assert ends() == [("new", "")]
    Notice.objects.update(lease_until=None)
    dispatch.tell_due()
    assert len(shown_to(alice)) == 1


def test_the_reviewers_of_a_request_are_told_and_whoever_may_not_decide_it_is_not(bank):
    people = [cast.alice(), cast.vera(), cast.adam()]
    rule(kinds=("approval.requested",), when="event.data.tier >= 2", steps=[{"to": ["reviewers"], "by": ["in_app"]}])
    session, request = waiting_transfer()
    tell()
    assert [shown_to(user) for user in people] == [[session], [], []]
    line = told.notices(cast.alice())[0]
    assert line.title == f"Needs a decision: tier {request.tier}, {request.tool}"
    assert line.path == f"/decisions/{request.id}/"


STEPS = [
    {"to": ["user:alice"], "by": ["in_app"]},
    {"after": 60, "to": ["user:bob"], "by": ["in_app"]},
    {"after": 300, "to": ["role:viewer"], "by": ["in_app"]},
]


def test_what_nobody_looks_at_goes_on_to_the_next(bank):
    alice, bob, vera = cast.alice(), cast.bob(), cast.vera()
    rule(steps=STEPS)
    opened()
    tell()
    assert [len(shown_to(user)) for user in (alice, bob, vera)] == [1, 0, 0]
    later(61)
    dispatch.tell_due()
    assert [len(shown_to(user)) for user in (alice, bob, vera)] == [1, 1, 0]
    later(240)
    dispatch.tell_due()
    assert [len(shown_to(user)) for user in (alice, bob, vera)] == [1, 1, 1]
    assert ends() == [("ended", "told")]


def test_what_somebody_has_seen_goes_no_further(bank):
    alice, bob = cast.alice(), cast.bob()
    rule(steps=STEPS)
    opened()
    tell()
    assert own.mark_read(alice) == 1
    later(61)
    dispatch.tell_due()
    assert (ends(), shown_to(bob)) == ([("ended", "seen")], [])


def test_what_somebody_has_acted_on_goes_no_further_and_seeing_is_not_acting(bank):
    alice, bob = cast.alice(), cast.bob()
    rule(kinds=("approval.requested",), until="acted", steps=STEPS)
    _, first = waiting_transfer()
    tell()
    own.mark_read(alice)
    later(61)
    dispatch.tell_due()
    assert len(shown_to(bob)) == 1
    approvals_commands.decide(alice, first.id, approvals_commands.Decision("reject", reason="no"))
    later(300)
    dispatch.tell_due()
    assert ends() == [("ended", "acted")]


def test_the_same_within_its_window_is_told_once_and_counted(bank):
    alice = cast.alice()
    rule(key="session.agent", window=300)
    for n in range(1, 4):
        opened(f"C-100{n}")
    tell()
    assert len(shown_to(alice)) == 1
    assert told.notices(alice)[0].count == 3
    later(301)
    opened("C-1004")
    tell()
    assert len(shown_to(alice)) == 2


def test_a_key_that_is_made_of_a_customers_words_is_kept_as_a_digest(bank):
    cast.alice()
    rule(key="session.customer")
    opened("C-1001")
    tell()
    assert "C-1001" not in Notice.objects.get().key


def test_a_condition_that_is_false_or_cannot_be_read_is_told_in_the_history(bank):
    cast.alice()
    rule("never", when="session.agent == 'other'")
    unreadable = rule("unreadable", when="event.data.nothing == 'x'")
    opened()
    tell()
    assert {why for _, why in ends()} == {"condition_false", "unreadable"}
    assert told.history(cast.adam(), unreadable.pk)[0].why == "unreadable"


def test_another_teams_sessions_are_none_of_a_rules_business(bank):
    charlie = cast.charlie()
    team = cast.cards()
    keeping.keep(
        team.tenant_id, team.pk, cast.adam().actor, "spy", {"on": {"kinds": ["session.opened"]}, "steps": [SUPERVISORS]}
    )
    opened()
    tell()
    assert shown_to(charlie) == []


def test_who_has_left_the_team_neither_is_told_nor_finds_what_they_were_told(bank):
    alice = cast.alice()
    rule()
    opened()
    tell()
    alice.memberships.all().delete()
    assert (told.notices(alice), told.bell(alice).count) == ([], 0)
    opened("C-1002")
    tell()
    assert len(shown_to(alice)) == 1


def test_an_alert_of_the_team_is_told_to_whom_it_is_for(bank):
    alice, adam = cast.alice(), cast.adam()
    team = cast.retail()
    rule(kinds=("alert.raised",), steps=[{"to": ["alert"], "by": ["in_app"]}])
    team_alerts.raise_for_team(team.tenant_id, team.pk, TeamAlert("disk_full", "node-1", to=("role:admin",)))
    team_alerts.raise_for_team(team.tenant_id, team.pk, TeamAlert("disk_full", "node-1", to=("role:admin",)))
    dispatch.tell_due()
    assert (len(shown_to(alice)), len(shown_to(adam))) == (0, 1)
    assert told.notices(adam)[0].title == "Alert: disk_full"


def test_who_asked_for_an_export_is_told_that_it_is_ready(bank, settings):
    alice = cast.alice()
    rule(kinds=("export.ready", "export.failed"), steps=[{"to": ["asker"], "by": ["in_app"]}])
    opened()
    selection.ask(alice, selection.filtered(cast.tenant().pk, agent="bank"))
    builder.build_due()
    dispatch.tell_due()
    assert told.notices(alice)[0].title == "An export is ready"


def test_a_storm_ends_in_few_lines_and_nothing_of_it_is_lost(bank, monkeypatch):
    monkeypatch.setattr(plan, "IN_APP_AN_HOUR", 5)
    alice = cast.alice()
    row = rule(window=0)
    session = opened()
    storm = [notices.Happened(f"entry:{session}:0:{n}", "session.opened", session, 0) for n in range(400)]
    notices._take_in(row, storm)
    dispatch.tell_due()
    rows = NoticeDelivery.objects.filter(person=alice.pk)
    assert rows.count() <= 7
    assert sum(each.count for each in rows) == 400
    assert {state for state, _ in ends()} == {"ended"}


def test_what_there_is_no_room_for_is_refused_by_name(bank, monkeypatch):
    monkeypatch.setattr(notices, "MAX_NEW", 1)
    rule()
    opened()
    opened("C-1002")
    take_in()
    assert sorted(ends()) == [("ended", "queue_full"), ("new", "")]


def test_who_switched_the_bell_off_is_told_only_what_is_required(bank):
    alice = cast.alice()
    preferences.keep(alice, email="", off=["in_app"])
    rule("wish")
    session = opened()
    tell()
    assert shown_to(alice) == []
    rule("must", required=True)
    must = opened("C-1002")
    tell()
    assert shown_to(alice) == [must]
    assert session != must


def test_every_change_is_a_version_and_an_entry_of_the_staff_log():
    row = rule("busy")
    with pytest.raises(ChangedMeanwhile):
        rule("busy")
    team = cast.retail()
    data = {"on": {"kinds": ["session.opened"]}, "steps": [SUPERVISORS], "severity": "critical"}
    keeping.keep(team.tenant_id, team.pk, cast.adam().actor, "busy", data, seen=1)
    keeping.switch(row.pk, False, cast.adam().actor)
    assert [keeping.version_of(row.pk, number).severity for number in (1, 2)] == ["info", "critical"]
    log = staff.log_of(team.tenant_id, now())
    kinds = [ledger.parse_envelope(each.envelope).kind for each in ledger.read_rows(log)]
    assert (kinds.count("notice_rule.changed"), kinds.count("notice_rule.switched_off")) == (2, 1)


def test_a_rule_that_is_off_hears_nothing_and_what_waited_is_dropped_by_name(bank):
    alice = cast.alice()
    row = rule()
    opened()
    take_in()
    keeping.switch(row.pk, False, cast.adam().actor)
    dispatch.tell_due()
    opened("C-1002")
    tell()
    assert (ends(), shown_to(alice)) == ([("ended", "switched_off")], [])


def test_the_shipped_rules_are_taken_once():
    team = cast.retail()
    first = keeping.take_shipped(team.tenant_id, team.pk, cast.adam().actor)
    assert first == sorted(definition.shipped())
    assert keeping.take_shipped(team.tenant_id, team.pk, cast.adam().actor) == []


def test_a_notice_that_reaches_nobody_is_an_alert_of_the_team(bank):
    row = rule(steps=[{"to": ["user:nobody"], "by": ["in_app"]}])
    opened()
    opened("C-1002")
    tell()
    alert = Alert.objects.get()
    assert (alert.name, alert.about, alert.why, alert.hits) == ("undeliverable", f"rule:{row.pk}", "nobody", 2)


def test_an_alert_of_what_cannot_be_delivered_raises_no_other(bank):
    rule(kinds=("session.opened", "alert.raised"), steps=[{"to": ["user:nobody"], "by": ["in_app"]}])
    opened()
    tell()
    for _ in range(3):
        dispatch.tell_due()
    assert Alert.objects.count() == 1
    assert ends() == [("ended", "told")] * 2


def test_old_notices_are_forgotten_and_what_is_under_way_is_not(bank, settings):
    alice = cast.alice()
    rule()
    opened()
    tell()
    assert forgetting.forget_old() == 0
    Notice.objects.update(ended_at=now() - timedelta(days=settings.NOTICE_DAYS + 1))
    assert forgetting.forget_old() == 1
    assert (Notice.objects.count(), shown_to(alice)) == (0, [])
