"""What meets while a request waits, each with its named outcome: passed on and refused, the end of a chain, lent
authority that ends in between, withdrawn while somebody is on it; and the clock of the database decides.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import UUID

import pytest

from agentstate.clock import now
from agentstate.engine.decide import AlreadyDecided, DecisionNotAllowed
from agentstate.engine.policy.rules import Step
from agentstate.people import delegations
from audit import ledger
from sessions.approvals import claims, guards
from sessions.approvals import commands as decisions
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.core import commit
from sessions.models.sessions import ApprovalRequest
from sessions.runtime import sweeper
from sessions.web import rebuild
from tests import cast
from tests.processes import eventually
from tests.shell.bank_world import events, kinds, refused_codes, work
from tests.shell.locks import waits_for_a_lock
from tests.shell.test_contention import in_thread
from tests.shell.test_terms import asking, decide, due, lent, line, moved, session_of  # noqa: F401  (fixture, helpers)

pytestmark = pytest.mark.django_db(transaction=True)
CHAIN = (Step(60, ("role:supervisor",)), Step(120, ("user:bob",)))


def ended(request: UUID) -> tuple[str, str]:
    """Its outcome, and who decided; nothing of it is left in anybody's hand, and the rows are the fold."""
    row = ApprovalRequest.objects.get(pk=request)
    assert (row.claimed_by, row.held_until, row.escalates_at, row.excluded) == ("", None, None, [])
    told = [each.what for each in rebuild.check(row.session_id)]
    assert set(told) <= {f"request {request}.expires_at"}  # which `due` has moved
    (end,) = [each for each in events(row.session_id, "request.ended") if each["request"] == str(request)]
    assert end["outcome"] == row.state
    return row.state, row.decided_by


def test_an_expiry_that_comes_while_a_decision_is_being_committed_waits_and_changes_nothing(asking, bank, monkeypatch):  # noqa: F811
    """The deadline passes between the decision's statement and its commit."""
    before, request, written, may_commit = moved(bank), asking(), threading.Event(), threading.Event()
    append, expired = commit._append, list[bool]()

    def slowly(loaded, steps, author, **more):
        done = append(loaded, steps, author, **more)
        if author.actor == cast.alice().actor:
            written.set()
            assert may_commit.wait(10)
        return done

    monkeypatch.setattr(commit, "_append", slowly)
    row = ApprovalRequest.objects.get(pk=request)
    soon = now() + timedelta(seconds=1)
    ApprovalRequest.objects.filter(pk=request).update(expires_at=soon)
    deciding = in_thread(lambda: decide(cast.alice(), request))
    assert written.wait(10)
    eventually(lambda: now() > soon, 5)
    expiring = in_thread(lambda: expired.append(sweeper.expire(row.session_id, request)))
    eventually(lambda: waits_for_a_lock("audit_head"), 5, "the expiry waits for the session")
    may_commit.set()
    deciding.join(10)
    expiring.join(10)
    assert expired == [False]
    assert ended(request) == ("approved", cast.alice().actor)
    work()
    assert len(moved(bank)) == len(before) + 1


def test_what_was_passed_on_and_then_refused_is_rejected_and_by_whom_it_was_passed_to(asking, bank):  # noqa: F811
    before, request = moved(bank), asking(chain=CHAIN)
    decide(cast.alice(), request, "escalate", reason="too large for me")
    decide(cast.bob(), request, "reject", reason="a scam")
    assert ended(request) == ("rejected", cast.bob().actor)
    work()
    assert moved(bank) == before
    with pytest.raises(AlreadyDecided):
        decide(cast.alice(), request)


def test_what_went_along_its_chain_and_was_not_decided_has_expired_and_was_never_approved(asking, bank):  # noqa: F811
    before, request = moved(bank), asking(chain=CHAIN)
    for _ in CHAIN:
        due(request, "escalates_at")
        assert sweeper.escalate_due() == 1
    assert sweeper.escalate_due() == 0
    due(request, "expires_at")
    assert sweeper.expire_due() == 1
    assert ended(request) == ("expired", "")
    assert kinds(session_of(request)).count("request.escalated") == 2
    work()
    assert moved(bank) == before


def test_an_approval_on_lent_authority_that_ends_before_the_call_runs_becomes_a_new_request(asking, bank):  # noqa: F811
    before, request, given = moved(bank), asking(reviewers=("user:bob",)), lent()
    decide(cast.alice(), request)
    delegations.revoke(given.pk, cast.bob())
    work()
    assert ended(request) == ("approved", cast.alice().actor)
    assert moved(bank) == before
    (again,) = approvals_queries.requests(cast.bob())
    assert "may not decide it any more" in again.why
    decide(cast.bob(), again.id)
    work()
    assert len(moved(bank)) == len(before) + 1


