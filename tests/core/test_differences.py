"""How a call differs from what the customer said: exact amounts and accounts, and never a sign of agreement."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.approvals.differences import Account, Turn, as_data, changes, differences, not_shown, withheld

OWN = [Account("8841412207", "savings", "2207"), Account("8841419931", "checking", "9931")]
STRANGER = "5521847730"
DOLLARS = st.integers(min_value=20, max_value=99_999)


def usd(dollars: int) -> dict[str, Any]:
    return {"minor": 100 * dollars, "currency": "USD"}


def call(dollars: int, to: str = "8841419931") -> dict[str, Any]:
    return {"from_account": "8841412207", "to_account": to, "amount": usd(dollars)}


def compared(arguments: dict[str, Any], *said: str) -> dict[str, tuple[str, list[Any]]]:
    """Kind and other values said, by path."""
    found = differences([Turn(seq, text) for seq, text in enumerate(said)], arguments, ("to_account",), OWN)
    values = {each.path: [one.value for one in each.said] for each in found}
    return {each.path: (each.kind, [_dollars(one) for one in values[each.path]]) for each in found}


def _dollars(value: Any) -> Any:
    return value["minor"] // 100 if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (["fifty-three hundred to checking", "Yes"], ("differs", [5300])),  # the story: heard and read back wrong
        (["5,300 to checking", "five three zero zero"], ("differs", [5300])),
        (["some money to checking", "all of it"], ("not_said", [])),
        (["$5,800 to checking", "No, $5,300."], ("corrected", [5300])),
        (["I said 5,300 and you heard 5,800, to checking"], ("ambiguous", [5300])),
        (["€5,800 to checking"], ("differs", [5800])),
        (["4,000, no, 5,300 to checking", "or 100"], ("differs", [100, 5300, 4000])),
        (["not 5,800 but 5,300 to checking"], ("differs", [5300])),
    ],
)
def test_an_amount_that_is_not_the_customers_is_said(said: list[str], found: tuple[str, list[int]]) -> None:
    assert compared(call(5800), *said) == {"arguments.amount": found}


@pytest.mark.parametrize(
    "said",
    [
        ["fifty-eight hundred from savings to checking"],
        ["$5,300 to checking", "Sorry, I meant 5,800 dollars", "Thank you"],
        ["5800 from the account ending 2207 to 9931, I am C-1042, call me at 10:30, it is 20% off since 2019"],
        ["five thousand eight hundred dollars to checking, in 30 days"],
    ],
)
def test_what_was_said_last_and_alone_has_no_sign(said: list[str]) -> None:
    assert compared(call(5800), *said) == {}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (["5,800 to my daughter"], ("not_said", [])),
        (["5,800 to 5521847731"], ("differs", ["5521847731"])),
        (["5,800 to 5521847730", "I mean 5521847731"], ("corrected", ["5521847731"])),
        (["5,800 to 5521847730 or 5521847731"], ("ambiguous", ["5521847731"])),
    ],
)
def test_a_payee_that_is_not_the_customers_is_said(said: list[str], found: tuple[str, list[str]]) -> None:
    assert compared(call(5800, STRANGER), *said) == {"arguments.to_account": found}


@pytest.mark.parametrize(
    "said",
    ["to 5521847730", "to 55 21 84-77 30", "the one ending 7730", "five five two one eight four seven seven three oh"],
)
def test_a_payee_is_named_by_its_number_or_the_end_of_it(said: str) -> None:
    assert compared(call(5800, STRANGER), f"$5,800 {said}") == {}


def test_three_digits_name_no_account() -> None:
    assert compared(call(5800, STRANGER), "$5,800 to the one ending 730") == {"arguments.to_account": ("not_said", [])}


def test_an_own_account_is_named_by_its_kind_where_there_is_one_of_it() -> None:
    assert compared(call(5800), "5,800 to checking") == {}
    two = [*OWN, Account("8841415555", "checking", "5555")]
    found = differences([Turn(0, "5,800 to checking")], call(5800), ("to_account",), two)
    assert [(each.path, each.kind) for each in found] == [("arguments.to_account", "not_said")]


def test_only_arguments_that_say_who_receives_are_payees() -> None:
    assert differences([Turn(0, "5,800")], call(5800), (), OWN) == ()


def test_a_plan_is_compared_call_by_call() -> None:
    plan = {"calls": [{"_tool": "transfer", **call(300)}, {"_tool": "transfer", **call(500)}]}
    assert compared(plan, "300 to checking", "and 500 to checking") == {}
    assert compared(plan, "300 to checking") == {"arguments.calls.1.amount": ("differs", [300])}


@given(sent=DOLLARS, said=st.lists(DOLLARS, min_size=1, max_size=4))
def test_there_is_no_sign_exactly_where_the_newest_words_name_the_amount_alone(sent: int, said: list[int]) -> None:
    turns = [f"Please move ${dollars:,} to checking." for dollars in said]
    found = compared(call(sent), *turns)
    assert (found == {}) == (said[-1] == sent)
    if found:
        kind, others = found["arguments.amount"]
        assert kind == ("corrected" if sent in said else "differs")
        assert others[0] == said[-1]
        assert sent not in others


@given(words=st.lists(st.text(max_size=60), max_size=5), sent=DOLLARS)
def test_any_words_are_compared_and_no_difference_names_what_is_sent(words: list[str], sent: int) -> None:
    for each in differences([Turn(i, text) for i, text in enumerate(words)], call(sent), ("to_account",), OWN):
        assert each.sends not in [one.value for one in each.said]
        assert each.kind != "not_said" or not each.said


@given(sent=DOLLARS, said=DOLLARS)
def test_what_is_typed_blind_has_no_sign_until_it_was_typed(sent: int, said: int) -> None:
    found = differences([Turn(0, f"${said:,} to checking")], call(sent), ("to_account",), OWN)
    for blind in ("arguments.amount", "arguments.amount.minor"):
        assert withheld(found, [blind]) == ()
    assert withheld(found, ["arguments.to_account", "arguments.am"]) == found


def test_an_edit_says_which_amount_payee_and_account_it_changes_and_nothing_else() -> None:
    before, after = {**call(300), "note": "rent"}, {**call(200, STRANGER), "from_account": "8841419931", "note": "x"}
    found = changes(before, after, ("to_account",), OWN)
    assert [(each.path.rpartition(".")[2], each.was, each.sends) for each in found] == [
        ("from_account", "8841412207", "8841419931"),
        ("to_account", "8841419931", STRANGER),
        ("amount", usd(300), usd(200)),
    ]
    assert changes(before, {**before, "note": "x"}, ("to_account",), OWN) == ()


@given(values=st.lists(st.tuples(DOLLARS, DOLLARS), max_size=3))
def test_only_what_was_shown_as_it_is_counts_as_shown(values: list[tuple[int, int]]) -> None:
    found = tuple(
        each
        for sent, said in values
        for each in differences([Turn(0, f"${said:,} to checking")], call(sent), ("to_account",), OWN)
    )
    assert not_shown(found, as_data(found)) == ()
    assert not_shown(found, []) == found
    for some in combinations(found, max(0, len(found) - 1)):
        assert set(map(repr, not_shown(found, as_data(some)))) == set(map(repr, found)) - set(map(repr, some))
