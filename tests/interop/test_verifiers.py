"""Programs that we did not write, unmodified, on what we export; and the same programs on tampered copies."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import subprocess
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate
from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response

from audit import monitor, verify
from audit.tlog import note, tiles
from audit.tlog.checkpoint import Checkpoint
from audit.tlog.proof import Proof
from audit.tlog.proof import parse as parse_proof
from audit.tlog.tree import consistency_proof, inclusion_proof, leaf_hash, root_of
from audit.witness import Witness
from tests.interop import tools

ran: set[str] = set()  # verifiers that said yes to the genuine and no to a tampered export


@dataclass(frozen=True)
class Exported:
    """A bundle, taken apart: its files, the folder they lie in, the log's key, and the entries. Around it: where the
    log is served, the witness (a vkey) and the time-stamp authority (its root certificate, None without openssl) that
    saw its head, the bundle's file, and the installation's policy.
    """

    files: dict[str, bytes]
    folder: Path
    key: verify.LogKey
    entries: list[bytes]
    url: str
    witness: str
    authority: Path | None
    bundle: Path
    policy: bytes

    def head(self, name: str) -> verify.Head:
        text, _ = verify.split_note(self.files[name])
        return verify._read_body(text)[1]


def needs(tool: Callable[[], Path]) -> Path:
    try:
        return tool()
    except tools.Absent as absent:
        pytest.skip(f"A VERIFIER IS ABSENT: {absent}")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def flipped(data: bytes, at: int = -10) -> bytes:
    copy = bytearray(data)
    copy[at] ^= 1
    return bytes(copy)


def with_another_root(head: bytes) -> bytes:
    return flipped(head, head.index(b"\n\n") - 10)


# --- Go: golang.org/x/mod/sumdb/{note,tlog}


def go_checks(exported: Exported, **changes: Any) -> list[dict[str, Any]]:
    """Everything that x/mod can say about a bundle."""
    proof, head = parse_proof(exported.files["log/head.tlog-proof"]), exported.head("log/checkpoint")
    session, leaves = exported.head("session/checkpoint"), [leaf_hash(entry) for entry in exported.entries]
    old = len(leaves) // 2
    vkey = exported.key.vkey
    record = {
        "Kind": "record",
        "Index": proof.index,
        "Size": head.size,
        "Root": b64(head.root),
        "Leaf": b64(proof.extra),
    }
    tree = {"Kind": "tree", "Old": old, "OldRoot": b64(root_of(leaves[:old])), "Size": len(leaves)}
    seen = {"Kind": "note", "VKey": vkey, "Note": b64(exported.files["log/checkpoint"]), "Witness": exported.witness}
    stored = {"Kind": "tiles", "Folder": str(exported.folder / "session"), "Size": session.size, "Index": old}
    return [
        {"Kind": "note", "VKey": vkey, "Note": b64(exported.files["log/checkpoint"])} | changes,
        {"Kind": "note", "VKey": vkey, "Note": b64(exported.files["session/checkpoint"])} | changes,
        record | {"Root": b64(head.root), "Path": [b64(value) for value in proof.hashes]} | changes,
        tree | {"Root": b64(session.root), "Path": [b64(value) for value in consistency_proof(old, leaves)]} | changes,
        stored | {"Root": b64(session.root), "Leaf": b64(exported.entries[old])} | changes,
        seen | changes,
        site_check(exported) | changes,
    ]


def site_check(exported: Exported) -> dict[str, Any]:
    """The same log read over HTTP: the session's head is in it, and it continues an older head."""
    proof, head = parse_proof(exported.files["log/head.tlog-proof"]), exported.head("log/checkpoint")
    leaves = [leaf_hash(leaf) for leaf in served_leaves(exported.url, head.size)]
    old = head.size // 2
    site = {"Kind": "site", "URL": exported.url, "Size": head.size, "Root": b64(head.root), "Leaf": b64(proof.extra)}
    return site | {"Index": proof.index, "Old": old, "OldRoot": b64(root_of(leaves[:old]))}


def served_leaves(url: str, size: int) -> list[bytes]:
    bundles = [
        (each, urllib.request.urlopen(f"{url}/{each.path}", timeout=60).read()) for each in tiles.grown_bundles(0, size)
    ]
    return [leaf for each, data in bundles for leaf in tiles.parse_bundle(data, each.width)]


def test_go_x_mod_accepts_notes_proofs_and_tiles_and_rejects_tampered_ones(exported):
    needs(tools.go_program)
    assert tools.ask_go(*go_checks(exported)) == ["ok"] * 7
    wrong = b64(with_another_root(exported.files["log/checkpoint"]))
    assert "ok" not in tools.ask_go(*go_checks(exported, Note=wrong, Root=b64(b"x" * 32)))
    assert "ok" not in tools.ask_go(
        *go_checks(exported, Note=wrong, Leaf=b64(b"another entry"), OldRoot=b64(b"x" * 32))
    )
    ran.add("golang.org/x/mod")