def test_one_of_two_whose_lent_authority_ends_before_the_second_approves_leaves_nothing_to_run(asking, bank):  # noqa: F811
    before, given = moved(bank), lent()
    request = asking(quorum=2, reviewers=("user:bob", "role:admin"))
    sue = cast.person("sue", cast.Role.SUPERVISOR, cast.retail())
    decide(cast.alice(), request)
    delegations.revoke(given.pk, cast.bob())
    with pytest.raises(DecisionNotAllowed):
        decide(sue, request)
    due(request, "expires_at")
    sweeper.expire_due()
    assert ended(request)[0] == "expired"
    work()
    assert moved(bank) == before


def test_what_is_withdrawn_while_somebody_is_on_it_is_withdrawn_and_nobodys(asking, bank):  # noqa: F811
    before, request = moved(bank), asking()
    claims.claim(cast.alice(), request)
    conversation_commands.end(cast.cleo(), session_of(request), "hung up")
    assert ended(request) == ("withdrawn", "")
    for act in (claims.release, claims.claim):
        with pytest.raises(AlreadyDecided):
            act(cast.alice(), request)
    with pytest.raises(AlreadyDecided):
        decide(cast.alice(), request)
    assert moved(bank) == before


# The fragments by which the database's clock has the last word: each left out, something else happens.


def _without(monkeypatch, words: str) -> None:
    """The module's guards, with this condition left out of their statement."""
    real = ledger.Fragment
    monkeypatch.setattr(ledger, "Fragment", lambda sql, params: real(sql.replace(words, ""), params))


def test_the_deadline_is_judged_by_the_database_in_the_statement_that_appends(asking, monkeypatch):  # noqa: F811
    late, later = asking(), asking()
    due(late, "expires_at")
    with pytest.raises(guards.RequestExpired):
        decide(cast.alice(), late)
    due(later, "expires_at")
    with monkeypatch.context() as patched:
        _without(patched, " AND greatest(expires_at, held_until) > clock_timestamp()")
        decide(cast.alice(), later)  # the guard is what refuses it, and nothing else
    assert (line(late).state, line(later).state) == ("pending", "approved")


def test_an_objection_comes_too_late_by_the_databases_clock(asking, monkeypatch):  # noqa: F811
    late, later = (asking(gate="hold", hold=60) for _ in range(2))
    due(late, "held_until")
    with pytest.raises(guards.HoldIsOver):
        decisions.undo(cast.alice(), late)
    due(later, "held_until")
    with monkeypatch.context() as patched:
        _without(patched, " AND held_until > clock_timestamp()")
        decisions.undo(cast.alice(), later)
    assert (line(late).held_until is not None, line(later).held_until) == (True, None)


def test_nothing_expires_or_goes_on_before_its_time_by_the_databases_clock(asking, monkeypatch):  # noqa: F811
    request, passed = asking(), asking(chain=CHAIN)
    codes = refused_codes(monkeypatch, sweeper, "person_command")
    assert not sweeper.expire(session_of(request), request)
    assert not sweeper.escalate(session_of(passed), passed, 0)
    with monkeypatch.context() as patched:
        _without(patched, "expires_at <= clock_timestamp() AND ")
        assert sweeper.expire(session_of(request), request)
    with monkeypatch.context() as patched:
        _without(patched, " AND escalates_at <= clock_timestamp()")
        assert sweeper.escalate(session_of(passed), passed, 0)
    held = asking(gate="hold", hold=60)
    assert not sweeper.end_hold(session_of(held), held)
    with monkeypatch.context() as patched:
        _without(patched, " AND held_until <= clock_timestamp()")
        assert sweeper.end_hold(session_of(held), held)
    assert line(held).state == "unopposed"
    assert codes == ["not_due"] * 3


def test_what_is_held_does_not_expire_by_its_deadline(asking, monkeypatch):  # noqa: F811
    request = asking(gate="hold", hold=3600)
    due(request, "expires_at")
    assert sweeper.expire_due() == 0
    with monkeypatch.context() as patched:
        _without(patched, " AND held_until IS NULL")
        assert not sweeper.expire(session_of(request), request)  # the rule itself refuses it as well: held is no wait
    assert line(request).state == "pending"
