"""What the signer is shown and asked, and the comparison beside the rounds, without a database."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from audit import growth, signer
from audit.comparison import Comparison, comparing
from audit.globallog import State
from audit.signing.reports import WAITS
from audit.tlog import headleaf, tree
from audit.tlog.checkpoint import Checkpoint

LOG, KID = uuid4(), uuid4()


def leaf(size: int) -> bytes:
    return headleaf.body(Checkpoint(f"log.example/s/{LOG}", size, b"r" * 32), None)


def waiting(log: UUID, seconds: float) -> signer.Reported:
    return signer.Reported(log, 3, seconds, 2)


def test_a_comparison_is_due_every_so_often_and_what_was_reported_is_looked_at_each_time(
    monkeypatch: pytest.MonkeyPatch,
):
    found_by_comparing, reported, compared = uuid4(), uuid4(), list[UUID]()
    monkeypatch.setattr("audit.comparison.different", lambda tenant: compared.append(tenant) or [found_by_comparing])
    monkeypatch.setattr(growth, "settle_reports", lambda: [waiting(reported, WAITS), waiting(LOG, WAITS + 1)])
    comparison = Comparison(LOG)
    comparison.look()
    assert set(comparison.take()) == {found_by_comparing, reported, LOG}
    assert comparison.take() == []
    assert comparison.overdue == (LOG,)
    comparison.look()
    assert (len(compared), set(comparison.take())) == (1, {reported, LOG})


def test_a_refused_head_is_shown_again_after_a_while_and_another_at_once(monkeypatch: pytest.MonkeyPatch):
    clock = [100.0]
    monkeypatch.setattr(growth.time, "monotonic", lambda: clock[0])
    refusals = growth.Refusals()
    assert refusals.keep(LOG, b"body", "why")
    assert (refusals.why(LOG, b"body"), refusals.why(LOG, b"other"), refusals.why(KID, b"body")) == ("why", "", "")
    clock[0] += growth.AGAIN
    assert refusals.why(LOG, b"body") == ""
    assert [refusals.keep(LOG, body, "why") for body in (b"body", b"other", b"other")] == [False, True, False]
    clock[0] += growth.KNOWN
    assert refusals.keep(KID, b"body", "why")
    assert list(refusals._heads) == [KID]


def test_heads_are_shown_in_questions_of_so_many_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growth, "BYTES", 10)
    many = [signer.Growth(b"four") for _ in range(5)]
    assert [len(part) for part in growth._parts(many)] == [2, 2, 1]
    assert [len(part) for part in growth._parts([signer.Growth(b"x" * 99), *many[:1]])] == [1, 1]


def test_a_comparison_that_fails_is_tried_again_and_ends_with_the_term(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("audit.comparison.LOOK", 0.01)
    errors = [signer.SignerDown("away"), RuntimeError("odd")]
    looked = threading.Event()

    def look() -> None:
        if errors:
            raise errors.pop(0)
        looked.set()

    comparison = Comparison(LOG)
    comparison.look = look  # type: ignore[method-assign]
    with comparing(comparison):
        assert looked.wait(10)
    assert not [each for each in threading.enumerate() if each.name == "comparison"]
    assert [each.getMessage() for each in caplog.records] == ["heads are not compared: odd"]


# --- showing the signer that logs grew


class Tree:
    """The tiles of a log of seven entries, as `audit.growth` reads them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.broken = False
        monkeypatch.setattr(growth, "_ranges", self._ranges)
        monkeypatch.setattr(growth, "forget", lambda log: self.forgotten.append(log))
        self.forgotten: list[UUID] = []
        self.asked: list[tuple[int, list[int]]] = []

    def _ranges(self, log: UUID, old: int, sizes: list[int]) -> tuple[bytes, bytes]:
        self.asked.append((old, sizes))
        if self.broken:
            raise growth.tiles.BadTile("altered")
        return b"frontier", b"nodes"


def test_a_proof_that_the_signer_asks_for_is_made_from_the_entries(monkeypatch: pytest.MonkeyPatch):
    log, body = Tree(monkeypatch), leaf(7)
    asked = [(3,), (0, 5), (0,), (7,), (9,), (-1,)]
    made = [growth._from_entries(body, signer.Unproved(LOG, sizes, "why")) for sizes in asked]
    assert made[0] == signer.Growth(body, 3, b"frontier", b"nodes", ())
    assert made[1] == signer.Growth(body, 0, b"frontier", b"nodes", (5,))
    assert made[2:] == [signer.Growth(body)] * 4
    assert (log.asked, log.forgotten) == ([(3, [7]), (0, [5, 7])], [LOG, LOG])
    log.broken = True
    assert growth._from_entries(body, signer.Unproved(LOG, (3,), "why")) == signer.Growth(body)


