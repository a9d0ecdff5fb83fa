"""The bank's authorization and fraud check: a process of its own behind HTTP, opaque to whoever asks.

`python -m demo.authorization --port N` with the token in a file. It answers `POST /v1/checks` for callers
with the bearer token: sometimes at once, sometimes after two to four seconds, sometimes not at all for a
while, and for some customers with no. Why it says no it does not say. What it was asked and what it
answered it writes into its own table, which nobody can change, before the answer leaves.

It is also the bank's only process that runs by itself, so the bank's refill rule runs in it (schema.sql).

Not part of the product, and not clever: who is refused or awkward is a flag in the bank's database, and
when it is away is a timetable, so that a script or a test can count on it.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import hmac
import json
import os
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from demo.bank.seed import refill

LIMIT_MINOR = 2_500_000  # nothing above 25,000.00 by telephone
OUTAGE_SECONDS = 14.0  # how long the check is away for an unsteady customer ...
OUTAGE_AGAIN_SECONDS = 600.0  # ... and how much later it will be again
LARGEST_BODY = 16_384
ENDS = ("from_account", "to_account")  # of a transfer
REFILL_SECONDS = 600.0
PATIENCE = 60.0  # seconds in which its database may come back, when it starts while that is away

RECORD = """
create schema if not exists fraud;
create table if not exists fraud.checks (
    id       bigint generated always as identity primary key,
    at       timestamptz not null default now(),
    key      text not null,
    request  jsonb not null,
    status   integer not null,
    answer   jsonb not null,
    repeated boolean not null default false,
    took_ms  integer not null
);
-- One key has one answer; that it was asked for again is a row of its own.
create unique index if not exists checks_answered on fraud.checks (key) where status = 200 and not repeated;
create index if not exists checks_customer on fraud.checks ((request ->> 'customer'), at);
create or replace function fraud.refuse_change() returns trigger language plpgsql as $$
begin raise exception 'fraud.checks is append-only'; end $$;
create or replace trigger append_only before update or delete or truncate on fraud.checks
    for each statement execute function fraud.refuse_change();
