"""`rebuild --check` finds every row that is not the fold of the ledger, and `rebuild` makes it so again."""

from __future__ import annotations

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from sessions import commands, rebuild, states
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
    commands.say(cast.cleo(), session, "Hello?", key="k")
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
    assert commands.decide(cast.alice(), next(iter(states.load(session).state.requests)), "approve").seq


def test_a_false_snapshot_is_found_and_costs_no_truth(bank):
    session = a_session()
    for number in range(120):
        commands.say(cast.cleo(), session, f"word {number}")
    tampered("UPDATE agent_sessions_snapshot SET sealed = overlay(sealed placing '\\x00' from 40)")
    assert differences(session) == ["snapshot"]
