"""Webhooks in: signed, taken in once, bounded; and whatever else arrives is refused in the same words."""

from __future__ import annotations

import base64
import json

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.automation.triggers import firings, hooks
from sessions.automation.triggers import repository as keeping
from sessions.core import states
from sessions.models.sessions import AgentSession
from sessions.models.triggers import Trigger, TriggerFiring
from sessions.outside import signature
from tests import cast
from tests.searching import drawn
from tests.shell.test_triggers import ends, kept

pytestmark = pytest.mark.django_db(transaction=True)

KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OPENS = {"open": {"agent": "bank", "customer": "event.body.customer", "say": "'Claim ' + event.body.claim"}}


@pytest.fixture
def hook(settings, monkeypatch) -> Trigger:
    settings.OUTSIDE_SECRETS = "environment"
    monkeypatch.setenv("TOOL_SECRET_CLAIMS", SECRET)
    return kept("claims", on={"hook": {"secret": "claims"}}, when="event.body.kind == 'claim.made'", do=OPENS)


def send(hook: Trigger | str, body: object, message: str = "msg_1", key: bytes = KEY, late: int = 0, **headers: str):
    """A message as its sender sends it."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    at = int(keeping.database_now().timestamp()) - late
    signed = {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": signature.sign(key, message, at, data),
    }
    address = f"/api/v1/hooks/{hook.pk if isinstance(hook, Trigger) else hook}"
    return Client(REMOTE_ADDR=cast.address()).post(
        address, data=data, content_type="application/json", headers={**signed, **headers}
    )


CLAIM = {"kind": "claim.made", "customer": "C-1001", "claim": "K-7"}


def test_a_signed_message_opens_a_session(hook):
    answer = send(hook, CLAIM)
    assert answer.status_code == 202
    firings.fire_due()
    session = AgentSession.objects.get()
    assert answer.json() == {"firing": str(session.pk)}
    assert states.load(session.pk).state.items[-1].text == "Claim K-7"


def test_a_message_that_is_sent_again_is_one_message(hook):
    first, again = send(hook, CLAIM), send(hook, CLAIM)
    firings.fire_due()
    after = send(hook, CLAIM)
    firings.fire_due()
    assert first.json() == again.json() == after.json()
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (TriggerFiring.objects.count(), AgentSession.objects.count()) == (1, 1)


def test_what_is_not_genuine_is_refused_in_the_same_words_whatever_is_wrong(hook):
    other = send("0190163d-8694-739b-aea5-966c26f8ad91", CLAIM)
    wrong = [
        other, send(hook, CLAIM, key=b"x" * 32), send(hook, CLAIM, late=301), send(hook, CLAIM, late=-400),
        send("nothing", CLAIM), send(hook, CLAIM, **{"webhook-id": "msg_2"}),
        send(hook, CLAIM, **{"webhook-signature": "v1,AAAA"}),
    ]  # fmt: skip
    assert {answer.status_code for answer in wrong} == {401}
    assert {answer.content for answer in wrong} == {other.content}
    assert TriggerFiring.objects.count() == 0


def test_a_body_that_is_too_large_or_no_object_is_refused(hook):
    assert send(hook, b'{"a": "' + b"x" * hooks.MAX_BODY + b'"}').status_code == 413
    for body in (b"[]", b"", b"{", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"\xff", b"[" * 9000):
        assert send(hook, body).status_code == 400
    assert TriggerFiring.objects.count() == 0


def test_a_new_secret_stands_beside_the_old_one(hook, monkeypatch):
    new = b"n" * 32
    monkeypatch.setenv("TOOL_SECRET_CLAIMS", f"{SECRET} whsec_{base64.b64encode(new).decode()}")
    assert send(hook, CLAIM).status_code == send(hook, CLAIM, "msg_2", key=new).status_code == 202


def test_a_webhook_without_a_usable_secret_says_no_more_than_that(hook, monkeypatch):
    for value in ("", "hush-hush", "whsec_zzz"):
        monkeypatch.setenv("TOOL_SECRET_CLAIMS", value)
        answer = send(hook, CLAIM)
        assert (answer.status_code, answer.json()["code"]) == (503, "webhook_unusable")
        assert not value or value not in answer.content.decode()


def test_a_webhook_that_is_off_takes_nothing(hook):
    keeping.switch(hook.pk, False, cast.adam().actor)
    assert send(hook, CLAIM).json()["code"] == "webhook_off"


def test_a_full_queue_says_later(hook, monkeypatch):
    monkeypatch.setattr(hooks.intake, "MAX_DUE", 1)
    assert send(hook, CLAIM).status_code == 202
    assert send(hook, CLAIM, "msg_2").status_code == 429


def test_an_address_that_keeps_guessing_is_held_off(hook):
    client = Client(REMOTE_ADDR=cast.address())
    address = f"/api/v1/hooks/{hook.pk}"
    codes = [client.post(address, data=b"{}", content_type="application/json").status_code for _ in range(61)]
    assert set(codes[:60]) == {401}
    assert codes[60] == 429


def test_words_of_a_message_are_sealed_while_it_waits_and_gone_afterwards(hook):
    send(hook, CLAIM)
    waiting = bytes(TriggerFiring.objects.get().sealed)
    assert b"K-7" not in waiting
    firings.fire_due()
    assert bytes(TriggerFiring.objects.get().sealed) == b""


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdefk", max_size=8), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["kind", "customer", "claim", "more"]), VALUES))
@settings(
    max_examples=drawn(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_genuine_message_whatever_leaves_a_firing_without_a_named_end(hook, body):
    message = f"msg_{TriggerFiring.objects.count()}"
    answer = send(hook, body, message)
    assert answer.status_code in (202, 400)
    firings.fire_due()
    assert not TriggerFiring.objects.filter(state__in=["due", "failed"]).exists()
    assert all(state == "fired" or why for state, why in ends(hook))
