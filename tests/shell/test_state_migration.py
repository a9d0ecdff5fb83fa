"""Sessions at the bank while the schema of their state changes: nothing is lost or waits, and it can be undone."""

from __future__ import annotations

from io import StringIO
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from agentstate.engine import events as ev
from agentstate.engine.events.base import Event, Role
from agentstate.engine.events.upcast import Vocabulary
from agentstate.engine.handlers import event_handler
from agentstate.engine.migrating import CannotMigrate
from agentstate.engine.state import conversation
from agentstate.engine.understanding.held import Understood
from agentstate.people.permissions import PermissionDenied
from demo.bank_agent import tools as bank_tools
from sessions.agents import definition, registry
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.core import states
from sessions.state import commands as state_commands
from sessions.state_schemas import commands as schema_commands
from sessions.state_schemas import queries as schema_queries
from sessions.web import rebuild
from tests import cast
from tests.shell import pages
from tests.shell.api_world import Api, nothing_written, problem
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.schema_world import deploy, deployed

pytestmark = pytest.mark.django_db(transaction=True)


def waiting() -> UUID:
    """$1,200.00 wait for a supervisor."""
    session = opened()
    work()
    say(session, "I want to move $1,200.00 from savings to checking.")
    say(session, "Yes, that is right.")
    return session


def loaded() -> UUID:
    """The customer's record was read."""
    session = opened()
    work()
    say(session, "What is my balance?")
    return session


def command(name: str, *wishes: str) -> str:
    out = StringIO()
    call_command(name, "bank", *wishes, stdout=out)
    return out.getvalue()


def clean(session: UUID) -> None:
    """Rows and snapshots are the fold of the ledger."""
    states.forget_all()
    assert list(rebuild.check(session)) == []


def test_a_session_is_opened_under_the_banks_schema_and_its_values_fit(bank):
    session = loaded()
    assert state(session).schema.reference == "bank@2"
    kinds_line = schema_queries.kinds_of(cast.alice(), session)
    assert (kinds_line.missing, kinds_line.pending, kinds_line.prunable) == ([], 0, [])


def test_a_session_that_waits_for_a_decision_survives_the_deployment(bank, monkeypatch):
    session = waiting()
    request = next(line.id for line in approvals_queries.requests(cast.alice()) if line.session == session)
    deploy(monkeypatch, deployed())
    approvals_commands.decide(cast.alice(), request, approvals_commands.Decision("approve"))
    work()
    assert "state.migrated" in kinds(session)
    assert state(session).schema.reference == "bank@3"
    assert "contacts" in state(session).pad["customer"]
    assert state(session).pad["transfer"]["amount"] == {"minor": 120_000, "currency": "USD"}
    clean(session)


def test_the_first_version_of_an_event_is_read_after_the_second_is_deployed(bank, monkeypatch):
    """Messages get a language, which the old ones do not say: they are read as English, and stay as they are stored."""

    class Said(Event, frozen=True, tag="message.added"):
        role: Role
        text: str
        language: str
        by: str = ""
        queued: int = -1
        understood: Understood | msgspec.UnsetType = msgspec.UNSET
        v: int = 2

    session = loaded()
    before = state(session)
    others = [kind for kind in ev.EVENTS if kind is not ev.MessageAdded]
    union: Any = Said
    for kind in others:
        union = union | kind
    newer: Vocabulary[Any] = Vocabulary(union, {("message.added", 1): lambda form: {**form, "language": "en"}})
    monkeypatch.setattr(ev, "_vocabulary", newer)
    monkeypatch.setitem(event_handler.by_type, Said, conversation.message_added)
    states.forget_all()
    decoded = [event for _, event in states.events_since(session, 0, before.seq)]
    assert {event.language for event in decoded if isinstance(event, Said)} == {"en"}
    say(session, "And what else?")
    assert state(session).messages > before.messages
    assert len(state(session).items) > len(before.items)


def test_a_dry_run_says_what_would_happen_and_writes_nothing(bank, monkeypatch):
    session = loaded()
    deploy(monkeypatch, deployed())
    with nothing_written():
        told = command("migrate_state")
    assert (
        "1 open sessions; 0 are of bank@3, 1 would be carried (0 could not be brought back the same), 0 would stay"
        in told
    )
    assert state(session).schema.reference == "bank@2"


def test_all_open_sessions_are_carried_and_brought_back_by_an_operator(bank, monkeypatch):
    session = loaded()
    before = state(session).pad
    deploy(monkeypatch, deployed())
    assert "1 carried, 0 were there, 0 stay as they are" in command("migrate_state", "--apply")
    assert "0 carried, 1 were there" in command("migrate_state", "--apply")
    assert "1 carried" in command("migrate_state", "--reverse", "--to", "2")
    assert state(session).pad == before
    say(session, "And my savings?")
    assert (state(session).schema.reference, state(session).schema.held) == ("bank@2", True)
    (back,) = [event for event in events(session, "state.migrated") if event["after"] == 2]
    assert (back["by"], back["digest"]) == ("system", ev.digest(before))
    clean(session)


def test_what_cannot_be_carried_is_named_by_path_and_rule_and_goes_on(bank, monkeypatch):
    session = loaded()
    _put(session, "state.remarks", ["there already"])
    deploy(monkeypatch, deployed())
    told = command("migrate_state")
    assert f"{session} from 2: state.notes: taken" in told
    assert "0 carried, 0 were there, 1 stay as they are" in command("migrate_state", "--apply")
    say(session, "And my savings?")
    assert state(session).schema.reference == "bank@2"
    assert "state.notes: taken" in schema_queries.kinds_of(cast.alice(), session).blocked
    with pytest.raises(CannotMigrate):
        schema_commands.migrate(cast.alice(), session, 3)


