"""Mutated bundles and mutated parts of them, for a bounded time: always a verdict, never a traceback, never a yes.

Short by default; FULL=1 goes on for minutes. A failure names the seed, with which it is the same again.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from audit import verify
from audit.tlog import canonical, checkpoint, cosignature, note, policy, proof, receipt, tiles
from tests.core.tlog_world import (
    LOG,
    OTHER_LOG,
    SIGNER,
    GlobalLog,
    Witness,
    chatter,
    check,
    export,
    memory_folder,
    pack,
    resign,
    said,
    transfer_story,
    unpack,
)
from tests.searching import FULL

SECONDS = 60.0 if FULL else 1.5  # for one kind of mutation
CORPUS = [unpack(export(chatter(3))), unpack(export(transfer_story())), unpack(export(chatter(300)))]
WITNESS = Witness()


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        yield Path(name)


def rounds(seconds: float = SECONDS):
    """(seed, its random numbers) until the time is over."""
    end, seed = time.process_time() + seconds, 0
    while time.process_time() < end:
        yield seed, random.Random(seed)
        seed += 1


TOKENS = (
    *(b"0", b"-1", b"9" * 30, b"null", b"true", b"[]", b"{}", b'""', b"\x00", b"\xff", b"\n", b"\n\n", b" ", b"+"),
    *(b"1e9", b"0.5", b"\\ud800", "—".encode(), b"=", b"A" * 44, b"[" * 200, b'{"a":' * 200, b"\x80" * 20),
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The data with one to four things done to it: a byte changed, a part left out, repeated, moved, or put in."""
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        match chance.randrange(6):
            case 0 if data:
                at = chance.randrange(len(data))
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[min(to, at + chance.choice((1, 2, 30, 10_000))) :]
            case 2:
                data = data[:to] + data[at:to][:1000] + data[to:]
            case 3:
                data = data[:at] + chance.choice(TOKENS) + data[at:]
            case 4:
                data = data[:at] + chance.choice(TOKENS) + data[to:]
            case _:
                data = data[at:to] + data[:at] + data[to:]
    return data


def test_bundles_with_any_file_mutated_end_in_a_verdict_even_under_our_own_manifest(folder):
    for seed, chance in rounds():
        files = dict(chance.choice(CORPUS[:2]))
        for name in chance.sample(sorted(files), chance.randint(1, 3)):
            files[name] = mutated(files[name], chance)
        genuine = chance.random() < 0.7
        verdict = check(pack(resign(files) if genuine and "manifest" not in str(files) else files), folder)
        assert "cannot be checked" not in said(verdict), (seed, said(verdict))
        assert not (verdict.ok and not genuine), seed


def test_bundles_with_their_evidence_mutated_are_never_accepted(folder):
    """Under a manifest that fits, as whoever holds the key can make it; but entries and heads are what they were."""
    parts = [name for name in CORPUS[1] if name.startswith(("session/", "log/", "receipts/"))]
    for seed, chance in rounds():
        name = chance.choice(parts)
        data = mutated(CORPUS[1][name], chance)
        verdict = check(pack(resign(CORPUS[1] | {name: data})), folder)
        assert verdict.ok == (data == CORPUS[1][name]), (seed, name, said(verdict))
        assert "cannot be checked" not in said(verdict), (seed, said(verdict))


def test_archives_with_bytes_mutated_are_never_accepted(folder):
    whole = [pack(files) for files in CORPUS[:2]]
    for seed, chance in rounds():
        data = chance.choice(whole)
        changed = mutated(data, chance)
        verdict = check(changed, folder)
        assert verdict.ok == (changed in whole), seed
        assert "cannot be checked" not in said(verdict), (seed, said(verdict))


def test_what_stands_beside_a_bundle_may_be_mutated(folder):
    """Policy, key, held head and its proof."""
    log = GlobalLog()
    held = [log.add_head(LOG, [b"a"]), log.checkpoint(WITNESS)][1]
    log.add_head(OTHER_LOG, [b"b"])
    trust = log.policy() + f"witness w {WITNESS.vkey()}\ngroup g any w\n".encode()
    data = pack(CORPUS[0])
    for seed, chance in rounds():
        given = (
            mutated(trust, chance) if seed % 2 else mutated(SIGNER.vkey().encode(), chance).decode("utf-8", "replace")
        )
        demand = verify.Demand(held=mutated(held, chance), held_proof=[b"x" * 32] if seed % 3 else None)
        verdict = check(data, folder, given or b"", demand=demand)
        assert not verdict.ok, seed
        assert "cannot be checked" not in said(verdict), (seed, said(verdict))


KEY = note.parse_vkey(SIGNER.vkey())
LOG_FILES = CORPUS[0]
READERS: dict[str, tuple[bytes, Callable[[bytes], object], tuple[type[Exception], ...]]] = {
    "note": (LOG_FILES["log/checkpoint"], lambda data: note.open_note(data, [KEY]), (note.BadNote,)),
    "head": (
        LOG_FILES["log/checkpoint"],
        lambda data: checkpoint.open_signed(data, [KEY]),
        (note.BadNote, checkpoint.BadCheckpoint),
    ),
    "tlog-proof": (LOG_FILES["log/head.tlog-proof"], proof.parse, (proof.BadProof,)),
    "policy": (GlobalLog().policy(), policy.parse, (policy.BadPolicy,)),
    "bundle of entries": (
        CORPUS[2]["session/tile/entries/000"],
        lambda data: tiles.parse_bundle(data, 256),
        (tiles.BadTile,),
    ),
    "tile path": (b"tile/0/x001/234.p/5", lambda data: tiles.parse_path(data.decode("latin-1")), (tiles.BadTile,)),
    "canonical JSON": (LOG_FILES["log/headmap.json"], canonical.loads, (canonical.NotCanonical,)),
    "receipt": (
        LOG_FILES["receipts/head.cbor"],
        lambda data: receipt.verify(data, b"leaf", KEY),
        (receipt.BadReceipt,),
    ),
    "cosignatures": (
        WITNESS.cosign("log.example\n1\n" + "A" * 43 + "=\n"),
        cosignature.read_lines,
        (note.BadNote,),
    ),
}


@pytest.mark.parametrize("what", READERS)
def test_a_mutated_part_is_read_or_refused_and_nothing_else(what):
    data, read, refusals = READERS[what]
    for seed, chance in rounds(SECONDS / 6):
        changed = mutated(data, chance)
        try:
            read(changed)
        except refusals:
            continue
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}")


def test_the_verifiers_own_readers_know_one_kind_of_fault(folder):
    readers = [
        (LOG_FILES["log/head.tlog-proof"], verify.read_proof),
        (LOG_FILES["log/checkpoint"], verify.split_note),
        (GlobalLog().policy(), verify.read_policy),
        (LOG_FILES["session/tile/entries/000.p/3"][2:], verify.read_envelope),
        (LOG_FILES["log/headmap.json"], verify.canonical),
        (bytes.fromhex("3082") + bytes(60), verify.read_timestamp),
        (b"A" * 43 + b"=\n", verify.read_hashes),
    ]
    for seed, chance in rounds():
        data, read = chance.choice(readers)
        try:
            read(mutated(data, chance))
        except verify.Fault:
            continue
        except Exception as error:
            pytest.fail(f"seed {seed}: {read.__name__}: {type(error).__name__}: {error}")
