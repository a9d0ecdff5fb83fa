"""Idle sessions in the running system: the worker lets them expire, a message reopens them, pages say so."""

from __future__ import annotations

import time

import msgspec
import pytest
from django.urls import reverse

from sessions.agents import registry
from sessions.conversation import commands as conversation_commands
from sessions.core import session_lines
from sessions.descriptions import entries as descriptions_entries
from sessions.models.sessions import AgentSession
from sessions.runtime import sweeper
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import kinds, opened, say, state, work
from tests.shell.pages import read

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def impatient(monkeypatch):
    """The bank's agent, whose sessions may idle for one second."""
    monkeypatch.setitem(registry._registry, "bank", msgspec.structs.replace(registry.find("bank"), idle=1))


def expired():
    """A session that has idled for too long."""
    session = opened("C-1001")
    say(session, "What is my balance?")
    row = AgentSession.objects.get(pk=session)
    assert (row.status, row.ready_at is not None) == ("idle", True)
    assert not sweeper.something_is_due()
    time.sleep(1.2)
    assert sweeper.something_is_due()
    work()
    return session


def test_the_worker_lets_an_idle_session_expire_and_a_message_reopens_it(bank, impatient):
    session = expired()
    row = AgentSession.objects.get(pk=session)
    assert (row.status, row.ready_at, row.lease_until, row.ended_at) == ("expired", None, None, None)
    assert kinds(session)[-1] == "session.expired"
    say(session, "And now?")
    assert "session.reopened" in kinds(session)
    assert state(session).status.value == "idle"
    assert len([item for item in state(session).items if item.role == "customer"]) == 2
    assert rebuild.check(session) == []


def test_a_session_that_goes_on_meanwhile_does_not_expire(bank, impatient):
    session = opened("C-1001")
    say(session, "What is my balance?")
    time.sleep(1.2)
    conversation_commands.say(cast.cleo(), session, "And yesterday?")
    work()
    assert "session.expired" not in kinds(session)


def test_pages_say_that_it_expired_and_reopens_with_the_next_message(bank, impatient):
    session, alice = expired(), cast.browser(cast.alice())
    page = read(alice.get(reverse("session", args=[session])).content)
    assert "Expired. The next message reopens the session." in page.text()
    assert session not in {line.id for line in session_lines.live_sessions(cast.alice())}
    listed = read(alice.get(reverse("sessions") + "?status=expired").content)
    assert "Expired" in listed.id("main").text()
    story = read(alice.get(reverse("session_audit", args=[session])).content).text()
    assert "no activity for 1 second" in story


def test_the_setting_counts_for_agents_that_say_nothing(settings):
    settings.SESSION_IDLE = 77
    quiet = msgspec.structs.replace(registry.find("bank"), idle=None)
    assert quiet.idle is None
    assert registry.idle_of(quiet) == 77
    assert registry.idle_of(msgspec.structs.replace(quiet, idle=0)) == 0


def test_a_length_of_time_is_told_in_the_unit_that_it_fills():
    told = [
        descriptions_entries.entry("session.expired", {"idle": seconds}).about for seconds in (1, 59, 60, 7200, 86_400)
    ]
    assert [text.removeprefix("no activity for ") for text in told] == [
        "1 second",
        "59 seconds",
        "1 minute",
        "2 hours",
        "1 day",
    ]
