"""The SQL of docs/settings.md makes the roles of an outside PostgreSQL, and `migrate` builds the wall between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from agentstate.stack.endpoints import Endpoints
from tests.processes import ROOT, manage

DOCUMENT = ROOT / "docs" / "settings.md"
NAME = "documented"
OWNER, APP, ERASE = "agentstate_owner", "agentstate_app", "agentstate_erase"


def document() -> str:
    """The SQL as the document has it, but for the name of the database: the tests' own has that."""
    found = "\n".join(re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL))
    return found.replace("DATABASE agentstate ", f"DATABASE {NAME} ")


@pytest.fixture
def made(test_database) -> Iterator[Endpoints]:
    """The document's SQL, carried out on the tests' PostgreSQL, and undone."""
    with test_database.administrator() as superuser:
        for statement in document().split(";\n"):
            superuser.execute(statement)
        try:
            yield test_database.stack
        finally:
            superuser.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
            for role in (OWNER, APP, ERASE):
                superuser.execute(f"DROP ROLE IF EXISTS {role}")


def url(stack: Endpoints, role: str) -> str:
    password = re.search(rf"CREATE ROLE {role} LOGIN PASSWORD '([^']*)'", document())
    assert password
    return f"postgresql://{role}:{password[1]}@/{NAME}?host={stack.socket_dir}"


def refused(role_url: str, statement: str) -> bool:
    with psycopg.connect(role_url, autocommit=True) as connection:
        try:
            connection.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            return True
        return False


def test_the_documents_sql_and_three_urls_are_a_ledger_behind_a_wall(made, tmp_path):
    roles = {"DATABASE_URL": APP, "DATABASE_OWNER_URL": OWNER, "DATABASE_ERASE_URL": ERASE}
    urls = {name: url(made, role) for name, role in roles.items()}
    done = manage(
        tmp_path / "state", "migrate", "--verbosity", "0", **urls, REDIS_URL=f"unix://{made.valkey_socket}?db=9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    app, owner, erase = urls["DATABASE_URL"], urls["DATABASE_OWNER_URL"], urls["DATABASE_ERASE_URL"]
    assert not refused(app, "SELECT count(*) FROM audit_entry")
    assert refused(app, "UPDATE audit_entry SET seq = 0")
    assert refused(app, "DELETE FROM audit_payload")
    assert refused(erase, "UPDATE audit_payload SET log = log")
    assert not refused(erase, "DELETE FROM audit_payload")
    assert refused(erase, "SELECT count(*) FROM people_user")
    log = uuid4()
    with psycopg.connect(owner, autocommit=True) as connection:
        columns = connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'audit_payload'"
            " AND is_nullable = 'NO' AND column_default IS NULL"
        ).fetchall()
        values = {"uuid": f"'{log}'", "bytea": "'x'", "bigint": "0", "integer": "0", "smallint": "0"}
        names = ", ".join(name for name, _ in columns)
        connection.execute(f"INSERT INTO audit_payload ({names}) VALUES ({', '.join(values[t] for _, t in columns)})")
    assert refused(owner, "DELETE FROM audit_payload")
    assert not refused(erase, "DELETE FROM audit_payload")
