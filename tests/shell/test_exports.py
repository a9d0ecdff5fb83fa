"""Exports of many sessions: chosen, built by workers that may be killed, kept sealed, handed out, verified."""

from __future__ import annotations

import csv
import io
import os
import signal
import zipfile
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from audit import keys, ledger, signer, verify
from audit.keys.encryption import provider
from audit.models import SubjectKey
from sessions.exports import archive as packing
from sessions.exports import builder, selection, storage
from sessions.models.sessions import AccessLine, Export, ExportBlock, ExportPart
from sessions.privacy import commands as erasure_commands
from sessions.privacy import erasure as erasing
from sessions.privacy.stores import STORES
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import opened, say
from tests.shell.test_export import read_facts

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
MARKER = "Zebrafinch"


@pytest.fixture
def four() -> list[UUID]:
    """Four sessions of four customers, oldest first, each with something personal said in it."""
    made = [opened(f"C-10{number}") for number in range(4)]
    for session in made:
        say(session, f"My name is {MARKER}.")
    return made


def asked(user=None, unmask: bool = False, **wanted) -> Export:
    user = user or cast.alice()
    found = selection.filtered(user.tenant_id, **wanted)
    return selection.ask(user, found, unmask=unmask, reason="Case 12" if unmask else "")


def built(user=None, **wanted) -> Export:
    made = asked(user, **wanted)
    while builder.build_due():
        pass
    made.refresh_from_db()
    assert made.state == Export.State.DONE, made.problem
    return made


def packed(export: Export) -> bytes:
    size, parts = packing.pack(export)
    data = b"".join(parts)
    assert len(data) == size
    return data


def check(data: bytes, folder: Path) -> verify.Verdict:
    out = folder / f"{uuid4()}.zip"
    out.write_bytes(data)
    return verify.verify(out, signer.vkey())


def files_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files_of(data)["sessions.csv"].decode("utf-8-sig"), newline="")))


def test_an_export_of_several_sessions_verifies_as_a_whole_under_one_head(four, tmp_path):
    data = packed(built())
    verdict = check(data, tmp_path)
    assert verdict.ok, verdict.failures
    assert verdict.sessions == 4
    assert verdict.counts["entries"] == sum(ledger.read_head(session).size for session in four)
    assert [row["session"] for row in table(data)] == [str(session) for session in four]
    heads = {files_of(content)["log/checkpoint"] for name, content in files_of(data).items() if name.endswith(".zip")}
    assert heads == {files_of(data)["log/checkpoint"]}


def test_each_bundle_in_it_verifies_by_itself(four, tmp_path):
    content = files_of(packed(built()))[f"sessions/{four[2]}.zip"]
    out = tmp_path / "one.zip"
    out.write_bytes(content)
    assert verify.verify(out, signer.vkey(), log=str(four[2])).ok


def test_nothing_personal_is_in_a_masked_export(four):
    files = files_of(packed(built()))
    inner = [content for data in files.values() if data[:2] == b"PK" for content in files_of(data).values()]
    assert not any(MARKER.encode() in content for content in (*files.values(), *inner))
    assert b"C-10" not in files["sessions.csv"]


def test_an_unmasked_export_shows_it_and_its_reason_is_on_record(four):
    data = files_of(packed(built(unmask=True)))
    assert any(MARKER.encode() in files_of(content)["entries.csv"] for name, content in data.items() if "zip" in name)
    assert b"C-102" in data["sessions.csv"]
    reads = read_facts(cast.alice())
    assert [read["reason"] for read in reads if read["what"] == "export unmasked"] == ["Case 12"]


def test_what_is_kept_is_sealed(four):
    built(unmask=True)
    assert ExportBlock.objects.exists()
    kept = [bytes(block.data) for block in ExportBlock.objects.all()]
    rows = [bytes(part.row) for part in ExportPart.objects.all()]
    assert not any(MARKER.encode() in data or data[:2] == b"PK" for data in (*kept, *rows))


def test_the_same_export_is_handed_out_as_the_same_bytes_and_built_as_the_same_bytes(four):
    first = built()
    second = Export.objects.get(pk=asked().pk)
    again = Export.objects.get(pk=first.pk)
    assert packed(first) == packed(again)
    while builder.build_due():
        pass
    second.refresh_from_db()
    ours, theirs = files_of(packed(first)), files_of(packed(second))
    same = "report.pdf", "report.html", "entries.csv", "session/checkpoint", "session/disclosures/000.p/"
    for session in four:
        one, other = (files_of(files[f"sessions/{session}.zip"]) for files in (ours, theirs))
        assert all(one[name] == other[name] for name in one if name.startswith(same))
    assert ours["sessions.csv"] == theirs["sessions.csv"]


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({"customer": "C-101"}, [1]),
        ({"agent": "bank"}, [0, 1, 2, 3]),
        ({"status": "idle"}, [0, 1, 2, 3]),
        ({"opened_from": "of 2"}, [2, 3]),
        ({"opened_to": "of 2"}, [0, 1]),
        ({"team": "retail"}, [0, 1, 2, 3]),
    ],
)
def test_a_filter_chooses(four, wanted, fits):
    from sessions.models.sessions import AgentSession

    at = AgentSession.objects.get(pk=four[2]).opened_at
    stand_for = {"of 2": at, "retail": cast.retail().pk}
    wanted = {name: stand_for.get(value, value) for name, value in wanted.items()}
    made = asked(**wanted)
    chosen = ExportPart.objects.filter(export=made.pk).order_by("position").values_list("session", flat=True)
    assert list(chosen) == [four[number] for number in fits]


