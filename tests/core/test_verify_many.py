"""An export of many sessions: all of it holds, and each thing that is wrong with it is said, with the session."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import resource
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from audit import verify
from audit.export import bundle
from tests.core.tlog_world import SIGNER, STRANGER, GlobalLog, MemoryLedger, chatter, check, pack, plain, said, unpack

SESSIONS = [UUID(f"018f0000-0000-7000-8000-00000000010{number}") for number in range(3)]
ROOT = Path(__file__).parents[2]


def ledgers() -> list[MemoryLedger]:
    return [chatter(3 + number, log=session) for number, session in enumerate(SESSIONS)]


def many(sessions: list[MemoryLedger] | None = None, signer=SIGNER) -> dict[str, bytes]:
    """The files of an export of these sessions, under one head."""
    sessions = ledgers() if sessions is None else sessions
    log = GlobalLog(signer)
    heads = [log.add_head(each.log, each.honest) for each in sessions]
    at, files = log.add_map(), {}
    for each, head in zip(sessions, heads, strict=True):
        out = io.BytesIO()
        bundle.write(each.log, each, log.evidence(each.log, head, at), signer, out)
        files[f"sessions/{each.log}.zip"] = out.getvalue()
    rows = [{"session": str(each.log), "entries": len(each.honest)} for each in sessions]
    files["sessions.jsonl"] = b"".join(plain(row) + b"\n" for row in rows)
    files |= {"sessions.csv": b"session\r\n", "README.txt": b"", "policy": log.policy()}
    return signed(files | {"log/checkpoint": log.checkpoint()}, signer)


def signed(files: dict[str, bytes], signer=SIGNER, **changes) -> dict[str, bytes]:
    """The files with a manifest that fits them: what somebody with a log key can always do."""
    rest = {name: data for name, data in files.items() if not name.startswith("manifest.")}
    rows = [json.loads(line) for line in rest["sessions.jsonl"].splitlines()]
    facts = {
        "entries": sum(row.get("entries") or 0 for row in rows),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in rest.items()},
        "format": verify.EXPORTS_FORMAT,
        "sessions": len(rows),
    } | changes
    manifest = plain(facts)
    digest = base64.b64encode(hashlib.sha256(manifest).digest()).decode()
    text = f"{verify.EXPORTS_TITLE}\n{signer.origin}\n{digest}\n"
    return rest | {"manifest.json": manifest, "manifest.note": signer.sign_text(text)}


def rows_of(files: dict[str, bytes]) -> list[dict]:
    return [json.loads(line) for line in files["sessions.jsonl"].splitlines()]


def with_rows(files: dict[str, bytes], rows: list[dict]) -> dict[str, bytes]:
    return signed(files | {"sessions.jsonl": b"".join(plain(row) + b"\n" for row in rows)})


def test_many_sessions_under_one_head_hold(tmp_path):
    verdict = check(pack(many()), tmp_path)
    assert verdict.ok, said(verdict)
    assert (verdict.sessions, verdict.counts["entries"], verdict.counts["disclosed"]) == (3, 12, 12)
    assert verdict.as_json()["sessions"] == 3
    assert "Sessions 3" in list(verify.in_words(verdict))


def test_a_session_that_was_erased_since_is_in_the_list_and_has_no_bundle(tmp_path):
    files = many()
    del files[f"sessions/{SESSIONS[1]}.zip"]
    rows = rows_of(files)
    rows[1] = {"session": str(SESSIONS[1]), "status": "erased"}
    verdict = check(pack(with_rows(files, rows)), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["entries"] == 8


def test_where_all_are_erased_the_head_is_still_checked(tmp_path):
    files = {name: data for name, data in many().items() if not name.startswith("sessions/")}
    gone = with_rows(files, [{"session": str(session), "status": "erased"} for session in SESSIONS])
    assert check(pack(gone), tmp_path).ok
    forged = signed(gone | {"log/checkpoint": many(signer=STRANGER)["log/checkpoint"]})
    assert not check(pack(forged), tmp_path).ok


def altered_bundle(files: dict[str, bytes]) -> dict[str, bytes]:
    name = f"sessions/{SESSIONS[0]}.zip"
    inner = unpack(files[name])
    inner["session/tile/entries/000.p/3"] = inner["session/tile/entries/000.p/3"].replace(b"system", b"user:x")
    return signed(files | {name: pack(inner)})


def other_head(files: dict[str, bytes]) -> dict[str, bytes]:
    name = f"sessions/{SESSIONS[0]}.zip"
    return signed(files | {name: many(ledgers()[:1])[name]})


def swapped(files: dict[str, bytes]) -> dict[str, bytes]:
    one, two = (f"sessions/{session}.zip" for session in SESSIONS[:2])
    return signed(files | {one: files[two], two: files[one]})


WRONG = {
    "a bundle altered": altered_bundle,
    "a bundle under another head": other_head,
    "two bundles swapped": swapped,
    "a bundle left out": lambda files: signed({n: d for n, d in files.items() if str(SESSIONS[2]) not in n}),
    "a row left out": lambda files: with_rows(files, rows_of(files)[:2]),
    "a row twice": lambda files: with_rows(files, [*rows_of(files), rows_of(files)[0]]),
    "a row that is erased and a bundle": lambda files: with_rows(
        files, [*rows_of(files)[:2], {"session": str(SESSIONS[2]), "status": "erased"}]
    ),
    "a row with another number of entries": lambda files: with_rows(
        files, [rows_of(files)[0] | {"entries": 4}, *rows_of(files)[1:]]
    ),
    "a row without a number of entries": lambda files: with_rows(files, [{"session": str(SESSIONS[0])}]),
    "a row that is no object": lambda files: files | {"sessions.jsonl": b"[]\n"},
    "a list that ends inside a line": lambda files: files | {"sessions.jsonl": files["sessions.jsonl"][:-1]},
    "an empty list": lambda files: files | {"sessions.jsonl": b""},
    "a list with a name twice": lambda files: files | {"sessions.jsonl": b'{"session":1,"session":2}\n'},
    "a manifest of another count": lambda files: signed(files, sessions=2),
    "a manifest of another format": lambda files: signed(files, format=verify.FORMAT),
    "a manifest by a stranger": lambda files: signed(files, STRANGER),
    "a file too many": lambda files: signed(files | {"sessions/extra.txt": b""}),
    "a file altered after it was signed": lambda files: files | {"sessions.csv": b"=1"},
    "no checkpoint": lambda files: {name: data for name, data in files.items() if name != "log/checkpoint"},
    "no note": lambda files: {name: data for name, data in files.items() if name != "manifest.note"},
    "a bundle that is no archive": lambda files: signed(files | {f"sessions/{SESSIONS[0]}.zip": b"PK"}),
    "a bundle that is empty": lambda files: signed(files | {f"sessions/{SESSIONS[0]}.zip": b""}),
    "an export inside of the export": lambda files: signed(files | {f"sessions/{SESSIONS[0]}.zip": pack(files)}),
    "a bundle whose directory is cut": lambda files: signed(
        files | {f"sessions/{SESSIONS[0]}.zip": files[f"sessions/{SESSIONS[0]}.zip"][:-30]}
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_found(wrong, tmp_path):
    verdict = check(pack(WRONG[wrong](many())), tmp_path)
    assert not verdict.ok
    assert verdict.counts["failures"]
    assert "cannot be checked" not in said(verdict)


def test_a_failure_names_the_session_and_the_entry(tmp_path):
    verdict = check(pack(altered_bundle(many())), tmp_path)
    (first, *_) = [failure for failure in verdict.failures if failure.entry is not None]
    assert first.message.startswith(f"session {SESSIONS[0]}: ")
    assert first.entry == 0


def test_another_key_than_the_auditors_is_not_accepted(tmp_path):
    assert not check(pack(many(signer=STRANGER)), tmp_path).ok


@pytest.mark.parametrize("demand", [{"session": str(SESSIONS[0])}, {"min_size": 99}])
def test_demands_hold_for_the_whole(demand, tmp_path):
    assert not check(pack(many()), tmp_path, demand=verify.Demand(**demand)).ok


def test_a_byte_flipped_anywhere_is_found(tmp_path):
    data = pack(many(ledgers()[:1]))
    for at in range(0, len(data), 211):
        flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert not check(flipped, tmp_path).ok, at


def test_a_million_sessions_that_are_only_claimed_end_in_a_verdict_and_bounded_memory(tmp_path):
    row = b'{"session":"%08x-0000-7000-8000-000000000000","entries":4194304}\n'
    files = {"sessions.jsonl": b"".join(row % number for number in range(300_000)), "log/checkpoint": b"x\n"}
    path = tmp_path / "many.zip"
    path.write_bytes(pack(files))
    command = [sys.executable, str(ROOT / "audit" / "verify.py"), str(path), "--key", SIGNER.vkey(), "--json"]
    limit = (600 * 2**20, 600 * 2**20)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    assert done.returncode == 1, done.stderr
    assert not json.loads(done.stdout)["ok"]
