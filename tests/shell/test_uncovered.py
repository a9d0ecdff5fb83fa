"""Columns of the ledger's tables that no proof covers: what a superuser changes in them is told by the check."""

from __future__ import annotations

from uuid import UUID

import pytest

from audit import erasure, ledger, sequencer, uncovered
from sessions.privacy import erasure as erasing
from tests import cast
from tests.shell.attack_world import Superuser
from tests.shell.bank_world import opened
from tests.shell.erasure_world import approved, kid_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
OTHER = UUID(int=7)


@pytest.fixture
def gone(monkeypatch) -> tuple[UUID, UUID]:
    """A session, sequenced, and the key of its customer, who was erased."""
    monkeypatch.setattr(erasure.keys, "CACHE_SECONDS", 0.0)
    session = opened()
    kid = kid_of(session)
    approved()
    assert erasing.carry_out_due() == 1
    sequencer.run_once(cast.tenant().pk)
    assert uncovered.differences() == []
    return session, kid


LIES = {
    "another tenant": ("UPDATE audit_head SET tenant = %(other)s WHERE log = %(log)s", "tenant"),
    "no end": ("UPDATE audit_subjectkey SET destroyed_at = NULL WHERE kid = %(kid)s", "destroyed_at"),
    "never closed": ("UPDATE audit_subjectkey SET closing_at = NULL WHERE kid = %(kid)s", "closing_at"),
    "closed last year": (
        "UPDATE audit_subjectkey SET closing_at = closing_at - interval '1 year' WHERE kid = %(kid)s",
        "closing_at",
    ),
    "destroyed tomorrow": (
        "UPDATE audit_subjectkey SET destroyed_at = destroyed_at + interval '1 day' WHERE kid = %(kid)s",
        "destroyed_at",
    ),
    "made after its end": (
        "UPDATE audit_subjectkey SET created = now() + interval '1 day' WHERE kid = %(kid)s",
        "created",
    ),
    "others closed": ("UPDATE audit_subjectkey SET closing_at = now() WHERE kid <> %(kid)s", "closing_at"),
}


def test_what_no_proof_covers_is_compared_with_the_ledger(gone, test_database):
    session, kid = gone
    superuser = Superuser(test_database)
    for name, (sql, column) in LIES.items():
        with superuser.connected() as connection:
            tables = ("audit_head", "audit_subjectkey")
            before = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
            connection.execute(sql, {"other": OTHER, "log": session, "kid": kid})
        lines = uncovered.differences()
        assert any(f" {column}: got" in line for line in lines), (name, lines)
        with superuser.connected() as connection:
            for table, rows in before.items():
                connection.execute(f"DELETE FROM {table}")
                for row in rows:
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)
        assert uncovered.differences() == []
    assert ledger.read_head(session).tenant == cast.tenant().pk
