"""Alerts of a session: one for each rule and what it is about, few at a time, beside the conversation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.alerts import KEPT_CLOSED, MAX_OPEN, Onward, open_alerts
from agentstate.engine.decide.alerts import AlertOver, ForkHasNoAlerts, TooManyAlerts, UnknownAlert
from agentstate.engine.decide.refusals import HasChanged, Outdated
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.errors import Invalid
from sessions.core import alert_rows
from tests.core import worlds
from tests.core.test_forks import fork
from tests.core.test_versions import rollback
from tests.core.worlds import World

SUE, BOB = "user:sue", "user:bob"
CHAIN = (Onward(60, ("role:admin",)), Onward(120, ("user:zoe", "role:supervisor")))


def raising(number: int = 1, **more: Any) -> core.RaiseAlert:
    wanted = {"rule": "r", "name": "loop", "version": 1, "severity": "warning", "why": "loop"}
    return core.RaiseAlert(f"a{number}", **{**wanted, "to": ("role:supervisor",), "chain": CHAIN, **more})


def raised(**more: Any) -> World:
    return worlds.waiting().after(raising(**more))


def test_an_alert_is_told_beside_the_conversation_and_changes_nothing_in_it():
    before = worlds.waiting()
    after = before.after(raising(), core.AcknowledgeAlert("a1", SUE), core.CloseAlert("a1", SUE, "person", "seen"))
    assert replace(after.state, seq=before.state.seq, alerts={}) == before.state


def test_the_same_rule_about_the_same_is_no_second_alert_while_one_is_open():
    once = raised(about="t1")
    assert once.after(raising(2, about="t1")).history == once.history
    assert len(open_alerts(once.after(raising(2, about="t2")).state.alerts)) == 2
    assert len(open_alerts(once.after(raising(2, about="t1", rule="other")).state.alerts)) == 2


def test_an_alert_that_is_closed_may_be_raised_anew_under_another_id_only():
    closed = raised().after(core.CloseAlert("a1", "system", "settled"))
    assert closed.after(raising()).history == closed.history
    assert len(open_alerts(closed.after(raising(2)).state.alerts)) == 1


def test_an_alert_goes_along_its_chain_until_somebody_has_it():
    far = raised().after(core.EscalateAlert("a1", 1), core.EscalateAlert("a1", 2))
    alert = far.state.alerts["a1"]
    assert (alert.for_whom, alert.escalates_at) == (("role:supervisor", "role:admin", "user:zoe"), "")
    with pytest.raises(Outdated):
        far.after(core.EscalateAlert("a1", 3))
    with pytest.raises(Outdated):
        raised().after(core.AcknowledgeAlert("a1", SUE), core.EscalateAlert("a1", 1))


def test_an_alert_is_taken_only_from_whom_one_has_seen_to_have_it():
    hers = raised().after(core.AcknowledgeAlert("a1", SUE))
    with pytest.raises(HasChanged):
        hers.after(core.AcknowledgeAlert("a1", BOB))
    his = hers.after(core.AcknowledgeAlert("a1", BOB, SUE)).state.alerts["a1"]
    assert (his.held_by, his.acknowledged_at) == (BOB, hers.state.alerts["a1"].acknowledged_at)


def test_what_is_over_is_over_and_a_person_says_why():
    with pytest.raises(Invalid):
        raised().after(core.CloseAlert("a1", SUE, "person", " "))
    closed = raised().after(core.CloseAlert("a1", SUE, "person", "a drill"))
    for late in (core.CloseAlert("a1", SUE, "person", "x"), core.AcknowledgeAlert("a1", SUE)):
        with pytest.raises(AlertOver):
            closed.after(late)
    with pytest.raises(UnknownAlert):
        closed.after(core.AcknowledgeAlert("a9", SUE))


def test_a_session_has_few_alerts_at_a_time_and_remembers_few_that_were_closed():
    world = worlds.waiting().after(*(raising(n, about=str(n)) for n in range(MAX_OPEN)))
    with pytest.raises(TooManyAlerts):
        world.after(raising(99, about="99"))
    world = world.after(*(core.CloseAlert(f"a{n}", "system", "settled") for n in range(MAX_OPEN)))
    assert len(world.state.alerts) == KEPT_CLOSED


def test_alerts_are_raised_and_closed_in_a_session_that_has_ended_until_it_is_sealed():
    ended = worlds.waiting().after(core.End("hung up", "customer"), raising())
    sealed = ended.after(core.Seal(SUE))
    assert sealed.state.alerts["a1"].cause == "sealed"
    assert [alert.id for alert in alert_rows.changed_alerts(sealed.state, [sealed.history[-1][0]])] == ["a1"]


def test_a_fork_has_no_alerts_and_takes_none_along():
    child = fork(raised())
    assert child.state.alerts == {}
    with pytest.raises(ForkHasNoAlerts):
        child.after(raising(2))


def test_a_rollback_takes_no_alert_back():
    world = worlds.authorized().after(raising())
    assert world.after(rollback(world, 2)).state.alerts == world.state.alerts


def test_alerts_survive_the_snapshot():
    state = raised().after(core.AcknowledgeAlert("a1", SUE)).state
    assert from_snapshot(to_snapshot(state)) == state


def test_a_session_is_as_idle_after_an_alert_as_before():
    before = worlds.waiting()
    assert before.after(raising()).state.last_at == before.state.last_at
    assert before.after(raising()).events(ev.AlertRaised)[0].seq == -1
