"""Proofs and receipts on real sessions: by API, checked by the verifier, and convicting a ledger that was cut off or
altered.
"""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings

from agentstate.people.commands import grant_role
from agentstate.people.models import Team
from agentstate.people.roles import Role
from audit import globallog, keys, ledger, signer, verify
from audit.models import LogTile
from audit.proofs import document, making, sessiontree
from audit.tlog import note, receipt, tree
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AccessLine
from tests import cast
from tests.shell.api_world import UNKNOWN, Api, new_session, problem
from tests.shell.bank_world import opened

AT = "2026-11-21T10:00:00.000000Z"
pytestmark = pytest.mark.django_db(transaction=True)


def check(data: bytes, **demand: Any) -> verify.Verdict:
    return verify.verify_proof(data, signer.vkey(), demand=verify.Demand(**demand))


def talked(entries: int = 3) -> UUID:
    session = opened()
    for number in range(entries):
        conversation_commands.say(cast.cleo(), session, f"word {number}")
    return session


@contextmanager
def superuser(test_database):
    """SQL past triggers and grants."""
    with test_database.administrator(settings.DATABASES["default"]["NAME"]) as connection:
        connection.execute("SET session_replication_role = replica")
        yield connection
    keys.forget_all()


def test_an_entry_is_proven_opened_closed_and_in_one_field():
    session, alice = talked(), Api(cast.alice())
    path = f"/sessions/{session}/proofs/entries/1"
    whole, closed, one = (
        alice.get(path, content="full"),
        alice.get(path, content="withheld"),
        alice.get(path, fields="/text"),
    )
    for answer in (whole, closed, one):
        verdict = check(answer.content, session=str(session))
        assert verdict.ok, verdict.failures
    assert check(whole.content).proof["entries"][0]["event"]["text"] == "word 0"
    assert check(one.content).proof["entries"][0]["fields"] == {"/text": "word 0"}
    assert b"word 0" not in closed.content


@pytest.mark.parametrize("pointers", ["/nothing", "text", "/text/0", ",,", "/", "/~", "é" * 50])
def test_a_field_that_is_not_there_is_refused(pointers):
    session = talked(1)
    answer = Api(cast.alice()).get(f"/sessions/{session}/proofs/entries/1", fields=pointers)
    assert answer.status_code == 404 or pointers == ",,"


def test_ranges_and_whole_sessions_are_proven():
    session, alice = talked(), Api(cast.alice())
    size = ledger.read_head(session).size
    part = check(alice.get(f"/sessions/{session}/proofs/range", first=1, last=size - 2).content)
    whole = check(alice.get(f"/sessions/{session}/proofs/complete").content)
    assert part.ok, part.failures
    assert whole.ok, whole.failures
    assert [each["seq"] for each in part.proof["entries"]] == list(range(1, size - 1))
    assert len(whole.proof["entries"]) == size
    problem(alice.get(f"/sessions/{session}/proofs/range", first=0, last=size), 404, "no_such_entry")
    problem(alice.get(f"/sessions/{session}/proofs/entries/{size}"), 404, "no_such_entry")


def test_the_tlog_proofs_and_the_cose_receipt_hold():
    session = talked()
    answer = Api(cast.alice()).get(f"/sessions/{session}/proofs/entries/1/tlog").json()
    for name in ("entry", "head"):
        verdict = check(answer[name].encode())
        assert verdict.ok, verdict.failures
    place = globallog.latest_place(session)
    body = globallog.body(ledger.read_head(session).tenant, place.index)
    receipt.verify(base64.b64decode(answer["receipt"]), body, note.parse_vkey(signer.vkey()))


def test_absence_is_proven_only_to_those_from_whom_nothing_is_hidden():
    session, missing = new_session(), str(uuid4())
    overseer = cast.person("olga", Role.VIEWER, cast.retail())
    cast.charlie()
    for team in Team.objects.exclude(pk=cast.retail().pk):
        grant_role(overseer, team, Role.VIEWER, None)
    proven = Api(overseer).get(f"/sessions/{missing}/proofs/absence")
    assert check(proven.content, session=missing).ok
    problem(Api(overseer).get(f"/sessions/{session}/proofs/absence"), 409, "session_exists")
    there = problem(Api(cast.charlie()).get(f"/sessions/{session}/proofs/absence"), 404, "unknown_session")
    assert Api(cast.charlie()).get(f"/sessions/{missing}/proofs/absence").json() == there


