"""Every operation that takes a body, given what no honest program sends: a refusal of ours, quickly, nothing written.

Bodies that are no acceptable JSON, bodies of any size, and sound bodies in which one place at a time is hostile. The
same operations meet made-up cases in `live/test_api_fuzz.py`; which field is named where is in `test_api_input.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from sessions.conversation import commands as conversation_commands
from tests import cast
from tests.searching import FULL
from tests.shell.api_operations import NAMED, OPERATIONS, body_for
from tests.shell.api_world import Api, new_session, nothing_written, problem
from tests.shell.test_api_input import MEGABYTES, NOT_JSON
from tests.shell.test_api_profiles import CHANGES

pytestmark = pytest.mark.django_db
WITH_BODY = [(method, path) for method, path in OPERATIONS if method in ("POST", "PUT", "PATCH")]
IN_TURN = 3
SECONDS = 5.0  # of one refusal; far more than any takes, far less than what runs away
DEEP = "[" * 10_000 + "]" * 10_000
DEEP_OBJECTS = '{"a":' * 10_000 + "1" + "}" * 10_000

# What stands in one place of a body, as JSON text. These are refused wherever they stand.
NEVER = {
    "10,000 arrays": DEEP,
    "10,000 objects": DEEP_OBJECTS,
    "NUL": r'"a\u0000b"',
    "NUL in a key": r'{"a\u0000": 1}',
    "a lone surrogate": r'"\ud83d"',
    "a lone surrogate in a key": r'{"\udc00": 1}',
    "not a number": "NaN",
    "no number": "-Infinity",
    "an exponent beyond all numbers": "1e999999999999",
    "a number of 5,000 digits": "9" * 5_000,
    "a key twice": '{"a": 1, "a": 2}',
}
# These may be sound where a place takes any value: they are answered by the document, in time, and never by a 5xx.
SELDOM = {
    "100,000 items": json.dumps([0] * 100_000),
    "100,000 texts": json.dumps(["x"] * 100_000),
    "5,000 keys": json.dumps({f"k{number}": number for number in range(5_000)}),
    "60 arrays": "[" * 60 + "]" * 60,
    "money as a float": '{"minor": 1000.5, "currency": "USD"}',
    "money with an exponent": '{"minor": 1e3, "currency": "USD"}',
    "a float": "0.1",
    "a huge number": "9" * 300,
    "below zero": "-1",
    "true": "true",
    "null": "null",
    "a long text": json.dumps("x" * 200_000),
    "a reference": '"†state.nowhere.at.all"',
    "an expression": "\"__import__('os').system('true')\"",
    "markup": '"<script>alert(1)</script>"',
    "controls": r'"\u202e\u0007\ufeff"',
}


def sound(path: str, method: str) -> dict[str, Any]:
    """A body that the operation takes, or would if what it names were there."""
    return CHANGES.get(path.rpartition("/")[2], {}) if "/profile/" in path else body_for(path, method)


def places(body: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a body below its top."""
    inner = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for name, value in inner:
        yield (*at, name)
        yield from places(value, (*at, name))


def with_text(body: Any, at: tuple[Any, ...], text: str) -> bytes:
    """The body with JSON text in one place of it."""
    changed = json.loads(json.dumps(body))
    holder = changed
    for name in at[:-1]:
        holder = holder[name]
    holder[at[-1]] = "PUT IT HERE"
    return json.dumps(changed).replace('"PUT IT HERE"', text).encode()


def tried(values: dict[str, str], number: int, of: int) -> list[str]:
    """What stands in this one of so many places: in `make test` a third of the values, in turn, so that all come."""
    texts = list(values.values())
    return texts if FULL or of < IN_TURN else texts[number % IN_TURN :: IN_TURN]


class Aimed:
    """Somebody who may do most of it, and a session, a customer and a plan to do it to."""

    def __init__(self) -> None:
        session = new_session()
        conversation_commands.say(cast.cleo(), UUID(session), "Hello.")
        self.apis = {"cleo": Api(cast.cleo()), "alice": Api(cast.alice())}
        customer = self.apis["cleo"].get(f"/sessions/{session}").json()["customer"]
        self.ids = {**NAMED, "session": session, "customer": customer}

    def send(self, method: str, path: str, data: bytes) -> Any:
        """The answer, which came in time; `Api` fails the test on one that the document does not describe."""
        who = "cleo" if path in CALLERS else "alice"
        began = time.perf_counter()
        answer = self.apis[who].ask(method, path.format(**self.ids), data=data)
        assert time.perf_counter() - began < SECONDS, data[:80]
        return answer


@pytest.fixture(scope="module")
def aimed(rolled_back: None) -> Aimed:
    return Aimed()


CALLERS = {"/sessions", "/sessions/{session}/messages", "/sessions/{session}/end"}


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_no_operation_takes_what_is_no_acceptable_json(aimed: Aimed, method: str, path: str) -> None:
    with nothing_written():
        for name, (body, _) in NOT_JSON.items():
            answer = problem(aimed.send(method, path, body), 400, "bad_json")
            assert len(json.dumps(answer)) < 2000, name
        problem(aimed.send(method, path, MEGABYTES), 413, "too_large")


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_what_may_stand_nowhere_is_refused_in_every_place_of_a_body(aimed: Aimed, method: str, path: str) -> None:
    body = sound(path, method)
    with nothing_written():
        found = [*places(body), ("idempotency_key",)]
        for number, at in enumerate(found):
            for text in tried(NEVER, number, len(found)):
                problem(aimed.send(method, path, with_text(body, at, text)), 400, "bad_json")


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_a_hostile_value_in_any_place_is_answered_as_the_document_says(aimed: Aimed, method: str, path: str) -> None:
    body = sound(path, method)
    refused = 0
    found = list(places(body))
    for number, at in enumerate(found):
        for text in tried(SELDOM, number, len(found)):
            status = aimed.send(method, path, with_text(body, at, text)).status_code
            assert status < 500, (at, text[:60])
            refused += status >= 400
    assert refused or not body


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_a_field_that_nobody_declared_is_refused(aimed: Aimed, method: str, path: str) -> None:
    with nothing_written():
        problem(aimed.send(method, path, json.dumps({**sound(path, method), "sudo": True}).encode()), 400)
