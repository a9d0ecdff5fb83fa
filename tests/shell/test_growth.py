"""Every log is shown to the signer to have grown: on a real PostgreSQL, with a superuser who holds no key."""

from __future__ import annotations

from uuid import UUID, uuid4

import msgspec
import pytest
from django.core.management import CommandError, call_command

from agentstate.clock import now
from audit import comparison, condition, globallog, growth, ledger, sequencer, signer, staff, verify
from audit.sequencer_leader import SequencerLeader
from audit.signer import Growth
from audit.tlog import headleaf, tree
from audit.tlog.checkpoint import Checkpoint
from tests.core.tlog_world import unpack
from tests.shell.attack_world import Superuser, exported, spoken, talk
from tests.shell.test_ledger import TENANT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def superuser(test_database) -> Superuser:
    return Superuser(test_database)


def cut_back(superuser: Superuser, head: ledger.Head, size: int, *, place: bool = False) -> ledger.Head:
    """The log as it was with `size` entries; with `place` also what the sequencer keeps of it."""
    superuser.drop(head.log, *range(size, head.size))
    superuser.rehash(head.log)
    cut = ledger.read_head(head.log)
    if place:
        superuser.run("UPDATE audit_place SET size = %s, frontier = %s WHERE log = %s", size, cut.frontier, head.log)
    return cut


def signed(head: ledger.Head) -> ledger.Head:
    sequencer.settle(head.log)
    return head


@pytest.mark.parametrize("place", [False, True])
@pytest.mark.parametrize("cut", [1, 4, 5])
@pytest.mark.parametrize("more", [3, 300])
def test_a_log_cut_back_and_grown_past_its_signed_size_is_left_out_by_name_and_others_go_on(
    cut, more, place, superuser, caplog
):
    head, other = signed(talk(6)), signed(talk(1))
    grown = spoken(cut_back(superuser, head, cut, place=place), *(f"forged {number}" for number in range(more)))
    other = spoken(other, "and on")
    assert sequencer.run_once(TENANT).altered == (head.log,)
    assert globallog.latest_place(other.log).size == 2
    assert caplog.text.count(str(head.log)) == 1
    assert sequencer.run_once(TENANT).altered == (head.log,)
    assert caplog.text.count(str(head.log)) == 1, "said once, however many rounds find it"
    with pytest.raises(signer.HeadRefused):
        sequencer.settle(grown.log)
    assert condition.signer_seen().refused == (head.log,)
    assert condition.signer_seen().trouble == "head_altered"


def test_the_bundle_of_a_log_that_the_database_says_is_signed_is_refused_too(superuser, tmp_path):
    """Whoever cut it back says in every table that the new history was sequenced."""
    head = signed(talk(6))
    grown = spoken(cut_back(superuser, head, 3), *"abcdef")
    superuser.run("UPDATE audit_place SET size = %s, frontier = %s", grown.size, grown.frontier)
    assert sequencer.run_once(TENANT).altered == ()
    with pytest.raises((globallog.Altered, signer.HeadRefused)):
        exported(head.log, tmp_path)


def test_the_older_bundle_refuses_what_does_not_extend_it_even_where_the_signer_forgot(
    superuser, tmp_path, test_database
):
    head = signed(talk(6))
    older = exported(head.log, tmp_path)
    test_database.signer.forget()
    for table in ("audit_glog", "audit_gstate", "audit_place", "audit_tile", "audit_signedhead", "audit_mapbucket"):
        superuser.run(f"DELETE FROM {table}")
    superuser.run("DELETE FROM audit_maptile")
    spoken(cut_back(superuser, head, 3), *"abcdef")
    newer = exported(head.log, tmp_path)
    assert verify.verify(newer, signer.vkey()).ok
    verdict = verify.verify(newer, signer.vkey(), demand=verify.Demand(held=verify.read_held(str(older))[0]))
    assert [failure.check for failure in verdict.failures] == ["held"]


