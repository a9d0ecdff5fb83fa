"""Cosignatures of witnesses and a log's second signature: the exact message, key and time, or nothing."""

from __future__ import annotations

import hashlib
import struct

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey

from audit.tlog import cosignature, note
from audit.tlog.checkpoint import BadCheckpoint, Checkpoint
from audit.tlog.note import BadNote
from tests.core.tlog_naive import flipped
from tests.core.tlog_world import ORIGIN, SIGNER

NAME = "witness.example/w1"
ED = Ed25519PrivateKey.from_private_bytes(b"w" * 32)
ML = MLDSA44PrivateKey.from_seed_bytes(b"w" * 32)
BODY = Checkpoint(ORIGIN, 5, bytes(range(32))).body()
AT = 1_679_315_147
BOTH = pytest.mark.parametrize("private", [ED, ML], ids=["ed25519", "ml-dsa-44"])


def holds(key: note.VerifierKey, line: note.Signature, text: str = BODY) -> bool:
    try:
        return cosignature.verify(key, line, text) == AT
    except (BadNote, BadCheckpoint):
        return False


def test_an_ed25519_cosignature_signs_the_lines_of_the_specification():
    line = cosignature.make(BODY, NAME, ED, AT)
    public = ED.public_key().public_bytes_raw()
    assert line.key_id == hashlib.sha256(NAME.encode() + b"\n\x04" + public).digest()[:4]
    assert line.value[:8] == struct.pack(">Q", AT)
    signed = f"cosignature/v1\ntime {AT}\n{BODY}".encode()
    Ed25519PublicKey.from_public_bytes(public).verify(line.value[8:], signed)


def test_an_ml_dsa_cosignature_signs_the_structure_of_the_specification():
    line = cosignature.make(BODY, NAME, ML, AT)
    public = ML.public_key().public_bytes_raw()
    assert line.key_id == hashlib.sha256(NAME.encode() + b"\n\x06" + public).digest()[:4]
    names = [bytes([len(name)]) + name.encode() for name in (NAME, ORIGIN)]
    message = b"subtree/v1\n\0" + names[0] + struct.pack(">Q", AT) + names[1] + struct.pack(">QQ", 0, 5)
    MLDSA44PublicKey.from_public_bytes(public).verify(line.value[8:], message + bytes(range(32)))
    assert len(line.value) == 8 + 2420


@BOTH
def test_a_cosignature_holds_for_its_key_name_head_and_time_alone(private):
    line, key = cosignature.make(BODY, NAME, private, AT), cosignature.key_of(NAME, private)
    assert holds(key, line)
    other = cosignature.key_of("witness.example/w2", private)
    assert not holds(other, line)
    assert not holds(other, note.Signature(other.name, other.key_id, line.value)) or key.kind == note.COSIGNATURE
    for text in (BODY.replace("5", "6"), BODY.replace(ORIGIN, "other.example"), BODY + "more\n", "", BODY[:-1]):
        assert not holds(key, line, text)
    later = note.Signature(line.name, line.key_id, struct.pack(">Q", AT + 1) + line.value[8:])
    assert not holds(key, later)


@BOTH
def test_every_bit_of_a_cosignature_counts(private):
    line, key = cosignature.make(BODY, NAME, private, AT), cosignature.key_of(NAME, private)
    step = 1 if private is ED else 37
    for bit in range(0, len(line.value) * 8, step):
        assert not holds(key, note.Signature(line.name, line.key_id, flipped(line.value, bit)))
    for value in (b"", line.value[:-1], line.value + b"\x00", line.value[8:]):
        assert not holds(key, note.Signature(line.name, line.key_id, value))


def test_a_key_signs_as_what_it_is_registered_and_as_nothing_else():
    plain = note.verifier_key(NAME, ED)
    line = cosignature.make(BODY, NAME, ED, AT)
    assert plain.key_id != line.key_id
    with pytest.raises(BadNote, match="want 0x04 or 0x06"):
        cosignature.verify(plain, note.Signature(NAME, plain.key_id, line.value), BODY)
    with pytest.raises(BadNote, match="want 0x01"):
        note.verify(cosignature.key_of(NAME, ED), line, BODY)


@pytest.mark.parametrize("at", [-1, 2**63])
def test_a_time_that_the_format_does_not_hold_is_refused(at):
    with pytest.raises((BadNote, OverflowError)):
        cosignature.make(BODY, NAME, ED, at)
    value = (2**63).to_bytes(8, "big") + bytes(64)
    key = cosignature.key_of(NAME, ED)
    with pytest.raises(BadNote, match="time"):
        cosignature.verify(key, note.Signature(NAME, key.key_id, value), BODY)


def test_a_checkpoint_carries_the_logs_two_signatures_and_its_witnesses():
    lines = [cosignature.make(BODY, ORIGIN, ML, 0), cosignature.make(BODY, NAME, ED, AT)]
    data = note.extended(SIGNER.sign_text(BODY), lines)
    assert note.extended(data, lines) == data
    assert note.open_note(data, [note.parse_vkey(SIGNER.vkey())]) == BODY
    keys = [cosignature.key_of(ORIGIN, ML), cosignature.key_of(NAME, ED)]
    assert cosignature.cosigned(data, keys) == dict(zip(keys, (0, AT), strict=True))
    assert cosignature.cosigned(data, [cosignature.key_of("stranger.example", ED)]) == {}


def test_of_two_lines_of_a_witness_the_later_counts_and_a_wrong_one_spoils_the_note():
    key = cosignature.key_of(NAME, ED)
    lines = [cosignature.make(BODY, NAME, ED, at) for at in (AT, AT + 5, AT + 1)]
    data = note.extended(SIGNER.sign_text(BODY), lines)
    assert cosignature.cosigned(data, [key]) == {key: AT + 5}
    wrong = note.Signature(NAME, key.key_id, flipped(lines[0].value, 100))
    with pytest.raises(BadNote, match="does not match"):
        cosignature.cosigned(note.extended(data, [wrong]), [key])


@pytest.mark.parametrize("private", [ED, ML], ids=["ed25519", "ml-dsa-44"])
def test_keys_of_witnesses_are_written_and_read_as_vkeys(private):
    key = cosignature.key_of(NAME, private)
    assert note.parse_vkey(str(key), cosignature.KINDS) == key
    with pytest.raises(BadNote):
        note.parse_vkey(str(key))
    short = note.VerifierKey(NAME, key.public[:-1], key.kind)
    with pytest.raises(BadNote):
        note.parse_vkey(str(short), cosignature.KINDS)


def test_a_witnesss_answer_is_lines_and_nothing_else():
    lines = [cosignature.make(BODY, NAME, private, AT) for private in (ED, ML)]
    answer = "".join(line.line() for line in lines).encode()
    assert cosignature.read_lines(answer) == tuple(lines)
    for bad in (b"", b"\n", answer[:-1], answer + b"\n", answer + b"x\n", b"\xff\n", b"ok\n", answer * 60):
        with pytest.raises(BadNote):
            cosignature.read_lines(bad)
