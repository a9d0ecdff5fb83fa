"""The bank's tools: read a customer's records, ask the authorization service, move money, sort a complaint.

They reach into systems that are not ours: a legacy PostgreSQL database (BANK_DSN) and a service behind HTTP
(BANK_AUTHORIZATION_URL). Each trusts the session, not the model, about whose accounts these are, and hands on
the call's idempotency key, so that a call which is run again does nothing twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
from django.conf import settings
from psycopg.rows import dict_row

from agentstate.engine.understanding.ontology import Source
from sessions.tools.registry import Arguments, Retry, ToolContext, ToolFailed, activity, answered_by_model, tool

CONNECT_SECONDS = 3
STATEMENT_MS = 6_000
CHECK_SECONDS = 7.0  # longer than the service thinks (up to 4 s), shorter than the runtime waits
CONTACTS = 5
# What core.transfer refuses for good, in words that may be shown.
_REFUSALS = {
    "BK001": "there is not enough money in the account",
    "BK002": "this call moved another amount before",
    "BK003": "there is no such account",
    "BK004": "that is not a transfer",
}
_ACCOUNT = {"type": "string", "pattern": "^[0-9]{10}$", "description": "the account's id, ten digits"}
_CUSTOMER = {"type": "string", "pattern": "^C-[0-9]{4,10}$", "description": "the customer's number, as C-1042"}
_MONEY = {
    "type": "object",
    "properties": {
        "minor": {"type": "integer", "minimum": 1, "maximum": 10**13, "description": "cents"},
        "currency": {"const": "USD"},
    },
    "required": ["minor", "currency"],
    "additionalProperties": False,
}
_ACCOUNTS = Source(type="account", id="{id}", label="{kind} ..{last4}", path="accounts")
_CONTACTS = Source(type="contact", id="contact {at}", label="{summary}", path="interactions")
_CHECKED = Source(type="check", id="{reference}", label="check {reference}")
_TRANSFERRED = Source(
    type="transfer",
    id="{receipt}",
    label="transfer of {amount}",
    attributes={"from": "from_account", "to": "to_account"},
)
log = logging.getLogger(__name__)


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


_BALANCE = _object({"minor": {"type": "integer"}, "currency": {"type": "string"}})
_PERSON = _object(
    {
        "name": {"type": "string"},
        "number": {"type": "string"},
        "accounts": {
            "type": "array",
            "items": _object(
                {
                    "id": _ACCOUNT,
                    "kind": {"type": "string"},
                    "last4": {"type": "string"},
                    "balance": _BALANCE,
                }
            ),
        },
        "interactions": {
            "type": "array",
            "items": _object({"at": {"type": "string"}, "summary": {"type": "string"}}),
        },
    }
)
_BOOKED = _object(
    {
        "receipt": {"type": "string"},
        "from_account": _ACCOUNT,
        "to_account": _ACCOUNT,
        "amount": _MONEY,
        "from_balance": _BALANCE,
        "to_balance": _BALANCE,
    }
)
_CLEARED = _object(
    {
        "allowed": {"type": "boolean"},
        "reason": {"type": "string"},
        "reference": {"type": "string"},
        "amount": {"anyOf": [_MONEY, {"type": "null"}]},
        "from_account": {"type": ["string", "null"]},
        "to_account": {"type": ["string", "null"]},
        "purpose": {"type": "string"},
        "at": {"type": "string"},
    }
)


def preview_load(arguments: Arguments, state: dict[str, Any]) -> str:
    """What load_customer will do, in plain words."""
    return f"Read the accounts and the last {CONTACTS} contacts of customer {arguments['customer']}"


def preview_authorize(arguments: Arguments, state: dict[str, Any]) -> str:
    """What authorize will do, in plain words."""
    amount = f" of {_dollars(arguments['amount'])}" if arguments.get("amount") else ""
    return f"Ask the authorization service about a {arguments['purpose']}{amount}"


def preview_transfer(arguments: Arguments, state: dict[str, Any]) -> str:
    """What transfer will do, in plain words: "Move $4,300.00 from savings ..2207 to checking ..9931"."""
    known = {account["id"]: account for account in state.get("customer", {}).get("accounts", [])}
    source, target = (_named(arguments[end], known) for end in ("from_account", "to_account"))
    payee = ", a new payee" if arguments.get("new_payee") else ""
    return f"Move {_dollars(arguments['amount'])} from {source} to {target}{payee}"


@tool(
    name="load_customer",
    version=1,
    description="Read the customer's name, number, accounts with balances, and the last five contacts.",
    effect="pure",
    arguments=_object({"customer": _CUSTOMER}),
    result=_PERSON,
    preview=preview_load,
    entities=(_ACCOUNTS, _CONTACTS),
)
def load_customer(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """{name, number, accounts, interactions}; fails for anybody but the session's own customer."""
    return _loaded(arguments, context, CONTACTS)