@pytest.mark.parametrize("wanted", [{"agent": "nobody"}, {"customer": "C-nobody"}, {"status": "asleep"}])
def test_a_filter_that_fits_nothing_is_refused(four, wanted):
    with pytest.raises(Invalid):
        asked(**wanted)
    assert not Export.objects.exists()


def test_who_may_not_export_asks_in_vain_and_who_may_not_unmask_gets_it_masked_only(four):
    with pytest.raises(PermissionDenied):
        asked(cast.vera())
    with pytest.raises(PermissionDenied):
        selection.asked_for(cast.vera())
    assert not AccessLine.objects.filter(reader=cast.vera().actor, kind="access.exported").exists()


def test_who_lost_the_permission_since_is_not_handed_what_was_built(four):
    made, alice = built(), cast.alice()
    alice.memberships.all().delete()
    with pytest.raises(PermissionDenied):
        packing.download(alice, made.pk)


def test_an_export_is_its_askers_alone(four):
    made = built()
    for call in (packing.download, selection.cancel, selection.own):
        with pytest.raises(selection.UnknownExport):
            call(cast.bob(), made.pk)


def test_asking_and_handing_out_name_every_session_in_the_access_log(four):
    made = built()
    _, parts = packing.download(cast.alice(), made.pk)
    assert b"".join(parts)
    lines = AccessLine.objects.filter(reader=cast.alice().actor, kind="access.exported")
    assert lines.count() == 2
    assert all(set(line.about) == set(four) for line in lines)


def test_a_session_that_went_on_meanwhile_is_exported_as_it_was_chosen(four, tmp_path):
    made = asked()
    fence = builder.claim()[1]
    anchor = builder._anchor(made.pk, fence)
    sizes = [ledger.read_head(session).size for session in four]
    say(four[1], "And one thing more.")
    while builder._next(made.pk, fence, anchor):
        pass
    storage.finish(made.pk, fence)
    verdict = check(packed(Export.objects.get(pk=made.pk)), tmp_path)
    assert verdict.ok, verdict.failures
    assert verdict.counts["entries"] == sum(sizes)


def build_and_be_killed(point: str) -> int:
    """The exit status of a process that is killed at that point while it builds."""
    connections.close_all()
    if (pid := os.fork()) == 0:
        os.environ["CRASH_AT"] = point
        try:
            builder.build_due()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_who_is_killed_between_two_bundles_is_replaced_by_one_who_goes_on(four, tmp_path):
    made = asked()
    assert build_and_be_killed("after_export_part:1") == -signal.SIGKILL
    made.refresh_from_db()
    assert (made.state, made.built) == (Export.State.BUILDING, 2)
    before = {part.position: bytes(part.sha256) for part in ExportPart.objects.filter(state=ExportPart.State.BUILT)}
    assert builder.build_due() == 0  # the lease of the dead still runs
    Export.objects.update(lease_until=now() - timedelta(seconds=1))
    assert builder.build_due() == 2
    made.refresh_from_db()
    assert made.state == Export.State.DONE
    after = {part.position: bytes(part.sha256) for part in ExportPart.objects.all()}
    assert before.items() <= after.items()
    assert check(packed(made), tmp_path).ok


def test_who_slept_through_the_lease_commits_nothing(four):
    made = asked()
    fence = builder.claim()[1]
    anchor = builder._anchor(made.pk, fence)
    Export.objects.filter(pk=made.pk).update(fence=fence + 1)
    with pytest.raises(storage.NotMine):
        builder._next(made.pk, fence, anchor)
    assert not ExportBlock.objects.exists()


def test_a_cancelled_export_leaves_nothing_and_its_builder_stops(four):
    made = asked()
    fence = builder.claim()[1]
    builder._next(made.pk, fence, builder._anchor(made.pk, fence))
    assert selection.cancel(cast.alice(), made.pk).state == Export.State.CANCELLED
    assert not ExportBlock.objects.exists()
    assert builder.build(made.pk, fence) == 0
    with pytest.raises(packing.NotReady):
        packing.download(cast.alice(), made.pk)


def test_more_than_so_many_at_once_are_refused(four):
    for _ in range(selection.MOST_UNDER_WAY):
        asked()
    with pytest.raises(selection.TooManyExports):
        asked()


