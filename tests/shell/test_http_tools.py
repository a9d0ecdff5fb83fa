"""Tools over HTTP described by data: what is sent, what is taken, and what a description must not say."""

from __future__ import annotations

import base64
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.errors import Invalid
from sessions.outside import secrets
from sessions.tools.http import calls, description
from sessions.tools.registry import ToolContext, ToolFailed
from tests.shell.hostile_http import Hostile

TOKEN = "marker-5f3a9c1e77"
CONTEXT = ToolContext("s-1", "c-1", "c-1.0", "C-1042", 1)
CHECK = {
    "name": "check",
    "version": 1,
    "description": "Ask whether this may be done.",
    "effect": "idempotent",
    "arguments": {
        "type": "object",
        "properties": {"customer": {"type": "string"}, "purpose": {"type": "string"}, "amount": {"type": "object"}},
        "required": ["customer"],
        "additionalProperties": False,
    },
    "result": {
        "type": "object",
        "properties": {"allowed": {"type": "boolean"}, "reference": {"type": "string"}},
        "required": ["allowed", "reference"],
        "additionalProperties": False,
    },
    "request": {
        "method": "POST",
        "url": "http://127.0.0.1/fine{?purpose}",
        "variables": {"purpose": {"$from": "arguments.purpose"}},
        "headers": {"X-Asked-By": "agentstate"},
        "body": {"customer": {"$from": "session.customer"}, "amount": {"$from": "arguments.amount"}, "all": [1]},
        "auth": {"kind": "bearer", "secret": "bank_token"},
        "idempotency": "Idempotency-Key",
    },
    "answer": {
        "result": {"allowed": {"$from": "answer.allowed"}, "reference": {"$from": "answer.reference"}},
        "refused": {"404": "there is no such customer"},
    },
    "preview": "Ask about {arguments.purpose} of {arguments.amount}",
    "requires": [{"that": "arguments.customer == session.customer", "why": "this is another customer"}],
    "risk": [{"when": "has(arguments.amount) && arguments.amount.minor > 1000", "tier": 3}],
    "timeout": 1.0,
}
ASKED = {"customer": "C-1042", "purpose": "a b/../?&=\u00fc", "amount": {"minor": 430000, "currency": "USD"}}


@pytest.fixture(scope="module")
def hostile():
    server = Hostile()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def bank_token(settings, tmp_path):
    """The secret in a file of its own, and the loopback allowed."""
    settings.STATE_DIR, settings.OUTSIDE_NETWORKS = tmp_path, ["127.0.0.0/8"]
    file = tmp_path / "secrets" / "tools" / "bank_token"
    file.parent.mkdir(parents=True)
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    return file


def tool(hostile: Hostile | None = None, path: str = "/fine", **changed):
    port = f":{hostile.port}" if hostile else ""
    request = {**CHECK["request"], "url": f"http://127.0.0.1{port}{path}{{?purpose}}", **changed.pop("request", {})}
    return calls.tool_of(description.load(json.dumps({**CHECK, **changed, "request": request}).encode()))


def failure(made, arguments=None) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        made.run(arguments or ASKED, CONTEXT)
    return caught.value


def test_what_is_sent_is_what_the_description_says(hostile):
    result = tool(hostile).run(ASKED, CONTEXT)
    head, _, body = hostile.seen[-1].decode().partition("\r\n\r\n")
    assert result == {"allowed": True, "reference": "r-1"}
    assert head.startswith("POST /fine?purpose=a%20b%2F..%2F%3F%26%3D%C3%BC HTTP/1.1\r\n")
    assert f"Authorization: Bearer {TOKEN}" in head
    assert "Idempotency-Key: s-1.c-1.0" in head
    assert json.loads(body) == {"customer": "C-1042", "amount": ASKED["amount"], "all": [1]}