def _loaded(arguments: Arguments, context: ToolContext, contacts: int) -> dict[str, Any]:
    customer = _own(arguments["customer"], context)
    with _bank() as connection:
        person = connection.execute("select name, number from core.customers where id = %s", [customer]).fetchone()
        if person is None:
            raise ToolFailed("the bank does not know this customer")
        accounts = connection.execute(
            "select id, kind, last4, balance, currency from core.accounts where customer_id = %s"
            " order by kind desc, id",
            [customer],
        ).fetchall()
        found = connection.execute(
            "select at, summary from core.interactions where customer_id = %s order by at desc limit %s",
            [customer, contacts],
        ).fetchall()
    return {
        **person,
        "accounts": [_account(row) for row in accounts],
        "interactions": [{"at": row["at"].isoformat(timespec="minutes"), "summary": row["summary"]} for row in found],
    }


@activity(
    of="load_customer",
    name="without_contacts",
    description="Read name, number and accounts, and leave the contacts where they are.",
)
def load_without_contacts(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """What load_customer gives, with no contacts: for a task that has no need of them."""
    return _loaded(arguments, context, contacts=0)


answered_by_model(
    name="sort_complaint",
    version=1,
    description="Sort a complaint: what it is about, whether it is urgent, and what it says, in one sentence.",
    arguments=_object({"text": {"type": "string", "minLength": 1, "maxLength": 2_000}}),
    result={
        "type": "object",
        "properties": {
            "topic": {"enum": ["card", "charge", "transfer", "service", "other"]},
            "urgent": {"type": "boolean"},
            "summary": {"type": "string", "maxLength": 200},
        },
        "required": ["topic", "urgent", "summary"],
        "additionalProperties": False,
    },
    milliseconds=2_000,
)


@tool(
    name="authorize",
    version=2,
    description=(
        "Ask the bank's authorization and fraud check whether this may be done. It gives no reasons. A yes holds for"
        " the amount, accounts and purpose that were asked about, and for 15 minutes."
    ),
    effect="idempotent",
    arguments=_object(
        {"customer": _CUSTOMER, "purpose": {"type": "string", "minLength": 1, "maxLength": 200}},
        amount=_MONEY,
        from_account=_ACCOUNT,
        to_account=_ACCOUNT,
    ),
    result=_CLEARED,
    preview=preview_authorize,
    entities=(_CHECKED,),
    compensation="Nothing to undo: the service was only asked.",
    amounts=(),
    retry=Retry(attempts=3, base_seconds=2.0),
)
def authorize(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """{allowed, reason, reference, at} and what was asked: {purpose, amount, from_account, to_account}, null where it
    was left out. Fails, perhaps for a while only, when the service gives no answer.
    """
    question = {**arguments, "customer": _own(arguments["customer"], context)}
    answer = _ask(question, _reference(context))
    if type(answer.get("allowed")) is not bool:
        raise ToolFailed("the authorization service gave an answer that is none")
    words = {name: str(answer.get(name, ""))[:200] for name in ("reason", "reference", "at")}
    # All of the question, each time: the state merges by key, and a value of an older question must not stay.
    asked = {name: arguments.get(name) for name in ("purpose", "amount", "from_account", "to_account")}
    return {"allowed": answer["allowed"], **words, **asked}


def _moved_back(arguments: Arguments, result: Any) -> Arguments | None:
    """The way back, between accounts of the same customer; from a stranger's account nothing is fetched."""
    if arguments.get("new_payee"):
        return None
    ends = {"from_account": arguments["to_account"], "to_account": arguments["from_account"]}
    return {**ends, "amount": arguments["amount"]}


@tool(
    name="transfer",
    version=1,
    description="Move money from one of the customer's accounts, once. Set new_payee unless both are the customer's.",
    effect="idempotent",
    arguments=_object(
        {"from_account": _ACCOUNT, "to_account": _ACCOUNT, "amount": _MONEY}, new_payee={"type": "boolean"}
    ),
    result=_BOOKED,
    preview=preview_transfer,
    entities=(_TRANSFERRED,),
    compensation="Move the same amount back with a new transfer, if the customer wants it.",
    undone_by="transfer",
    undo=_moved_back,
    payees=("to_account",),
    amounts=("amount",),
    retry=Retry(seconds=120.0),  # a person approved it: an outage of the bank's database is waited for
)
def transfer(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """{receipt, from_account, to_account, amount, from_balance, to_balance}, as the bank booked it."""
    source, target, amount = (arguments[name] for name in ("from_account", "to_account", "amount"))
    with _bank() as connection:
        owners = _owners(connection, source, target)
        if owners.get(source) != context.customer:
            raise ToolFailed("the money would not come from an account of this customer")
        if owners.get(target) != context.customer and not arguments.get("new_payee"):
            # Policy goes by this flag: a call that hides a stranger's account behind it must not run.
            raise ToolFailed("there is no such account of this customer, and it is not marked as a new payee")
        booked = connection.execute(
            "select * from core.transfer(%s, %s, %s, %s, %s)",
            [_reference(context), source, target, amount["minor"], amount["currency"]],
        ).fetchone()
    assert booked is not None
    ends = {name: _usd(booked[name]) for name in ("from_balance", "to_balance", "amount")}
    return {"receipt": booked["receipt"], "from_account": source, "to_account": target, **ends}


@contextmanager
def _bank() -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A connection that commits at the end. Trouble becomes ToolFailed, with what the bank refused for good."""
    if not settings.BANK_DSN:
        raise ToolFailed("no bank is connected: set BANK_DATABASE_URL")
    try:
        with psycopg.connect(
            settings.BANK_DSN,
            row_factory=dict_row,
            connect_timeout=CONNECT_SECONDS,
            options=f"-c statement_timeout={STATEMENT_MS}",
        ) as connection:
            yield connection
    except (psycopg.OperationalError, psycopg.errors.DeadlockDetected) as error:
        # Also when the answer to a commit was lost: the reference keeps a second attempt from moving money twice.
        log.warning("the bank's database: %s", error)
        raise ToolFailed("the bank's database does not answer", transient=True) from error
    except psycopg.Error as error:
        refused = _REFUSALS.get(error.sqlstate or "")
        if refused is None:
            log.exception("the bank's database")
        raise ToolFailed(refused or "the bank's database refused this call") from error


def _ask(question: dict[str, Any], key: str) -> dict[str, Any]:
    """One request to the authorization service. 503 and silence may pass; anything else that is not 200 will not."""
    if not settings.BANK_AUTHORIZATION_URL:
        raise ToolFailed("no authorization service is connected: set BANK_AUTHORIZATION_URL")
    url = f"{settings.BANK_AUTHORIZATION_URL.rstrip('/')}/v1/checks"
    headers = {"Authorization": f"Bearer {_token()}", "Idempotency-Key": key}
    try:
        answer = httpx.post(url, json=question, headers=headers, timeout=CHECK_SECONDS, trust_env=False)
    except httpx.TransportError as error:
        raise ToolFailed("the authorization service does not answer", transient=True) from error
    if answer.status_code >= 500:
        raise ToolFailed("the authorization service is away", transient=True)
    if answer.status_code != 200:
        raise ToolFailed(f"the authorization service refused the question ({answer.status_code})")
    try:
        found = answer.json()
    except ValueError as error:
        raise ToolFailed("the authorization service gave an answer that is none") from error
    return found if isinstance(found, dict) else {}


def _token() -> str:
    try:
        return Path(settings.BANK_AUTHORIZATION_TOKEN_FILE).read_text().strip()
    except OSError as error:
        raise ToolFailed("the token for the authorization service cannot be read") from error


def _own(customer: str, context: ToolContext) -> str:
    if customer != context.customer:
        raise ToolFailed("this is not the customer of this session")
    return customer


def _reference(context: ToolContext) -> str:
    """The idempotency key towards the bank. A model may give its calls the same ids in every session."""
    return f"{context.session}.{context.key}"


def _owners(connection: psycopg.Connection[dict[str, Any]], *accounts: str) -> dict[str, str]:
    rows = connection.execute(
        "select id, customer_id from core.accounts where id = any(%s)", [list(accounts)]
    ).fetchall()
    return {row["id"]: row["customer_id"] for row in rows}


def _account(row: dict[str, Any]) -> dict[str, Any]:
    balance = {"minor": row["balance"], "currency": row["currency"]}
    return {"id": row["id"], "kind": row["kind"], "last4": row["last4"], "balance": balance}


def _usd(minor: int) -> dict[str, Any]:
    return {"minor": minor, "currency": "USD"}


def _named(account: str, known: dict[str, dict[str, Any]]) -> str:
    return f"{known[account]['kind']} ..{account[-4:]}" if account in known else f"account ..{account[-4:]}"


def _dollars(amount: dict[str, Any]) -> str:
    return f"${amount['minor'] // 100:,}.{amount['minor'] % 100:02d}"
