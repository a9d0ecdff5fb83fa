"""Heads that were reported past the database: which wait, and until when."""

from __future__ import annotations

from uuid import UUID

import pytest

from audit.signing import reports as reporting
from audit.signing.errors import HeadRefused, NotSigned
from audit.signing.reports import Reports, Waiting
from audit.tlog import tree
from tests.core.signing_world import (
    ENTRIES,
    LOG,
    OTHER,
    Clock,
    World,
    refusals,
)


def reported(world: World, *sizes: int, entries: list[bytes] = ENTRIES) -> None:
    for size in sizes:
        world.own.report(LOG, size, tree.root_of(entries[:size]))


def waiting(world: World) -> list[int]:
    return [each.size for each in world.own.reports.waiting()]


def test_a_reported_head_waits_until_it_or_what_continues_it_is_signed(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    reported(world, 5, 7, 9)
    assert waiting(world) == [7, 9]
    world.grow(5, 7)
    assert waiting(world) == [9]
    world.grow(7, 20)
    assert waiting(world) == []


@pytest.mark.parametrize("size", [9, 500])
def test_a_head_that_does_not_continue_a_reported_one_is_refused(size, tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    reported(world, 7)
    others = [*ENTRIES[:6], *(tree.leaf_hash(b"forged %d" % number) for number in range(600))]
    assert "7 entries with a decision" in refusals(world, world.shown(5, size, others, via=(7,)))
    assert waiting(world) == [7]
    if size > 300:  # too many to be handed over one by one: it says from where to prove them
        assert world.admit([world.shown(5, size)])[0].sizes == (5, 7)
    assert world.admit([world.shown(5, size, via=(7,))]) == []


def test_a_head_reported_after_a_later_one_was_signed_waits_for_the_proof_that_this_continues_it(tmp_path):
    world = World(tmp_path)
    world.grow(0, 9)
    reported(world, 6)
    frontier, nodes = tree.append(b"", 0, ENTRIES[:6]), b"".join(ENTRIES[6:9])
    for wrong in ((frontier, nodes[:-32]), (frontier[:32], nodes), (frontier, nodes[32:] + nodes[:32])):
        with pytest.raises(HeadRefused, match="does not continue the 6"):
            world.own.confirm(LOG, 6, *wrong)
    assert waiting(world) == [6]
    world.own.confirm(LOG, 6, frontier, nodes)
    assert waiting(world) == []


def test_a_dismissed_head_waits_no_more_and_only_one_that_waits_is_dismissed(tmp_path):
    world = World(tmp_path)
    reported(world, 6, 7)
    for log, size in ((LOG, 8), (UUID(int=1), 6)):
        with pytest.raises(NotSigned, match=f"No reported head of log {log} with {size} entries waits"):
            world.own.dismiss(log, size)
    world.own.dismiss(LOG, 6)
    assert waiting(world) == [7]


def test_a_report_that_comes_between_admission_and_signature_waits_on(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    shown = world.shown(5, 9)
    world.admit([shown])
    reported(world, 7)
    world.stand(shown.body)
    assert waiting(world) == [7]


def test_what_waits_is_told_with_log_size_root_and_seconds_oldest_first():
    clock = Clock()
    reports = Reports(clock)
    reports.add(OTHER, 3, b"o" * 32)
    clock.now = 130.0
    reports.add(LOG, 7, b"r" * 32)
    reports.add(LOG, 7, b"another")
    clock.now = 161.5
    assert reports.waiting() == [Waiting(OTHER, 3, b"o" * 32, 61.5), Waiting(LOG, 7, b"r" * 32, 31.5)]
    assert reports.root(LOG, 7) == b"r" * 32


def test_so_many_heads_of_a_log_wait_and_no_more(monkeypatch):
    monkeypatch.setattr(reporting, "MOST", 3)
    reports = Reports(Clock())
    for size in range(1, 6):
        reports.add(LOG, size, b"r" * 32)
    assert reports.sizes(LOG, 0, 9) == (1, 2, 3)
    reports.forget(LOG, 2)
    reports.add(LOG, 9, b"r" * 32)
    assert reports.sizes(LOG, 0, 9) == (1, 3, 9)


def test_heads_of_so_many_logs_wait_and_a_log_that_waits_no_more_makes_room(monkeypatch):
    monkeypatch.setattr(reporting, "MOST_LOGS", 1)
    reports = Reports(Clock())
    reports.add(LOG, 1, b"r" * 32)
    reports.add(OTHER, 1, b"o" * 32)
    assert [each.log for each in reports.waiting()] == [LOG]
    reports.forget(LOG, 1)
    reports.add(OTHER, 1, b"o" * 32)
    assert [each.log for each in reports.waiting()] == [OTHER]


def test_what_does_not_wait_can_be_forgotten():
    reports = Reports(Clock())
    reports.forget(LOG, 1)
    reports.add(LOG, 2, b"r" * 32)
    reports.forget(LOG, 1)
    assert reports.sizes(LOG, 0, 9) == (2,)


def test_a_signed_head_ends_the_wait_of_its_own_report_only_if_it_has_the_same_root():
    reports = Reports(Clock())
    reports.add(LOG, 2, b"r" * 32)
    reports.signed(LOG, 2, b"x" * 32, ())
    assert reports.sizes(LOG, 1, 2) == (2,)
    assert reports.sizes(LOG, 2, 9) == ()
    reports.signed(LOG, 2, b"r" * 32, ())
    assert reports.waiting() == []
