"""Instances with data subjects of their own: each under its key; one is erased while others and the session live."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from agentstate.clock import now
from agentstate.engine.advance import NOBODY
from agentstate.engine.decide import Return
from agentstate.engine.state.session import pending
from agentstate.errors import Invalid
from audit import keys, ledger, staff, verify
from audit.erasure import BEGUN
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.core import entry_lines, states
from sessions.core.commit import run_commands
from sessions.core.committed import Lease
from sessions.models.sessions import AgentSession, ApprovalRequest, Snapshot, SnapshotPart
from sessions.plans import commands as plans
from sessions.plans import queries as plans_queries
from sessions.privacy import erasure
from sessions.runtime import advance
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import CUSTOMER, kinds, say, state, work
from tests.shell.side_by_side_world import model, told
from tests.shell.test_erased import destroy
from tests.shell.test_export import export
from tests.shell.test_secrecy import everything_stored, in_valkey, traces

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])

ANN, BOB, ANNS, BOBS = "C-70001", "C-70002", "Annabellina", "Bobolinko"
CALLS = [
    {"_tool": "wait", "_outputPath": "state.seen", "name": "†input.name"},
    {"_tool": "act", "_outputPath": "state.done", "name": "†state.seen.name"},
]
MEMBERS = [
    {"name": "one", "inputs": {"name": ANNS}, "subject": ANN},
    {"name": "two", "inputs": {"name": BOBS}, "subject": BOB},
]


def kid(subject: str) -> UUID:
    return keys.subject_kid(cast.tenant().pk, subject)


def reviewed() -> UUID:
    """A session of its own customer that has carried a plan out for two others, up to what a person must decide."""
    session = told()
    plans.propose_plan(cast.alice(), session, calls=CALLS, instances=MEMBERS)
    work()
    return session


def envelopes(session: UUID) -> list[ledger.Envelope]:
    return [ledger.parse_envelope(row.envelope) for row in ledger.read_rows(session)]


def kinds_under(session: UUID, key: UUID) -> Counter[str]:
    return Counter(each.kind for each in envelopes(session) if each.kid == str(key))


def forgotten() -> None:
    """As after CACHE_SECONDS, in every process."""
    keys.forget_all()
    states.forget_all()


def erase(session: UUID, subject: str) -> None:
    key = kid(subject)
    assert erasure.sessions_of(key) == [session]
    erasure.recorded(session, key)
    staff.record(cast.tenant().pk, now(), BEGUN, "system", "", {"subject_key": str(key)})
    destroy(key)
    forgotten()


def waiting(session: UUID) -> dict[str, Any]:
    """The requests of a session that wait, by what they ask for."""
    lines = [line for line in approvals_queries.requests(cast.alice()) if line.session == session]
    return {line.arguments.get("name", line.name): line for line in lines}


def test_every_entry_is_under_the_key_of_the_one_whom_it_concerns():
    session = reviewed()
    theirs = ("plan.instance_opened", "tool.intended", "tool.returned", "call.readied", "approval.requested")
    for subject in (ANN, BOB):
        assert kinds_under(session, kid(subject)) == Counter(theirs)
    own = kinds_under(session, AgentSession.objects.get(pk=session).kid)
    assert own.keys().isdisjoint(theirs)
    assert own["plan.committed"] == 1


def test_a_decision_its_call_and_its_result_are_the_instances_too():
    session = reviewed()
    line = waiting(session)[ANNS]
    approvals_commands.decide(
        cast.bob(), line.id, approvals_commands.Decision("approve", reason="Fine", seen=line.digest), key="k"
    )
    work()
    more = kinds_under(session, kid(ANN)) - kinds_under(session, kid(BOB))
    assert more == Counter(["decision.made", "request.ended", "tool.intended", "tool.returned"])
    assert approvals_commands.decide(
        cast.bob(), line.id, approvals_commands.Decision("approve", reason="Fine", seen=line.digest), key="k"
    ).repeated


def test_nothing_of_an_instance_is_under_the_key_of_the_sessions_customer(settings):
    """Neither in its entries, nor in the snapshot without the parts, nor on its row's card."""
    settings.SNAPSHOT_EVERY = 5
    session = reviewed()
    own = AgentSession.objects.get(pk=session)
    for row in ledger.read_rows(session):
        envelope, payload = ledger.open_row(row)
        if envelope.kid == str(own.kid):
            assert traces(payload.decode(), ANN, BOB, ANNS, BOBS) == []
    kept = Snapshot.objects.get(pk=session)
    plain = keys.unseal(own.kid, f"{states.SNAPSHOT}/{session}/{kept.seq}", bytes(kept.sealed)).decode()
    assert traces(plain, ANN, BOB, ANNS, BOBS, "@one", "@two") == []
    card = keys.unseal(own.kid, f"agent_sessions/card/{session}", bytes(own.card)).decode()
    assert traces(card, ANNS, BOBS) == []
    assert {part.kid for part in SnapshotPart.objects.filter(session=session)} == {kid(ANN), kid(BOB)}
    assert {row.kid for row in ApprovalRequest.objects.filter(session=session)} == {kid(ANN), kid(BOB)}


