"""Notes, keys and checkpoints: exact bytes or nothing, in both readings."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit import verify
from audit.tlog import checkpoint, note
from tests.core.tlog_world import SIGNER, STRANGER, VECTORS, shared

TEXT = "log.example/test\n5\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
NOTE = SIGNER.sign_text(TEXT)
KEY = note.parse_vkey(SIGNER.vkey())
OWN_KEY = verify.read_vkey(SIGNER.vkey())
CASES = json.loads((VECTORS / "notes.json").read_text())
ROOT = bytes(range(32))


def test_a_signed_note_opens_under_its_key_to_its_exact_text():
    assert note.open_note(NOTE, [KEY]) == TEXT
    assert verify.open_note(NOTE, OWN_KEY, alone=True) == TEXT


def test_every_byte_of_a_note_counts():
    for at in range(len(NOTE)):
        for bit in range(8):
            changed = NOTE[:at] + bytes([NOTE[at] ^ (1 << bit)]) + NOTE[at + 1 :]
            assert not _ours(changed), changed
            assert not _verifiers(changed), changed


def test_a_note_cut_off_anywhere_or_with_anything_behind_it_is_refused():
    for end in range(len(NOTE)):
        assert not _ours(NOTE[:end])
        assert not _verifiers(NOTE[:end])
    for more in (b"\n", b" ", b"\r\n", b"x", b"\xe2\x80\x94 x AAAAAAA=", b"\x00"):
        assert not _ours(NOTE + more)
        assert not _verifiers(NOTE + more)


@pytest.mark.parametrize("case", CASES["notes"], ids=[case["desc"] for case in CASES["notes"]])
def test_the_note_vectors_hold_in_both_readings(case):
    key = CASES["key"]
    data = case["note"].encode()
    assert _ours(data, note.parse_vkey(key)) is case["accept"]
    assert _verifiers(data, verify.read_vkey(key)) is case["accept"]


@pytest.mark.parametrize("case", CASES["vkeys"], ids=[case["desc"] for case in CASES["vkeys"]])
def test_the_key_vectors_hold_in_both_readings(case):
    if case["accept"]:
        assert str(note.parse_vkey(case["vkey"])) == verify.read_vkey(case["vkey"]).vkey == case["vkey"]
        return
    with pytest.raises(note.BadNote):
        note.parse_vkey(case["vkey"])
    with pytest.raises(verify.Fault):
        verify.read_vkey(case["vkey"])


def test_signatures_of_keys_we_do_not_know_are_passed_over_but_do_not_count():
    line = STRANGER.sign_text(TEXT).split(b"\n\n")[1]
    assert note.open_note(NOTE + line, [KEY]) == TEXT
    assert verify.open_note(NOTE + line, OWN_KEY, alone=False) == TEXT
    assert not _ours(STRANGER.sign_text(TEXT))
    with pytest.raises(verify.Fault, match="2 signatures"):
        verify.open_note(NOTE + line, OWN_KEY, alone=True)


def test_a_note_of_more_than_a_hundred_signatures_is_refused():
    line = NOTE.split(b"\n\n")[1]
    assert _ours(NOTE + line * 99)
    assert not _ours(NOTE + line * 100)
    with pytest.raises(verify.Fault, match="101 signatures"):
        verify.open_note(NOTE + line * 100, OWN_KEY, alone=False)


@pytest.mark.parametrize("text", ["", "no newline", "tab\t\n", "nul\x00\n", "return\r\n"])
def test_a_text_that_no_note_can_hold_is_not_signed(text):
    with pytest.raises(note.BadNote):
        note.sign(text, "name", SIGNER.key)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u2003b", "a\nb"])
def test_a_name_that_no_key_can_have_is_refused(name):
    with pytest.raises(note.BadNote):
        note.verifier_key(name, SIGNER.key)


def test_the_public_signature_vectors_hold_under_the_note_key_type():
    groups = json.loads((shared("wycheproof") / "ed25519_test.json").read_text())["testGroups"]
    checked = 0
    for group in groups:
        key = note.VerifierKey("x", bytes.fromhex(group["publicKey"]["pk"]))
        for case in group["tests"]:
            try:
                text = bytes.fromhex(case["msg"]).decode("utf-8")
            except UnicodeDecodeError:
                continue
            line = note.Signature("x", key.key_id, bytes.fromhex(case["sig"]))
            assert _holds(key, line, text) is (case["result"] == "valid"), case["comment"]
            checked += 1
    assert checked > 60


@pytest.mark.parametrize("size", [0, 1, 9, 10, 2**53])
def test_a_checkpoint_reads_back_as_it_was_written(size):
    head = checkpoint.Checkpoint("log.example/s/1", size, ROOT)
    assert checkpoint.parse(head.body()) == head
    assert verify.read_log_head(head.body(), head.origin) == verify.Head("", size, ROOT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "o\n1\n",
        "\n1\n{root}\n",
        "o\n01\n{root}\n",
        "o\n+1\n{root}\n",
        "o\n-1\n{root}\n",
        "o\n1_0\n{root}\n",
        "o\n 1\n{root}\n",
        "o\n\u0661\n{root}\n",
        "o\n1\n{root}",
        "o\n1\n{root}\n\n",
        "o\n1\n{root}\nextension\n",
        "o\r\n1\r\n{root}\r\n",
        "o\n1\u2028{root}\n",
        "o\n1\n{short}\n",
        "o\n1\n{bits}\n",
        "o\n99999999999999999999\n{root}\n",
    ],
)
def test_a_checkpoint_in_any_other_form_is_refused(text):
    root = base64.b64encode(ROOT).decode()
    body = text.format(root=root, short=base64.b64encode(ROOT[:31]).decode(), bits=root[:-2] + "9=")
    with pytest.raises(checkpoint.BadCheckpoint):
        checkpoint.parse(body)
    with pytest.raises(verify.Fault):
        verify.read_log_head(body, "o")


def test_a_fresh_key_signs_what_its_vkey_opens():
    private = Ed25519PrivateKey.generate()
    key = note.parse_vkey(str(note.verifier_key("fresh.example", private)))
    assert note.open_note(note.sign("one line\n", "fresh.example", private), [key]) == "one line\n"


def _ours(data: bytes, key: note.VerifierKey = KEY) -> bool:
    try:
        note.open_note(data, [key])
    except note.BadNote:
        return False
    return True


def _verifiers(data: bytes, key: verify.LogKey = OWN_KEY) -> bool:
    try:
        verify.open_note(data, key, alone=False)
    except verify.Fault:
        return False
    return True


def _holds(key: note.VerifierKey, line: note.Signature, text: str) -> bool:
    try:
        note.verify(key, line, text)
    except note.BadNote:
        return False
    return True
