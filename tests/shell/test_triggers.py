"""Triggers: what makes sessions begin or go on without anybody asking."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate.clock import now
from audit import ledger, staff
from sessions import tasks
from sessions.automation.triggers import firings, intake
from sessions.automation.triggers import repository as keeping
from sessions.core import announcements, states
from sessions.library.versions import ChangedMeanwhile
from sessions.models.sessions import AgentSession
from sessions.models.triggers import Trigger, TriggerFiring
from tests import cast
from tests.shell.bank_world import events, kinds, opened, say, work

pytestmark = pytest.mark.django_db(transaction=True)


def kept(name: str, **definition: Any) -> Trigger:
    """A trigger of the team Retail."""
    team = cast.retail()
    return keeping.keep(team.tenant_id, team.pk, cast.adam().actor, name, definition)


def pass_on() -> int:
    """What the sweeper does once commits are old enough, and then the triggers' task."""
    announcements.drain_outbox(older_than=0.0, first=tasks.followed)
    return firings.fire_due()


def ends(trigger: Trigger) -> list[tuple[str, str]]:
    """How its firings ended, oldest first."""
    return list(TriggerFiring.objects.filter(trigger=trigger.pk).order_by("at", "id").values_list("state", "why"))


ON_ENTRY = {"entry": {"kinds": ["message.added"]}}
SAID = "event.data.role == 'customer' && event.data.text.contains('complaint')"


def test_an_entry_of_a_kind_informs_the_session_in_which_it_was_made(bank):
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"tell": {"say": "'Be careful: ' + session.customer"}})
    session = opened()
    say(session, "I have a complaint.")
    pass_on()
    assert ends(trigger).count(("fired", "")) == 1
    assert states.load(session).state.items[-1].text == "Be careful: C-1001"
    fired = events(session, "trigger.fired")[0]
    assert (fired["name"], fired["version"], fired["chain"]) == ("complaints", 1, [str(trigger.pk)])


def test_the_agent_acts_on_what_a_trigger_tells_it(bank):
    kept("complaints", on=ON_ENTRY, when=SAID, do={"tell": {"say": "'Ask them to wait.'"}})
    session = opened()
    say(session, "I have a complaint.")
    before = kinds(session).count("model.requested")
    pass_on()
    work()
    assert kinds(session).count("model.requested") > before


def test_a_trigger_starts_a_run_of_the_agent_with_a_message_and_a_task(bank):
    run = {"message": "'Look at ' + session.customer", "goal": "'See to the complaint'"}
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"run": run})
    session = opened()
    say(session, "I have a complaint.")
    before = kinds(session).count("model.requested")
    pass_on()
    assert ends(trigger).count(("fired", "")) == 1
    assert [each["trigger"] for each in events(session, "run.started")][-1] == "trigger"
    assert events(session, "goals.set")[0]["tree"]["title"] == "See to the complaint"
    work()
    assert "Look at C-1001" in [item.text for item in states.load(session).state.items]
    assert kinds(session).count("model.requested") > before
    assert kinds(session)[-1] == "run.rested"


def test_a_condition_that_is_not_true_is_told_in_the_history(bank):
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"run": {}})
    say(opened(), "Hello.")
    pass_on()
    assert set(ends(trigger)) == {("passed", "condition_false")}


def test_an_entry_taken_in_twice_is_acted_on_once(bank):
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"tell": {"say": "'Look'"}})
    session = opened()
    say(session, "I have a complaint.")
    rows = list(ledger.run("SELECT session, team, first, seq, at FROM agent_sessions_outbox", {}))
    announced = [announcements.Announced(*row) for row in rows]
    tasks.followed(announced)
    firings.fire_due()
    tasks.followed(announced)
    firings.fire_due()
    assert kinds(session).count("trigger.fired") == 1
    assert [end for end in ends(trigger) if end[0] == "fired"] == [("fired", "")]


