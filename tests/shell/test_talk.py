"""What a conversation is about, through API, page and the request that the model gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from uuid import UUID

import msgspec
import pytest
from django.urls import reverse

from agentstate.engine import model_request
from agentstate.engine.migrating import catalogue
from agentstate.engine.model import Model, ModelAnswer, ModelRequest, ProposedCall
from agentstate.engine.schemas import declare
from agentstate.engine.understanding.answer import RESOLVE_REFERENCES
from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.held import Reference, Talk
from agentstate.engine.understanding.private import visible_talk, without_private
from agentstate.people.models import User
from sessions.agents import definition, registry
from sessions.core.slots import HIDDEN
from sessions.library import state_schemas
from sessions.web import rebuild
from tests import cast
from tests.shell import marked_world
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.pages import read
from tests.shell.schema_world import deploy

pytestmark = pytest.mark.django_db(transaction=True)


MENTION = "my savings account"


class Resolving:
    """The bank's script, before which the model says what `MENTION` means, once for each message that holds it."""

    def __init__(self, script: Model) -> None:
        self.script, self.name = script, script.name

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        if any(tool.name == RESOLVE_REFERENCES for tool in request.tools) and MENTION in request.messages[-1].text:
            known = request.state["known"]
            meant = [each["id"] for each in known["entities"] if each["label"].startswith("savings")]
            said = {"message": known["message"], "references": [{"mention": MENTION, "entities": meant}]}
            return ModelAnswer("", (ProposedCall("r", RESOLVE_REFERENCES, said),), model=self.name)
        kept = tuple(
            each
            for each in request.messages
            if each.name != RESOLVE_REFERENCES and all(call.tool != RESOLVE_REFERENCES for call in each.calls)
        )
        return self.script.answer(msgspec.structs.replace(request, messages=kept), on_text=on_text)


