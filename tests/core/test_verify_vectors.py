"""The public vectors on what auditors run, verifier and monitor, each of which reads by itself."""

from __future__ import annotations

import base64
import json

import pytest

from audit import monitor, verify
from tests.core.tlog_world import shared

READERS = pytest.mark.parametrize("reader", [verify, monitor], ids=["verifier", "monitor"])


def test_the_inclusion_vectors_say_the_same_as_the_verifier():
    files = sorted(shared("rfc6962-inclusion").rglob("*.json"))
    assert len(files) == 98
    for file in files:
        case = json.loads(file.read_text())
        assert _included(case) is not case["wantErr"], (file, case["desc"])


def _included(case: dict) -> bool:
    """As `verify` reads a proof: hashes from base64, of 32 bytes each."""
    try:
        leaf, root, *path = (
            verify._hash(text or "") for text in (case["leafHash"], case["root"], *(case["proof"] or []))
        )
        return verify.root_of_proof(case["leafIdx"], case["treeSize"], leaf, path) == root
    except verify.Fault:
        return False


def _signs(reader, key, signature: bytes, text: str) -> bool:
    sign = reader._signed if reader is verify else reader.signed
    encoded = base64.b64encode(key.key_id + signature).decode()
    try:
        return sign(f"— x {encoded}", text, key) == 0
    except reader.Fault:
        return False


@READERS
def test_the_signature_vectors_hold_for_log_keys(reader):
    groups = json.loads((shared("wycheproof") / "ed25519_test.json").read_text())["testGroups"]
    make, checked = (verify.LogKey if reader is verify else monitor.Key), 0
    for group in groups:
        key = make("x", bytes.fromhex(group["publicKey"]["pk"]))
        assert reader.read_vkey(key.vkey) == key
        for case in group["tests"]:
            # Each message is signed as it is; notes are text, which is what UTF-8 can say.
            try:
                text = bytes.fromhex(case["msg"]).decode("utf-8")
            except UnicodeDecodeError:
                continue
            held = _signs(reader, key, bytes.fromhex(case["sig"]), text)
            assert held is (case["result"] == "valid"), case["comment"]
            checked += 1
    assert checked > 60


IN_PROFILE = {"arrays.json", "unicode.json"}


@pytest.mark.parametrize(
    "name", ["arrays.json", "french.json", "structures.json", "unicode.json", "values.json", "weird.json"]
)
def test_the_canonical_vectors_are_read_if_the_profile_has_room_for_them_and_only_in_canonical_bytes(name):
    folder = shared("rfc8785")
    given, wanted = (folder / "input" / name).read_bytes(), (folder / "output" / name).read_bytes().rstrip(b"\n")
    for data in (given, given + b" ", wanted + b"\n", b" " + wanted):
        with pytest.raises(verify.Fault):
            verify.canonical(data)
    try:
        assert verify.canonical(wanted) == json.loads(given)
    except verify.Fault:
        assert name not in IN_PROFILE
    else:
        assert name in IN_PROFILE | {"structures.json"}


@READERS
@pytest.mark.parametrize(
    "y",
    [
        *("00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f", "ed" + "ff" * 30 + "7f", "ee" + "ff" * 30 + "7f"),
        *(
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "00" * 31 + "80",
            "01" + "00" * 30 + "80",
        ),
        *("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "ff" * 32),
        *("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa", "ec" + "ff" * 31),
    ],
)
def test_keys_under_which_anybody_could_sign_are_refused(reader, y):
    make = verify.LogKey if reader is verify else monitor.Key
    for form in (1, 4):
        with pytest.raises(reader.Fault):
            reader.read_vkey(make("x", bytes.fromhex(y), form).vkey, form)
