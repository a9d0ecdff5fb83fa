"""The evidence of an export: witnesses and a time-stamp authority are asked, and waited for a few seconds at most."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from agentstate.clock import now
from audit import globallog, rotation, sequencer, signer, timestamps, verify, witnesses
from audit.export import bundle
from audit.export import gather as gathering
from audit.export.gather import Installation, KeyGone, gather, policy
from audit.export.source import LedgerSource
from tests.core.tlog_world import said, unpack
from tests.shell.test_ledger import TENANT, new_log
from tests.shell.test_timestamps import CONFIG, authority, openssl
from tests.shell.test_witness import served

__all__ = ["authority", "served"]
pytestmark = pytest.mark.django_db


def exported(log: UUID, folder: Path) -> Path:
    out = io.BytesIO()
    bundle.write(log, LedgerSource(log), gather(log), Installation(), out, frozenset({"test.said"}))
    (folder / "bundle").write_bytes(out.getvalue())
    return folder / "bundle"


@pytest.fixture
def witnessed(served, settings) -> str:
    settings.WITNESSES = [served[0].vkey(), served[1]]
    return settings.WITNESSES[0]


def test_the_policy_of_a_bundle_names_the_witnesses_and_its_head_is_cosigned_by_one(witnessed, tmp_path):
    verdict = verify.verify(exported(new_log().log, tmp_path), policy())
    assert verdict.ok, said(verdict)
    assert verdict.log["witnesses"] == ["witness.example/w1"]


def test_a_head_that_is_cosigned_already_serves_as_long_as_it_covers_the_map(witnessed, tmp_path, monkeypatch):
    log = new_log().log
    first = gather(log).checkpoint
    sequencer.run_once(TENANT, extra=[b"one more"])
    monkeypatch.setattr(witnesses, "collect", None)  # nobody has to be asked
    assert gather(log).checkpoint == first


def test_a_witness_that_is_away_is_gone_without_after_a_few_seconds(witnessed, settings, tmp_path):
    settings.WITNESSES[1] = "http://127.0.0.1:9"
    bundled = exported(new_log().log, tmp_path)
    assert verify.verify(bundled, signer.vkey()).ok
    assert "the policy asks for" in said(verify.verify(bundled, policy()))


def test_a_bundle_holds_a_time_stamp_that_openssl_verifies_and_the_same_one_again(authority, tmp_path):
    log = new_log().log
    files = unpack(exported(log, tmp_path).read_bytes())
    for name in ("log/checkpoint", "log/checkpoint.tsr"):
        (authority.folder / Path(name).name).write_bytes(files[name])
    openssl(authority.folder, "ts", "-verify", "-data", "checkpoint", "-in", "checkpoint.tsr", "-CAfile", "root.pem")
    assert verify.verify(tmp_path / "bundle", signer.vkey()).timestamp
    assert unpack(exported(log, tmp_path).read_bytes()) == files


def test_the_time_stamp_of_a_bundle_is_refused_by_the_documented_commands_once_its_authority_is_revoked(
    authority, tmp_path
):
    folder = authority.folder
    for name, content in unpack(exported(new_log().log, tmp_path).read_bytes()).items():
        if name.startswith("log/checkpoint"):
            file = folder / "bundle" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    _, section = Path("docs/auditors.md").read_text().split("## 5. The time, by OpenSSL")
    verifying = re.search(r"^openssl ts -verify .*$", section, re.MULTILINE)[0]
    joining, trusting = re.search(r"`(cat [^`]+)`, and the same command with\s+`(-CAfile [^`]+)`", section).groups()
    command = f"{joining} && {verifying.replace('-CAfile root.pem', trusting)}"
    (folder / "c").write_text(f"{CONFIG}[ lists ]\ndatabase = index\ndefault_md = sha256\ndefault_crl_days = 1\n")
    (folder / "index").write_text("")
    ca = ("ca", "-config", "c", "-name", "lists", "-keyfile", "r.key", "-cert", "root.pem")
    verified = []
    for revoking in (False, True):
        if revoking:
            openssl(folder, *ca, "-revoke", "t.pem")
        openssl(folder, *ca, "-gencrl", "-out", "crl.pem")
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        verified.append((done.returncode == 0, "certificate revoked" in done.stderr))
    assert verified == [(True, False), (False, True)]


def test_an_authority_that_is_away_is_gone_without(authority, settings, tmp_path, caplog):
    settings.TIMESTAMP_URL = "http://127.0.0.1:9/"
    assert verify.verify(exported(new_log().log, tmp_path), signer.vkey()).ok
    assert "goes without a time stamp" in caplog.text


def test_after_a_new_log_key_exports_verify_under_the_first_one_and_while_the_next_is_only_announced(tmp_path):
    log, first = new_log().log, signer.vkey()
    sequencer.run_once(TENANT)
    rotation.rotate(TENANT)
    assert verify.verify(exported(log, tmp_path), first).ok
    sequencer.run_once(TENANT, extra=[signer.announce()])
    verdict = verify.verify(exported(log, tmp_path), first)
    assert verdict.ok, said(verdict)
    assert verdict.log["key"] == signer.vkey() != first


@pytest.fixture
def _first_key_kept(settings) -> Iterator[None]:
    """A key that retires is deleted, and all tests of a process share the signer's first."""
    key = Path(settings.STATE_DIR) / "secrets" / "log.key"
    kept = shutil.copy2(key, key.with_suffix(".kept"))
    yield
    Path(kept).replace(key)


@pytest.mark.usefixtures("_first_key_kept")
def test_an_export_begun_under_a_key_that_has_retired_ends_by_name(test_database, monkeypatch):
    log, first = new_log().log, signer.vkey()
    evidence = gather(log)
    rotation.rotate(TENANT)
    out = io.BytesIO()
    bundle.write(log, LedgerSource(log), evidence, Installation(first), out, frozenset({"test.said"}))  # both sign
    after = now() + timedelta(days=31)
    monkeypatch.setattr(test_database.signer.signer.keys, "_now", lambda: after)
    with pytest.raises(KeyGone):
        bundle.write(log, LedgerSource(log), evidence, Installation(first), out, frozenset({"test.said"}))


def test_a_receipt_is_made_by_the_key_that_signed_the_head_or_refused_by_name(monkeypatch):
    log = new_log().log
    before = gathering._anchor

    def rotated_after(*words):
        found = before(*words)
        monkeypatch.setattr(gathering, "_anchor", before)
        rotation.rotate(TENANT)
        return found

    monkeypatch.setattr(gathering, "_anchor", rotated_after)
    with pytest.raises(KeyGone):
        gather(log)
    assert gather(log).receipt


def test_stamps_are_looked_up_by_the_very_bytes(authority):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    head = globallog.signed_head(TENANT)
    assert timestamps.over(head) == timestamps.over(head) == timestamps.latest(TENANT)