def test_a_log_whose_place_was_altered_is_proved_from_its_entries(superuser):
    """What the database keeps of the last sequenced head is not needed, only at hand."""
    head = signed(talk(6))
    superuser.run("UPDATE audit_place SET frontier = ''")
    sequencer.run_once(TENANT)
    assert sequencer.run_once(TENANT).altered == ()
    superuser.run("UPDATE audit_place SET frontier = '', size = 2")
    head = spoken(head, "more")
    assert sequencer.settle(head.log).size == 7


@pytest.mark.parametrize("many", [1, 40])
def test_leaves_that_a_crash_left_unsigned_are_admitted_and_signed_by_the_next_round(many, monkeypatch):
    heads = [signed(talk(3)) for _ in range(many)]
    heads = [spoken(head, "more", "and more") for head in heads]
    with monkeypatch.context() as patch:
        patch.setattr(growth, "sign_grown", lambda *_: None)
        sequencer.advance(TENANT)
        patch.setattr(growth, "sign", lambda *_, **__: None)
        heads = [spoken(head, "once more") for head in heads]
        sequencer.advance(TENANT)
    assert globallog.state(TENANT).size == 3 * many > globallog.state(TENANT).signed == many
    sequencer.run_once(TENANT)
    assert globallog.state(TENANT).signed == 3 * many
    assert all(globallog.latest_place(head.log).size == 6 for head in heads)