"""


@dataclass(frozen=True)
class Timetable:
    """When the whole service is away: `away` seconds of every `every`, by the wall clock. Zero is never."""

    every: float = 780.0
    away: float = 8.0

    def back_in(self, now: float) -> float:
        """Seconds until it is back, 0.0 while it is there. `now` in seconds since 1970."""
        if not self.every or not self.away:
            return 0.0
        return max(0.0, self.away - now % self.every)


def verdict(flag: str, amount: int | None) -> tuple[bool, str]:
    """Yes or no, and the little that is said about it. `amount` in minor units."""
    if flag == "refuse":
        return False, "not cleared"
    if amount is not None and amount > LIMIT_MINOR:
        return False, "above the limit for this channel"
    return True, "cleared"


def thinking_seconds(key: str, flag: str) -> float:
    """How long it takes over this key: a moment, or 2 to 4 s for one in five and for slow customers."""
    dice = hashlib.sha256(key.encode()).digest()
    share = dice[0] / 255
    return 2.0 + 2.0 * share if flag == "slow" or dice[1] % 5 == 0 else 0.15 + 0.6 * share


class Malformed(Exception):
    """The request is not one the service knows."""


@dataclass(frozen=True)
class Question:
    """What a client may ask. `amount` in minor units of US dollars, None when no money is meant; `accounts` by the name
    of their end of a transfer.
    """

    customer: str
    purpose: str
    amount: int | None
    accounts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, body: bytes) -> Question:
        """Parse the body. Raises Malformed with the field that is wrong."""
        try:
            given = json.loads(body)
        except ValueError as error:
            raise Malformed("the body is not JSON") from error
        if not isinstance(given, dict) or set(given) - {"customer", "purpose", "amount", *ENDS}:
            raise Malformed("want an object with customer, purpose and perhaps amount, from_account and to_account")
        for name in ("customer", "purpose"):
            if not isinstance(given.get(name), str) or not 0 < len(given[name]) <= 200 or "\0" in given[name]:
                raise Malformed(f"{name}: want a short text")
        accounts = {end: given[end] for end in ENDS if given.get(end) is not None}
        for end, account in accounts.items():
            if not isinstance(account, str) or not re.fullmatch(r"[0-9]{10}", account):
                raise Malformed(f"{end}: want ten digits")
        return cls(given["customer"], given["purpose"], _minor(given.get("amount")), accounts)

    def as_json(self) -> dict[str, Any]:
        """The question as it is recorded."""
        amount = None if self.amount is None else {"minor": self.amount, "currency": "USD"}
        return {"customer": self.customer, "purpose": self.purpose, "amount": amount, **self.accounts}


def _minor(amount: object) -> int | None:
    if amount is None:
        return None
    if not isinstance(amount, dict) or amount.get("currency") != "USD" or type(amount.get("minor")) is not int:
        raise Malformed('amount: want {"minor": whole number, "currency": "USD"}')
    if not 0 < amount["minor"] < 2**53:
        raise Malformed("amount: want more than zero")
    return int(amount["minor"])


class Desk:
    """Answers questions and keeps the record. All it goes by is in the database, nothing in itself."""

    def __init__(self, dsn: str, timetable: Timetable, *, haste: float = 1.0) -> None:
        self._dsn = dsn
        self._timetable = timetable
        self._haste = haste
        with self._connect() as connection:
            connection.execute("select pg_advisory_xact_lock(hashtextextended('demo.authorization', 0))")
            connection.execute(RECORD)

    def answer(self, key: str, question: Question) -> tuple[int, dict[str, Any]]:
        """HTTP status and body for one question. What it says has been recorded when this returns."""
        began = time.monotonic()
        with self._connect() as connection:
            known = self._known(connection, key)
            if known is not None:
                return self._again(connection, key, question, known)
            flag = self._flag(connection, question.customer)
            away = max(self._timetable.back_in(time.time()), self._outage(connection, question.customer, flag))
        if away > 0.0:
            status, answer = 503, {"error": "away", "retry_after": int(away) + 1}
        else:
            time.sleep(thinking_seconds(key, flag) * self._haste)
            status, answer = 200, self._decide(key, flag, question)
        return self._record(key, question, status, answer, int(1000 * (time.monotonic() - began)))

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._dsn, connect_timeout=3)

    @staticmethod
    def _decide(key: str, flag: str, question: Question) -> dict[str, Any]:
        allowed, reason = (False, "unknown customer") if not flag else verdict(flag, question.amount)
        reference = "AZ-" + hashlib.sha256(f"reference {key}".encode()).hexdigest()[:10].upper()
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return {"allowed": allowed, "reason": reason, "reference": reference, "at": at}

    @staticmethod
    def _known(connection: psycopg.Connection[Any], key: str) -> tuple[Any, Any] | None:
        return connection.execute(
            "select request, answer from fraud.checks where key = %s and status = 200 and not repeated", [key]
        ).fetchone()

    @staticmethod
    def _flag(connection: psycopg.Connection[Any], customer: str) -> str:
        row = connection.execute("select check_flag from core.customers where id = %s", [customer]).fetchone()
        return str(row[0]) if row else ""

    @staticmethod
    def _outage(connection: psycopg.Connection[Any], customer: str, flag: str) -> float:
        """Seconds until it is back for this customer, by the record of when it was first asked lately."""
        if flag != "unsteady":
            return 0.0
        row = connection.execute(
            "select extract(epoch from clock_timestamp() - min(at))::float from fraud.checks"
            " where request ->> 'customer' = %s and at > now() - make_interval(secs => %s)",
            [customer, OUTAGE_AGAIN_SECONDS],
        ).fetchone()
        since = row[0] if row and row[0] is not None else 0.0
        return max(0.0, OUTAGE_SECONDS - float(since))

    @staticmethod
    def _again(
        connection: psycopg.Connection[Any], key: str, question: Question, known: tuple[Any, Any]
    ) -> tuple[int, dict[str, Any]]:
        asked, answer = known
        if asked != question.as_json():
            return 422, {"error": "this idempotency key was used for another question"}
        connection.execute(
            "insert into fraud.checks (key, request, status, answer, repeated, took_ms)"
            " values (%s, %s, 200, %s, true, 0)",
            [key, Jsonb(asked), Jsonb(answer)],
        )
        return 200, answer

    def _record(
        self, key: str, question: Question, status: int, answer: dict[str, Any], took_ms: int
    ) -> tuple[int, dict[str, Any]]:
        """Write it down. When another request with this key was quicker, its answer is the answer."""
        with self._connect() as connection:
            connection.execute(
                "insert into fraud.checks (key, request, status, answer, took_ms) values (%s, %s, %s, %s, %s)"
                " on conflict (key) where status = 200 and not repeated do nothing",
                [key, Jsonb(question.as_json()), status, Jsonb(answer), took_ms],
            )
            known = self._known(connection, key) if status == 200 else None
            return self._again(connection, key, question, known) if known and known[1] != answer else (status, answer)


class Handler(BaseHTTPRequestHandler):
    """HTTP around the desk: who asks, under which key, and is it a question at all."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """`/healthz`, for whoever started the process."""
        if self.path == "/healthz":
            self._send(200, {"status": "ok"})
        else:
            self._send(404, {"error": "no such page"})

    def do_POST(self) -> None:
        """`/v1/checks`: one question, one answer."""
        body = self._body()
        if body is None:
            self.close_connection = True
            return self._send(413, {"error": "want a Content-Length of at most 16384"})
        if self.path != "/v1/checks":
            return self._send(404, {"error": "no such page"})
        given = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), self.server.token.encode()):
            return self._send(401, {"error": "token not known"})
        key = self.headers.get("Idempotency-Key", "").strip()
        if not 0 < len(key) <= 500:
            return self._send(400, {"error": "want an Idempotency-Key header"})
        try:
            return self._send(*self.server.desk.answer(key, Question.read(body)))
        except Malformed as error:
            return self._send(422, {"error": str(error)})
        except psycopg.Error:
            # The bank's database is away: nothing was promised, nothing recorded, ask again.
            return self._send(503, {"error": "away", "retry_after": 2})

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return None
        return self.rfile.read(int(length))

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer, sort_keys=True).encode()  # a repeat is the same to the byte
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 503:
            self.send_header("Retry-After", str(answer["retry_after"]))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, the base class names it
        """Say nothing: the record is the table."""


class Server(ThreadingHTTPServer):
    """A thread for each question, so that a slow one holds nobody up."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, token: str, desk: Desk) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.token = token
        self.desk = desk