def test_a_state_in_parts_under_several_keys_is_read_back_as_it_was(settings):
    settings.SNAPSHOT_EVERY = 5
    session = reviewed()
    whole = state(session)
    assert Snapshot.objects.filter(pk=session).exists()
    forgotten()
    assert state(session) == whole
    assert states.fold_all(session, whole.seq) == whole
    assert rebuild.check(session) == []


def test_one_is_erased_and_the_session_and_its_other_instances_live_on(settings):
    settings.SNAPSHOT_EVERY = 5
    session = reviewed()
    anns = waiting(session)[ANNS].id
    erase(session, ANN)
    assert rebuild.check(session) == []
    left = state(session)
    assert (list(left.plans.instances), left.plans.erased) == (["two"], (str(next(iter(gone(session)))),))
    assert [request.asked.arguments for request in pending(left)] == [{"name": BOBS}]
    line = approvals_queries.request_line(cast.alice(), anns)
    assert (line.name, line.state, line.may_decide) == ("Erased", "withdrawn", False)
    bobs = waiting(session)[BOBS]
    approvals_commands.decide(
        cast.bob(), bobs.id, approvals_commands.Decision("approve", reason="Fine", seen=bobs.digest)
    )
    work()
    assert state(session).plans.instances["two"].pad["done"] == {"done": BOBS}
    assert not state(session).plans.is_open
    assert kinds(session).count("plan.round_ended") == 1
    say(session, "And now?")
    assert rebuild.check(session) == []
    forgotten()
    assert rebuild.check(session) == []


def gone(session: UUID) -> set[str]:
    """The keys of a session's entries that were destroyed."""
    return {str(key) for key in keys.destroyed({UUID(each.kid) for each in envelopes(session)})}


def test_a_result_that_comes_after_the_erasure_is_dropped_and_those_beside_it_are_recorded():
    session = told()
    plans.propose_plan(cast.alice(), session, calls=CALLS, instances=MEMBERS)
    AgentSession.objects.filter(pk=session).update(fence=7)
    lease = Lease(session, 7)
    running = run_commands(lease, [advance.intend(session, NOBODY)]).state.calls.values()
    erase(session, ANN)
    results = [Return(call.id, call.attempt, call.arguments) for call in running]
    run_commands(lease, [advance.settled(lease, result) for result in results])
    left = state(session).plans.instances
    assert {name: part.pad for name, part in left.items()} == {"two": {"seen": {"name": BOBS}}}
    assert rebuild.check(session) == []


def test_a_batch_in_sessions_of_its_own_keeps_each_instance_under_its_key(monkeypatch):
    monkeypatch.setattr("sessions.plans.commands.MAX_INSTANCES", 1)
    session = told()
    plans.propose_plan(cast.alice(), session, calls=CALLS[:1], instances=MEMBERS)
    work()
    children = AgentSession.objects.filter(parent=session)
    found = [[subject for subject in (ANN, BOB) if kinds_under(child.pk, kid(subject))] for child in children]
    assert sorted(found) == [[ANN], [BOB]]
    assert not kinds_under(session, kid(ANN))
    assert [rebuild.check(each) for each in (session, *(child.pk for child in children))] == [[], [], []]


