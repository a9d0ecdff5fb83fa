"""Proofs of parts of a session: what holds is accepted in every small world, and nothing else is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import verify
from tests.core.proof_world import ABSENT, World, check, rewritten, valued
from tests.core.tlog_world import LOG, OTHER_LOG, STRANGER, chatter, export
from tests.core.tlog_world import check as check_bundle
from tests.core.tlog_world import said as failures
from tests.searching import drawn

WORLD = World()
EVERY = WORLD.every()
ABOUT = {"absence": {"session": str(ABSENT)}}  # the same hashes may show another id to be absent, and rightly so
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", EVERY)
def test_a_proof_of_each_kind_verifies(kind):
    verdict = check(EVERY[kind])
    assert verdict.ok, verdict.failures


@pytest.mark.parametrize("kind", EVERY)
def test_no_byte_of_a_proof_can_be_another(kind):
    data = EVERY[kind]
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert not check(changed, **ABOUT.get(kind, {})).ok, (kind, at, data[max(0, at - 30) : at + 10])


@pytest.mark.parametrize("kind", EVERY)
def test_no_byte_of_a_proof_can_be_left_out(kind):
    data = EVERY[kind]
    for at in range(len(data)):
        assert not check(data[:at] + data[at + 1 :], **ABOUT.get(kind, {})).ok


@pytest.mark.parametrize("kind", EVERY)
def test_a_proof_under_another_key_is_refused(kind):
    assert not check(EVERY[kind], STRANGER.vkey()).ok


@pytest.mark.parametrize("size", range(1, 18))
def test_every_entry_and_every_range_of_every_small_session_is_proven(size):
    world = World(size)
    for start in range(size):
        assert check(world.entry(start)).ok
        assert check(world.tlog_entry(start)).ok
        for end in range(start + 1, size + 1):
            verdict = check(world.extract(start, end))
            assert verdict.ok, (start, end, verdict.failures)
    for old in range(1, size + 1):
        assert check(world.growth(old), receipt=world.receipt(old)).ok
    assert check(world.complete()).ok


@pytest.mark.parametrize("size", [2, 3, 7, 8, 9])
def test_a_range_with_an_entry_dropped_doubled_or_moved_is_refused(size):
    world = World(size)
    data = world.extract(0, size)

    def drop(said):
        del said["entries"][at]

    def drop_and_shorten(said):
        del said["entries"][at]
        said["range"]["end"] -= 1

    def double(said):
        said["entries"].insert(at, said["entries"][at])

    def swap(said):
        said["entries"][at - 1], said["entries"][at] = said["entries"][at], said["entries"][at - 1]

    for at in range(size):
        for change in (drop, drop_and_shorten, double, swap):
            assert not check(rewritten(data, change)).ok, (at, change.__name__)


@pytest.mark.parametrize("part", [(0, 0), (3, 3), (5, 4), (-1, -1), (-2, 1), (0, 9)])
def test_a_part_that_holds_no_entry_or_more_than_there_are_is_refused_and_does_not_go_on_for_ever(part):
    with pytest.raises(verify.Fault, match="has to hold one"):
        verify.root_of_subtree(part, 8, bytes(32), [bytes(32)] * 3)


def test_a_session_without_its_last_entry_is_no_whole_session():
    longer, shorter = World(6), World(5)
    assert not check(rewritten(longer.complete(), lambda said: said["entries"].pop())).ok

    def older(said):
        # An old head that is genuine, of the same log: only the head map knows that it is not the latest.
        log = said["log"]
        said |= json.loads(shorter.complete()) | {"log": log}

    assert not check(rewritten(longer.complete(), older)).ok


def test_an_older_genuine_head_is_not_the_latest():
    world = World(5)
    old = world.log.add_head(LOG, world.ledger.honest[:3])
    world.log.latest[str(LOG)] = (world.head, 5)
    world.map = world.log.add_map()
    world.trust = type(world.trust)(world.log.checkpoint())
    world.head, world.envelopes = old, world.envelopes[:3]
    verdict = check(world.complete())
    assert not verdict.ok
    assert "cut off" in verdict.failures[0].message


def test_absence_is_proven_of_no_session_that_is_there():
    for session in (LOG, OTHER_LOG):
        forged = rewritten(WORLD.absence(), lambda said, session=session: said.update(session=str(session)))
        assert not check(forged).ok


@settings(max_examples=drawn(60))
@given(st.uuids(version=4), st.lists(st.uuids(version=4), max_size=30))
def test_absence_is_proven_among_any_sessions(absent, others):
    world = World(1)
    for each in others:
        world.log.add_head(each, [b"x"])
    world.map = world.log.add_map()
    world.trust = type(world.trust)(world.log.checkpoint())
    assert check(world.absence(absent)).ok == (absent not in others)


def test_a_receipt_convicts_a_session_that_was_cut_off_or_altered():
    world = World(6)
    held = world.receipt(6)
    cut, altered = World(4), World(ledger=chatter(6, key=b"z" * 32))
    assert check(world.growth(6), receipt=held).ok
    assert not check(cut.growth(4), receipt=held).ok
    assert not check(altered.growth(6), receipt=held).ok


def test_a_receipt_is_held_against_an_export_too(tmp_path):
    held = World(6).receipt(4)
    assert check_bundle(export(chatter(6)), tmp_path, demand=verify.Demand(receipt=held)).ok
    cut = check_bundle(export(chatter(3)), tmp_path, demand=verify.Demand(receipt=held))
    assert "cut off" in failures(cut)
    other = check_bundle(export(chatter(6, key=b"z" * 32)), tmp_path, demand=verify.Demand(receipt=held))
    assert "not those that were acknowledged" in failures(other)


def test_one_field_is_shown_and_the_others_stay_closed():
    data = WORLD.entry(2, "/text")
    verdict = check(data)
    assert verdict.proof["entries"][0]["fields"] == {"/text": "message 2"}
    assert b"customer" not in data


def test_a_field_of_another_entry_is_refused():
    def exchange(said):
        said["entry"]["shown"] = json.loads(WORLD.entry(1, "/text"))["entry"]["shown"]

    assert not check(rewritten(WORLD.entry(2, "/text"), exchange)).ok


def test_an_erased_entry_is_proven_without_its_words():
    world = World()
    world.ledger.erased = True
    verdict = check(world.complete())
    assert verdict.ok
    assert {each["closed"] for each in verdict.proof["entries"]} == {"erased"}


@pytest.mark.parametrize("value", [7, "7", None, {"a": 1, "b": {"c": []}}, [1, 2.5], "wörd"])
def test_a_proven_value_is_told(value):
    world = World(ledger=valued(value))
    verdict = check(world.entry(3))
    assert verdict.ok, verdict.failures
    assert verdict.proof["value"]["path"] == "state.limit"
    assert json.loads(json.dumps(verdict.proof["value"]["value"])) == json.loads(
        json.dumps(value), parse_float=verify.Number
    )


def test_another_value_under_the_same_proof_is_refused():
    def forge(said):
        said["entry"]["shown"]["payload"] = said["entry"]["shown"]["payload"].replace("7", "8")

    assert not check(rewritten(World(ledger=valued()).entry(3), forge)).ok


def test_a_proof_about_another_session_than_was_asked_for_is_refused():
    assert check(EVERY["entry"], session=str(LOG)).ok
    assert not check(EVERY["entry"], session=str(OTHER_LOG)).ok
    assert check(EVERY["absence"], session=str(ABSENT)).ok


def test_a_proof_is_older_than_what_is_demanded():
    assert not check(EVERY["entry"], min_size=99).ok


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"{}",
        b"[]",
        b'{"format":"agentstate-proof/1"}',
        b"c2sp.org/tlog-proof@v1",
        b"c2sp.org/tlog-proof@v1\n\n",
        b'{"format":"agentstate-proof/1","kind":[]}',
        b'{"a":' * 5000,
    ],
)
def test_what_is_no_proof_is_refused_in_words(data):
    verdict = check(data)
    assert not verdict.ok
    assert verdict.failures


@settings(max_examples=drawn(150))
@given(st.data())
def test_any_part_of_a_proof_replaced_by_anything_is_a_verdict(data):
    """No hostile document raises, and none that differs is accepted."""
    kind = data.draw(st.sampled_from([name for name in EVERY if "tlog" not in name]))
    said = json.loads(EVERY[kind])
    place, name = said, data.draw(st.sampled_from(sorted(said)))
    while isinstance(place[name], dict) and place[name] and data.draw(st.booleans()):
        place = place[name]
        name = data.draw(st.sampled_from(sorted(place)))
    junk = st.one_of(
        st.none(), st.integers(-3, 9), st.text(max_size=5), st.lists(st.integers(), max_size=2), st.just({}),
        st.floats(allow_nan=False), st.booleans(), st.lists(st.text(max_size=3), max_size=2),
    )  # fmt: skip
    before = place[name]
    place[name] = data.draw(junk)
    if place[name] != before or type(place[name]) is not type(before):
        assert not check(json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).ok, name


def test_the_verifier_reads_proofs_from_files_without_the_project(tmp_path):
    for name, data in (("a.json", EVERY["range"]), ("b.tlog-proof", EVERY["tlog entry"])):
        (tmp_path / name).write_bytes(data)
        command = [sys.executable, str(ROOT / "audit" / "verify.py"), name, "--key", STRANGER.vkey()]
        ours = [*command[:-1], World().log.signer.vkey()]
        good = subprocess.run(ours, capture_output=True, text=True, cwd=tmp_path, env={"PATH": ""}, check=False)
        bad = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": ""}, check=False)
        assert good.returncode == 0, good.stdout + good.stderr
        assert "OK: every check holds." in good.stdout
        assert bad.returncode == 1
        assert "NOT OK" in bad.stdout


def test_the_command_takes_a_receipt(tmp_path):
    held = WORLD.receipt(3)
    said = {"session": str(UUID(held.session)), "size": 3, "root": held.root.hex(), "leaf": held.leaf.hex(), "first": 1}
    (tmp_path / "proof.json").write_bytes(WORLD.growth(3))
    (tmp_path / "receipt.json").write_text(json.dumps(said))
    arguments = [str(tmp_path / "proof.json"), "--key", WORLD.log.signer.vkey(), "--receipt"]
    assert verify.main([*arguments, str(tmp_path / "receipt.json")]) == 0
    (tmp_path / "receipt.json").write_text(json.dumps(said | {"root": "00" * 32}))
    assert verify.main([*arguments, str(tmp_path / "receipt.json")]) == 1
