"""Bad input: a 4xx problem document that names the field, nothing written, nothing of our insides shown.

Every call goes through `Api`, which checks form and document; `nothing_written` counts the rows of all tables.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import cast
from tests.searching import drawn
from tests.shell.api_world import UNKNOWN, Api, new_session, nothing_written, problem, waiting_request

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)
OPEN = {"customer": "C-1001", "agent": "bank", "channel": "phone"}
MEGABYTES = b'{"text": "' + b"a" * 10_000_000 + b'"}'

# Bodies that are no acceptable JSON, whatever the operation: (body, field that is named)
NOT_JSON: dict[str, tuple[bytes, str | None]] = {
    "nothing but a brace": (b"{", None),
    "text": (b"hello", None),
    "single quotes": (b"{'text': 'x'}", None),
    "a trailing comma": (b'{"text": "x",}', None),
    "two objects": (b'{"text": "x"}{"text": "x"}', None),
    "a byte order mark": (b'\xef\xbb\xbf{"text": "x"}', None),
    "not UTF-8": (b'{"text": "\xff"}', None),
    "UTF-16": ('{"text": "x"}'.encode("utf-16"), None),
    "a raw control character": (b'{"text": "a\x01b"}', None),
    "an array": (b'["text"]', None),
    "a string": (b'"text"', None),
    "null": (b"null", None),
    "NaN": (b'{"text": NaN}', None),
    "Infinity": (b'{"text": -Infinity}', None),
    "NUL": (b'{"text": "a\\u0000b"}', "text"),
    "NUL in a key": (b'{"te\\u0000xt": "x"}', ""),
    "a lone surrogate": (b'{"text": "\\ud800"}', "text"),
    "a surrogate the wrong way round": (b'{"text": "\\udc00\\ud800"}', "text"),
    "a lone surrogate in a key": (b'{"\\ud800": "x"}', ""),
    "a lone surrogate deep inside": (b'{"a": {"b": ["\\udfff"]}}', "a.b.0"),
    "a key twice": (b'{"text": "x", "text": "y"}', "text"),
    "a key twice deep inside": (b'{"text": {"a": 1, "a": 1}}', "a"),
    "an endless integer": (b'{"text": ' + b"9" * 5000 + b"}", None),
    "an endless fraction": (b'{"text": 0.' + b"1" * 5000 + b"}", None),
    "an exponent beyond all numbers": (b'{"text": 1e999999999999999999999}', None),
    "an exponent beyond doubles": (b'{"text": 1e4000}', None),
    "deep arrays": (b'{"text": ' + b"[" * 100 + b"]" * 100 + b"}", None),
    "deeper arrays": (b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", None),
    "deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, None),
    "unclosed depth": (b"[" * 400_000, None),
}


def posts(session: str, request: str = UNKNOWN) -> dict[str, str]:
    """Every operation that takes a body, on a session that is there."""
    return {
        "open": "/sessions",
        "message": f"/sessions/{session}/messages",
        "end": f"/sessions/{session}/end",
        "decision": f"/requests/{request}/decisions",
    }


@pytest.mark.parametrize("operation", ["open", "message", "end", "decision"])
def test_what_is_no_acceptable_json_is_refused_with_the_reason(operation: str) -> None:
    path, cleo = posts(new_session())[operation], Api(cast.cleo())
    with nothing_written():
        for name, (body, field) in NOT_JSON.items():
            answer = problem(cleo.post(path, body), 400, "bad_json")
            assert answer["detail"], name
            assert len(json.dumps(answer)) < 2000, name
            assert not field or answer["field"] == field, name


@pytest.mark.parametrize("operation", ["open", "message", "end", "decision"])
def test_ten_megabytes_are_413(operation: str) -> None:
    path, cleo = posts(new_session())[operation], Api(cast.cleo())
    with nothing_written():
        problem(cleo.post(path, MEGABYTES), 413, "too_large")


def test_ten_megabytes_in_a_form_are_refused_as_well() -> None:
    path, cleo = posts(new_session())["message"], Api(cast.cleo())
    with nothing_written():
        for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"):
            problem(cleo.post(path, MEGABYTES, content_type=kind), 415)


def test_no_body_at_all_names_the_first_field_that_is_missing() -> None:
    paths, cleo = posts(new_session()), Api(cast.cleo())
    first = {"open": "customer", "message": "text", "end": "reason", "decision": "decision"}
    with nothing_written():
        for operation, field in first.items():
            problem(cleo.post(paths[operation], b""), 400, "invalid", field)
            problem(cleo.post(paths[operation], {}), 400, "invalid", field)
            problem(cleo.post(paths[operation], b"", content_type=""), 400, "invalid", field)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    *[("message", {"text": value}, "text") for value in (1, 1.5, True, None, [], {}, ["x"], {"a": "b"}, "", " \n\t")],
    ("message", {"text": "x" * 16_385}, "text"),
    ("message", {"text": "x", "role": "agent"}, "role"),
    ("message", {"text": "x", "Text": "x"}, "Text"),
    ("message", {"text": "x", "a" * 5000: 1}, "a" * 60),
    *[("message", {"text": "x", "idempotency_key": value}, "idempotency_key") for value in (1, None, "", "k" * 201)],
    *[("end", {"reason": value}, "reason") for value in (0, False, None, [], "", "   ", "x" * 201)],
    *[("open", {**OPEN, "customer": value}, "customer") for value in (1, None, ["C-1001"], "", "  ", "x" * 201)],
    *[("open", {**OPEN, "channel": value}, "channel") for value in ("fax", "Phone", 1, None, [], {}, "x" * 900_000)],
    *[("open", {**OPEN, "agent": value}, "agent") for value in ("nobody", "", 7, "x" * 61)],
    *[("open", {**OPEN, "topic": value}, "topic") for value in (1, None, [], "x" * 201)],
    *[("open", {**OPEN, "alias": value}, "alias") for value in (1, None, "x" * 201)],
    *[("open", {**OPEN, "team": value}, "team") for value in (1, None, "")],
    ("open", {**OPEN, "status": "done"}, "status"),
    *[("decision", {"decision": value}, "decision") for value in ("yes", "Approve", "", 1, True, None, ["approve"])],
    ("decision", {"decision": "reject", "reason": 1}, "reason"),
    ("decision", {"decision": "reject", "reason": "x" * 2001}, "reason"),
    *[("decision", {"decision": "edit", "arguments": value}, "arguments") for value in ([], "x", 1, None, True)],
    ("decision", {"decision": "approve", "by": "user:me"}, "by"),
    ("decision", {"decision": "respond", "response": "x" * 4001}, "response"),
]


@pytest.mark.parametrize("operation", ["open", "message", "end", "decision"])
def test_wrong_types_lengths_and_unknown_fields_are_400_that_name_the_field(operation: str) -> None:
    path, cleo = posts(new_session())[operation], Api(cast.cleo())
    with nothing_written():
        for body, field in [(body, field) for each, body, field in WRONG if each == operation]:
            answer = problem(cleo.post(path, body), 400, field=field)
            assert len(json.dumps(answer)) < 3000


def test_every_wrong_field_is_listed_not_only_the_first() -> None:
    answer = problem(Api(cast.cleo()).post("/sessions", {"customer": 1, "channel": "fax"}), 400, "invalid")
    assert [each["field"] for each in answer["errors"]] == ["customer", "agent", "channel"]


def test_a_team_that_is_not_mine_is_403_and_named() -> None:
    cast.cards()
    cleo = Api(cast.cleo())
    with nothing_written():
        for team in ("cards", "no-such-team", "RETAIL", "retail'--"):
            problem(cleo.post("/sessions", {**OPEN, "team": team}), 403, "permission_denied", "team")


def test_the_customer_of_a_refused_opening_gets_no_key() -> None:
    cleo = Api(cast.cleo())
    assert cleo.post("/sessions", {**OPEN, "idempotency_key": "k"}).status_code == 201
    with nothing_written():
        problem(cleo.post("/sessions", {**OPEN, "customer": "C-2", "idempotency_key": "k"}), 409)


QUERIES: list[tuple[str, dict[str, Any], str]] = [
    *[("/sessions", {"limit": text}, "limit") for text in ("0", "501", "-1", "--5", "1e2", "1.0", "", " 1", "x", "²")],
    *[("/sessions", {"limit": text}, "limit") for text in ("9" * 5000, "0" * 30, "\x00", "١")],
    *[("/sessions", {"status": text}, "status") for text in ("", "Done", "waiting", "done\x00", "x" * 5000)],
    *[("/sessions", {"after": text}, "after") for text in ("", "x", UNKNOWN, UNKNOWN + "\n", "\x00", f"{{{UNKNOWN}}}")],
    ("/sessions", {"limit": ["1", "2"]}, "limit"),
    ("/sessions", {"state": "done"}, "state"),
    ("/sessions", {"format": "api"}, "format"),
    *[("/requests", {"state": text}, "state") for text in ("", "open", "PENDING")],
    *[("/requests", {"mine": text}, "mine") for text in ("", "1", "True", "yes")],
    ("/requests", {"status": "pending"}, "status"),
    ("/requests", {"after": UNKNOWN}, "after"),
]


@pytest.mark.parametrize(("path", "query", "field"), QUERIES, ids=lambda value: str(value)[:40])
def test_a_parameter_that_makes_no_sense_is_400_and_named(path: str, query: dict[str, Any], field: str) -> None:
    problem(Api(cast.alice()).get(path, **query), 400, "invalid", field)


@pytest.mark.parametrize("after", ["-2", "9007199254740993", "x", "0x1", "", "1 ", "-", "9" * 40])
def test_a_seq_that_is_none_is_400_and_named(after: str) -> None:
    session = new_session()
    problem(Api(cast.alice()).get(f"/sessions/{session}/entries", after=after), 400, "invalid", "after")


def test_a_seq_beyond_the_end_is_an_empty_page() -> None:
    page = Api(cast.alice()).get(f"/sessions/{new_session()}/entries", after=str(2**53)).json()
    assert page == {"entries": [], "next": None}


AMOUNT = {"minor": 100000, "currency": "USD"}
BROKEN_EDITS: list[tuple[dict[str, Any], str]] = [
    ({"amount": {"minor": -5, "currency": "USD"}}, "arguments.amount.minor"),
    ({"amount": {"minor": 0, "currency": "USD"}}, "arguments.amount.minor"),
    ({"amount": {"minor": 10**14, "currency": "USD"}}, "arguments.amount.minor"),
    ({"amount": {"minor": 1000.5, "currency": "USD"}}, "arguments.amount.minor"),
    ({"amount": {"minor": "1000", "currency": "USD"}}, "arguments.amount.minor"),
    ({"amount": {"minor": True, "currency": "USD"}}, "arguments.amount.minor"),
    ({"amount": {"minor": None, "currency": "USD"}}, "arguments.amount.minor"),
    ({"amount": {"minor": 1000, "currency": "EUR"}}, "arguments.amount.currency"),
    ({"amount": {"minor": 1000}}, "arguments.amount.currency"),
    ({"amount": {**AMOUNT, "fee": 1}}, "arguments.amount.fee"),
    ({"amount": 1000}, "arguments.amount"),
    ({"from_account": "1 OR 1=1"}, "arguments.from_account"),
    ({"new_payee": "no"}, "arguments.new_payee"),
    ({"memo": "x" * 100_000}, "arguments.memo"),
]


NAMES = st.sampled_from(["from_account", "to_account", "amount", "minor", "currency", "new_payee", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@committed
def test_an_edit_that_breaks_the_tools_schema_names_the_argument_and_writes_nothing(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    proposed = alice.get(f"/requests/{request}").json()
    with nothing_written():
        for change, field in BROKEN_EDITS:
            body = {"decision": "edit", "reason": "x", "arguments": {**proposed["arguments"], **change}}
            answer = problem(alice.post(f"/requests/{request}/decisions", body), 400, "invalid", field)
            assert len(answer["detail"]) <= 500
    assert alice.get(f"/requests/{request}").json() == proposed


@committed
def test_decisions_that_contradict_themselves_are_400_and_write_nothing(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    arguments = alice.get(f"/requests/{request}").json()["arguments"]
    contradictions = [
        ({"decision": "reject"}, "reason"),
        ({"decision": "reject", "reason": " "}, "reason"),
        ({"decision": "edit", "reason": "x"}, "arguments"),
        ({"decision": "edit", "reason": "x", "arguments": {}}, "arguments.from_account"),
        ({"decision": "edit", "reason": "x", "arguments": arguments}, "arguments"),
        ({"decision": "edit", "arguments": {**arguments, "amount": AMOUNT}}, "reason"),
        ({"decision": "approve", "arguments": arguments}, "arguments"),
        ({"decision": "respond"}, "response"),
    ]
    with nothing_written():
        for body, field in contradictions:
            problem(alice.post(f"/requests/{request}/decisions", body), 400, "invalid", field)


@committed
def test_a_decision_on_something_already_decided_is_409_with_who_and_when(bank) -> None:
    request, alice, bob = waiting_request(), Api(cast.alice()), Api(cast.bob())
    assert alice.post(f"/requests/{request}/decisions", {"decision": "approve"}).status_code == 201
    ended_at = alice.get(f"/requests/{request}").json()["ended_at"]
    with nothing_written():
        for api in (alice, bob):
            answer = api.post(f"/requests/{request}/decisions", {"decision": "reject", "reason": "no"})
            body = problem(answer, 409, "already_decided")
            assert (body["outcome"], body["by"], body["by_name"]) == ("approved", cast.alice().actor, "Alice")
            assert body["at"] == ended_at


@committed
def test_a_decision_on_what_the_bounded_state_has_let_go_of_is_409_too(bank, monkeypatch) -> None:
    monkeypatch.setattr("agentstate.engine.state.calls.KEPT_CALLS", 0)
    request, alice = waiting_request(), Api(cast.alice())
    assert alice.post(f"/requests/{request}/decisions", {"decision": "reject", "reason": "no"}).status_code == 201
    with nothing_written():
        body = problem(alice.post(f"/requests/{request}/decisions", {"decision": "approve"}), 409, "already_decided")
    assert (body["outcome"], body["by_name"]) == ("rejected", "Alice")


@committed
def test_no_edit_with_arguments_made_up_at_random_gets_through(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())

    @settings(
        max_examples=drawn(60),
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.dictionaries(NAMES, VALUES, max_size=5))
    def edit(arguments: dict[str, Any]) -> None:
        body = {"decision": "edit", "reason": "x", "arguments": arguments}
        problem(alice.post(f"/requests/{request}/decisions", body), 400)

    with nothing_written():
        edit()
    assert alice.get(f"/requests/{request}").json()["state"] == "pending"