def test_what_is_not_given_is_left_out(hostile):
    tool(hostile).run({"customer": "C-1042"}, CONTEXT)
    assert hostile.seen[-1].startswith(b"POST /fine HTTP/1.1\r\n")
    assert hostile.seen[-1].endswith(b'{"customer":"C-1042","all":[1]}')


@pytest.mark.parametrize(("kind", "sent"), [("basic", "Basic "), ("header", "")])
def test_credentials_go_where_the_description_says(hostile, kind, sent):
    auth = {"kind": kind, "secret": "bank_token", **({"header": "X-Key"} if kind == "header" else {})}
    tool(hostile, request={"auth": auth}).run(ASKED, CONTEXT)
    value = base64.b64encode(TOKEN.encode()).decode() if kind == "basic" else TOKEN
    name = "X-Key" if kind == "header" else "Authorization"
    assert f"\r\n{name}: {sent}{value}\r\n".encode() in hostile.seen[-1]


def test_a_status_says_whether_to_try_again_and_when(hostile):
    away, unknown = failure(tool(hostile, "/away")), failure(tool(hostile, "/unknown"))
    assert (away.transient, away.after, away.code) == (True, 120.0, "status_503")
    assert (unknown.transient, unknown.code, str(unknown)) == (False, "status_404", "there is no such customer")


@pytest.mark.parametrize(
    ("path", "code"),
    [("/redirect", "redirected"), ("/gzip", "encoded"), ("/endless", "too_large"), ("/drip", "too_slow"),
     ("/html", "wrong_content_type"), ("/latin", "not_utf8"), ("/deep", "too_deep"), ("/nonsense", "no_http")],
)  # fmt: skip
def test_a_hostile_answer_fails_the_call_by_name(hostile, path, code):
    assert failure(tool(hostile, path)).code == code


def test_an_answer_that_repeats_the_secret_is_kept_nowhere(hostile):
    found = failure(tool(hostile, "/echo"))
    assert found.code == "repeats_secret"
    assert TOKEN not in str(found)


def test_a_result_that_is_not_as_declared_is_named_by_path_and_never_by_value(hostile):
    made = tool(hostile, "/wrong")
    broken = made.misfit(made.run(ASKED, CONTEXT))
    assert broken.startswith("result.allowed: type")
    assert "perhaps" not in broken


def test_a_call_for_another_customer_is_not_sent(hostile):
    before = len(hostile.seen)
    assert str(failure(tool(hostile), {**ASKED, "customer": "C-2000"})) == "this is another customer"
    assert len(hostile.seen) == before


def test_a_private_address_is_refused_unless_it_is_allowed(hostile, settings):
    settings.OUTSIDE_NETWORKS = []
    assert failure(tool(hostile)).code == "address_refused"


def test_the_installation_narrows_the_hosts_of_all_descriptions(hostile, settings):
    settings.OUTSIDE_HOSTS = ["*.bank.example"]
    assert failure(tool(hostile)).code == "host_refused"


@pytest.mark.parametrize("value", [".", "..", "", True, 1.5, ["x"], {"a": 1}])
def test_a_value_that_would_be_a_path_of_its_own_is_not_sent(hostile, value):
    made = tool(hostile, "/fine{/customer}", request={"variables": {"customer": {"$from": "arguments.customer"},
                                                                    "purpose": "x"}}, requires=[])  # fmt: skip
    assert failure(made, {"customer": value}).code == "bad_argument"


@given(st.text())
def test_whatever_a_model_says_changes_neither_host_nor_path(value):
    told = {**CHECK["request"], "url": "https://a.example/v1/{c}/x", "variables": {"c": {"$from": "arguments.c"}}}
    found = description.load(json.dumps({**CHECK, "request": told}).encode())
    try:
        address = calls._address(found, {"arguments": {"c": value}})
    except ToolFailed:
        assert value in ("", ".", "..")
    else:
        assert address.startswith("https://a.example/v1/")
        assert address.count("/") == 5
        assert not set(address) & set("?#\\ @\r\n")


