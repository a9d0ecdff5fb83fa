"""The legacy bank on a real PostgreSQL: money moves once for each reference, and never runs out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from demo.bank.people import people
from demo.bank.seed import refill, seed
from tests.live.bank import fresh_bank, one

ANNA, BERT = people()[0], people()[1]
SAVINGS, CHECKING = ANNA.account("savings").id, ANNA.account("checking").id
TOTAL = "select sum(balance)::bigint from core.accounts"


@pytest.fixture
def bank(test_database: object) -> str:
    return fresh_bank()


def move(dsn: str, reference: str, minor: int, source: str = SAVINGS, target: str = CHECKING) -> Any:
    with psycopg.connect(dsn) as connection:
        statement = "select receipt, from_balance, to_balance from core.transfer(%s, %s, %s, %s, 'USD')"
        return connection.execute(statement, [reference, source, target, minor]).fetchone()


def balance(dsn: str, account: str) -> int:
    return int(one(dsn, "select balance from core.accounts where id = %s", account))


def test_a_transfer_moves_money_and_a_repeat_answers_the_same_and_moves_nothing(bank: str) -> None:
    before, total = balance(bank, SAVINGS), one(bank, TOTAL)
    first = move(bank, "one", 4300)
    move(bank, "two", 100)
    assert move(bank, "one", 4300) == first
    assert balance(bank, SAVINGS) == before - 4400
    assert one(bank, TOTAL) == total


@pytest.mark.parametrize(
    ("minor", "source", "target"),
    [(4301, SAVINGS, CHECKING), (4300, CHECKING, SAVINGS), (4300, SAVINGS, BERT.accounts[0].id)],
)
def test_a_reference_used_for_something_else_is_refused(bank: str, minor: int, source: str, target: str) -> None:
    move(bank, "one", 4300)
    with pytest.raises(psycopg.Error) as refused:
        move(bank, "one", minor, source, target)
    assert refused.value.sqlstate == "BK002"
    assert one(bank, "select count(*) from core.transfers") == 1


@pytest.mark.parametrize(
    ("code", "minor", "source", "target"),
    [
        ("BK001", 10**9, SAVINGS, CHECKING),
        ("BK003", 100, SAVINGS, "0000000000"),
        ("BK003", 100, "0000000000", CHECKING),
        ("BK004", 0, SAVINGS, CHECKING),
        ("BK004", -5, SAVINGS, CHECKING),
        ("BK004", 100, SAVINGS, SAVINGS),
    ],
)
def test_what_is_no_transfer_is_refused_by_name_and_moves_nothing(
    bank: str, code: str, minor: int, source: str, target: str
) -> None:
    total = one(bank, TOTAL)
    with pytest.raises(psycopg.Error) as refused:
        move(bank, "bad", minor, source, target)
    assert refused.value.sqlstate == code
    assert (one(bank, TOTAL), one(bank, "select count(*) from core.transfers")) == (total, 0)


def test_one_reference_from_many_connections_at_once_moves_money_once(bank: str) -> None:
    before = balance(bank, SAVINGS)
    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(lambda _: move(bank, "same", 100), range(16)))
    assert len(answers) == 1
    assert balance(bank, SAVINGS) == before - 100


def test_opposite_transfers_at_once_neither_deadlock_nor_lose_money(bank: str) -> None:
    total = one(bank, TOTAL)
    ways = [(SAVINGS, CHECKING), (CHECKING, SAVINGS)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: move(bank, f"r{n}", 50, *ways[n % 2]), range(40)))
    assert (one(bank, TOTAL), one(bank, "select count(*) from core.transfers")) == (total, 40)


def test_seeding_again_changes_nothing(bank: str) -> None:
    move(bank, "one", 4300)
    counts = "select (select count(*) from core.accounts) + (select count(*) from core.interactions)"
    before = (balance(bank, SAVINGS), one(bank, counts), one(bank, TOTAL))
    with psycopg.connect(bank) as connection:
        seed(connection)
    assert (balance(bank, SAVINGS), one(bank, counts), one(bank, TOTAL)) == before


def test_every_person_has_two_accounts_and_at_least_five_contacts(bank: str) -> None:
    query = (
        "select count(*) from core.customers c where c.id < 'C-19'"
        " and (select count(*) from core.accounts where customer_id = c.id) = 2"
        " and (select count(*) from core.interactions where customer_id = c.id) >= 5"
    )
    assert one(bank, query) == len(people())


def test_the_refill_rule_brings_money_back_so_that_it_never_runs_out(bank: str) -> None:
    move(bank, "drain", balance(bank, SAVINGS))
    with psycopg.connect(bank) as connection:
        assert refill(connection) > 0
    with psycopg.connect(bank) as connection:
        refill(connection)
        assert refill(connection) == 0
    assert balance(bank, SAVINGS) >= 1_200_000
    assert 60_000 <= balance(bank, CHECKING) <= 1_500_000
