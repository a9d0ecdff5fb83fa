"""Ready calls run side by side; each result is recorded when it arrives, under its own call, and nobody starves."""

from __future__ import annotations

import pytest

from agentstate.engine.advance import NOBODY
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import calls_in, pending
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core.commit import run_commands
from sessions.core.committed import Lease
from sessions.models.sessions import AgentSession
from sessions.runtime import advance, execution
from sessions.runtime.running_calls import Flights
from sessions.web import rebuild
from tests import cast
from tests.processes import eventually
from tests.shell.bank_world import events, kinds, say, state, work
from tests.shell.side_by_side_world import proposed, ran, told
from tests.shell.test_contention import in_thread

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_ready_calls_run_at_the_same_time():
    """Each returns only while the other runs."""
    session = told((proposed("meet", "a"), proposed("meet", "b")))
    say(session, "Go.")
    assert kinds(session).count("tool.returned") == 2


def test_each_result_is_recorded_as_it_arrives_and_under_its_own_call():
    session = told((proposed("stay", "slow"), proposed("fail", "broken"), proposed("wait", "quick")))
    worker = in_thread(lambda: say(session, "Go."))
    eventually(lambda: events(session, "tool.returned"), what="the quick result is recorded while the slow call runs")
    ran.gate.set()
    worker.join()
    calls = {call.arguments["name"]: call for call in state(session).calls.values()}
    assert {name: call.status.value for name, call in calls.items()} == {
        "slow": "done",
        "broken": "failed",
        "quick": "done",
    }
    returned = [event["call"] for event in events(session, "tool.returned")]
    assert returned == [calls["quick"].id, calls["slow"].id]
    assert rebuild.check(session) == []


def test_no_more_calls_run_at_once_than_the_setting_says(settings):
    settings.PARALLEL_CALLS = 2
    session = told(tuple(proposed("meet", str(number)) for number in range(6)))
    say(session, "Go.")
    assert ran.most == 2
    assert kinds(session).count("tool.returned") == 6


def test_lost_results_of_several_calls_are_settled_side_by_side_under_the_same_keys():
    """The worker died with both intents open: its successor runs both again, at once."""
    session = told((proposed("meet", "a"), proposed("meet", "b")))
    conversation_commands.say(cast.cleo(), session, "Go.")
    AgentSession.objects.filter(pk=session).update(fence=7)
    lease = Lease(session, 7)
    asked = run_commands(lease, [advance.intend(lease.session, NOBODY)])
    (answer,) = advance._do(lease, asked, Flights())
    run_commands(lease, [advance.settled(lease, answer), advance.intend(lease.session, NOBODY)])
    assert len(calls_in(state(session), CallStatus.RUNNING)) == 2
    keys = {event["key"] for event in events(session, "tool.intended")}
    ran.clear()
    AgentSession.objects.filter(pk=session).update(lease_until=None)
    work()
    assert {key for _, key in ran.begun} == keys
    assert ran.most == 2
    assert [event["attempt"] for event in events(session, "tool.returned")] == [2, 2]


def test_what_a_person_lets_through_meanwhile_does_not_wait_for_a_slow_call():
    session = told((proposed("stay", "slow"), proposed("act", "gated")))
    worker = in_thread(lambda: say(session, "Go."))
    eventually(lambda: pending(state(session)) and ran.names, what="one call waits for a person, one runs")
    approvals_commands.decide(
        cast.alice(), pending(state(session))[0].asked.request, approvals_commands.Decision("approve")
    )
    eventually(lambda: events(session, "tool.returned"), what="the approved call returned while the slow one runs")
    ran.gate.set()
    worker.join()
    calls = {call.arguments["name"]: call.id for call in state(session).calls.values()}
    assert [event["call"] for event in events(session, "tool.returned")] == [calls["gated"], calls["slow"]]


def test_a_call_that_landed_too_late_for_anyone_is_dropped_alone():
    """What came with an outdated outcome is recorded all the same."""
    session = told((proposed("wait", "a"), proposed("wait", "b")))
    say(session, "Go.")
    first, second = state(session).calls.values()
    AgentSession.objects.filter(pk=session).update(fence=7)
    lease = Lease(session, 7)
    outdated = advance.settled(lease, execution.too_slow(first))
    spoken = advance.settled(lease, advance.Rest("customer"))
    assert run_commands(lease, [outdated, spoken]).events == ()
    assert state(session).calls[second.id].status is CallStatus.DONE
