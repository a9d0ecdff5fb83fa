"""The ledger on a real PostgreSQL: append, race, refuse, read back."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest
from django.db import DatabaseError, connection, connections, transaction

from agentstate.clock import now
from agentstate.engine.instants import stamp
from audit import keys, ledger
from audit.tlog import canonical, tree
from tests.shell.together import at_once

TENANT = uuid4()


def said(text: bytes) -> bytes:
    """A payload: a JSON object, as all are."""
    return b'{"text":"%s"}' % text


def batch(*texts: bytes, **more: object) -> ledger.Batch:
    return ledger.Batch(
        drafts=[ledger.Draft("test.said", said(text)) for text in texts],
        kid=keys.subject_kid(TENANT, "somebody"),
        actor="system",
        at=stamp(now()),
        command=uuid4(),
        **more,  # type: ignore[arg-type]
    )


def new_log(*texts: bytes) -> ledger.Head:
    head = ledger.create(uuid4(), TENANT, batch(*(texts or (b"hello",))))
    assert head is not None
    return head


@pytest.mark.django_db
def test_what_is_appended_is_read_back_in_order():
    head = ledger.append(new_log(b"one"), batch(b"two", b"three" * 200))
    assert head is not None
    opened = [text for _, text in ledger.open_rows(ledger.read_rows(head.log))]
    assert opened == [said(b"one"), said(b"two"), said(b"three" * 200)]
    assert ledger.read_head(head.log) == head


@pytest.mark.django_db
def test_the_head_is_the_tree_of_the_stored_envelopes():
    head = ledger.append(new_log(b"a", b"b", b"c"), batch(b"d", b"e"))
    assert head is not None
    leaves = [tree.leaf_hash(row.envelope) for row in ledger.read_rows(head.log)]
    assert head.root == tree.root_of(leaves)


@pytest.mark.django_db
def test_envelopes_are_canonical_and_hold_no_word_of_the_payload():
    head = new_log(b"the secret amount")
    row = next(ledger.read_rows(head.log))
    assert canonical.loads(row.envelope)["seq"] == 0
    assert b"secret" not in row.envelope + (row.ciphertext or b"")


@pytest.mark.django_db
@pytest.mark.parametrize("start", range(5))
def test_a_head_and_what_is_newer_are_read_in_one_statement(start):
    log = new_log(b"one", b"two", b"three").log
    head, rows = ledger.read_newer(log, start)
    assert head == ledger.read_head(log)
    assert rows == list(ledger.read_rows(log, start))
    with pytest.raises(ledger.UnknownLog):
        ledger.read_newer(uuid4(), start)


@pytest.mark.django_db
def test_a_lost_race_writes_nothing():
    head = new_log()
    assert ledger.append(head, batch(b"first")) is not None
    assert ledger.append(head, batch(b"second")) is None
    assert ledger.read_head(head.log).size == 2


@pytest.mark.django_db
def test_what_continues_another_history_of_the_same_size_writes_nothing():
    head = new_log()
    other = replace(head, frontier=tree.append(b"", 0, [tree.leaf_hash(b"another entry")]))
    assert ledger.append(other, batch(b"first")) is None
    assert ledger.append(head, batch(b"first")) is not None


@pytest.mark.django_db(transaction=True)
def test_eight_writers_at_once_leave_a_gapless_log_whose_root_is_right():
    head = new_log()

    def write() -> None:
        for _ in range(10):
            while ledger.append(ledger.read_head(head.log), batch(b"x")) is None:
                pass

    at_once(*[write] * 8)
    rows = list(ledger.read_rows(head.log))
    assert [row.seq for row in rows] == list(range(81))
    assert ledger.read_head(head.log).root == tree.root_of([tree.leaf_hash(row.envelope) for row in rows])


@pytest.mark.django_db
def test_a_guard_that_finds_nothing_writes_nothing():
    head = new_log()
    never = ledger.Fragment("SELECT 1 WHERE false", {})
    assert ledger.append(head, batch(b"x", guard=never)) is None
    assert ledger.read_head(head.log).size == 1


@pytest.mark.django_db
def test_one_idempotency_key_is_taken_once_per_log():
    head = ledger.append(new_log(), batch(b"x", key=b"k", digest=b"d"))
    assert head is not None
    with pytest.raises(psycopg.errors.UniqueViolation), transaction.atomic():
        ledger.append(head, batch(b"y", key=b"k", digest=b"d"))
    assert ledger.read_receipt(head.log, b"k").first == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entry SET envelope = ''",
        "DELETE FROM audit_entry",
        "TRUNCATE audit_entry",
        "UPDATE audit_payload SET ciphertext = ''",
        "DELETE FROM audit_payload",
        "DELETE FROM audit_head",
        "UPDATE audit_receipt SET first = 0",
        "UPDATE audit_subjectkey SET wrapped = NULL",
        "ALTER TABLE audit_entry DISABLE TRIGGER ALL",
    ],
)
def test_the_application_role_may_only_insert_and_select(statement):
    new_log()
    with pytest.raises(DatabaseError, match=r"permission denied|must be owner"), transaction.atomic():
        connection.cursor().execute(statement)


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
@pytest.mark.parametrize(
    "statement", ["UPDATE audit_entry SET envelope = ''", "DELETE FROM audit_payload", "TRUNCATE audit_entry"]
)
def test_even_the_owner_is_told_no_by_the_triggers(statement):
    new_log()
    with pytest.raises(DatabaseError, match="append-only"):
        connections["owner"].cursor().execute(statement)


@pytest.mark.django_db
def test_a_head_never_shrinks():
    head = ledger.append(new_log(), batch(b"x"))
    assert head is not None
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
        connection.cursor().execute("UPDATE audit_head SET size = 1 WHERE log = %s", [head.log])


@pytest.mark.django_db(databases=["default", "owner"])
def test_every_privilege_in_the_catalog_is_in_the_list_and_the_reverse():
    from agentstate.grants import APP_MAY, ORDINARY

    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "SELECT table_name, array_agg(privilege_type::text) FROM information_schema.table_privileges"
            " WHERE grantee = 'app' AND table_schema = 'public' GROUP BY 1"
        )
        found = {table: sorted(privileges) for table, privileges in cursor.fetchall()}
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [row[0] for row in cursor.fetchall()]
    assert found == {table: sorted(APP_MAY.get(table, ORDINARY)) for table in tables}


@pytest.mark.django_db
def test_a_subject_keeps_its_key_and_another_has_another():
    first = keys.subject_kid(TENANT, "ada")
    assert keys.subject_kid(TENANT, "ada") == first
    assert keys.subject_kid(TENANT, "bob") != first
    assert len({keys.subject_key(first), keys.subject_key(keys.subject_kid(TENANT, "bob"))}) == 2


@pytest.mark.django_db
def test_what_is_sealed_opens_only_for_its_purpose():
    kid = keys.subject_kid(TENANT, "ada")
    sealed = keys.seal(kid, "card/1", b"words")
    assert keys.unseal(kid, "card/1", sealed) == b"words"
    with pytest.raises(keys.Unreadable):
        keys.unseal(kid, "card/2", sealed)