def test_our_witness_cosigns_heads_that_go_signed_and_go_verifies_that(tmp_path):
    needs(tools.go_program)
    private = Ed25519PrivateKey.generate()
    key = note.verifier_key("go.example/log", private)
    secret = b64(b"\x01" + private.private_bytes_raw())
    leaves = [leaf_hash(bytes([number])) for number in range(7)]
    witness = Witness(tmp_path / "witness", "witness.example/w2", [key])
    for old, size in ((0, 3), (3, 7)):
        text = Checkpoint(key.name, size, root_of(leaves[:size])).body()
        asked = {"Kind": "sign", "SKey": f"PRIVATE+KEY+{key.name}+{key.key_id.hex()}+{secret}", "Text": text}
        (signed,) = tools.ask_go(asked)
        proof = [b64(value) for value in consistency_proof(old, leaves[:size])] if old else []
        body = "\n".join([f"old {old}", *proof, "", ""]).encode() + base64.b64decode(signed)
        answer = witness.add_checkpoint(body)
        assert answer.status == 200, answer.body
        cosigned = base64.b64decode(signed) + answer.body.encode()
        seen = {"Kind": "note", "VKey": str(key), "Witness": witness.vkey()}
        wrong = cosigned.replace(f"\n{size}\n".encode(), b"\n9\n")
        said = tools.ask_go(seen | {"Note": b64(cosigned)}, seen | {"Note": b64(wrong)}, seen | {"Note": signed})
        assert [each == "ok" for each in said] == [True, False, False]


# --- tlog-scales


def scales(exported: Exported, index: int, folder: str = "session") -> dict[str, Any]:
    question = {"folder": str(exported.folder / folder), "vkey": exported.key.vkey, "index": index}
    return tools.ask_python("scales.py", question)


