"""What rules read of words: amounts of several countries, links with their tricks, private values in any form."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentstate.engine import guards
from agentstate.engine.policy.cases import Case, Cases, Want, findings
from agentstate.engine.policy.rules import Policy, Rule
from agentstate.engine.speech import MAX_FOUND, MAX_TEXT, SAY, read
from agentstate.engine.speech import findings as found_in_words

INVISIBLE = "\u200b\u200d\u2060\ufeff\u00ad\u202e\u0336"


def amounts(text: str) -> list[tuple[int, str]] | None:
    found = read(text)["amounts"]
    return None if found is None else [(each["minor"], each["currency"]) for each in found]


@pytest.mark.parametrize(
    ("text", "minor", "currency"),
    [
        ("$1,200.50", 120_050, "USD"),
        ("1.200,50 EUR", 120_050, "EUR"),
        ("1200 dollars", 120_000, "USD"),
        ("USD1200", 120_000, "USD"),
        ("US$ 1,200", 120_000, "USD"),
        ("1'200.50 CHF", 120_050, "CHF"),
        ("1 200,50\u00a0€", 120_050, "EUR"),
        ("€ 1.200", 120_000, "EUR"),
        ("1,20,000.00 INR", 12_000_000, "INR"),
        ("1.2k USD", 120_000, "USD"),
        ("1,5 Mio. Euro", 150_000_000, "EUR"),
        ("3 million dollars", 300_000_000, "USD"),
        ("5 thousand euros", 500_000, "EUR"),
        ("¥5000", 5_000, "JPY"),
        ("2.5 KWD", 2_500, "KWD"),
        ("12 Canadian dollars", 1_200, "CAD"),
        ("50 cents", 50, ""),
        ("twelve hundred dollars", 120_000, "USD"),
        ("one thousand two hundred and fifty euros", 125_000, "EUR"),
        ("a hundred pounds", 10_000, "GBP"),
        ("twelve hundred u.s. dollars", 120_000, "USD"),
        ("\uff15\uff10\uff10 \uff04", 50_000, "USD"),
        ("\u0661\u0662\u0660\u0660 USD", 120_000, "USD"),
        ("$ 1,200.", 120_000, "USD"),
        ("**1,200** USD", 120_000, "USD"),
        ("1,200 (USD)", 120_000, "USD"),
        ("USD: 1,200", 120_000, "USD"),
        ("(EUR) *1.200*", 120_000, "EUR"),
        ("0.005 USD", 500, "USD"),  # three places are read as a group: the larger amount
    ],
)
def test_an_amount_is_read_as_its_country_writes_it(text: str, minor: int, currency: str):
    assert amounts(f"You will see {text} tomorrow.") == [(minor, currency)]


@pytest.mark.parametrize(
    "text",
    [
        "order 48213 at 10:30",
        "3 accounts and 20 days",
        "50 try again",
        "12.03.2026",
        "C-1042",
        "a dollar",
        "all 1200 of it",
    ],
)
def test_a_number_that_names_no_currency_is_no_amount(text: str):
    assert amounts(text) == []


def test_a_number_that_names_two_currencies_is_an_amount_of_each():
    assert amounts("It is $40,000 yen.") == [(40_000, "JPY"), (4_000_000, "USD")]


def test_words_that_make_no_number_of_money_cannot_be_read():
    assert amounts("twenty twenty dollars") is None
    assert amounts(" ".join(f"${number}" for number in range(1, MAX_FOUND + 2))) is None
    assert found_in_words(read("twenty twenty dollars")) == "Found in the words: amounts: not readable."


STYLES: list[Any] = [
    lambda whole, part: f"${whole:,}.{part:02d}",
    lambda whole, part: f"{whole:,}".replace(",", ".") + f",{part:02d} USD",
    lambda whole, part: f"{whole:,}".replace(",", " ") + f",{part:02d} dollars",
    lambda whole, part: f"{whole:,}".replace(",", "'") + f".{part:02d} US dollars",
    lambda whole, part: f"usd {whole}.{part:02d}",
    lambda whole, part: f"{whole}.{part:02d}$",
]


@given(st.integers(0, 10**9), st.integers(0, 99), st.sampled_from(STYLES), st.sampled_from(["So ", "", "(", "x: "]))
def test_the_same_amount_is_read_in_every_style(whole: int, part: int, style: Any, before: str):
    assert amounts(f"{before}{style(whole, part)} then.") == [(100 * whole + part, "USD")]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see https://bank.example/path?x=1", ["bank.example"]),
        ("go to evil.com now", ["evil.com"]),
        ("b\u0430nk.com", ["xn--bnk-6cd.com"]),  # a Cyrillic letter
        ("bank\u3002com", ["bank.com"]),
        ("EVIL\uff0e\uff23\uff2f\uff2d", ["evil.com"]),
        ("https://bank.example@evil.com/", ["evil.com"]),
        ("http:\\\\evil.com\\x", ["evil.com"]),
        ("evil[.]com or evil2 (dot) org", ["evil.com", "evil2.org"]),
        ("evil dot com", ["evil.com"]),
        ("evil . com", ["evil.com"]),
        ("mail a.b@x.org", ["x.org"]),
        ("192.168.1.1", ["192.168.1.1"]),
        ("tel:+123", ["tel:"]),
        ("javascript:alert(1)", ["javascript:"]),
        ("[x](//evil.zip)", ["evil.zip"]),
        ("http://[::1]/", ["http://"]),
        ("https://2130706433/", ["2130706433"]),
        ("https://evil%2ecom/", ["evil.com"]),
        ("and/or evil.com/index.html", ["evil.com"]),
        ("evil.com@x", ["evil.com"]),
        ("e.g. this, i.e. that. 3.5 and 12.03.2026 at 10:30, wait... yes", []),
    ],
)
def test_a_link_is_found_however_it_is_written(text: str, links: list[str]):
    assert read(text)["links"] == links


PAD = {
    "state": {
        "customer": {
            "ssn": "123-45-6789",
            "email": "Ann.B@x.org",
            "born": "1984-05-02",
            "pin": "1234",
            "name": "Ann Lee",
            "balance": {"minor": 120_050, "currency": "USD"},
            "flags": [{"word": "Secret Word"}],
            "number": 98_765_432,
            "rate": Decimal("3.25"),
            "known": True,
        }
    }
}
NAMES = ("ssn", "email", "born", "pin", "name", "balance", "flags.word", "number", "rate", "known")
PRIVATE = [f"state.customer.{name}" for name in NAMES]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Your number is 123 45 6789.", ["ssn"]),
        ("ANN . b @ x . org", ["email"]),
        ("born 2.5.1984", ["born"]),
        ("born 05/02/1984", ["born"]),
        ("it is 12 34", ["pin"]),
        ("hello ANN  LEE!", ["name"]),
        ("You have 1.200,50 USD", ["balance"]),
        ("secret-word", ["flags.word"]),
        ("9876 5432", ["number"]),
        ("at 3.25", ["rate"]),
        ("code 51234x, true, 1984", []),
        ("nothing here", []),
    ],
)
def test_a_private_value_is_found_in_any_form(text: str, names: list[str]):
    assert read(text, [PAD], PRIVATE)["private"] == [f"state.customer.{name}" for name in names]


@given(st.text("abcdefgh0123456789", min_size=6, max_size=20), st.data())
def test_no_separator_case_or_invisible_character_hides_a_private_value(value: str, data: st.DataObject):
    between = st.sampled_from(["", " ", "-", ".", " - ", *INVISIBLE])
    written = "".join(data.draw(st.sampled_from([letter, letter.upper()])) + data.draw(between) for letter in value)
    found = read(f"It is {written}, please.", [{"state": {"secret": value}}], ["state.secret"])
    assert found["private"] == ["state.secret"]


@given(st.sampled_from(["You get $1,200.50.", "See evil.com now.", "Mail 1.200,50 EUR to x.org."]), st.data())
def test_invisible_characters_hide_nothing(text: str, data: st.DataObject):
    written = "".join(letter + data.draw(st.sampled_from(["", "", *INVISIBLE])) for letter in text)
    hidden, plain = read(written), read(text)
    assert {name: hidden[name] for name in ("amounts", "links", "plain")} == {
        name: plain[name] for name in ("amounts", "links", "plain")
    }


@given(st.text(max_size=200))
@example("\ud800")
@example("xn--a.com \u0000 \u2028")
def test_any_text_can_be_read(text: str):
    found = read(text, [PAD], PRIVATE)
    assert found["text"] == text
    assert all(
        found[name] is None or len(found[name]) <= MAX_FOUND for name in ("amounts", "links", "private", "promises")
    )


@pytest.mark.parametrize("piece", ["1.", "a.", "1 ", "@", "http:", "'1", "one ", "i will ", "[ . ] ", "$1 ", "\u0430a"])
def test_no_text_takes_long(piece: str):
    began = time.process_time()
    read((piece * MAX_TEXT)[:MAX_TEXT], [PAD], PRIVATE)
    assert time.process_time() - began < 5


def test_promises_of_two_languages_are_found():
    assert read("I promise you'll get it. Wir garantieren das.")["promises"] == [
        "i promise",
        "you'll get",
        "wir garantieren",
    ]
    assert read("I cannot say.")["promises"] == []


def test_a_word_that_mixes_scripts_reads_as_what_it_looks_like():
    assert read("We gu\u0430r\u0430ntee it")["plain"] == "we guarantee it"
    assert read("\u0434\u0430")["plain"] == "\u0434\u0430"


def test_what_is_not_readable_asks_a_person():
    rule = "arguments.amounts.exists(each, each.minor > 100000)"
    assert guards.holds(rule, {"arguments": read("$5,000")})
    with pytest.raises(guards.UnreadableGuard):
        guards.holds(rule, {"arguments": read("twenty twenty dollars")})


def test_a_case_of_words_gives_the_text_alone():
    rule = Rule("say.money", (SAY,), "size(arguments.amounts) > 0", 2, "approve", "Money.")
    told = Rule("say.private", (SAY,), "size(arguments.private) > 0", 2, "refuse", "Private.")
    cases = (
        Case("money", SAY, Want("approve", 2, "say.money"), {"text": "You get $5."}),
        Case("private", SAY, Want("refuse", 2, "say.private"), {"text": "It is x.", "private": ["state.x"]}),
        Case("free", SAY, Want("allow", 0, "default.say"), {"text": "Hello."}),
    )
    assert findings(Policy("p", 1, (rule, told)), Cases(cases)) == []
