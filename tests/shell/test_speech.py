"""What an agent wants to say waits for a person or is refused, over the real database, the API and the pages."""

from __future__ import annotations

import msgspec
import pytest
from django.core.management import call_command
from django.urls import reverse

from sessions.approvals import commands as approvals_commands
from sessions.approvals import forms
from sessions.approvals import queries as approvals_queries
from sessions.core import partial_answers, stops
from sessions.runtime import leases
from sessions.runtime.running_calls import Flights
from sessions.stops import commands as stops_commands
from sessions.tools import registry as tools
from tests import cast
from tests.live.chat_server import Say
from tests.shell.api_world import Api
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.looping_world import agent
from tests.shell.pages import read
from tests.shell.test_pages_decisions import card, form_of
from tests.shell.test_writing import asked

pytestmark = pytest.mark.django_db(transaction=True)
POLICY = {"policy": "speech", "schema": "", "tools": (), "talk": "", "output_paths": {}}
HELD = "I guarantee that you get $1,200.50 back.\nThank you for waiting."
LINK = "See evil.com."


def spoken(session) -> list[str]:
    return [each["text"] for each in events(session, "message.added") if each["role"] == "agent"]


def chat(session) -> str:
    return read(cast.browser(cast.cleo()).get(reverse("chat_with", args=[session])).content).text()


def test_held_words_are_on_the_card_and_in_the_api_and_said_only_when_approved(settings, bank, monkeypatch):
    with agent(settings, [Say(HELD), Say("You are welcome.")], **POLICY) as server:
        session = opened()
        say(session, "Where is my money?")
        (line,) = approvals_queries.requests(cast.alice())
        assert (line.tool, line.arguments, line.rule) == ("say", {"text": HELD}, "say.promise")
        listed = Api(cast.alice()).get("/requests").json()["requests"]
        assert [(each["id"], each["tool"], each["arguments"]) for each in listed] == [
            (str(line.id), "say", {"text": HELD})
        ]
        page = card(cast.browser(cast.alice()), line.id)
        assert page.id("ask").text() == f"The agent wants to say: {' '.join(HELD.split())}"
        assert "amounts: 1200.50 USD; promises: i guarantee" in page.id("rule").text()
        assert "The agent sends this text once" in page.id("acts").text()
        assert page.id("arg.text").tag == "textarea"  # an input would lose the lines
        staff = read(cast.browser(cast.alice()).get(reverse("session", args=[session])).content).id("items").text()
        assert "Speech needed approval" in staff
        assert "guarantee" in staff
        assert "guarantee" not in chat(session)
        answer = cast.browser(cast.alice()).post(
            reverse("decision", args=[line.id]), {**form_of(page), "decision": "approve"}
        )
        assert answer.status_code == 302
        assert spoken(session) == []
        monkeypatch.setattr(Flights, "start", lambda *call: pytest.fail("no tool runs: the commit says it"))
        work()
        assert spoken(session) == [HELD]  # the two lines as they were proposed: no edit
        assert "guarantee" in chat(session)
        assert len(server.requests) == 1  # the customer has the turn
        assert kinds(session)[-3:] == ["tool.intended", "tool.returned", "message.added"]
        say(session, "Thanks.")
    assert spoken(session) == [HELD, "You are welcome."]
    told = server.requests[1]["messages"]
    at = next(at for at, each in enumerate(told) if each["content"] == HELD)
    assert (told[at]["role"], "tool_calls" in told[at]) == ("assistant", False)
    assert '"said":true' in told[at + 1]["content"]


def test_an_edit_on_the_page_is_said_in_the_place_of_the_words(settings, bank):
    with agent(settings, [Say(HELD)], **POLICY):
        session = opened()
        say(session, "Where is my money?")
        (line,) = approvals_queries.requests(cast.alice())
        client = cast.browser(cast.alice())
        form = {**form_of(card(client, line.id)), "arg.text": "I guarantee nothing.", "reason": "Too much."}
        assert client.post(reverse("decision", args=[line.id]), {**form, "decision": "approve"}).status_code == 302
        work()
        assert spoken(session) == ["I guarantee nothing."]


