"""What the ledger writes in one statement, and what it refuses to read: without a database, which stands for nothing
here but keys that are there or were destroyed, and a statement that found a row or not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any
from unittest.mock import Mock
from uuid import UUID, uuid5

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.errors import Broken
from audit import keyed, keys, ledger, reading
from audit.keys import subjects
from audit.ledger import Batch, Draft, Fragment, Head
from audit.reading import COMMANDS, Row
from audit.tlog import fields, tree

LOG, TENANT, COMMAND = UUID(int=1), UUID(int=2), UUID(int=3)
OWN, OTHER, THIRD = UUID(int=10), UUID(int=11), UUID(int=12)
AT = "2026-10-05T12:00:00.000000Z"
DRAFTS = [Draft("test.said", b'{"a":1}'), Draft("test.heard", b'{"b":"2"}', 4, OTHER), Draft("test.said", b"{}")]
NAMES = re.compile(r"%\((\w+)\)")


class Ledger:
    """The keys of subjects and the statements that were sent; `found` says whether they find a row."""

    def __init__(self) -> None:
        self.keys = {kid: kid.bytes * 2 for kid in (OWN, OTHER, THIRD)}
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.found = True
        self.keyed: list[tuple[UUID, list[UUID]]] = []

    def load(self, kids: list[UUID]) -> dict[UUID, bytes]:
        return {kid: self.keys[kid] for kid in kids if kid in self.keys}

    def send(self, sql: str, params: dict[str, Any]) -> bool:
        self.sent.append((sql, params))
        return self.found

    def write(
        self, base: Head | None, batch: Batch, how: Callable[[Head, Batch], Head | None] = ledger.append
    ) -> tuple[Head | None, str, dict[str, Any]]:
        head = how(base or head_of(0), batch)
        return head, *self.sent[-1]

    def rows(self, size: int, *drafts: Draft) -> list[Row]:
        """The entries that an append after `size` others writes."""
        _, _, params = self.write(head_of(size), batch(*drafts))
        written = zip(params["envelopes"], params["ciphertexts"], strict=True)
        return [Row(size + number, *each) for number, each in enumerate(written)]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    made = Ledger()
    monkeypatch.setattr(subjects, "_cache", {})
    monkeypatch.setattr(subjects, "_load", made.load)
    monkeypatch.setattr(ledger.direct, "found", made.send)
    monkeypatch.setattr(keyed, "_seen", dict[tuple[UUID, UUID], None]())
    monkeypatch.setattr(keyed, "written", lambda log, kids: made.keyed.append((log, kids)))
    return made


def head_of(size: int) -> Head:
    return Head(LOG, TENANT, size, tree.append(b"", 0, [tree.leaf_hash(b"%d" % each) for each in range(size)]))


def batch(*drafts: Draft, **more: Any) -> Batch:
    return Batch(drafts=drafts or DRAFTS, kid=OWN, actor="system", at=AT, command=COMMAND, **more)


# --- what is written


@pytest.mark.parametrize("size", [0, 1, 5, 300])
def test_an_append_writes_entries_that_open_again_and_the_head_over_them(held, size):
    base = head_of(size)
    head, _, params = held.write(base, batch(epoch=7))
    leaves = [tree.leaf_hash(each) for each in params["envelopes"]]
    frontier = tree.append(base.frontier, size, leaves)
    assert head == Head(LOG, TENANT, size + 3, frontier)
    assert head.leaf == leaves[-1]
    stored = {"log": LOG, "tenant": TENANT, "base": size, "grown_from": base.frontier, "size": size + 3}
    stored |= {"frontier": frontier, "seals": False}
    assert {name: params[name] for name in stored} == stored
    opened = list(reading.open_rows(map(Row, range(size, size + 3), params["envelopes"], params["ciphertexts"])))
    assert [plaintext for _, plaintext in opened] == [draft.payload for draft in DRAFTS]
    facts = {"actor": "system", "at": AT, "cmd": str(COMMAND), "epoch": 7, "log": str(LOG), "v": 2}
    for number, ((envelope, plaintext), draft) in enumerate(zip(opened, DRAFTS, strict=True)):
        own = {"kid": str(draft.kid or OWN), "kind": draft.kind, "ref": draft.ref, "seq": size + number}
        okm = reading.okm_of(envelope)
        hashes = {
            "ct": hashlib.sha256(params["ciphertexts"][number]).hexdigest(),
            "kc": okm[32:].hex(),
            "pc": fields.commit(okm, plaintext).hex(),
        }
        assert msgspec.to_builtins(envelope) == facts | own | hashes | {"salt": envelope.salt}
    salts = {envelope.salt for envelope, _ in opened}
    assert [len(salt) for salt in salts] == [32, 32, 32]


def test_the_same_batch_is_never_encrypted_twice_under_the_same_key(held):
    first, second = held.rows(3), held.rows(3)
    assert not {row.ciphertext for row in first} & {row.ciphertext for row in second}


def test_an_append_moves_the_head_that_was_seen_and_a_creation_makes_one(held):
    batched = batch(seals=True)
    moved, moving, params = held.write(head_of(5), batched)
    assert params["seals"] is moved.sealed is True
    assert "UPDATE audit_head" in moving
    assert "size = %(base)s AND frontier = %(grown_from)s AND (NOT sealed OR %(seals)s)" in moving
    made, making, params = held.write(None, batched, lambda _, each: ledger.create(LOG, TENANT, each))
    assert "INSERT INTO audit_head" in making
    assert "ON CONFLICT (log) DO NOTHING" in making
    assert (made.log, made.tenant, made.size, made.sealed) == (LOG, TENANT, 3, True)
    assert made.frontier == tree.append(b"", 0, [tree.leaf_hash(each) for each in params["envelopes"]])


def test_where_the_statement_found_no_head_nothing_is_written(held):
    held.found = False
    assert held.write(head_of(5), batch())[0] is None
    assert held.write(None, batch(), lambda _, each: ledger.create(LOG, TENANT, each))[0] is None
    assert held.keyed == []


def test_the_index_of_keys_gets_each_key_of_the_batch_that_it_has_not_yet(held):
    _, sql, params = held.write(head_of(5), batch())
    assert params["keyed_kids"] == [OWN, OTHER]
    assert keyed.ROWS in sql
    assert held.keyed == [(LOG, [OWN, OTHER])]
    keyed._seen[LOG, OWN] = keyed._seen[UUID(int=9), OTHER] = None
    assert held.write(head_of(5), batch())[2]["keyed_kids"] == [OTHER]
    keyed._seen[LOG, OTHER] = None
    _, sql, params = held.write(head_of(5), batch())
    assert "keyed_kids" not in params
    assert keyed.ROWS not in sql
    assert len(held.keyed) == 2


def test_a_receipt_is_written_where_the_command_has_a_key_and_only_there(held):
    _, sql, params = held.write(head_of(5), batch())
    assert "audit_receipt" not in sql
    assert not {"key", "command", "digest"} & params.keys()
    _, sql, params = held.write(head_of(5), batch(key=b"k", digest=b"d"))
    assert "INSERT INTO audit_receipt" in sql
    assert (params["key"], params["command"], params["digest"]) == (b"k", COMMAND, b"d")


@pytest.mark.parametrize("how", ["append", "create"])
def test_guard_and_fragments_stand_in_the_statement_with_their_parameters(how, held):
    guard = Fragment("SELECT 1 WHERE %(allowed)s", {"allowed": 1})
    extra_writes = [
        Fragment(f"INSERT INTO t{each} SELECT %(x{each})s FROM head", {f"x{each}": each}) for each in (1, 2)
    ]
    whole = batch(key=b"k", guard=guard, extra_writes=extra_writes)
    call = ledger.append if how == "append" else lambda _, each: ledger.create(LOG, TENANT, each)
    _, sql, params = held.write(head_of(0), whole, call)
    assert sql.startswith(f"WITH guard AS ({guard.sql}), ")
    assert "EXISTS (SELECT 1 FROM guard)" in sql
    assert all(f"AS ({each.sql})" in sql for each in extra_writes)
    assert {name: params[name] for name in ("allowed", "x1", "x2")} == {"allowed": 1, "x1": 1, "x2": 2}
    assert set(NAMES.findall(sql)) <= params.keys(), "every parameter of the statement is given"
    _, sql, _ = held.write(head_of(0), batch(), call)
    assert "guard" not in sql


@given(st.text(max_size=5), st.text(max_size=5))
def test_a_receipts_key_follows_from_actor_and_key_and_is_kept_as_a_hash(actor, key):
    assert ledger.receipt_key(actor, key) == hashlib.sha256(f"{actor}\0{key}".encode()).digest()


# --- what is read


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_the_id_of_a_command_follows_from_its_key_and_digest(key, digest):
    assert reading.keyed_command(key, digest) == uuid5(COMMANDS, key.hex() + digest.hex())


@pytest.mark.parametrize("version", [-1, 0, 3, 4])
def test_an_envelope_of_another_version_is_not_read(held, version):
    (row,) = held.rows(0, DRAFTS[0])
    with pytest.raises(Broken, match=rf"an envelope of version {version} cannot be read$"):
        reading.parse_envelope(row.envelope.replace(b'"v":2', b'"v":%d' % version))


def test_an_envelope_commits_to_its_fields_from_version_2_on_and_never_before(held):
    (row,) = held.rows(0, DRAFTS[0])
    bare = re.sub(rb'"pc":"\w*",', b"", row.envelope)
    first = bare.replace(b'"v":2', b'"v":1')
    assert reading.parse_envelope(first) == msgspec.structs.replace(reading.parse_envelope(row.envelope), v=1, pc="")
    for version, wrong in ((2, bare), (1, row.envelope.replace(b'"v":2', b'"v":1'))):
        with pytest.raises(Broken, match=f"version {version} "):
            reading.parse_envelope(wrong)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"actor":"\xff"}', b"\xff", b'{"v":2'])
def test_bytes_that_are_no_envelope_are_refused_in_words(data):
    with pytest.raises(Broken, match=r"an envelope cannot be read: .") as refused:
        reading.parse_envelope(data)
    assert "None" not in str(refused.value)


def changed(row: Row, **fields: Any) -> Row:
    """The row with these members of its envelope changed."""
    envelope = msgspec.structs.replace(reading.parse_envelope(row.envelope), **fields)
    return replace(row, envelope=reading.canonical.encode(envelope))


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("kid", "x", "^entry 7: its envelope was altered$"),
        ("salt", "x", "^entry 7: its envelope was altered$"),
        ("log", "x", "^entry 7: its envelope was altered$"),
        ("seq", -1, "^entry -1: there is no such place$"),
        ("seq", 1 << 63, f"^entry {1 << 63}: there is no such place$"),
        ("seq", (1 << 63) - 1, "^entry 7: its key is not the one that the envelope commits to$"),
        ("seq", 8, "^entry 7: its key is not the one that the envelope commits to$"),
        ("seq", 0, "^entry 7: its key is not the one that the envelope commits to$"),
        ("log", str(TENANT), "^entry 7: its key is not the one that the envelope commits to$"),
        ("salt", "00" * 16, "^entry 7: its key is not the one that the envelope commits to$"),
        ("kid", str(OTHER), "^entry 7: its key is not the one that the envelope commits to$"),
        ("kc", "00" * 32, "^entry 7: its key is not the one that the envelope commits to$"),
        *[(field, "x", "^$") for field in ("actor", "at", "cmd", "kind", "pc")],
        *[(field, 9, "^$") for field in ("epoch", "ref")],
    ],
)
def test_an_entry_altered_in_any_field_that_it_was_encrypted_with_does_not_open(held, field, value, why):
    (row,) = held.rows(7, DRAFTS[0])
    with pytest.raises(keys.Unreadable) as refused:
        reading.open_row(changed(row, **{field: value}))
    assert re.search(why, refused.value.args[0] if refused.value.args else ""), refused.value.args


def test_an_altered_ciphertext_does_not_open(held):
    (row,) = held.rows(7, DRAFTS[0])
    for at in range(len(row.ciphertext)):
        altered = row.ciphertext[:at] + bytes([row.ciphertext[at] ^ 1]) + row.ciphertext[at + 1 :]
        with pytest.raises(keys.Unreadable):
            reading.open_row(replace(row, ciphertext=altered))


def test_a_payload_that_is_not_there_was_pruned_and_that_of_who_was_erased_is_gone_for_good(held):
    (row,) = held.rows(7, DRAFTS[0])
    with pytest.raises(reading.Pruned) as refused:
        reading.open_row(replace(row, ciphertext=None))
    assert refused.value.args == ("entry 7",)
    del held.keys[OWN]
    keys.subjects._cache.clear()
    with pytest.raises(keys.Erased) as erased:
        reading.open_row(replace(row, ciphertext=None))
    assert not isinstance(erased.value, reading.Pruned)


def test_of_a_log_whose_subject_lives_what_concerned_others_who_were_erased_is_left_out(held, monkeypatch):
    monkeypatch.setattr(reading, "READ_BATCH", 2)
    whose = [OWN, OTHER, THIRD, OWN, OTHER, OTHER, THIRD, OWN]
    drafts = [Draft("test.said", b'{"n":%d}' % number, kid=kid) for number, kid in enumerate(whose)]
    rows = held.rows(0, *drafts)
    assert [plain for _, plain in reading.open_living(rows, OWN)] == [draft.payload for draft in drafts]
    del held.keys[OTHER]
    keys.subjects._cache.clear()
    asked = Mock(side_effect=held.load)
    monkeypatch.setattr(subjects, "_load", asked)
    drawn = iter(rows)
    opened = list(islice(reading.open_living(drawn, OWN), 1))
    assert len(list(drawn)) == len(rows) - reading.READ_BATCH, "a long log is not read at once"
    opened = list(reading.open_living(iter(rows), OWN))
    assert [plain for _, plain in opened] == [draft.payload if draft.kid != OTHER else None for draft in drafts]
    assert [envelope for envelope, _ in opened] == [reading.parse_envelope(row.envelope) for row in rows]
    assert [OTHER in call.args[0] for call in asked.call_args_list].count(True) == 2, "once with all, then by itself"


def test_a_log_whose_subject_was_erased_is_not_read_on(held):
    rows = held.rows(0, Draft("test.said", b"{}", kid=THIRD), DRAFTS[0])
    del held.keys[OWN]
    keys.subjects._cache.clear()
    with pytest.raises(keys.Erased):
        list(reading.open_living(rows, OWN))


def test_the_keys_of_many_subjects_are_fetched_at_once(held, monkeypatch):
    rows = held.rows(0, *(Draft("test.said", b"{}", kid=kid) for kid in (OWN, OTHER, THIRD, OWN)))
    keys.subjects._cache.clear()
    asked = Mock(side_effect=held.load)
    monkeypatch.setattr(subjects, "_load", asked)
    assert len(list(reading.open_living(rows, OWN))) == 4
    (call,) = asked.call_args_list
    assert set(call.args[0]) == {OWN, OTHER, THIRD}


def test_a_row_that_names_no_key_is_found_when_its_turn_comes(held):
    rows = [*held.rows(0, *DRAFTS[:2]), Row(2, b"{}", b"")]
    opened = reading.open_living(rows, OWN)
    assert [next(opened)[1], next(opened)[1]] == [draft.payload for draft in DRAFTS[:2]]
    with pytest.raises(Broken, match="an envelope cannot be read"):
        next(opened)


@pytest.mark.parametrize(
    ("facts", "good"),
    [
        ({}, True),
        ({"command": COMMAND}, False),
        ({"key": b"x"}, False),
        ({"digest": b"x"}, False),
        ({"size": 8}, False),
        ({"size": 6}, False),
        ({"first": 4}, False),
        ({"envelopes": [None, None]}, False),
    ],
)
def test_a_receipt_is_true_where_the_entries_of_its_command_say_the_same(held, facts, good):
    command = reading.keyed_command(b"k", b"d")
    _, _, params = held.write(head_of(5), replace(batch(*DRAFTS[:2]), command=command))
    told = {"key": b"k", "command": command, "first": 5, "size": 7, "digest": b"d", "envelopes": params["envelopes"]}
    assert reading._vouched(**told | facts) is good


def test_a_receipt_over_an_entry_of_another_command_is_false(held):
    command = reading.keyed_command(b"k", b"d")
    envelopes = [
        held.write(head_of(5), replace(batch(DRAFTS[0]), command=each))[2]["envelopes"][0]
        for each in (command, COMMAND)
    ]
    assert not reading._vouched(b"k", command, 5, 7, b"d", envelopes)
