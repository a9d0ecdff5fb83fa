"""Attacks across a deployment: other versions of tools, charts and schemas than were approved.

Each scenario prepares what waits, and goes on after the installation's next release has started, once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.attacks.client import Talk, eventually
from tests.attacks.stack import Stack
from tests.attacks.steps import approved_at_the_gate, open_gate

Scenario = Generator[None, None, None]
SCENARIOS: dict[str, Callable[[Stack], Scenario]] = {}


def scenario(prepared: Callable[[Stack], Scenario]) -> Callable[[Stack], Scenario]:
    """Registers one under its name."""
    SCENARIOS[prepared.__name__] = prepared
    return prepared


@scenario
def q8_a_plans_call_does_not_run_by_another_version_of_its_tool(stack: Stack) -> Scenario:
    talk = planned(stack, {"_id": "act", "_tool": "act"})
    yield
    open_gate(talk)
    assert [each["version"] for each in talk.effects("act")] != [2], "version 2 ran under the approval of version 1"


def planned(stack: Stack, call: dict[str, str]) -> Talk:
    """A plan that was approved by chat, whose call has not begun."""
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(channel="chat")
    approved_at_the_gate(talk, ann, sue, {**call, "subject": talk.id})
    return talk


@scenario
def q8_a_plans_letter_is_not_posted_by_another_version_of_its_tool(stack: Stack) -> Scenario:
    talk = planned(stack, {"_id": "post", "_tool": "post_letter"})
    yield
    open_gate(talk)
    assert talk.effects() == [], "version 2 ran under the approval of version 1"


@scenario
def q8_an_approved_call_does_not_run_by_another_version_of_its_tool(stack: Stack) -> Scenario:
    sue, talk = stack.supervisor(), stack.talk()
    talk.wants({"_tool": "act", "subject": talk.id})
    request = talk.one_pending()
    talk.pause(sue)
    request.approve(sue).must()
    yield
    talk.resume(sue)
    talk.rests()
    assert talk.effects() == [], "version 2 ran under the approval of version 1"


def begun(stack: Stack, tool: str) -> Talk:
    """An approved call that has begun, and whose result will be lost."""
    sue, talk = stack.supervisor(), stack.talk()
    talk.wants({"_tool": tool, "subject": f"slow {talk.id}"})
    request = talk.one_pending()
    request.approve(sue).must()
    eventually(lambda: talk.entries("tool.intended"), "it has begun")
    return talk


@scenario
def q9_a_letter_of_unknown_outcome_is_not_posted_again_because_the_new_version_would(stack: Stack) -> Scenario:
    talk = begun(stack, "post_letter")
    yield
    talk.rests()
    assert len(talk.entries("tool.intended")) == 1, "what must not happen twice was begun twice, and nobody was asked"


@scenario
def q9_a_letter_of_unknown_outcome_goes_to_a_person(stack: Stack) -> Scenario:
    talk = begun(stack, "post_letter")
    yield
    talk.rests()
    assert talk.get_stuck(), "nobody is told that nobody knows whether it was posted"


@scenario
def q9_a_lost_call_does_not_go_on_in_another_version_under_the_old_approval(stack: Stack) -> Scenario:
    talk = begun(stack, "act")
    yield
    talk.rests()
    assert [each["version"] for each in talk.effects()] != [2], "version 2 ran under the approval of version 1"


def held(stack: Stack) -> Talk:
    """A transfer that waits for a person while the fraud desk holds the session."""
    talk = stack.talk(agent="hunt-fraud").greeted()
    talk.asks_for(900)
    talk.signal("fraud.suspected").must()
    return talk


@scenario
def q10_the_hold_of_the_fraud_desk_outlives_the_version_of_its_chart(stack: Stack) -> Scenario:
    talk = held(stack)
    yield
    talk.requests[0].approve(stack.supervisor())
    talk.rests()
    assert talk.moved() == [], "the fraud desk holds it"


@scenario
def q10_what_was_approved_before_is_held_as_well(stack: Stack) -> Scenario:
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-fraud").greeted()
    request = talk.asks_for(900)
    talk.pause(sue)
    talk.signal("fraud.suspected").must()
    request.approve(sue).must()
    yield
    talk.resume(sue)
    talk.rests()
    assert talk.moved() == [], "the fraud desk holds it"


@scenario
def q10_somebody_is_alerted_that_the_chart_was_stopped(stack: Stack) -> Scenario:
    talk = held(stack)
    yield
    talk.requests[0].approve(stack.supervisor())
    talk.rests()
    assert talk.moved() == [], "the fraud desk holds it"
    eventually(lambda: talk.alerted("chart-holds-tools"), "somebody is alerted", 20)


def takes_the_new_schema(talk: Talk) -> None:
    """The next command carries the session to the newest version."""
    talk.say("hello").must()
    talk.rests()
    assert talk.state()["schema"] == "hunt@2", talk.state()["schema"]


@scenario
def q11_a_session_in_which_a_plan_was_rejected_takes_a_new_schema(stack: Stack) -> Scenario:
    ann, sue, talk = stack.supervisor(), stack.supervisor(), stack.talk(agent="hunt-schema", channel="chat")
    talk.propose(ann, {"_id": "act", "_tool": "act", "subject": talk.id}).must()
    talk.one_pending("plan").decide(sue, "reject").must()
    talk.rests()
    yield
    takes_the_new_schema(talk)


@scenario
def q11_a_session_in_which_a_plan_expired_takes_a_new_schema(stack: Stack) -> Scenario:
    ann, talk = stack.supervisor(), stack.talk(agent="hunt-schema", channel="chat", topic="brief")
    talk.propose(ann, {"_id": "act", "_tool": "act", "subject": talk.id}).must()
    request = talk.one_pending("plan")
    eventually(lambda: request.state == "expired", "it expires")
    talk.rests()
    yield
    takes_the_new_schema(talk)


@scenario
def q11_a_session_without_a_plan_takes_a_new_schema(stack: Stack) -> Scenario:
    talk = stack.talk(agent="hunt-schema", channel="chat").greeted()
    yield
    takes_the_new_schema(talk)


def _prepared(stack: Stack, name: str) -> Scenario | Exception:
    going = SCENARIOS[name](stack)
    try:
        next(going)
    except Exception as error:
        return error
    return going


@pytest.fixture(scope="module")
def released(stack: Stack, request: pytest.FixtureRequest) -> dict[str, Scenario | Exception]:
    """What was prepared before the next release, which runs now."""
    wanted = [item.callspec.params["name"] for item in request.session.items if item.name.startswith("test_release[")]
    with ThreadPoolExecutor(12) as pool:
        prepared = dict(zip(wanted, pool.map(lambda name: _prepared(stack, name), wanted), strict=True))
    stack.deploy()
    return prepared


@pytest.mark.alone
@pytest.mark.parametrize("name", SCENARIOS)
def test_release(name: str, released: dict[str, Scenario | Exception]):
    going = released[name]
    if isinstance(going, Exception):
        raise going
    assert next(going, "done") == "done"
