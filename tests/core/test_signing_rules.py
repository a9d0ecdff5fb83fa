"""The signer's rules: keys made once, a memory that outlives the database, and what is refused."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from audit import verify
from audit.signing import rules
from audit.signing.errors import BadLogKey, BadMemory, HeadRefused, NotSigned
from audit.signing.messages import Growth, Unproved
from audit.signing.rules import Behind, Signer
from audit.tlog import checkpoint, cosignature, note, receipt, tree
from audit.tlog.checkpoint import Checkpoint
from tests.core.signing_world import (
    BODIES,
    ENTRIES,
    LEAVES,
    LOG,
    ORIGIN,
    OTHER,
    Clock,
    World,
    asked,
    refusals,
    sign,
    signer,
)


def test_a_signed_head_opens_under_the_printed_key(tmp_path):
    world = World(tmp_path)
    signed = world.sign_head(0, world.grow(0, 3))
    own = signer(tmp_path)
    text = note.open_note(signed, [note.parse_vkey(own.vkey())])
    assert checkpoint.parse(text) == Checkpoint(f"{ORIGIN}/s/{LOG}", 3, tree.root_of(ENTRIES[:3]))
    assert verify.read_session_head(text, verify.read_vkey(own.vkey()).name).log == str(LOG)


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path):
    first = signer(tmp_path).vkey()
    assert signer(tmp_path).vkey() == first
    file = tmp_path / "secrets" / "log.key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["log.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_key_that_others_may_read_is_refused_in_one_line(mode, tmp_path):
    signer(tmp_path)
    (tmp_path / "secrets" / "log.key").chmod(mode)
    with pytest.raises(BadLogKey, match="chmod 600") as refused:
        signer(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_key_file_that_holds_no_key_is_refused(content, tmp_path):
    signer(tmp_path)
    (tmp_path / "secrets" / "log.key").write_bytes(content)
    with pytest.raises(BadLogKey, match="not a private key"):
        signer(tmp_path)


def test_a_lost_key_is_not_replaced_in_silence(tmp_path):
    sign(tmp_path, 3, 0)
    (tmp_path / "secrets" / "log.key").unlink()
    with pytest.raises(BadLogKey, match="restore it"):
        signer(tmp_path)


def test_a_lost_memory_is_not_begun_anew_in_silence(tmp_path):
    sign(tmp_path, 3, 0)
    (tmp_path / "signer" / "heads").unlink()
    with pytest.raises(BadMemory, match="is gone"):
        signer(tmp_path)


def test_a_growing_log_is_signed_head_after_head_by_one_process_after_another(tmp_path):
    for old, size in ((0, 1), (1, 5), (5, 5), (5, 33)):
        sign(tmp_path, size, old)


def test_the_same_head_is_signed_again_with_the_same_bytes(tmp_path):
    assert sign(tmp_path, 5, 0) == sign(tmp_path, 5, 5)


def test_a_proof_from_elsewhere_is_answered_with_where_the_signer_is(tmp_path):
    sign(tmp_path, 5, 0)
    assert signer(tmp_path).sign_global(*asked(3, 9)) == Behind(5)


def test_a_global_log_that_became_shorter_is_refused_in_so_many_words(tmp_path):
    sign(tmp_path, 5, 0)
    with pytest.raises(
        HeadRefused, match=r"cut off, altered or restored from a backup\. Got 4 leaves .* signed 5 before"
    ):
        signer(tmp_path).sign_global(*asked(4, 4))


@pytest.mark.parametrize("size", [5, 6, 30])
def test_every_other_history_is_refused(size, tmp_path):
    sign(tmp_path, 5, 0)
    others = [tree.leaf_hash(b"other"), *LEAVES[1:]]
    forged = tree.append(b"", 0, others[:5])
    with pytest.raises(HeadRefused, match="does not continue"):
        signer(tmp_path).sign_global(size, tree.root_of(others[:size]), 5, forged, BODIES[5:size])
    sign(tmp_path, 7, 5)


@pytest.mark.parametrize("old", [1, 5, 8, 300])
def test_a_session_that_grew_is_admitted_whatever_it_grew_by(old, tmp_path):
    world = World(tmp_path)
    world.grow(0, old)
    for size in (old + 1, old + 9, 600):
        world.grow(old, size)
        old = size


def test_a_session_that_became_shorter_is_refused(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    assert refusals(world, world.shown(3, 4)) == "Got 4 entries; signed 5 before."


def test_another_root_of_a_session_at_the_same_size_is_refused(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    assert "another root at 5 entries" in refusals(world, Growth(world.leaf(5, b"x" * 32)))
    assert world.admit([Growth(world.leaf(5)), Growth(world.leaf(1, log=OTHER))]) == []


def test_a_refusal_that_is_not_repeated_is_over_after_a_while(tmp_path, monkeypatch):
    world = World(tmp_path)
    world.grow(0, 5)
    for times in (1, 2):
        world.admit([world.shown(3, 4)])
        assert world.own.refused() == [LOG] * (times - 1)  # at first it says what is missing
    monkeypatch.setattr("audit.signing.rules.REFUSED", 0.0)
    assert world.own.refused() == []
    monkeypatch.undo()
    assert world.own.refused() == [LOG]
    world.admit([world.shown(5, 9)])
    assert world.own.refused() == []


def test_a_second_refusal_names_the_log_for_so_many_seconds_and_no_longer(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(rules, "time", SimpleNamespace(monotonic=clock))
    world = World(tmp_path)
    world.grow(0, 5)
    clock.now = 0.0
    for _ in range(2):
        world.admit([world.shown(3, 4)])
    for clock.now, named in ((29.9, [LOG]), (rules.REFUSED, [])):
        assert world.own.refused() == named


@pytest.mark.parametrize("cut", [1, 3, 4, 7])
@pytest.mark.parametrize("size", [9, 40, 500])
def test_a_session_cut_back_and_grown_past_its_signed_size_is_refused(cut, size, tmp_path):
    """Whatever is handed over as its growth: from what was signed, from where it was cut, or nothing."""
    world = World(tmp_path)
    world.grow(0, 8)
    others = [*ENTRIES[:cut], *(tree.leaf_hash(b"forged %d" % number) for number in range(600))]
    honest, forged = world.shown(8, size), world.shown(8, size, others)
    forgeries = [
        forged,
        Growth(forged.body, 8, honest.frontier, forged.nodes),
        Growth(forged.body, 8, honest.frontier, honest.nodes),
        world.shown(cut, size, others),
        world.shown(0, size, others),
        Growth(forged.body),
        Growth(forged.body, 8, honest.frontier, b""),
        Growth(forged.body, 8, honest.frontier[:-1], forged.nodes),
    ]
    for each in forgeries:
        assert refusals(world, each)
    world.grow(8, size)


def test_a_head_that_was_not_admitted_gets_no_signature_and_says_from_where_to_prove_it(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    shown = world.shown(5, 9)
    assert world.stand(shown.body) == [Unproved(LOG, (5,), "It was not admitted.")]
    world.admit([shown])
    assert isinstance(world.stand(shown.body), bytes)


def test_an_admission_is_worth_nothing_once_another_head_was_signed(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    late = world.shown(5, 7)
    world.admit([late])
    world.grow(5, 9)
    assert world.stand(late.body) == [Unproved(LOG, (9,), "It was not admitted.")]


def test_two_heads_of_a_log_are_not_signed_at_once_unless_one_continues_the_other(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    first, second = world.shown(5, 7), world.shown(5, 9)
    world.admit([first, second])
    assert world.stand(first.body, second.body) == [Unproved(LOG, (7,), "It was not admitted.")]


def test_what_the_signer_remembers_outlives_it(tmp_path):
    World(tmp_path).grow(0, 5)
    world = World(tmp_path)
    world.bodies = [world.leaf(5)]
    assert refusals(world, world.shown(3, 4))
    world.grow(5, 9)


def test_heads_are_remembered_in_one_file_of_64_bytes_a_log(tmp_path):
    world = World(tmp_path)
    for old, size in ((0, 1), (1, 2), (2, 30)):
        world.grow(old, size)
    for number in range(50):
        log = UUID(int=number)
        world.admit([Growth(world.leaf(1, log=log))])
        world.stand(world.leaf(1, log=log))
    assert (tmp_path / "signer" / "heads").stat().st_size == 64 * 52


def test_after_an_older_global_log_or_another_one_no_head_is_admitted(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    shown = world.shown(5, 9)
    for size, root in ((0, tree.EMPTY_ROOT), (1, b"x" * 32)):
        with pytest.raises(HeadRefused, match=r"Got 0 leaves .* signed 1 before|does not continue the one of 1"):
            world.own.admit(size, root, [shown])
    assert world.admit([shown]) == []


@pytest.mark.parametrize("leaf", [b"x", b"log.example/s/x\n1\n", b"\xff", b""])
def test_a_leaf_that_is_no_head_is_not_admitted(leaf, tmp_path):
    with pytest.raises(NotSigned, match="no head of a log"):
        signer(tmp_path).admit(0, tree.EMPTY_ROOT, [Growth(leaf)])


def test_a_head_of_another_origin_is_not_admitted(tmp_path):
    with pytest.raises(NotSigned, match="another origin"):
        signer(tmp_path).admit(
            0, tree.EMPTY_ROOT, [Growth(Checkpoint(f"other.example/s/{LOG}", 1, bytes(32)).body().encode())]
        )


def test_an_older_head_of_a_session_is_signed_where_the_newest_is_proved_to_continue_it(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    head = world.grow(5, 9)
    assert world.sign_head(0, head) == Behind(9)
    with pytest.raises(HeadRefused, match="signed 9 before"):
        world.sign_head(0, head, (b"x" * 32,))
    assert isinstance(world.sign_head(0, head, tuple(tree.consistency_proof(5, ENTRIES[:9]))), bytes)


def test_a_sessions_head_is_signed_only_where_the_global_log_has_it(tmp_path):
    world = World(tmp_path)
    head = world.grow(0, 3)
    with pytest.raises(HeadRefused, match="not in the global log"):
        world.own.sign_head(world.leaf(5), 0, [], head)


def test_a_global_head_of_another_signer_proves_nothing(tmp_path):
    world, stranger = World(tmp_path / "own"), World(tmp_path / "stranger")
    world.grow(0, 5)
    with pytest.raises(NotSigned, match="no head of the global log that we signed"):
        world.sign_head(0, stranger.grow(0, 5))


def test_receipts_are_signed_only_under_a_head_that_was_signed(tmp_path):
    head = sign(tmp_path, 5, 0)
    vkey, signature = signer(tmp_path).sign_receipt(head)
    key = note.parse_vkey(vkey)
    data = receipt.make(key, 3, 5, tree.inclusion_proof(3, LEAVES[:5]), signature)
    assert receipt.verify(data, bytes([3]), key).size == 5
    stranger = sign(tmp_path / "stranger", 5, 0)
    for unsigned in (head.replace(b"\n5\n", b"\n6\n"), stranger, signer(tmp_path).sign_text("a b\n"), b"", b"\n\n"):
        with pytest.raises(NotSigned):
            signer(tmp_path).sign_receipt(unsigned)


def test_a_place_torn_by_a_crash_is_forgotten_for_its_head_was_never_given_out(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    memory = tmp_path / "signer" / "heads"
    whole = memory.read_bytes()
    for end in range(1, 64):
        memory.write_bytes(whole + b"x" * end)
        assert signer(tmp_path).last_of(LOG) == (5, tree.root_of(ENTRIES[:5]))
        assert memory.read_bytes() == whole


@pytest.mark.parametrize("at", [0, 3, 16, 17, 23, 24, 55, 56, 63, 64, 127])
def test_a_memory_that_cannot_be_read_signs_nothing(at, tmp_path):
    World(tmp_path).grow(0, 5)
    memory = tmp_path / "signer" / "heads"
    whole = memory.read_bytes()
    memory.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(BadMemory) as refused:
        sign(tmp_path, 6, 5)
    assert refused.value.code == "bad_signer_memory"


@pytest.mark.parametrize("room", [0, 1, 63, 65])
def test_a_memory_that_takes_only_a_part_is_as_it_was_and_nothing_is_signed(room, tmp_path, monkeypatch):
    """As on a disk that fills up: it takes what it has room for, says so by the number, and refuses the next write."""
    world = World(tmp_path)
    world.grow(0, 5)
    memory, write = tmp_path / "signer" / "heads", os.pwrite
    whole, free = memory.read_bytes(), room

    def full(descriptor: int, data: bytes, at: int) -> int:
        nonlocal free
        if at < len(whole):
            return write(descriptor, data, at)
        if not free:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = write(descriptor, data[:free], at)
        free -= taken
        return taken

    logs = [UUID(int=number) for number in range(2)]
    world.admit([Growth(world.leaf(1, log=log)) for log in logs])
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space"):
            world.stand(*(world.leaf(1, log=log) for log in logs))
    assert memory.read_bytes() == whole
    assert [world.own.last_of(log)[0] for log in logs] == [0, 0]
    assert isinstance(world.stand(*(world.leaf(1, log=log) for log in logs)), bytes)


@pytest.mark.parametrize("text", [f"{ORIGIN}\n1\n", f"agentstate key/1\n{ORIGIN}\nx\n", "two words\rx\n", "two words"])
def test_what_could_be_read_as_a_head_or_a_key_is_not_signed_as_a_text(text, tmp_path):
    with pytest.raises(NotSigned):
        signer(tmp_path).sign_text(text)


@pytest.mark.parametrize("origin", ["", "two words", "a+b"])
def test_an_origin_that_cannot_name_a_key_is_refused(origin, tmp_path):
    with pytest.raises(BadLogKey, match="LOG_ORIGIN"):
        Signer(tmp_path, origin)


def test_a_key_that_signed_under_another_origin_is_refused(tmp_path):
    signer(tmp_path)
    with pytest.raises(BadLogKey, match="LOG_ORIGIN"):
        Signer(tmp_path, "another.example")


def test_the_memory_is_readable_by_its_owner_only(tmp_path):
    World(tmp_path).grow(0, 1)
    for path in (tmp_path / "signer", tmp_path / "signer" / "heads"):
        assert path.stat().st_mode & 0o077 == 0
        assert path.stat().st_uid == os.getuid()


# --- new keys


def test_a_new_key_signs_only_once_its_introduction_stands_in_a_signed_head(tmp_path):
    own = signer(tmp_path)
    old, introduction = own.vkey(), own.keys.announce()
    assert own.keys.announce() == introduction
    leaves = [tree.leaf_hash(introduction)]
    with pytest.raises(NotSigned, match="not in the global log"):
        own.activate(0, [], sign(tmp_path, 1, 0))
    assert own.vkey() == old
    own = signer(tmp_path / "another")
    introduction = own.keys.announce()
    leaves = [tree.leaf_hash(introduction)]
    head = own.sign_global(1, tree.root_of(leaves), 0, b"", [introduction])
    own.activate(0, [], head)
    assert own.vkey() == note.parse(introduction).text.splitlines()[2]


def rotated(state_dir: Path, now: datetime) -> tuple[str, str]:
    """The old and the new public key."""
    own = signer(state_dir, now=lambda: now)
    old, introduction = own.vkey(), own.keys.announce()
    own.activate(0, [], own.sign_global(1, tree.leaf_hash(introduction), 0, b"", [introduction]))
    return old, own.vkey()


def test_for_a_while_both_keys_sign_and_then_the_old_one_is_gone(tmp_path):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    old, new = rotated(tmp_path, start)
    during = signer(tmp_path, now=lambda: start + timedelta(days=29)).sign_text("two words\n")
    for vkey in (old, new):
        assert note.open_note(during, [note.parse_vkey(vkey)])
    after = signer(tmp_path, now=lambda: start + timedelta(days=31)).sign_text("two words\n")
    assert note.open_note(after, [note.parse_vkey(new)])
    with pytest.raises(note.BadNote):
        note.open_note(after, [note.parse_vkey(old)])
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["log-2.key"]


def test_verifiers_follow_the_chain_of_keys(tmp_path):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    old, new = rotated(tmp_path, start)
    own = signer(tmp_path, now=lambda: start + timedelta(days=40))
    (introduction,) = own.keys.introductions()
    text = note.open_note(introduction, [note.parse_vkey(old)])
    assert text == f"agentstate key/1\n{ORIGIN}\n{new}\n"


def test_heads_signed_by_a_retired_key_are_still_known_as_our_own(tmp_path):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    own = signer(tmp_path, now=lambda: start)
    introduction = own.keys.announce()
    body = Checkpoint(f"{ORIGIN}/s/{LOG}", 5, b"r" * 32).body().encode()
    leaves = [tree.leaf_hash(introduction), tree.leaf_hash(body)]
    own.admit(0, tree.EMPTY_ROOT, [Growth(body)])
    head = own.sign_global(2, tree.root_of(leaves), 0, b"", [introduction, body])
    own.activate(0, tree.inclusion_proof(0, leaves), head)
    later = signer(tmp_path, now=lambda: start + timedelta(days=40))
    assert later.sign_head(body, 1, tree.inclusion_proof(1, leaves), head)


def test_a_second_signature_stands_beside_the_first_where_it_is_asked_for(tmp_path):
    own = signer(tmp_path, second=True)
    signed = own.sign_global(*asked(0, 1))
    second = note.parse_vkey(own.keys.second(), [note.ML_DSA_44])
    assert cosignature.cosigned(signed, [second]) == {second: 0}
    assert checkpoint.open_signed(signed, [note.parse_vkey(own.vkey())]).size == 1
    assert signer(tmp_path, second=True).keys.second() == str(second)
