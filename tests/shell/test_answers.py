"""Who does a call: the tool's own function, another of its activities, or the model, which sees what it is handed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs

from agentstate.engine.decide import offers, permit_digest
from agentstate.engine.memory.shown import request_digest
from agentstate.engine.model import ANSWER, ModelAnswer, ModelFailed, ModelRequest, ProposedCall, Usage
from agentstate.engine.plan.check import PlanRefused
from agentstate.engine.state.session import pending
from sessions.agents import definition, registry
from sessions.agents.registry import Agent, register
from sessions.approvals import commands as approvals_commands
from sessions.core import entry_lines, states
from sessions.data import commands as data_commands
from sessions.plans import commands as plans_commands
from sessions.runtime import model_tasks
from sessions.tools import registry as tools
from sessions.tools.registry import Arguments, Retry, ToolContext, activity, answered_by_model, tool
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import events, opened, say, state, work

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
NUMBERS = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
PIN = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}, "n": {"type": "integer"}}}


@tool(name="shout", version=1, description="Says it.", effect="pure", arguments=TEXT)
def shout(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """The tool's own function."""
    return {"said": arguments["text"].upper()}


@activity(of="shout", name="whisper", description="Says it quietly.")
def whisper(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """Another."""
    return {"said": arguments["text"].lower()}


@tool(
    name="pay",
    version=1,
    description="Pays, in one of two ways.",
    effect="idempotent",
    arguments={**TEXT, "properties": {**TEXT["properties"], "_activity": {"enum": ["by_card", "by_cash"]}}},
)
def pay(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """No rule of policy speaks of it, so a person must let it through."""
    return {"paid": "by transfer"}


@activity(of="pay", name="by_card", description="With the card.")
def by_card(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """One way."""
    return {"paid": "by card"}


@activity(of="pay", name="by_cheque", description="With a cheque.")
def by_cheque(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """A way that the tool's schema does not let a plan choose."""
    return {"paid": "by cheque"}


answered_by_model(
    name="count_words", version=1, description="Count.", arguments=TEXT, result=NUMBERS, retry=Retry(2, 0.01)
)


class Thinker:
    """A model whose answers to tasks are told it beforehand: a result, a text, or a failure."""

    name = "thinker"

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.tasks: list[ModelRequest] = []

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        if all(each.name != ANSWER for each in request.tools):
            return ModelAnswer("That is all.", model=self.name)
        self.tasks.append(request)
        told = self.answers.pop(0)
        if isinstance(told, ModelFailed):
            raise told
        calls = () if isinstance(told, str) else (ProposedCall("c", ANSWER, told),)
        return ModelAnswer(told if isinstance(told, str) else "", calls, Usage(10, 2), model=self.name)


thinker = Thinker()
AGENT = Agent("thinking", "Think.", ("shout", "pay", "count_words"), "bank", {}, script=thinker)
register(AGENT)


def step(name: str, path: str = "", **more: Any) -> dict[str, Any]:
    return {"_tool": name, **({"_outputPath": path} if path else {}), **more}


def handed(*calls: dict[str, Any], answers: tuple[Any, ...] = (), data: Any = None, **more: Any) -> UUID:
    """A session to which this plan was handed, whose model answers tasks like this; a worker has done what it could."""
    thinker.answers, thinker.tasks = list(answers), []
    session = opened(agent="thinking")
    if data is not None:
        message = {"type": "data", "kind": "notes", "data": data, "schema": PIN}
        data_commands.add_data(cast.alice(), session, message)
    plans_commands.propose_plan(cast.alice(), session, calls=list(calls), **more)
    work()
    return session


def test_an_activity_that_a_call_names_executes_it_and_the_intent_says_so():
    session = handed(
        step("shout", "state.a", text="Hello"), step("shout", "state.b", text="Hello", _activity="whisper")
    )
    assert state(session).pad == {"a": {"said": "HELLO"}, "b": {"said": "hello"}}
    assert sorted(event["activity"] for event in events(session, "tool.intended")) == ["", "whisper"]
    assert rebuild.check(session) == []


def test_an_activity_that_the_tool_does_not_have_or_does_not_let_a_plan_choose_is_refused():
    for call, rule in (
        (step("shout", text="x", _activity="by_card"), "unknown_activity"),
        (step("count_words", text="x", _activity="whisper"), "unknown_activity"),
        (step("pay", text="x", _activity="by_cheque"), "fixed_property"),
        (step("pay", text="x", _activity="by_cash"), "unknown_activity"),
    ):
        with pytest.raises(PlanRefused, match=rule):
            handed(call)


def test_what_was_approved_is_executed_by_the_activity_that_was_shown():
    session = handed(step("pay", "state.paid", text="x", _activity="by_card"))
    (request,) = pending(state(session))
    assert request.asked.activity == "by_card"
    asked = request.asked
    bound = (asked.call, 0, "pay", 1, asked.arguments, asked.basis)
    assert permit_digest(*bound, "by_card") == asked.digest
    assert permit_digest(*bound, "by_cheque") != asked.digest != permit_digest(*bound)
    assert "by_card" in cast.browser(cast.alice()).get(f"/decisions/{asked.request}/").content.decode()
    approvals_commands.decide(cast.bob(), UUID(request.asked.request), approvals_commands.Decision("approve"))
    work()
    assert state(session).pad["paid"] == {"paid": "by card"}
    assert events(session, "tool.intended")[0]["digest"] == request.asked.digest


def test_a_call_of_a_tool_without_a_function_is_answered_by_the_model():
    call = step("count_words", "state.words", text="†notes.n", _scopes=["notes", "input.hint"])
    session = handed({**call, "text": "one two"}, answers=({"n": 2},), data={"pin": "1234", "n": 7}, inputs={"hint": 1})
    assert state(session).pad["words"] == {"n": 2}
    (asked,) = thinker.tasks
    assert asked.state == {
        "task": "count_words",
        "parameters": {"text": "one two"},
        "given": {"notes": {"n": 7}, "input": {"hint": 1}},
    }
    assert [each.name for each in asked.tools] == [ANSWER]
    assert asked.tools[0].parameters == NUMBERS
    (returned,) = events(session, "tool.returned")
    assert returned["answered"]["digest"] == request_digest(asked)
    assert (returned["answered"]["model"], returned["answered"]["input_tokens"]) == ("thinker", 10)
    assert rebuild.check(session) == []


def test_the_request_of_an_answered_call_can_be_made_again_from_the_entries():
    session = handed(step("count_words", "state.w", text="one", _scopes=["notes"]), answers=({"n": 1},), data={"n": 3})
    intended = next(
        line for line in entry_lines.entries(cast.alice(), session, limit=500) if line.kind == "tool.intended"
    )
    then = states.as_of(session, intended.seq + 1)
    again = model_tasks.request_for(tools.find("count_words"), then, then.calls[intended.data["call"]], "thinker")
    assert request_digest(again) == events(session, "tool.returned")[0]["answered"]["digest"]


def test_without_scopes_the_model_sees_nothing_but_the_parameters():
    handed(step("count_words", text="one"), answers=({"n": 1},), data={"n": 3}, inputs={"hint": 1})
    assert thinker.tasks[0].state["given"] == {}


def test_an_answer_that_breaks_the_schema_is_sent_back_once():
    session = handed(step("count_words", "state.w", text="one"), answers=({"n": "one"}, {"n": 1}))
    assert state(session).pad["w"] == {"n": 1}
    assert "result.n: type want integer" in thinker.tasks[1].messages[-1].text
    (returned,) = events(session, "tool.returned")
    assert (returned["answered"]["repaired"], returned["answered"]["input_tokens"]) == (True, 20)


@pytest.mark.parametrize("answers", [({"n": "one"}, {"m": 1}), ("Two words.", "Two."), ({}, "Two.")])
def test_a_second_wrong_answer_fails_the_call_by_name(answers):
    session = handed(step("count_words", "state.w || state.wrong", text="one"), answers=answers)
    assert "does not follow the schema" in state(session).pad["wrong"]["error"]
    assert len(thinker.tasks) == 2


def test_a_model_that_is_away_is_asked_again_like_any_tool():
    away = ModelFailed("the model is away", transient=True)
    session = handed(step("count_words", "state.w", text="one"), answers=(away, {"n": 1}))
    until = time.monotonic() + 20
    while "w" not in state(session).pad and time.monotonic() < until:
        time.sleep(0.05)
        work()
    assert state(session).pad["w"] == {"n": 1}
    assert [event["transient"] for event in events(session, "tool.failed")] == [True]


def test_a_parameter_that_reads_what_is_private_is_refused_before_anything_runs():
    with pytest.raises(PlanRefused, match="private_parameter"):
        handed(step("count_words", text="†notes.pin"), data={"pin": "1234"})
    with pytest.raises(PlanRefused, match="private_parameter"):
        handed(step("shout", "state.x", text="†notes.pin"), data={"pin": "12a"})


def test_a_customer_of_the_bank_who_complains_is_sorted_by_the_model(bank):
    session = opened()
    say(session, "I must complain: your line kept me on hold for an hour today!")
    assert state(session).pad["complaint"]["topic"] == "service"
    assert state(session).pad["complaint"]["urgent"] is True
    assert any("complaint about our service" in item.text for item in state(session).items if item.role == "agent")
    answered = [event["answered"] for event in events(session, "tool.returned") if event["answered"]]
    assert [each["model"] for each in answered] == ["scripted"]


def test_the_bank_reads_a_customer_without_contacts_where_a_plan_says_so(bank):
    session = opened()
    call = step("load_customer", "state.customer", customer="C-1001", _activity="without_contacts")
    plans_commands.propose_plan(cast.alice(), session, calls=[call])
    work()
    assert state(session).pad["customer"]["interactions"] == []
    assert registry.facts_for("bank")["load_customer"].activities == frozenset({"without_contacts"})


def test_an_agent_with_scopes_of_its_own_is_shown_no_more_than_they_name():
    session = handed(step("shout", "state.a", text="x"), step("shout", "state.b", text="y"), data={"n": 3})
    narrow = structs.replace(AGENT, scopes=("state.b", "notes.n"))
    wide, few = (definition.build(agent, "m", state(session)).state for agent in (AGENT, narrow))
    assert (wide["a"], wide["data"]) == ({"said": "X"}, {"notes": {"n": 3}})
    assert "a" not in few
    assert (few["b"], few["data"]) == ({"said": "Y"}, {"notes": {"n": 3}})
    assert (
        definition.build(structs.replace(AGENT, scopes=()), "m", state(session)).state.keys().isdisjoint({"b", "data"})
    )


def test_a_model_that_plans_is_told_by_which_activities_a_tool_may_act():
    specs = {
        each.name: each.description for each in registry.tool_specs(structs.replace(AGENT, offers=offers.PLANNING))
    }
    assert "whisper: Says it quietly." in specs["shout"]
    assert "whisper" not in {each.name: each.description for each in registry.tool_specs(AGENT)}["shout"]