def keep_filled(dsn: str) -> None:
    """Run the bank's refill rule for ever. While the bank is away it waits for the next time."""
    while True:
        with contextlib.suppress(psycopg.Error), psycopg.connect(dsn, connect_timeout=3) as connection:
            refill(connection)
        time.sleep(REFILL_SECONDS)


def opened(dsn: str, timetable: Timetable) -> Desk:
    """A desk, once its database is there. Raises psycopg.Error when it is not within PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return Desk(dsn, timetable)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def main() -> int:
    """Serve until stopped. 2 and one line on standard error when token or database is missing."""
    env = os.environ.get
    parser = argparse.ArgumentParser(prog="python -m demo.authorization", description=__doc__)
    parser.add_argument("--port", type=int, default=int(env("AUTHORIZATION_PORT", "0")), help="0 takes a free one")
    parser.add_argument("--token-file", default=env("AUTHORIZATION_TOKEN_FILE", ""))
    parser.add_argument("--dsn", default=env("BANK_DSN", ""), help="libpq connection string of the bank")
    away = float(env("AUTHORIZATION_AWAY", "8"))
    parser.add_argument("--away", type=float, default=away, help="seconds away out of every 780; 0 is never")
    given = parser.parse_args()
    try:
        token = Path(given.token_file).read_text().strip()
        if not token:
            raise OSError(f"{given.token_file} is empty")
        server = Server(given.port, token, opened(given.dsn, Timetable(away=given.away)))
    except (OSError, psycopg.Error) as error:
        print(f"demo.authorization: {error}".strip(), file=sys.stderr)
        return 2
    threading.Thread(target=keep_filled, args=[given.dsn], daemon=True).start()
    print(f"authorization ready http://127.0.0.1:{server.server_port}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
