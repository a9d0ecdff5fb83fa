"""What a model is given stays within its budget and can be made again byte for byte; people can mind what is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.model import ModelAnswer, ModelRequest, ProposedCall, Usage
from sessions.agents import model_choice, registry
from sessions.agents.registry import Agent
from sessions.memory import steps
from sessions.runtime import model_requests
from sessions.tools import registry as tools
from tests import cast
from tests.core.test_memory import FRAME, to_be_summarised
from tests.live.chat_server import Call, ChatServer, Raw, Say
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, opened, say, state
from tests.shell.side_by_side_world import told

pytestmark = pytest.mark.django_db(transaction=True)
BUDGET = 900


@tools.tool(
    name="look_up_pin",
    version=1,
    description="Reads what must not be shown.",
    effect="pure",
    arguments={"type": "object", "properties": {}},
)
def look_up_pin(arguments: dict[str, Any], context: tools.ToolContext) -> dict[str, Any]:
    return {"pin": "9137", "name": "Ada"}


MEMO = Agent(
    "memo",
    "Serve the customers.",
    ("look_up_pin",),
    "bank",
    {"look_up_pin": "state.customer"},
    Remembering(BUDGET, summaries="model", private=("state.customer.pin",)),
)
registry.register(MEMO)


@contextmanager
def model(settings, *replies: Say | Raw) -> Iterator[ChatServer]:
    """The agents ask a local Chat Completions server, which gives `replies` in order."""
    with ChatServer(list(replies)) as server:
        settings.AGENT_MODEL, settings.AGENT_BASE_URL, settings.AGENT_API_KEY = "small", server.url, "sk-memo-1a2b3c4d"
        yield server


@contextmanager
def agent_as(**changes: Any) -> Iterator[None]:
    """The agent memo, deployed with other words."""
    registry._registry["memo"] = msgspec.structs.replace(MEMO, **changes)
    yield
    registry._registry["memo"] = MEMO


def request_of(session, seq: int) -> dict[str, Any]:
    answer = Api(cast.alice()).get(f"/sessions/{session}/steps/{seq}/request")
    assert answer.status_code == 200, answer.content
    return answer.json()


def asked(session) -> list[int]:
    """The entries in which a model was asked."""
    return [seq for seq, kind in enumerate(kinds(session)) if kind in ("model.requested", "summary.requested")]


def test_every_request_is_made_again_to_its_last_byte_and_is_what_was_sent(settings, bank):
    replies = [Say(f"Yes, number {number}, that is as you say.") for number in range(60)]
    with model(settings, *replies) as server:
        session = opened(agent="memo")
        for turn in range(16):
            say(session, f"Turn {turn}: is it ${turn},000.00 that I have, and " + "why " * 120)
    made = [request_of(session, seq) for seq in asked(session)]
    assert len(made) == len(server.requests) > 16
    for found, sent in zip(made, server.requests, strict=True):
        assert found["matches"]
        assert hashlib.sha256(found["request"].encode()).hexdigest() == found["digest"]
        assert found["body"]["messages"] == sent["messages"]
    assert {"summary.requested", "summary.made"} <= set(kinds(session))
    assert all(found["tokens"]["total"] * found["factor"] <= BUDGET * 1_000 for found in made if found["tokens"])


def test_a_step_is_made_again_after_the_agent_was_deployed_with_other_words(settings, bank):
    with model(settings, Say("Hello."), Say("Hello again.")):
        session = opened(agent="memo")
        say(session, "Hello?")
        with agent_as(instructions="Sell them something.", tools=()):
            say(session, "Hello again?")
            first, second = (request_of(session, seq) for seq in asked(session))
    assert (first["matches"], second["matches"]) == (True, True)
    assert "Serve the customers." in first["request"]
    assert "look_up_pin" in first["request"]
    assert "Sell them something." in second["request"]
    assert "look_up_pin" not in second["request"]


def test_a_summary_that_the_model_does_not_give_is_written_by_rules(settings, bank):
    long = "why " * 700
    with model(settings, Say("Yes."), Say("Yes."), Say("Yes."), Raw(503, b"{}"), *[Say("Yes.")] * 9):
        session = opened(agent="memo")
        for turn in range(6):
            say(session, f"Turn {turn}: {long}")
    methods = [made["method"] for made in events(session, "summary.made")]
    assert methods
    assert set(methods) <= {"rules/1", "model:small"}
    assert state(session).status == "idle"


def test_a_summary_with_calls_is_not_taken_and_its_entry_says_why(monkeypatch: pytest.MonkeyPatch):
    class Calling:
        name = "small"

        def answer(self, request: ModelRequest) -> ModelAnswer:
            assert request.tools == ()
            return ModelAnswer("She asks.", (ProposedCall("1", "transfer", {}),), Usage(7, 3))

    monkeypatch.setattr(model_choice, "model_for", lambda agent: Calling())
    world = to_be_summarised().after(core.Fit("small", FRAME, "s1", "d"))
    world = world.after(model_requests.summarise(world.state, "s1"))
    (made,) = world.events(ev.SummaryMade)
    assert (made.method, made.because) == ("rules/1", "the model proposed calls, and none was offered")
    assert (made.input_tokens, made.output_tokens) == (7, 3)


def test_what_is_private_reaches_no_model(settings, bank):
    look = Say(calls=(Call("look_up_pin", "{}", id="c1"),))
    with model(settings, look, Say("Ada, hello.")) as server:
        session = opened(agent="memo")
        say(session, "Who am I?")
    assert state(session).pad["customer"]["pin"] == "9137"
    sent = json.dumps(server.requests)
    assert "Ada" in sent
    assert "9137" not in sent


def test_a_request_says_what_the_form_still_lacks_until_it_is_there(bank):
    session = opened("C-1001")
    say(session, "What do I have?")
    first, *_, last = (json.loads(request_of(session, seq)["request"])[0]["state"] for seq in asked(session))
    assert first["lacks"][0].startswith("- state.customer")
    assert "lacks" not in last


def test_where_what_is_pinned_does_not_fit_nobody_is_asked_and_a_supervisor_sees_why(settings, bank):
    with model(settings, *[Say("Yes.")] * 9) as server:
        session = opened(agent="memo")
        say(session, "I tell you. " * 150)
        pin = Api(cast.alice()).post(f"/sessions/{session}/pins", {"seq": 1})
        assert pin.status_code == 201
        with agent_as(memory=Remembering(200)):
            before = len(server.requests)
            say(session, "And now?")
            assert len(server.requests) == before
    assert "entry 1 (pinned)" in state(session).failure
    assert kinds(session)[-1] == "session.failed"


def test_people_pin_rate_and_see_what_is_remembered_and_why(settings, bank):
    with model(settings, Say("Yes.")):
        session = opened(agent="memo")
        say(session, "Never more than $500.00, please.")
    alice = Api(cast.alice())
    assert alice.post(f"/sessions/{session}/pins", {"seq": 1, "why": "her limit"}).status_code == 201
    assert alice.post(f"/sessions/{session}/ratings", {"seq": 1, "rating": 2}).status_code == 201
    memory = alice.get(f"/sessions/{session}/memory").json()
    (item,) = [item for item in memory["items"] if item["seq"] == 1]
    assert item["pinned"]
    assert {"customer", "money", "constraint", "rated"} <= {why["rule"] for why in item["why"]}
    assert item["points"] == item["full"] == sum(why["points"] for why in item["why"])
    assert [(pin["seq"], pin["by"], pin["why"]) for pin in memory["pins"]] == [(1, cast.alice().actor, "her limit")]
    assert alice.ask("DELETE", f"/sessions/{session}/pins/1").status_code == 200
    problem(alice.ask("DELETE", f"/sessions/{session}/pins/1"), 404, "not_pinned")


@pytest.mark.parametrize(
    "body", [{"seq": 99}, {"seq": -1}, {"seq": "1"}, {"seq": 1.5}, {"seq": 1, "why": "x" * 501}, {}]
)
def test_what_cannot_be_pinned_is_refused_by_name(body, bank):
    session = opened("C-1001")
    answer = Api(cast.alice()).post(f"/sessions/{session}/pins", body)
    assert answer.status_code in (400, 404)
    assert answer.json()["code"] in ("not_held", "invalid")


def test_pins_and_requests_are_for_those_who_may(bank):
    session = opened("C-1001")
    problem(Api(cast.vera()).post(f"/sessions/{session}/pins", {"seq": 1}), 403, "permission_denied")
    problem(Api(cast.charlie()).get(f"/sessions/{session}/memory"), 404, "unknown_session")
    problem(Api(cast.charlie()).get(f"/sessions/{session}/steps/1/request"), 404, "unknown_session")
    problem(Api(cast.alice()).get(f"/sessions/{session}/steps/nothing/request"), 404, "unknown_step")


def test_a_request_of_an_older_form_or_without_its_agents_definition_is_not_made_again(test_database, monkeypatch):
    session, alice = told(), Api(cast.alice())
    say(session, "Go.")
    path = f"/sessions/{session}/steps/{asked(session)[0]}/request"
    assert alice.get(path).status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(steps, "FORMS", ("another",))
        problem(alice.get(path), 409, "not_rebuilt")
    with test_database.administrator(test_database.name) as connection:
        connection.execute("DELETE FROM agent_sessions_agentdefinition")
    problem(alice.get(path), 404, "unknown_definition")


def test_an_agent_without_a_script_or_a_configured_model_is_never_asked(caplog):
    registry.register(Agent("mute", "Serve the customers.", (), "bank", {}))
    session = opened("C-1001", agent="mute")
    say(session, "Hello?")
    assert asked(session) == []
    assert [each.exc_info[0] for each in caplog.records if each.exc_info] == [model_choice.NoModel]
    assert "set AGENT_MODEL, or give it a script. mute" in caplog.text
