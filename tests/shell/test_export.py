"""`manage.py export` and the verifier on real sessions, and on what a database superuser made of them."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from audit import access, keys, ledger, sequencer, verify
from audit.export import bundle
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AccessLine
from tests import cast
from tests.shell.bank_world import work
from tests.shell.test_first_transfer import asks_for_a_transfer, pending

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def transfer(bank) -> UUID:
    """A session in which a supervisor edited a transfer, and it was made; of little, since one account pays for all."""
    session = asks_for_a_transfer()
    line = pending(session)
    edited = {**line.arguments, "amount": {"minor": 137, "currency": "USD"}}
    approvals_commands.decide(
        cast.alice(), line.id, approvals_commands.Decision("edit", reason="Amount misheard", arguments=edited)
    )
    work()
    return session


@pytest.fixture
def tampering(test_database):
    """SQL as the superuser, past triggers and grants, after all heads were signed: before that the signer refuses."""
    signed = list[bool]()

    @contextmanager
    def connected():
        with test_database.administrator(settings.DATABASES["default"]["NAME"]) as connection:
            connection.execute("SET session_replication_role = replica")
            yield connection

    def run(sql: str, *values: object) -> None:
        if not signed:
            sequencer.run_once(cast.tenant().pk, with_map=True)
            signed.append(True)
        with connected() as connection:
            assert connection.execute(sql, values).rowcount == 1
        keys.forget_all()

    return run


def export(session: UUID, folder: Path, *options: str) -> Path:
    out = folder / f"{uuid4()}.zip"
    call_command("export", str(session), "--out", str(out), *options)
    return out


def check(session: UUID, folder: Path) -> verify.Verdict:
    out = export(session, folder)
    return verify.verify(out, out.with_name(f"{out.name}.vkey").read_text().strip(), log=str(session))


def named(verdict: verify.Verdict) -> set[int]:
    return {failure.entry for failure in verdict.failures if failure.entry is not None}


def kind_of(session: UUID, seq: int) -> str:
    return ledger.parse_envelope(next(ledger.read_rows(session, seq)).envelope).kind


def test_a_real_session_verifies_in_a_process_without_django_or_database(transfer, tmp_path):
    out = export(transfer, tmp_path, "--unmask", "a test")
    key = out.with_name(f"{out.name}.vkey")
    command = [sys.executable, str(ROOT / "audit" / "verify.py"), str(out), "--key", str(key), "--json"]
    result = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": ""}, cwd=tmp_path, timeout=60, check=False
    )
    verdict = json.loads(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert verdict["counts"]["disclosed"] == ledger.read_head(transfer).size
    assert verdict["head"]["root"] == ledger.read_head(transfer).root.hex()


def test_the_edited_transfer_stands_in_the_verified_export(transfer, tmp_path):
    with zipfile.ZipFile(export(transfer, tmp_path, "--unmask", "a test")) as archive:
        report = archive.read("report.json").decode()
    assert '"minor": 137' in report
    assert "Amount misheard" in report


def test_personal_values_are_masked_unless_somebody_says_why_not(transfer, tmp_path):
    out = export(transfer, tmp_path)
    with zipfile.ZipFile(out) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    verdict = verify.verify(out, out.with_name(f"{out.name}.vkey").read_text().strip())
    assert verdict.ok, verdict.failures
    assert verdict.counts["partly"] > verdict.counts["disclosed"]
    assert not any(b"Amount misheard" in data or b"that is right" in data for data in files.values())
    assert b'"minor": 137' in files["report.json"]
    assert b"transfer" in files["entries.csv"]


def test_unmasking_by_command_without_a_reason_is_refused(transfer, tmp_path):
    with pytest.raises(CommandError, match="why values have to be shown"):
        export(transfer, tmp_path, "--unmask", " ")


def test_a_download_is_masked_and_unmasking_asks_for_reason_and_permission_and_is_recorded(transfer):
    alice, vera = cast.alice(), cast.vera()
    address = f"/sessions/{transfer}/export/"
    masked = b"".join(cast.browser(alice).post(address).streaming_content)
    assert b"Amount misheard" not in masked
    assert cast.browser(alice).post(address, {"unmask": "on", "reason": ""}).status_code == 400
    shown = b"".join(cast.browser(alice).post(address, {"unmask": "on", "reason": "Case 12"}).streaming_content)
    assert b"Amount misheard" in shown
    facts = read_facts(alice)
    assert [read.get("reason") for read in facts if read["what"] == "export unmasked"] == ["Case 12"]
    assert sum(read["what"] == "export" for read in facts) == 2
    assert cast.browser(vera).post(address, {"unmask": "on", "reason": "x"}).status_code == 403


def read_facts(user) -> list[dict]:
    """What stands in a reader's access log, read by read."""
    places = list(AccessLine.objects.filter(reader=user.actor).values_list("log", "seq"))
    return [read for facts in access.opened(places).values() for read in facts.get("reads", ())]


