"""A person pauses a session, lets it go on, or stops it for good: by command, and on its page."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.urls import reverse

from agentstate.engine.decide.refusals import NotPaused, SessionOver, SessionPaused
from agentstate.people.permissions import PermissionDenied
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AgentSession
from tests import cast
from tests.shell.bank_world import kinds, opened, say, state, work
from tests.shell.test_first_transfer import asks_for_a_transfer, pending

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_worker_takes_no_step_in_a_paused_session_and_goes_on_when_it_is_resumed(bank):
    session = asks_for_a_transfer()
    before = bank.transfers("C-1001")
    conversation_commands.pause(cast.alice(), session, "the customer is at the counter")
    approvals_commands.decide(cast.alice(), pending(session).id, approvals_commands.Decision("approve"))
    say(session, "Hello?")
    entries = len(kinds(session))
    work()
    assert (len(kinds(session)), state(session).status) == (entries, "paused")
    assert bank.transfers("C-1001") == before
    conversation_commands.resume(cast.alice(), session)
    work()
    assert [row[0] for row in bank.transfers("C-1001")[len(before) :]] == [120000]
    call_command("rebuild", "--check")


def test_a_paused_session_costs_a_row_that_no_worker_claims(bank):
    session = asks_for_a_transfer()
    conversation_commands.pause(cast.alice(), session, "later")
    work()
    row = AgentSession.objects.get(pk=session)
    assert (row.status, row.waiting_for, row.ready_at, row.lease_until) == ("paused", "resume", None, None)


def test_what_waits_is_withdrawn_when_the_session_is_stopped_for_good(bank):
    session = asks_for_a_transfer()
    before, request = bank.transfers("C-1001"), pending(session).id
    conversation_commands.pause(cast.alice(), session, "a moment")
    conversation_commands.cancel(cast.alice(), session, "opened by mistake")
    work()
    assert (state(session).requests[str(request)].status, state(session).status) == ("withdrawn", "cancelled")
    assert AgentSession.objects.get(pk=session).ended_at is not None
    assert bank.transfers("C-1001") == before
    with pytest.raises(SessionOver):
        conversation_commands.resume(cast.alice(), session)
    call_command("rebuild", "--check")


def test_it_is_refused_while_it_makes_no_sense_and_to_whoever_may_not(bank):
    session = opened()
    with pytest.raises(NotPaused):
        conversation_commands.resume(cast.alice(), session)
    conversation_commands.pause(cast.alice(), session, "a moment", key="k")
    conversation_commands.pause(cast.alice(), session, "a moment", key="k")  # the first answer again
    with pytest.raises(SessionPaused):
        conversation_commands.pause(cast.alice(), session, "again")
    for act in (conversation_commands.pause, conversation_commands.cancel):
        with pytest.raises(PermissionDenied):
            act(cast.vera(), session, "no")
    with pytest.raises(PermissionDenied):
        conversation_commands.resume(cast.vera(), session)


def test_the_page_pauses_resumes_and_stops_with_forms(bank):
    session, browser = asks_for_a_transfer(), cast.browser(cast.alice())
    address = reverse("session", args=[session])

    def press(act: str, **sent: str) -> str:
        answer = browser.post(reverse("session_stop", args=[session, act]), sent, follow=True)
        assert answer.redirect_chain[-1][0] == address
        return answer.content.decode()

    assert 'id="stop-paused"' not in browser.get(address).content.decode()
    paused = press("pause", reason="the customer is at the counter")
    assert 'id="stop-paused"' in paused
    assert 'id="stop-pause"' not in paused
    assert 'id="stop-paused"' not in press("resume")
    assert 'id="stop-cancel"' not in press("cancel", reason="opened by mistake")
    assert state(session).status == "cancelled"


def test_the_page_offers_nothing_to_whoever_may_not_and_says_what_is_refused(bank):
    session = asks_for_a_transfer()
    viewer, browser = cast.browser(cast.vera()), cast.browser(cast.alice())
    assert 'id="stop-it"' not in viewer.get(reverse("session", args=[session])).content.decode()
    assert viewer.post(reverse("session_stop", args=[session, "pause"]), {"reason": "x"}).status_code == 403
    assert browser.post(reverse("session_stop", args=[session, "resume"])).status_code == 409
    assert browser.post(reverse("session_stop", args=[session, "explode"])).status_code == 400
    assert browser.post(reverse("session_stop", args=[session, "pause"]), {"reason": ""}).status_code == 400


def test_a_session_that_has_ended_is_sealed_from_its_page_once(bank):
    session, browser = asks_for_a_transfer(), cast.browser(cast.alice())
    address, seal = reverse("session", args=[session]), reverse("session_stop", args=[session, "seal"])
    assert b'id="seal"' not in browser.get(address).content
    assert browser.post(seal).status_code == 409
    conversation_commands.cancel(cast.alice(), session, "opened by mistake")
    assert b'id="seal"' in browser.get(address).content
    assert b'id="seal"' not in cast.browser(cast.vera()).get(address).content
    assert cast.browser(cast.vera()).post(seal).status_code == 403
    sealed = browser.post(seal, {"key": "k"}, follow=True).content
    assert (b'id="seal"' in sealed, b'id="sealed"' in sealed) == (False, True)
    assert state(session).sealed == "asked"
    assert browser.post(seal, {"key": "other"}).status_code == 409


def test_who_answers_data_subjects_seals_without_reading_the_session(bank):
    session, petra = asks_for_a_transfer(), cast.browser(cast.petra())
    conversation_commands.cancel(cast.alice(), session, "opened by mistake")
    closed = petra.get(reverse("session", args=[session])).content
    assert b'id="seal"' in closed
    assert b"savings" not in closed
    assert b'id="sealed"' in petra.post(reverse("session_stop", args=[session, "seal"]), follow=True).content