def test_refused_words_are_told_to_the_model_and_what_it_says_then_is_said(settings, bank):
    with agent(settings, [Say(LINK), Say("Look at our own site.")], **POLICY) as server:
        session = opened()
        say(session, "Where can I read it?")
    assert spoken(session) == ["Look at our own site."]
    assert events(session, "call.refused")[0]["code"] == "refused_by_rule"
    assert "rule say.link" in str(server.requests[1]["messages"])


def test_an_agent_that_only_says_what_is_refused_is_stopped(settings, bank):
    with agent(settings, lambda request: Say(f"{LINK} {len(request['messages'])}"), **POLICY):
        session = opened()
        say(session, "Where can I read it?")
    assert spoken(session) == []
    assert events(session, "run.stopped")[0]["code"] == "circle"


def test_rejected_words_are_never_heard_and_a_second_worker_says_nothing_twice(settings, bank):
    with agent(settings, [Say(HELD), Say("I cannot promise it."), Say(HELD)], **POLICY):
        session = opened()
        say(session, "Where is my money?")
        (line,) = approvals_queries.requests(cast.alice())
        approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("reject", reason="No."))
        work()
        leases.due_now(session)
        work()
    assert "guarantee" not in " ".join(spoken(session))
    assert not [request for request in state(session).requests.values() if request.status.value == "approved"]


def test_a_stop_holds_approved_words_until_it_is_lifted(settings, bank):
    stops.forget()
    with agent(settings, [Say(HELD)], **POLICY):
        session = opened()
        say(session, "Where is my money?")
        (line,) = approvals_queries.requests(cast.alice())
        approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"))
        (row,) = stops_commands.stop(cast.alice(), "everything", reason="a drill")
        work()
        assert spoken(session) == []
        stops_commands.lift(cast.bob(), row.pk, "the drill is over")
        work()
        assert spoken(session) == [HELD]
        call_command("rebuild", "--check")


def test_nothing_of_judged_words_is_passed_on_while_they_are_written(monkeypatch):
    sent: list[object] = []
    monkeypatch.setattr(partial_answers.announcements, "tell", lambda group, message: sent.append(message))
    session = opened()
    speech = asked(session)
    speech.hear("Hello")
    assert sent
    sent.clear()
    silent = partial_answers.Writing(speech._place, "step-1", speech._size, judged=True)
    silent.hear("Hello")
    silent.over()
    assert sent == []


def test_a_streaming_agent_with_rules_about_words_writes_silently(settings, bank, monkeypatch):
    sent: list[object] = []
    monkeypatch.setattr(partial_answers.announcements, "tell", lambda group, message: sent.append(message))
    settings.AGENT_STREAMS = True
    with agent(settings, [Say(HELD)], **POLICY):
        say(opened(), "Where is my money?")
    assert not [each for each in sent if each["type"] == partial_answers.KIND]


@pytest.mark.parametrize("text", ["one\r\ntwo", "one\rtwo", "one\ntwo"])
def test_lines_that_a_browser_ends_otherwise_are_no_edit(text):
    arguments = {"text": text}
    (field,) = forms.fields({}, arguments, arguments, [], {"arg.text": "one\r\ntwo"})
    assert (field.edited, field.is_long, forms.read([field])) == (False, True, arguments)
    (other,) = forms.fields({}, arguments, arguments, [], {"arg.text": "one\r\nthree"})
    assert forms.read([other]) == {"text": "one\nthree"}


@pytest.mark.parametrize("name", ["say", "delegate"])
def test_no_tool_takes_a_name_that_rules_judge_otherwise(name):
    held = tools.find("load_customer")
    with pytest.raises(ValueError, match=f"no tool is called '{name}'"):
        tools.add(msgspec.structs.replace(held, name=name))