def _put(session: UUID, path: str, value: Any) -> None:
    """A supervisor writes into the state."""
    from agentstate.engine.merge.three_way import PathChange

    state_commands.change_state(cast.alice(), session, seen=state(session).seq, changes=[PathChange(path, value)])


def test_a_result_that_breaks_the_schema_fails_the_call_and_the_agent_says_so(bank, monkeypatch):
    """It is what the tool declares, where a currency is any text; in the state it is three capital letters."""
    account = bank_tools._account
    odd = {"minor": 120_000, "currency": "dollars"}
    monkeypatch.setattr(bank_tools, "_account", lambda row: {**account(row), "balance": odd})
    session = loaded()
    failed = events(session, "tool.failed")[0]
    assert failed["code"] == "breaks_schema"
    assert "state.customer.accounts.0.balance" in failed["reason"]
    assert "customer" not in state(session).pad
    clean(session)


def test_what_nothing_reads_is_pruned_after_a_dry_run(bank):
    session = loaded()
    _put(session, "state.draft", {"old": 1})
    assert f"{session}: state.draft" in command("prune")
    assert "draft" in state(session).pad
    assert "1 paths in 1 sessions are gone" in command("prune", "--apply")
    assert "draft" not in state(session).pad
    assert "0 paths in 0 sessions" in command("prune")
    clean(session)


def test_a_command_for_an_agent_that_is_not_there_says_so(bank):
    for name in ("migrate_state", "prune"):
        with pytest.raises(CommandError, match="nobody"):
            call_command(name, "nobody")


def test_the_api_shows_the_schema_and_the_three_kinds(bank):
    session = loaded()
    schema = Api(cast.vera()).get("/agents/bank/schema").json()
    assert (schema["name"], schema["version"]) == ("bank", 2)
    writers = {place["path"]: place["writers"] for place in schema["places"]}
    assert writers["state.customer"] == ["tool:load_customer"]
    problem(Api(cast.vera()).get("/agents/nobody/schema"), 400, "unknown_agent")
    body = Api(cast.alice()).get(f"/sessions/{session}/state/kinds").json()
    assert body["task"]["data"]["customer"]["name"]
    assert body["conversation"]["messages"][0]["role"] == "customer"
    assert body["user"]["user_id"] == "C-1001"


def test_private_values_are_shown_to_those_who_may_unmask_only(bank):
    session = loaded()
    _put(session, "state.verification", {"method": "question", "passed": True, "answer": "blue"})
    path = f"/sessions/{session}/state/kinds"
    assert Api(cast.alice()).get(path).json()["task"]["data"]["verification"]["answer"] == "blue"
    assert Api(cast.vera()).get(path).json()["task"]["data"]["verification"] == "(private)"
    for page in (f"/sessions/{session}/", f"/sessions/{session}/state/"):
        assert b"blue" not in _page(cast.vera(), page)


def test_private_values_enter_no_model_request(bank):
    session = loaded()
    _put(session, "state.verification", {"method": "question", "passed": True, "answer": "blue"})
    request = definition.build(registry.find("bank"), "scripted", state(session))
    assert "verification" not in request.state
    assert b"blue" not in msgspec.json.encode(request, enc_hook=str)


def test_the_api_carries_tries_and_prunes_for_those_who_may(bank, monkeypatch):
    session, alice = loaded(), Api(cast.alice())
    deploy(monkeypatch, deployed())
    report = alice.post("/migrations/dry-run", {"agent": "bank"}).json()
    assert (report["to"], report["states"], report["carried"], report["stuck"]) == (3, 1, 1, 0)
    assert alice.post(f"/sessions/{session}/migration", {"to": 3}).status_code == 201
    assert state(session).schema.reference == "bank@3"
    problem(alice.post(f"/sessions/{session}/migration", {"to": 9}), 409, "cannot_migrate")
    assert alice.post(f"/sessions/{session}/pruning", {}).status_code == 201
    for who in (cast.vera(), cast.charlie()):
        for path, body in (("migration", {"to": 2}), ("pruning", {})):
            assert Api(who).post(f"/sessions/{session}/{path}", body).status_code in (403, 404)
    with pytest.raises(PermissionDenied):
        schema_queries.migration_report(cast.vera(), "bank")


def test_the_page_of_the_state_says_who_writes_what_and_what_is_ahead(bank, monkeypatch):
    session = loaded()
    deploy(monkeypatch, deployed())
    page = pages.read(_page(cast.alice(), f"/sessions/{session}/state/"))
    text = page.text()
    assert "bank@2" in text
    assert "Version 3 applies at the next step." in text
    assert "What the authorization service said last, and to which question state.authorization" in text
    assert "tool authorize" in text
    assert f"/sessions/{session}/state/" in _page(cast.alice(), f"/sessions/{session}/").decode()


def _page(user: Any, address: str) -> bytes:
    client = Client(REMOTE_ADDR=cast.address())
    client.force_login(user)
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content


def test_an_entry_says_its_migration_in_words(bank, monkeypatch):
    session = loaded()
    deploy(monkeypatch, deployed())
    command("migrate_state", "--apply")
    assert "State migrated" in _page(cast.alice(), f"/sessions/{session}/audit/").decode()
    assert msgspec.json.encode(events(session, "state.migrated")[0])
