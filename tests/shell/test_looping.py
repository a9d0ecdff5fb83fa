"""The loop of an agent with a real worker, ledger and policy, and a model over the wire: bounds, circles, messages that
arrive meanwhile, output with a schema.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from agentstate.engine.decide import RunUnderWay
from agentstate.errors import Invalid
from sessions.agents import prices
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.library import folders
from sessions.models.alerts import Alert
from tests import cast
from tests.live.chat_server import Raw, Say
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.looping_world import agent, calling, told
from tests.shell.pages import read
from tests.shell.test_alert_watching import look, on
from tests.shell.test_first_transfer import pending

pytestmark = pytest.mark.django_db(transaction=True)
LOAD = calling("load_customer", customer="C-1001")


def test_a_run_out_of_tokens_stops_and_a_person_lets_it_go_on(settings, bank):
    with agent(settings, [LOAD, Say("You have two accounts.")], loop={"run": {"tokens": 20}}) as server:
        session = opened()
        say(session, "What do I have?")
        assert events(session, "run.stopped")[0]["code"] == "tokens"
        assert len(server.requests) == 1
        conversation_commands.grant(cast.alice(), session, reason="a good customer", tokens=100)
        work()
    assert events(session, "message.added")[-1]["text"] == "You have two accounts."


def test_the_page_of_a_stopped_run_asks_for_what_it_lacks_and_the_form_lets_it_go_on(settings, bank, client):
    with agent(settings, [LOAD, Say("Two.")], loop={"run": {"steps": 1}}):
        session = opened()
        say(session, "What do I have?")
        client.force_login(cast.alice())
        form = read(client.get(f"/sessions/{session}/").content.decode()).id("stop-grant")
        assert "More model requests" in form.text()
        client.post(f"/sessions/{session}/stop/grant/", {"reason": "go on", "steps": "3", "of": "run"})
        work()
    assert events(session, "run.granted")[0]["steps"] == 3
    assert not read(client.get(f"/sessions/{session}/").content.decode()).has("stop-grant")


def test_money_is_bounded_by_prices_from_a_file(settings, bank, tmp_path: Path):
    file = tmp_path / "prices" / "models.json"
    file.parent.mkdir()
    file.write_text('{"currency": "USD", "models": {"small": {"input": 1000000, "output": 1000000}}}')
    with folders.added(tmp_path), agent(settings, [LOAD, Say("Two.")], loop={"run": {"micros": 26}}):
        session = opened()
        say(session, "What do I have?")
        assert prices.in_words(1_234_500) == "1.2345 USD"
    assert events(session, "model.answered")[0]["micros"] == 26
    assert events(session, "run.stopped")[0]["code"] == "money"


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"currency":"usd"}', b'{"currency":"USD","models":{"a":{"input":-1,"output":0}}}']
)
def test_prices_that_cannot_be_read_are_refused(data):
    with pytest.raises(prices.BadPrices):
        prices.load(data)


def test_a_model_in_a_circle_is_told_so_and_then_stopped(settings, bank):
    with agent(settings, lambda body: LOAD) as server:
        session = opened()
        say(session, "What do I have?")
    assert events(session, "run.stopped")[0]["code"] == "circle"
    notes = [message["content"] for message in server.requests[-1]["messages"] if '"kind":"note"' in str(message)]
    assert any("the result was the same each time" in note for note in notes)
    assert len(server.requests) == 4


def test_an_agent_whose_calls_people_reject_rests_and_the_page_lists_what_it_wants(settings, bank, client):
    cents = iter(range(60_001, 60_100))

    def asks(body):
        amount = {"minor": next(cents), "currency": "USD"}
        return calling("transfer", from_account="1000000001", to_account="1000000002", amount=amount)

    on("loops", {"on": {"loop": {}}, "severity": "warning", "to": ["role:supervisor"]})
    with agent(settings, asks) as server:
        session = opened()
        say(session, "Move money.")
        for _ in range(3):
            approvals_commands.decide(
                cast.alice(),
                pending(session).id,
                approvals_commands.Decision("reject", reason="not now", code="misheard"),
            )
            work()
        assert len(server.requests) == 4
        assert events(session, "run.stopped")[0]["code"] == "refusals"
        look()
        alerts = Alert.objects.filter(session=session, why="loop")
        assert alerts.count() == 1
        client.force_login(cast.alice())
        form = read(client.get(f"/sessions/{session}/").content.decode()).id("stop-grant").text()
        assert "$600.03 from account ..0001 to account ..0002 (not now)" in form
        assert "Wanted: Move $600.04" in form
        say(session, "Please, please.")
        look()
        assert (len(events(session, "approval.requested")), alerts.count()) == (3, 1)
        client.post(f"/sessions/{session}/stop/grant/", {"reason": "I called the customer"})
        work()
    assert events(session, "run.granted")[0]["refusals"] == 3
    assert len(events(session, "approval.requested")) == 4


def test_an_output_with_a_schema_is_repaired_and_kept(settings, bank):
    schema = {"type": "object", "required": ["grade"], "properties": {"grade": {"type": "integer"}}}
    wrong, right = calling("answer", grade="good"), calling("answer", grade=3)
    with agent(settings, [wrong, right, Say("Done.")], schema="", loop={"output": schema}) as server:
        session = opened()
        say(session, "Grade me.")
    assert (state(session).pad.get("output"), events(session, "tool.failed")) == ({"grade": 3}, [])
    assert told(server.requests[1])[0]["status"] == "error"
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in server.requests[0]["tools"]}
    assert offered["answer"] == schema


def test_an_output_that_never_fits_stops_the_run(settings, bank):
    numbers = iter(range(100))
    schema = {"type": "object", "properties": {"grade": {"type": "integer"}}, "required": ["grade"]}
    with agent(settings, lambda body: calling("answer", grade=f"g{next(numbers)}"), schema="", loop={"output": schema}):
        session = opened()
        say(session, "Grade me.")
    assert events(session, "run.stopped")[0]["code"] == "output"


# Messages that arrive while the model is being asked: the customer speaks from inside of the model's answer


def spoken_meanwhile(settings, setting: str, *after: Say):
    """The customer says "Wait!" while the model works on its first answer; gives the session and the requests made."""
    session, replies = None, iter((Say("Here you are."), *after))

    def answer(body):
        reply = next(replies)
        if reply.text == "Here you are.":
            thread = threading.Thread(target=_speak)
            thread.start()
            thread.join(20)
        return reply

    refused: list[Exception] = []

    def _speak():
        try:
            conversation_commands.say(cast.cleo(), session, "Wait!", key="k")
        except Exception as error:
            refused.append(error)
        finally:
            from django.db import connection

            connection.close()

    with agent(settings, answer, loop={"meanwhile": setting}) as server:
        session = opened()
        say(session, "What do I have?")
        work()
    return session, server.requests, refused


def said(session) -> list[str]:
    return [line["text"] for line in events(session, "message.added")]


def heard(request) -> list[str]:
    envelopes = [json.loads(message["content"]) for message in request["messages"] if message["role"] == "user"]
    return [each["text"] for each in envelopes if each["kind"] == "customer"]


def test_a_message_meanwhile_is_heard_by_the_next_request(settings, bank):
    session, requests, _ = spoken_meanwhile(settings, "hear", Say("I wait."))
    assert said(session) == ["What do I have?", "Wait!", "Here you are.", "I wait."]
    assert heard(requests[1]) == ["What do I have?", "Wait!"]
    assert kinds(session).count("run.started") == 1


def test_an_enqueued_message_begins_the_next_run(settings, bank):
    session, _, _ = spoken_meanwhile(settings, "enqueue", Say("I wait."))
    assert said(session) == ["What do I have?", "Here you are.", "Wait!", "I wait."]
    assert kinds(session).count("run.started") == 2
    queued = kinds(session).index("message.queued")
    assert [line["queued"] for line in events(session, "message.added")] == [-1, -1, queued, -1]


def test_an_interrupting_message_drops_the_answer_that_was_on_its_way(settings, bank):
    session, _, _ = spoken_meanwhile(settings, "interrupt", Say("I wait."))
    assert said(session) == ["What do I have?", "Wait!", "I wait."]
    assert events(session, "run.interrupted")[0]["step"]


def test_a_refused_message_is_told_to_its_sender_and_stands_on_record(settings, bank):
    session, _, refused = spoken_meanwhile(settings, "reject")
    assert said(session) == ["What do I have?", "Here you are."]
    assert [type(error) for error in refused] == [RunUnderWay]
    assert events(session, "message.refused")[0]["text"] == "Wait!"
    with pytest.raises(RunUnderWay):  # the same command again has the same answer
        conversation_commands.say(cast.cleo(), session, "Wait!", key="k")
    assert kinds(session).count("message.refused") == 1


def test_a_message_rolls_the_run_back(settings, bank):
    session, _, refused = spoken_meanwhile(settings, "rollback", Say("I wait."))
    assert not refused
    assert said(session) == ["What do I have?", "Wait!", "I wait."]
    assert events(session, "session.rolled_back")[0]["to"] == kinds(session).index("run.started")
    assert state(session).epoch == 1


# Restarts


def test_what_people_settled_outlives_every_process(settings, bank):
    """A call that a person answered is refused after everything that this process remembers is gone."""
    own = {row[1]: row[0] for row in bank.rows("SELECT id, kind FROM core.accounts WHERE customer_id = 'C-1001'")}
    amount = {"minor": 120000, "currency": "USD"}
    move = calling("transfer", from_account=own["savings"], to_account=own["checking"], amount=amount)
    ends = {"from_account": own["savings"], "to_account": own["checking"]}
    purpose = {"customer": "C-1001", "purpose": "transfer between own accounts", "amount": amount, **ends}
    with agent(settings, [LOAD, calling("authorize", **purpose), move, Say("No."), move, Say("Still no.")]):
        session = opened()
        say(session, "Move it.")
        (request,) = state(session).requests
        approvals_commands.decide(
            cast.alice(), request, approvals_commands.Decision("respond", response="It was moved at the branch.")
        )
        work()
        states.forget_all()
        say(session, "And?")
    assert events(session, "call.refused")[-1]["code"] == "answered_before"
    assert kinds(session).count("approval.requested") == 1
    assert not bank.transfers("C-1001")


def test_a_grant_that_cannot_help_is_refused(settings, bank):
    with agent(settings, [LOAD], loop={"session": {"tokens": 5}}):
        session = opened()
        say(session, "What do I have?")
        with pytest.raises(Invalid, match="not enough"):
            conversation_commands.grant(cast.alice(), session, reason="go on", steps=1)


def test_an_endpoint_that_breaks_off_costs_steps_and_never_more_than_the_bound(settings, bank):
    with agent(settings, lambda body: Raw(503, b"{}"), loop={"run": {"steps": 2}}) as server:
        session = opened()
        say(session, "Hello?")
    assert len(server.requests) <= 2
    assert json.dumps(kinds(session)).count("model.failed") == len(server.requests)
