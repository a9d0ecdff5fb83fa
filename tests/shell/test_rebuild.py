"""`rebuild --check` finds every row that is not the fold of the ledger, and `rebuild` makes it so again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections, transaction

from agentstate.engine.state.session import SessionState
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.models.sessions import AgentSession, Snapshot
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import opened, say

pytestmark = pytest.mark.django_db(transaction=True)


def tampered(statement: str) -> None:
    """Run `statement` as a database superuser, triggers off."""
    stack = settings.STACK
    with psycopg.connect(stack.dsn(stack.superuser, stack.database), autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(statement)  # type: ignore[arg-type]


def a_session():
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello?", key="k")
    return session


def differences(session) -> list[str]:
    states.forget_all()
    return [difference.what for difference in rebuild.check(session)]


def test_untouched_rows_are_the_fold(bank):
    session = opened()
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes.")
    assert differences(session) == []


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE agent_sessions_agentsession SET status = 'done'", "session.status"),
        ("UPDATE agent_sessions_agentsession SET seq = 1", "session.seq"),
        ("UPDATE agent_sessions_agentsession SET agent = 'other'", "session.agent"),
        ("UPDATE agent_sessions_agentsession SET channel = 'chat'", "session.channel"),
        ("UPDATE agent_sessions_agentsession SET alias_token = 'other'", "session.alias_token"),
        ("UPDATE agent_sessions_agentsession SET team_id = gen_random_uuid()", "session.team_id"),
        ("UPDATE agent_sessions_agentsession SET tenant_id = gen_random_uuid()", "session.tenant_id"),
        ("UPDATE agent_sessions_agentsession SET kid = gen_random_uuid()", "session.kid"),
        ("UPDATE agent_sessions_agentsession SET card = '\\x00'", "session.card"),
        ("DELETE FROM agent_sessions_agentsession", "session"),
        ("UPDATE audit_receipt SET first = 0", "receipt"),
        ("UPDATE audit_receipt SET digest = '\\x00'", "receipt"),
        ("UPDATE audit_receipt SET command = gen_random_uuid()", "receipt"),
        ("UPDATE audit_entry SET envelope = overlay(envelope placing '\\x39' from 30)", "entries"),
        ("UPDATE audit_payload SET ciphertext = overlay(ciphertext placing '\\x00' from 3) WHERE seq = 1", "entries"),
        ("DELETE FROM audit_payload WHERE seq = 1; DELETE FROM audit_entry WHERE seq = 1", "entries"),
    ],
)
def test_what_a_superuser_changed_is_found(statement, found):
    session = a_session()
    assert differences(session) == []
    tampered(statement)
    assert [what for what in differences(session) if what.startswith(found)]


def test_a_lost_request_row_comes_back(bank):
    session = opened()
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes.")
    tampered("DELETE FROM agent_sessions_approvalrequest")
    with pytest.raises(CommandError, match="differences"):
        call_command("rebuild", "--check")
    call_command("rebuild")
    assert differences(session) == []
    assert approvals_commands.decide(
        cast.alice(), next(iter(states.load(session).state.requests)), approvals_commands.Decision("approve")
    ).seq


def test_a_false_snapshot_is_found_and_costs_no_truth(bank):
    session = a_session()
    for number in range(120):
        conversation_commands.say(cast.cleo(), session, f"word {number}")
    tampered("UPDATE agent_sessions_snapshot SET sealed = overlay(sealed placing '\\x00' from 40)")
    assert differences(session) == ["snapshot"]


def test_requests_stand_in_their_sessions_team(bank):
    """Who may see and decide a request hangs on its team: a row moved to another team is found, and put back."""
    session = opened()
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes.")
    tampered("UPDATE agent_sessions_approvalrequest SET team_id = gen_random_uuid()")
    assert [what for what in differences(session) if what.endswith(".team_id")]
    call_command("rebuild")
    assert differences(session) == []


def test_dropped_rows_are_written_anew_from_the_ledger(bank):
    session = opened(alias="case 7")
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes.")
    columns = ("team", "tenant", "kid", "alias_token", "status")
    before = AgentSession.objects.filter(pk=session).values(*columns).get()
    tampered("DELETE FROM agent_sessions_approvalrequest; DELETE FROM agent_sessions_agentsession")
    with pytest.raises(CommandError, match="differences"):
        call_command("rebuild", "--check")
    call_command("rebuild")
    assert differences(session) == []
    assert AgentSession.objects.filter(pk=session).values(*columns).get() == before
    (request,) = approvals_queries.requests(cast.alice())
    assert approvals_commands.decide(cast.alice(), request.id, approvals_commands.Decision("approve")).seq


def test_rebuilding_waits_for_a_command_and_a_command_for_it():
    """Both lock the head first: in the other order they would wait for each other."""
    session = a_session()
    with transaction.atomic():
        states.load(session, lock=True)
        rebuilding = ThreadPoolExecutor(max_workers=1)
        done = rebuilding.submit(_rebuild, session)
        assert not wait([done], timeout=0.5).done
        AgentSession.objects.filter(pk=session).update(status="idle")  # a command locks this row second
    done.result(timeout=10)
    assert differences(session) == []


def _rebuild(session) -> None:
    try:
        rebuild.rebuild(session)
    finally:
        connections.close_all()


def test_a_snapshot_of_another_form_is_passed_over_and_written_anew(bank):
    session = a_session()
    loaded = states.load(session)
    states.keep_snapshot(loaded)
    Snapshot.objects.filter(pk=session).update(form="0" * 16, sealed=b"as somebody else wrote it")
    states.forget_all()
    assert states.kept_snapshot(session) == SessionState()
    assert states.load(session).state == loaded.state
    assert differences(session) == []
    Snapshot.objects.filter(pk=session).update(seq=1)
    states.keep_snapshot(states.load(session))
    assert states.kept_snapshot(session) == loaded.state