def test_what_is_refused_is_shown_once_more_with_a_proof(monkeypatch: pytest.MonkeyPatch):
    Tree(monkeypatch)
    shown: list[list[signer.Growth]] = []
    refuses = [False]

    def admit(size: int, root: bytes, part: list[signer.Growth]) -> list[signer.Unproved]:
        shown.append(part)
        return [signer.Unproved(LOG, (3,), "why")] if len(shown) == 1 or refuses[0] else []

    monkeypatch.setattr(growth.signer, "admit", admit)
    state: Any = SimpleNamespace(size=1, root=b"")
    heads_ = {LOG: signer.Growth(leaf(7))}
    for refuses[0], expected in ((False, {}), (True, {LOG: "why"})):
        shown.clear()
        assert growth.admit(state, heads_) == expected
        assert [each.nodes for part in shown for each in part] == [b"", b"nodes"]


def test_a_report_waits_until_a_longer_signed_head_is_shown_to_continue_it(monkeypatch: pytest.MonkeyPatch):
    log = Tree(monkeypatch)
    reported = [signer.Reported(uuid4(), 3, 1.0, signed) for signed in (2, 3, 4)]
    refusal: list[Exception] = []

    def confirm(*_: object) -> None:
        if refusal:
            raise refusal[0]

    monkeypatch.setattr(growth.signer, "known", lambda: SimpleNamespace(reported=reported))
    monkeypatch.setattr(growth.signer, "confirm", confirm)
    assert growth.settle_reports() == reported[:2]
    assert log.asked == [(3, [4])]
    refusal.append(signer.HeadRefused("another history"))
    assert growth.settle_reports() == reported
    refusal.clear()
    log.broken = True
    assert growth.settle_reports() == reported


# --- signing the global log


