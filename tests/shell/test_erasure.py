"""Erasing a data subject: asked for by one, approved by another, carried out to the end whoever is killed meanwhile."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connections

from agentstate.clock import now
from agentstate.engine.decide import SessionSealed
from agentstate.engine.profile.commands import Refuse
from agentstate.ids import new_id
from agentstate.people.permissions import PermissionDenied
from audit import erasure, globallog, keys, ledger, sequencer, staff, verify
from audit.erasure import State
from audit.export import erasures
from audit.models import ErasureRequest, SubjectKey
from sessions.automation.triggers import intake
from sessions.automation.triggers import repository as keeping
from sessions.conversation import commands as conversation_commands
from sessions.core import recorded, session_lines, states
from sessions.exports import builder, selection
from sessions.models.sessions import AgentSession, ApprovalRequest, CustomerProfile, RecordedState, StandingGrant
from sessions.plans import commands as plans_commands
from sessions.privacy import commands
from sessions.privacy import erasure as erasing
from sessions.privacy import queries as privacy
from sessions.privacy.stores import STORES
from sessions.profiles import commands as profile_commands
from sessions.profiles import learning, logs
from sessions.profiles import proposal as profile_proposals
from sessions.proposals import workflow
from sessions.runtime import advance, leases
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import CUSTOMER, kinds, opened, say
from tests.shell.erasure_world import WHY, approved, asked, entries_of_staff, kid_of
from tests.shell.notice_world import rule as notice_rule
from tests.shell.notice_world import tell
from tests.shell.side_by_side_world import told
from tests.shell.test_export import export
from tests.shell.test_instance_subjects import ANN, ANNS, CALLS, MEMBERS
from tests.shell.test_instance_subjects import kid as kid_named
from tests.shell.test_secrecy import everything_stored, in_valkey, traces

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])

ROOT = Path(__file__).resolve().parents[2]
POINTS = (
    "after_closing",
    "after_tombstone:0",
    "after_destroying",
    "after_sweeping:payloads",
    "after_sweeping:sessions",
    "after_sweeping:memory",
)


def a_transfer_waits() -> UUID:
    session = opened()
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes.")
    return session


def test_who_asks_for_an_erasure_cannot_approve_it():
    opened()
    request = asked()
    with pytest.raises(erasure.FourEyes):
        commands.rule_erasure(cast.petra(), request.pk, State.APPROVED)
    with pytest.raises(PermissionDenied):
        commands.rule_erasure(cast.alice(), request.pk, State.APPROVED)
    assert commands.rule_erasure(cast.paul(), request.pk, State.APPROVED).ruled_by == cast.paul().actor


def test_the_reason_is_unreadable_from_the_instant_at_which_the_destroyed_key_is_reported():
    """This process remembers the key still, as a web server does while a worker destroys it."""
    opened()
    request = approved()
    assert privacy.detail(cast.petra(), request.pk).erasure.reason == WHY
    ErasureRequest.objects.filter(pk=request.pk).update(destroyed_at=now())
    assert keys.remembered([request.kid])
    assert privacy.detail(cast.petra(), request.pk).erasure.reason == ""


def test_whose_team_does_not_serve_the_subject_knows_of_no_such_subject():
    session = opened()
    request = asked()
    for wanted in ({"customer": CUSTOMER}, {"customer": "C-nobody"}):
        with pytest.raises(erasure.UnknownSubject):
            commands.ask_erasure(cast.charlie(), basis="objection", reason=WHY, **wanted)
    with pytest.raises(states.UnknownSession):
        commands.ask_erasure(cast.charlie(), basis="objection", reason=WHY, session=session)
    with pytest.raises(erasure.UnknownErasure):
        commands.rule_erasure(cast.charlie(), request.pk, State.APPROVED)
    with pytest.raises(PermissionDenied):
        commands.ask_erasure(cast.vera(), basis="objection", reason=WHY, customer=CUSTOMER)


def test_erasing_an_unknown_subject_is_refused_and_makes_no_key():
    petra, before = cast.petra(), SubjectKey.objects.count()
    with pytest.raises(erasure.UnknownSubject):
        commands.ask_erasure(petra, basis="objection", reason=WHY, customer="C-never-seen")
    assert SubjectKey.objects.count() == before


def test_nothing_is_erased_before_it_is_approved_or_after_it_is_refused(at_once):
    session = opened()
    request = asked()
    assert erasing.carry_out_due() == 0
    commands.rule_erasure(cast.paul(), request.pk, State.REFUSED)
    assert erasing.carry_out_due() == 0
    assert states.load(session).state.opened.customer == CUSTOMER
    with pytest.raises(erasure.NotOpen):
        commands.rule_erasure(cast.paul(), request.pk, State.APPROVED)


def test_who_asked_may_withdraw_and_ask_again_but_not_twice_at_once():
    opened()
    request = asked()
    with pytest.raises(erasure.AskedAlready):
        asked()
    commands.rule_erasure(cast.petra(), request.pk, State.WITHDRAWN)
    assert asked().pk != request.pk


def test_a_live_session_is_withdrawn_ended_sealed_and_erased(bank, at_once):
    session = a_transfer_waits()
    kid = kid_of(session)
    assert ApprovalRequest.objects.get(session=session).state == "pending"
    approved()
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-4:] == ["request.ended", "session.ended", "subject.erased", "session.sealed"]
    assert ApprovalRequest.objects.get(session=session).state == "withdrawn"
    assert [store.name for store in STORES if store.count(kid)] == []
    with pytest.raises(keys.Erased):
        states.load(session)
    assert ErasureRequest.objects.get().state == State.DONE
    assert rebuild.check(session) == []


def test_every_step_is_on_record_and_names_the_subject_by_key_alone(at_once):
    kid = kid_of(opened())
    request = approved()
    erasing.carry_out_due()
    steps = ("asked", "approved", "begun", "key_destroyed", "done")
    told_of = [entries_of_staff(f"erasure.{step}") for step in steps]
    assert [len(each) for each in told_of] == [1] * len(steps)
    assert {each["subject_key"] for (each,) in told_of} == {str(kid)}
    assert told_of[1][0]["basis"] == "objection"
    assert (told_of[4][0]["asked_by"], told_of[4][0]["approved_by"]) == (request.asked_by, request.ruled_by)
    assert traces(str(told_of), CUSTOMER, WHY) == []


def test_nothing_follows_in_a_sealed_session_whoever_still_holds_its_lease(bank):
    session = opened()
    conversation_commands.say(cast.cleo(), session, "What is my balance?")
    lease = leases.claim()
    before = states.load(session)
    erasing.closed(session, kid_of(session), "x")
    states.remember(before)
    size = ledger.read_head(session).size
    assert ledger.append(before.head, batch_of(before)) is None
    advance.advance(lease)  # finds an ended session: nothing to do
    with pytest.raises(SessionSealed):
        conversation_commands.say(cast.cleo(), session, "Hello?")
    assert ledger.read_head(session).size == size


def batch_of(loaded) -> ledger.Batch:
    draft = ledger.Draft("message.added", b"{}")
    return ledger.Batch([draft], loaded.place.kid, ledger.SYSTEM, "2026-11-21T00:00:00.000000Z", new_id())


def test_the_appending_statement_itself_refuses_what_follows_a_seal():
    session = opened()
    conversation_commands.end(cast.cleo(), session, "hung up")
    commands.seal(cast.alice(), session)
    loaded = states.load(session)
    assert loaded.head.sealed
    assert ledger.append(loaded.head, batch_of(loaded)) is None
    assert ledger.read_head(session).size == loaded.head.size


def test_a_worker_that_is_executing_commits_nothing_into_an_erased_session(bank, at_once):
    session = opened()
    conversation_commands.say(cast.cleo(), session, "What is my balance?")
    lease = leases.claim()
    approved()
    assert erasing.carry_out_due() == 1
    size = ledger.read_head(session).size
    advance.advance(lease)
    assert ledger.read_head(session).size == size
    assert AgentSession.objects.get(pk=session).ready_at is None
    assert leases.claim() is None


@pytest.mark.parametrize("point", POINTS)
def test_an_erasure_that_was_killed_anywhere_is_carried_on_to_the_end(at_once, point):
    session = opened()
    kid = kid_of(session)
    approved()
    assert killed_at(point) == -9
    keys.forget_all()
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-2:] == ["subject.erased", "session.sealed"]
    assert kinds(session).count("subject.erased") == 1
    assert [store.name for store in STORES if store.count(kid)] == []


def killed_at(point: str) -> int:
    """The exit status of a process that is killed at that point while it erases."""
    connections.close_all()
    if (pid := os.fork()) == 0:
        os.environ["CRASH_AT"] = point
        try:
            erasing.carry_out_due()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_an_erasure_is_carried_on_at_the_machine(at_once):
    session = opened()
    approved()
    assert killed_at("after_destroying") == -9
    done = run_at_machine()
    assert (done.returncode, done.stdout) == (0, "0 erasures finished\n")  # others may remember the key for a minute
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-1] == "session.sealed"


def run_at_machine() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "erasure", "run"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_done_is_said_only_once_no_process_can_remember_the_key(monkeypatch):
    opened()
    request = approved()
    assert erasing.carry_out_due() == 0
    request.refresh_from_db()
    assert (request.state, bool(request.destroyed_at)) == (State.APPROVED, True)
    later = now() + timedelta(seconds=61)
    monkeypatch.setattr(erasing, "now", lambda: later)
    assert erasing.carry_out_due() == 1


def test_who_is_erased_and_comes_back_gets_a_new_key_even_before_the_erasure_is_through():
    old = kid_of(opened())
    request = approved()
    assert erasure.close(request)
    new = kid_of(opened())
    assert new != old
    erasing.carry_out_due()
    keys.forget_all()
    assert erasure.is_destroyed(old)
    assert states.load(opened()).place.kid == new


def test_no_session_begins_under_a_key_that_is_about_to_be_destroyed(monkeypatch):
    old = kid_of(opened())
    erasure.close(approved())
    monkeypatch.setattr(keys, "subject_kid", lambda *_: old)
    with pytest.raises(keys.Erased):
        opened()


def test_who_looked_for_a_key_just_before_it_was_closed_opens_under_the_next_one(monkeypatch):
    old = kid_of(opened())
    erasure.close(approved())
    found = [old, keys.subject_kid(cast.tenant().pk, CUSTOMER)]
    monkeypatch.setattr(keys, "subject_kid", lambda *_: found.pop(0))
    assert kid_of(opened()) != old


def test_erasing_twice_erases_the_second_life_apart_from_the_first(at_once):
    first = opened()
    approved()
    assert erasing.carry_out_due() == 1
    with pytest.raises(erasure.UnknownSubject):
        asked()
    second = opened()
    assert states.load(second).state.opened.customer == CUSTOMER
    approved()
    assert erasing.carry_out_due() == 1
    assert kinds(first)[-1] == kinds(second)[-1] == "session.sealed"
    assert ErasureRequest.objects.filter(state=State.DONE).count() == 2


def test_a_profile_is_sealed_and_goes_with_its_customer(bank, at_once):
    session = opened()
    say(session, "What is my balance?")
    customer = kid_of(session)
    profile_commands.consent(cast.cleo(), customer, "personalisation", True)
    subject = logs.Subject(customer, cast.tenant().pk)
    assert CustomerProfile.objects.filter(kid=customer).exists()
    approved()
    assert erasing.carry_out_due() == 1
    assert kinds(subject.log)[-1] == "subject.erased"
    assert ledger.read_head(subject.log).sealed
    assert not CustomerProfile.objects.filter(kid=customer).exists()


def test_an_instances_subject_is_erased_from_a_session_that_lives_on(at_once):
    session = told()
    plans_commands.propose_plan(cast.alice(), session, calls=CALLS, instances=MEMBERS)
    advance.advance_ready()
    kid = kid_named(ANN)
    assert {line[0] for line in privacy.detail(cast.petra(), asked(ANN).pk).sessions} == {session}
    commands.rule_erasure(cast.paul(), ErasureRequest.objects.get().pk, State.APPROVED)
    assert erasing.carry_out_due() == 1
    states.forget_all()
    assert not states.load(session).state.ended
    assert ANNS not in str(states.load(session).state)
    assert [store.name for store in STORES if store.count(kid)] == []
    assert rebuild.check(session) == []


def test_who_is_an_instance_in_an_erased_session_can_be_erased_too(at_once):
    session = told()
    plans_commands.propose_plan(cast.alice(), session, calls=CALLS, instances=MEMBERS)
    own = session_lines.session_line(cast.alice(), session).customer
    ask = commands.ask_erasure(cast.petra(), basis="objection", reason=WHY, session=session)
    assert ask.kid == own
    commands.rule_erasure(cast.paul(), ask.pk, State.APPROVED)
    assert erasing.carry_out_due() == 1
    approved(ANN)
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-2:] == ["subject.erased", "session.sealed"]
    assert [store.name for store in STORES if store.count(kid_named(ANN))] == []


def test_a_session_sealed_by_hand_is_erased_and_sealed_again(at_once):
    session = opened()
    conversation_commands.end(cast.cleo(), session, "hung up")
    commands.seal(cast.alice(), session)
    approved()
    assert erasing.carry_out_due() == 1
    assert kinds(session)[-3:] == ["session.sealed", "subject.erased", "session.sealed"]


def test_old_proofs_still_verify_and_a_new_export_says_what_was_erased(bank, at_once, tmp_path):
    session = a_transfer_waits()
    before = export(session, tmp_path)
    vkey = before.with_name(f"{before.name}.vkey").read_text().strip()
    approved()
    assert erasing.carry_out_due() == 1
    assert verify.verify(before, vkey).ok
    verdict = verify.verify(export(session, tmp_path), vkey)
    assert verdict.ok, verdict.failures
    assert (verdict.counts["disclosed"], verdict.counts["erased"]) == (0, len(kinds(session)))


def test_the_proof_of_an_erasure_can_be_made_under_an_older_head_when_the_log_of_staff_has_grown(at_once):
    session, tenant = opened(), cast.tenant().pk
    kid = kid_of(session)
    approved()
    assert erasing.carry_out_due() == 1
    sequencer.settle(session)
    before = globallog.signed_head(tenant).size
    first = erasures.prove(tenant, kid, before)
    staff.record(tenant, now(), "test.done", "system", "", {})
    sequencer.run_once(tenant)
    assert first is not None
    assert erasures.prove(tenant, kid, before) == first
    assert erasures.prove(tenant, kid, globallog.signed_head(tenant).size) != first
    assert erasures.prove(tenant, kid, 0) is None


def test_the_erased_are_found_in_no_file_cache_or_log(bank, at_once, caplog):
    caplog.set_level(logging.DEBUG)
    notice_rule(kinds=("message.added",), key="event.data.text")
    session = a_transfer_waits()
    say(session, "My dog is called Quokkaburra.")
    tell()
    profile_commands.consent(cast.cleo(), kid_of(session), "personalisation", True)
    states.keep_snapshot(states.load(session))
    kept = recorded.sealed(session, kid_of(session), states.as_of(session, 3))
    RecordedState.objects.create(session=session, upto=3, entry=0, form=kept.form, sealed=kept.sealed)
    learning.teach_all({session})
    cache.set(f"warm/{session}", b"sealed")
    selection.ask(cast.alice(), selection.Filter(), unmask=True, reason="An audit")
    assert builder.build_due() == 1
    heard_and_granted(session)
    proposed(kid_of(session))
    secret = stored_of(kid_of(session))
    assert len(secret) > 15
    assert {store.name for store in STORES if not store.count(kid_of(session))} <= {
        "snapshot_parts",
        "reasons",
        "disclosures",
    }
    assert missing_from_files(secret) == []  # they are where the test looks for them
    approved()
    assert erasing.carry_out_due() == 1
    assert [store.name for store in STORES if store.count(kid_of(session))] == []
    assert str(session) not in in_valkey()
    assert set(missing_from_files(secret)) == set(secret)
    words = (CUSTOMER, "Quokkaburra", "Zebrafinch", "900.00", "from savings")
    for table, text in everything_stored().items():
        assert traces(text, *words) == [], table
    assert traces(in_valkey(), *words) == []
    assert traces(caplog.text, *words) == []


def proposed(kid: UUID) -> None:
    """A change of the profile that waits for another team."""
    change = profile_proposals.Change(Refuse("answers", "customer"))
    workflow.make(
        profile_proposals.KIND,
        tenant=cast.tenant().pk,
        by=cast.cleo().actor,
        own=frozenset(),
        teams={cast.cards().pk},
        details={},
        content=profile_proposals.sealed(kid, change),
        kid=kid,
    )


def heard_and_granted(session: UUID) -> None:
    """Something that waits for a trigger, and a grant that holds beyond the session."""
    team, kid = cast.retail(), kid_of(session)
    opens = {"open": {"agent": "bank", "customer": "event.body.customer"}}
    definition = {"on": {"hook": {"secret": "s"}}, "do": opens}
    trigger = keeping.keep(team.tenant_id, team.pk, cast.adam().actor, "claims", definition)
    intake.take_in(trigger, [intake.Happened("hook:1", {"body": {"customer": CUSTOMER, "says": "Quokkaburra"}})])
    StandingGrant.objects.create(
        id=new_id(),
        tenant=team.tenant,
        team=team,
        scope="customer",
        agent="bank",
        kid=kid,
        tool="transfer",
        given_in=session,
        by=cast.alice().actor,
        at=now(),
        until=now() + timedelta(hours=1),
        uses=1,
        sealed=keys.seal(kid, "a grant", b'{"to": "Quokkaburra"}'),
    )


STORED = {
    "agent_sessions_triggerfiring": "sealed",
    "agent_sessions_standinggrant": "sealed",
    "audit_payload": "ciphertext",
    "agent_sessions_agentsession": "card",
    "agent_sessions_approvalrequest": "card",
    "agent_sessions_snapshot": "sealed",
    "agent_sessions_recordedstate": "sealed",
    "agent_sessions_customerprofile": "sealed",
    "agent_sessions_exportblock": "data",
    "agent_sessions_exportpart": "wrapped",
    "audit_subjectkey": "wrapped",
}


def stored_of(kid: UUID) -> list[bytes]:
    """The beginnings of all that is stored of the customer, their key included; staff's own logs are theirs."""
    logs_of = [log for log, _ in erasure.logs_of(kid)]
    theirs = {"audit_payload": "log = ANY(%(logs)s)", "audit_subjectkey": "kid = %(kid)s"}
    found = []
    for table, column in STORED.items():
        where = theirs.get(table, "true")
        rows = ledger.run(f"SELECT substr({column}, 1, 48) FROM {table} WHERE {where}", {"logs": logs_of, "kid": kid})
        found += [bytes(row[0]) for row in rows]
    return [each for each in found if len(each) == 48]


