"""The bank's tools against the real legacy database and the authorization service over HTTP."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentstate.errors import Invalid
from demo.authorization import Timetable
from demo.bank.people import companies
from sessions.tools import registry
from sessions.tools.registry import ToolContext, ToolFailed
from tests.live.bank import TOKEN, authorization, fresh_bank, one, person_with

ELEANOR = "C-1042"
SAVINGS, CHECKING = "8841412207", "8841419931"
STRANGER = companies()[0].accounts[0].id
ALWAYS = Timetable(away=0.0)


@pytest.fixture
def bank(test_database: object) -> str:
    return fresh_bank()


def run(
    name: str, arguments: dict[str, Any], *, call: str = "call-1", session: str = "s", customer: str = ELEANOR
) -> Any:
    tool = registry.find(name)
    assert tool is not None
    tool.check(arguments)
    return tool.run(arguments, ToolContext(session, call, f"{call}.0", customer, 1))


def usd(minor: int) -> dict[str, Any]:
    return {"minor": minor, "currency": "USD"}


def moving(minor: int = 4300, target: str = CHECKING, **more: Any) -> dict[str, Any]:
    return {"from_account": SAVINGS, "to_account": target, "amount": usd(minor), **more}


def test_load_customer_gives_name_number_accounts_and_the_last_five_contacts(bank: str) -> None:
    found = run("load_customer", {"customer": ELEANOR})
    assert (found["name"], found["number"]) == ("Eleanor Whitcombe", "204457041")
    assert [(a["kind"], a["last4"]) for a in found["accounts"]] == [("savings", "2207"), ("checking", "9931")]
    times = [contact["at"] for contact in found["interactions"]]
    assert len(times) == 5
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("tool", ["load_customer", "authorize"])
def test_another_customers_records_are_out_of_reach(bank: str, tool: str) -> None:
    arguments = {"customer": "C-1001"} | ({"purpose": "transfer"} if tool == "authorize" else {})
    with pytest.raises(ToolFailed, match="not the customer of this session"):
        run(tool, arguments)


def test_a_transfer_moves_money_once_however_often_the_call_is_run(bank: str) -> None:
    first = run("transfer", moving())
    assert run("transfer", moving()) == first
    assert first["amount"] == usd(4300)
    assert one(bank, "select balance from core.accounts where id = %s", SAVINGS) == first["from_balance"]["minor"]
    assert one(bank, "select count(*) from core.transfers") == 1


def test_the_same_call_id_in_two_sessions_is_two_transfers(bank: str) -> None:
    run("transfer", moving(), session="one")
    run("transfer", moving(), session="two")
    assert one(bank, "select count(*) from core.transfers") == 2


@pytest.mark.parametrize(
    ("arguments", "customer", "said"),
    [
        (moving(10**9), ELEANOR, "not enough money"),
        (moving(), "C-1001", "not come from an account of this customer"),
        (moving(target=STRANGER), ELEANOR, "not marked as a new payee"),
        (moving(target="0000000000", new_payee=True), ELEANOR, "no such account"),
    ],
)
def test_what_the_bank_will_not_do_fails_for_good_and_moves_nothing(
    bank: str, arguments: dict[str, Any], customer: str, said: str
) -> None:
    with pytest.raises(ToolFailed, match=said) as failed:
        run("transfer", arguments, customer=customer)
    assert failed.value.transient is False
    assert one(bank, "select count(*) from core.transfers") == 0


def test_money_goes_to_a_stranger_when_it_is_marked_as_a_new_payee(bank: str) -> None:
    assert run("transfer", moving(target=STRANGER, new_payee=True))["to_account"] == STRANGER


@pytest.mark.parametrize(
    "broken",
    [{"amount": {"minor": 0, "currency": "USD"}}, {"amount": {"minor": 1.5, "currency": "USD"}},
     {"amount": {"minor": 5, "currency": "EUR"}}, {"from_account": "x"}, {"note": "more"}],
)  # fmt: skip
def test_arguments_that_break_the_schema_are_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        run("transfer", {**moving(), **broken})


def test_the_preview_says_in_plain_words_what_will_happen(bank: str) -> None:
    tool, state = registry.find("transfer"), {"customer": run("load_customer", {"customer": ELEANOR})}
    assert tool is not None
    assert tool.preview(moving(430000), state) == "Move $4,300.00 from savings ..2207 to checking ..9931"
    assert tool.preview(moving(5, STRANGER, new_payee=True), {}).endswith(f"to account ..{STRANGER[-4:]}, a new payee")


def connect(settings: Any, url: str, folder: Path) -> None:
    token = folder / "token"
    token.write_text(TOKEN)
    settings.BANK_AUTHORIZATION_URL, settings.BANK_AUTHORIZATION_TOKEN_FILE = url, str(token)


def test_authorize_brings_the_services_answer_and_both_sides_have_it(bank: str, settings: Any, tmp_path: Path) -> None:
    with authorization(bank, ALWAYS) as url:
        connect(settings, url, tmp_path)
        question = {"customer": ELEANOR, "purpose": "transfer", "amount": usd(4300), "to_account": "1000000002"}
        found = run("authorize", question)
        assert found == run("authorize", question)
    assert (found["allowed"], found["amount"], found["purpose"]) == (True, usd(4300), "transfer")
    assert (found["from_account"], found["to_account"]) == (None, "1000000002")
    assert one(bank, "select answer ->> 'at' from fraud.checks where key = 's.call-1.0'") == found["at"]
    assert one(bank, "select request ->> 'to_account' from fraud.checks where key = 's.call-1.0'") == "1000000002"
    assert one(bank, "select answer ->> 'reference' from fraud.checks where key = 's.call-1.0'") == found["reference"]


def test_a_no_is_an_answer_and_not_a_failure(bank: str, settings: Any, tmp_path: Path) -> None:
    person = person_with("refuse").id
    with authorization(bank, ALWAYS) as url:
        connect(settings, url, tmp_path)
        assert run("authorize", {"customer": person, "purpose": "transfer"}, customer=person)["allowed"] is False


def test_a_service_that_is_away_or_silent_may_be_asked_again(bank: str, settings: Any, tmp_path: Path) -> None:
    question = {"customer": ELEANOR, "purpose": "transfer"}
    with authorization(bank, Timetable(100.0, 100.0)) as url:
        connect(settings, url, tmp_path)
        with pytest.raises(ToolFailed, match="away") as away:
            run("authorize", question)
    with socket.socket() as nobody:  # bound but not listening: connections are refused
        nobody.bind(("127.0.0.1", 0))
        settings.BANK_AUTHORIZATION_URL = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(ToolFailed, match="does not answer") as silent:
            run("authorize", question)
    assert away.value.transient is True
    assert silent.value.transient is True


def test_a_wrong_token_or_a_bank_that_is_gone_is_told_without_secrets(bank: str, settings: Any, tmp_path: Path) -> None:
    with authorization(bank, ALWAYS) as url:
        connect(settings, url, tmp_path)
        Path(settings.BANK_AUTHORIZATION_TOKEN_FILE).write_text("a wrong one")
        with pytest.raises(ToolFailed, match=r"refused the question \(401\)") as refused:
            run("authorize", {"customer": ELEANOR, "purpose": "transfer"})
    settings.BANK_DSN = psycopg.conninfo.make_conninfo(settings.BANK_DSN, host="/nowhere", password="s3cret")
    with pytest.raises(ToolFailed, match="does not answer") as gone:
        run("load_customer", {"customer": ELEANOR})
    assert (refused.value.transient, gone.value.transient) == (False, True)
    assert "s3cret" not in str(gone.value)
