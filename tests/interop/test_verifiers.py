"""Programs that we did not write, unmodified, on what we export; and the same programs on tampered copies."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from audit import verify
from audit.tlog.proof import Proof
from audit.tlog.proof import parse as parse_proof
from audit.tlog.tree import consistency_proof, inclusion_proof, leaf_hash, root_of
from tests.interop import tools

ran: set[str] = set()  # verifiers that said yes to the genuine and no to a tampered export


@dataclass(frozen=True)
class Exported:
    """A bundle, taken apart: its files, the folder they lie in, the log's key, and the entries."""

    files: dict[str, bytes]
    folder: Path
    key: verify.LogKey
    entries: list[bytes]

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
    tiles = {"Kind": "tiles", "Folder": str(exported.folder / "session"), "Size": session.size, "Index": old}
    return [
        {"Kind": "note", "VKey": vkey, "Note": b64(exported.files["log/checkpoint"])} | changes,
        {"Kind": "note", "VKey": vkey, "Note": b64(exported.files["session/checkpoint"])} | changes,
        record | {"Root": b64(head.root), "Path": [b64(value) for value in proof.hashes]} | changes,
        tree | {"Root": b64(session.root), "Path": [b64(value) for value in consistency_proof(old, leaves)]} | changes,
        tiles | {"Root": b64(session.root), "Leaf": b64(exported.entries[old])} | changes,
    ]


def test_go_x_mod_accepts_notes_proofs_and_tiles_and_rejects_tampered_ones(exported):
    needs(tools.go_program)
    assert tools.ask_go(*go_checks(exported)) == ["ok"] * 5
    wrong = b64(flipped(exported.files["log/checkpoint"]))
    assert "ok" not in tools.ask_go(*go_checks(exported, Note=wrong, Root=b64(b"x" * 32)))
    assert "ok" not in tools.ask_go(
        *go_checks(exported, Note=wrong, Leaf=b64(b"another entry"), OldRoot=b64(b"x" * 32))
    )
    ran.add("golang.org/x/mod")


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


@pytest.mark.parametrize("name", ["checkpoint", "tile/0", "tile/entries"])
def test_tlog_scales_rejects_a_tampered_session(name, exported, tmp_path):
    needs(tools.python_packages)
    files = {
        path: flipped(data) if path.startswith(f"session/{name}") else data for path, data in exported.files.items()
    }
    tampered = Exported(files, unpacked(files, tmp_path), exported.key, exported.entries)
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
    assert not sigstore(exported, note=b64(flipped(exported.files["log/checkpoint"])))["ok"]
    ran.add("@sigstore/verify")


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


# --- how many there were


def test_at_least_five_verifiers_of_others_ran(capsys):
    with capsys.disabled():
        print(f"\nverifiers that we did not write, which accepted our exports: {len(ran)}: {json.dumps(sorted(ran))}")
    if os.environ.get("CI") == "true":
        assert len(ran) >= 5
