"""The authorization service over real HTTP: who may ask, what it answers, and that it writes everything down."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from demo import authorization as service
from demo.authorization import Timetable, thinking_seconds
from tests.live.bank import TOKEN, authorization, fresh_bank, one, person_with

ALWAYS = Timetable(away=0.0)
CLEAR = person_with("clear").id
USD_43 = {"minor": 4300, "currency": "USD"}


@pytest.fixture
def bank(test_database: object) -> str:
    return fresh_bank()


@pytest.fixture
def url(bank: str) -> Iterator[str]:
    with authorization(bank, ALWAYS) as address:
        yield address


def ask(url: str, customer: str = CLEAR, key: str = "k", token: str = TOKEN, **changes: Any) -> httpx.Response:
    body = {"customer": customer, "purpose": "transfer", "amount": USD_43, **changes}
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    return httpx.post(f"{url}/v1/checks", json=body, headers=headers, trust_env=False, timeout=10)


def test_it_says_yes_to_most_no_to_some_and_does_not_say_why(url: str) -> None:
    yes, no = ask(url, key="a").json(), ask(url, person_with("refuse").id, key="b").json()
    assert (yes["allowed"], no["allowed"]) == (True, False)
    assert abs(datetime.fromisoformat(yes["at"] + "+00:00") - datetime.now(UTC)) < timedelta(seconds=20)
    assert no["reason"] == "not cleared"
    assert ask(url, key="c", amount={"minor": 99_000_000, "currency": "USD"}).json()["allowed"] is False
    assert ask(url, "C-9999", key="d").json()["allowed"] is False


def test_one_key_has_one_answer_and_may_not_be_used_for_another_question(url: str, bank: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = {answer.text for answer in pool.map(lambda _: ask(url), range(12))}
    assert len(answers) == 1
    assert ask(url, amount={"minor": 1, "currency": "USD"}).status_code == 422
    assert ask(url, to_account="1000000002").status_code == 422
    assert one(bank, "select count(*) from fraud.checks where not repeated") == 1


def test_every_question_and_answer_is_in_its_own_record_that_nobody_changes(url: str, bank: str) -> None:
    ask(url)
    with psycopg.connect(bank) as connection:
        row = connection.execute("select key, request, status, answer, took_ms from fraud.checks").fetchone()
        assert row is not None
        assert row[:3] == ("k", {"customer": CLEAR, "purpose": "transfer", "amount": USD_43}, 200)
        for change in ("update fraud.checks set status = 1", "delete from fraud.checks", "truncate fraud.checks"):
            with pytest.raises(psycopg.errors.RaiseException), connection.transaction():
                connection.execute(change)  # type: ignore[arg-type]


def test_for_an_unsteady_customer_it_is_away_at_first_and_back_soon_after(
    url: str, bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "OUTAGE_SECONDS", 0.5)
    unsteady = person_with("unsteady").id
    away = ask(url, unsteady)
    assert (away.status_code, int(away.headers["Retry-After"]) >= 1) == (503, True)
    time.sleep(0.6)
    assert ask(url, unsteady).json()["allowed"] is True
    assert one(bank, "select array_agg(status order by id) from fraud.checks") == [503, 200]


def test_by_its_timetable_it_is_away_for_everybody(bank: str) -> None:
    with authorization(bank, Timetable(every=100.0, away=100.0)) as url:
        assert ask(url).status_code == 503
    assert Timetable(780.0, 8.0).back_in(780.0 * 5 + 3.0) == 5.0
    assert Timetable(780.0, 8.0).back_in(780.0 * 5 + 8.5) == 0.0


def test_it_is_sometimes_slow_and_always_for_slow_customers() -> None:
    times = [thinking_seconds(f"key {n}", "clear") for n in range(300)]
    assert 30 <= sum(t >= 2.0 for t in times) <= 90
    assert max(times) <= 4.0
    assert all(2.0 <= thinking_seconds(f"key {n}", "slow") <= 4.0 for n in range(50))


def test_nobody_asks_without_the_token(url: str, bank: str) -> None:
    assert ask(url, token="another").status_code == 401
    assert one(bank, "select count(*) from fraud.checks") == 0


@pytest.mark.parametrize(
    "changes",
    [{"amount": 4300}, {"amount": {"minor": 1.5, "currency": "USD"}}, {"amount": {"minor": 0, "currency": "USD"}},
     {"amount": {"minor": True, "currency": "USD"}}, {"purpose": ""}, {"customer": "\0"}, {"more": 1},
     {"to_account": "1000000002\n"}, {"from_account": 1000000001}],
)  # fmt: skip
def test_a_question_that_is_none_is_refused_and_not_recorded(url: str, bank: str, changes: dict[str, Any]) -> None:
    assert ask(url, **changes).status_code == 422
    assert one(bank, "select count(*) from fraud.checks") == 0


def test_broken_bodies_and_missing_keys_are_refused(url: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": "k"}

    def post(body: bytes, **more: str) -> int:
        return httpx.post(f"{url}/v1/checks", content=body, headers=headers | more, trust_env=False).status_code

    assert post(b"{") == 422
    assert post(b"x" * 20_000) == 413
    assert post(b"{}", **{"Idempotency-Key": ""}) == 400


def test_it_runs_as_a_process_of_its_own_and_says_where(bank: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    command = [sys.executable, "-m", "demo.authorization", "--away", "0", "--token-file", str(token), "--dsn", bank]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert ask(line.rsplit(" ", 1)[-1].strip()).json()["allowed"] is True
        finally:
            process.terminate()


def test_without_a_token_file_it_says_so_in_one_line(bank: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "demo.authorization", "--token-file", str(tmp_path / "none"), "--dsn", bank]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)


def test_it_waits_for_a_database_that_is_away_when_it_starts(bank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tries, connect = [], service.psycopg.connect

    def away_twice(*words: Any, **more: Any) -> Any:
        tries.append(1)
        return connect("host=/nowhere" if len(tries) <= 2 else words[0], **more)

    monkeypatch.setattr(service.psycopg, "connect", away_twice)
    desk = service.opened(bank, ALWAYS)
    assert len(tries) == 3
    assert desk.answer("k", service.Question(CLEAR, "transfer", 4300))[0] == 200
    monkeypatch.setattr(service, "PATIENCE", 0.0)
    with pytest.raises(psycopg.OperationalError):
        service.opened("host=/nowhere", ALWAYS)
