"""Retention: the words of closed sessions go when their term is over, with a tombstone; what is held stays."""

from __future__ import annotations

import os
from datetime import timedelta
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connections

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from audit import keys, ledger, retention, verify
from audit.retention import Class, Rule, Schedule
from sessions.conversation import commands as conversation_commands
from sessions.core import entry_lines, states
from sessions.models.sessions import AgentSession, Snapshot
from sessions.privacy import commands, pruning, subject_report
from sessions.privacy import erasure as erasing
from sessions.privacy import queries as privacy
from sessions.privacy.stores import STORES
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import CUSTOMER, kinds, opened
from tests.shell.erasure_world import approved, entries_of_staff, kid_of
from tests.shell.test_export import export

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])

PHONE = Schedule((Class("calls", 0), Class("long", 30)), (Rule("calls", channel="phone"), Rule("long", channel="chat")))
POINTS = ("after_pruning_entry", "after_pruning")


def closed(channel: str = "phone") -> UUID:
    """A session that has just ended; a phone call's term is over with it."""
    session = opened(channel=channel)
    conversation_commands.say(cast.cleo(), session, "I moved to 12 Quokka Lane.")
    conversation_commands.end(cast.cleo(), session, "hung up")
    return session


def prune() -> int:
    return pruning.prune_due(cast.tenant().pk)


@pytest.fixture(autouse=True)
def _phone_calls_are_kept_for_no_day_and_chats_for_thirty(db):
    retention.put(cast.tenant().pk, PHONE, "system")


def test_only_what_a_rule_names_and_whose_term_is_over_is_pruned(monkeypatch):
    due, young, live = closed(), closed("chat"), opened()
    assert [each.session for each in pruning.due(cast.tenant().pk)] == [due]
    assert prune() == 1
    assert kinds(due)[-2:] == ["payload.pruned", "session.sealed"]
    assert [states.load(each).state.sealed for each in (young, live)] == ["", ""]
    later = now() + timedelta(days=30)
    monkeypatch.setattr(pruning, "now", lambda: later)
    assert {each.session: bool(each.upto) for each in pruning.due(cast.tenant().pk)} == {young: False, live: True}


def test_what_comes_after_the_end_does_not_lengthen_the_term():
    session = closed("chat")
    ended = AgentSession.objects.get(pk=session).ended_at
    commands.seal(cast.alice(), session)
    assert AgentSession.objects.get(pk=session).ended_at == ended


def test_the_first_rule_that_fits_decides():
    rules = (Rule("long", agent="bank"), Rule("short"))
    schedule = Schedule((Class("short", 1), Class("long", 99)), rules)
    assert schedule.of(cast.retail().pk, "bank", "phone") == Class("long", 99)
    assert schedule.of(cast.retail().pk, "other", "phone") == Class("short", 1)
    assert PHONE.of(cast.retail().pk, "bank", "email") is None


def test_a_dry_run_reports_and_deletes_nothing():
    session = closed()
    payloads = len(kinds(session))
    out = StringIO()
    call_command("retention", "dry-run", stdout=out)
    assert f"{payloads} payloads of 1 sessions would go" in out.getvalue()
    assert [each.payloads for each in privacy.pruning_due(cast.petra())] == [payloads]
    assert states.load(session).state.items


def test_a_pruned_session_folds_to_nothing_wherever_it_is_asked_for():
    session = closed()
    loaded = states.load(session)
    states.keep_snapshot(loaded)
    prune()
    states.remember(loaded)  # a process that has not heard of it
    for _ in range(2):
        with pytest.raises(ledger.Pruned):
            states.load(session)
        states.forget_all()
    assert not Snapshot.objects.filter(pk=session).exists()
    assert rebuild.check(session) == []
    browser = cast.browser(cast.alice())
    assert browser.get(f"/sessions/{session}/").status_code == 410
    assert b"retention" in browser.get(f"/sessions/{session}/").content
    assert browser.get("/sessions/").status_code == 200
    assert [line.data for line in entry_lines.entries(cast.alice(), session)][:2] == [None, None]


def test_a_pruned_bundle_verifies_and_counts_them_apart(tmp_path):
    session = closed()
    size = len(kinds(session))
    prune()
    out = export(session, tmp_path)
    verdict = verify.verify(out, out.with_name(f"{out.name}.vkey").read_text().strip())
    assert verdict.ok, verdict.failures
    assert (verdict.counts["pruned"], verdict.counts["erased"], verdict.counts["disclosed"]) == (size, 0, 2)


@pytest.mark.parametrize("point", POINTS)
def test_a_pruning_that_was_killed_is_finished_by_the_next_run(point):
    session = closed()
    connections.close_all()
    if (pid := os.fork()) == 0:
        os.environ["CRASH_AT"] = point
        try:
            prune()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
    assert prune() == 1
    assert kinds(session).count("payload.pruned") == 1
    assert ledger.run("SELECT count(*) FROM audit_payload WHERE log = %(log)s", {"log": session})[0][0] == 2


def test_what_is_under_a_legal_hold_is_not_pruned():
    session, other = closed(), closed()
    hold = commands.set_hold(cast.petra(), session=session, whole=False, reason="a case at court")
    assert {each.session: each.held for each in privacy.pruning_due(cast.petra())} == {session: True, other: False}
    assert prune() == 1
    assert "payload.pruned" not in kinds(session)
    commands.lift_hold(cast.petra(), hold.pk)
    assert prune() == 1
    assert [len(entries_of_staff(kind)) for kind in ("retention.set", "retention.pruned")] == [1, 2]


def test_who_was_pruned_can_still_be_erased(at_once):
    session = closed()
    prune()
    kid = kid_of(session)
    approved()
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-4:] == ["payload.pruned", "session.sealed", "subject.erased", "session.sealed"]
    assert [store.name for store in STORES if store.count(kid)] == []
    with pytest.raises(keys.Erased):
        keys.subject_key(kid)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule((Class("a", 1), Class("a", 2))),
        Schedule((Class(" ", 1),)),
        Schedule((Class("a", -1),)),
        Schedule((Class("a", 1),), (Rule("b"),)),
        Schedule((Class("a", 1),), (Rule("a", team="retail"),)),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_and_the_old_one_stays(schedule):
    with pytest.raises(Invalid):
        commands.set_retention(cast.petra(), schedule)
    assert retention.schedule(cast.tenant().pk) == PHONE


def test_retention_is_set_by_who_may():
    with pytest.raises(PermissionDenied):
        commands.set_retention(cast.alice(), PHONE)


def test_a_report_of_a_subject_holds_their_words_and_is_on_record():
    session = closed()
    found = subject_report.made(cast.petra(), customer=CUSTOMER)
    told = str(found["logs"])
    assert "12 Quokka Lane" in told
    assert str(session) in told
    assert cast.cleo().actor not in told
    assert "staff" in told
    (entry,) = entries_of_staff("subject.reported")
    assert entry["subject_key"] == str(kid_of(session))
    with pytest.raises(PermissionDenied):
        subject_report.made(cast.alice(), customer=CUSTOMER)
