"""The words and numbers of a refusal, by which people look for what was altered."""

from __future__ import annotations

from uuid import UUID

import pytest

from audit.signing import rules
from audit.signing.errors import HeadRefused, NotSigned
from audit.signing.messages import Growth, Unproved
from audit.signing.rules import Signer
from audit.tlog import headleaf, tree
from audit.tlog.checkpoint import Checkpoint
from tests.core.signing_world import (
    BODIES,
    LOG,
    ORIGIN,
    World,
    asked,
    root,
    sign,
    signer,
)


def numbers(act) -> tuple[object, object]:
    """What a refusal says it got, and what was signed."""
    with pytest.raises(HeadRefused) as refused:
        act()
    return refused.value.facts["got"], refused.value.facts["signed"]


def test_a_refusal_of_a_global_head_says_what_it_got_and_what_was_signed(tmp_path):
    sign(tmp_path, 5, 0)
    own = signer(tmp_path)
    assert numbers(lambda: own.sign_global(*asked(4, 4))) == (4, 5)
    assert numbers(lambda: own.sign_global(7, b"x" * 32, 5, asked(5, 7)[3], BODIES[5:7])) == (7, 5)
    assert numbers(lambda: own.admit(4, root(4), [])) == (4, 5)


def test_a_refusal_of_an_older_head_says_what_it_got_and_what_was_signed(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    head = world.grow(5, 9)
    assert numbers(lambda: world.sign_head(0, head, (b"x" * 32,))) == (5, 9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "one\ntwo words\n",
            "Only what begins with a title of several words is signed as a text: no origin has a space.",
        ),
        (f"agentstate key/1\n{ORIGIN}\nx\n", "A key is introduced by `manage.py rotate-log-key` only."),
    ],
)
def test_a_text_that_is_not_signed_is_refused_in_these_words(text, said, tmp_path):
    with pytest.raises(NotSigned) as refused:
        signer(tmp_path).sign_text(text)
    assert refused.value.args[0] == said


def test_a_text_that_no_note_can_hold_is_refused_in_the_words_of_the_note(tmp_path):
    with pytest.raises(NotSigned, match=r"^.+\.$") as refused:
        signer(tmp_path).sign_text("two words\rx\n")
    assert "None" not in str(refused.value)


def test_a_key_whose_introduction_is_not_in_the_log_is_refused_in_these_words(tmp_path):
    own = signer(tmp_path)
    own.keys.announce()
    with pytest.raises(NotSigned) as refused:
        own.activate(0, [], sign(tmp_path, 1, 0))
    assert refused.value.args[0] == "The new key is not in the global log yet."


def test_the_signed_head_of_a_session_is_no_head_of_the_global_log(tmp_path):
    world = World(tmp_path)
    of_session = world.sign_head(0, world.grow(0, 3))
    assert isinstance(of_session, bytes)
    with pytest.raises(NotSigned, match="no head of the global log that we signed"):
        world.own.sign_receipt(of_session)


def test_a_log_whose_head_was_refused_twice_is_named_until_one_is_admitted(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    wrong = Growth(world.leaf(9, b"x" * 32))
    world.admit([wrong])
    assert world.own.refused() == []
    world.admit([wrong])
    assert world.own.refused() == [LOG]
    world.admit([world.shown(5, 9)])
    assert world.own.refused() == []
    world.admit([wrong])
    assert world.own.refused() == []


def test_a_head_that_is_not_admitted_is_named_with_its_log_and_from_where_it_must_be_proved(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    forged = world.leaf(9, b"x" * 32)
    honest = world.shown(5, 9)
    assert world.admit([Growth(forged)]) == [
        Unproved(LOG, (5,), "It is not proved to continue the 5 entries that were signed before.")
    ]
    assert world.admit([Growth(forged, 5, honest.frontier, honest.nodes)]) == [
        Unproved(LOG, (5,), "Got 9 entries that do not continue the 5 that were signed before.")
    ]


def test_two_heads_of_a_log_that_were_not_admitted_are_both_named_the_second_from_the_first(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    assert world.stand(world.leaf(7), world.leaf(9)) == [
        Unproved(LOG, (5,), "It was not admitted."),
        Unproved(LOG, (7,), "It was not admitted."),
    ]


def test_so_many_admissions_wait_and_the_oldest_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(rules, "MOST_ADMITTED", 2)
    world = World(tmp_path)
    leaves = [world.leaf(1, log=UUID(int=number)) for number in range(3)]
    world.admit([Growth(leaf) for leaf in leaves[:2]])
    assert isinstance(world.stand(leaves[0]), bytes)
    assert isinstance(world.stand(leaves[1]), bytes)
    world = World(tmp_path / "again")
    assert world.admit([Growth(leaf) for leaf in leaves]) == []
    (unproved,) = world.stand(leaves[0])
    assert unproved.log == UUID(int=0)
    assert isinstance(world.stand(*leaves[1:]), bytes)


def test_the_head_that_was_signed_last_is_signed_again_whatever_comes_with_the_question(tmp_path):
    world = World(tmp_path)
    signed = world.grow(0, 5)
    size, head_root = world.own.last() or (0, b"")
    assert world.own.sign_global(size, head_root, size, b"", [world.leaf(9)]) == signed


@pytest.mark.parametrize(
    ("leaf", "why"),
    [
        (Checkpoint(f"{ORIGIN}/s/x", 1, bytes(32)), "it names no log"),
        (Checkpoint(f"{ORIGIN}/s/{LOG.hex}", 1, bytes(32)), "it is of another origin"),
        (Checkpoint(f"other.example/s/{LOG}", 1, bytes(32)), "it is of another origin"),
    ],
)
def test_a_leaf_that_is_no_head_of_ours_is_refused_in_these_words(leaf, why, tmp_path):
    with pytest.raises(NotSigned) as refused:
        signer(tmp_path).admit(0, tree.EMPTY_ROOT, [Growth(leaf.body().encode())])
    assert refused.value.args[0] == f"A leaf is no head of a log under {ORIGIN}: {why}."


def test_an_origin_may_hold_what_stands_before_a_logs_name(tmp_path):
    origin = "log.example/s/eu"
    own = Signer(tmp_path, origin)
    leaf = headleaf.body(Checkpoint(f"{origin}/s/{LOG}", 1, b"r" * 32), None)
    assert own.admit(0, tree.EMPTY_ROOT, [Growth(leaf)]) == []
    assert isinstance(own.sign_global(1, tree.leaf_hash(leaf), 0, b"", [leaf]), bytes)
    assert own.last_of(LOG) == (1, b"r" * 32)


def test_in_the_memory_a_log_stands_under_its_id_and_the_global_log_under_its_letter(tmp_path):
    World(tmp_path).grow(0, 5)
    held = (tmp_path / "signer" / "heads").read_bytes()
    assert sorted(held[at : at + 17] for at in (0, 64)) == [b"g".ljust(17, b"\0"), b"l" + LOG.bytes]
