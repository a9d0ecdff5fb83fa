"""Rules over live entries: nothing committed is passed over, nothing alerted of twice, and alerts end by themselves."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from django.db.models import F

from audit import ledger
from audit.server_clock import now
from sessions.approvals import commands as approvals_commands
from sessions.automation.alerts import commands as handling
from sessions.automation.alerts import evaluation
from sessions.automation.alerts import repository as keeping
from sessions.automation.service_levels import repository as level_rows
from sessions.conversation import commands as conversation_commands
from sessions.core import announcements
from sessions.core.announcements import Announced
from sessions.models.alerts import Alert, AlertWatch, LevelClock, TeamRule
from sessions.supervision import commands as supervision
from sessions.versions import commands as versions_commands
from tests import cast
from tests.shell.bank_world import kinds, opened, say
from tests.shell.test_first_transfer import asks_for_a_transfer, pending

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = {"on": {"phrase": {"words": ["complaint"]}}, "cool_down": 0}


def on(name: str, definition: dict[str, Any], what: str = "rule", *, seen: int = 0) -> TeamRule:
    """A rule of the team, and nothing that is shipped."""
    team = cast.retail()
    return keeping.keep(team.tenant_id, team.pk, "user:x", what, name, definition, seen=seen)


def outbox() -> list[Announced]:
    rows = ledger.run("SELECT session, team, first, seq, at FROM agent_sessions_outbox ORDER BY id", {})
    return [Announced(*row) for row in rows]


def look(session: UUID | None = None) -> None:
    """What the sweeper does, with everything due at once."""
    announcements.drain_outbox(older_than=-1.0, first=evaluation.take_in)
    while evaluation.look_at_due():
        pass


def later(**times: Any) -> None:
    """As if so much time had passed for what waits to be looked at."""
    AlertWatch.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - timedelta(**times))


def alerts(**wanted: Any) -> list[str]:
    return list(Alert.objects.filter(**wanted).order_by("raised_at").values_list("name", flat=True))


def test_words_of_a_customer_are_alerted_of_once_and_what_follows_is_counted():
    on("complaint", HELLO)
    session = opened()
    for text in ("I have a complaint", "a Complaint, I said", "hello"):
        say(session, text)
        look()
    row = Alert.objects.get()
    assert (row.name, row.hits, row.state, row.why) == ("complaint", 2, "open", "phrase")
    assert kinds(session).count("alert.raised") == 1


def test_what_is_told_twice_or_looked_at_twice_is_alerted_of_once():
    on("complaint", HELLO)
    session = opened()
    say(session, "a complaint")
    told = outbox()
    look()
    for _ in range(2):
        evaluation.take_in(told)
        look()
    assert (Alert.objects.get().hits, kinds(session).count("alert.raised")) == (1, 1)


def test_an_alert_that_somebody_closed_is_not_raised_again_for_the_same_words():
    on("complaint", HELLO)
    session = opened()
    say(session, "a complaint")
    told = outbox()
    look()
    handling.close_alert(cast.alice(), Alert.objects.get().pk, "called back")
    evaluation.take_in(told)
    look()
    assert alerts() == ["complaint"]
    say(session, "another complaint")
    look()
    assert alerts() == ["complaint", "complaint"]


def test_after_an_alert_a_rule_cools_down():
    on("complaint", {**HELLO, "cool_down": 3600})
    session = opened()
    say(session, "a complaint")
    look()
    handling.close_alert(cast.alice(), Alert.objects.get().pk, "called back")
    say(session, "a complaint")
    look()
    assert alerts() == ["complaint"]


def test_an_alert_ends_by_itself_when_a_person_takes_the_session_over():
    on("complaint", HELLO)
    session = opened()
    say(session, "a complaint")
    look()
    supervision.take_over(cast.alice(), session)
    look()
    assert Alert.objects.get().cause == "taken_over"


def test_silence_is_found_by_its_time_and_no_session_is_looked_at_for_nothing():
    on("silence", {"on": {"silence": {"seconds": 300}}})
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello?")
    look()
    watch = AlertWatch.objects.get()
    assert (alerts(), watch.due_at > now() + timedelta(seconds=250)) == ([], True)


def test_a_customer_who_asks_for_a_person_is_alerted_of_and_the_alert_ends_with_the_wish():
    on("person", {"on": {"person": {}}, "severity": "critical"})
    session = opened()
    supervision.ask_for_person(cast.cleo(), session, "pressed the button")
    look()
    assert alerts(state="open") == ["person"]
    supervision.no_person_needed(cast.cleo(), session, "never mind")
    look()
    assert Alert.objects.get().cause == "withdrawn"


def test_a_request_near_its_deadline_is_alerted_of_until_it_is_decided(bank):
    on("near", {"on": {"deadline": {"seconds": 86_000}}})
    session = asks_for_a_transfer()
    look()
    assert Alert.objects.get().about == str(pending(session).id)
    approvals_commands.decide(cast.alice(), pending(session).id, approvals_commands.Decision("reject", reason="no"))
    look()
    assert Alert.objects.get().cause == "decided"


def test_what_happened_before_a_rule_was_there_is_none_of_its_business():
    session = opened()
    say(session, "a complaint")
    on("complaint", HELLO)
    evaluation.take_in(outbox())
    look()
    assert alerts() == []


def test_a_rule_that_is_switched_off_leaves_no_open_alert():
    rule = on("complaint", HELLO)
    session = opened()
    say(session, "a complaint")
    look()
    keeping.switch(rule.pk, False, "user:x")
    look()
    assert Alert.objects.get().cause == "rule_off"
    say(session, "a complaint")
    look()
    assert alerts() == ["complaint"]


def test_alerts_cause_no_alerts_and_a_session_in_which_nothing_is_awaited_is_left_alone():
    on("everything", {"on": {"entry": {"kinds": ["session.opened", "message.added"]}}, "cool_down": 0})
    session = opened()
    say(session, "hello")
    look()
    size = len(kinds(session))
    for _ in range(3):
        look()
    assert len(kinds(session)) == size
    assert AlertWatch.objects.count() == 0


def test_a_look_that_fails_comes_again_and_at_last_the_team_is_told(monkeypatch):
    on("complaint", HELLO)
    session = opened()
    monkeypatch.setattr(evaluation.matches, "found", lambda *_: 1 // 0)
    evaluation.take_in(outbox())
    for _ in range(evaluation.QUEUE.attempts):
        assert evaluation.look_at_due() == 1
        later(hours=1)
    assert [(row.name, row.about) for row in Alert.objects.filter(session=None)] == [(evaluation.FAILED, str(session))]
    assert AlertWatch.objects.count() == 0


def killed(*_):
    """No Exception, so that nothing after it runs, as in a process that is killed."""
    raise SystemExit


def test_a_crash_between_raising_and_writing_down_raises_nothing_twice(monkeypatch):
    on("complaint", HELLO)
    session = opened()
    say(session, "a complaint")
    evaluation.take_in(outbox())
    with monkeypatch.context() as patched:
        patched.setattr(evaluation, "_finish", killed)
        with pytest.raises(SystemExit):
            evaluation.look_at_due()
    AlertWatch.objects.update(lease_until=None)
    look()
    assert (Alert.objects.get().hits, kinds(session).count("alert.raised")) == (1, 1)


@pytest.mark.parametrize("point", ["after_commit:message.added", "after_commit:alert.raised", "after_alerts"])
def test_whoever_is_killed_between_words_and_their_alert_loses_none_and_doubles_none(point):
    on("complaint", HELLO)
    sessions = [opened() for _ in range(2)]
    connections.close_all()
    if (pid := os.fork()) == 0:
        os.environ["CRASH_AT"] = point
        try:
            for session in sessions:
                conversation_commands.say(cast.cleo(), session, "I have a complaint")
            look()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
    said = [session for session in sessions if "message.added" in kinds(session)]
    AlertWatch.objects.update(lease_until=None)
    look()
    look()
    assert said
    assert sorted(Alert.objects.values_list("session", "hits")) == sorted((session, 1) for session in said)
    assert all(kinds(session).count("alert.raised") == 1 for session in said)


def test_a_team_that_has_set_up_nothing_begins_with_what_is_shipped_and_keeps_what_it_switches_off():
    session = opened()
    evaluation.take_in(outbox())
    rules = TeamRule.objects.filter(team=cast.retail(), what="rule")
    assert rules.filter(name="asks-for-a-person", on=True).exists()
    rules.update(on=False)
    TeamRule.objects.filter(what="target").update(on=False)
    assert evaluation.take_in(outbox()) == 0
    assert session


def test_service_levels_are_measured_from_the_entries_and_told_of_when_missed():
    on("first", {"what": "first_response", "seconds": 1}, "target")
    on("missed", {"on": {"level": {"at": "missed"}}})
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello?")
    look()
    clock = LevelClock.objects.get()
    assert (clock.outcome, clock.missed_at - clock.started_at) == ("running", timedelta(seconds=1))
    LevelClock.objects.update(since=clock.since - timedelta(minutes=1))
    later(minutes=1)
    look()
    assert (alerts(state="open"), Alert.objects.get().why) == (["missed"], "sla_missed")
    supervision.take_over(cast.alice(), session)
    supervision.speak(cast.alice(), session, "Hello, this is Alice")
    look()
    assert LevelClock.objects.get().outcome == "missed"
    assert Alert.objects.get().cause == "settled"


def test_measurements_of_more_than_a_year_ago_are_let_go_of():
    on("first", {"what": "first_response", "seconds": 60}, "target")
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello?")
    conversation_commands.end(cast.cleo(), session, "hung up")
    look()
    assert level_rows.forget_old() == 0
    LevelClock.objects.update(ended_at=F("ended_at") - timedelta(days=401))
    assert level_rows.forget_old() == 1


def test_a_target_needs_a_calendar_that_is_there_and_keeps_it():
    with pytest.raises(keeping.UnknownCalendar):
        on("first", {"what": "first_response", "seconds": 1, "calendar": "office"}, "target")
    office = on("office", {"week": {"1": [["09:00", "17:00"]]}}, "calendar")
    on("first", {"what": "first_response", "seconds": 1, "calendar": "office"}, "target")
    with pytest.raises(keeping.InUse):
        keeping.switch(office.pk, False, "user:x")


def test_a_fork_is_watched_from_its_promotion_on():
    on("complaint", HELLO)
    session = opened()
    say(session, "a complaint")
    look()
    child = versions_commands.fork(cast.alice(), session, reason="what if").session
    look()
    assert not Alert.objects.filter(session=child).exists()
    versions_commands.promote(cast.alice(), child, reason="better")
    look()
    assert not AlertWatch.objects.filter(session=child, due_at__lte=now()).exists()
