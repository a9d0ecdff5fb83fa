"""Fills the bank: schema, people, accounts, earlier contacts. What is there already stays as it is.

Not a reset: balances and transfers of a running demo survive it.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import psycopg

from demo.bank.people import Person, everybody

Connection = psycopg.Connection[Any]


def seed(connection: Connection) -> int:
    """Make schema and rows that are missing, in one transaction. Returns how many customers the bank has."""
    with connection.transaction():
        # Two seeds at once would race on CREATE TABLE IF NOT EXISTS.
        connection.execute("select pg_advisory_xact_lock(hashtextextended('demo.bank seed', 0))")
        connection.execute(files("demo.bank").joinpath("schema.sql").read_bytes())
        _add(connection, everybody())
        row = connection.execute("select count(*) from core.customers").fetchone()
    return int(row[0]) if row else 0


def refill(connection: Connection) -> int:
    """Run the bank's refill rule (see schema.sql). Returns how many postings it made."""
    with connection.transaction():
        row = connection.execute("select core.refill()").fetchone()
    return int(row[0]) if row else 0


def _add(connection: Connection, people: tuple[Person, ...]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into core.customers (id, name, number, check_flag) values (%s, %s, %s, %s)"
            " on conflict (id) do nothing",
            [(p.id, p.name, p.number, p.flag) for p in people],
        )
        cursor.executemany(
            "insert into core.accounts (id, customer_id, kind, currency, balance)"
            " values (%s, %s, %s, 'USD', %s) on conflict (id) do nothing",
            [(a.id, p.id, a.kind, a.balance) for p in people for a in p.accounts],
        )
        # Contacts are dated back from the first start; a later seed must not add a second, shifted set.
        cursor.executemany(
            "insert into core.interactions (customer_id, at, summary)"
            " select %(id)s, date_trunc('minute', now()) - make_interval(mins => %(ago)s), %(words)s"
            " where not exists (select 1 from core.interactions where customer_id = %(id)s"
            "                    and summary = %(words)s)",
            [{"id": p.id, "ago": ago, "words": words} for p in people for ago, words in p.notes],
        )
