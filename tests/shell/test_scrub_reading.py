"""Reading the bytes of one log, without a database: what is named, and how much of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from audit import erasure, globallog, reading, signer
from audit.envelopes import Shared
from audit.scrub import altered, entries, heads, schedule
from audit.scrub.altered import Found
from audit.scrub.heads import SignedLog
from audit.tlog import headleaf, tree
from audit.tlog.checkpoint import Checkpoint

LOG, KID = uuid4(), uuid4()
Rows = list[entries.Stored]


def entry(seq: int, content: bytes = b"", log: UUID = LOG, place: int = -1, kid: UUID = KID) -> entries.Stored:
    """A genuine entry `seq`, at a place of its own or at another one."""
    shared = Shared(actor="system", at="2026-11-23T12:00:00.000000Z", command=str(uuid4()), epoch=1, log=str(log))
    bound = shared.bound(kid=str(kid), kind="note.made", pc=b"p" * 32, ref=-1, salt=b"s" * 16, seq=seq)
    content = content or b"content %d" % seq
    envelope = shared.envelope(bound, ct=hashlib.sha256(content).digest(), kc=b"k" * 32)
    return (seq if place < 0 else place), envelope, content


def log_of(many: int) -> Rows:
    return [entry(seq) for seq in range(many)]


def root_of(rows: Rows) -> bytes:
    return tree.root_of([tree.leaf_hash(envelope) for _, envelope, _ in rows])


def found(rows: Rows, was: Rows, signed: tuple[int, bytes] | None = None, pieces: int = 0) -> list[tuple[str, int]]:
    """What is found in `rows`, of a log whose head row is that of `was`; read at once, or in pieces."""
    one = entries.LogReading(LOG, len(was), root_of(was), signed)
    named: list[Found] = []
    for start in range(0, len(was), pieces or len(was)):
        if start:  # as the next piece of work goes on: with the frontier, and nothing else
            one = entries.LogReading(LOG, len(was), root_of(was), signed, start, one.frontier)
        stop = min(start + (pieces or len(was)), len(was))
        one.read(row for row in rows if start <= row[0] < stop or stop == len(was) <= row[0])
        one.skip_to(stop)
        named += one.found
    return [(each.what, each.seq) for each in named]


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_a_log_that_is_right_is_found_right_also_where_it_has_grown_meanwhile(pieces: int):
    rows = log_of(7)
    assert found(rows, rows, (4, root_of(rows[:4])), pieces) == []
    assert found([*rows, entry(7), entry(8)], rows, (4, root_of(rows[:4])), pieces) == []


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_entries_that_are_genuine_and_others_than_those_of_the_head_are_found(pieces: int):
    """Whoever has a key could write them. One root is compared, and nothing is accused that was not read."""
    was = log_of(7)
    rows = [*was[:5], entry(5, b"another"), was[6]]
    assert found(rows, was, None, pieces) == [("entries_altered", -1)]
    assert found(rows, rows, (6, root_of(was[:6])), pieces) == [
        ("entries_altered", -1)
    ]  # the head row fits, the leaf not
    assert found(was, was, (6, root_of(rows[:6])), pieces) == [("entries_altered", -1)]
    assert found(rows, was, (6, root_of(was[:6])), pieces) == [("entries_altered", -1)]  # once, not for each root


def test_a_changed_envelope_is_named_by_its_place_and_the_root_accuses_no_other():
    was = log_of(7)
    rows = [*was[:5], (5, b"no envelope", was[5][2]), was[6]]
    assert found(rows, was, (6, root_of(was[:6]))) == [("entry_altered", 5)]
    assert found([*was[:5], entry(4, place=5), was[6]], was)[0] == ("entry_altered", 5)
    assert found([*was[:5], entry(5, log=uuid4()), was[6]], was)[0] == ("entry_altered", 5)


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_what_is_missing_is_named_and_what_follows_leads_to_no_root(pieces: int):
    was = log_of(7)
    assert found([*was[:2], *was[3:]], was, (6, root_of(was[:6])), pieces) == [("entry_missing", 2)]
    assert found(was[:6], was, None, pieces) == [("entry_missing", 6)]


def test_of_many_that_are_missing_or_altered_so_many_are_named():
    was = log_of(entries.MAX_NAMED + 5)
    assert found(was[:1], was) == [("entry_missing", seq) for seq in range(1, entries.MAX_NAMED + 1)]
    rows = [(seq, b"no envelope", content) for seq, _, content in was]
    assert len(found(rows, was)) == entries.MAX_NAMED
    one = entries.LogReading(LOG, 10**12, b"")
    assert len(one.end()) == entries.MAX_NAMED  # in no time


def test_a_changed_payload_is_named():
    was = log_of(3)
    assert found([was[0], (1, was[1][1], b"another"), was[2]], was) == [("payload_altered", 1)]


def test_a_head_row_that_is_no_head_leads_to_no_root(monkeypatch: pytest.MonkeyPatch):
    rows = log_of(3)
    monkeypatch.setattr(entries, "named_by_opening", lambda log, size: [])
    for frontier, expected in ((b"odd", ["entries_altered"]), (tree.append(b"", 0, _hashes(rows)), [])):
        one = entries.begun(LOG, 3, frontier, None)
        assert [each.what for each in entries.judge(one, rows, {})] == expected


def _hashes(rows: Rows) -> list[bytes]:
    return [tree.leaf_hash(envelope) for _, envelope, _ in rows]


def test_what_opening_names_stands_for_the_root_and_else_the_log_is_named(monkeypatch: pytest.MonkeyPatch):
    rows, named = log_of(3), Found(LOG, "entry_altered", 1)
    for opening, expected in (([named], [named]), ([], [Found(LOG, "entries_altered")])):
        monkeypatch.setattr(entries, "named_by_opening", lambda log, size, opening=opening: opening)
        assert entries.judge(entries.LogReading(LOG, 3, b"x" * 32), rows, {}) == expected


def test_opening_names_what_does_not_open_and_accuses_nobody_of_what_was_erased(monkeypatch: pytest.MonkeyPatch):
    rows = [reading.Row(*each) for each in log_of(entries.MAX_NAMED + 9)]
    gone = {2: reading.keys.Erased("x"), 4: None}

    def opened(row: reading.Row) -> None:
        if (error := gone.get(row.seq, reading.Broken("x"))) is not None:
            raise error

    monkeypatch.setattr(entries.reading, "read_rows", lambda log, start, stop: rows)
    monkeypatch.setattr(entries.reading, "open_row", opened)
    names = [each.seq for each in entries.named_by_opening(LOG, len(rows))]
    assert names == [seq for seq in range(entries.MAX_NAMED + 2) if seq not in gone]


def absent(monkeypatch: pytest.MonkeyPatch, *payloads: tuple[int, UUID, int, bytes]) -> Callable[[str], list[int]]:
    """Which of entries 0 to 30 without a payload nothing accounts for, where these tombstones open: (place, log, number
    in the envelope, payload). The keys of even numbers were erased if "erased" is asked for.
    """
    rows = [(place, b"%s %d" % (str(log).encode(), seq), data) for place, log, seq, data in payloads]

    def opened(row: reading.Row) -> tuple[object, bytes]:
        log, seq = row.envelope.split()
        envelope = reading.parse_envelope(entry(int(seq), log=UUID(log.decode()))[1])
        assert row.ciphertext is not None
        return envelope, row.ciphertext

    monkeypatch.setattr(entries, "run", lambda sql, params: rows)
    monkeypatch.setattr(entries.reading, "open_row", opened)
    kids = {seq: str(UUID(int=seq)) for seq in range(31)}
    asked: list[UUID] = []

    def record(kid: UUID) -> object:
        asked.append(kid)
        return object() if kid.int % 2 == 0 else None

    def left(erased: str) -> list[int]:
        monkeypatch.setattr(erasure, "record_of", record if erased else lambda kid: None)
        names = entries.unaccounted(LOG, list(kids.items()), {})
        assert len(asked) == len(set(asked))
        return [each.seq for each in names]

    return left


RANGE = b'{"ranges": [{"first": 5, "last": 99}]}'


def test_an_entry_without_payload_is_accounted_for_by_a_tombstone_behind_it_or_an_erasure(
    monkeypatch: pytest.MonkeyPatch,
):
    assert absent(monkeypatch)("") == list(range(entries.MAX_NAMED))
    left = absent(monkeypatch, (12, LOG, 12, RANGE))
    assert left("") == [0, 1, 2, 3, 4, *range(12, 27)]  # it names nothing at its own place or behind it
    assert left("erased") == [1, 3, *range(13, 31, 2)]


@pytest.mark.parametrize("forged", [(12, uuid4(), 12, RANGE), (12, LOG, 20, RANGE), (12, LOG, 12, b"[]")])
def test_a_tombstone_of_another_log_or_place_or_form_accounts_for_nothing(
    forged: tuple[int, UUID, int, bytes], monkeypatch: pytest.MonkeyPatch
):
    assert absent(monkeypatch, forged)("") == list(range(entries.MAX_NAMED))


@pytest.mark.parametrize(
    ("sizes", "together", "alone"),
    [((200, 300, 1), 2, False), ((500, 1, 1), 1, False), ((501, 1, 1), 0, True)],
)
def test_logs_are_read_together_as_many_as_fit_in_a_piece_and_a_longer_one_by_itself(
    sizes: tuple[int, ...], together: int, alone: bool, monkeypatch: pytest.MonkeyPatch
):
    logs = [uuid4() for _ in sizes]
    monkeypatch.setattr(schedule, "ROWS", 500)
    monkeypatch.setattr(schedule, "run", lambda sql, params: list(zip(logs, sizes, strict=True)))
    monkeypatch.setattr(schedule, "_now", lambda: datetime.now(UTC))
    monkeypatch.setattr(schedule, "_read_whole", lambda row, chosen: chosen)
    row: Any = SimpleNamespace(tenant=LOG, log=None, log_begun=None)
    pieces: list[Any] = list(schedule._read_entries(row))
    assert pieces == ([logs[:together]] if together else [])
    assert (row.log_begun is not None, row.log) == (alone, logs[0] if alone else None)


# --- heads


def leaf(log: UUID, size: int, root: bytes, origin: str = "") -> bytes:
    return headleaf.body(Checkpoint(origin or globallog.origin_of(log), size, root), None)


def test_a_leaf_of_another_origin_or_form_states_no_head_of_ours():
    assert heads.read_head(leaf(LOG, 3, b"r" * 32)) == SignedLog(LOG, 3, b"r" * 32)
    for body in (leaf(LOG, 3, b"r" * 32, f"elsewhere.example/s/{LOG}"), b"agentstate headmap/1\n", b""):
        assert heads.read_head(body) is None


def test_each_difference_of_a_head_row_has_its_name(monkeypatch: pytest.MonkeyPatch):
    rows = log_of(3)
    frontier, root = tree.append(b"", 0, _hashes(rows)), root_of(rows)
    grown = tree.append(frontier, 3, [b"x" * 32])
    cases = [
        ((3, frontier, 2), root, []),
        ((4, grown, 3), root, []),  # it went on
        ((3, frontier, 2), b"x" * 32, ["head_altered"]),
        ((3, b"odd", 2), root, ["head_altered"]),
        ((2, frontier, 1), root, ["log_cut_off"]),
        ((3, frontier, 1), root, ["tail_differs"]),
        ((3, frontier, 3), root, ["tail_differs"]),
        ((3, frontier, None), root, ["tail_differs"]),
        ((None, None, 2), root, ["log_missing"]),
    ]
    for (size, row, last), said, expected in cases:
        monkeypatch.setattr(heads, "run", lambda sql, params, row=(LOG, size, row, last): [row])
        assert [each.what for each in heads.compare([leaf(LOG, 3, said)])] == expected
    missing = Found(LOG, "session_missing")
    monkeypatch.setattr(heads, "run", lambda sql, params: [(LOG, 3, frontier, 2)])
    assert heads.compare([leaf(LOG, 3, root)], lambda logs: [missing] if logs == [LOG] else []) == [missing]


def test_a_missing_leaf_is_an_empty_one_at_its_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(globallog, "bodies", lambda tenant, start, stop: [(4, b"four"), (6, b"six")])
    assert heads.read_leaves(LOG, 4, 7) == [b"four", b"", b"six"]


def test_the_signature_counts_and_where_the_signer_is_away_the_stored_root(monkeypatch: pytest.MonkeyPatch):
    rows = log_of(3)
    frontier, root = tree.append(b"", 0, _hashes(rows)), root_of(rows)
    differ = [Found(heads.LEDGER, "leaves_altered")]

    away: list[Exception] = []

    def known() -> SimpleNamespace:
        if away:
            raise away[0]
        return SimpleNamespace(vkeys=())

    def opened(note: bytes, keys: object) -> None:
        if note != b"signed":
            raise ValueError("no signature by these keys")

    monkeypatch.setattr(heads.signer, "known", known)
    monkeypatch.setattr(heads.checkpoint, "open_signed", opened)
    for is_away, said, note, expected in (
        (False, root, b"signed", []),
        (False, b"x" * 32, b"signed", differ),
        (False, root, b"forged", differ),
        (True, root, b"forged", []),
        (True, b"x" * 32, b"signed", differ),
    ):
        away[:] = [signer.SignerDown("away")] if is_away else []
        head = globallog.SignedHead(LOG, 3, said, note, datetime.now(UTC))
        assert heads.leaves_differ(head, frontier) == expected


def test_a_log_that_is_shorter_than_it_was_signed_is_not_read(monkeypatch: pytest.MonkeyPatch):
    rows = log_of(3)
    frontier = tree.append(b"", 0, _hashes(rows))
    monkeypatch.setattr(entries, "reading_rows", lambda log, start, stop: rows)
    said = leaf(LOG, 4, b"r" * 32)
    monkeypatch.setattr(entries, "run", lambda sql, params: [(LOG, 3, frontier, said)])
    assert [each.what for each in entries.look(LOG)] == ["log_cut_off"]
    monkeypatch.setattr(entries, "run", lambda sql, params: [(LOG, 3, frontier, leaf(KID, 4, b"r" * 32))])
    assert entries.look(LOG) == []  # the leaf is another log's
    monkeypatch.setattr(entries, "run", lambda sql, params: [])
    assert entries.look(LOG) == []


def test_what_was_appended_after_the_head_was_read_is_left_to_the_next_pass():
    rows = log_of(3)
    assert found([*rows, (3, b"no envelope", None)], rows) == []


def test_an_entry_without_a_payload_is_remembered_with_its_key():
    one = entries.LogReading(LOG, 1, None)
    one.read([(*entry(0)[:2], None)])
    assert (one.absent, one.end()) == ([(0, str(KID))], [])


def test_what_is_found_new_is_a_line_of_the_log_which_the_owner_of_the_database_cannot_clean(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    new, known = Found(LOG, "entry_altered", 5), Found(KID, "log_missing", detail="It had 3 entries.")
    rows = [(LOG, "entry_altered", 5, "", True), (KID, "log_missing", -1, "It had 3 entries.", False)]
    monkeypatch.setattr(altered, "run", lambda sql, params: rows if len(params["logs"]) == 2 else 1 / 0)
    assert altered.report(LOG, [new, known, new]) == [new]
    assert [each.getMessage() for each in caplog.records] == [
        f"altered in the database: log {LOG}, entry 5: The entry was changed."
    ]
    assert altered.report(LOG, []) == []  # and nothing is asked of the database