def test_as_many_heads_as_a_round_takes_are_shown_in_questions_that_the_signer_reads():
    """After an outage all logs have grown: what shows it is longer than the longest line."""
    logs = [UUID(int=number) for number in range(sequencer.CAP)]
    heads = {log: Growth(leaf_of(log), 0, b"", bytes(growth.LONGEST // len(logs))) for log in logs}
    assert growth.admit(globallog.state(TENANT), heads) == {}


def leaf_of(log: UUID) -> bytes:
    return headleaf.body(Checkpoint(globallog.origin_of(log), 1, bytes(32)), None)


def test_every_head_names_the_one_before_it(tmp_path):
    head = signed(talk(2))
    for text in "abc":
        head = signed(spoken(head, text))
    place = sequencer.settle(head.log, with_map=True)
    chain = [*globallog.heads_before(TENANT, place.index), globallog.body(TENANT, place.index)]
    assert [headleaf.parse(body)[0].size for body in chain] == [2, 3, 4, 5]
    assert [None if (one := headleaf.parse(body)[1]) is None else one.leaf for body in chain] == [
        None,
        *map(tree.leaf_hash, chain[:-1]),
    ]
    assert unpack(exported(head.log, tmp_path).read_bytes())["log/heads"] == b"".join(chain[:-1])


# --- which heads are due


def test_a_head_whose_mark_was_cleared_is_found_by_comparing(superuser):
    head = signed(talk(2))
    assert comparison.different(TENANT) == []
    superuser.run(
        "CREATE FUNCTION unmark() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.dirty_since := NULL; RETURN NEW; END'"
    )
    superuser.run("CREATE TRIGGER unmark BEFORE UPDATE ON audit_head FOR EACH ROW EXECUTE FUNCTION unmark()")
    superuser.run("ALTER TABLE audit_head ENABLE ALWAYS TRIGGER unmark")
    try:
        head = spoken(head, "decided")
        assert sequencer.run_once(TENANT).heads == 0
        assert comparison.different(TENANT) == [head.log]
        compared = comparison.Comparison(TENANT)
        compared.look()
        assert sequencer.run_once(TENANT, wanted=compared.take()).heads == 1
        assert (compared.take(), comparison.different(TENANT)) == ([], [])
    finally:
        superuser.run("DROP FUNCTION unmark CASCADE")


def test_another_size_with_the_same_frontier_is_found_by_comparing_so_many_logs_of_one_tenant(superuser, monkeypatch):
    logs = {signed(talk(2)).log, signed(talk(3)).log}
    superuser.run("UPDATE audit_head SET size = size + 1")
    assert set(comparison.different(TENANT)) == logs
    assert comparison.different(uuid4()) == []
    monkeypatch.setattr(comparison, "MOST", 1)
    assert len(comparison.different(TENANT)) == 1


def test_another_frontier_at_the_same_size_is_found_by_comparing(superuser):
    head = signed(talk(2))
    superuser.run("UPDATE audit_head SET frontier = sha256('another')")
    assert comparison.different(TENANT) == [head.log]
    assert sequencer.run_once(TENANT, wanted=[head.log]).altered == (head.log,)


# --- decisions that are reported past the database


@pytest.fixture
def impatient(monkeypatch) -> None:
    for module in (condition, comparison):
        monkeypatch.setattr(module, "WAITS", 0.0)


def report(head: ledger.Head) -> None:
    signer.report(head.log, head.size, head.root)
    signer.known()  # it takes one after the other


def test_a_decision_that_is_kept_from_the_signature_is_an_alarm_past_the_database(superuser, impatient):
    """The attacker says in every table that nothing is due and nothing is wrong."""
    head = signed(talk(3))
    decided = spoken(head, "rejected")
    report(decided)
    superuser.run("UPDATE audit_place SET size = %s, frontier = %s", decided.size, decided.frontier)
    superuser.run("UPDATE audit_head SET dirty_since = NULL")
    with SequencerLeader(TENANT) as term:
        term._begin()
        term._comparison.look()
        term._tried()
    assert condition.read(TENANT).told.code == "decision_unsigned"
    assert str(head.log) in condition.read(TENANT).told.detail
    superuser.run("UPDATE audit_gstate SET trouble = '', trouble_detail = ''")
    assert condition.signer_seen().trouble == "decision_unsigned"


def test_a_reported_decision_is_signed_and_told_no_more(impatient):
    head = signed(talk(3))
    report(head)
    assert condition.signer_seen().unsigned == ()
    decided = spoken(head, "approved")
    report(decided)
    assert condition.signer_seen().unsigned == (head.log,)
    signed(spoken(decided, "done"))
    assert condition.signer_seen().trouble == ""


def test_a_decision_reported_after_it_was_signed_for_is_shown_to_be_continued(impatient):
    decided = talk(3)
    signed(spoken(decided, *(f"{number}" for number in range(30))))
    report(decided)
    assert condition.signer_seen().unsigned == (decided.log,)
    assert growth.settle_reports() == []
    assert condition.signer_seen().trouble == ""


def test_an_operator_dismisses_a_decision_that_nobody_signs_and_the_staff_log_says_why(impatient, monkeypatch):
    monkeypatch.setattr("audit.management.commands.dismiss_report.WAITS", 0.0)
    monkeypatch.setattr("audit.management.commands.dismiss_report.tenant", lambda: TENANT)
    head = signed(talk(3))
    with pytest.raises(CommandError, match="no reported decision"):
        call_command("dismiss_report", str(head.log), reason="gone")
    report(spoken(head, "rejected"))
    with pytest.raises(CommandError, match="say what became"):
        call_command("dismiss_report", str(head.log), reason=" ")
    assert condition.signer_seen().trouble == "decision_unsigned"
    call_command("dismiss_report", str(head.log), reason="restored from the backup of noon")
    assert condition.signer_seen().trouble == ""
    (row,) = ledger.read_rows(staff.log_of(TENANT, now()))
    envelope, payload = ledger.open_row(row)
    said = msgspec.json.decode(payload)
    assert (envelope.kind, said["log"], said["size"], said["reason"]) == (
        "report.dismissed", str(head.log), 4, "restored from the backup of noon",
    )  # fmt: skip


def test_a_decision_taken_back_before_its_first_signature_is_refused(superuser, impatient):
    """The report alone has left the database: the quarter of a second before the first signature is covered too."""
    head = signed(talk(3))
    decided = spoken(head, "rejected")
    report(decided)
    spoken(cut_back(superuser, decided, 3), "approved", "paid")
    assert sequencer.run_once(TENANT).altered == (head.log,)
    assert condition.signer_seen().trouble == "head_altered"


def test_a_report_fails_nothing_and_waits_for_nothing(settings, tmp_path):
    for path in (tmp_path / "nobody.sock", tmp_path, "/dev/zero"):
        settings.SIGNER_SOCKET = str(path)
        signer.report(talk(1).log, 1, bytes(32))
