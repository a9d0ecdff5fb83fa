"""Sharing a part of a session: links that end, are taken back, guessed at and erased, and files that stand alone."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from audit import keys, signer, verify
from audit.erasure import State
from audit.models import Payload
from audit.proofs.making import NoSuchEntry, NoSuchField
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.core.states import UnknownSession
from sessions.disclosures import commands, content
from sessions.disclosures.content import What
from sessions.models.sessions import AccessLine, Disclosure
from sessions.privacy import commands as erasures
from sessions.privacy import erasure as erasing
from sessions.privacy.stores import STORES
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import CUSTOMER, opened
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
WORD = "Zebrafinch"


def talked() -> UUID:
    session = opened()
    for text in (f"My cat is called {WORD}", "And the dog Quokkaburra"):
        conversation_commands.say(cast.cleo(), session, text)
    return session


def shared(session: UUID, what: What = What.ENTRY, **more: Any) -> commands.Made:
    wanted = {"reason": "the ombudsman asked", "first": 1, "days": 7, **more}
    return commands.disclose(cast.alice(), session, what, **wanted)


def look(token: str, name: str = "shared", peer: str = "") -> HttpResponse:
    """The link, opened by somebody who is nobody here."""
    return Client(REMOTE_ADDR=peer or cast.address()).get(reverse(name, args=[token]))


def check(data: bytes) -> verify.Verdict:
    return verify.verify_proof(data, signer.vkey())


def canonically_checked(file: Any) -> verify.Verdict:
    return check(json.dumps(file, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def text(answer: HttpResponse) -> str:
    return answer.content.decode()


def test_a_link_shows_the_entry_its_proof_and_nothing_else():
    session = talked()
    page = look(shared(session).token)
    assert page.status_code == 200
    assert WORD in text(page)
    assert "Proof valid." in text(page)
    assert "Quokkaburra" not in text(page)
    assert CUSTOMER not in text(page)
    file = look(shared(session).token, "shared_file")
    assert check(file.content).ok
    assert b"Quokkaburra" not in file.content


def test_no_search_engine_and_no_other_site_is_told_of_a_link():
    page = look(shared(talked()).token)
    assert "noindex" in page["X-Robots-Tag"]
    assert page["Referrer-Policy"] == "no-referrer"
    assert "no-store" in page["Cache-Control"]
    assert "sessionid" not in page.cookies


def test_one_field_a_range_and_a_session_are_shared_as_files():
    session = talked()
    field = check(shared(session, What.FIELD, pointer="/role", days=0).document)
    assert field.proof["entries"][0]["fields"] == {"/role": "customer"}
    part = check(shared(session, What.RANGE, first=1, last=2, days=0).document)
    assert [each["seq"] for each in part.proof["entries"]] == [1, 2]
    whole = shared(session, What.SESSION, days=0)
    assert check(whole.document).proof["kind"] == "session"
    assert (whole.token, whole.row.token) == ("", None)


def test_a_shared_session_that_goes_on_shows_what_was_shared():
    session = talked()
    token = shared(session, What.SESSION).token
    conversation_commands.say(cast.cleo(), session, "Said later")
    page = look(token)
    assert "Proof valid." in text(page)
    assert "Said later" not in text(page)


def test_the_token_is_kept_by_its_hash_and_no_words_are_kept_at_all():
    made = shared(talked(), reason=f"because of {WORD}")
    row = Disclosure.objects.filter(pk=made.row.pk).values().get()
    stored = repr({name: bytes(value) if isinstance(value, memoryview) else value for name, value in row.items()})
    assert made.token not in stored
    assert WORD not in stored
    assert len(made.token) >= 43


def test_an_expired_link_shows_nothing():
    made = shared(talked())
    Disclosure.objects.filter(pk=made.row.pk).update(expires_at=now() - timedelta(seconds=1))
    for name in ("shared", "shared_file"):
        page = look(made.token, name)
        assert page.status_code == 410
        assert WORD not in text(page)
    with pytest.raises(content.LinkEnded, match="run out"):
        content.opened(Disclosure.objects.get(pk=made.row.pk))
    assert Disclosure.objects.get(pk=made.row.pk).opened == 0


def test_a_link_taken_back_shows_nothing_and_stays_so():
    session = talked()
    made = shared(session)
    commands.revoke_disclosure(cast.bob(), session, made.row.pk)
    again = commands.revoke_disclosure(cast.alice(), session, made.row.pk)
    assert again.revoked_by == cast.bob().actor
    assert look(made.token).status_code == 410
    assert WORD not in text(look(made.token))


def test_links_that_nobody_was_given_are_refused_and_limited(monkeypatch):
    monkeypatch.setattr("agentstate.people.throttles.LinkFailures.default_rate", "3/min")
    made, peer = shared(talked()), cast.address()
    guesses = [made.token[:-1], made.token.swapcase(), "x", "%00", "é" * 40]
    answers = [look(guess, peer=peer).status_code for guess in guesses]
    assert answers == [404, 404, 404, 429, 429]
    assert look(made.token, peer=peer).status_code == 429
    assert look(made.token).status_code == 200


def test_openings_are_limited_counted_and_recorded(monkeypatch):
    monkeypatch.setattr("agentstate.people.throttles.LinkOpenings.default_rate", "2/min")
    session = talked()
    made, peer = shared(session), cast.address()
    assert [look(made.token, peer=peer).status_code for _ in range(3)] == [200, 200, 429]
    row = Disclosure.objects.get(pk=made.row.pk)
    assert row.opened == 2
    assert row.opened_at is not None
    lines = AccessLine.objects.filter(reader=f"link:{row.pk}")
    assert [(line.kind, line.about) for line in lines] == [("access.proved", [session])] * 2


def test_making_and_taking_back_are_entries_of_the_readers_log():
    session = talked()
    before = AccessLine.objects.filter(reader=cast.alice().actor).count()
    made = shared(session)
    commands.revoke_disclosure(cast.alice(), session, made.row.pk)
    kinds = AccessLine.objects.filter(reader=cast.alice().actor).order_by("at").values_list("kind", flat=True)
    assert list(kinds)[before:] == ["access.proved"] * 2


def test_after_an_erasure_a_link_says_only_that_and_since_when():
    session = talked()
    made = shared(session)
    asked = erasures.ask_erasure(cast.petra(), basis="objection", reason="by letter", customer=CUSTOMER)
    erasures.rule_erasure(cast.paul(), asked.pk, State.APPROVED)
    erasing.carry_out(asked.pk)
    keys.forget_all()
    states.forget_all()
    for name in ("shared", "shared_file"):
        page = look(made.token, name)
        assert page.status_code == 410
        assert "erased" in text(page)
        assert re.search(r"since \d{4}-\d\d-\d\d", text(page))
        assert WORD not in text(page)
        assert str(session) not in text(page)
    with pytest.raises(content.LinkErased, match=r"since \d{4}"):
        content.opened(Disclosure.objects.get(pk=made.row.pk))
    assert Payload.objects.filter(log=session, seq=1).count() == 0
    assert [store.name for store in STORES if store.name == "disclosures" and store.count(made.row.kid)] == []


def test_who_may_not_disclose_cannot():
    session = talked()
    for who in (cast.vera(), cast.cleo(), cast.adam()):
        with pytest.raises(PermissionDenied):
            commands.disclose(who, session, What.ENTRY, reason="so", first=1, days=1)
    with pytest.raises(UnknownSession):
        commands.disclose(cast.charlie(), session, What.ENTRY, reason="so", first=1, days=1)
    made = shared(session)
    with pytest.raises(PermissionDenied):
        commands.revoke_disclosure(cast.vera(), session, made.row.pk)
    assert look(made.token).status_code == 200


@pytest.mark.parametrize(
    ("what", "wanted", "error"),
    [
        (What.ENTRY, {"reason": " "}, Invalid),
        (What.ENTRY, {"reason": "x" * 501}, Invalid),
        (What.ENTRY, {"days": 91}, Invalid),
        (What.ENTRY, {"days": -1}, Invalid),
        (What.ENTRY, {"pointer": "/text"}, Invalid),
        (What.FIELD, {}, Invalid),
        (What.FIELD, {"pointer": "/nothing"}, NoSuchField),
        (What.ENTRY, {"first": 999}, NoSuchEntry),
        (What.RANGE, {"first": 2, "last": 1}, NoSuchEntry),
        (What.RANGE, {"first": 0, "last": 999}, NoSuchEntry),
    ],
)
def test_what_cannot_be_shared_is_refused_before_there_is_a_link(what, wanted, error):
    session = talked()
    with pytest.raises(error):
        shared(session, what, **wanted)
    assert not Disclosure.objects.exists()


def test_the_api_shares_lists_and_takes_back():
    session, alice = talked(), Api(cast.alice())
    path = f"/sessions/{session}/disclosures"
    link = alice.post(path, {"what": "entry", "first": 1, "reason": "so", "days": 1}).json()
    assert look(link["address"].rstrip("/").rpartition("/")[2]).status_code == 200
    file = alice.post(path, {"what": "field", "first": 1, "pointer": "/text", "reason": "so"}).json()
    assert canonically_checked(file["file"]).ok
    listed = alice.get(path).json()["disclosures"]
    assert [(each["what"], each["standing"], each["opened"]) for each in listed] == [
        ("field", "file", 0),
        ("entry", "open", 1),
    ]
    assert "token" not in json.dumps(listed)
    gone = alice.ask("DELETE", f"{path}/{link['disclosure']['id']}").json()
    assert gone["standing"] == "revoked"
    problem(alice.ask("DELETE", f"{path}/{file['disclosure']['id']}"), 404, "unknown_link")
    problem(Api(cast.vera()).get(path), 403, "permission_denied")
    problem(Api(cast.charlie()).get(path), 404, "unknown_session")


def test_the_same_key_gives_the_same_link_or_file_and_no_second_one():
    session, alice = talked(), Api(cast.alice())
    address = f"/sessions/{session}/disclosures"
    wanted = {"what": "range", "first": 1, "last": 2, "reason": "case 7", "idempotency_key": "k"}
    link, again = (alice.post(address, {**wanted, "days": 7}) for _ in range(2))
    assert link.json()["address"] == again.json()["address"]
    assert (link.get("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (None, "true")
    assert Disclosure.objects.count() == 1
    assert WORD in text(look(again.json()["address"].rstrip("/").rpartition("/")[2]))
    problem(alice.post(address, {**wanted, "days": 8}), 409, "idempotency_key_reused")
    problem(alice.post(address, {**wanted, "days": 7, "first": 2}), 409, "idempotency_key_reused")
    file, once_more = (alice.post(address, {**wanted, "idempotency_key": "f"}).json() for _ in range(2))
    assert file["disclosure"]["id"] == once_more["disclosure"]["id"]
    assert [canonically_checked(each["file"]).ok for each in (file, once_more)] == [True, True]
    assert AccessLine.objects.filter(kind="access.proved").count() == 5  # one is the look at the link
    bobs = Api(cast.bob()).post(address, {**wanted, "days": 7}).json()
    assert bobs["address"] != link.json()["address"]


def test_two_at_once_under_one_key_make_one_link():
    session, _ = talked(), cast.alice()
    made = at_once(*[lambda: shared(session, key="k")] * 4)
    assert len({each.token for each in made}) == Disclosure.objects.count() == 1
    assert sorted(each.repeated for each in made) == [False, True, True, True]


def test_the_page_makes_a_link_tells_it_once_and_takes_it_back():
    session, browser = talked(), cast.browser(cast.alice())
    address = reverse("session_disclosures", args=[session])
    wanted = {"what": "entry", "first": "1", "reason": "the ombudsman asked", "how": "link", "days": "3"}
    page = text(browser.post(address, wanted))
    token = re.search(r"/shared/([A-Za-z0-9_-]{40,})/", page)[1]
    assert look(token).status_code == 200
    assert token not in text(browser.get(address))
    assert "the ombudsman asked" in text(browser.get(address))
    row = Disclosure.objects.get()
    assert browser.post(reverse("disclosure_revoke", args=[session, row.pk])).status_code == 302
    assert "Revoked" in text(browser.get(address))
    assert browser.post(address, {**wanted, "reason": ""}).status_code == 422
    assert browser.post(address, {**wanted, "what": "all"}).status_code == 422
    file = browser.post(address, {**wanted, "how": "file"})
    assert check(file.content).ok


def test_proofs_are_had_from_the_audit_page():
    session, browser = talked(), cast.browser(cast.alice())
    page = text(browser.get(reverse("session_audit", args=[session])))
    assert reverse("session_disclosures", args=[session]) in page
    address = reverse("session_proof", args=[session])
    assert f'{address}?first=1"' in page
    for query in ({"first": "1"}, {"first": "1", "last": "2"}, {}, {"first": "", "last": ""}):
        assert check(browser.get(address, query).content).ok
    for query in ({"first": "x"}, {"first": "999"}, {"first": "2", "last": "1"}):
        assert browser.get(address, query).status_code in (400, 404)
    assert cast.browser(cast.vera()).get(reverse("session_disclosures", args=[session])).status_code == 403