def missing_from_files(wanted: list[bytes]) -> list[bytes]:
    """Those of `wanted` that are in no file of the database once everything was rewritten."""
    stack = settings.STACK
    with psycopg.connect(stack.dsn(stack.superuser, stack.database), autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        connection.execute("CHECKPOINT")
        place = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
        folder = Path(connection.execute("SHOW data_directory").fetchone()[0]) / "base" / str(place[0])
    data = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
    return [each for each in wanted if each not in data]


def test_a_state_goes_from_memory_with_the_key_that_it_was_read_under(monkeypatch):
    """Nobody asks for the session again: it goes all the same."""
    session = opened()
    assert states.recall(session) is not None
    states.forget_stale()
    assert states.recall(session) is not None
    monkeypatch.setattr(states, "LOOK", keys.CACHE_SECONDS + 1)  # as if that much time had passed
    states.forget_stale()
    assert states.recall(session) is None
    assert not keys.remembered([kid_of(session)])


@pytest.fixture
def impatient(monkeypatch):
    """Erasures that wait a tenth of a second for a lock."""
    monkeypatch.setattr(erasing, "PATIENCE", 0.1)


def as_role(role: str) -> psycopg.Connection:
    """A transaction of a role of the database, beside the product."""
    return psycopg.connect(settings.STACK.dsn(role, settings.STACK.database))


def test_an_erasure_whose_rows_are_locked_holds_up_no_other_and_goes_on_later(bank, at_once, impatient):
    held, free = a_transfer_waits(), opened("C-1002")
    kids = kid_of(held), kid_of(free)
    approved(), approved("C-1002")
    with as_role(settings.STACK.superuser) as holder:
        holder.execute("SELECT 1 FROM audit_head WHERE log = %s FOR UPDATE", [held])
        assert erasing.carry_out_due() == 1
        assert [ErasureRequest.objects.get(kid=kid).state for kid in kids] == [State.APPROVED, State.DONE]
    assert erasing.carry_out_due() == 1
    assert [store.name for store in STORES if store.count(kids[0])] == []


def test_a_store_whose_rows_are_locked_is_swept_later_and_those_behind_it_at_once(bank, at_once, impatient):
    session = a_transfer_waits()
    kid = kid_of(session)
    request = approved()
    assert ApprovalRequest.objects.filter(session=session).exists()
    with as_role(settings.STACK.superuser) as holder:
        real = erasure.destroy

        def locked(asked: ErasureRequest) -> None:
            holder.execute("SELECT 1 FROM agent_sessions_approvalrequest WHERE session_id = %s FOR UPDATE", [session])
            real(asked)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(erasure, "destroy", locked)
            assert erasing.carry_out_due() == 0
        assert [store.name for store in STORES if store.count(kid)] == ["requests"]
    assert erasing.carry_out_due() == 1
    assert ErasureRequest.objects.get(pk=request.pk).state == State.DONE


@pytest.mark.parametrize("role", ["owner", "postgres"])
def test_a_transaction_of_another_role_that_may_append_is_waited_for(at_once, role):
    opened()
    with as_role(role) as other:
        other.execute("LOCK TABLE audit_entry IN ROW EXCLUSIVE MODE")  # as a statement that appends has it
        approved()
        assert erasing.carry_out_due() == 0
        other.rollback()
        assert erasing.carry_out_due() == 1