def test_a_session_continues_what_it_was():
    session, alice = talked(), Api(cast.alice())
    for size in range(1, ledger.read_head(session).size + 1):
        verdict = check(alice.get(f"/sessions/{session}/proofs/consistency", size=size).content)
        assert verdict.ok, verdict.failures
    head = globallog.signed_head(ledger.read_head(session).tenant)
    log = check(alice.get("/proofs/log-consistency", size=1).content)
    assert log.ok
    assert log.log["size"] == head.size


def test_every_answer_of_a_command_is_a_receipt_and_a_repeated_one_the_same():
    session, cleo = new_session(), Api(cast.cleo())
    first = cleo.post(f"/sessions/{session}/messages", {"text": "one", "idempotency_key": "k"})
    cleo.post(f"/sessions/{session}/messages", {"text": "two"})
    again = cleo.post(f"/sessions/{session}/messages", {"text": "one", "idempotency_key": "k"})
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert again["AgentState-Receipt"] == first["AgentState-Receipt"]
    leaves = [tree.leaf_hash(row.envelope) for row in ledger.read_rows(UUID(session), 0, first.json()["size"])]
    assert first.json()["root"] == tree.root_of(leaves).hex()
    assert first.json()["leaf"] == leaves[-1].hex()


def test_opening_a_session_gives_a_receipt_too():
    answer = Api(cast.cleo()).post("/sessions", {"customer": "C-1001", "agent": "bank", "channel": "phone"})
    head = ledger.read_head(UUID(answer.json()["id"]))
    assert f"size={head.size}; root={head.root.hex()}" in answer["AgentState-Receipt"]


def held(session: str | UUID, text: str = "hello") -> dict[str, Any]:
    said = Api(cast.cleo()).post(f"/sessions/{session}/messages", {"text": text}).json()
    return {name: said[name] for name in ("size", "root", "leaf")}


def as_file(session: str | UUID, said: dict[str, Any]) -> verify.Receipt:
    return verify.read_receipt(json.dumps({"session": str(session), **said}).encode())


def test_a_receipt_is_honoured_while_the_session_goes_on():
    session = new_session()
    said = held(session)
    held(session, "more")
    answer = Api(cast.cleo()).get(f"/sessions/{session}/proofs/receipt", **said)
    assert check(answer.content, receipt=as_file(session, said)).ok


def test_a_ledger_that_was_cut_off_is_convicted_by_a_held_receipt(test_database):
    session = new_session()
    before = ledger.read_head(UUID(session))
    said = held(session)
    with superuser(test_database) as connection:
        connection.execute("DELETE FROM audit_entry WHERE log = %s AND seq >= %s", [session, before.size])
        connection.execute(
            "UPDATE audit_head SET size = %s, frontier = %s WHERE log = %s", [before.size, before.frontier, session]
        )
    answer = Api(cast.cleo()).get(f"/sessions/{session}/proofs/receipt", **said)
    told = problem(answer, 409, "receipt_not_kept")
    assert str(said["size"]) in told["detail"]
    assert not check(making.growth(UUID(session), before.size), receipt=as_file(session, said)).ok


def test_a_ledger_that_was_rewritten_is_convicted_by_a_held_receipt(test_database):
    """The whole session is written anew with a head that fits, before it was in the global log."""
    session = new_session()
    said = held(session)
    rows = list(ledger.read_rows(UUID(session)))
    forged = [row.envelope.replace(b'"epoch":0', b'"epoch":1') for row in rows]
    frontier = tree.append(b"", 0, [tree.leaf_hash(each) for each in forged])
    with superuser(test_database) as connection:
        for row, envelope in zip(rows, forged, strict=True):
            connection.execute(
                "UPDATE audit_entry SET envelope = %s WHERE log = %s AND seq = %s", [envelope, session, row.seq]
            )
        connection.execute("UPDATE audit_head SET frontier = %s WHERE log = %s", [frontier, session])
    problem(Api(cast.cleo()).get(f"/sessions/{session}/proofs/receipt", **said), 409, "receipt_not_kept")
    problem(Api(cast.cleo()).get(f"/sessions/{session}/proofs/receipt", **said), 409, "receipt_not_kept")
    assert not check(making.growth(UUID(session), said["size"]), receipt=as_file(session, said)).ok