def test_two_exports_of_one_head_are_the_same_bytes(transfer, tmp_path):
    assert export(transfer, tmp_path).read_bytes() == export(transfer, tmp_path).read_bytes()


def test_a_session_that_goes_on_is_exported_again_under_its_larger_head(transfer, tmp_path):
    before = check(transfer, tmp_path)
    conversation_commands.end(cast.cleo(), transfer, "done")
    after = check(transfer, tmp_path)
    assert before.ok
    assert after.ok
    assert after.head["size"] > before.head["size"]


def test_withheld_kinds_stay_sealed(transfer, tmp_path):
    out = export(transfer, tmp_path, "--withhold", "message.added")
    verdict = verify.verify(out, out.with_name(f"{out.name}.vkey").read_text().strip())
    assert verdict.ok, verdict.failures
    assert verdict.counts["withheld"] > 0
    assert b"Yes, that is right" not in out.read_bytes()


def test_a_file_that_exists_is_replaced_only_when_told_so(transfer, tmp_path):
    out = tmp_path / "there.zip"
    out.write_text("mine")
    with pytest.raises(CommandError, match="--force"):
        call_command("export", str(transfer), "--out", str(out))
    assert out.read_text() == "mine"
    call_command("export", str(transfer), "--out", str(out), "--force")
    assert zipfile.is_zipfile(out)


