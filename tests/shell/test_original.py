"""What every test that commits stands on: the database of the next one is as new, whatever was done to it."""

from __future__ import annotations

import psycopg
import pytest

from tests.database import TestDatabase
from tests.original import SEQUENCES, TABLES
from tests.shell.attack_world import Superuser
from tests.shell.bank_world import opened

pytestmark = pytest.mark.django_db(transaction=True)


def held(connection: psycopg.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, and where the sequences stand."""
    names = [name for _, name, _ in connection.execute(TABLES)]
    rows = {name: connection.execute(f"SELECT t::text FROM {name} t ORDER BY 1").fetchall() for name in names}
    return {**rows, "sequences": connection.execute(SEQUENCES).fetchall()}


def test_rows_that_were_written_changed_or_taken_away_are_put_back(test_database: TestDatabase) -> None:
    with test_database.administrator(test_database.name) as connection:
        before = held(connection)
    opened()
    Superuser(test_database).run("DELETE FROM django_migrations WHERE app = 'audit'")
    Superuser(test_database).run("UPDATE django_content_type SET model = 'x' WHERE model = 'user'")
    Superuser(test_database).run("SELECT nextval('django_migrations_id_seq')")
    assert test_database.put_back()
    with test_database.administrator(test_database.name) as connection:
        assert held(connection) == before


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE audit_entry DISABLE TRIGGER append_only",
        "DROP TRIGGER append_only ON audit_entry",
        "GRANT DELETE ON audit_entry TO app",
        "CREATE TABLE more (a int)",
        "ALTER TABLE audit_entry RENAME COLUMN envelope TO cover",
        "CREATE OR REPLACE FUNCTION audit_head_only_grows() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN NEW; END $$",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET timezone = ''CET''', current_database()); END $$",
    ],
)
def test_what_is_more_than_rows_is_noticed_and_a_clone_is_made(test_database: TestDatabase, change: str) -> None:
    Superuser(test_database).run(change)
    assert not test_database.put_back()
    test_database.renew()
    assert test_database.put_back()