def test_a_proof_holds_so_many_entries_and_bytes_and_no_more(monkeypatch):
    session, alice = talked(), Api(cast.alice())
    path = f"/sessions/{session}/proofs/range"
    with monkeypatch.context() as patched:
        patched.setattr(document, "MAX_ENTRIES", 2)
        size = len(alice.get(path, first=1, last=2).content)
        problem(alice.get(path, first=1, last=3), 409, "too_many_entries")
        problem(alice.get(f"/sessions/{session}/proofs/complete"), 409, "too_many_entries")
    monkeypatch.setattr(document, "MAX_DOCUMENT", size - 1)
    problem(alice.get(path, first=1, last=2), 409, "too_many_entries")


def test_no_proof_is_made_of_an_altered_entry(test_database):
    session = talked()
    making.entry(session, 1)
    row = next(ledger.read_rows(session, 1))
    with superuser(test_database) as connection:
        envelope = row.envelope.replace(b'"epoch":0', b'"epoch":1')
        connection.execute("UPDATE audit_entry SET envelope = %s WHERE log = %s AND seq = 1", [envelope, session])
    for prove in (lambda: making.entry(session, 1), lambda: making.extract(session, 0, 2)):
        with pytest.raises(making.NotProvable):
            prove()


def test_a_kept_tile_that_was_altered_costs_time_and_no_truth():
    session = opened()
    for _ in range(9):
        rows = [
            ledger.Draft("message.added", json.dumps({"kind": "message.added", "n": n}).encode()) for n in range(90)
        ]
        head = ledger.read_head(session)
        batch = ledger.Batch(rows, keys.subject_kid(head.tenant, "C-1001"), "system", AT, uuid4())
        assert ledger.append(head, batch)
    first = making.entry(session, 5)
    assert LogTile.objects.filter(log=session).count() == 3
    LogTile.objects.filter(log=session).delete()
    made = sessiontree.LogTiles(session)
    made._keep(0, {index: bytes(256 * 32) for index in range(3)})
    again = making.entry(session, 5)
    assert check(first).ok
    assert check(again).ok


def test_a_check_says_what_a_proof_proves_and_what_it_does_not():
    session, alice = talked(), Api(cast.alice())
    data = alice.get(f"/sessions/{session}/proofs/entries/1", content="full").content
    good = alice.post("/proofs/check", {"proof": json.loads(data), "session": str(session)}).json()
    assert good["ok"]
    assert good["session"] == str(session)
    assert good["proof"]["entries"][0]["event"]["text"] == "word 0"
    forged = alice.post("/proofs/check", {"proof": data.decode().replace("word 0", "word 9")}).json()
    assert (forged["ok"], forged["proof"]) == (False, None)
    for other in ({"session": UNKNOWN}, {"vkey": "somebody+00000000+AAAA"}):
        assert not alice.post("/proofs/check", {"proof": json.loads(data), **other}).json()["ok"]


@pytest.mark.parametrize(
    "proof", [None, 1, "", [], {"a": {"b": 1}}, "x" * 1000, {"é": 1}, {"format": "agentstate-proof/1"}]
)
def test_a_check_of_anything_is_an_answer(proof):
    assert not Api(cast.alice()).post("/proofs/check", {"proof": proof}).json()["ok"]


def test_proofs_of_sessions_of_others_need_their_permission():
    session = talked()
    for part in ("entries/1", "range", "complete"):
        problem(Api(cast.charlie()).get(f"/sessions/{session}/proofs/{part}"), 404, "unknown_session")


def test_a_proof_is_an_entry_of_the_readers_log():
    session = talked()
    Api(cast.alice()).get(f"/sessions/{session}/proofs/entries/1")
    line = AccessLine.objects.filter(about__contains=[session]).latest("at")
    assert (line.kind, line.reader) == ("access.proved", cast.alice().actor)