def test_what_was_not_taken_in_while_nobody_worked_is_taken_in_afterwards(bank):
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"tell": {"say": "'Look'"}})
    sessions = [opened() for _ in range(3)]
    for session in sessions:
        say(session, "I have a complaint.")
    states.forget_all()
    pass_on()
    assert ends(trigger).count(("fired", "")) == 3


def test_a_trigger_that_fires_on_itself_is_stopped_and_switched_off_by_name(bank):
    trigger = kept("echo", on={"entry": {"kinds": ["trigger.fired"]}}, do={"run": {}})
    other = kept("start", on=ON_ENTRY, when=SAID, do={"run": {}})
    session = opened()
    say(session, "I have a complaint.")
    for _ in range(6):
        pass_on()
    trigger.refresh_from_db()
    assert (trigger.on, trigger.off_why) == (False, "fires_on_itself")
    assert ("refused", "fires_on_itself") in ends(trigger)
    assert kinds(session).count("trigger.fired") == 2
    other.refresh_from_db()
    assert other.on


def test_a_chain_of_different_triggers_ends_at_its_depth(bank):
    depths = {"on": {"entry": {"kinds": ["trigger.fired"]}}, "do": {"run": {}}, "depth": 2}
    names = ["a", "b", "c", "d"]
    for name in names:
        wanted = f"event.data.name == '{chr(ord(name) - 1)}'"
        kept(name, **depths, when=wanted) if name != "a" else kept(name, on=ON_ENTRY, when=SAID, do={"run": {}})
    say(opened(), "I have a complaint.")
    for _ in range(6):
        pass_on()
    assert ends(Trigger.objects.get(name="b"))[0] == ("fired", "")
    assert ("refused", "too_deep") in ends(Trigger.objects.get(name="c"))
    assert ("fired", "") not in ends(Trigger.objects.get(name="d"))


def test_over_its_rate_a_trigger_waits_or_drops(bank):
    wish = {"on": ON_ENTRY, "when": SAID, "do": {"run": {}}}
    waits = kept("waits", **wish, rate={"count": 1, "seconds": 60, "over": "wait"})
    drops = kept("drops", **wish, rate={"count": 1, "seconds": 60, "over": "drop"})
    for _ in range(2):
        say(opened(), "I have a complaint.")
    pass_on()
    assert [end for end in ends(waits) if end[1] != "condition_false"] == [("fired", ""), ("due", "")]
    assert [end for end in ends(drops) if end[1] != "condition_false"] == [("fired", ""), ("refused", "rate_limited")]


def test_a_trigger_that_acts_too_often_in_a_day_is_switched_off(bank):
    trigger = kept("busy", on=ON_ENTRY, when=SAID, do={"run": {}}, per_day=1)
    for _ in range(2):
        say(opened(), "I have a complaint.")
    pass_on()
    trigger.refresh_from_db()
    assert (trigger.on, trigger.off_why) == (False, "too_often")


def test_a_trigger_opens_a_session_once_however_often_it_is_tried(bank):
    trigger = kept(
        "callback",
        on={"entry": {"kinds": ["session.opened"]}},
        when="session.channel == 'phone'",
        do={"open": {"agent": "bank", "customer": "session.customer", "say": "'Ask whether all went well.'"}},
    )
    opened()
    announcements.drain_outbox(older_than=0.0, first=tasks.followed)
    (claim,) = firings.QUEUE.claim()
    firings._judged(TriggerFiring.objects.get(pk=claim.key))  # and the process dies before it is written down
    TriggerFiring.objects.update(lease_until=None)
    firings.fire_due()
    assert ends(trigger) == [("fired", "")]
    assert AgentSession.objects.filter(channel="chat").count() == 1
    session = AgentSession.objects.get(channel="chat").pk
    assert kinds(session)[:3] == ["session.opened", "trigger.fired", "message.added"]


def test_another_teams_sessions_are_none_of_a_triggers_business(bank):
    team = cast.cards()
    trigger = keeping.keep(
        team.tenant_id, team.pk, cast.adam().actor, "spy", {"on": ON_ENTRY, "do": {"run": {}}, "when": SAID}
    )
    say(opened(), "I have a complaint.")
    pass_on()
    assert ends(trigger) == []