def test_tlog_scales_reads_the_session_as_a_tile_log_and_makes_our_proof_files_byte_for_byte(exported):
    needs(tools.python_packages)
    leaves = [leaf_hash(entry) for entry in exported.entries]
    for index in (0, len(leaves) // 2, len(leaves) - 1):
        said = scales(exported, index)
        assert said["ok"], said["why"]
        assert base64.b64decode(said["entry"]) == exported.entries[index]
        own = Proof(index, tuple(inclusion_proof(index, leaves)), exported.files["session/checkpoint"])
        assert said["proof"].encode() == own.write()
    ran.add("tlog-scales")


def test_tlog_scales_reads_the_public_log_over_http_and_proves_the_sessions_head_as_we_do(exported):
    needs(tools.python_packages)
    ours = parse_proof(exported.files["log/head.tlog-proof"])
    question = {"folder": exported.url, "vkey": exported.key.vkey, "witness": exported.witness, "index": ours.index}
    said = tools.ask_python("scales.py", question)
    assert said["ok"], said["why"]
    assert base64.b64decode(said["entry"]) == ours.extra
    assert said["proof"].encode() == Proof(ours.index, ours.hashes, ours.checkpoint).write()
    stranger = note.VerifierKey(
        "witness.example/w1", Ed25519PrivateKey.generate().public_key().public_bytes_raw(), b"\x04"
    )
    assert not tools.ask_python("scales.py", question | {"witness": str(stranger)})["ok"]


@pytest.mark.parametrize("name", ["checkpoint", "tile/0", "tile/entries"])
def test_tlog_scales_rejects_a_tampered_session(name, exported, tmp_path):
    needs(tools.python_packages)
    files = {
        path: flipped(data) if path.startswith(f"session/{name}") else data for path, data in exported.files.items()
    }
    tampered = dataclasses.replace(exported, files=files, folder=unpacked(files, tmp_path))
    last = len(exported.entries) - 1
    assert not all(scales(tampered, index)["ok"] for index in (last - 1, last))


def unpacked(files: dict[str, bytes], folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


# --- @sigstore/verify


def sigstore(exported: Exported, **changes: Any) -> dict[str, Any]:
    proof = parse_proof(exported.files["log/head.tlog-proof"])
    asked = {
        "name": exported.key.name,
        "id": b64(exported.key.key_id),
        "public": b64(exported.key.public),
        "note": b64(proof.checkpoint),
        "leaf": b64(proof.extra),
        "index": proof.index,
        "path": [b64(value) for value in proof.hashes],
    }
    return tools.ask_node("sigstore.js", asked | changes)


def test_sigstore_verify_accepts_the_signed_head_and_the_sessions_place_in_it(exported):
    needs(tools.sigstore)
    said = sigstore(exported)
    assert said["ok"], said["why"]
    assert not sigstore(exported, leaf=b64(b"another head"))["ok"]
    assert not sigstore(exported, note=b64(with_another_root(exported.files["log/checkpoint"])))["ok"]
    ran.add("@sigstore/verify")


# --- scitt-cose


def pem(exported: Exported) -> str:
    key = Ed25519PublicKey.from_public_bytes(exported.key.public)
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def test_scitt_cose_verifies_the_receipt_of_the_sessions_head(exported):
    needs(tools.python_packages)
    proof, receipt = parse_proof(exported.files["log/head.tlog-proof"]), exported.files["receipts/head.cbor"]
    question = {"receipt": b64(receipt), "entry": b64(proof.extra), "key": pem(exported)}
    said = tools.ask_python("scitt.py", question)
    assert said["ok"], said["why"]
    assert not tools.ask_python("scitt.py", question | {"entry": b64(b"another head")})["ok"]
    for at in (-1, -100, 30):
        assert not tools.ask_python("scitt.py", question | {"receipt": b64(flipped(receipt, at))})["ok"]
    ran.add("scitt-cose")


# --- time stamps: openssl ts, rfc3161-client


def stamped(exported: Exported) -> tuple[bytes, bytes, Path]:
    if exported.authority is None:
        pytest.skip("A VERIFIER IS ABSENT: openssl: none on the PATH, so there is no time-stamp authority to ask")
    return exported.files["log/checkpoint"], exported.files["log/checkpoint.tsr"], exported.authority


def test_openssl_ts_verifies_the_time_stamp_of_the_logs_head(exported, tmp_path):
    checkpoint, token, root = stamped(exported)
    (tmp_path / "checkpoint.tsr").write_bytes(token)
    for data, good in ((checkpoint, True), (flipped(checkpoint), False)):
        (tmp_path / "checkpoint").write_bytes(data)
        command = ["ts", "-verify", "-data", "checkpoint", "-in", "checkpoint.tsr", "-CAfile", str(root)]
        result = subprocess.run(
            [tools.openssl(), *command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert ("Verification: OK" in result.stdout, result.returncode == 0) == (good, good), result.stderr
    ran.add("openssl")


def test_rfc3161_client_verifies_it_too(exported):
    checkpoint, token, root = stamped(exported)
    verifier = VerifierBuilder().add_root_certificate(load_pem_x509_certificate(root.read_bytes())).build()
    assert verifier.verify_message(decode_timestamp_response(token), checkpoint)
    with pytest.raises(VerificationError):
        verifier.verify_message(decode_timestamp_response(token), flipped(checkpoint))
    ran.add("rfc3161-client")


# --- openssl


def openssl_says(exported: Exported, folder: Path, note: bytes) -> int:
    text, lines = verify.split_note(note)
    signature = base64.b64decode(lines[0].rpartition(" ")[2])[4:]
    (folder / "body").write_bytes(text.encode())
    (folder / "signature").write_bytes(signature)
    (folder / "key.der").write_bytes(bytes.fromhex("302a300506032b6570032100") + exported.key.public)
    command = f"pkeyutl -verify -pubin -inkey {folder}/key.der -keyform DER -rawin -in {folder}/body"
    command += f" -sigfile {folder}/signature"
    result = subprocess.run([tools.openssl(), *command.split()], capture_output=True, timeout=60, check=False)
    return result.returncode


def test_openssl_verifies_the_signatures_over_the_heads(exported, tmp_path):
    needs(tools.openssl)
    for name in ("log/checkpoint", "session/checkpoint", "manifest.note"):
        assert openssl_says(exported, tmp_path, exported.files[name]) == 0
        assert openssl_says(exported, tmp_path, exported.files[name].replace(b"\n", b" \n", 1)) != 0
    ran.add("openssl")


# --- our own, by the keys and policy that the installation tells


def test_our_own_verifier_and_monitor_agree_with_them(exported, tmp_path):
    verdict = verify.verify(exported.bundle, exported.policy)
    assert verdict.ok, verdict.failures
    assert verdict.log["witnesses"] == [note.parse_vkey(exported.witness, [b"\x04"]).name]
    (tmp_path / "policy").write_bytes(exported.policy)
    words = [exported.url, "--policy", str(tmp_path / "policy"), "--state", str(tmp_path / "seen"), "--once"]
    assert monitor.main([*words, "--held", str(exported.folder / "log" / "checkpoint")]) == 0


# --- how many there were


def test_at_least_five_verifiers_of_others_ran(capsys):
    with capsys.disabled():
        print(f"\nverifiers that we did not write, which accepted our exports: {len(ran)}: {json.dumps(sorted(ran))}")
    if os.environ.get("CI") == "true":
        assert len(ran) >= 5