def test_a_session_that_does_not_exist_is_refused_in_one_line_and_leaves_no_file(transfer, tmp_path):
    with pytest.raises(CommandError, match="no such log") as refused:
        export(uuid4(), tmp_path)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_refused_in_one_line(transfer, tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        export(transfer, tmp_path / "nowhere")


def test_an_export_is_recorded_before_its_first_byte(transfer, tmp_path, monkeypatch):
    recorded = []
    monkeypatch.setattr(
        "sessions.management.commands.export.record_export", lambda log, by, why: recorded.append((log, by, why))
    )
    monkeypatch.setattr(bundle, "write", lambda *_, **__: recorded.append("written") or bundle.Summary(0, ""))
    export(transfer, tmp_path)
    assert recorded == [(transfer, "system", ""), "written"]


FLIP = "set_byte({0}, {1}, get_byte({0}, {1}) # 1)"


@pytest.mark.parametrize(("table", "column"), [("audit_entry", "envelope"), ("audit_payload", "ciphertext")])
def test_a_byte_changed_by_a_superuser_anywhere_in_an_entry_names_it(table, column, transfer, tampering, tmp_path):
    row = next(ledger.read_rows(transfer, 3))
    for at in range(0, len(getattr(row, column)), 7):
        flip = f"UPDATE {table} SET {column} = {FLIP.format(column, at)} WHERE log = %s AND seq = 3"
        tampering(flip, transfer)
        verdict = check(transfer, tmp_path)
        assert named(verdict) == {3}, (at, verdict.failures)
        tampering(flip, transfer)
    assert check(transfer, tmp_path).ok


def test_the_kind_of_an_altered_entry_is_named_too(transfer, tampering, tmp_path):
    kind = kind_of(transfer, 5)
    tampering(
        f"UPDATE audit_payload SET ciphertext = {FLIP.format('ciphertext', 7)} WHERE log = %s AND seq = 5", transfer
    )
    verdict = check(transfer, tmp_path)
    assert [(failure.entry, failure.kind) for failure in verdict.failures] == [(5, kind)]


@pytest.mark.parametrize("table", ["audit_entry", "audit_payload"])
@pytest.mark.parametrize("change", ["seq = 261", "log = gen_random_uuid()"])
def test_a_row_moved_elsewhere_by_a_superuser_names_the_entry(table, change, transfer, tampering, tmp_path):
    tampering(f"UPDATE {table} SET {change} WHERE log = %s AND seq = 5", transfer)
    verdict = check(transfer, tmp_path)
    assert 5 in named(verdict), verdict.failures
    assert named(verdict) <= {5, ledger.read_head(transfer).size}


@pytest.mark.parametrize("table", ["audit_entry", "audit_payload"])
def test_a_row_deleted_by_a_superuser_names_the_entry(table, transfer, tampering, tmp_path):
    tampering(f"DELETE FROM {table} WHERE log = %s AND seq = 5", transfer)
    verdict = check(transfer, tmp_path)
    assert named(verdict) == {5}
    assert "missing" in verdict.failures[0].message or "no entry records that" in verdict.failures[0].message


@pytest.mark.parametrize(
    "change", [f"wrapped = {FLIP.format('wrapped', 20)}", "kid = gen_random_uuid()", "wrapped = NULL"]
)
def test_a_subject_key_changed_by_a_superuser_names_every_entry_under_it(change, transfer, tampering, tmp_path):
    kid = ledger.parse_envelope(next(ledger.read_rows(transfer)).envelope).kid
    tampering(f"UPDATE audit_subjectkey SET {change} WHERE kid = %s", kid)
    verdict = check(transfer, tmp_path)
    assert named(verdict) == set(range(ledger.read_head(transfer).size))


def test_a_frontier_changed_by_a_superuser_is_refused(transfer, tampering, tmp_path):
    tampering(f"UPDATE audit_head SET frontier = {FLIP.format('frontier', 0)} WHERE log = %s", transfer)
    with pytest.raises(CommandError, match=r"altered in the database\. The entries do not lead"):
        export(transfer, tmp_path)


def test_a_size_changed_by_a_superuser_is_refused_or_shows(transfer, tampering, tmp_path):
    tampering("UPDATE audit_head SET size = size # 1 WHERE log = %s", transfer)
    with pytest.raises(CommandError, match="head row of this log was altered"):
        export(transfer, tmp_path)


def test_a_warning_is_printed_when_the_ledger_was_altered(transfer, tampering, tmp_path, capsys):
    tampering("DELETE FROM audit_entry WHERE log = %s AND seq = 5", transfer)
    export(transfer, tmp_path)
    warnings = capsys.readouterr().err
    assert "Entries that are missing: 5." in warnings
    assert "the ledger was altered" in warnings


def test_a_ledger_cut_off_after_an_export_is_refused_at_the_next_in_so_many_words(transfer, tampering, tmp_path):
    before = ledger.read_head(transfer)
    conversation_commands.end(cast.cleo(), transfer, "done")
    export(transfer, tmp_path)
    tampering("UPDATE audit_head SET size = %s, frontier = %s WHERE log = %s", before.size, before.frontier, transfer)
    with pytest.raises(CommandError, match=f"restored from a backup. Got {before.size} entries; signed"):
        export(transfer, tmp_path)


def test_a_bundle_forged_with_another_key_fails_under_the_installations_own(transfer, tmp_path):
    from audit.export.source import LedgerSource
    from tests.core.tlog_world import STRANGER, MemoryLedger, in_a_log

    genuine = export(transfer, tmp_path)
    forged = tmp_path / "forged.zip"
    with forged.open("wb") as file:
        evidence = in_a_log(
            MemoryLedger(log=transfer, honest=[row.envelope for row in ledger.read_rows(transfer)]), STRANGER
        )
        bundle.write(transfer, LedgerSource(transfer), evidence, STRANGER, file)
    assert verify.verify(forged, STRANGER.vkey()).ok
    assert not verify.verify(forged, genuine.with_name(f"{genuine.name}.vkey").read_text().strip()).ok