def test_a_stored_export_is_handed_out_as_before_after_the_key_encryption_key_was_rotated(four, tmp_path):
    made = built()
    before, former = packed(made), provider().current()
    call_command("rotate_kek", verbosity=0)
    keys.forget_all()
    assert SubjectKey.objects.filter(kek_ref=former).count() == 0
    after = packed(made)
    assert after == before
    assert check(after, tmp_path).ok
    erase("C-100")
    assert ExportPart.objects.filter(export=made.pk, state=ExportPart.State.ERASED).count() == 1


def test_an_export_expires(four):
    made = built()
    assert timedelta(hours=71) < made.expires_at - now() < timedelta(hours=73)
    Export.objects.update(expires_at=now() - timedelta(seconds=1))
    assert builder.build_due() == 0
    made.refresh_from_db()
    assert made.state == Export.State.EXPIRED
    assert not ExportPart.objects.exists()
    assert not ExportBlock.objects.exists()


def erase(customer: str) -> None:
    asked_ = erasure_commands.ask_erasure(cast.petra(), basis="objection", reason="By letter", customer=customer)
    erasure_commands.rule_erasure(cast.paul(), asked_.pk, erasing.erasure.State.APPROVED)
    erasing.carry_out_due()


def test_an_erased_subject_is_gone_from_a_stored_export_and_the_rest_still_verifies(four, tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "CACHE_SECONDS", 0.0)
    made = built(unmask=True)
    erase("C-102")
    data = packed(made)
    verdict = check(data, tmp_path)
    assert verdict.ok, verdict.failures
    rows = table(data)
    assert [row["status"] == "erased" for row in rows] == [False, False, True, False]
    assert rows[2]["customer"] == ""
    assert f"sessions/{four[2]}.zip" not in files_of(data)
    (store,) = (store for store in STORES if store.name == "exports")
    assert ExportBlock.objects.values("position").distinct().count() == 3
    assert store.words


def test_without_the_sweep_the_destroyed_key_alone_closes_the_bundle(four, monkeypatch):
    monkeypatch.setattr(keys, "CACHE_SECONDS", 0.0)
    made = built(unmask=True)
    part = ExportPart.objects.get(export=made.pk, session=four[2])
    before = [bytes(block.data) for block in ExportBlock.objects.filter(position=part.position)]
    erase("C-102")
    keys.forget_all()
    assert before
    with pytest.raises(keys.Erased):
        storage.row_of(part)
    with pytest.raises(keys.Erased):
        next(storage.blocks(part))


def test_a_subject_erased_before_the_head_was_chosen_is_in_it_as_erased(four, tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "CACHE_SECONDS", 0.0)
    erase("C-102")
    verdict = check(packed(built(unmask=True)), tmp_path)
    assert verdict.ok, verdict.failures
    assert verdict.counts["erased"] > 0
    assert verdict.sessions == 4


def test_a_subject_erased_after_the_head_was_chosen_has_no_bundle(four, tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "CACHE_SECONDS", 0.0)
    made = asked(unmask=True)
    builder._anchor(made.pk, builder.claim()[1])
    Export.objects.update(lease_until=None)
    erase("C-102")
    while builder.build_due():
        pass
    made = Export.objects.get()
    assert made.state == Export.State.DONE, made.problem
    data = packed(made)
    verdict = check(data, tmp_path)
    assert verdict.ok, verdict.failures
    assert [row["status"] == "erased" for row in table(data)] == [False, False, True, False]


def test_whoever_runs_the_machine_exports_many_by_command(four, tmp_path):
    out = tmp_path / "all.zip"
    call_command("exports", "--out", str(out), "--agent", "bank", "--unmask", "An audit")
    assert verify.verify(out, out.with_name("all.zip.vkey").read_text().strip()).ok
    with pytest.raises(CommandError, match="no session fits"):
        call_command("exports", "--out", str(tmp_path / "none.zip"), "--agent", "nobody")


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")  # the test's client knows no other way
def test_a_program_asks_watches_fetches_and_deletes(four, tmp_path):
    api = Api(cast.alice())
    made = api.post("/exports", {"customer": "C-101"})
    assert (made.status_code, made.json()["total"], made.json()["masked"]) == (202, 1, True)
    address = made["Location"].removeprefix("/api/v1")
    problem(api.get(f"{address}/archive"), 409, "export_not_ready")
    assert builder.build_due() == 1
    assert api.get(address).json()["state"] == "done"
    archive = Client().get(f"/api/v1{address}/archive", headers=cast.bearer(cast.alice()))
    assert check(b"".join(archive), tmp_path).ok
    assert api.ask("DELETE", address).json()["state"] == "cancelled"
    problem(Api(cast.bob()).get(address), 404, "unknown_export")
    problem(api.post("/exports", {"unmask": True}), 400, "invalid")