class Signing:
    """A global log of these leaves, and a signer that gives these answers: what it was asked, and what is stored."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, leaves: list[bytes], *answers: Any, signed: int = 0) -> None:
        self.leaves, self.answers = leaves, list(answers)
        self.asked: list[tuple[int, int, int]] = []
        self.stored: list[tuple[int, bytes]] = []
        self.signed = signed
        monkeypatch.setattr(growth.globallog, "state", self.state)
        monkeypatch.setattr(growth.globallog, "frontier", lambda tenant, size: self._frontier(size))
        monkeypatch.setattr(growth.globallog, "bodies", lambda tenant, start, stop: list(enumerate(leaves))[start:stop])
        monkeypatch.setattr(growth.signer, "sign_global", self._sign)
        monkeypatch.setattr(growth, "_store", lambda tenant, size, note: self.stored.append((size, note)))

    def state(self, tenant: UUID = LOG) -> State:
        return State(tenant, len(self.leaves), self._frontier(len(self.leaves)), -1, self.signed, datetime.now(UTC))

    def _frontier(self, size: int) -> bytes:
        return tree.append(b"", 0, [tree.leaf_hash(each) for each in self.leaves[:size]])

    def _sign(self, size: int, root: bytes, old: int, frontier: bytes, new: list[bytes]) -> Any:
        assert root == tree.root(self._frontier(size), size)
        assert list(new) == self.leaves[old:size]
        assert frontier == (self._frontier(old) if new else b"")
        self.asked.append((old, size, len(new)))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def leaves_of(*logs: UUID) -> list[bytes]:
    return [headleaf.body(Checkpoint(f"log.example/s/{log}", n + 1, b"r" * 32), None) for n, log in enumerate(logs)]


def test_nothing_is_signed_where_there_is_nothing_new_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    empty = Signing(monkeypatch, [])
    assert growth.sign(LOG) is None
    assert empty.asked == []
    whole = Signing(monkeypatch, leaves_of(LOG, KID), b"note", signed=2)
    assert growth.sign(LOG) is None
    assert whole.asked == []
    growth.sign(LOG, again=True)
    assert (whole.asked, whole.stored) == ([(2, 2, 0)], [(2, b"note")])


def test_leaves_are_signed_in_parts_none_with_two_heads_of_one_log(monkeypatch: pytest.MonkeyPatch):
    signing = Signing(monkeypatch, [*leaves_of(LOG, KID, LOG), b"map\n", b"map\n"], b"part", b"note")
    growth.sign(LOG)
    assert (signing.asked, signing.stored) == ([(0, 2, 2), (2, 5, 3)], [(5, b"note")])
    monkeypatch.setattr(growth, "LEAVES", 2)
    signing = Signing(monkeypatch, leaves_of(*(uuid4() for _ in range(5))), b"part", b"note", signed=1)
    growth.sign(LOG)
    assert (signing.asked, signing.stored) == ([(1, 3, 2), (3, 5, 2)], [(5, b"note")])


def test_what_is_signed_goes_on_from_where_the_signer_is(monkeypatch: pytest.MonkeyPatch):
    signing = Signing(monkeypatch, leaves_of(LOG, KID, uuid4()), signer.Behind(2), b"note")
    growth.sign(LOG)
    assert (signing.asked, signing.stored) == ([(0, 3, 3), (2, 3, 1)], [(3, b"note")])


def test_a_database_that_says_it_was_signed_further_than_it_is_asks_at_its_size(monkeypatch: pytest.MonkeyPatch):
    signing = Signing(monkeypatch, leaves_of(LOG), b"note", signed=5)
    growth.sign(LOG)
    assert signing.asked == [(1, 1, 0)]


def test_a_refusal_counts_unless_another_round_was_signed_meanwhile(monkeypatch: pytest.MonkeyPatch):
    signing = Signing(monkeypatch, leaves_of(LOG), signer.HeadRefused("older"), b"note")
    with pytest.raises(signer.HeadRefused):
        growth.sign(LOG)
    signing = Signing(monkeypatch, leaves_of(LOG), None, b"note")
    more = leaves_of(uuid4())

    def overtaken(*_: Any) -> Any:
        signing.leaves += more
        monkeypatch.setattr(growth.signer, "sign_global", signing._sign)
        raise signer.HeadRefused("older")

    signing.answers = [b"note"]
    monkeypatch.setattr(growth.signer, "sign_global", overtaken)
    growth.sign(LOG)
    assert signing.stored == [(2, b"note")]


def test_a_signer_that_was_always_signed_for_meanwhile_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growth, "TRIES", 3)
    signing = Signing(monkeypatch, leaves_of(LOG), *[signer.Behind(0)] * 3)
    with pytest.raises(signer.SignerDown):
        growth.sign(LOG)
    assert len(signing.asked) == 3


def test_heads_that_stand_in_the_log_already_are_proved_or_refused(monkeypatch: pytest.MonkeyPatch):
    Tree(monkeypatch)
    refused: list[signer.Unproved] = []
    shown: list[bytes] = []

    def admit(size: int, root: bytes, part: list[signer.Growth]) -> list[signer.Unproved]:
        shown.extend(each.body for each in part)
        return refused

    monkeypatch.setattr(growth.signer, "admit", admit)
    unproved = [signer.Unproved(KID, (0, 1), "why")]
    leaves = [b"agentstate headmap/1\n", *leaves_of(LOG, KID)]
    signing = Signing(monkeypatch, leaves, unproved, b"note")
    growth.sign(LOG)
    assert (shown, signing.stored) == ([leaves[2]], [(3, b"note")])
    refused.append(unproved[0])
    Signing(monkeypatch, leaves, unproved, b"note")
    with pytest.raises(signer.HeadRefused, match=str(KID)):
        growth.sign(LOG)


def test_what_a_round_added_is_signed_at_once_and_else_from_where_the_signer_is(monkeypatch: pytest.MonkeyPatch):
    leaves = leaves_of(LOG, KID, uuid4())
    root = tree.root_of([tree.leaf_hash(each) for each in leaves])
    for bound, at, answers, asked in (
        (9, 1, [b"note"], [(1, 3, 2)]),
        (1, 1, [b"part", b"note"], [(1, 2, 1), (2, 3, 1)]),  # too many for one question
        (9, 0, [b"note"], [(0, 3, 3)]),  # leaves before them were not signed
        (9, 1, [signer.Behind(2), b"note"], [(1, 3, 2), (1, 3, 2)]),
        (9, 1, [signer.HeadRefused("older"), b"note"], [(1, 3, 2), (1, 3, 2)]),
    ):
        monkeypatch.setattr(growth, "LEAVES", bound)
        signing = Signing(monkeypatch, leaves, *answers, signed=at)
        before = State(LOG, 1, signing._frontier(1), -1, at, datetime.now(UTC))
        growth.sign_grown(before, leaves[1:], root)
        assert (signing.asked, signing.stored) == (asked, [(3, b"note")])


# --- the signed head of one log


def test_the_head_of_a_log_that_was_signed_for_since_is_proved_once_and_else_refused(monkeypatch: pytest.MonkeyPatch):
    answers: list[Any] = [signer.Behind(9), b"note"]
    proofs: list[Any] = []

    def sign_head(body: bytes, index: int, proof: list[bytes], head: bytes, grown: Any = None) -> Any:
        proofs.append(grown)
        return answers.pop(0)

    monkeypatch.setattr(growth.signer, "sign_head", sign_head)
    monkeypatch.setattr(growth, "LogTiles", lambda log: log)
    monkeypatch.setattr(growth.tiles, "consistency_proof", lambda old, size, log: [b"%d-%d" % (old, size)])
    assert growth.signed_head(leaf(7), 0, [], b"") == b"note"
    assert proofs == [None, [b"7-9"]]

    def altered(*_: Any) -> list[bytes]:
        raise growth.tiles.BadTile("altered")

    monkeypatch.setattr(growth.tiles, "consistency_proof", altered)
    answers[:] = [signer.Behind(9), signer.Behind(9)]
    with pytest.raises(signer.HeadRefused):
        growth.signed_head(leaf(7), 0, [], b"")
    assert proofs[2:] == [None, []]