def test_a_plan_for_one_whose_erasure_begins_meanwhile_is_refused_and_nothing_of_it_is_written(monkeypatch):
    session, with_keys = told(), plans._with_keys
    before, closing = kinds(session), kid(ANN)

    def closed_meanwhile(*words):
        members = with_keys(*words)
        with connections["erase"].cursor() as cursor:
            cursor.execute("UPDATE audit_subjectkey SET closing_at = now() WHERE kid = %s", [closing])
        return members

    monkeypatch.setattr(plans, "_with_keys", closed_meanwhile)
    with pytest.raises(plans.SubjectLeaves):
        plans.propose_plan(cast.alice(), session, calls=CALLS, instances=MEMBERS)
    assert kinds(session) == before


def test_when_all_are_erased_the_round_ends_and_the_run_goes_on():
    session = reviewed()
    erase(session, ANN)
    erase(session, BOB)
    work()
    assert not state(session).plans.is_open
    assert AgentSession.objects.get(pk=session).open_requests == 0
    assert rebuild.check(session) == []


def test_a_key_that_was_destroyed_without_a_word_is_passed_over_too():
    session = reviewed()
    destroy(kid(ANN))
    forgotten()
    assert rebuild.check(session) == []
    assert list(state(session).plans.instances) == ["two"]
    assert waiting(session).keys() == {"Erased", BOBS}
    bobs = waiting(session)[BOBS]
    approvals_commands.decide(
        cast.bob(), bobs.id, approvals_commands.Decision("approve", reason="Fine", seen=bobs.digest)
    )
    work()
    assert not state(session).plans.is_open
    row = AgentSession.objects.get(pk=session)
    assert (row.open_requests, row.status) == (0, state(session).status.value)
    assert rebuild.check(session) == []


def test_a_process_that_remembers_an_instance_forgets_it_with_the_key():
    session = reviewed()
    remembered = states.recall(session)
    destroy(kid(ANN))
    keys.forget_all()
    states.remember(remembered)
    assert "one" not in states.load(session).state.plans.instances


def test_the_projections_of_a_session_with_an_erased_instance_can_be_made_anew():
    session = reviewed()
    erase(session, ANN)
    rebuild.rebuild(session)
    assert rebuild.check(session) == []


def test_an_export_of_a_session_with_an_erased_instance_verifies(tmp_path):
    session = reviewed()
    before = export(session, tmp_path)
    erase(session, ANN)
    out = export(session, tmp_path)
    verdict = verify.verify(out, out.with_name(f"{out.name}.vkey").read_text().strip(), log=str(session))
    assert verdict.failures == []
    assert verdict.counts["erased"] == len([each for each in envelopes(session) if each.kid in gone(session)])
    old = verify.verify(before, before.with_name(f"{before.name}.vkey").read_text().strip(), log=str(session))
    assert old.failures == []


def test_the_pages_and_the_api_of_a_session_with_an_erased_instance_answer():
    session = reviewed()
    erase(session, ANN)
    browser = cast.browser(cast.alice())
    for page in ("", "audit/", "plan/", "memory/", "versions/"):
        answer = browser.get(f"/sessions/{session}/{page}")
        assert answer.status_code == 200, page
        assert traces(answer.content.decode(), ANN, ANNS) == []
    answer = cast.browser().get(f"/api/v1/sessions/{session}/entries", headers=cast.bearer(cast.alice()))
    data = {entry["seq"]: entry["data"] for entry in answer.json()["entries"]}
    erased = {each.seq for each in envelopes(session) if each.kid in gone(session)}
    assert {seq for seq, each in data.items() if each is None} == erased & data.keys()
    line = plans_queries.plan_of(cast.alice(), session)
    assert {each.name: each.counts for each in line.instances}["Erased"] == {"erased": 2}