def test_a_secret_that_others_may_read_is_not_used(bank_token):
    bank_token.chmod(0o644)
    assert failure(tool()).code == "no_secret"
    bank_token.unlink()
    assert failure(tool()).code == "no_secret"


def test_a_secret_may_come_from_the_environment(settings, monkeypatch):
    settings.OUTSIDE_SECRETS = "environment"
    monkeypatch.setenv("TOOL_SECRET_BANK_TOKEN", TOKEN)
    assert secrets.named("bank_token").reveal() == TOKEN
    with pytest.raises(secrets.NoSecret):
        secrets.named("other")
    monkeypatch.setenv("TOOL_SECRET_BANK_TOKEN", "a\r\nHost: evil")
    with pytest.raises(secrets.NoSecret):
        secrets.named("bank_token")


def test_the_tier_is_raised_by_the_arguments_and_by_what_cannot_be_read():
    made = tool()
    assert made.risk({"customer": "x"}, {}) == 0
    assert made.risk(ASKED, {}) == 3
    assert made.risk({"amount": {"minor": "many"}}, {}) == 3


def test_the_preview_says_amounts_as_people_do():
    assert tool().preview({"purpose": "rent", "amount": ASKED["amount"]}, {}) == "Ask about rent of $4,300.00"


def test_a_call_is_undone_by_another_with_values_of_its_own():
    taken = {"payment": {"$from": "result.reference"}, "amount": {"$from": "arguments.amount"}}
    made = tool(undo={"tool": "refund", "arguments": taken}, limit=2)
    assert (made.undone_by, made.limit) == ("refund", 2)
    assert made.undo(ASKED, {"reference": "r-1"}) == {"payment": "r-1", "amount": ASKED["amount"]}
    assert made.undo(ASKED, {}) is None


WRONG = {
    "an undoing that knows what nobody knows": {
        "undo": {"tool": "refund", "arguments": {"a": {"$from": "session.id"}}}
    },
    "a host from the model": {"request": {"url": "https://{purpose}.example/"}},
    "a path that decides the host": {"request": {"url": "https://a.example{purpose}"}},
    "reserved expansion": {"request": {"url": "https://a.example/{+purpose}"}},
    "a fragment": {"request": {"url": "https://a.example/{#purpose}"}},
    "a user in the address": {"request": {"url": "https://me:you@a.example/{?purpose}"}},
    "another scheme": {"request": {"url": "file:///etc/passwd{?purpose}"}},
    "a variable from nowhere": {"request": {"variables": {}}},
    "a path to nowhere": {"request": {"variables": {"purpose": {"$from": "secrets.bank_token"}}}},
    "a header of the connection": {"request": {"headers": {"Host": "b.example"}}},
    "a header with a line end": {"request": {"headers": {"X-A": "a\r\nHost: b"}}},
    "an authorization by hand": {"request": {"headers": {"Authorization": "Bearer x"}}},
    "no key for an idempotent call": {"request": {"idempotency": ""}},
    "an unknown field": {"follow_redirects": True},
    "an unreadable requirement": {"requires": [{"that": "arguments.", "why": "x"}]},
    "open arguments": {"arguments": {"type": "object"}},
    "a schema that is none": {"result": {"type": "thing"}},
    "a name that is none": {"name": "Check it"},
    "an effect that the method denies": {"effect": "pure", "request": {"method": "DELETE"}},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_description_that_says_too_much_is_refused(wrong):
    request = {**CHECK["request"], **WRONG[wrong].get("request", {})}
    with pytest.raises(description.BadTool):
        description.load(json.dumps({**CHECK, **WRONG[wrong], "request": request}).encode())


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists, max_leaves=5).map(msgspec.json.encode))
def test_whatever_stands_in_a_file_is_a_description_or_refused(data):
    with pytest.raises(Invalid):
        description.load(data)