def test_a_switched_off_trigger_hears_nothing_and_what_waited_is_refused(bank):
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"run": {}})
    say(opened(), "I have a complaint.")
    announcements.drain_outbox(older_than=0.0, first=tasks.followed)
    keeping.switch(trigger.pk, False, cast.adam().actor)
    firings.fire_due()
    assert {end[1] for end in ends(trigger)} == {"switched_off"}
    before = len(ends(trigger))
    say(opened(), "I have a complaint.")
    pass_on()
    assert len(ends(trigger)) == before


def test_an_expression_that_cannot_be_read_is_never_taken_for_a_yes(bank):
    trigger = kept("wild", on=ON_ENTRY, when="event.data.nothing == 'x'", do={"run": {}})
    say(opened(), "I have a complaint.")
    pass_on()
    assert set(ends(trigger)) == {("refused", "unreadable")}


def test_every_change_is_a_version_of_its_own_and_an_entry_of_the_staff_log():
    trigger = kept("busy", on=ON_ENTRY, do={"run": {}})
    team = cast.retail()
    with pytest.raises(ChangedMeanwhile):
        keeping.keep(team.tenant_id, team.pk, cast.adam().actor, "busy", {"on": ON_ENTRY, "do": {"run": {}}})
    keeping.keep(
        team.tenant_id, team.pk, cast.adam().actor, "busy", {"on": ON_ENTRY, "do": {"run": {}}, "depth": 1}, seen=1
    )
    assert keeping.version_of(trigger.pk, 1).depth == 3
    assert keeping.version_of(trigger.pk, 2).depth == 1
    log = staff.log_of(team.tenant_id, now())
    recorded = [ledger.parse_envelope(row.envelope).kind for row in ledger.read_rows(log)]
    assert recorded.count("trigger.changed") == 2


def test_what_there_is_no_room_for_is_refused_by_name(bank, monkeypatch):
    monkeypatch.setattr(intake, "MAX_DUE", 1)
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"run": {}})
    session = opened()
    say(session, "I have a complaint.")
    announcements.drain_outbox(older_than=0.0, first=tasks.followed)
    assert ends(trigger).count(("due", "")) == 1
    assert ("refused", "trigger_queue_full") in ends(trigger)


def test_the_history_is_bounded_and_forgetting_it_repeats_nothing(bank, monkeypatch):
    monkeypatch.setattr(firings, "KEPT", 1)
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"tell": {"say": "'Look'"}})
    session = opened()
    say(session, "I have a complaint.")
    announced = [
        announcements.Announced(*row)
        for row in ledger.run("SELECT session, team, first, seq, at FROM agent_sessions_outbox", {})
    ]
    pass_on()
    ledger.run("UPDATE agent_sessions_triggerfiring SET ended_at = ended_at - interval '2 days'", {})
    assert firings.forget_old() > 0
    assert len(ends(trigger)) == 1
    tasks.followed(announced)
    firings.fire_due()
    assert kinds(session).count("trigger.fired") == 1


def test_two_things_that_wait_are_not_each_others_cause(bank):
    trigger = kept("complaints", on=ON_ENTRY, when=SAID, do={"tell": {"say": "'Look'"}})
    session = opened()
    say(session, "I have a complaint.")
    say(session, "Another complaint.")
    pass_on()
    trigger.refresh_from_db()
    assert (trigger.on, ends(trigger).count(("fired", ""))) == (True, 2)


def test_the_signal_of_a_trigger_reaches_the_chart_and_one_that_is_not_awaited_is_refused(bank):
    trigger = kept("fraud", on=ON_ENTRY, when=SAID, do={"signal": {"name": "no.such"}})
    say(opened(), "I have a complaint.")
    pass_on()
    assert {why for state, why in ends(trigger) if state == "refused"} <= {"unknown_signal", "not_awaited"}
    assert "refused" in {state for state, _ in ends(trigger)}