@pytest.fixture
def resolving(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bank's agent is asked by a model that resolves references."""
    bank = registry.find("bank")
    monkeypatch.setitem(registry._registry, "bank", msgspec.structs.replace(bank, script=Resolving(bank.script)))


@pytest.fixture
def session(bank, resolving) -> UUID:
    """A customer whose accounts have been read, and who has asked about one of them."""
    session = opened()
    work()
    say(session, "What is my balance?")
    say(session, f"So how much is in {MENTION}?")
    return session


def api() -> Api:
    return Api(cast.alice())


def test_what_a_tool_returned_is_known_by_type_label_and_value(session):
    found = api().get(f"/sessions/{session}/entities").json()["entities"]
    accounts = {entity["label"].split()[0]: entity for entity in found if entity["type"] == "account"}
    assert set(accounts) >= {"savings", "checking"}
    assert set(accounts["savings"]["attributes"]) == {"kind", "last4", "balance"}


def test_what_the_model_said_of_the_newest_message_is_shown_as_its_word(session):
    (reference,) = api().get(f"/sessions/{session}/entities").json()["references"]
    assert reference == {"mention": MENTION, "entities": [meant(session)], "by": "model"}
    assert kinds(session).count("references.resolved") == 1
    page = read(cast.browser(cast.alice()).get(reverse("session", args=[session])).content).text()
    assert f"“{MENTION}” means savings" in page
    assert "(by the model)" in page
    assert rebuild.check(session) == []


def test_the_agent_answers_the_customer_after_it_said_what_the_message_refers_to(session):
    said = [event["text"] for event in events(session, "message.added") if event["role"] == "agent"]
    assert "savings" in said[-1]
    asked = [event["tools"] for event in events(session, "model.requested")]
    assert RESOLVE_REFERENCES in asked[-2]
    assert RESOLVE_REFERENCES not in asked[-1]


def test_topics_are_heard_and_set_and_shown_with_their_turns(session):
    assert api().get(f"/sessions/{session}/topics").json()["topic"] == "balance"
    assert api().post(f"/sessions/{session}/topics", {"topic": "loan", "change": "open"}).status_code == 201
    found = api().get(f"/sessions/{session}/topics").json()
    assert found["topic"] == "loan"
    assert [(topic["name"], topic["status"]) for topic in found["topics"]] == [("balance", "left"), ("loan", "open")]
    shown = cast.browser(cast.alice()).get(reverse("session", args=[session])).content.decode()
    assert "Topics" in shown
    assert "Balances" in shown


def test_a_topic_that_nobody_opened_cannot_be_closed(session):
    answer = api().post(f"/sessions/{session}/topics", {"topic": "loan", "change": "close"})
    problem(answer, 404, "unknown_topic")


def test_a_reference_is_put_right_and_the_model_is_told_so(session):
    seq = state(session).talk.heard_seq
    mention = state(session).talk.heard[0].mention
    checking = next(entity.id for entity in state(session).talk.entities if entity.label.startswith("checking"))
    body = {"seq": seq, "mention": mention, "entities": [checking]}
    assert api().post(f"/sessions/{session}/references", body).status_code == 201
    request = definition.build(registry.find("bank"), "scripted", state(session))
    (fact,) = request.state["references"]
    assert fact["said"] == mention
    assert [meant["id"] for meant in fact["means"]] == [checking]
    (line,) = api().get(f"/sessions/{session}/entities").json()["references"]
    assert line["by"].startswith("user:")
    assert "(corrected)" in read(cast.browser(cast.alice()).get(reverse("session", args=[session])).content).text()


def test_a_reference_to_something_unknown_is_refused_by_name(session):
    seq, mention = state(session).talk.heard_seq, state(session).talk.heard[0].mention
    body = {"seq": seq, "mention": mention, "entities": ["nobody"]}
    problem(api().post(f"/sessions/{session}/references", body), 404, "unknown_entity")
    body = {"seq": seq, "mention": "what was never said", "entities": []}
    problem(api().post(f"/sessions/{session}/references", body), 404, "unknown_mention")


def test_who_may_not_whisper_may_not_set_a_topic(session):
    answer = Api(cast.cleo()).post(f"/sessions/{session}/topics", {"topic": "loan", "change": "open"})
    assert answer.status_code in (403, 404)


def test_the_note_is_in_the_request_byte_for_byte_as_often_as_it_is_made(session):
    agent = registry.find("bank")
    first, second = (model_request.digest(definition.build(agent, "scripted", state(session))) for _ in range(2))
    assert first == second
    assert json.dumps(definition.build(agent, "scripted", state(session)).state["references"])


def test_what_is_declared_at_the_opening_is_not_declared_again(session):
    assert "talk.declared" not in kinds(session)
    assert state(session).talk.ontology == registry.ontology_for("bank")


@pytest.fixture
def customer_private(monkeypatch) -> None:
    """The bank's schema marks the place to which its accounts are written as private."""
    bank = state_schemas.named("bank")
    schema = msgspec.json.decode(bank.current.source)
    schema["properties"]["customer"]["x-private"] = True
    changed = declare("bank", bank.current.version, schema)
    versions = (*(each for each in bank.versions.values() if each.version != changed.version), changed)
    deploy(monkeypatch, catalogue(versions, tuple(bank.migrations.values())))


def resolved(who: User, session: UUID) -> set[str]:
    """The ids of entities in what the model said of references, as the reader sees the entries."""
    entries = Api(who).get(f"/sessions/{session}/entries").json()["entries"]
    said = [entry["data"] for entry in entries if entry["kind"] == "references.resolved"]
    assert said
    return {each for one in said for reference in one["references"] for each in reference["entities"]}


def meant(session: UUID) -> str:
    """The id that the customer's newest message means."""
    (known,) = {each for found in state(session).talk.heard for each in found.entities}
    return known


def test_ids_of_results_that_became_private_are_shown_only_to_those_who_may_unmask(session, request):
    assert resolved(cast.alice(), session) == resolved(cast.vera(), session) == {meant(session)}
    request.getfixturevalue("customer_private")
    assert resolved(cast.alice(), session) == {meant(session)}
    assert resolved(cast.vera(), session) == resolved(cast.cleo(), session) == {HIDDEN}


def test_labels_and_values_of_private_results_are_shown_at_no_door_without_unmask(customer_private, session):
    labels = {each.label for each in state(session).talk.entities if each.type == "account"}

    def seen(who: User) -> str:
        doors = [Api(who).get(f"/sessions/{session}/{door}").content.decode() for door in ("entities", "topics")]
        return " ".join([*doors, cast.browser(who).get(reverse("session", args=[session])).content.decode()])

    assert labels
    assert all(label in seen(cast.alice()) for label in labels)
    assert not any(label in seen(cast.vera()) for label in labels)
    types = [each["type"] for each in Api(cast.vera()).get(f"/sessions/{session}/entities").json()["entities"]]
    assert types.count("account") == len(labels)


def test_a_model_is_not_shown_entities_of_private_results():
    talk = Talk(entities=(Entity("1", "account", "savings", place="state.customer"), Entity("2", "account", "other")))
    heard = (Reference("it", ("1",), "model"), Reference("that", ("2",), "model"))
    talk = msgspec.structs.replace(talk, heard=heard, shown=("1", "2"))
    shown = without_private(talk, ["state.customer.secret"])
    assert [each.label for each in shown.entities] == [HIDDEN, "other"]
    assert ([each.entities for each in shown.heard], shown.shown) == ([("2",)], ())
    assert [each.id for each in visible_talk(talk, ["state.customer.secret"]).entities] == ["2"]


def test_a_request_to_a_model_names_no_reference_to_a_private_result(session):
    agent = registry.find("bank")
    memory = msgspec.structs.replace(agent.memory, private=(*agent.memory.private, "state.customer"))
    hiding = msgspec.structs.replace(agent, name="bank_hiding", memory=memory)
    assert "references" in definition.build(agent, "scripted", state(session)).state
    assert "references" not in definition.build(hiding, "scripted", state(session)).state


def test_entities_of_private_data_messages_are_shown_at_no_door_without_unmask(bank, monkeypatch):
    marked_world.deploys_entities(monkeypatch)
    session, cleared = opened(), (registry.ontology_for, registry._fixed_facts)
    marks = marked_world.entities(session)

    def seen(who: User) -> str:
        doors = ("entities", "topics", "entries", "state", "data", "memory", "diff?from=1", "diff?from=2&to=1")
        told = [cast.browser(who).get(f"/sessions/{session}/").content.decode()]
        told.append(Api(who).post(f"/sessions/{session}/resolve", {"text": "Which account?"}).content.decode())
        told.append(Api(who).post(f"/sessions/{session}/replay", {}).content.decode())
        for door in doors:
            path, _, query = door.partition("?")
            query_of = dict(each.split("=") for each in query.split("&")) if query else {}
            answer = Api(who).get(f"/sessions/{session}/{path}", **query_of)
            assert answer.status_code == 200, (door, answer.content)
            told.append(answer.content.decode())
        return " ".join(told)

    assert set(marks) <= {mark for mark in marks if mark in seen(cast.alice())}
    for who in (cast.vera(), cast.cleo()):
        text = seen(who)
        assert [mark for mark in marks if mark in text] == []
    types = [each["type"] for each in Api(cast.vera()).get(f"/sessions/{session}/entities").json()["entities"]]
    assert types.count("account") >= len(marked_world.RESULTS) - 1
    request = definition.build(registry.find("bank"), "scripted", state(session))
    assert [mark for mark in marks if mark in str(request)] == []
    monkeypatch.undo()
    for each in cleared:
        each.cache_clear()
