"""No private value flows to a model, to a tool that is not declared to receive it, or into a text that is shown.

The same answer of a hostile model is carried out over sessions that differ in their private values alone. All that
comes out must be the same, byte for byte: the events, the requests, what tools and delegates are given. So a value is
not told, and neither is a question about it answered: whether it is there, how it begins, of which type it is.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from hypothesis import HealthCheck, example, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import Call
from sessions.agents.registry import Agent
from sessions.runtime import execution
from sessions.runtime.views import view_of
from sessions.tools import registry as tools
from tests.shell.private_world import AGENT, BANK, MARK, PRIVATE, SESSION, TOOLS, Flow

CALL = Call("c", "flow_verify", {"text": "x"}, None, CallStatus.RUNNING)
PLACES = [
    "state.verification",
    "state.verification.answer",
    "state.verification.answer.x",
    "state.verification.asked.0.at",
    "state.people",
    "state.people.0",
    "state.people.0.pin",
    "state.people.1.pin.0",
    "state.people.1.pin.1.x",
    "state.people.pin",
    "state.customer",
    "state.customer.secret",
    "state.codes",
    f"state.codes.{MARK}",
    "state.codes.4711.a",
    "state.deep",
    "state.deep.a.b",
    f"state.deep.a.b.{MARK}.c",
    "notes",
    "notes.pin",
    "letters",
    "letters.from",
    f"letters.{MARK}",
    "state",
    "state.customer.name",
    "state.n",
    "notes.n",
    "input",
]
GUARDS = [
    "state.verification.answer.startsWith('Z')",
    "has(state.verification)",
    "has(state.verification.answer) || true",
    "size(state.verification) == 2",
    "state['verification']['answer'] == 'x'",
    "state[state.key] == 'x'",
    "state.people[0][state.key] == 'x'",
    "state.people.exists(p, has(p.pin))",
    "'secret' in state.customer",
    "state.verification.answer",
    "int(state.verification.answer) == 1",
    "state.codes[state.verification.answer] == 'x'",
    "[state].exists(s, size(s) > 7)",
    "state.n == 7",
    "state.customer.name == 'Ada'",
    "arguments.text == 'x'",
    "arguments.text != ''",
]
FORMS = [
    "†{0}",
    "† {0}",
    "†{0} ",
    "††{0}",
    "†{0} || †{1}",
    "†{0} && †{1}",
    "{0}",
    "†state.n || †{0}",
    "†{0}.",
    "†{0}||{1}",
]
references = st.builds(
    lambda form, one, other: form.format(one, other), st.sampled_from(FORMS), *[st.sampled_from(PLACES)] * 2
)
texts = st.one_of(
    references, st.lists(references, max_size=2), st.builds(lambda text: {"deep": {"er": [text]}}, references)
)
calls = st.fixed_dictionaries(
    {"_tool": st.sampled_from([*TOOLS, "plan", "nothing"])},
    optional={
        "text": texts,
        "amount": st.one_of(references, st.just("x"), st.integers(0, 3)),
        "_id": st.sampled_from(["a", "b", "†state.verification.answer"]),
        "_when": st.sampled_from(GUARDS),
        "_scopes": st.lists(st.sampled_from([*PLACES, "†state.verification.answer"]), max_size=3),
        "_delegate": st.sampled_from(["anonymous", "†state.verification.answer", "batch"]),
        "_outputPath": st.sampled_from(
            [
                "state.scrap",
                "state.verification",
                "state.scrap || state.verification",
                "notes.pin",
                "state.people.0.pin",
            ]
        ),
        "_activity": st.sampled_from(["", "†state.verification.answer"]),
        "_instance": st.sampled_from(["†state.verification.answer", "other"]),
        "calls": st.just([{"_tool": "flow_remember", "text": "†state.verification.answer"}]),
    },
)


def flows(answer: list[dict[str, Any]], private: Any, agent: Agent = AGENT) -> list[bytes]:
    """All that comes out of a session with these private values after an answer, and after the next."""
    flow = Flow(private, agent)
    flow.answer([msgspec.json.decode(msgspec.json.encode(each)) for each in answer])
    if not flow.state.asking:
        flow.answer([{"_tool": agent.tools[0], "text": "†state.seen.view.state.verification.answer"}])
    return flow.out


@bounded(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(calls, min_size=1, max_size=3))
@example([{"_tool": "flow_remember", "text": "†state.verification.answer"}])
@example([{"_tool": "flow_remember", "amount": "†state.verification.answer"}])
@example([{"_tool": "flow_remember", "text": "x", "_when": "state.verification.answer.startsWith('Z')"}])
@example([{"_tool": "flow_remember", "text": "x", "_when": "size(state.people[0]) == 2"}])
@example([{"_tool": "flow_remember", "text": "x", "_delegate": "anonymous", "_scopes": ["state", "notes", "letters"]}])
@example([{"_tool": "flow_remember", "text": "x", "_scopes": ["state", "notes", "letters"]}])
@example([{"_tool": "flow_look", "text": "x"}])
@example([{"_tool": "flow_fail", "text": "x"}])
@example([{"_tool": "flow_sort", "text": "x", "_scopes": ["state", "notes"]}])
@example([{"_tool": "flow_pay", "text": "x"}])
@example([{"_tool": "flow_remember", "text": "†letters.from"}])
@example([{"_tool": "flow_remember", "text": "x", "_scopes": ["state.codes.4711.a"]}])
@example([{"_tool": "flow_remember", "text": f"†state.codes.{MARK} || †state.n"}])
def test_what_comes_out_is_the_same_whatever_the_private_values_are(answer):
    told = flows(answer, MARK)
    assert not any(MARK.encode() in each for each in told if MARK not in str(answer))
    assert told == flows(answer, 987_654_321)
    assert told == flows(answer, None)


def test_the_bank_tells_no_private_value_either():
    for name in (*BANK.tools, "plan"):
        for text in ("†state.verification.answer", "†state.verification", "†state.verification || x"):
            for more in (
                {},
                {"_when": "state.verification.answer == 'x'"},
                {"_delegate": "anonymous", "_scopes": ["state"]},
            ):
                answer = [{"_tool": name, "customer": text, "purpose": text, "what": text, "amount": text, **more}]
                assert flows(answer, MARK, BANK) == flows(answer, None, BANK)


def test_a_tool_that_receives_a_private_value_gives_no_copy_of_it_back(caplog):
    found = tools.find("flow_verify")
    flow = Flow(MARK)
    with caplog.at_level(logging.DEBUG):
        returned = execution.run_call(str(SESSION), flow.state, CALL)
        failed = execution.run_call(str(SESSION), flow.state, msgspec.structs.replace(CALL, arguments={"text": "fail"}))
    view = view_of(flow.state, CALL, found)
    assert view["state"]["verification"] == {"answer": MARK}
    assert view["state"]["people"][0]["pin"] == MARK
    assert returned.result == {
        "passed": False,
        "held": "[masked]",
        "[masked]": ["it is [masked]."],
        "n": 12,
        "yes": True,
    }
    assert failed.reason == "[masked] is wrong"
    assert MARK not in caplog.text
    assert view_of(flow.state, CALL, tools.find("flow_remember")) == {}


def test_what_has_become_private_since_a_plan_was_checked_is_refused_when_its_call_begins():
    for call in ({"text": "†state.verification.answer"}, {"text": "x", "_when": "size(state.verification) > 0"}):
        flow = Flow(MARK)
        flow.private = ()
        flow.ask()
        flow.command(core.Answer(flow.step, "m", "", (ev.CallProposed("call-1", "flow_remember", call, None),)))
        assert flow.state.plans.ready
        flow.private = PRIVATE
        flow.run()
        refused = [event for event in flow.events if isinstance(event, ev.CallRefused)]
        assert [each.code for each in refused] == ["private_parameter"]
        assert not any(MARK.encode() in each for each in flow.out)
