"""Amounts and accounts in what people say: what the scripted agent understands, and what it leaves alone."""

from __future__ import annotations

import pytest

from demo.bank_agent.script.amounts import amounts_in, money, spoken_digits
from demo.bank_agent.script.hearing import hear

ACCOUNTS = [
    {"id": "8841412207", "kind": "savings", "last4": "2207"},
    {"id": "8841419931", "kind": "checking", "last4": "9931"},
]


@pytest.mark.parametrize(
    ("words", "minor"),
    [
        ("$4,300.00", 430000),
        ("4300", 430000),
        ("It is four thousand three hundred dollars", 430000),
        ("four, three, zero, zero", 430000),
        ("4 3 0 0", 430000),
        ("4.3k", 430000),
        ("4.300,00", 430000),
        ("two grand", 200000),
        ("a hundred and twenty dollars", 12000),
        ("sixteen hundred and fifty", 165000),
        ("one hundred dollars and fifty cents", 10050),
        ("$12.5", 1250),
        ("not 4,800 but 4,300", 430000),
        ("thirty thousand one hundred and eleven", 3011100),
    ],
)
def test_an_amount_in_words_or_figures_is_understood(words: str, minor: int) -> None:
    assert amounts_in(words)[-1] == minor


@pytest.mark.parametrize(
    "words",
    [
        "before the roofer comes at four",
        "half past 3",
        "in 45 minutes",
        "my two accounts",
        "forty three fifty",
        "0",
        "1 thousand 500",
        "99999999999999999999",
        "",
        "a dollar",
        "30 days",
    ],
)
def test_a_time_a_count_or_a_muddle_is_no_amount(words: str) -> None:
    assert amounts_in(words) == []


def test_a_small_bare_number_is_money_only_where_money_was_asked_for() -> None:
    assert amounts_in("twelve") == []
    assert amounts_in("twelve", asked=True) == [1200]


def test_the_poor_line_turns_forty_three_hundred_into_forty_eight_hundred_but_not_figures() -> None:
    assert amounts_in("forty-three hundred") == [480000]
    assert amounts_in("twenty-three hundred") == [280000]
    assert amounts_in("4,300") == amounts_in("four thousand three hundred") == [430000]


def test_money_is_written_with_cents_and_commas() -> None:
    assert [money(5), money(430000), money(123456789)] == ["$0.05", "$4,300.00", "$1,234,567.89"]


@pytest.mark.parametrize("words", ["2207", "22 07", "twenty-two oh seven", "two two zero seven"])
def test_an_ending_is_understood_however_it_is_said(words: str) -> None:
    assert spoken_digits(words) == "2207"
    assert hear(f"the one ending {words}", ACCOUNTS).mentioned == "8841412207"


def test_accounts_are_told_by_direction_and_never_taken_for_amounts() -> None:
    said = hear("From savings ending 2207, four thousand dollars, to the one ending ninety-nine thirty-one.", ACCOUNTS)
    assert (said.source, said.target, said.amount) == ("8841412207", "8841419931", 400000)


def test_a_whole_account_number_of_somebody_else_is_a_target_and_no_amount() -> None:
    said = hear("send 2500 to account 9900174410 please", ACCOUNTS)
    assert (said.target, said.amount, said.transfer) == ("9900174410", 250000, True)


def test_an_ending_nobody_has_is_named_as_unknown() -> None:
    assert hear("from the one ending 1234", ACCOUNTS).unknown_ending == "1234"


@pytest.mark.parametrize(
    ("words", "yes", "no"),
    [
        ("Yes. Four three hundred, that's right.", True, False),
        ("No, that's right", True, False),
        ("no problem, go ahead", True, False),
        ("No, that is not right", False, True),
        ("that’s wrong", False, True),
        ("OK, no hurry", True, False),
        ("hm", False, False),
    ],
)
def test_yes_and_no_are_told_apart(words: str, yes: bool, no: bool) -> None:
    said = hear(words, ACCOUNTS)
    assert (said.yes, said.no) == (yes, no)
