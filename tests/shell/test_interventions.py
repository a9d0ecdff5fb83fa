"""Stepping in: on the page, over the API, by command; who may, and what is on the record."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from django.core.management import call_command
from django.urls import reverse

from agentstate.engine.decide import Fail
from agentstate.engine.decide.interventions import NothingToRetry, NotOpenToIntervention
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied
from audit.server_clock import now
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.interventions import commands as interventions_commands
from sessions.interventions import queries as interventions_queries
from sessions.models.sessions import AgentSession
from sessions.runtime import advance, execution, leases, parked
from sessions.tools import registry as tools
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.test_pages import paused
from tests.shell.test_wakeups import sleep_until_due

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def once(monkeypatch, bank):
    unanswered(monkeypatch)


def unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    """load_customer, as if it could be done only once and gave no answer in its time."""
    found, facts = tools.find, registry.facts_for("bank")  # before the change: the registry remembers what it found
    slow = msgspec.structs.replace(found("load_customer"), effect="once", timeout=0.05, run=_slow)
    find = lambda name: slow if name == slow.name else found(name)  # noqa: E731
    monkeypatch.setattr(execution.tools, "find", find)
    changed = {**facts, slow.name: msgspec.structs.replace(facts[slow.name], effect="once")}
    monkeypatch.setattr(registry, "facts_for", lambda agent: changed)


def _slow(arguments, context):
    context.stop.wait(5.0)
    return {"name": "late", "number": "1", "accounts": [], "interactions": []}


def doubted() -> tuple[UUID, str]:
    session = opened()
    say(session, "What is my balance?")
    (call,) = state(session).calls.values()
    assert call.status.value == "doubted"
    return session, call.id


KNOWN = {"name": "Ada", "number": "C-1001", "accounts": [], "interactions": []}


def test_a_doubted_call_is_counted_listed_and_settled_on_its_page(once):
    session, call = doubted()
    row = AgentSession.objects.get(pk=session)
    assert (row.stuck, row.waiting_for, row.ready_at, row.lease_until) == (1, "stuck", None, None)
    browser = cast.browser(cast.alice())
    listed = browser.get(reverse("stuck")).content.decode()
    assert f'href="{reverse("stuck_session", args=[session])}"' in listed
    page = browser.get(reverse("stuck_session", args=[session])).content.decode()
    assert "its outcome is unknown" in page
    sent = {"call": call, "reason": "asked the branch", "result": json.dumps(KNOWN), "key": "k"}
    answer = browser.post(reverse("stuck_step_in", args=[session, "happened"]), sent, follow=True)
    assert "Nothing is blocked" in answer.content.decode()
    assert AgentSession.objects.get(pk=session).stuck == 0
    (told,) = events(session, "call.intervened")
    assert (told["how"], told["by"], told["reason"]) == ("happened", cast.alice().actor, "asked the branch")
    call_command("rebuild", "--check")


def test_the_api_lists_what_is_stuck_and_settles_it_once_under_a_key(once):
    session, call = doubted()
    api = Api(cast.alice())
    assert [each["id"] for each in api.get("/stuck").json()["sessions"]] == [str(session)]
    (line,) = api.get(f"/sessions/{session}/interventions").json()["calls"]
    assert (line["call"], line["why"], line["ways"]) == (call, "unknown", ["happened", "not_happened", "skip"])
    body = {"call": call, "how": "happened", "reason": "seen", "result": KNOWN, "idempotency_key": "k"}
    first = api.post(f"/sessions/{session}/interventions", body)
    again = api.post(f"/sessions/{session}/interventions", body)
    assert (first.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert kinds(session).count("call.intervened") == 1
    assert api.get("/stuck").json()["sessions"] == []


def test_an_approved_call_that_is_tried_again_too_late_is_listed_and_settled(bank, monkeypatch):
    session, request = paused()
    with monkeypatch.context() as patched:
        fails = lambda _session, _state, call: Fail(call.id, call.attempt, "no connection", True, 0.2)  # noqa: E731
        patched.setattr(execution, "run_call", fails)
        approvals_commands.decide(cast.bob(), request.id, approvals_commands.Decision("approve", seen=request.digest))
        work()
    sleep_until_due(session)
    with monkeypatch.context() as patched:
        patched.setattr("sessions.core.commit.now", lambda: now() + timedelta(seconds=121))
        work()
    assert kinds(session).count("tool.failed") == 2
    assert "call.refused" not in kinds(session)
    api = Api(cast.alice())
    assert api.get(f"/requests/{request.id}").json()["execution"] == "failed"
    assert [each["id"] for each in api.get("/stuck").json()["sessions"]] == [str(session)]
    (line,) = api.get(f"/sessions/{session}/interventions").json()["calls"]
    assert (line["why"], line["is_blocked"], line["ways"]) == ("failed", True, ["retry", "supply", "skip"])
    call_command("rebuild", "--check")
    interventions_commands.intervene(cast.alice(), session, line["call"], "skip", "the customer was called back")
    assert api.get("/stuck").json()["sessions"] == []


def test_who_may_not_decide_may_not_step_in_and_another_team_learns_nothing(once):
    session, call = doubted()
    for user, refusal in ((cast.vera(), PermissionDenied), (cast.charlie(), Exception)):
        with pytest.raises(refusal):
            interventions_commands.intervene(user, session, call, "skip", "no")
    assert interventions_queries.stuck(cast.charlie()) == []
    assert [line.id for line in interventions_queries.stuck(cast.vera())] == [session]
    with pytest.raises(PermissionDenied):
        interventions_commands.retry_session(cast.vera(), session, "no")


def test_what_is_refused_says_so_and_writes_nothing(once):
    session, call = doubted()
    size = len(kinds(session))
    for how, error in (("retry", NotOpenToIntervention), ("explode", Invalid)):
        with pytest.raises(error):
            interventions_commands.intervene(cast.alice(), session, call, how, "because")
    with pytest.raises(NothingToRetry):
        interventions_commands.retry_session(cast.alice(), session, "because")
    browser = cast.browser(cast.alice())
    sent = {"call": call, "reason": "because", "result": "{not json"}
    assert browser.post(reverse("stuck_step_in", args=[session, "happened"]), sent).status_code == 422
    assert len(kinds(session)) == size


def test_a_running_tool_is_told_that_its_time_is_up(once):
    from sessions.runtime.running_calls import abandoned
    from tests.processes import eventually

    doubted()
    eventually(lambda: not abandoned.tools(), 3, "the thread has ended, told by its context")


def broken(monkeypatch, error: Exception) -> UUID:
    """A session that cannot be advanced, tried until it is parked."""
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello")
    with monkeypatch.context() as patched:

        def fails(*_args, **_kw):
            raise error

        patched.setattr(advance, "_advance", fails)
        for _ in range(parked.MAX_STALLS):
            AgentSession.objects.filter(pk=session, ready_at__isnull=False).update(ready_at="2026-01-01T00:00:00Z")
            work()
    return session


def test_a_session_that_always_fails_is_parked_with_its_reason_until_a_person_retries_it(bank, monkeypatch):
    session = broken(monkeypatch, KeyError("x"))
    row = AgentSession.objects.get(pk=session)
    assert (row.stalled, row.stalls, row.ready_at) == ("failing KeyError", parked.MAX_STALLS, None)
    work()
    assert [line.id for line in interventions_queries.stuck(cast.alice())] == [session]
    browser = cast.browser(cast.alice())
    assert b"Could not be advanced: KeyError" in browser.get(reverse("stuck_session", args=[session])).content
    browser.post(reverse("stuck_step_in", args=[session, "session"]), {"reason": "fixed"})
    work()
    row = AgentSession.objects.get(pk=session)
    assert (row.stalled, row.stalls, row.waiting_for) == ("", 0, "customer")
    assert events(session, "session.retried")[0]["why"] == "failing KeyError"


def test_between_two_tries_it_waits_longer_and_longer(bank, monkeypatch):
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello")
    pauses = []
    for _ in range(3):
        AgentSession.objects.filter(pk=session).update(ready_at="2026-01-01T00:00:00Z")
        lease = leases.claim()
        assert lease is not None
        parked.failing(lease, "KeyError")
        row = AgentSession.objects.get(pk=session)
        pauses.append(round((row.ready_at - row.stalled_at).total_seconds()))
    assert pauses == [1, 2, 4]


def test_what_the_database_does_is_no_fault_of_the_sessions(bank, monkeypatch):
    from django.db import OperationalError

    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello")
    with monkeypatch.context() as patched:

        def away(*_args):
            raise OperationalError("away")

        patched.setattr(advance, "_advance", away)
        work()
    row = AgentSession.objects.get(pk=session)
    assert (row.stalls, row.stalled) == (0, "")
    assert row.ready_at is not None