def test_nothing_of_an_instance_is_stored_in_clear_and_nothing_of_an_erased_one_can_be_read(settings):
    settings.SNAPSHOT_EVERY = 5
    session = reviewed()
    for text in (*everything_stored().values(), in_valkey()):
        assert traces(text, ANN, BOB, ANNS, BOBS) == []
    erase(session, ANN)
    readable = [
        json.dumps(entry.data) for entry in entry_lines.entries(cast.alice(), session, limit=1000) if entry.data
    ]
    assert traces("\n".join(readable), ANN, ANNS) == []
    assert traces("\n".join(readable), BOBS) == [BOBS]
    assert traces(repr(state(session)), ANN, ANNS) == []
    for part in SnapshotPart.objects.filter(session=session, kid__in=gone(session)):
        with pytest.raises(keys.Erased):
            keys.unseal(part.kid, f"{states.SNAPSHOT}/{session}/part/{part.number}", bytes(part.sealed))


def test_the_agent_is_told_nothing_of_what_others_said():
    session = reviewed()
    for subject in (ANNS, BOBS):
        line = waiting(session)[subject]
        approvals_commands.decide(
            cast.alice(), line.id, approvals_commands.Decision("reject", reason=f"Not {subject}", seen=line.digest)
        )
    work()
    say(session, "How is it going?")
    assert not state(session).refused
    assert traces(repr(model.asked), ANNS, BOBS, ANN, BOB) == []


def test_going_back_and_forking_carry_nothing_of_another_subject():
    session = reviewed()
    say(session, "One more thing.")
    point = state(session).seq - 3
    looked = versions_queries.rollback_preview(cast.alice(), session, point)
    versions_commands.roll_back(cast.alice(), session, point, reason="Tried", seen=looked.digest)
    assert state(session).plans.instances.keys() == {"one", "two"}
    fork = versions_commands.fork(cast.alice(), session, reason="To see").session
    assert state(fork).plans.instances == {}
    for each in (session, fork):
        own = str(AgentSession.objects.get(pk=each).kid)
        for row in ledger.read_rows(each):
            envelope, payload = ledger.open_row(row)
            assert envelope.kid != own or traces(payload.decode(), ANN, BOB, ANNS, BOBS) == []
        assert rebuild.check(each) == []


def test_a_session_that_does_an_instances_call_is_that_subjects():
    session = told()
    call = {**CALLS[0], "_delegate": "anonymous", "_scopes": ["input"]}
    plans.propose_plan(cast.alice(), session, calls=[call], instances=MEMBERS[:1])
    work()
    child = AgentSession.objects.get(parent=session)
    assert child.kid == kid(ANN)
    assert state(child.pk).opened.customer == ANN


def test_the_subject_of_the_session_needs_no_key_of_its_own_and_an_instance_keeps_its_subject():
    session = told()
    members = [{"name": "one", "subject": CUSTOMER, "inputs": {"name": "x"}}, MEMBERS[1]]
    calls = [CALLS[0]]
    plans.propose_plan(cast.alice(), session, calls=calls, instances=members)
    work()
    assert state(session).plans.instances["one"].kid == ""
    with pytest.raises(Invalid, match="another data subject"):
        plans.propose_plan(cast.alice(), session, calls=calls, instances=[{**MEMBERS[1], "subject": ANN}])
    plans.propose_plan(cast.alice(), session, calls=calls, instances=[{"name": "two", "inputs": {"name": "y"}}])
    work()
    assert state(session).plans.instances["two"].kid == str(kid(BOB))


def test_a_thousand_subjects_get_their_keys_in_a_few_statements(django_assert_max_num_queries):
    many = [f"C-8{number:04}" for number in range(1000)]
    keys.subject_kid(cast.tenant().pk, "C-0001")  # the keys of the installation are there by now
    with django_assert_max_num_queries(5):
        found = keys.subject_kids(cast.tenant().pk, many)
    assert len(set(found.values())) == 1000
    assert keys.subject_kids(cast.tenant().pk, many) == found
    assert keys.subject_kid(cast.tenant().pk, many[7]) == found[many[7]]
